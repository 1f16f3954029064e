"""Every filter combines with every other and with a query, and is applied before ranking. Pins the specification."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memanto import Draft, Embedded, Memanto, MemoryType, Server, Status
from memanto.testing import FixedClock, HashEmbedder

DAY = timedelta(days=1)
START = datetime(2026, 3, 1, tzinfo=UTC)
TYPES = ["fact", "event", "error", "context"]
TAGS = ["db", "ops", "ci"]
SOURCES = ["cron", "crew"]


def days(number):
    return START + number * DAY


def fill(memory, clock):
    """Forty memories of every kind and standing, recorded over forty days."""
    clock.set(START)
    for number in range(40):
        clock.set(days(number))
        receipt = memory.remember(
            f"ledger note {number}",
            type=TYPES[number % 4],
            tags=[tag for bit, tag in enumerate(TAGS) if number >> bit & 1],
            confidence=number / 40,
            source=SOURCES[number % 2],
            valid_from=days(number - 10) if number % 5 == 0 else None,
            valid_to=days(number + 3) if number % 7 == 0 else None,
            run_id=f"run{number % 3}",
            pinned=number % 11 == 0,
        )
        clock.advance(3600)
        if number % 6 == 0:
            memory.expire(receipt.id)
        elif number % 10 == 0:
            memory.quarantine(receipt.id)
    clock.set(days(41))
    return {m.id: [m, *()] for m in (hit.memory for hit in memory.recall(limit=100, everything=True))}


filters = st.fixed_dictionaries(
    {},
    optional={
        "types": st.lists(st.sampled_from(TYPES), min_size=1, max_size=2, unique=True),
        "tags": st.lists(st.sampled_from(TAGS), min_size=1, max_size=2, unique=True),
        "any_tags": st.lists(st.sampled_from(TAGS), min_size=1, max_size=2, unique=True),
        "min_confidence": st.sampled_from([0.0, 0.25, 0.5, 0.975, 1.0]),
        "since": st.integers(-12, 42).map(days),
        "until": st.integers(-12, 42).map(days),
        "changed_since": st.integers(-1, 42).map(days),
        "source": st.sampled_from(SOURCES),
        "run_id": st.sampled_from(["run0", "run2", "run9"]),
        "pinned": st.just(True),
        "valid_at": st.integers(-12, 45).map(days),
        "as_of": st.integers(-1, 42).map(days),
        "status": st.lists(st.sampled_from(["active", "expired", "quarantined"]), min_size=1, max_size=2, unique=True),
        "everything": st.just(True),
    },
)


def expected(histories, chosen, now):
    """Apply the filters to every version, the slow and plain way."""
    as_of = chosen.get("as_of")
    as_of = None if as_of is not None and as_of >= now else as_of
    found = set()
    for versions in histories:
        known = [v for v in versions if as_of is None or v.recorded_at <= as_of]
        if not known:
            continue
        version = known[-1]
        if "status" in chosen:
            statuses = set(chosen["status"])
        else:
            statuses = (
                {s.value for s in Status if s is not Status.FORGOTTEN} if chosen.get("everything") else {"active"}
            )
        event_at = version.valid_from or version.recorded_at
        moment = chosen.get("valid_at")
        begun = version.valid_from is None or moment is None or version.valid_from <= moment
        limit = moment or (None if chosen.get("everything") else as_of or now)
        lasting = version.valid_to is None or limit is None or limit < version.valid_to
        checks = [
            version.status.value in statuses,
            begun and lasting,
            version.type.value in chosen.get("types", TYPES),
            set(chosen.get("tags", ())) <= set(version.tags),
            not chosen.get("any_tags") or set(chosen["any_tags"]) & set(version.tags),
            version.confidence >= chosen.get("min_confidence", 0.0),
            event_at >= chosen.get("since", event_at),
            event_at <= chosen.get("until", event_at),
            version.recorded_at >= chosen.get("changed_since", version.recorded_at),
            version.source == chosen.get("source", version.source),
            version.run_id == chosen.get("run_id", version.run_id),
            version.pinned or not chosen.get("pinned"),
        ]
        if all(checks):
            found.add(version.id)
    return found


class Filled:
    """A filled memory, its clock and all histories; small in a report."""

    def __init__(self, memory, clock, histories):
        self.parts = (memory, clock, histories)


@pytest.fixture(scope="module", params=["edge", "memory-server"])
def filled(request, tmp_path_factory):
    store = Embedded(tmp_path_factory.mktemp("filters")) if request.param == "edge" else Server(":memory:")
    clock = FixedClock()
    with Memanto("tester", store=store, embedder=HashEmbedder(), clock=clock) as memory:
        ids = list(fill(memory, clock))
        yield Filled(memory, clock, [memory.history(memory_id) for memory_id in ids])


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(chosen=filters)
def test_filters_combine_with_and_without_a_query(filled, chosen):
    memory, clock, histories = filled.parts
    right = expected(histories, chosen, clock())
    assert {hit.memory.id for hit in memory.recall(limit=100, **chosen)} == right
    assert {hit.memory.id for hit in memory.recall("ledger note", limit=100, **chosen)} == right


def test_filters_are_applied_before_ranking(filled):
    """The one memory that passes is found although forty others match the words as well."""
    memory, _, histories = filled.parts
    [only] = [v[-1] for v in histories if v[-1].content == "ledger note 1"]
    hits = memory.recall("ledger note", types=["event"], until=days(2), since=days(1), limit=1)
    assert [hit.memory.id for hit in hits] == [only.id]


def test_a_kind_of_memory_selects_its_types(make_memory, clock):
    memory = make_memory()
    memory.remember_many([Draft(content=f"note about {kind}", type=kind) for kind in MemoryType])
    kinds = {
        "episodic": {"event"},
        "semantic": {"fact", "preference", "relationship"},
        "procedural": {"instruction"},
        "failures": {"error"},
    }
    for name, types in kinds.items():
        assert {hit.memory.type.value for hit in memory.recall("note", memory=name)} == types


def test_a_similarity_floor_holds_for_hits_by_words_too(make_memory):
    memory = make_memory()
    memory.remember("alpha beta gamma", type="fact")
    memory.remember("alpha delta epsilon zeta eta theta", type="fact")
    assert len(memory.recall("alpha beta gamma")) == 2
    assert [hit.memory.content for hit in memory.recall("alpha beta gamma", min_similarity=0.9)] == ["alpha beta gamma"]


def test_a_budget_bounds_the_text_returned(make_memory):
    memory = make_memory()
    memory.remember_many([Draft(content=f"ledger {n} " + "word " * 40, type=MemoryType.FACT) for n in range(5)])
    hits = memory.recall("ledger", budget_tokens=120)
    assert 0 < len(hits) < 5
    assert sum(len(hit.memory.content.encode()) for hit in hits) <= 120 * 4
