"""Documents in a prompt, numbered and fenced, and what of a model's reply they carry."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from langchain_core.documents import Document

from langchain_memanto.documents import memory_of
from memanto.loop.fence import NOTICE, fence_one


@dataclass(frozen=True, slots=True, kw_only=True)
class CitedReply:
    """What is left of a model's reply once its citations are checked.

    Attributes:
        text: Its supported sentences with their numbers, or `""`.
        ids: Ids of the memories cited, in order of appearance.
        documents: The documents cited, in the same order.
        left_out: Number of sentences left out: without a citation, or not in what they cite.
        unknown: Numbers cited that were not sent.
    """

    text: str
    ids: tuple[str, ...]
    documents: tuple[Document, ...]
    left_out: int = 0
    unknown: tuple[int, ...] = ()


def numbered(documents: Sequence[Document]) -> str:
    """Return documents of the retriever as fenced data for a prompt, numbered from 1; `""` for none.

    A function for LCEL: `retriever | numbered`. A text cannot forge the marks around it.

    Raises:
        InvalidInputError: A document does not come from the retriever.
    """
    shown = [fence_one(memory_of(document), number=number) for number, document in enumerate(documents, start=1)]
    return "\n".join([NOTICE, *shown]) if shown else ""


def cite(reply: str, documents: Sequence[Document], *, question: str = "") -> CitedReply:
    """Return a reply without what its citations do not carry, and the ids of the memories it cites.

    A sentence stays when it cites a document by its number, as in `[2]`, and what it cites holds its words, numbers
    and names. The rule is that of `Memanto.answer`.

    Args:
        reply: The model's words.
        documents: What `numbered` put before it, in the same order.
        question: What was asked; its words need no source.
    """
    from memanto.loop.citations import check_reply  # with what analyses words, which only this needs

    sources = {number: document.page_content for number, document in enumerate(documents, start=1)}
    checked = check_reply(reply, sources, question)
    cited = tuple(documents[number - 1] for number in checked.cited)
    return CitedReply(
        text=checked.text,
        ids=tuple(str(document.id) for document in cited),
        documents=cited,
        left_out=checked.uncited + checked.unsupported,
        unknown=checked.unknown,
    )
