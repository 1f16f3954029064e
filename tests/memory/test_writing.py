"""What writing promises: receipts, same text, slots, trust, splitting. Pins the specification."""

import pytest

from memanto import Draft, MemoryType, Provenance, Status
from memanto.errors import InvalidInputError, VersionConflictError

TEXT = "Ledger pulls lag the source by about 5 minutes"


def contents(hits):
    return [hit.memory.content for hit in hits]


def test_a_receipt_names_what_a_read_finds(memory):
    receipt = memory.remember(TEXT, type="fact", confidence=0.9, tags=["ledger"], source="cron")
    found = memory.show(receipt.id)
    assert (found.content, found.version, found.status) == (TEXT, 1, Status.ACTIVE)
    assert (found.confidence, found.tags, found.source, found.type) == (0.9, ("ledger",), "cron", MemoryType.FACT)
    assert receipt.searchable == "hybrid"
    assert contents(memory.recall("how far does the ledger lag")) == [TEXT]


def test_the_same_text_while_current_is_the_same_memory(memory, clock):
    first = memory.remember(TEXT, type="fact")
    clock.advance(60)
    again = memory.remember(TEXT, type="fact")
    assert (again.id, again.version, again.duplicate) == (first.id, 1, True)
    assert memory.status().versions == 1


def test_a_duplicate_of_another_type_says_so(memory):
    memory.remember(TEXT, type="fact")
    again = memory.remember(TEXT, type="decision")
    assert again.duplicate
    assert again.type is MemoryType.FACT
    assert any("already stored as fact" in warning for warning in again.warnings)


@pytest.mark.parametrize("retire", ["expire", "forget", "supersede"])
def test_the_same_text_after_it_was_retired_becomes_current_again(memory, clock, retire):
    first = memory.remember(TEXT, type="fact")
    clock.advance(60)
    if retire == "supersede":
        memory.supersede(first.id, memory.remember("The ledger is pulled live now", type="fact").id)
    else:
        getattr(memory, retire)(first.id)
    assert TEXT not in contents(memory.recall("ledger lag minutes"))
    clock.advance(60)
    again = memory.remember(TEXT, type="fact")
    assert (again.id, again.duplicate, again.revived, again.status) == (first.id, False, True, Status.ACTIVE)
    assert TEXT in contents(memory.recall("ledger lag minutes"))


def test_a_key_keeps_one_current_value_and_a_b_a_is_three_versions(memory, clock):
    receipts = []
    for value in ("The database is Alpha", "The database is Beta", "The database is Alpha"):
        receipts.append(memory.remember(value, key="database", type="fact"))
        clock.advance(3600)
    assert [receipt.version for receipt in receipts] == [1, 2, 3]
    assert len({receipt.id for receipt in receipts}) == 1
    assert contents(memory.recall("which database")) == ["The database is Alpha"]
    assert [version.content[-5:] for version in memory.history(receipts[0].id)] == ["Alpha", " Beta", "Alpha"]


def test_a_value_under_a_key_is_recognised_without_the_key(memory):
    keyed = memory.remember("The database is Alpha", key="database", type="fact")
    plain = memory.remember("The database is Alpha", type="fact")
    assert (plain.id, plain.duplicate) == (keyed.id, True)


def test_a_known_text_takes_on_a_free_key(memory):
    plain = memory.remember("The database is Alpha", type="fact")
    keyed = memory.remember("The database is Alpha", key="database", type="fact")
    assert (keyed.id, keyed.version, keyed.duplicate) == (plain.id, 2, False)
    assert memory.remember("The database is Beta", key="database", type="fact").id == plain.id


def test_two_keys_may_hold_the_same_text_and_neither_grows_when_it_is_said_again(memory):
    """Pins the specification: a receipt never says that a slot is filled when a read would find it empty."""
    first = memory.remember("on", type="observation", key="switch/a")
    second = memory.remember("on", type="observation", key="switch/b")
    assert (second.duplicate, second.version, second.id != first.id) == (False, 1, True)
    again = [memory.remember("on", type="observation", key=key) for key in ("switch/a", "switch/b", "switch/a")]
    assert [(one.id, one.version, one.duplicate) for one in again] == [
        (first.id, 1, True), (second.id, 1, True), (first.id, 1, True)
    ]  # fmt: skip
    assert [hit.memory.id for hit in memory.recall(key="switch/b")] == [second.id]


def test_an_inferred_fact_waits_in_quarantine_until_verified(memory):
    claim = memory.remember("The sky over the plant is green", type="fact", provenance="inferred")
    assert claim.status is Status.QUARANTINED
    assert memory.recall("green sky") == []
    assert contents(memory.recall("green sky", status=["quarantined"])) == ["The sky over the plant is green"]
    assert memory.remember("The sky over the plant is green", type="fact", provenance="inferred").duplicate
    verified = memory.verify(claim.id, reason="looked up")
    assert (verified.version, verified.status) == (2, Status.ACTIVE)
    assert contents(memory.recall("green sky")) == ["The sky over the plant is green"]
    assert memory.show(claim.id).provenance is Provenance.VALIDATED


def test_an_inferred_fact_cannot_take_a_slot_from_a_trusted_value(memory):
    trusted = memory.remember("The limit is 100", key="limit", type="fact")
    claim = memory.remember("The limit is 999", key="limit", type="fact", provenance="inferred")
    again = memory.remember("The limit is 999", key="limit", type="fact", provenance="inferred")
    assert claim.id != trusted.id
    assert (again.id, again.duplicate) == (claim.id, True)
    assert contents(memory.recall("what is the limit")) == ["The limit is 100"]
    memory.verify(claim.id)
    assert contents(memory.recall("what is the limit")) == ["The limit is 999"]
    assert memory.show(trusted.id).superseded_by == claim.id
    assert memory.remember("The limit is 5", key="limit", type="fact").id == claim.id


def test_an_inference_does_not_undo_a_correction(memory):
    first = memory.remember("Deploys run on Monday", type="decision")
    memory.edit(first.id, content="Deploys run on Tuesday", provenance="corrected")
    stale = memory.remember("Deploys run on Monday", type="decision", provenance="inferred")
    assert stale.id != first.id
    assert memory.show(first.id).content == "Deploys run on Tuesday"
    assert memory.remember("Deploys run on Monday", type="decision", provenance="inferred").duplicate


def test_stating_a_text_again_after_an_edit_is_a_memory_of_its_own(memory):
    first = memory.remember("Deploys run on Monday", type="decision")
    memory.edit(first.id, content="Deploys run on Tuesday")
    again = memory.remember("Deploys run on Monday", type="decision")
    assert (again.id == first.id, again.version, again.duplicate) == (False, 1, False)
    assert memory.show(first.id).content == "Deploys run on Tuesday"
    assert memory.remember("Deploys run on Monday", type="decision").id == again.id


def test_an_edit_appends_a_version_and_its_text_is_recognised(memory, clock):
    first = memory.remember("Deploys run on Monday", type="decision", tags=["deploy"])
    clock.advance(60)
    edited = memory.edit(first.id, content="Deploys run on Tuesday", reason="freeze on Mondays")
    assert (edited.id, edited.version) == (first.id, 2)
    assert memory.remember("Deploys run on Tuesday", type="decision").duplicate
    old, new = memory.history(first.id)
    assert (old.content, new.content) == ("Deploys run on Monday", "Deploys run on Tuesday")
    assert old.retired_at == new.recorded_at
    assert (new.decision.action, new.decision.reason, new.tags) == ("edit", "freeze on Mondays", ("deploy",))


def test_an_edit_of_an_old_version_is_a_conflict(memory):
    first = memory.remember("Deploys run on Monday", type="decision")
    memory.edit(first.id, confidence=0.5, expected_version=1)
    with pytest.raises(VersionConflictError, match="at version 2, not 1"):
        memory.edit(first.id, confidence=0.6, expected_version=1)


def test_a_long_text_is_split_and_comes_back_character_for_character(memory):
    text = "".join(f"Paragraph {n} about the settlement of batch {n * 7}.\n\n" for n in range(400))
    assert len(text) > 10_000
    receipt = memory.remember(text, type="context")
    assert len(receipt.part_ids) > 5
    assert memory.show(receipt.id).content == text
    assert memory.remember(text, type="context").duplicate
    [hit] = memory.recall("settlement of batch 2793", limit=1)
    assert hit.memory.parent_id == receipt.id
    assert "batch 2793" in hit.memory.content
    assert [hit.memory.id for hit in memory.recall()] == [receipt.id]


def test_standing_of_a_split_text_carries_over_to_its_parts(memory):
    text = "".join(f"Sentence {n} about herring. " for n in range(600))
    receipt = memory.remember(text, type="context")
    memory.expire(receipt.id)
    assert memory.recall("herring") == []
    memory.restore(receipt.id)
    assert memory.recall("herring")
    memory.forget(receipt.id)
    assert memory.recall("herring", everything=True) == []
    assert memory.show(receipt.id).content == ""


@pytest.mark.parametrize("retire", ["expire", "forget"])
def test_a_split_text_said_again_comes_back_once(memory, retire):
    text = "".join(f"Sentence {n} about herring. " for n in range(600))
    receipt = memory.remember(text, type="context")
    getattr(memory, retire)(receipt.id)
    again = memory.remember(text, type="context")
    assert (again.id, again.revived) == (receipt.id, True)
    assert memory.show(receipt.id).content == text
    found = [hit.memory.part for hit in memory.recall("herring", limit=100)]
    assert sorted(found) == sorted(set(found)) == list(range(1, len(receipt.part_ids) + 1))


def test_a_batch_is_checked_whole_before_anything_is_stored(memory):
    with pytest.raises(InvalidInputError, match="memory 2 of the batch"):
        memory.remember_many([Draft(content="fine", type=MemoryType.FACT), Draft(content="  ", type=MemoryType.FACT)])
    assert memory.recall() == []


def test_a_batch_keeps_its_order_within_a_slot(memory):
    drafts = [Draft(content=f"The limit is {n}", key="limit", type=MemoryType.FACT) for n in (1, 2, 1)]
    receipts = memory.remember_many([*drafts, Draft(content="Other", type=MemoryType.FACT), Draft(content="Other")])
    assert [receipt.version for receipt in receipts] == [1, 2, 3, 1, 1]
    assert [receipt.duplicate for receipt in receipts] == [False, False, False, False, True]


def test_a_dry_run_stores_nothing(memory):
    preview = memory.remember("a token ghp_" + "a1B2" * 9, dry_run=True)
    assert [redaction.field for redaction in preview.redactions] == ["content"]
    assert memory.recall() == []


def test_secrets_are_gone_before_anything_is_stored(memory):
    secret = "ghp_" + "a1B2" * 9
    receipt = memory.remember(f"deploy with {secret}", title=f"key {secret}", tags=["ok"], metadata={"token": secret})
    stored = memory.show(receipt.id)
    assert secret not in repr(stored)
    assert {redaction.field.split(".")[0] for redaction in receipt.redactions} >= {"content", "title", "metadata"}
    edited = memory.edit(receipt.id, content=f"rotate {secret}")
    assert edited.redactions
    assert secret not in repr(memory.history(receipt.id))


def test_similar_memories_are_named_in_the_receipt(memory):
    first = memory.remember("the ledger pull lags the source by five minutes", type="fact")
    second = memory.remember("the ledger pull lags the source by ten minutes", type="fact")
    assert second.similar == (first.id,)


def test_forgetting_leaves_a_tombstone_without_text(memory):
    receipt = memory.remember("A confidential remark about mergers", type="observation", tags=["hush"], key="remark")
    memory.edit(receipt.id, content="A confidential remark about takeovers")
    [gone] = memory.forget(receipt.id, reason="asked to")
    assert gone.status is Status.FORGOTTEN
    [tombstone] = memory.history(receipt.id)
    assert (tombstone.content, tombstone.title, tombstone.tags, tombstone.key) == ("", "", (), None)
    assert tombstone.decision.action == "forget"
    assert memory.recall("confidential remark", everything=True) == []
    assert memory.forget(receipt.id)[0].version == gone.version


def test_pins_are_kept_across_versions(memory):
    receipt = memory.remember("Never deploy on Friday", type="instruction")
    assert memory.pin(receipt.id).version == 2
    assert memory.pin(receipt.id).version == 2
    memory.edit(receipt.id, confidence=1.0)
    assert [hit.memory.id for hit in memory.recall(pinned=True)] == [receipt.id]
    memory.unpin(receipt.id)
    assert memory.recall(pinned=True) == []


def test_restore_brings_back_the_standing_before(memory):
    claim = memory.remember("The moon is cheese", type="fact", provenance="inferred")
    memory.expire(claim.id)
    assert memory.restore(claim.id).status is Status.QUARANTINED
    plain = memory.remember("The moon is rock", type="fact")
    memory.quarantine(plain.id, reason="unsure")
    assert memory.restore(plain.id).status is Status.ACTIVE
