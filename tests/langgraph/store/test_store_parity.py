"""MemantoStore against LangGraph's InMemoryStore: the same operations, the same answers (pins LangGraph's contract)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langgraph.store.base import GetOp, ListNamespacesOp, MatchCondition, Op, PutOp, SearchOp
from langgraph.store.memory import InMemoryStore

from langgraph_memanto.store import MemantoStore
from memanto import InMemory, Memanto
from memanto.testing import FixedClock, HashEmbedder

_ALL = 1_000

label = st.sampled_from(["users", "ana", "1", "a/b", "Ä ö", "x" * 80, "*?", "\n"]) | st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters=".\0"), min_size=1, max_size=4
).filter(lambda text: text != "langgraph")
namespace = st.lists(label, min_size=1, max_size=3).map(tuple)
key = st.sampled_from(["k", "1", "", "a.b", "é" * 40])
text = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
scalar = st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, width=64) | text
finite = scalar.filter(lambda value: not isinstance(value, float) or abs(value) < 1e300)
tree = st.recursive(
    finite,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "ü"]), inner, max_size=3),
    max_leaves=6,
)
value = st.fixed_dictionaries(
    {"n": st.integers(0, 3)},
    optional={
        "text": text,
        "deep": tree,
        "type": st.sampled_from(["fact", "pizza"]),
        "tags": st.lists(text, max_size=2),
    },
)
index = st.sampled_from([None, False, ["text"], ["deep.a", "tags[*]"]])
condition = st.fixed_dictionaries(
    {},
    optional={
        "n": st.integers(0, 3)
        | st.dictionaries(st.sampled_from(["$eq", "$ne", "$gt", "$gte", "$lt", "$lte"]), st.integers(0, 3), min_size=1),
        "deep": tree,
        "missing": st.just({"$ne": 1}) | st.none(),
    },
)
match = st.builds(
    MatchCondition,
    match_type=st.sampled_from(["prefix", "suffix"]),
    path=st.lists(label | st.just("*"), min_size=1, max_size=3).map(tuple),
)


@st.composite
def scenario(draw: st.DrawFn) -> list[list[Op]]:
    """Return batches of operations on a few namespaces and keys, so that they meet."""
    places = draw(st.lists(st.tuples(namespace, key), min_size=1, max_size=5))
    place = st.sampled_from(places)
    prefix = place.flatmap(lambda one: st.integers(0, len(one[0])).map(lambda depth: one[0][:depth]))
    put = st.builds(lambda at, what, how: PutOp(*at, what, how), place, value, index)
    delete = place.map(lambda at: PutOp(*at, None))
    get = place.map(lambda at: GetOp(*at))
    search = st.builds(lambda below, wanted: SearchOp(below, wanted, _ALL), prefix, condition)
    listing = st.builds(
        lambda conditions, depth: ListNamespacesOp(tuple(conditions) or None, depth, _ALL),
        st.lists(match, max_size=2),
        st.none() | st.integers(1, 3),
    )
    op = st.one_of(put, put, put, delete, get, search)
    # A listing stands alone: a look at a namespace in the same batch makes the oracle list it, empty as it is.
    batch = st.lists(op, min_size=1, max_size=4) | listing.map(lambda one: [one])
    return draw(st.lists(batch, min_size=1, max_size=8))


@pytest.fixture(scope="module")
def worn() -> Iterator[MemantoStore]:
    """A store that all examples share: what an item had been before it was deleted must not matter."""
    with Memanto("worn", store=InMemory(), embedder=None, reranker=None, llm=None) as memory:
        yield MemantoStore(memory, erase=False)


def shown(op: Op, result: Any) -> Any:
    """Return a result without what the stores may choose: times, scores, and the order without a query."""
    if isinstance(op, SearchOp):
        return sorted(((one.namespace, one.key, one.value) for one in result), key=repr)
    if isinstance(op, GetOp) and result is not None:
        return (result.namespace, result.key, result.value)
    return result


def without_empty_namespaces(oracle: InMemoryStore) -> None:
    """Drop the namespaces that the oracle keeps listing after their last item, or a mere look, has gone."""
    for name in [name for name, items in oracle._data.items() if not items]:
        del oracle._data[name]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(batches=scenario())
def test_any_batches_give_what_the_store_in_memory_gives(worn: MemantoStore, batches: Sequence[Sequence[Op]]) -> None:
    oracle = InMemoryStore()
    worn.batch([PutOp(item.namespace, item.key, None) for item in worn.search((), limit=_ALL)])
    for ops in batches:
        without_empty_namespaces(oracle)
        expected = oracle.batch(ops)
        got = worn.batch(ops)
        assert [shown(op, one) for op, one in zip(ops, got, strict=True)] == [
            shown(op, one) for op, one in zip(ops, expected, strict=True)
        ]


def test_pages_of_a_search_share_no_item_and_leave_none_out(store: MemantoStore) -> None:
    for number in range(23):
        store.put(("pages", str(number % 3)), f"k{number}", {"text": f"page number {number}", "n": number})
    for query in (None, "page number 7"):
        pages = [store.search(("pages",), query=query, limit=5, offset=start) for start in range(0, 30, 5)]
        assert [len(page) for page in pages] == [5, 5, 5, 5, 3, 0]
        assert len({(item.namespace, item.key) for page in pages for item in page}) == 23
    odd = [
        store.search(("pages",), query="page", filter={"n": {"$gte": 10}}, limit=4, offset=start)
        for start in (0, 4, 8, 12)
    ]
    assert sorted(item.value["n"] for page in odd for item in page) == list(range(10, 23))


def test_every_item_is_reached_latest_first_whatever_lay_between_the_writes(
    store: MemantoStore, clock: FixedClock
) -> None:
    """Bursts, gaps of seconds, and years of silence: more than any page holds."""
    written = []
    for step, size in ((0.0, 150), (0.001, 3), (1.0, 3), (90_000.0, 2), (4e8, 120), (0.0, 1)):
        clock.advance(step)
        names = [f"k{len(written) + number}" for number in range(size)]
        store.batch([PutOp(("many", str(len(name) % 2)), name, {"n": name}) for name in names])
        written += names
    assert [item.key for item in store.search(("many",), limit=_ALL)] == written[::-1]
    assert [item.key for item in store.search(("many",), limit=7, offset=120)] == written[::-1][120:127]
    assert store.list_namespaces() == [("many", "0"), ("many", "1")]


def test_a_query_finds_first_what_the_store_in_memory_finds_first(store: MemantoStore) -> None:
    embedder = HashEmbedder()
    oracle = InMemoryStore(
        index={"dims": 64, "embed": lambda texts: embedder.embed_documents(list(texts)).tolist(), "fields": ["text"]}
    )
    texts = ["Ana likes pizza with olives", "Bob likes skiing in winter", "The importer runs at night", "Ana has a cat"]
    for number, told in enumerate(texts):
        oracle.put(("facts",), str(number), {"text": told}, index=["text"])
        store.put(("facts",), str(number), {"text": told}, index=["text"])
    for query in (*texts, "pizza with olives", "who goes skiing in winter"):
        [ours, *_] = store.search(("facts",), query=query)
        [theirs, *_] = oracle.search(("facts",), query=query)
        assert (ours.key, ours.score is not None) == (theirs.key, True)
    assert {item.key for item in store.search(("facts",), query="pizza")} == {"0", "1", "2", "3"}
