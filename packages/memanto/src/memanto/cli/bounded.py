"""Values of options that are numbers within bounds, and what is said of one that is not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import typer

from memanto.errors import shown


@dataclass(frozen=True, slots=True)
class Number:
    """Reads the value of an option; give it to `typer.Option` as `parser`.

    Attributes:
        low: Smallest value.
        high: Largest value; `None` for no bound.
        such_as: A value that makes sense, for the next step of an error.
        whole: Refuse fractions.
    """

    low: float
    high: float | None
    such_as: float
    whole: bool

    @property
    def __name__(self) -> str:
        """What Typer calls the type."""
        return "number"

    def __str__(self) -> str:
        bound = f"from {self.low:,} on" if self.high is None else f"from {self.low:,} to {self.high:,}"
        return f"a {'whole ' if self.whole else ''}number {bound}"

    def __call__(self, value: Any) -> Any:
        """Return the number that a text, or a default, stands for.

        Raises:
            typer.BadParameter: It stands for none within the bounds.
        """
        try:
            number = int(value) if self.whole else float(value)
        except (ValueError, OverflowError):
            number = None
        top = float("inf") if self.high is None else self.high
        if number is None or not self.low <= number <= top or number == float("inf"):
            raise typer.BadParameter(f"{shown(value)} is not {self}")
        return number


def whole(low: int, high: int | None = None, *, such_as: int) -> Number:
    """Return the reader of a whole number from `low` to `high`."""
    return Number(low, high, such_as, whole=True)


def decimal(low: float, high: float | None = None, *, such_as: float) -> Number:
    """Return the reader of a number from `low` to `high`."""
    return Number(low, high, such_as, whole=False)


TOKENS: Final = whole(1, such_as=1000)
"""A budget; a word takes about 1.3 tokens."""
MOST: Final = 10**12
"""Of what a step may take: calls, tokens, cost."""
