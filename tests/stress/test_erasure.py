"""Secrets never reach the store, and what is forgotten leaves it to the last byte."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.stress.stress_kit import Workers, check_sound, handle, places_of

from memanto import Draft, Memanto

AWS = "AKIA" + "Q3EGRZ7XW4JNPLTB"
GITHUB = "ghp_" + "a8Kq2Lw9Zx4Vb7Nm1Qs5Td3Yf6Gh0JpRcE2u"
URL = "postgres://admin:" + "hunter2-xK9!" + "@db.example.com:5432/main"
PRIVATE = (
    "-----BEGIN RSA PRIVATE KEY-----\n" + "MIIEowIBAAKCAQEAq7Xw3kZ5uV8r2nT4" * 4 + "\n-----END RSA PRIVATE KEY-----"
)
SECRETS = {"aws": (AWS, AWS), "github": (GITHUB, GITHUB), "url": (URL, "hunter2-xK9!"),
           "private": (PRIVATE, "MIIEowIBAAKCAQEAq7Xw3kZ5uV8r2nT4")}  # fmt: skip
MARK = "zyzzyva"
"""A word that begins every text to be erased."""


def field(name: str, text: str) -> dict[str, Any]:
    """Return options of `remember` with a text in one field."""
    options: dict[str, Any] = {"type": "fact", "content": "an ordinary sentence"}
    match name:
        case "tags":
            return options | {"tags": ["plain", text]}
        case "metadata":
            return options | {"metadata": {"deep": [{"value": text}]}}
        case "metadata_name":
            return options | {"metadata": {text: 1}}
        case _:
            return options | {name: text}


FIELDS = ["content", "title", "tags", "metadata", "metadata_name", "source_ref", "key"]


@pytest.mark.parametrize("name", FIELDS)
def test_a_secret_in_any_field_is_in_no_file_of_the_store(store: Path, name: str) -> None:
    with handle(store) as memory:
        for kind, (text, _) in SECRETS.items():
            if kind == "private" and name not in {"content", "metadata"}:
                continue  # longer than this field may be
            receipt = memory.remember(**field(name, text))
            assert receipt.redactions, kind
            memory.recall(text[:200])
        needles = [needle for _, needle in SECRETS.values()]
        exported = "".join(memory.export())
        assert not [needle for needle in needles if needle in exported]
    assert places_of(needles, store) == []


def test_a_secret_in_an_edit_is_in_no_file_of_the_store(store: Path) -> None:
    with handle(store) as memory:
        kept = memory.remember("an ordinary sentence", type="fact").id
        for name in ("content", "title", "tags", "metadata", "metadata_name", "source_ref"):
            field_name = name.removesuffix("_name")
            change = field(name, GITHUB)[field_name]
            assert memory.edit(kept, **{field_name: change}, reason=f"because of {AWS}").redactions, name
    assert places_of([GITHUB, AWS], store) == []


def test_a_secret_in_a_reason_is_in_no_file_of_the_store(store: Path) -> None:
    with handle(store) as memory:
        ids = [memory.remember(f"ordinary sentence {n}", type="fact").id for n in range(6)]
        reason = f"saw {GITHUB}"
        memory.verify(ids[0], reason=reason)
        memory.quarantine(ids[1], reason=reason)
        memory.expire(ids[2], reason=reason)
        memory.restore(ids[2], reason=reason)
        memory.supersede(ids[3], ids[4], reason=reason)
        memory.forget(ids[5], reason=reason)
    assert places_of([GITHUB], store) == []


@pytest.mark.parametrize("name", ["actor", "run_id", "description"])
def test_a_secret_in_the_fields_around_a_memory_is_in_no_file_of_the_store(store: Path, name: str) -> None:
    with handle(store) as memory:
        if name == "description":
            memory.create_agent(description=f"uses {GITHUB}")
        else:
            memory.remember(**field(name, GITHUB))
    assert places_of([GITHUB], store) == []


def test_secrets_in_batches_split_texts_dry_runs_and_imports_are_in_no_file_of_the_store(store: Path) -> None:
    with handle(store) as memory:
        memory.remember_many([Draft(content=f"batch of {n}: {GITHUB}") for n in range(3)])
        memory.remember(f"dry {GITHUB}", dry_run=True)
        # The secret lies across the place where the text would be split.
        memory.remember("word " * 1995 + f"token {GITHUB} " + "more " * 2000, type="context")
        lines = list(memory.export())
        line = json.loads(lines[1]) | {
            "id": "01900000-0000-7000-8000-000000000001",
            "content": f"imported {GITHUB}",
            "decision": {"actor": "someone", "action": "edit", "reason": f"uses {AWS}"},
        }
        line.pop("retired_at", None)
        assert memory.import_([lines[0], json.dumps(line)]).redacted == 1
    assert places_of([GITHUB, AWS], store) == []


def test_a_secret_in_an_imported_tombstone_is_in_no_file_of_the_store(store: Path) -> None:
    """A tombstone has no text; one that claims to have some is refused, or loses it."""
    line = {
        "id": "01900000-0000-7000-8000-000000000002", "version": 2, "type": "fact", "status": "forgotten",
        "content": f"text {GITHUB}", "title": AWS, "recorded_at": "2026-01-01T00:00:00.000000Z",
    }  # fmt: skip
    with handle(store) as memory, suppress(ValueError):
        memory.import_([json.dumps(line)])
    assert places_of([GITHUB, AWS], store) == []


def everywhere(memory: Memanto) -> str:
    """Remember a memory whose every field holds `MARK`, and return its id."""
    return memory.remember(
        f"{MARK} content with ünïcode", type="fact", title=f"{MARK} title", tags=[f"{MARK}-tag"],
        source_ref=f"file:///{MARK}", key=f"{MARK}-key", metadata={f"{MARK}-name": [f"{MARK} value"]},
        actor=f"{MARK} actor", run_id=f"{MARK}-run",
    ).id  # fmt: skip


def test_nothing_of_a_forgotten_memory_is_left_in_any_field_or_version(store: Path) -> None:
    with handle(store) as memory:
        kept = [memory.remember(f"kept {n}", type="fact").id for n in range(5)]
        doomed = everywhere(memory)
        memory.remember(f"{MARK} second value", type="fact", key=f"{MARK}-key")
        memory.edit(doomed, content=f"{MARK} edited", title=f"{MARK} again", reason=f"{MARK} reason")
        memory.expire(doomed, reason=f"{MARK} expired")
        memory.restore(doomed, reason=f"{MARK} restored")
        memory.recall(MARK)
        assert places_of([MARK], store), "the search must be able to find it"
        [receipt] = memory.forget(doomed)
        assert places_of([MARK], store) == []
        assert [hit.memory.id for hit in memory.recall(status=["forgotten"])] == [receipt.id]
        assert doomed not in [hit.memory.id for hit in memory.recall(MARK, everything=True, limit=100)]
        assert MARK not in "".join(memory.export())
        assert MARK not in repr(memory.history(doomed)) + repr(memory.show(doomed))
        assert [memory.show(one).content for one in kept] == [f"kept {n}" for n in range(5)]
        check_sound(memory)
    assert places_of([MARK], store) == []


def test_nothing_of_a_forgotten_split_text_is_left(store: Path) -> None:
    text = "\n".join(f"{MARK} paragraph {n} of a text that is longer than one memory holds" for n in range(600))
    with handle(store) as memory:
        other = memory.remember(text.replace(MARK, "harmless"), type="context")
        doomed = memory.remember(text, type="context", title=f"{MARK} title", tags=[MARK])
        assert len(doomed.part_ids) > 1
        assert memory.show(doomed.id).content == text
        memory.forget(doomed.id)
        assert places_of([MARK], store) == []
        assert memory.show(other.id).content == text.replace(MARK, "harmless")
        assert not [hit for hit in memory.recall(f"{MARK} paragraph", limit=100) if MARK in hit.memory.content]


def test_nothing_is_left_with_the_store_open_in_another_process_and_another_handle(
    store: Path, workers: Workers
) -> None:
    with handle(store) as memory, handle(store) as second:
        kept = memory.remember("kept and common", type="fact").id
        doomed = everywhere(memory)
        second.recall(MARK)
        other = workers.start("keep", store)
        assert other.stdout is not None
        assert other.stdin is not None
        assert json.loads(other.stdout.readline()) == {"opened": True}
        memory.forget(doomed)
        assert places_of([MARK], store) == []
        other.stdin.write("common content\n")
        other.stdin.flush()
        assert json.loads(other.stdout.readline()) == {"found": ["kept and common"]}
        assert [hit.memory.id for hit in second.recall("common content")] == [kept]
        other.stdin.close()
        other.wait(timeout=60)
    assert places_of([MARK], store) == []


def test_nothing_is_left_after_reindex_optimize_or_an_import_touched_the_text(store: Path) -> None:
    from memanto.testing import HashEmbedder

    with handle(store) as memory:
        doomed = everywhere(memory)
        memory.remember_many([Draft(content=f"filler {n}") for n in range(30)])
        lines = list(memory.export())
        memory.reindex(HashEmbedder(32))
    with handle(store, embedder=HashEmbedder(32)) as memory:
        memory.optimize()
        memory.import_(lines)
        memory.forget(doomed)
        assert places_of([MARK], store) == []
        assert memory.import_(lines).stored == 0, "an older export must not bring back what was forgotten"
        assert places_of([MARK], store) == []


def test_forgetting_several_at_once_and_again_is_one_act_each(store: Path) -> None:
    with handle(store) as memory:
        ids = [memory.remember(f"{MARK} number {n}", type="fact").id for n in range(4)]
        kept = memory.remember("kept", type="fact").id
        assert [one.status for one in memory.forget(*ids, ids[0])] == ["forgotten"] * len(memory.forget(*ids, ids[0]))
        assert {one.version for one in memory.forget(*ids)} == {2}
        assert places_of([MARK], store) == []
        with pytest.raises(LookupError):
            memory.forget(kept, "01900000-0000-7000-8000-00000000dead")
        assert memory.show(kept).content == "kept", "an unknown id among others: nothing is done"


def test_what_is_said_again_after_it_was_forgotten_is_there_again_with_gapless_versions(store: Path) -> None:
    with handle(store) as memory:
        first = everywhere(memory)
        memory.forget(first)
        again = memory.remember(f"{MARK} content with ünïcode", type="fact")
        assert memory.show(again.id).content == f"{MARK} content with ünïcode"
        memory.edit(again.id, content="another")
        check_sound(memory)
        memory.forget(again.id)
        check_sound(memory)
        assert places_of([MARK], store) == []


def test_an_agent_that_was_deleted_leaves_no_byte(store: Path) -> None:
    with handle(store, "other") as other, handle(store) as memory:
        other.remember("kept", type="fact")
        everywhere(memory)
        memory.delete_agent()
        assert places_of([MARK], store) == []
        assert other.recall("kept")[0].memory.content == "kept"


def test_files_of_the_store_are_the_owners_alone_also_after_erasing(store: Path) -> None:
    if os.name != "posix":
        pytest.skip("modes are POSIX")
    with handle(store) as memory:
        memory.forget(everywhere(memory))
        memory.remember("after", type="fact", valid_from=datetime(2026, 1, 1, tzinfo=UTC))
    wrong = [str(path) for path in (store / "namespaces").rglob("*") if path.stat().st_mode & 0o077]
    assert wrong == []
