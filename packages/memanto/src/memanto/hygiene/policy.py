"""Forgetting policies as values: what ages, what expires, and what is kept whatever its age."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any, Final

from memanto.errors import InvalidInputError
from memanto.memory.ranking import HALF_LIVES
from memanto.models import MemoryType

MAX_SHARE: Final = 0.1
"""Share of an agent's live memories that one run expires at most unless it is told to go on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TypePolicy:
    """How memories of one type age.

    Attributes:
        half_life: Age at which half of the recency bonus is gone; `None`: its rank does not depend on age.
        time_to_live: Age at which it expires; `None`: never.
        confidence_floor: 0..1, below which it expires; `None`: never.
    """

    half_life: timedelta | None = None
    time_to_live: timedelta | None = None
    confidence_floor: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What upkeep lets expire for one agent.

    Attributes:
        preset: The preset it began as.
        types: Per type; one that is missing neither ages nor expires.
        keep_delivered: Memories delivered in at least so many runs are kept; 0 switches that off.
        keep_used: Memories that a run used are kept.
        max_share: Share of the live memories that one run expires at most, 0..1.
    """

    preset: str
    types: Mapping[MemoryType, TypePolicy] = field(default_factory=dict)
    keep_delivered: int = 3
    keep_used: bool = True
    max_share: float = MAX_SHARE

    def of(self, kind: MemoryType) -> TypePolicy:
        """Return the policy for a type."""
        return self.types.get(kind, TypePolicy())


def _preset(name: str, days: Mapping[MemoryType, int], floors: Mapping[MemoryType, float], delivered: int) -> Policy:
    kinds = {*days, *floors, *HALF_LIVES}
    types = {
        kind: TypePolicy(
            half_life=HALF_LIVES.get(kind),
            time_to_live=timedelta(days=days[kind]) if kind in days else None,
            confidence_floor=floors.get(kind),
        )
        for kind in MemoryType
        if kind in kinds
    }
    return Policy(preset=name, types=types, keep_delivered=delivered)


_CONTEXT, _EVENT, _OBSERVATION = MemoryType.CONTEXT, MemoryType.EVENT, MemoryType.OBSERVATION

PRESETS: Final[Mapping[str, Policy]] = {
    "conservative": _preset("conservative", {_CONTEXT: 180}, {}, 1),
    "balanced": _preset("balanced", {_CONTEXT: 30, _EVENT: 180, _OBSERVATION: 365}, {_OBSERVATION: 0.2}, 3),
    "aggressive": _preset(
        "aggressive",
        {_CONTEXT: 7, _EVENT: 45, _OBSERVATION: 90, MemoryType.ARTIFACT: 365},
        {_OBSERVATION: 0.4, _EVENT: 0.2, MemoryType.LEARNING: 0.2},
        5,
    ),
}
"""Episodic detail decays. Facts, rules (`instruction`) and failures (`error`) never expire in any of them: what is
stored to be true or to warn does not become false by growing old. The spans are our choice."""

DEFAULT_PRESET: Final = "conservative"


def preset(name: str) -> Policy:
    """Return a preset.

    Raises:
        InvalidInputError: There is none of this name.
    """
    try:
        return PRESETS[name]
    except KeyError:
        raise InvalidInputError(f"unknown preset {name!r}", hint=f"one of {', '.join(PRESETS)}") from None


def with_type(policy: Policy, kind: MemoryType, **changes: Any) -> Policy:
    """Return a policy with other values for a type.

    Raises:
        InvalidInputError: A value is out of its range.
    """
    changed = replace(policy.of(kind), **changes)
    for name in ("half_life", "time_to_live"):
        span = getattr(changed, name)
        if span is not None and span <= timedelta(0):
            raise InvalidInputError(f"{name} {span} is not a positive span of time", hint="such as 30d, or never")
    floor = changed.confidence_floor
    if floor is not None and not 0 <= floor <= 1:
        raise InvalidInputError(f"confidence_floor {floor!r} is not a number from 0 to 1")
    return replace(policy, types={**policy.types, kind: changed})


def checked(policy: Policy) -> Policy:
    """Return a policy whose own numbers are in their range.

    Raises:
        InvalidInputError: One is not.
    """
    if not 0 < policy.max_share <= 1:
        raise InvalidInputError(f"max_share {policy.max_share!r} is not a share above 0 and at most 1")
    if policy.keep_delivered < 0:
        raise InvalidInputError(f"keep_delivered {policy.keep_delivered!r} is below 0")
    return policy


def policy_value(policy: Policy) -> dict[str, Any]:
    """Return a policy as JSON; spans are seconds."""
    return {
        "preset": policy.preset,
        "keep_delivered": policy.keep_delivered,
        "keep_used": policy.keep_used,
        "max_share": policy.max_share,
        "types": {
            kind.value: {
                "half_life": one.half_life and one.half_life.total_seconds(),
                "time_to_live": one.time_to_live and one.time_to_live.total_seconds(),
                "confidence_floor": one.confidence_floor,
            }
            for kind, one in policy.types.items()
        },
    }


def policy_of(value: Mapping[str, Any]) -> Policy:
    """Return the policy that `policy_value` wrote."""
    return Policy(
        preset=value["preset"],
        keep_delivered=value["keep_delivered"],
        keep_used=value["keep_used"],
        max_share=value["max_share"],
        types={
            MemoryType(kind): TypePolicy(
                half_life=_span(one["half_life"]),
                time_to_live=_span(one["time_to_live"]),
                confidence_floor=one["confidence_floor"],
            )
            for kind, one in value["types"].items()
        },
    )


def _span(seconds: float | None) -> timedelta | None:
    return None if seconds is None else timedelta(seconds=seconds)
