"""Two time axes: what was believed then, and what was true then. Pins the specification."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memanto import Embedded, Memanto, Server
from memanto.testing import FixedClock, HashEmbedder

DAY = timedelta(days=1)


def contents(hits):
    return [hit.memory.content for hit in hits]


def day(number):
    return datetime(2026, 3, 1, tzinfo=UTC) + number * DAY


def test_as_of_answers_what_was_believed_then(memory, clock):
    moments = []
    first = memory.remember("The database is MySQL", key="database", type="fact")
    for step in (
        lambda: memory.remember("The database is PostgreSQL 16", key="database", type="fact"),
        lambda: memory.edit(first.id, content="The database is PostgreSQL 17"),
        lambda: memory.expire(first.id),
    ):
        clock.advance(3600)
        moments.append(clock())
        clock.advance(3600)
        step()
    answers = [contents(memory.recall("which database", as_of=moment)) for moment in moments]
    assert answers == [["The database is MySQL"], ["The database is PostgreSQL 16"], ["The database is PostgreSQL 17"]]
    assert memory.recall("which database") == []
    then = memory.recall("which database", as_of=moments[0])[0].memory
    assert (then.retired_at, then.version) == (None, 1)


def test_as_of_before_the_first_memory_is_empty(memory, clock):
    memory.remember("The database is MySQL", type="fact")
    assert memory.recall("database", as_of=clock() - DAY) == []
    assert memory.recall(as_of=clock() - DAY) == []


def test_as_of_ahead_is_taken_as_now(memory, clock):
    memory.remember("The database is MySQL", type="fact")
    assert contents(memory.recall("database", as_of=clock() + DAY)) == ["The database is MySQL"]


def test_valid_at_answers_what_was_true_then(memory):
    memory.remember("Region is Frankfurt", type="fact", valid_from=day(0), valid_to=day(10))
    memory.remember("Region is Dublin", type="fact", valid_from=day(10))
    for number, expected in (
        (-1, []),
        (0, ["Region is Frankfurt"]),
        (9, ["Region is Frankfurt"]),
        (10, ["Region is Dublin"]),
    ):
        assert contents(memory.recall("region", valid_at=day(number))) == expected
        assert contents(memory.recall(valid_at=day(number))) == expected


def test_what_is_no_longer_true_is_not_shown_unless_asked(memory, clock):
    memory.remember("Freeze until Friday", type="instruction", valid_to=clock() + DAY)
    assert memory.recall("freeze")
    clock.advance(2 * DAY)
    assert memory.recall("freeze") == []
    assert memory.recall("freeze", everything=True)
    assert memory.recall("freeze", as_of=clock() - 2 * DAY + timedelta(hours=1))


def test_the_same_text_with_another_validity_is_another_statement(memory):
    memory.remember("The programme is on the BBC", type="fact", valid_from=day(0), valid_to=day(5))
    later = memory.remember("The programme is on the BBC", type="fact", valid_from=day(10), valid_to=day(15))
    again = memory.remember("The programme is on the BBC", type="fact", valid_from=day(10), valid_to=day(15))
    assert (later.duplicate, again.duplicate, again.id) == (False, True, later.id)
    shown = [len(memory.recall("programme", valid_at=day(number))) for number in (1, 7, 12, 20)]
    assert shown == [1, 0, 1, 0]


def test_a_slot_can_hold_the_same_value_twice(memory, clock):
    clock.set(day(100))
    for name, begins, ends in (("B", 70, 90), ("A", 60, 70), ("A", 90, 95)):
        memory.remember(f"The owner is {name}", key="owner", type="fact", valid_from=day(begins), valid_to=day(ends))
        clock.advance(60)
    shown = [contents(memory.recall("owner", valid_at=day(number))) for number in (65, 75, 92, 97)]
    assert shown == [["The owner is A"], ["The owner is B"], ["The owner is A"], []]


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0), (2, 0, 1)])
def test_values_of_a_slot_answer_for_their_time_in_whatever_order_they_came(memory, clock, order):
    values = [("Alpha", day(0)), ("Beta", day(10)), ("Gamma", day(20))]
    clock.set(day(100))
    for index in order:
        name, begins = values[index]
        memory.remember(f"The lead team is {name}", key="lead", type="fact", valid_from=begins)
        clock.advance(60)
    for number, expected in ((-1, []), (0, ["Alpha"]), (9, ["Alpha"]), (10, ["Beta"]), (19, ["Beta"]), (50, ["Gamma"])):
        answer = contents(memory.recall("lead team", valid_at=day(number)))
        assert answer == [f"The lead team is {name}" for name in expected]
    assert contents(memory.recall("lead team")) == ["The lead team is Gamma"]


def test_a_corrected_value_of_a_slot_is_not_shown_for_its_time(memory, clock):
    first = memory.remember("The lead team is Alhpa", key="lead", type="fact", valid_from=day(0))
    memory.edit(first.id, content="The lead team is Alpha")
    clock.set(day(30))
    memory.remember("The lead team is Beta", key="lead", type="fact", valid_from=day(20))
    assert contents(memory.recall("lead team", valid_at=day(5))) == ["The lead team is Alpha"]
    before = memory.recall("lead team", valid_at=day(25), as_of=clock() - DAY)
    assert contents(before) == ["The lead team is Alpha"]


def test_since_and_until_mean_the_time_of_the_event(memory, clock):
    memory.remember("Outage in March", type="event", valid_from=day(3))
    memory.remember("Outage in April", type="event", valid_from=day(40))
    assert contents(memory.recall("outage", since=day(0), until=day(10))) == ["Outage in March"]
    assert contents(memory.recall("outage", since=day(10))) == ["Outage in April"]
    recorded = clock()
    clock.advance(60)
    memory.remember("Outage reported today", type="event")
    assert contents(memory.recall(changed_since=recorded + timedelta(seconds=1))) == ["Outage reported today"]


def test_the_newest_handoff_comes_first(memory, clock):
    for number in (1, 2, 3):
        memory.remember(
            f"SESSION HANDOFF | Goal: migrate | Done: step {number} | Next: step {number + 1}", type="context"
        )
        clock.advance(300)
    found = contents(memory.recall("latest session handoff", types=["context"]))
    assert [text.split("Done: ")[1][:6] for text in found] == ["step 3", "step 2", "step 1"]


WORDS = ["ledger", "lag", "minutes", "database", "region", "limit", "deploy", "freeze", "alpha", "beta"]
RUNS = [None, "nightly", "weekly"]
texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=5).map(" ".join)
steps = st.lists(
    st.tuples(
        st.sampled_from(["remember", "key", "edit", "expire", "restore", "quarantine", "pin", "verify"]),
        texts,
        st.integers(0, 30),
    ),
    min_size=3,
    max_size=14,
)


def apply(memory, step, ids):
    kind, text, number = step
    try:
        if kind == "remember":
            ids.append(memory.remember(text, type="fact", run_id=RUNS[number % 3]).id)
        elif kind == "key":
            ids.append(memory.remember(text, type="fact", key=f"slot{number % 3}").id)
        elif ids and kind == "edit":
            memory.edit(ids[number % len(ids)], content=text)
        elif ids:
            getattr(memory, kind)(ids[number % len(ids)])
    except ValueError:
        pass  # for example: already expired


def answers(memory, moment):
    """Everything a reader can see as of a moment: listings and rankings with all fields but scores' reasons."""
    views = [memory.recall(as_of=moment, limit=100, everything=everything) for everything in (False, True)]
    views += [memory.recall(query, as_of=moment, limit=20) for query in ("ledger lag", "alpha", "database region")]
    views.append(memory.recall("limit", as_of=moment, valid_at=moment))
    return [[(hit.memory, hit.score) for hit in view] for view in views]


@pytest.mark.parametrize("kind", ["edge", "memory-server"])
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=steps)
def test_no_later_write_changes_an_earlier_answer(kind, tmp_path_factory, steps):
    store = Embedded(tmp_path_factory.mktemp("as-of")) if kind == "edge" else Server(":memory:")
    clock = FixedClock()
    with Memanto("tester", store=store, embedder=HashEmbedder(), clock=clock) as memory:
        memory.create_agent()
        ids, seen = [], []
        for step in steps:
            apply(memory, step, ids)
            clock.advance(1800)
            seen.append((clock(), answers(memory, clock() - timedelta(seconds=1))))
            clock.advance(1800)
        for moment, before in seen:
            assert answers(memory, moment - timedelta(seconds=1)) == before
