"""How a function becomes a command: common options, bare words, and the session it is given."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Concatenate, Final, ParamSpec

import typer
from typer.core import TyperCommand

from memanto.cli.session import Session
from memanto.cli.words import Complete, join_bare_words
from memanto.errors import InvalidInputError
from memanto.models import Provenance
from memanto.times import local_zone, parse_time, utc_now

P = ParamSpec("P")

AgentOption = Annotated[
    str | None, typer.Option("--agent", metavar="NAME", help="Use this agent's memories.", show_default=False)
]
JsonOption = Annotated[bool, typer.Option("--json", help="Write JSON; errors too, on standard error.")]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Only results: no notes and no progress.")]

_COMMON: Final = (("agent", AgentOption, None), ("json", JsonOption, False), ("quiet", QuietOption, False))
_JOINED: Final = "memanto.joined"


def verb(
    app: typer.Typer, name: str
) -> Callable[[Callable[Concatenate[Session, P], None]], Callable[Concatenate[Session, P], None]]:
    """Register a function as a command that also takes `--agent`, `--json` and `--quiet`.

    The function is called with a `Session` made from those, then its own parameters, which Typer reads from
    its signature. Its docstring is the command's help.
    """

    def register(function: Callable[Concatenate[Session, P], None]) -> Callable[Concatenate[Session, P], None]:
        def command(ctx: typer.Context, **values: Any) -> None:
            common = {option: values.pop(option) for option, _, _ in _COMMON}
            session = Session.of(ctx.obj, common)
            for one in ctx.meta.get(_JOINED, ()):
                if (typed := " ".join(one.words)) != one.value:
                    session.note(f"read {one.option} {typed} as {one.value!r}")
            function(session, **values)  # type: ignore[call-arg]  # Typer filled in exactly its parameters

        named = inspect.Parameter.KEYWORD_ONLY
        command.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [
                inspect.Parameter("ctx", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context),
                *(
                    one.replace(kind=named)
                    for one in list(inspect.signature(function, eval_str=True).parameters.values())[1:]
                ),
                *(
                    inspect.Parameter(option, named, annotation=kind, default=default)
                    for option, kind, default in _COMMON
                ),
            ]
        )
        command.__annotations__ = {}
        command.__doc__ = function.__doc__
        app.command(name, cls=_Verb)(command)
        return function

    return register


class _Verb(TyperCommand):
    """A command that joins bare words to the option value they complete."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        positionals = 0
        valued: list[str] = []
        flags = {*ctx.help_option_names}
        complete: dict[str, Complete] = {}
        for parameter in self.params:
            if parameter.param_type_name == "argument":
                positionals += parameter.nargs
                if parameter.nargs < 0:
                    return super().parse_args(ctx, args)
            elif getattr(parameter, "is_flag", False):
                flags.update(parameter.opts, parameter.secondary_opts)
            else:
                valued += parameter.opts
                if parameter.name in _KNOWN:
                    complete.update(dict.fromkeys(parameter.opts, _KNOWN[parameter.name]))
        if not ctx.resilient_parsing:
            args, ctx.meta[_JOINED] = join_bare_words(
                args, valued=valued, flags=flags, complete=complete, positionals=positionals
            )
        return super().parse_args(ctx, args)


# -- values of several words ------------------------------------------------------------------------
_TOOLS: Final = (
    "claude", "claude_code", "cline", "codex", "continue", "cursor", "gemini", "gemini_cli", "github_copilot", "goose",
    "opencode", "roo", "roo_code", "windsurf",
)  # fmt: skip


def _one_of(values: Sequence[str]) -> Complete:
    def known(words: Sequence[str]) -> str | None:
        spelled = "_".join(words).lower().replace("-", "_")
        return spelled if spelled in values else None

    return known


def _time(words: Sequence[str]) -> str | None:
    text = " ".join(words)
    try:
        parse_time(text, now=utc_now(), zone=local_zone(os.environ), edge="start")
    except InvalidInputError:
        return None
    return text


_KNOWN: Final[dict[str | None, Complete]] = {
    "source": _one_of(_TOOLS),
    "provenance": _one_of([one.value for one in Provenance]),
    **dict.fromkeys(("since", "until", "changed_since", "as_of", "valid_at", "valid_from", "valid_to"), _time),
}
"""Options, by the name of their parameter, whose known values may be typed as several words."""
