"""A home in which files of our own are empty, half written or rubbish, or which another version or model wrote."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.acceptance.cli_kit import Cli
from tests.stress.stress_kit import AGENT, check_sound, handle, refused

from memanto import Memanto, MemantoError
from memanto.engine.port import Point
from memanto.errors import EmbedderMismatchError, SchemaMismatchError, SerializationError
from memanto.ids import meta_point_id
from memanto.testing import HashEmbedder

pytestmark = pytest.mark.slow

RUBBISH = {"empty": b"", "half": b'durability = "fu', "binary": bytes(range(256)), "zeros": bytes(64)}


# -- settings ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", ["half", "binary"])
def test_a_settings_file_that_is_no_settings_is_named_with_its_line_and_what_to_do(cli: Cli, kind: str) -> None:
    cli.remember("kept", "--type", "fact")
    settings = cli.home / "config.toml"
    settings.write_bytes(RUBBISH[kind])
    for command in (("recall", "kept"), ("remember", "more", "--type", "fact"), ("doctor",), ("export",)):
        error = refused(cli(*command, "--json"))
        assert error["code"] == "configuration"
        assert str(settings) in error["message"]
        assert "move the file away" in error["hint"]
    settings.unlink()
    assert cli.recalled("kept") == ["kept"]


def test_an_empty_settings_file_is_one_without_settings(cli: Cli) -> None:
    (cli.home / "config.toml").write_bytes(b"")
    cli.remember("kept", "--type", "fact")
    assert cli.recalled("kept") == ["kept"]


@pytest.mark.parametrize("kind", ["empty", "binary"])
def test_a_file_of_the_active_agent_that_names_none_is_named_and_any_other_way_of_naming_goes_on(
    cli: Cli, kind: str
) -> None:
    cli.remember("kept", "--type", "fact")
    (cli.home / "active").write_bytes(RUBBISH[kind])
    error = refused(cli("recall", "kept", "--json"))
    assert error["code"] == "configuration"
    assert "memanto agent activate" in error["hint"]
    assert cli.recalled("kept", "--agent", "loop") == ["kept"]
    cli.done("agent", "activate", "loop")
    assert cli.recalled("kept") == ["kept"]


# -- files of the store --------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", RUBBISH)
def test_a_note_of_the_last_close_that_is_rubbish_is_written_anew(store: Path, kind: str) -> None:
    with handle(store) as memory:
        kept = memory.remember("kept", type="fact")
    note = store / "namespaces" / AGENT / "closed.json"
    note.write_bytes(RUBBISH[kind])
    with handle(store) as memory:
        assert set(check_sound(memory)) == {kept.id}
    assert b'"points": ' in note.read_bytes()


@pytest.mark.parametrize("kind", ["empty", "binary"])
def test_lock_files_may_hold_anything(store: Path, kind: str) -> None:
    with handle(store) as memory:
        memory.remember("kept", type="fact")
    for name in ("owner", "turnstile", "holder"):
        (store / "namespaces" / ".locks" / f"{AGENT}.{name}").write_bytes(RUBBISH[kind])
    with handle(store) as memory:
        assert [hit.memory.content for hit in memory.recall("kept")] == ["kept"]


def test_a_folder_in_the_place_of_a_lock_is_named(store: Path) -> None:
    with handle(store) as memory:
        memory.remember("kept", type="fact")
    lock = store / "namespaces" / ".locks" / f"{AGENT}.owner"
    lock.unlink()
    lock.mkdir()
    memory = handle(store, lock_timeout=1.0).open()
    with pytest.raises(MemantoError, match=r"owner|folder|use") as raised:
        memory.recall("kept")
    assert raised.value.code == "backend_unavailable"
    lock.rmdir()
    assert memory.recall("kept")
    memory.close()


def test_what_is_no_agent_s_folder_is_left_alone(store: Path) -> None:
    with handle(store) as memory:
        memory.remember("kept", type="fact")
        for name in ("lost+found", "Shared", "~zz", "a b", "con"):
            (store / "namespaces" / name).mkdir()
        (store / "namespaces" / "notes.txt").write_text("mine")
        assert [agent.id for agent in memory.agents()] == [AGENT]
        check_sound(memory)
    assert (store / "namespaces" / "lost+found").is_dir()


def empty_folder(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.mkdir()


def rubbish_current(folder: Path) -> None:
    (folder / "CURRENT").write_bytes(RUBBISH["binary"])


@pytest.mark.parametrize("damage", [empty_folder, rubbish_current])
def test_one_damaged_agent_is_named_leaves_the_others_alone_and_can_be_deleted(
    cli: Cli, damage: Callable[[Path], None]
) -> None:
    cli.done("agent", "create", "broken")
    cli.done("agent", "activate", "loop")
    cli.remember("kept", "--type", "fact")
    damage(cli.home / "namespaces" / "broken")
    error = refused(cli("recall", "kept", "--agent", "broken", "--json"), status=5)
    assert error["code"] == "store_damaged"
    assert cli.recalled("kept") == ["kept"]
    cli.done("status")
    assert "store_damaged" in cli.done("agent", "list").out
    checks = {check["name"]: check for check in cli("doctor", "--json").json["checks"] if not check["ok"]}
    assert "broken" in checks["store"]["detail"]
    cli.done("agent", "delete", "broken", "--yes")
    assert "broken" not in cli.done("agent", "list").out


# -- another version, another model ---------------------------------------------------------------------------
def rewrite_meta(memory: Memanto, **fields: object) -> None:
    """Change the point that describes the agent, as another version may have written it."""
    engine = memory._opened()
    key = meta_point_id(AGENT)
    stored = engine.get(AGENT, [key])[key].payload
    payload = {name: value for name, value in {**stored, **fields}.items() if value is not None}
    assert engine.replace(AGENT, Point(key, payload), stored["token"])


@pytest.mark.parametrize("schema", [2, 0, None, "1"])
def test_a_store_of_another_schema_is_refused_by_every_verb_and_nothing_of_it_is_lost(
    store: Path, schema: object
) -> None:
    with handle(store) as memory:
        kept = memory.remember("kept", type="fact")
        rewrite_meta(memory, schema=schema)
    with handle(store) as memory:
        for act in (
            lambda: memory.recall("kept"),
            lambda: memory.remember("more", type="fact"),
            lambda: memory.edit(kept.id, content="other"),
            lambda: memory.forget(kept.id),
            lambda: list(memory.export()),
            memory.reindex,
            memory.status,
        ):
            with pytest.raises(SchemaMismatchError) as raised:
                act()
            assert repr(schema) in raised.value.message
            assert raised.value.hint
        assert "schema_mismatch" in {check.name for check in memory.doctor() if not check.ok}
        rewrite_meta(memory, schema=1)
        assert set(check_sound(memory)) == {kept.id}


@pytest.mark.parametrize(
    "fields", [{"agent": None}, {"hash_key": "no hex"}, {"space": "x"}, {"created_at": "yesterday"}]
)
def test_a_description_that_cannot_be_decoded_is_named(store: Path, fields: dict[str, object]) -> None:
    with handle(store) as memory:
        kept = memory.remember("kept", type="fact")
        before = memory._opened().get(AGENT, [meta_point_id(AGENT)])[meta_point_id(AGENT)].payload
        rewrite_meta(memory, **fields)
        for act in (lambda: memory.recall("kept"), lambda: memory.remember("more", type="fact"), memory.status):
            with pytest.raises(SerializationError, match=AGENT) as raised:
                act()
            assert "memanto export" in raised.value.hint
        assert "serialization" in {check.name for check in memory.doctor() if not check.ok}
        assert len(memory.salvage().lines) == 2
        rewrite_meta(memory, **before)
        assert set(check_sound(memory)) == {kept.id}


def test_another_model_than_the_store_s_is_refused_where_vectors_count_and_named_by_doctor(store: Path) -> None:
    with handle(store) as memory:
        kept = memory.remember("kept in the old space", type="fact")
    with handle(store, embedder=HashEmbedder(32)) as memory:
        for act in (
            lambda: memory.remember("more", type="fact"),
            lambda: memory.recall("kept"),
            lambda: memory.edit(kept.id, content="other"),
        ):
            with pytest.raises(EmbedderMismatchError, match="memanto/hash-64") as raised:
                act()
            assert "memanto reindex" in raised.value.hint
        assert memory.show(kept.id).content == "kept in the old space"
        assert [hit.memory.id for hit in memory.recall("kept", words_only=True)] == [kept.id]
        [named] = [check for check in memory.doctor() if not check.ok and check.name != "disk-space"]
        assert (named.name, named.fix) == ("vectors", f"memanto reindex --agent {AGENT}")
    with handle(store) as memory:
        assert set(check_sound(memory)) == {kept.id}


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="permissions do not bind root")
def test_a_folder_that_may_not_be_written_is_named_by_every_verb(store: Path) -> None:
    """For root see the read-only disk in `test_disk_full`."""
    with handle(store) as memory:
        memory.remember("kept", type="fact")
    folders = [path for path in (store, *store.rglob("*")) if path.is_dir()]
    for folder in folders:
        folder.chmod(0o500)
    try:
        memory = handle(store, lock_timeout=1.0)
        for act in (lambda: memory.remember("more", type="fact"), lambda: memory.recall("kept")):
            with pytest.raises(MemantoError) as raised:
                act()
            assert raised.value.code == "backend_unavailable"
            assert "permissions" in raised.value.hint
    finally:
        for folder in folders:
            folder.chmod(0o700)
    with handle(store) as memory:
        assert memory.recall("kept")
