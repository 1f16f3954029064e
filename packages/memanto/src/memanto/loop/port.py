"""What the loop asks of a memory: a few of `Memanto`'s verbs, so that it can be tested on its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import Any, Protocol

from memanto.models import Draft, Memory, Receipt, Recollection


class Verbs(Protocol):
    """The verbs of memory that the loop builds on; see `Memanto` for what they promise."""

    agent: str

    @property
    def clock(self) -> Callable[[], datetime]: ...

    def recall(self, query: str | None = None, **options: Any) -> list[Recollection]: ...

    def remember(self, content: str | Draft, **fields: Any) -> Receipt: ...

    def remember_many(self, drafts: Iterable[Draft], *, dry_run: bool = False) -> list[Receipt]: ...

    def edit(
        self,
        id: str,  # noqa: A002
        *,
        reason: str = "",
        expected_version: int | None = None,
        **changes: Any,
    ) -> Receipt: ...

    def supersede(self, old: str, new: str, *, reason: str = "") -> Receipt: ...

    def expire(self, id: str, *, reason: str = "") -> Receipt: ...  # noqa: A002

    def show(self, id: str) -> Memory: ...  # noqa: A002

    def history(self, id: str) -> list[Memory]: ...  # noqa: A002

    def export(self) -> Iterator[str]: ...
