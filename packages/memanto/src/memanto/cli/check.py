"""`memanto check`: whether memory answers what it should, before anything relies on it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from memanto.cli.session import Session
from memanto.cli.style import Palette, indented
from memanto.cli.verb import verb

if TYPE_CHECKING:
    from memanto.loop.check import CheckReport

_COLOURS: Final = {"supported": "good", "stale": "warn", "conflicting": "warn", "partly": "warn", "absent": "bad"}


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    verb(app, "check")(check)


def check(
    session: Session,
    file: Annotated[
        Path | None,
        typer.Argument(help="Questions and what is expected, YAML or JSON.", show_default=False),
    ] = None,
    *,
    task_type: Annotated[
        str | None,
        typer.Option("--task-type", metavar="TYPE", help="Ask about runs and failures of it.", show_default=False),
    ] = None,
    rerank: Annotated[bool, typer.Option("--rerank/--no-rerank", help="Let the cross-encoder judge.")] = True,
) -> None:
    """Ask memory what it should know, and judge the answers.

    Without a file: the current goal and plan, what the last run concluded, one failure and its fix, the durable facts.
    Each answer is supported, stale, conflicting, partly there or absent; a miss names the stage that failed. Exit
    status 3 when anything is not supported.
    """
    with session.memory() as memory:
        report = memory.check(file, task_type=task_type, rerank=rerank)
    session.emit(report, lambda paint: _lines(report, paint))
    if not report.passed:
        raise typer.Exit(3)


def _lines(report: CheckReport, paint: Palette) -> Iterator[str]:
    for number, result in enumerate(report.results, start=1):
        stage = f" ({result.stage.value})" if result.stage else ""
        verdict = paint(_COLOURS[result.verdict.value], f"{result.verdict.value}{stage}")
        yield f"{number}. {paint('strong', result.question.question)}  {verdict}"
        yield indented(paint.safe(result.answer))
        if result.cited:
            yield indented(f"cites {', '.join(paint('id', one) for one in result.cited)}")
        if result.detail:
            yield indented(paint("warn", result.detail))
    supported = sum(result.verdict.value == "supported" for result in report.results)
    yield f"{supported} of {len(report.results)} supported"
