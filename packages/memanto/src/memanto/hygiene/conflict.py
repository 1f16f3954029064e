"""A conflict between two memories as a value, and how a record holds it.

A record holds ids and digests, never text, so that forgetting a memory leaves none of it here.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal, TypeAlias

from memanto.errors import InvalidInputError, SerializationError
from memanto.hygiene.compare import Finding, Kind
from memanto.hygiene.journal import value_of
from memanto.models import Decision, Memory

Action: TypeAlias = Literal["keep-old", "keep-new", "keep-both", "merge", "replace", "expire-old", "expire-new"]
ACTIONS: Final[tuple[Action, ...]] = (
    "keep-old", "keep-new", "keep-both", "merge", "replace", "expire-old", "expire-new",
)  # fmt: skip
"""What can be decided; `merge` and `replace` take a text."""

KIND: Final = "conflict"
OPEN: Final = "conflict:open"
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
        found_at: When this version of it was recorded.
        action: What was decided, or `None` while it is open.
        decision: Who decided last, what, why and when.
        effects: What the decision changed.
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

    @property
    def is_open(self) -> bool:
        """Whether nobody has decided it, or the decision was taken back."""
        return self.action is None


def name_of(older: str, newer: str) -> str:
    """Return the name of the record of two memories, whichever comes first."""
    return " ".join(sorted((older, newer)))


def tags_of(older: str, newer: str, *, is_open: bool) -> tuple[str, ...]:
    """Return the tags a conflict is found by: its state and both memories."""
    return (OPEN if is_open else RESOLVED, of(older), of(newer))


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
) -> dict[str, Any]:
    """Return what a record keeps of a conflict; the digests of both texts are in the order of their memories' ids."""
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
            found_at=record.recorded_at,
            action=kept.get("action"),
            decision=record.decision,
            effects=tuple(Effect(id=i, before=b, after=a) for i, b, a in kept.get("effects", ())),
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
