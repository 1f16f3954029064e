"""The same verbs in asyncio: calls of one handle may run at the same time."""

import asyncio

from memanto import AsyncMemanto, InMemory


async def main() -> None:
    async with AsyncMemanto("orders-bot", store=InMemory()) as memory:
        texts = [f"Node web-{number} answers in {number * 7} ms" for number in range(1, 9)]
        receipts = await asyncio.gather(*(memory.remember(text, type="observation") for text in texts))
        assert len({receipt.id for receipt in receipts}) == len(texts)

        slow, recent = await asyncio.gather(memory.recall("how fast is web-8", limit=1), memory.recall(limit=3))
        print("best:  ", slow[0].memory.content)
        print("newest:", [hit.memory.content for hit in recent])
        assert slow[0].memory.content.startswith("Node web-8")


asyncio.run(main())
