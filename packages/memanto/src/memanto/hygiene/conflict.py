"""A conflict between two memories as a value, and how a record holds it.

A record holds ids and digests, no text of the memories. The reason that a language model gave may repeat some of it;
the record is forgotten with either memory.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Final, Literal, TypeAlias, get_args

from memanto.errors import InvalidInputError, SerializationError
from memanto.hygiene.compare import Finding, Kind
from memanto.hygiene.journal import value_of
from memanto.models import Decision, Memory
from memanto.times import from_rfc3339, to_rfc3339

Action: TypeAlias = Literal["keep-old", "keep-new", "keep-both", "merge", "replace", "expire-old", "expire-new"]
ACTIONS: Final[tuple[Action, ...]] = (
    "keep-old", "keep-new", "keep-both", "merge", "replace", "expire-old", "expire-new",
)  # fmt: skip
"""What can be decided; `merge` and `replace` take a text."""

Verdict: TypeAlias = Literal["contradiction", "update", "duplicate", "none"]
VERDICTS: Final[tuple[Verdict, ...]] = get_args(Verdict)
"""What a language model can say of two memories; `none`: they go together."""

KIND: Final = "conflict"
OPEN: Final = "conflict:open"
SET_ASIDE: Final = "conflict:set-aside"
RESOLVED: Final = "conflict:resolved"


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """A memory that a decision gave a new version.

    Attributes:
        id: The memory.
        before: Its version before.
        after: Its version after.
    """

    id: str
    before: int
    after: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What a language model said of a conflict that the rules found: advice, never a decision.

    Attributes:
        verdict: How the two memories stand to each other, as it sees them.
        reason: Why, in its words, on one line; may be `""`.
        model: Its name.
        overruled: Somebody took the judgement back. While both texts stay, no model is asked again.
    """

    verdict: Verdict
    reason: str
    model: str
    overruled: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """Two memories that may not go together.

    Attributes:
        id: Id of the record.
        version: Version of the record.
        older: Id of the memory that tells of the earlier time.
        newer: Id of the other one.
        kind: Update, duplicate or contradiction.
        rule: What found it.
        cue: The words that make it an update, or `""`.
        found_at: When it was found, decided or opened again last.
        action: What was decided, or `None` while it is open.
        decision: Who decided last, what, why and when.
        effects: What the decision changed.
        judgement: What a language model said of it, or `None` while none was asked.
    """

    id: str
    version: int
    older: str
    newer: str
    kind: Kind
    rule: str
    cue: str = ""
    found_at: datetime | None = None
    action: Action | None = None
    decision: Decision | None = None
    effects: tuple[Effect, ...] = ()
    judgement: Judgement | None = None

    @property
    def is_open(self) -> bool:
        """Whether nobody has decided it, or the decision was taken back."""
        return self.action is None

    @property
    def is_set_aside(self) -> bool:
        """Whether it is open, and a language model said that the two go together."""
        return state_of(self.action, self.judgement) == SET_ASIDE


def state_of(action: Action | None, judgement: Judgement | None) -> str:
    """Return the tag of the state that a decision and a judgement make."""
    if action is not None:
        return RESOLVED
    aside = judgement is not None and judgement.verdict == "none" and not judgement.overruled
    return SET_ASIDE if aside else OPEN


def name_of(older: str, newer: str) -> str:
    """Return the name of the record of two memories, whichever comes first."""
    return " ".join(sorted((older, newer)))


def tags_of(older: str, newer: str, state: str) -> tuple[str, ...]:
    """Return the tags a conflict is found by: its state and both memories."""
    return (state, of(older), of(newer))


def of(memory_id: str) -> str:
    """Return the tag of the records about a memory."""
    return f"of:{memory_id}"


def text_of(finding: Finding, older: str, newer: str, action: str | None = None) -> str:
    """Return the line that `history` and `export` show of a conflict."""
    state = "open" if action is None else action
    return f"{finding.kind.capitalize()} by {finding.rule} of {older} and {newer}: {state}."


def record_value(
    finding: Finding,
    older: str,
    newer: str,
    digests: tuple[str, str],
    *,
    action: Action | None = None,
    effects: tuple[Effect, ...] = (),
    judgement: Judgement | None = None,
    found_at: datetime | None = None,
) -> dict[str, Any]:
    """Return what a record keeps of a conflict; the digests of both texts are in the order of their memories' ids.

    `found_at` is given where this version of the record is not what found, decided or opened it.
    """
    kept: dict[str, Any] = {
        "older": older,
        "newer": newer,
        "kind": finding.kind.value,
        "rule": finding.rule,
        "digests": list(digests),
    }
    if finding.cue:
        kept["cue"] = finding.cue
    if action is not None:
        kept["action"] = action
        kept["effects"] = [[effect.id, effect.before, effect.after] for effect in effects]
    if judgement is not None:
        kept["judgement"] = asdict(judgement)
    if found_at is not None:
        kept["found_at"] = to_rfc3339(found_at)
    return kept


def conflict_of(record: Memory) -> Conflict:
    """Return the conflict that a record holds.

    Raises:
        SerializationError: It holds none, or cannot be read.
    """
    kept = value_of(record)
    try:
        return Conflict(
            id=record.id,
            version=record.version,
            older=kept["older"],
            newer=kept["newer"],
            kind=Kind(kept["kind"]),
            rule=kept["rule"],
            cue=kept.get("cue", ""),
            found_at=from_rfc3339(kept["found_at"]) if "found_at" in kept else record.recorded_at,
            action=kept.get("action"),
            decision=record.decision,
            effects=tuple(Effect(id=i, before=b, after=a) for i, b, a in kept.get("effects", ())),
            judgement=Judgement(**kept["judgement"]) if "judgement" in kept else None,
        )
    except (KeyError, TypeError, ValueError) as error:
        raise SerializationError(
            f"record {record.id} of a conflict cannot be read ({error})", hint="run `memanto doctor`"
        ) from error


def digests_of(record: Memory) -> tuple[str, ...]:
    """Return the digests of both texts when the record was written, in the order of their memories' ids."""
    return tuple(map(str, value_of(record).get("digests", ())))


def finding_of(conflict: Conflict) -> Finding:
    """Return the finding behind a conflict, without its words, which only the texts tell."""
    return Finding(kind=conflict.kind, rule=conflict.rule, cue=conflict.cue)


def check_action(value: str) -> Action:
    """Return an action; spaces and underscores count as hyphens.

    Raises:
        InvalidInputError: There is no such action.
    """
    spelled = value.strip().lower().replace("_", "-").replace(" ", "-")
    for action in ACTIONS:
        if spelled == action:
            return action
    raise InvalidInputError(f"unknown action {value!r}", hint=f"one of {', '.join(ACTIONS)}")
