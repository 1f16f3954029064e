"""One namespace never sees another, over every read path. Pins the specification."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memanto import Embedded, Memanto, Server
from memanto.errors import MemantoError, NotFoundError
from memanto.testing import FixedClock, HashEmbedder

AGENTS = ["one", "One", "one.b", "two"]
WORDS = ["ledger", "lag", "database", "region", "limit"]
writes = st.lists(
    st.tuples(
        st.sampled_from(AGENTS),
        st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join),
        st.sampled_from([None, "slot"]),
        st.sampled_from(["fact", "event", "error"]),
    ),
    min_size=4,
    max_size=16,
)


@pytest.mark.parametrize("kind", ["edge", "memory-server"])
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(writes=writes)
def test_no_read_path_shows_another_agents_memories(kind, tmp_path_factory, writes):
    store = Embedded(tmp_path_factory.mktemp("scope")) if kind == "edge" else Server(":memory:")
    clock = FixedClock()
    with Memanto(AGENTS[0], store=store, embedder=HashEmbedder(), clock=clock) as first:
        memories = {AGENTS[0]: first}
        for agent in AGENTS[1:]:
            memories[agent] = Memanto(agent, store=store, embedder=HashEmbedder(), clock=clock)
            memories[agent]._connection = first._connection
        owner = {}
        for memory in memories.values():
            memory.create_agent()
        for agent, text, key, kind_of in writes:
            clock.advance(60)
            owner[memories[agent].remember(f"{text} of {agent}", type=kind_of, key=key).id] = agent
        for agent, memory in memories.items():
            mine = {memory_id for memory_id, other in owner.items() if other == agent}
            views = [
                memory.recall(limit=100, everything=True),
                memory.recall(limit=100, as_of=clock()),
                memory.recall(limit=100, changed_since=FixedClock()()),
                *(memory.recall(word, limit=100, everything=True) for word in WORDS),
                *(memory.recall(word, limit=100, valid_at=clock()) for word in WORDS),
            ]
            seen = {hit.memory.id for view in views for hit in view}
            assert seen == mine
            assert {hit.memory.namespace for view in views for hit in view} <= {agent}
            assert memory.status().memories == len(mine)
            assert sum('"version"' in line for line in memory.export()) == memory.status().versions
            for foreign in set(owner) - mine:
                for read in (memory.show, memory.history, memory.expire, memory.forget, memory.pin):
                    with pytest.raises(NotFoundError):
                        read(foreign)


def test_an_unknown_agent_is_an_error_and_never_everybody(make_memory):
    make_memory("present").remember("ledger lag", type="fact")
    absent = make_memory("absent", create=False)
    for read in (absent.recall, lambda: absent.recall("ledger"), absent.status, lambda: list(absent.export())):
        with pytest.raises(NotFoundError, match="no agent named 'absent'"):
            read()
    with pytest.raises(MemantoError):
        absent.remember("nothing", type="fact")
    with pytest.raises(NotFoundError):
        make_memory("present").recall("ledger", agents=["present", "absent"])


def test_several_agents_can_be_searched_at_once(make_memory):
    make_memory("one").remember("ledger lag of one", type="fact")
    make_memory("two").remember("ledger lag of two", type="fact")
    hits = make_memory("one").recall("ledger lag", agents=["one", "two"])
    assert {hit.memory.namespace for hit in hits} == {"one", "two"}
    assert [hit.memory.namespace for hit in make_memory("one").recall(agents=["two"])] == ["two"]


def test_deleting_an_agent_leaves_the_others(make_memory):
    one, two = make_memory("one"), make_memory("two")
    one.remember("ledger", type="fact")
    two.remember("ledger", type="fact")
    one.delete_agent()
    assert [agent.id for agent in two.agents()] == ["two"]
    assert len(two.recall("ledger")) == 1
    with pytest.raises(NotFoundError):
        one.recall()
