"""`memanto recall`, `show` and `history`: reading memories."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from memanto.cli.bounded import TOKENS, decimal, whole
from memanto.cli.options import IdArgument, KindOption, LimitOption, StatusOption, TagsOption, TypesOption, listed
from memanto.cli.session import Session
from memanto.cli.style import Palette
from memanto.cli.text import explanation_lines, history_lines, memory_lines, result_lines, stamp
from memanto.cli.verb import verb
from memanto.errors import InvalidInputError
from memanto.memory.validation import check_source
from memanto.models import DEFAULT_LIMIT, Recollection

if TYPE_CHECKING:
    from memanto.client import Memanto


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    verb(app, "recall")(recall)
    verb(app, "show")(show)
    verb(app, "history")(history)


def recall(
    session: Session,
    query: Annotated[
        str | None,
        typer.Argument(
            help="What to look for, by words and by meaning; without it the newest memories.", show_default=False
        ),
    ] = None,
    *,
    type: TypesOption = None,  # noqa: A002 - the option's name
    memory: KindOption = None,
    tags: TagsOption = None,
    any_tag: Annotated[
        list[str] | None,
        typer.Option(
            "--any-tag", metavar="TAG", help="At least one of these tags; may be repeated.", show_default=False
        ),
    ] = None,
    limit: LimitOption = DEFAULT_LIMIT,
    min_confidence: Annotated[
        float | None,
        typer.Option(
            "--min-confidence",
            metavar="0..1",
            parser=decimal(0, 1, such_as=0.5),
            show_default=False,
            help="Only what is at least as sure.",
        ),
    ] = None,
    min_similarity: Annotated[
        float | None,
        typer.Option(
            "--min-similarity",
            metavar="-1..1",
            parser=decimal(-1, 1, such_as=0.5),
            show_default=False,
            help="Cosine between query and memory.",
        ),
    ] = None,
    status: StatusOption = None,
    recent: Annotated[bool, typer.Option("--recent", help="Newest first.")] = False,
    as_of: Annotated[
        str | None,
        typer.Option(
            "--as-of", metavar="TIME", help="What was believed then; a date means its end.", show_default=False
        ),
    ] = None,
    valid_at: Annotated[
        str | None,
        typer.Option("--valid-at", metavar="TIME", help="What was true in the world then.", show_default=False),
    ] = None,
    since: Annotated[
        str | None, typer.Option("--since", metavar="TIME", help="What happened from then on.", show_default=False)
    ] = None,
    until: Annotated[
        str | None,
        typer.Option(
            "--until", metavar="TIME", help="What happened up to then; a date means its end.", show_default=False
        ),
    ] = None,
    changed_since: Annotated[
        str | None,
        typer.Option("--changed-since", metavar="TIME", help="What was recorded from then on.", show_default=False),
    ] = None,
    key: Annotated[
        str | None, typer.Option("--key", metavar="SLOT", help="What fills this slot.", show_default=False)
    ] = None,
    source: Annotated[
        str | None, typer.Option("--source", "-s", metavar="NAME", help="Written by this source.", show_default=False)
    ] = None,
    run: Annotated[
        str | None, typer.Option("--run", metavar="ID", help="Written in this run.", show_default=False)
    ] = None,
    pinned: Annotated[bool, typer.Option("--pinned", help="Only what is pinned.")] = False,
    agents: Annotated[
        str | None, typer.Option("--agents", metavar="A,B", help="Search these agents instead.", show_default=False)
    ] = None,
    rerank: Annotated[
        bool, typer.Option("--rerank", help="Let the cross-encoder order the best; takes about 0.3 s.")
    ] = False,
    everything: Annotated[
        bool, typer.Option("--all", help="Also what is retired, quarantined or untrue now; nothing folded.")
    ] = False,
    explain: Annotated[bool, typer.Option("--explain", help="Show every number behind each score.")] = False,
    budget: Annotated[
        int | None,
        typer.Option(
            "--budget", metavar="TOKENS", parser=TOKENS, help="Leave out what would not fit.", show_default=False
        ),
    ] = None,
    words_only: Annotated[bool, typer.Option("--words-only", help="Search by words; loads no model.")] = False,
) -> None:
    """Find memories, by words and by meaning.

    Every filter combines with a query and with every other. Without a query the newest come first.
    """
    knowledge = session.moment("as-of", as_of, "end")
    names = listed(agents)
    asked: dict[str, Any] = {
        "types": listed(type),
        "memory": memory,
        "tags": listed(tags),
        "any_tags": listed(any_tag),
        "min_confidence": min_confidence,
        "min_similarity": min_similarity,
        "as_of": knowledge,
        "valid_at": session.moment("valid-at", valid_at, "start"),
        "since": session.moment("since", since, "start"),
        "until": session.moment("until", until, "end"),
        "changed_since": session.moment("changed-since", changed_since, "start"),
        "key": key,
        "source": None if source is None else check_source(source),
        "run_id": run,
        "pinned": pinned,
        "agents": names,
        "words_only": words_only,
    }
    if since and until and asked["since"] > asked["until"]:
        raise InvalidInputError(
            f"--since {since!r} lies after --until {until!r}", hint="nothing can be both; swap them"
        )
    with session.memory(names[0] if names else None) as handle:
        results = handle.recall(
            query,
            status=listed(status),
            everything=everything,
            limit=limit,
            rerank=rerank,
            budget_tokens=budget,
            **asked,
        )
        oldest = handle.status().oldest if not results and knowledge is not None else None
        short = len(results) < limit and not (status or everything)
        waiting = _held_back(handle, query, asked) if short else ""
    if recent:
        results.sort(key=lambda one: (one.memory.recorded_at, one.memory.id), reverse=True)
    notes = [
        *([] if results else [_nothing(session, knowledge, oldest)]),
        *([_TIMELESS] if valid_at is not None and results and not any(map(_has_validity, results)) else []),
        *([f"{waiting}; --status quarantined shows it"] if waiting else []),
    ]
    note = "; ".join(notes) or None
    value = {"results": results, "times": session.times, "note": note}
    session.emit(value, lambda paint: _lines(session, results, paint, explain=explain))
    if note and not session.json:
        session.note(note)


_TIMELESS: Final = (
    "none of these says when it is true, so --valid-at made no difference; `remember --valid-from` says it, "
    "--as-of asks what was believed then"
)


def _held_back(handle: Memanto, query: str | None, asked: Mapping[str, Any]) -> str:
    from memanto.adapter import held_back

    return held_back(handle, query, **asked)


def _has_validity(result: Recollection) -> bool:
    memory = result.memory
    return any((memory.valid_from, memory.valid_to, memory.begins, memory.retired_at))


def _lines(session: Session, results: Sequence[Recollection], paint: Palette, *, explain: bool) -> Iterator[str]:
    yield from result_lines(results, session.zone, paint)
    if explain and results:
        yield from explanation_lines(results, paint)


def _nothing(session: Session, knowledge: datetime | None, oldest: datetime | None) -> str:
    """Return the sentence that explains an empty answer."""
    if knowledge is None:
        return "nothing found"
    if oldest is None or oldest <= knowledge:
        return "nothing that matches was known then"
    return f"nothing was known then; oldest memory is from {stamp(oldest, session.zone)}; try --valid-at"


def show(
    session: Session,
    id: IdArgument,  # noqa: A002 - the word users know
    page: Annotated[
        int | None,
        typer.Option(
            "--page",
            metavar="N",
            parser=whole(1, such_as=1),
            help="Only this page of a long text, from 1 on.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Show all of one memory."""
    with session.memory() as handle:
        if page is not None:
            part = handle.page(id, page)
            session.emit(part, lambda paint: [paint.safe(part.text)])
            session.note(f"page {part.number} of {part.pages}")
            return
        memory = handle.show(id)
    session.emit(memory, lambda paint: memory_lines(memory, session.zone, paint))


def history(session: Session, id: IdArgument) -> None:  # noqa: A002 - the word users know
    """Show every version of a memory.

    With each comes when it changed, who decided it, and why.
    """
    with session.memory() as handle:
        versions = handle.history(id)
    session.emit(
        {"id": versions[-1].id, "versions": versions}, lambda paint: history_lines(versions, session.zone, paint)
    )
