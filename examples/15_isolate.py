"""A sub-agent explores apart and hands back one conclusion; a long tool result stays outside the window."""

from memanto import InMemory, Memanto

with Memanto("builder", store=InMemory(), embedder=None) as memory:
    log = "".join(f"{number}: handler in services/api/handler_{number}.py\n" for number in range(1_000))
    kept = memory.keep_result(log, title="grep for handlers")
    assert kept.receipt is not None
    print(kept.text)
    print(memory.page(kept.receipt.id, 2).text.splitlines()[0])

    with memory.isolate("find the handler of orders", run_id="run-1") as scratch:
        scratch.memory.remember("handler_1 to handler_500 are generated", type="observation")
        scratch.memory.remember("handler_731 serves /v1/orders", type="fact")
        scratch.conclude("Orders are served by services/api/handler_731.py", confidence=0.9)

    texts = [one.memory.content for one in memory.recall(types=["learning", "observation", "fact"])]
    print(texts)
    assert texts == ["Orders are served by services/api/handler_731.py"]

    lines = memory.distil([one.memory for one in memory.recall()], budget_tokens=80)
    print("\n".join(lines.lines))
    assert lines.tokens <= 80
