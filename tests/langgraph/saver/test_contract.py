"""What `BaseCheckpointSaver` says and its conformance kit leaves out (specifications, unless told otherwise)."""

from __future__ import annotations

import copy
import itertools
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.base import WRITES_IDX_MAP
from langgraph.checkpoint.memory import InMemorySaver
from tests.langgraph.saver.kit import chain, checkpoint, config, id_of, ids, put, values

from langgraph_memanto import MemantoSaver, MemantoStore
from memanto import AsyncMemanto, Embedded, InMemory, Memanto
from memanto.errors import InvalidInputError


# -- put and get --------------------------------------------------------------------------------------
def test_a_checkpoint_comes_back_as_it_was_put(saver: MemantoSaver) -> None:
    held = {
        "text": "x" * 5_000, "short": "é", "number": 2**60, "real": 0.1, "none": None, "flag": True,
        "bytes": b"\x00\xff" * 300, "list": list(range(500)), "nested": {"a": [{"b": [1, 2]}]}, "empty": [],
    }  # fmt: skip
    made = checkpoint(held, versions_seen={"node": {"text": 1}}, updated_channels=["text"])
    stored = put(saver, config(), made, step=3, run_id="r", mine={"deep": [1, 2]})
    found = saver.get_tuple(stored)
    assert found is not None
    assert found.config == stored
    assert found.parent_config is None
    assert found.checkpoint == made
    assert found.metadata == {"source": "loop", "step": 3, "parents": {}, "run_id": "r", "mine": {"deep": [1, 2]}}
    assert saver.get(config()) == found.checkpoint


def test_scalars_of_the_configuration_become_metadata_and_reserved_ones_do_not(saver: MemantoSaver) -> None:
    named = config()
    named["configurable"] |= {"user": "ada\x00", "langgraph_step": 4, "__secret": "s", "client": object()}
    named["metadata"] = {"tier": 2}
    found = saver.get_tuple(put(saver, named, checkpoint()))
    assert found is not None
    assert found.metadata == {"source": "loop", "step": 0, "parents": {}, "tier": 2, "user": "ada"}


def test_a_channel_without_a_new_version_keeps_the_value_it_had(saver: MemantoSaver) -> None:
    first = put(saver, config(), checkpoint({"a": "old" * 100, "b": ["b"]}))
    changed = checkpoint({"a": "other" * 100, "b": ["b"]}, {"a": 1, "b": 2})
    second = put(saver, first, changed, new={"b": 2})
    assert values(saver, second) == {"a": "old" * 100, "b": ["b"]}


def test_a_fork_takes_values_from_the_state_where_its_parent_has_other_versions(saver: MemantoSaver) -> None:
    first = put(saver, config(), checkpoint({"a": ["one"]}, {"a": 1}))
    put(saver, first, checkpoint({"a": ["two"]}, {"a": 2}))
    fork = put(saver, first, checkpoint({"a": ["two"]}, {"a": 2}), new={}, source="fork")
    assert values(saver, fork) == {"a": ["two"]}


def test_a_state_that_the_graph_goes_on_counting_in_keeps_the_versions_it_had(saver: MemantoSaver) -> None:
    """The framework passes one dictionary of versions from step to step and changes it in place."""
    versions = {"a": 1, "b": 1}
    first = put(saver, config(), checkpoint({"a": ["one"], "b": ["b"]}, versions))
    versions["a"] = 2
    put(saver, first, checkpoint({"a": ["two"], "b": ["b"]}, versions), new={"a": 2})
    fork = put(saver, first, checkpoint({"a": ["two"], "b": ["b"]}, dict(versions)), new={}, source="fork")
    assert values(saver, fork) == {"a": ["two"], "b": ["b"]}
    assert values(saver, first) == {"a": ["one"], "b": ["b"]}


def test_two_branches_with_the_same_version_keep_their_own_values(saver: MemantoSaver) -> None:
    first = put(saver, config(), checkpoint({"a": ["one"]}, {"a": 1}))
    left = put(saver, first, checkpoint({"a": ["left"] * 99}, {"a": 2}))
    right = put(saver, first, checkpoint({"a": ["right"] * 99}, {"a": 2}))
    assert values(saver, left) == {"a": ["left"] * 99}
    assert values(saver, right) == {"a": ["right"] * 99}


def test_a_channel_that_was_emptied_has_no_value(saver: MemantoSaver) -> None:
    first = put(saver, config(), checkpoint({"a": ["x"], "b": 1}))
    second = put(saver, first, checkpoint({"b": 1}, {"a": 2, "b": 1}), new={"a": 2})
    assert values(saver, second) == {"b": 1}
    assert values(saver, first) == {"a": ["x"], "b": 1}


def test_putting_the_same_id_again_replaces_the_checkpoint(saver: MemantoSaver) -> None:
    made = checkpoint({"a": ["first"] * 200})
    put(saver, config(), made)
    made["channel_values"] = {"a": ["second"] * 200}
    stored = put(saver, config(), made, step=7)
    found = list(saver.list(config()))
    assert [one.checkpoint["channel_values"] for one in found] == [{"a": ["second"] * 200}]
    assert found[0].metadata["step"] == 7
    assert values(saver, stored) == values(saver, config())


def test_the_latest_is_the_greatest_id_whatever_was_put_last(saver: MemantoSaver) -> None:
    put(saver, config(), checkpoint(id="b"))
    put(saver, config(), checkpoint(id="c"))
    put(saver, config(), checkpoint(id="a"))
    found = saver.get_tuple(config())
    assert found is not None
    assert found.checkpoint["id"] == "c"
    assert ids(saver.list(config())) == ["c", "b", "a"]


def test_what_a_reader_changes_is_changed_for_nobody_else(saver: MemantoSaver) -> None:
    put(saver, config(), checkpoint({"a": {"deep": [1]}}))
    for _ in range(3):  # the third reading may come from what the second one left
        found = saver.get_tuple(config())
        assert found is not None
        assert found.checkpoint["channel_values"] == {"a": {"deep": [1]}}
        found.checkpoint["channel_values"]["a"]["deep"].append(2)
        found.checkpoint["channel_versions"]["a"] = 9
        found.metadata["step"] = 9
        found.config["configurable"]["thread_id"] = "other"


def test_every_write_is_seen_by_the_next_reading(saver: MemantoSaver) -> None:
    last = config()
    for n in range(6):
        last = put(saver, last, checkpoint({"n": n}, {"n": n}))
        assert values(saver, config()) == {"n": n}
        saver.put_writes(last, [("n", n)], f"task-{n}")
        found = saver.get_tuple(config())
        assert found is not None
        assert found.pending_writes == [(f"task-{n}", "n", n)]


def test_an_unknown_thread_or_id_is_none_and_changes_nothing(saver: MemantoSaver) -> None:
    assert saver.get_tuple(config()) is None
    assert saver.get_tuple(config("t", "", "nothing")) is None
    assert list(saver.list(config())) == []
    assert list(saver.list_threads()) == []
    saver.delete_thread("t")
    saver.prune(["t"])
    saver.copy_thread("t", "u")
    saver.delete_for_runs(["r"])
    assert list(saver.list(None)) == []


# -- writes -------------------------------------------------------------------------------------------
def test_writes_come_in_the_order_in_which_a_step_applies_them(saver: MemantoSaver) -> None:
    stored = put(saver, config(), checkpoint())
    saver.put_writes(stored, [("x", 1), ("y", 2)], "task-a", "~2")
    saver.put_writes(stored, [("x", 3)], "task-c", "~1")
    saver.put_writes(stored, [("x", 4)], "task-b", "~1")
    saver.put_writes(stored, [("x", 5)], "task-z")
    found = saver.get_tuple(stored)
    assert found is not None
    assert found.pending_writes == [
        ("task-z", "x", 5), ("task-b", "x", 4), ("task-c", "x", 3), ("task-a", "x", 1), ("task-a", "y", 2),
    ]  # fmt: skip


def test_writes_may_come_before_their_checkpoint(saver: MemantoSaver) -> None:
    made = checkpoint({"a": 1})
    saver.put_writes(config("t", "", made["id"]), [("a", "w" * 1_000)], "task")
    assert saver.get_tuple(config()) is None
    found = saver.get_tuple(put(saver, config(), made))
    assert found is not None
    assert found.pending_writes == [("task", "a", "w" * 1_000)]


def test_the_first_write_of_a_number_stays_and_further_numbers_are_added(saver: MemantoSaver) -> None:
    stored = put(saver, config(), checkpoint())
    saver.put_writes(stored, [("a", "first")], "task")
    saver.put_writes(stored, [("a", "second"), ("b", "new")], "task")
    saver.put_writes(stored, [("a", "third"), ("b", "third"), ("c", "third")], "task")
    found = saver.get_tuple(stored)
    assert found is not None
    assert found.pending_writes == [("task", "a", "first"), ("task", "b", "new"), ("task", "c", "third")]


@pytest.mark.parametrize("channel", sorted(WRITES_IDX_MAP))
def test_a_special_write_is_replaced(channel: str, saver: MemantoSaver) -> None:
    stored = put(saver, config(), checkpoint())
    saver.put_writes(stored, [("a", 1)], "task")
    saver.put_writes(stored, [(channel, ["old"])], "task")
    saver.put_writes(stored, [("a", 2), (channel, ["new"] * 200)], "task")
    found = saver.get_tuple(stored)
    assert found is not None
    assert found.pending_writes == [("task", channel, ["new"] * 200), ("task", "a", 1)]


def test_no_writes_are_no_writes(saver: MemantoSaver) -> None:
    stored = put(saver, config(), checkpoint())
    saver.put_writes(stored, [], "task")
    found = saver.get_tuple(stored)
    assert found is not None
    assert found.pending_writes == []


# -- list ---------------------------------------------------------------------------------------------
def test_list_without_a_configuration_is_about_all_threads(saver: MemantoSaver) -> None:
    one, two = chain(saver, 2, "one"), chain(saver, 1, "two", "child:1")
    assert ids(saver.list(None)) == ids(reversed([*one, *two]))
    assert ids(saver.list(None, limit=1)) == ids(two)
    assert ids(saver.list(None, filter={"step": 1})) == ids(one[1:])


def test_list_without_a_namespace_is_about_all_of_the_thread(saver: MemantoSaver) -> None:
    root, child = chain(saver, 2), chain(saver, 2, "t", "child:1")
    assert ids(saver.list(config("t", None))) == ids(reversed([*root, *child]))
    assert ids(saver.list(config("t", ""))) == ids(reversed(root))
    assert ids(saver.list(config("t", "child:1"))) == ids(reversed(child))


def test_list_with_an_id_is_about_that_checkpoint(saver: MemantoSaver) -> None:
    made = chain(saver, 3)
    assert ids(saver.list(made[1])) == ids([made[1]])
    assert ids(saver.list(made[1], filter={"step": 2})) == []


def test_list_before_and_limit_are_exact_beyond_a_page(saver: MemantoSaver) -> None:
    made = ids(chain(saver, 120))
    before = config("t", "", made[60])
    for limit in (0, 1, 2, 59, 60, 61, None):
        expected = made[:60][::-1][:limit]
        assert ids(saver.list(config(), before=before, limit=limit)) == expected
        assert ids(saver.list(config(), before=before, limit=limit, filter={"source": "loop"})) == expected


def test_list_orders_ids_that_share_a_time_by_their_text(saver: MemantoSaver) -> None:
    names = [f"1f1ecd6a-53c8-6ba4-8001-{n:012x}" for n in range(40)] + ["zz", "z", "", "1f1ecd6a-53c8-6ba4", "A"]
    for name in names[::2] + names[1::2]:
        put(saver, config(), checkpoint(id=name))
    assert ids(saver.list(config())) == sorted(names, reverse=True)
    assert ids(saver.list(config(), limit=7)) == sorted(names, reverse=True)[:7]
    found = saver.get_tuple(config())
    assert found is not None
    assert found.checkpoint["id"] == max(names)


def test_a_filter_compares_whole_values_of_any_key(saver: MemantoSaver) -> None:
    put(saver, config(), checkpoint(), score={"a": 1, "b": 2}, tag="x")
    put(saver, config(), checkpoint(), score={"a": 1}, tag="y")
    assert [one.metadata["tag"] for one in saver.list(config(), filter={"score": {"a": 1}})] == ["y"]
    assert [one.metadata["tag"] for one in saver.list(config(), filter={"score": {"a": 1, "b": 2}, "tag": "x"})] == [
        "x"
    ]
    assert list(saver.list(config(), filter={"') OR 1=1 --": 1})) == []


def test_nothing_is_held_while_a_listing_waits(saver: MemantoSaver) -> None:
    made = chain(saver, 3)
    listing = saver.list(config())
    assert id_of(next(listing).config) == id_of(made[-1])
    with ThreadPoolExecutor(1) as other:  # a thread of its own, which a lock of this one would stop
        later = other.submit(put, saver, made[-1], checkpoint({"n": 9}, {"n": 9})).result(timeout=20)
    listing.close()
    assert ids(saver.list(config(), limit=1)) == ids([later])


# -- identity -----------------------------------------------------------------------------------------
def test_a_number_and_its_text_are_one_thread(saver: MemantoSaver) -> None:
    put(saver, config(1), checkpoint({"a": 1}))
    assert values(saver, config("1")) == {"a": 1}
    assert [one.id for one in saver.list_threads()] == ["1"]
    saver.delete_thread(1)  # type: ignore[arg-type]
    assert saver.get_tuple(config("1")) is None


def test_any_text_names_a_thread_and_a_namespace(saver: MemantoSaver) -> None:
    threads = ["", "a/b", "../x", "naïve 日本", "a" * 3_000, "x\x00y", "1:t", "'; drop", "\U0001f600", "1", "1:", ":1"]
    spaces = ["", "n:1|m:2", "x|y", "日|:", ":t", "1:t"]
    for number, (thread, ns) in enumerate(itertools.product(threads, spaces)):
        stored = put(saver, config(thread, ns), checkpoint({"a": number}))
        saver.put_writes(stored, [("a", number)], "task")
    for number, (thread, ns) in enumerate(itertools.product(threads, spaces)):
        [found] = saver.list(config(thread, ns))
        assert found.checkpoint["channel_values"] == {"a": number}
        assert found.pending_writes == [("task", "a", number)]
    assert sorted(one.id for one in saver.list_threads()) == sorted(threads)


def test_a_thread_that_cannot_be_stored_exactly_is_refused(saver: MemantoSaver) -> None:
    with pytest.raises(InvalidInputError, match="no text that UTF-8 can hold"):
        put(saver, config("\ud800"), checkpoint())


def test_a_configuration_without_a_thread_is_refused(saver: MemantoSaver) -> None:
    with pytest.raises(InvalidInputError, match="names no thread"):
        saver.get_tuple({"configurable": {}})


def test_agents_share_nothing_in_one_store(tmp_path: Path) -> None:
    store = Embedded(tmp_path)
    with MemantoSaver("one", store=store) as one, MemantoSaver("two", store=store) as two:
        put(one, config(), checkpoint({"a": 1}))
        assert two.get_tuple(config()) is None
        put(two, config(), checkpoint({"a": 2}))
        two.delete_thread("t")
        assert values(one, config()) == {"a": 1}


def test_versions_rise_and_differ_between_branches(saver: MemantoSaver) -> None:
    first = saver.get_next_version(None, None)
    later = [saver.get_next_version(first, None) for _ in range(50)]
    assert min(later) > first
    assert len(set(later)) == 50
    oracle = InMemorySaver()
    mixed = [first]
    for n in range(30):  # a thread that another saver began goes on
        mixed.append((saver if n % 2 else oracle).get_next_version(mixed[-1], None))
    assert mixed == sorted(mixed)


def test_a_copy_works_on_the_same_threads_with_its_own_serializer(saver: MemantoSaver) -> None:
    put(saver, config(), checkpoint({"a": ["x"] * 300}))
    twin = copy.copy(saver)
    assert values(twin, config()) == {"a": ["x"] * 300}
    later = put(twin, config(), checkpoint({"a": 2}))
    assert values(saver, later) == {"a": 2}
    derived = saver.with_allowlist([("collections", "OrderedDict")])
    assert derived is not saver
    assert derived.serde is not saver.serde
    assert values(derived, later) == {"a": 2}


# -- life ---------------------------------------------------------------------------------------------
def test_a_saver_goes_on_after_it_was_closed(edge_saver: MemantoSaver) -> None:
    made = chain(edge_saver, 3)
    edge_saver.put_writes(made[-1], [("n", 3)], "task")
    edge_saver.close()
    edge_saver.close()
    found = edge_saver.get_tuple(config())
    assert found is not None
    assert found.checkpoint["channel_values"] == {"n": 2}
    assert found.pending_writes == [("task", "n", 3)]


def test_making_a_saver_does_no_work(tmp_path: Path) -> None:
    MemantoSaver("loop", store=Embedded(tmp_path / "store")).close()
    assert not (tmp_path / "store").exists()


def test_threads_may_write_and_read_at_the_same_time(saver: MemantoSaver) -> None:
    """Eight threads, each with a graph of its own, and ten tasks of each step at once."""
    rounds, errors = 5, []
    start = threading.Barrier(8)

    def work(number: int) -> None:
        try:
            start.wait()
            last = config(f"t{number}")
            for step in range(rounds):
                last = put(saver, last, checkpoint({"log": [number] * 50 * (step + 1)}, {"log": step}))
                with ThreadPoolExecutor(10) as tasks:
                    list(
                        tasks.map(lambda n, at=last: saver.put_writes(at, [("log", [n] * 80)], f"task-{n}"), range(10))
                    )
                found = saver.get_tuple(config(f"t{number}"))
                assert found is not None
                assert found.checkpoint["channel_values"] == {"log": [number] * 50 * (step + 1)}
                assert sorted(found.pending_writes or ()) == [(f"task-{n}", "log", [n] * 80) for n in range(10)]
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert errors == []
    assert {one.id: (one.checkpoints, one.writes) for one in saver.list_threads()} == {
        f"t{n}": (rounds, 10 * rounds) for n in range(8)
    }


@pytest.mark.parametrize("bad", [{"keep_last": 0}, {"keep_last": True}, {"extra_types": [dict], "serde": object()}])
def test_what_makes_no_saver_is_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError):
        MemantoSaver("loop", **bad)


def test_what_the_saver_takes_is_told_by_what_it_was_given() -> None:
    """Our decision: the store takes a memory and the saver a name, which are easily mixed up."""
    for memory in (Memanto("shop", store=InMemory()), AsyncMemanto("shop", store=InMemory())):
        with pytest.raises(InvalidInputError) as caught:
            MemantoSaver(memory)  # type: ignore[arg-type]
        assert caught.value.hint == 'the saver takes the agent\'s name: MemantoSaver("shop")'
    with pytest.raises(InvalidInputError, match="'/some/path' is no store"):
        MemantoSaver("shop", store="/some/path")  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError) as caught:
        MemantoStore("shop")  # type: ignore[arg-type]
    assert caught.value.hint == "pass Memanto('shop') or AsyncMemanto('shop')"
