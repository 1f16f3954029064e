"""An agent's checkpoints go with the agent, whoever has them open (our decision)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memanto import Embedded, InMemory, Memanto
from memanto.checkpoints import Checkpoint, CheckpointLog, Key, Packed
from memanto.errors import NotFoundError

KEY = Key("thread", "", "1f1ecd6a-0000-6ba4-8001-f7c8119d9f1e")


@pytest.mark.parametrize("make", [Embedded, lambda _: InMemory()], ids=["embedded", "in-memory"])
def test_deleting_an_agent_takes_its_checkpoints_from_a_log_that_is_open(
    make: Callable[[Path], Any], tmp_path: Path
) -> None:
    store = make(tmp_path)
    with (
        CheckpointLog("loop", store=store) as log,
        CheckpointLog("other", store=store) as other,
        Memanto("loop", store=store, embedder=None) as memory,
    ):
        for one in (log, other):
            one.put(Checkpoint(KEY, None, Packed("msgpack", "state")), [])
        memory.remember("The importer runs at night", type="fact")
        memory.delete_agent()
        assert log.latest("thread", "") is None
        assert other.agents() == ["other"]
        log.put(Checkpoint(KEY, None, Packed("msgpack", "state")), [])  # the next graph begins anew
        memory.delete_agent()  # there are checkpoints, if no memories
        with pytest.raises(NotFoundError, match="no agent named 'loop'"):
            memory.delete_agent()
        assert other.latest("thread", "") is not None
