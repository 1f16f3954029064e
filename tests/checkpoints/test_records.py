"""Every place for records does the same (our decisions, written at the port)."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from memanto.engine.edge_records import EdgeRecords
from memanto.engine.records import Record, Records
from memanto.errors import BackendUnavailableError, InvalidInputError, StoreDamagedError
from memanto.filters import AnyOf, Equals, TimeRange, Where

AGENT = "loop"
THREAD = Where((Equals("thread", "t"),))


def key(number: int) -> str:
    return f"{number:032x}"


def record(
    number: int, *, thread: str = "t", body: str = "", at: int | None = None, refs: Sequence[int] = (), **rest: str
) -> Record:
    """Return a record; `rest` are further keys, `at` makes it one with a time."""
    head = {"id": f"{number:03}", "refs": [key(ref) for ref in refs], "n": number}
    keys = {"thread": thread, **rest}
    if at is not None:
        keys["at"] = f"2026-01-01T00:00:{at:02}.000000Z"
    return Record(key(number), keys, head, body or f"body {number}")


def shared(number: int, thread: str = "t") -> Record:
    return Record(key(number), {"thread": thread}, {"shared": True}, "shared")


def numbers(found: list[Record]) -> list[int]:
    return [int(one.id, 16) for one in found]


def everything(records: Records) -> list[int]:
    return sorted(numbers(records.find(AGENT, Where())))


def test_what_was_written_comes_back_as_it_was(records: Records) -> None:
    odd = Record(
        key(7), {"thread": "naïve\x00 日本\U0001f600", "line": "l", "run": "", "of": "x"},
        {"id": "", "text": "\ud800 \"'\n", "deep": {"a": [1, 2.5, None, True]}, "big": 2**63}, "b\x00\U0001f600" * 500,
    )  # fmt: skip
    records.write(AGENT, [odd])
    assert records.collect(AGENT, [key(7)]).records == [odd]
    assert records.find(AGENT, Where(), bodies=True) == [odd]
    assert records.find(AGENT, Where()) == [odd._replace(body="")]


def test_a_namespace_begins_with_its_first_record_and_others_do_not_see_it(records: Records) -> None:
    assert records.namespaces() == []
    assert records.find(AGENT, Where()) == []
    assert records.collect(AGENT, THREAD, 1).records == () or records.collect(AGENT, THREAD, 1).records == []
    assert records.info(AGENT).records == 0
    for nothing in (records.compact, records.flush, records.drop):
        nothing(AGENT)
    records.delete(AGENT, [key(1)], THREAD)
    records.reclaim(AGENT, THREAD)
    assert records.namespaces() == []
    records.write(AGENT, [record(1)])
    records.write("other", [record(2)])
    assert records.namespaces() == [AGENT, "other"]
    assert everything(records) == [1]
    assert not records.collect(AGENT, [key(2)]).records
    records.drop("other")
    assert records.namespaces() == [AGENT]


def test_put_replaces_keep_does_not_and_add_says_so(records: Records) -> None:
    records.write(AGENT, [record(1, body="old")], keep=[record(2, body="old")], add=[record(3, body="old")])
    written = records.write(AGENT, [record(1, body="new")], add=[record(3, body="new"), record(4, body="new")])
    assert (list(written.missing), list(written.taken)) == ([], [key(3)])
    found = records.collect(AGENT, [key(n) for n in (4, 3, 2, 1, 9)]).records
    assert [(int(one.id, 16), one.body) for one in found] == [(4, "new"), (3, "old"), (2, "old"), (1, "new")]


def test_nothing_is_stored_when_something_needed_is_missing(records: Records) -> None:
    assert list(records.write(AGENT, [record(1)], needs=[key(8)]).missing) == [key(8)]
    assert everything(records) == []
    records.write(AGENT, [record(8)])
    written = records.write(AGENT, [record(1)], keep=[record(2)], add=[record(3)], needs=[key(8), key(9)])
    assert list(written.missing) == [key(9)]
    assert everything(records) == [8]
    assert not records.write(AGENT, [record(1)], needs=[key(8)]).missing
    assert everything(records) == [1, 8]


def test_the_newest_come_in_order_and_ties_are_whole(records: Records) -> None:
    generator = random.Random(3)
    times = {n: generator.choice([1, 2, 2, 2, 5, 6]) for n in range(40)}
    order = sorted(times, key=lambda n: (times[n], n), reverse=True)
    records.write(
        AGENT, [record(n, at=times[n]) for n in generator.sample(order, 40)] + [record(99), record(98, thread="u")]
    )
    assert numbers(records.find(AGENT, THREAD, newest_first=True)) == order
    for limit in (1, 2, 7, 20, 39, 40, 41):
        found = numbers(records.find(AGENT, THREAD, newest_first=True, limit=limit))
        last = times[order[min(limit, 40) - 1]]
        assert found == [n for n in order if times[n] >= last]
        assert numbers(list(records.collect(AGENT, THREAD, limit).records)) == found
    later = THREAD.also(TimeRange("at", lt="2026-01-01T00:00:05.000000Z"))
    assert numbers(records.find(AGENT, later, newest_first=True)) == [n for n in order if times[n] < 5]
    assert records.find(AGENT, THREAD, newest_first=True, limit=0) == []
    assert len(records.find(AGENT, Where(), limit=5)) == 5


def test_more_than_a_page_is_found_whole(records: Records) -> None:
    records.write(AGENT, [record(n, at=n % 60) for n in range(2_100)])
    assert everything(records) == list(range(2_100))
    assert len(records.find(AGENT, THREAD, newest_first=True)) == 2_100


def test_a_record_brings_its_parts_and_what_all_of_them_need(records: Records) -> None:
    records.write(
        AGENT,
        [record(1, at=1, refs=[11]), record(2, at=2, refs=[11, 12])],
        keep=[shared(11), shared(12), shared(13)],
        add=[record(21, of=key(1), refs=[13]), record(22, of=key(2)), record(23, of=key(9))],
    )
    found = records.collect(AGENT, THREAD, 1)
    assert (numbers(list(found.records)), sorted(numbers(list(found.parts)))) == ([2], [22])
    assert sorted(numbers(list(found.shared))) == [11, 12]
    found = records.collect(AGENT, [key(1), key(2)])
    assert sorted(numbers(list(found.parts))) == [21, 22]
    assert sorted(numbers(list(found.shared))) == [11, 12, 13]


def test_the_values_of_a_key_are_listed(records: Records) -> None:
    assert records.values(AGENT, "thread") == []
    records.write(AGENT, [record(1), record(2), record(3, thread="naïve\U0001f600"), record(4, thread="a", run="r")])
    records.write("other", [record(5, thread="theirs")])
    assert records.values(AGENT, "thread") == ["a", "naïve\U0001f600", "t"]
    assert records.values(AGENT, "run") == ["r"]


def test_deleting_is_by_id_and_by_condition(records: Records) -> None:
    records.write(AGENT, [record(n, of=key(n % 3)) for n in range(9)] + [record(50, thread="u")])
    records.delete(AGENT, [key(1), key(77)], Where((AnyOf("of", (key(0),)),)))
    assert everything(records) == [2, 4, 5, 7, 8, 50]
    records.delete(AGENT, (), THREAD)
    assert everything(records) == [50]


def test_shared_records_stay_as_long_as_something_needs_them(records: Records) -> None:
    records.write(AGENT, [record(1, refs=[11]), record(2, refs=[12])], keep=[shared(n) for n in (11, 12, 13)])
    records.write(AGENT, [record(3, thread="u", refs=[13])], keep=[shared(14, "u")])
    records.delete(AGENT, [key(2)])
    records.reclaim(AGENT, THREAD)
    young = records.info(AGENT).disk_bytes is None  # a server leaves what was written lately
    assert everything(records) == ([1, 3, 11, 12, 13, 14] if young else [1, 3, 11, 14])


def test_a_stamp_changes_with_every_change_or_says_nothing(records: Records) -> None:
    seen = []
    for change in (
        lambda: records.write(AGENT, [record(1)]),
        lambda: records.write(AGENT, [record(1)]),
        lambda: records.write(AGENT, add=[record(2)]),
        lambda: records.delete(AGENT, [key(1)]),
        lambda: records.compact(AGENT),
    ):
        change()
        records.find(AGENT, Where())
        seen.append(records.stamp(AGENT))
        records.find(AGENT, Where())
        assert records.stamp(AGENT) == seen[-1]
    told = [one for one in seen if one is not None]
    assert len(told) == len(set(told))


def test_a_key_that_utf8_cannot_hold_is_refused_and_nothing_stays(tmp_path: Path) -> None:
    records = EdgeRecords(tmp_path)
    records.open()
    records.write(AGENT, [record(1)])
    with pytest.raises(InvalidInputError):
        records.write(AGENT, [record(2), record(3, thread="\ud800")])
    assert everything(records) == [1]
    records.close()
    records.open()
    assert everything(records) == [1]
    records.close()


def test_an_embedded_place_keeps_everything_when_it_is_closed_compacted_and_opened_again(tmp_path: Path) -> None:
    records = EdgeRecords(tmp_path, durability="full")
    for n in range(4):
        records.open()
        records.write(AGENT, [record(n, body="x" * 10_000)], keep=[shared(100 + n)])
        records.delete(AGENT, [key(max(n - 1, 77 * (n == 0)))])
        if n % 2:
            records.compact(AGENT)
        records.close()
    records.open()
    assert everything(records) == [3, 100, 101, 102, 103]
    assert (tmp_path / "checkpoints" / AGENT).is_dir()
    assert not (tmp_path / "namespaces").exists()
    records.close()
    with pytest.raises(BackendUnavailableError, match="closed"):
        records.find(AGENT, Where())


def test_files_that_were_altered_between_two_uses_are_refused(tmp_path: Path) -> None:
    records = EdgeRecords(tmp_path)
    records.open()
    records.write(AGENT, [record(n) for n in range(50)])
    records.close()
    [ids] = (tmp_path / "checkpoints").rglob("mutable_id_tracker.mappings")
    ids.write_bytes(ids.read_bytes()[:-40])
    records.open()
    with pytest.raises(StoreDamagedError):
        records.find(AGENT, Where())
    records.close()
