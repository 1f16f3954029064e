"""`memanto answer`: a cited answer from memory, or that memory does not hold it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from memanto.cli.bounded import TOKENS
from memanto.cli.options import LimitOption, TypesOption, listed
from memanto.cli.session import Session
from memanto.cli.style import Palette, indented
from memanto.cli.text import short_ids, stamp
from memanto.cli.verb import verb
from memanto.models import DEFAULT_LIMIT

if TYPE_CHECKING:
    from memanto.loop.answer import Answer


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    verb(app, "answer")(answer)


def answer(
    session: Session,
    question: Annotated[str, typer.Argument(help="May have several parts.", show_default=False)],
    *,
    type: TypesOption = None,  # noqa: A002 - the option's name
    limit: LimitOption = DEFAULT_LIMIT,
    as_of: Annotated[
        str | None,
        typer.Option(
            "--as-of", metavar="TIME", help="From what was believed then; a date means its end.", show_default=False
        ),
    ] = None,
    budget: Annotated[
        int | None,
        typer.Option(
            "--budget", metavar="TOKENS", parser=TOKENS, help="Bound on the text quoted or sent.", show_default=False
        ),
    ] = None,
    no_llm: Annotated[
        bool, typer.Option("--no-llm", help="Quote only, also where a language model is set up.")
    ] = False,
    rerank: Annotated[bool, typer.Option("--rerank/--no-rerank", help="Let the cross-encoder judge.")] = True,
) -> None:
    """Answer a question from memory, every claim cited.

    Retrieval decides whether memory holds an answer; a question without one is answered so, and done. A language
    model that is set up (`memanto config set llm.base_url URL`) writes the sentences; without one they are quotes.
    """
    moment = session.moment("as-of", as_of, "end")
    with session.memory() as memory:
        given = memory.answer(
            question,
            types=listed(type),
            as_of=moment,
            limit=limit,
            budget_tokens=budget,
            llm=None if no_llm else "default",
            rerank=rerank,
        )
    session.emit(given, lambda paint: _lines(given, session, paint))
    if not session.json:
        for note in given.notes:
            session.note(note)


def _lines(given: Answer, session: Session, paint: Palette) -> Iterator[str]:
    from memanto.loop.answer import EXTRACTIVE

    yield paint.safe(given.text)
    short = short_ids(one.id for one in given.citations)
    if given.citations:
        yield ""
    for one in given.citations:
        facts = [paint("strong", one.type.value), stamp(one.date, session.zone), f"confidence {one.confidence:g}"]
        yield f"[{one.number}] {paint('id', short[one.id])}  {'  '.join(facts)}"
        if given.how != EXTRACTIVE:  # else the answer consists of the quotes
            yield indented(paint.safe(one.quote))
