"""LangGraph's InMemoryStore with a vector index: it keeps nothing for the next process."""

from __future__ import annotations

from typing import Any

import protocol
from langgraph.store.base import PutOp
from langgraph.store.memory import InMemoryStore

_NAMESPACE = ("bench",)


class Store(protocol.Store):
    keeps = False

    def __init__(self, folder: str) -> None:
        def embed(texts: Any) -> list[list[float]]:
            return [protocol.vector(text).tolist() for text in texts]

        self._store = InMemoryStore(index={"dims": protocol.DIMENSION, "embed": embed, "fields": ["text"]})

    def add(self, items: list[protocol.Item]) -> None:
        self._store.batch([PutOp(_NAMESPACE, str(number), _value(text, kind)) for number, text, kind in items])

    def add_one(self, item: protocol.Item) -> None:
        number, text, kind = item
        self._store.put(_NAMESPACE, str(number), _value(text, kind))

    def search(self, text: str, limit: int, kind: str | None) -> list[str]:
        chosen = None if kind is None else {"type": kind}
        return [one.value["text"] for one in self._store.search(_NAMESPACE, query=text, limit=limit, filter=chosen)]


def _value(text: str, kind: str) -> dict[str, str]:
    return {"text": text, "type": kind}


if __name__ == "__main__":
    protocol.serve(Store)
