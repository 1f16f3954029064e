"""Line charts as SVG text: no library, the same bytes for the same figures."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

_COLOURS = ("#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#8c564b", "#17becf", "#7f7f7f")
_LEFT, _TOP, _WIDTH, _HEIGHT = 70, 40, 460, 300


@dataclass(frozen=True, slots=True)
class Axis:
    """One axis: its label, its range (taken from the data where `None`) and whether it is logarithmic."""

    label: str
    low: float | None = None
    high: float | None = None
    log: bool = False


def lines(title: str, x: Axis, y: Axis, series: Mapping[str, Sequence[tuple[float, float]]]) -> str:
    """Return an SVG picture with one line per series and a legend on the right."""
    points = [point for one in series.values() for point in one]
    across = _Scale(x, [point[0] for point in points], _LEFT, _LEFT + _WIDTH)
    up = _Scale(y, [point[1] for point in points], _TOP + _HEIGHT, _TOP)
    parts = [_frame(title, x, y)]
    for value in across.ticks():
        parts.append(_text(across(value), _TOP + _HEIGHT + 16, _number(value), "middle"))
        parts.append(_rule(across(value), _TOP, across(value), _TOP + _HEIGHT))
    for value in up.ticks():
        parts.append(_text(_LEFT - 6, up(value) + 4, _number(value), "end"))
        parts.append(_rule(_LEFT, up(value), _LEFT + _WIDTH, up(value)))
    for index, (name, one) in enumerate(series.items()):
        colour = _COLOURS[index % len(_COLOURS)]
        path = " ".join(f"{across(a):.1f},{up(b):.1f}" for a, b in one)
        parts.append(f'<polyline fill="none" stroke="{colour}" stroke-width="2" points="{path}"/>')
        height = _TOP + 10 + 18 * index
        parts.append(f'<rect x="{_LEFT + _WIDTH + 12}" y="{height - 6}" width="14" height="4" fill="{colour}"/>')
        parts.append(_text(_LEFT + _WIDTH + 32, height, name, "start"))
    return "\n".join([*parts, "</svg>", ""])


class _Scale:
    def __init__(self, axis: Axis, values: Sequence[float], start: float, end: float) -> None:
        self._log = axis.log
        low = min(values) if axis.low is None else axis.low
        high = max(values) if axis.high is None else axis.high
        self._low, self._high = self._plain(low), self._plain(high)
        if self._low == self._high:
            self._high += 1
        self._start, self._end = start, end

    def _plain(self, value: float) -> float:
        return math.log10(value) if self._log else value

    def __call__(self, value: float) -> float:
        share = (self._plain(value) - self._low) / (self._high - self._low)
        return self._start + share * (self._end - self._start)

    def ticks(self) -> list[float]:
        if self._log:
            return [10.0**power for power in range(math.ceil(self._low - 1e-9), math.floor(self._high + 1e-9) + 1)]
        step = 10 ** math.floor(math.log10(self._high - self._low))
        while (self._high - self._low) / step < 4:
            step /= 2
        first = math.ceil(self._low / step - 1e-9)
        return [round(n * step, 10) for n in range(first, math.floor(self._high / step + 1e-9) + 1)]


def _frame(title: str, x: Axis, y: Axis) -> str:
    middle, bottom = _LEFT + _WIDTH / 2, _TOP + _HEIGHT
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_LEFT + _WIDTH + 230} {bottom + 50}">',
            "<style>text { font: 12px sans-serif }</style>",
            '<rect width="100%" height="100%" fill="white"/>',
            _text(middle, 24, title, "middle"),
            f'<rect x="{_LEFT}" y="{_TOP}" width="{_WIDTH}" height="{_HEIGHT}" fill="none" stroke="#444"/>',
            _text(middle, bottom + 38, x.label, "middle"),
            f'<g transform="translate(18 {_TOP + _HEIGHT / 2}) rotate(-90)">{_text(0, 0, y.label, "middle")}</g>',
        ]
    )


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _rule(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="#ddd"/>'


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 10 else f"{value:g}"
