"""Which checkpoints go: decided from their outline alone (our decisions)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memanto.checkpoints import Checkpoint, Key, Packed
from memanto.checkpoints.retention import plan, removable, time_of

NOW = datetime(2026, 6, 1, tzinfo=UTC)


def one(
    name: str, ns: str = "", *, parent: str | None = None, open_: str = "", age: int = 0, root: str | None = None
) -> Checkpoint:
    """Return the outline of a checkpoint that is so many days old."""
    made = (NOW - timedelta(days=age)).isoformat()
    return Checkpoint(Key("t", ns, name), parent, Packed("", ""), open=frozenset(open_), ts=made, root=root)


def line(number: int, ns: str = "", **fields: object) -> list[Checkpoint]:
    return [one(f"{n:02}", ns, parent=f"{n - 1:02}" if n else None, **fields) for n in range(number)]  # type: ignore[arg-type]


def gone(*arguments: object, **limits: object) -> set[tuple[str, str]]:
    return {(key.ns, key.id) for key in plan(*arguments, **{"keep_last": None, "before": None, **limits}).doomed}  # type: ignore[arg-type]


@pytest.mark.parametrize("keep", [1, 3, 10, 11])
def test_the_last_of_each_namespace_stay(keep: int) -> None:
    found = [*line(10), *line(4, "sub")]
    expected = {("", f"{n:02}") for n in range(10 - keep)} | {("sub", f"{n:02}") for n in range(4 - keep)}
    assert gone(found[::-1], keep_last=keep) == expected


def test_what_is_old_goes_except_the_latest_of_its_namespace() -> None:
    found = [one("1", age=9), one("2", age=8), one("3", age=1), one("4", "sub", age=9), one("5", "sub", age=9)]
    assert gone(found, before=NOW - timedelta(days=5)) == {("", "1"), ("", "2"), ("sub", "4")}
    assert gone(found, before=NOW - timedelta(days=5), keep_last=1) == {("", "1"), ("", "2"), ("sub", "4")}


def test_a_checkpoint_that_does_not_say_when_it_was_made_is_not_old() -> None:
    found = [
        Checkpoint(Key("t", "", str(n)), None, Packed("", ""), ts=ts)
        for n, ts in enumerate(["", "now", "2020-01-01T00:00:00"])
    ]
    assert gone([*found, one("9")], before=NOW) == set()
    assert time_of("2020-01-01T00:00:00+00:00") == datetime(2020, 1, 1, tzinfo=UTC)


def test_a_finished_call_goes_with_its_caller_and_a_running_one_stays() -> None:
    found = [
        *line(3),
        one("5", "sub:1", root="00"), one("6", "sub:2", root="02"), one("7", "sub:2|deep:3", root="02"),
        one("8", "sub:9", root="03"), one("9", "stateful", root="00"), one("A", "sub:none"),
    ]  # fmt: skip
    assert gone(found, keep_last=1) == {("", "00"), ("", "01"), ("sub:1", "5")}
    assert gone(found, keep_last=2) == {("", "00"), ("sub:1", "5")}


def test_what_a_kept_checkpoint_is_rebuilt_from_stays() -> None:
    found = line(6)
    found[5] = one("05", parent="04", open_="ab")
    found[4] = one("04", parent="03", open_="ab")
    found[3] = one("03", parent="02", open_="b")  # has the value of a
    found[2] = one("02", parent="01")  # has the value of b
    made = plan(found, keep_last=1, before=None)
    assert [key.id for key in made.doomed] == ["00", "01"]
    assert made.spared == 3


def test_history_is_followed_through_parents_and_not_through_ids() -> None:
    found = [one("1"), one("2", parent="1", open_="a"), one("3", parent="1"), one("4", parent="2", open_="a")]
    assert gone(found, keep_last=1) == {("", "3")}


def test_history_that_is_missing_or_runs_in_a_circle_ends() -> None:
    assert gone([one("2", parent="1", open_="a")], keep_last=1) == set()
    assert gone([one("1", parent="2", open_="a"), one("2", parent="1", open_="a")], keep_last=1) == set()


def test_a_run_can_go_unless_something_is_rebuilt_from_it() -> None:
    found = [*line(3), one("3", parent="02", open_="a")]
    keys = {checkpoint.key.id: checkpoint.key for checkpoint in found}
    assert removable(found, [keys["00"]]).doomed == (keys["00"],)
    assert removable(found, [keys["02"]]).spared == 1
    assert removable(found, [keys["02"], keys["3"]]).spared == 0


@given(
    st.lists(
        st.tuples(
            st.integers(0, 30),
            st.sampled_from(["", "s", "c:1"]),
            st.integers(0, 30),
            st.sets(st.sampled_from("ab")),
            st.integers(0, 9),
        ),
        max_size=30,
    ),
    st.none() | st.integers(1, 5),
    st.none() | st.integers(0, 9),
)
def test_no_plan_takes_the_latest_or_a_needed_one(rows: list, keep: int | None, age: int | None) -> None:
    found = list(
        {(n, ns): one(f"{n:02}", ns, parent=f"{p:02}", open_="".join(o), age=a) for n, ns, p, o, a in rows}.values()
    )
    before = None if age is None else NOW - timedelta(days=age)
    doomed = set(plan(found, keep_last=keep, before=before).doomed)
    left = [each for each in found if each.key not in doomed]
    for ns in {each.key.ns for each in found}:
        latest = max((each for each in found if each.key.ns == ns), key=lambda each: each.key.id)
        assert latest.key not in doomed
    by_key = {each.key: each for each in found}
    for each in left:
        parent = by_key.get(each.key._replace(id=each.parent or ""))
        if each.open and parent is not None:
            assert parent in left
    assert not doomed or keep is not None or before is not None
