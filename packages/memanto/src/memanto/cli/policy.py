"""`memanto policy` and `calibration`: what is let go, and whether confidence means what it says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from memanto.cli.bounded import decimal, whole
from memanto.cli.options import ReasonOption, YesOption
from memanto.cli.session import Session
from memanto.cli.style import Palette, columns
from memanto.cli.verb import verb
from memanto.counted import counted
from memanto.errors import InvalidInputError
from memanto.models import MemoryType

if TYPE_CHECKING:
    from memanto.hygiene.expiry import Application
    from memanto.hygiene.learning import Calibration
    from memanto.hygiene.policy import Policy

_SPAN: Final = re.compile(r"(\d+(?:\.\d+)?)\s*(h|hours?|d|days?|w|weeks?)")
_UNITS: Final = {"h": 1, "d": 24, "w": 168}
_NEVER: Final = "never"
_FLOOR: Final = decimal(0, 1, such_as=0.3)

SpanHelp: Final = "such as 12h, 30d or 2w, or never"


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    group = typer.Typer(help="Show, choose and apply what is let go.", rich_markup_mode=None)
    verb(group, "show")(show)
    verb(group, "presets")(presets)
    verb(group, "list")(presets)
    verb(group, "apply-preset")(apply_preset)
    verb(group, "set")(set_)
    verb(group, "apply")(apply)
    app.add_typer(group, name="policy")
    verb(app, "calibration")(calibration)


def show(session: Session) -> None:
    """Show the agent's policy."""
    with session.memory() as memory:
        policy = memory.policy()
    _emit_policy(session, policy)


def presets(session: Session) -> None:
    """Show the presets."""
    from memanto.hygiene.policy import PRESETS, policy_value

    value = {"presets": {name: policy_value(policy) for name, policy in PRESETS.items()}}

    def lines(paint: Palette) -> Iterator[str]:
        for number, policy in enumerate(PRESETS.values()):
            if number:
                yield ""
            yield from _policy_lines(policy, paint)

    session.emit(value, lines)


def apply_preset(
    session: Session,
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="conservative, balanced or aggressive.", show_default=False)
    ],
    reason: ReasonOption = "",
) -> None:
    """Make a preset the agent's policy.

    Nothing expires before `policy apply`, or the next scheduled run.
    """
    from memanto.hygiene.policy import preset

    with session.memory() as memory:
        policy = memory.set_policy(preset(name), reason=reason)
    _emit_policy(session, policy)


def set_(
    session: Session,
    kind: Annotated[str | None, typer.Argument(metavar="TYPE", help="A type of memory.", show_default=False)] = None,
    *,
    ttl: Annotated[
        str | None,
        typer.Option("--ttl", metavar="SPAN", help=f"Age at which it expires, {SpanHelp}.", show_default=False),
    ] = None,
    half_life: Annotated[
        str | None, typer.Option("--half-life", metavar="SPAN", help=f"For ranking, {SpanHelp}.", show_default=False)
    ] = None,
    floor: Annotated[
        str | None,
        typer.Option(
            "--floor", metavar="0..1", help="Confidence below which it expires, or never.", show_default=False
        ),
    ] = None,
    keep_delivered: Annotated[
        int | None,
        typer.Option(
            "--keep-delivered",
            metavar="N",
            parser=whole(0, such_as=2),
            help="Keep what was delivered in N runs; 0: off.",
            show_default=False,
        ),
    ] = None,
    keep_used: Annotated[
        bool | None,
        typer.Option("--keep-used/--no-keep-used", help="Keep what a run used.", show_default=False),
    ] = None,
    max_share: Annotated[
        float | None,
        typer.Option(
            "--max-share",
            metavar="0..1",
            parser=decimal(0.001, 1, such_as=0.1),
            help="Share that one run may let expire.",
            show_default=False,
        ),
    ] = None,
    reason: ReasonOption = "",
) -> None:
    """Change the agent's policy, for a type or as a whole."""
    from dataclasses import replace

    from memanto.hygiene.policy import with_type
    from memanto.memory.validation import coerce_type

    given = {
        "time_to_live": _span("ttl", ttl),
        "half_life": _span("half-life", half_life),
        "confidence_floor": _floor(floor),
    }
    changes: dict[str, Any] = {name: value[0] for name, value in given.items() if value is not None}
    whole = {"keep_delivered": keep_delivered, "keep_used": keep_used, "max_share": max_share}
    changed: dict[str, Any] = {name: value for name, value in whole.items() if value is not None}
    if bool(changes) != (kind is not None) or not (changes or changed):
        raise InvalidInputError(
            "nothing to set" if not (changes or changed) else "a TYPE goes with --ttl, --half-life or --floor",
            hint="for example: memanto policy set event --ttl 90d",
        )
    with session.memory() as memory:
        policy = replace(memory.policy(), **changed)
        if kind is not None:
            policy = with_type(policy, coerce_type(kind), **changes)
        policy = memory.set_policy(policy, reason=reason)
    _emit_policy(session, policy)


def apply(
    session: Session,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="List what would expire and why.")] = False,
    yes: YesOption = False,
) -> None:
    """Let expire what the policy says.

    Each gets a version with the reason, and `restore` brings it back. More than the policy's share needs --yes.
    """
    with session.memory() as memory:
        done = memory.apply_policy(dry_run=dry_run, yes=yes)
    value = {
        "preset": done.policy.preset,
        "dry_run": done.dry_run,
        "live": done.live,
        "share": done.share,
        "expiring": [
            {"id": one.memory.id, "type": one.memory.type, "title": one.memory.title, "reason": one.reason}
            for one in done.expiring
        ],
        "expired": done.expired,
        "skipped": done.skipped,
        "kept": done.kept,
    }
    session.emit(value, lambda paint: _application_lines(done, paint))


def _application_lines(done: Application, paint: Palette) -> Iterator[str]:
    verb_ = "would expire" if done.dry_run else "expired"
    yield f"{len(done.expiring) if done.dry_run else len(done.expired)} of {counted(done.live, 'live memory')} {verb_}"
    yield from columns(
        [[paint("id", one.memory.id), one.reason, paint.safe(one.memory.title)] for one in done.expiring], indent="  "
    )
    for why, number in done.kept.items():
        yield f"  kept {number}: {why}"
    if done.skipped:
        yield f"  {len(done.skipped)} changed meanwhile and were left alone"


def _emit_policy(session: Session, policy: Policy) -> None:
    from memanto.hygiene.policy import policy_value

    session.emit(policy_value(policy), lambda paint: _policy_lines(policy, paint))


def _policy_lines(policy: Policy, paint: Palette) -> Iterator[str]:
    from memanto.hygiene.expiry import days

    yield f"{paint('strong', policy.preset)}"
    rows = [["type", "half-life", "expires after", "below confidence"]]
    for kind in MemoryType:
        one = policy.of(kind)
        half, life = (days(span) if span else _NEVER for span in (one.half_life, one.time_to_live))
        floor = _NEVER if one.confidence_floor is None else f"{one.confidence_floor:g}"
        rows.append([kind.value, half, life, floor])
    header, *body = columns(rows, indent="  ")
    yield paint("faint", header)
    yield from body
    kept = [f"delivered in {counted(policy.keep_delivered, 'run')}"] if policy.keep_delivered else []
    kept += ["used by a run"] if policy.keep_used else []
    yield f"  kept whatever their age: pinned, handoffs, runs{''.join(f', {one}' for one in kept)}"
    yield f"  at most {policy.max_share:.0%} of the live memories in one run"


def _span(option: str, text: str | None) -> tuple[timedelta | None] | None:
    """Return a span in a tuple, `(None,)` for never, or `None` when the option was not given."""
    if text is None:
        return None
    if text.strip().lower() == _NEVER:
        return (None,)
    match = _SPAN.fullmatch(text.strip().lower())
    if match is None:
        raise InvalidInputError(f"--{option} {text!r} is no span of time", hint=SpanHelp)
    return (timedelta(hours=float(match[1]) * _UNITS[match[2][0]]),)


def _floor(text: str | None) -> tuple[float | None] | None:
    if text is None:
        return None
    if text.strip().lower() == _NEVER:
        return (None,)
    try:
        return (_FLOOR(text),)
    except typer.BadParameter as error:
        raise InvalidInputError(f"--floor {error.message}", hint="0 to 1, or never") from None


# -- calibration ------------------------------------------------------------------------------------
def calibration(session: Session) -> None:
    """Compare confidence with what became of it.

    How often memories of a confidence proved right when a run used them or somebody judged them.
    """
    with session.memory() as memory:
        found = memory.calibration()
    session.emit(found, lambda paint: _calibration_lines(found, paint))


def _calibration_lines(found: Calibration, paint: Palette) -> Iterator[str]:
    if not found.uses:
        yield "no memory was used by a run or judged yet"
        return
    rows = [["confidence", "uses", "mean", "proved right"]]
    rows += [
        [f"{one.low:g} to {one.high:g}", str(one.uses), f"{one.confidence:.2f}", f"{one.right:.0%}"]
        for one in found.bins
        if one.uses
    ]
    header, *body = columns(rows)
    yield paint("faint", header)
    yield from body
    yield f"mean distance {found.error:.2f} over {counted(found.uses, 'use')}"
