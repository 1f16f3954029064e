"""Conflicts: found while writing and by detection, decided without loss, and taken back (our decision)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from memanto import Draft, Memanto, MemoryType
from memanto.errors import InvalidInputError, NotFoundError
from memanto.hygiene.candidates import OPEN_EACH
from memanto.hygiene.conflict import ACTIONS
from memanto.models import Status
from memanto.testing import FixedClock

BATCH = 10
OLD, NEW = "The primary database is Postgres", "The primary database is now MySQL"


def two(memory: Memanto, clock: FixedClock) -> tuple[str, str, str]:
    """Write two memories that conflict; return their ids and that of the conflict."""
    older = memory.remember(OLD, type="fact")
    clock.advance(timedelta(days=1))
    newer = memory.remember(NEW, type="fact")
    [note] = newer.conflicts
    return older.id, newer.id, note.id


def view(memory: Memanto) -> list[tuple[object, ...]]:
    """Return what a reader sees now: every believed memory, but for when and by which decision it came to stand."""
    found = memory.recall(limit=100)
    return sorted((m.id, m.content, m.status, m.confidence, m.type, m.superseded_by) for m in (h.memory for h in found))


def told(memory: Memanto, **options: object) -> list[object]:
    return [hit.memory for hit in memory.recall(limit=100, **options)]  # type: ignore[arg-type]


def test_a_receipt_names_what_the_new_memory_may_conflict_with(on_each_engine: Memanto, clock: FixedClock) -> None:
    older = on_each_engine.remember(OLD, type="fact")
    clock.advance(60)
    receipt = on_each_engine.remember(NEW, type="fact")
    [note] = receipt.conflicts
    assert (note.other, note.kind, note.rule, note.cue) == (older.id, "update", "value", "now")
    assert note.words == (("postgr",), ("mysql",))
    assert [one.id for one in on_each_engine.conflicts()] == [note.id]


def test_nothing_is_decided_or_hidden_by_finding_a_conflict(memory: Memanto, clock: FixedClock) -> None:
    two(memory, clock)
    memory.detect_conflicts(everything=True)
    assert {m[1] for m in view(memory)} == {OLD, NEW}


def test_said_again_a_conflict_is_recorded_once(memory: Memanto, clock: FixedClock) -> None:
    _, _, conflict = two(memory, clock)
    assert memory.remember(NEW, type="fact").duplicate
    found = memory.detect_conflicts(everything=True)
    assert [one.id for one in found.conflicts] == [conflict]
    assert len(memory.history(conflict)) == 1


@pytest.mark.parametrize("action", ACTIONS)
def test_every_action_is_recorded_and_can_be_undone(action: str, on_each_engine: Memanto, clock: FixedClock) -> None:
    memory = on_each_engine
    older, newer, conflict = two(memory, clock)
    before, moments = view(memory), [clock() - timedelta(hours=12), clock()]
    as_of = [told(memory, as_of=moment) for moment in moments]
    clock.advance(60)
    text = "The primary database moved from Postgres to MySQL" if action in ("merge", "replace") else None

    decided = memory.resolve_conflict(conflict, action, text=text, reason="asked the team")
    assert decided.decision is not None
    assert (decided.action, decided.decision.actor, decided.decision.reason) == (action, "user", "asked the team")
    assert decided.decision.at is not None
    standing = [memory.show(i).status for i in (older, newer)]
    kept = {"keep-old": [0], "keep-new": [1], "keep-both": [0, 1], "expire-old": [1], "expire-new": [0]}.get(
        action, [1]
    )
    assert [i for i, status in enumerate(standing) if status is Status.ACTIVE] == kept
    assert Status.FORGOTTEN not in standing
    if text:
        assert memory.show(newer).content == text
    assert memory.conflicts() == []
    assert [one.id for one in memory.conflicts(resolved=True)] == [conflict]
    clock.advance(60)

    undone = memory.undo_conflict(conflict, reason="by mistake")
    assert undone.is_open
    assert view(memory) == before
    assert [one.id for one in memory.conflicts()] == [conflict]
    assert [told(memory, as_of=moment) for moment in moments] == as_of
    actions = [version.decision.action for version in memory.history(conflict) if version.decision]
    assert actions == ["find-conflict", action, "undo"]


def test_the_loser_points_at_the_winner_and_its_text_stays_in_history(memory: Memanto, clock: FixedClock) -> None:
    older, newer, conflict = two(memory, clock)
    memory.resolve_conflict(conflict, "keep new", reason="migrated in June")
    loser = memory.show(older)
    assert (loser.status, loser.superseded_by, loser.content) == (Status.SUPERSEDED, newer, OLD)
    assert loser.decision is not None
    assert loser.decision.reason == "migrated in June"


def test_a_merged_text_is_said_by_the_memory_that_has_the_slot(memory: Memanto, clock: FixedClock) -> None:
    slot = memory.remember(OLD, type="fact", key="db")
    clock.advance(60)
    [note] = memory.remember(NEW, type="fact").conflicts
    memory.resolve_conflict(note.id, "merge", text="The primary database is MySQL since June")
    assert [hit.memory.id for hit in memory.recall(key="db")] == [slot.id]
    assert [m[1] for m in view(memory)] == ["The primary database is MySQL since June"]


def test_a_decided_pair_comes_back_only_when_a_text_changes(memory: Memanto, clock: FixedClock) -> None:
    older, _, conflict = two(memory, clock)
    memory.resolve_conflict(conflict, "keep-both")
    memory.edit(older, confidence=0.5)
    memory.verify(older)
    assert memory.detect_conflicts(everything=True).conflicts == ()
    memory.edit(older, content="The primary database is Oracle")
    assert [one.id for one in memory.detect_conflicts().conflicts] == [conflict]
    assert [one.action for one in memory.conflicts()] == [None]


def test_a_conflict_settled_by_another_verb_is_not_open(memory: Memanto, clock: FixedClock) -> None:
    older, _, _ = two(memory, clock)
    memory.expire(older)
    assert memory.conflicts() == []


def test_a_decision_cannot_be_taken_back_over_a_later_change(memory: Memanto, clock: FixedClock) -> None:
    older, _, conflict = two(memory, clock)
    memory.resolve_conflict(conflict, "keep-new")
    memory.restore(older)
    with pytest.raises(InvalidInputError, match="has changed since"):
        memory.undo_conflict(conflict)


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda m, c: m.resolve_conflict(c, "forget"), "unknown action 'forget'"),
        (lambda m, c: m.resolve_conflict(c, "merge"), "'merge' needs a text"),
        (lambda m, c: m.resolve_conflict(c, "merge", text="  "), "'merge' needs a text"),
        (lambda m, c: m.resolve_conflict(c, "keep-new", text="x"), "takes no text"),
        (lambda m, c: m.undo_conflict(c), "is open"),
    ],
)
def test_what_does_not_fit_is_refused_and_changes_nothing(
    act: Callable[[Memanto, str], object], message: str, memory: Memanto, clock: FixedClock
) -> None:
    _, _, conflict = two(memory, clock)
    before = view(memory)
    with pytest.raises(InvalidInputError, match=message):
        act(memory, conflict)
    assert view(memory) == before


def test_deciding_twice_is_refused(memory: Memanto, clock: FixedClock) -> None:
    _, _, conflict = two(memory, clock)
    memory.resolve_conflict(conflict, "keep-both")
    with pytest.raises(InvalidInputError, match="was decided: keep-both"):
        memory.resolve_conflict(conflict, "keep-new")


def test_a_conflict_that_does_not_exist_is_named(memory: Memanto) -> None:
    with pytest.raises(NotFoundError, match="no conflict id begins with 'abc'"):
        memory.resolve_conflict("abc", "keep-new")


def test_records_of_upkeep_are_in_no_list_search_or_count(on_each_engine: Memanto, clock: FixedClock) -> None:
    memory = on_each_engine
    _, _, conflict = two(memory, clock)
    memory.detect_conflicts()
    assert {m.id for m in told(memory, everything=True)}.isdisjoint({conflict})  # type: ignore[attr-defined]
    assert memory.recall("conflict update value open", types=["decision"]) == []
    assert memory.status().memories == 2
    assert [check.name for check in memory.doctor() if not check.ok] == []


def test_forgetting_a_memory_forgets_its_conflicts(on_each_engine: Memanto, clock: FixedClock) -> None:
    memory = on_each_engine
    older, _, conflict = two(memory, clock)
    memory.resolve_conflict(conflict, "keep-both", reason="both hold, said Pat")
    assert [receipt.id for receipt in memory.forget(older)] == [older]
    assert memory.conflicts(resolved=True) == []
    assert not [line for line in memory.export() if "said Pat" in line]


def test_conflicts_are_carried_by_export_and_import(memory: Memanto, clock: FixedClock) -> None:
    _, _, conflict = two(memory, clock)
    memory.resolve_conflict(conflict, "keep-new")
    lines = list(memory.export())
    from memanto import Server

    with Memanto("tester", store=Server(":memory:"), embedder=None, clock=clock) as other:
        other.import_(lines)
        [carried] = other.conflicts(resolved=True)
        assert (carried.id, carried.action) == (conflict, "keep-new")
        other.undo_conflict(conflict)
        assert [len(hit.folded) for hit in other.recall("primary database")] == [1]
        other.resolve_conflict(conflict, "keep-both")
        assert other.recall("conflict update keep", everything=True, types=["decision"]) == []
        other.undo_conflict(conflict)
        assert {m[1] for m in view(other)} == {OLD, NEW}


# -- detection --------------------------------------------------------------------------------------
def test_detection_examines_only_what_is_new_and_finds_pairs_with_what_is_old(
    on_each_engine: Memanto, clock: FixedClock
) -> None:
    memory = on_each_engine
    memory.remember_many([Draft(content=f"Topic {n} is about {n * 7} things", type=MemoryType.FACT) for n in range(10)])
    memory.remember_many([Draft(content=OLD, type=MemoryType.FACT)] * 1)
    assert memory.detect_conflicts().examined == 11
    assert memory.detect_conflicts().examined == 0
    clock.advance(60)
    # A batch this long is stored without a look at its neighbours.
    others = [Draft(content=f"Place {n} lies {n} miles off", type=MemoryType.FACT) for n in range(16)]
    receipts = memory.remember_many([*others, Draft(content=NEW, type=MemoryType.FACT)])
    assert receipts[-1].conflicts == ()
    found = memory.detect_conflicts()
    assert found.examined == 17
    assert [(one.newer, one.kind) for one in found.conflicts] == [(receipts[-1].id, "update")]


def test_an_interrupted_detection_goes_on_where_it_ended(memory: Memanto, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memanto.hygiene.detect.BATCH", BATCH)
    memory.remember_many([Draft(content=f"Subject {n} of many: {n * n}", type=MemoryType.FACT) for n in range(25)])

    def stop(done: int, total: int) -> None:
        if done == BATCH:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        memory.detect_conflicts(progress=stop)
    told: list[tuple[int, int]] = []
    assert memory.detect_conflicts(progress=lambda done, total: told.append((done, total))).examined == BATCH + 5
    assert told == [(BATCH, BATCH + 5), (BATCH + 5, BATCH + 5)]


def test_neighbours_found_at_once_are_those_found_one_by_one(
    memory: Memanto, clock: FixedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    things = ("gateway", "ledger", "mirror", "beacon", "crane", "heron")
    for value in (8000, 9000):
        clock.advance(60)
        memory.remember_many(
            [Draft(content=f"The {thing} of billing listens on port {value}", type=MemoryType.FACT) for thing in things]
            + [Draft(content=f"Remark {value + n} of many", type=MemoryType.FACT) for n in range(16)]
        )
    found = []
    for least in (10**9, 1):
        monkeypatch.setattr("memanto.hygiene.neighbours.MATRIX_FROM", least)
        conflicts = memory.detect_conflicts(everything=True).conflicts
        found.append(sorted((one.older, one.newer, one.kind) for one in conflicts))
    assert found[0] == found[1]
    assert len(found[0]) >= len(things)


def test_detection_works_without_vectors(clock: FixedClock) -> None:
    from memanto import Server

    with Memanto("words", store=Server(":memory:"), embedder=None, clock=clock) as memory:
        memory.remember(OLD, type="fact")
        clock.advance(60)
        newer = memory.remember(NEW, type="fact")
        assert newer.conflicts == ()
        [found] = memory.detect_conflicts().conflicts
        assert found.newer == newer.id


class Judge:
    """A reranker that says what it is told to."""

    name = "cross-encoder/ms-marco-MiniLM-L6-v2"

    def __init__(self, logit: float) -> None:
        self.logit = logit

    def score(self, query: str, texts: list[str]) -> list[float]:
        return [self.logit for _ in texts]


@pytest.mark.parametrize(("logit", "found"), [(-11.0, 0), (2.0, 1)])
def test_the_cross_encoder_is_a_second_gate(logit: float, found: int, clock: FixedClock) -> None:
    from memanto import Server
    from memanto.hygiene.gates import RELATED

    judge = Judge(logit)
    judge.name = next(iter(RELATED))
    with Memanto("gate", store=Server(":memory:"), embedder=None, reranker=judge, clock=clock) as memory:
        memory.remember(OLD, type="fact")
        clock.advance(60)
        memory.remember(NEW, type="fact")
        detection = memory.detect_conflicts()
        assert (detection.judged, len(detection.conflicts)) == (True, found)
        assert len(memory.detect_conflicts(everything=True, rerank=False).conflicts) == 1


# -- how many -------------------------------------------------------------------------------------
def ports(memory: Memanto, clock: FixedClock, count: int) -> list[str]:
    """Say the same setting with so many values, one after the other; return the ids."""
    ids = []
    for number in range(count):
        clock.advance(60)
        ids.append(memory.remember(f"The gateway of billing listens on port {8000 + number}", type="fact").id)
    return ids


def test_a_setting_that_changed_often_leaves_few_records_for_each_text_and_the_rest_is_counted(
    memory: Memanto, clock: FixedClock
) -> None:
    ids = ports(memory, clock, 30)
    found = memory.detect_conflicts(everything=True)
    olders = [one.older for one in memory.conflicts()]
    assert max(olders.count(i) for i in ids) == OPEN_EACH
    assert len(olders) <= OPEN_EACH * len(ids)
    assert found.beyond > len(ids)


def test_a_receipt_names_also_what_found_no_room_with_the_conflict_to_decide_first(
    memory: Memanto, clock: FixedClock
) -> None:
    ports(memory, clock, OPEN_EACH + 1)
    clock.advance(60)
    receipt = memory.remember("The gateway of billing listens on port 9000", type="fact")
    open_now = {one.id: one for one in memory.conflicts()}
    assert len(receipt.conflicts) == OPEN_EACH + 1
    assert {note.id for note in receipt.conflicts} <= open_now.keys()
    assert {note.other for note in receipt.conflicts if open_now[note.id].newer != receipt.id}


def test_what_found_no_room_comes_up_when_the_older_statement_wins(memory: Memanto, clock: FixedClock) -> None:
    """Whoever always keeps the old value has to hear of every newer one, and then of none."""
    first, *others = ports(memory, clock, OPEN_EACH + 4)
    memory.detect_conflicts()
    decided = []
    while mine := [one for one in memory.conflicts() if one.older == first]:
        assert len(mine) <= OPEN_EACH
        memory.resolve_conflict(mine[0].id, "keep-old")
        decided.append(mine[0].newer)
    assert sorted(decided) == sorted(others)
    assert memory.conflicts() == []
    assert memory.recall("gateway of billing")[0].memory.id == first


# -- texts that were split --------------------------------------------------------------------------
def long_text(sentence: str) -> str:
    """Return a text that is stored in parts, with the sentence in one of the last."""
    return " ".join([*(f"Remark {number} tells of the weather in town {number}." for number in range(280)), sentence])


def test_a_sentence_deep_in_a_long_text_is_compared_and_the_whole_text_is_what_is_decided(
    on_each_engine: Memanto, clock: FixedClock
) -> None:
    memory = on_each_engine
    text = long_text("Retries are enabled in the billing worker of the Frankfurt region.")
    older = memory.remember(text, type="fact")
    assert older.part_ids
    clock.advance(60)
    newer = memory.remember("Retries are disabled in the billing worker of the Frankfurt region", type="fact")
    assert memory.detect_conflicts().examined == 2
    [conflict] = memory.conflicts()
    assert {conflict.older, conflict.newer} == {older.id, newer.id}
    assert memory.conflict(conflict.id)[1].content == text
    query = "retries in the billing worker of the Frankfurt region"
    shown = {hit.memory.parent_id or hit.memory.id: hit.conflicts for hit in memory.recall(query, limit=2)}
    assert shown == {older.id: (conflict.id,), newer.id: (conflict.id,)}

    memory.resolve_conflict(conflict.id, "keep-new")
    assert memory.recall("billing worker Frankfurt retries", limit=1)[0].memory.id == newer.id
    assert not [hit for hit in memory.recall(query, limit=100) if hit.memory.parent_id == older.id]
    memory.undo_conflict(conflict.id)
    assert memory.show(older.id).content == text
    assert [hit for hit in memory.recall(query, limit=100) if hit.memory.parent_id == older.id]


def test_an_outdated_sentence_marks_the_part_of_a_long_text_and_does_not_hide_it(
    memory: Memanto, clock: FixedClock
) -> None:
    older = memory.remember(long_text("The primary database of the orders service is Postgres."), type="fact")
    clock.advance(60)
    memory.remember("The primary database of the orders service is now MySQL", type="fact")
    memory.detect_conflicts()
    [conflict] = memory.conflicts()
    assert conflict.kind.value == "update"
    [part, *_] = [hit for hit in memory.recall("primary database of orders") if hit.memory.parent_id == older.id]
    assert part.conflicts == (conflict.id,)


def test_lineage_counts_memories_and_not_the_records_of_upkeep_or_parts(memory: Memanto, clock: FixedClock) -> None:
    two(memory, clock)
    memory.remember(long_text("The end."), type="fact")
    [lineage] = [check for check in memory.doctor() if check.name == "lineage"]
    assert lineage.detail.startswith("3 memories")
