"""`MemantoRetriever`: recall as a LangChain retriever."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any, Final

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import Field, PrivateAttr

from langchain_memanto.documents import documents_of
from memanto import Memanto, MemoryType, Recollection, Status
from memanto.adapter import Failsafe, as_sync
from memanto.errors import InvalidInputError
from memanto.loop.fence import whole
from memanto.models import MAX_LIMIT, MAX_QUERY
from memanto.toolkit.arguments import Moment

_PLAIN: Final = (
    "types", "any_tags", "status", "min_confidence", "min_similarity", "since", "until", "as_of", "valid_at",
    "agents", "rerank", "budget_tokens", "words_only",
)  # fmt: skip
"""Options that have the name they have in `Memanto.recall`."""
_NAMES: Final = {"k": "limit", "memory_tags": "tags", **dict.fromkeys(_PLAIN, "")}


class MemantoRetriever(BaseRetriever):
    """Recalls memories as documents; see `langchain_memanto.documents.documents_of` for what they carry.

    Every field but the first and `strict` can be given per call as well: `retriever.invoke("…", k=3, types=["fact"])`.
    When memory fails, the result is empty, the failure is logged once and counted; `strict` raises instead.

    Attributes:
        memory: A `Memanto` or an `AsyncMemanto`; who opened it closes it.
        k: 1..100 documents at most.
        types: Any of these types of memory; empty for all.
        memory_tags: All of these tags (`tags` is LangChain's, for tracing).
        any_tags: At least one of these tags.
        status: Any of these statuses instead of `active`.
        min_confidence: 0..1.
        min_similarity: Cosine in -1..1 between query and memory.
        since: Event time from here on.
        until: Event time up to here.
        as_of: What was believed then.
        valid_at: What was true in the world then.
        agents: Search these agents instead of the memory's own.
        rerank: Let the cross-encoder order the best candidates.
        budget_tokens: Leave out documents whose text would not fit.
        words_only: Search by words alone.
        strict: Raise when memory fails.

    Examples:
        >>> from memanto import InMemory, Memanto
        >>> with Memanto("docs", store=InMemory(), embedder=None) as memory:
        ...     _ = memory.remember("The importer runs at 02:00 UTC", type="fact")
        ...     [document.page_content for document in MemantoRetriever(memory=memory).invoke("importer")]
        ['The importer runs at 02:00 UTC']
    """

    memory: Any = Field(exclude=True, repr=False)
    k: int = Field(default=4, ge=1, le=MAX_LIMIT)
    types: tuple[MemoryType, ...] = ()
    memory_tags: tuple[str, ...] = ()
    any_tags: tuple[str, ...] = ()
    status: tuple[Status, ...] = ()
    min_confidence: float | None = Field(default=None, ge=0, le=1)
    min_similarity: float | None = Field(default=None, ge=-1, le=1)
    since: Moment | None = None
    until: Moment | None = None
    as_of: Moment | None = None
    valid_at: Moment | None = None
    agents: tuple[str, ...] = ()
    rerank: bool = False
    budget_tokens: int | None = Field(default=None, ge=1)
    words_only: bool = False
    strict: bool = False

    _memory: Memanto = PrivateAttr()
    _failsafe: Failsafe = PrivateAttr()

    def model_post_init(self, context: Any, /) -> None:
        """Check the memory that was given."""
        super().model_post_init(context)
        self._memory = as_sync(self.memory)
        self._failsafe = Failsafe("MemantoRetriever", strict=self.strict)

    @property
    def failures(self) -> int:
        """How many calls memory has failed."""
        return self._failsafe.failures

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,  # noqa: ARG002 - LangChain passes it by name
        k: int | None = None,
        types: Iterable[MemoryType | str] | None = None,
        as_of: datetime | None = None,
        budget_tokens: int | None = None,
        **options: Any,
    ) -> list[Document]:
        given = self._given(options, k=k, types=types, as_of=as_of, budget_tokens=budget_tokens)
        found: list[Recollection] = self._failsafe.call("recall", self._recall, query, given, otherwise=[])
        return documents_of(found)

    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: AsyncCallbackManagerForRetrieverRun,  # noqa: ARG002 - LangChain passes it by name
        k: int | None = None,
        types: Iterable[MemoryType | str] | None = None,
        as_of: datetime | None = None,
        budget_tokens: int | None = None,
        **options: Any,
    ) -> list[Document]:
        given = self._given(options, k=k, types=types, as_of=as_of, budget_tokens=budget_tokens)
        found: list[Recollection] = await self._failsafe.acall("recall", self._recall, query, given, otherwise=[])
        return documents_of(found)

    def _given(self, options: dict[str, Any], **named: Any) -> dict[str, Any]:
        """Return the arguments of `recall`: what this call says, else what the fields say.

        Raises:
            InvalidInputError: An option is unknown.
        """
        unknown = sorted(set(options) - set(_NAMES))
        if unknown:
            raise InvalidInputError(
                f"MemantoRetriever has no option {unknown[0]!r}", hint=f"known: {', '.join(sorted(_NAMES))}"
            )
        said = {**options, **{name: value for name, value in named.items() if value is not None}}
        return {recalls or name: said.get(name, getattr(self, name)) for name, recalls in _NAMES.items()}

    def _recall(self, query: str, given: dict[str, Any]) -> list[Recollection]:
        asked = whole(query[:MAX_QUERY])
        return self._memory.recall(asked, **given) if asked.strip() else []
