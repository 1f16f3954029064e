"""`memanto daily-summary`: what a day left in memory."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from memanto.cli.bounded import TOKENS
from memanto.cli.session import Session
from memanto.cli.verb import verb
from memanto.config_keys import expanded
from memanto.errors import InvalidInputError

if TYPE_CHECKING:
    from memanto.hygiene.summary import DailySummary


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    verb(app, "daily-summary")(daily_summary)


def daily_summary(
    session: Session,
    *,
    date: Annotated[
        str | None, typer.Option("--date", metavar="DAY", help="A local day; today by default.", show_default=False)
    ] = None,
    since: Annotated[
        str | None, typer.Option("--since", metavar="TIME", help="From then until now instead.", show_default=False)
    ] = None,
    run: Annotated[
        str | None, typer.Option("--run", metavar="ID", help="Only what this run wrote.", show_default=False)
    ] = None,
    all_agents: Annotated[bool, typer.Option("--all-agents", help="One summary per agent of the store.")] = False,
    budget: Annotated[
        int | None,
        typer.Option("--budget", metavar="TOKENS", parser=TOKENS, help="Bound on the lines.", show_default=False),
    ] = None,
    output: Annotated[
        str | None, typer.Option("--output", "-o", metavar="FILE", help="Write it there.", show_default=False)
    ] = None,
    llm: Annotated[bool, typer.Option("--llm/--no-llm", help="Let the configured language model add a digest.")] = True,
) -> None:
    """Distil a day.

    One line per memory that was recorded or changed, by type, then what cannot both hold and a conflict report. The
    same for a day however often it is asked for. Nothing is stored; --output writes a file.
    """
    from memanto.hygiene.summary_text import markdown

    start = session.moment("since", since, "start")
    day = _day(session, date)
    summaries: list[DailySummary] = []
    with session.memory() as first:
        names = [one.id for one in first.agents()] if all_agents else [first.agent]
    for name in names:
        with session.memory(name) as memory:
            summaries.append(
                memory.daily_summary(
                    day.date() if day else None,
                    since=start,
                    run_id=run,
                    zone=session.zone,
                    budget_tokens=budget,
                    llm="default" if llm else None,
                )
            )
    text = "\n".join(markdown(one, session.zone) for one in summaries)
    if output is not None:
        _write(output, text)
    value = {"summaries": [{**_fields(one), "counts": one.counts} for one in summaries], "output": output}
    session.emit(value, lambda _: [f"written to {output}"] if output else [text.rstrip("\n")])


def _fields(summary: DailySummary) -> dict[str, object]:
    from memanto.cli.jsonable import jsonable

    fields: dict[str, object] = jsonable(summary)
    return fields


def _day(session: Session, text: str | None) -> datetime | None:
    moment = session.moment("date", text, "start")
    return None if moment is None else moment.astimezone(session.zone)


def _write(output: str, text: str) -> None:
    path = expanded(Path(output))
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InvalidInputError(
            f"cannot write {str(path)!r}: {error.strerror or error}", hint="name a file in a folder that exists"
        ) from error
