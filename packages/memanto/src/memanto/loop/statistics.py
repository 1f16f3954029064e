"""Estimates with their 95 % intervals, for few and skewed observations: no normality is assumed.

Trends are Theil-Sen slopes with Sen's interval; differences of means are bootstrapped. Both take observations
for independent. Pure Python, so that asking costs no import.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean, median
from typing import Final

SEED: Final = 20_260_601
"""Seed of every bootstrap, so that the same runs give the same interval."""
RESAMPLES: Final = 2_000
NEWEST: Final = 400
"""Observations a trend looks back at most; the number of pairs grows with the square."""

_Z: Final = 1.959964  #: 97.5 % quantile of the normal distribution
_TAIL: Final = 0.025


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number with its 95 % interval, in the unit of the observations."""

    value: float
    low: float
    high: float

    @property
    def excludes_zero(self) -> bool:
        """Whether zero lies outside the interval."""
        return self.low > 0 or self.high < 0


def trend(values: Sequence[float]) -> Estimate:
    """Return the Theil-Sen slope per observation, with Sen's interval.

    The median of the slopes of all pairs (Theil 1950, Sen 1968: doi 10.1080/01621459.1968.10480934). The interval
    takes the slopes whose ranks lie as far from the middle as the normal approximation of Kendall's S, with its
    variance corrected for ties, allows. Looks at the newest 400 observations.

    Args:
        values: At least two, in order of time.
    """
    looked_at = list(values)[-NEWEST:]
    slopes = sorted((later - earlier) / (j - i) for (i, earlier), (j, later) in combinations(enumerate(looked_at), 2))
    reach = _Z * math.sqrt(_kendall_variance(looked_at))
    low = max(math.floor((len(slopes) - reach) / 2) - 1, 0)
    high = min(math.ceil((len(slopes) + reach) / 2), len(slopes) - 1)
    return Estimate(median(slopes), slopes[low], slopes[high])


def _kendall_variance(values: Sequence[float]) -> float:
    """Return the variance of Kendall's S without a trend, corrected for ties."""
    size = len(values)
    tied = sum(count * (count - 1) * (2 * count + 5) for count in Counter(values).values())
    return (size * (size - 1) * (2 * size + 5) - tied) / 18


def mean(values: Sequence[float]) -> Estimate:
    """Return the mean with its bootstrap percentile interval (Efron 1979): 2,000 resamples, fixed seed."""
    return _bootstrap(lambda draw: fmean(draw(values)), fmean(values))


def difference(values: Sequence[float], others: Sequence[float]) -> Estimate:
    """Return `mean(values) - mean(others)` with its bootstrap percentile interval, both resampled apart."""
    return _bootstrap(lambda draw: fmean(draw(values)) - fmean(draw(others)), fmean(values) - fmean(others))


_Draw = Callable[[Sequence[float]], Sequence[float]]


def _bootstrap(statistic: Callable[[_Draw], float], value: float) -> Estimate:
    chance = random.Random(SEED)  # noqa: S311 - resampling, not secrets

    def draw(values: Sequence[float]) -> Sequence[float]:
        return chance.choices(values, k=len(values))

    found = sorted(statistic(draw) for _ in range(RESAMPLES))
    cut = int(RESAMPLES * _TAIL)
    return Estimate(value, found[cut], found[-cut - 1])
