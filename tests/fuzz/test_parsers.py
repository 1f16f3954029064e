"""Every parser of outside text takes anything: quick, seeded runs of what `python -m tests.fuzz` searches at length."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.fuzz.catalogue import TARGETS
from tests.fuzz.kit import Target, to_bytes, to_text, within_cpu

ROOT: Final = Path(__file__).resolve().parents[2]
EXAMPLES: Final = {"options": 40, "questions": 60, "config-set": 60, "config-file": 80}
"""Examples of the targets whose calls take milliseconds; the others get `MANY`."""
MANY: Final = 150
RUNS: Final = 3_000

_UNITS: Final = (
    " ",
    "\n",
    "\t",
    "a",
    "a ",
    "A1",
    "\u0301",
    "\u4e1c",
    "(",
    "[",
    "{",
    "<",
    '"',
    "'",
    "`",
    "- ",
    "1",
    ".",
    ", ",
    "\x00",
)


def inputs(target: Target) -> st.SearchStrategy[str]:
    """Return texts in a target's language: made of its words, and seeds with pieces put in place of others."""
    anything = st.text(st.characters(codec=None), max_size=12)
    piece = st.sampled_from(target.words) | anything if target.words else anything
    made = st.lists(piece, max_size=10).map("".join)
    repeated = st.builds(lambda unit, count: unit * count, piece, st.integers(2, 40))

    @st.composite
    def mutated(draw: st.DrawFn) -> str:
        text = draw(st.sampled_from(target.seeds))
        for _ in range(draw(st.integers(1, 3))):
            start = draw(st.integers(0, len(text)))
            end = min(len(text), start + draw(st.integers(0, 12)))
            text = text[:start] + draw(piece | repeated) + text[end:]
        return text

    return mutated() | made | st.builds(str.__add__, st.just(target.lead), made)


@pytest.mark.parametrize("name", TARGETS)
def test_a_parser_takes_its_seeds(name: str) -> None:
    for seed in TARGETS[name].seeds:
        with within_cpu():
            TARGETS[name].check(seed)


@pytest.mark.parametrize("name", TARGETS)
def test_a_parser_takes_anything(name: str) -> None:
    target = TARGETS[name]

    @settings(
        max_examples=EXAMPLES.get(name, MANY),
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(inputs(target))
    def take(text: str) -> None:
        target.check(text)

    take()


@pytest.mark.slow
@pytest.mark.parametrize("name", TARGETS)
def test_a_parser_needs_no_more_time_than_a_hostile_text_is_long(name: str) -> None:
    """What takes quadratic time would need minutes here; processor time is bounded, so nothing hangs."""
    target = TARGETS[name]
    for unit in dict.fromkeys((*_UNITS, *target.words)):
        text = unit * (target.longest // len(unit))
        for hostile in (f"{target.lead}{text}", f"{target.lead}{text}x\n{unit}"):
            try:
                with within_cpu():
                    target.check(hostile)
            except AssertionError as error:
                raise AssertionError(
                    f"{target.lead!r} and {len(text) // len(unit)} times {unit[:20]!r}: {error}"
                ) from error


@given(st.binary(max_size=40))
def test_bytes_and_texts_of_a_target_are_the_same_thing(data: bytes) -> None:
    assert to_bytes(to_text(data)) == data


@pytest.mark.slow
def test_a_short_search_guided_by_coverage_finds_nothing() -> None:
    if importlib.util.find_spec("atheris") is None:
        pytest.skip("atheris is not installed; `make fuzz` says how the long search is run")
    done = subprocess.run(
        [sys.executable, "-m", "tests.fuzz", "--runs", str(RUNS), "--seconds", "10"],
        cwd=ROOT, capture_output=True, text=True, timeout=1_200, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-4_000:] + done.stderr[-4_000:]
