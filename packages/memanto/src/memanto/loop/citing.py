"""What rests on a memory: other memories that name its id."""

from __future__ import annotations

import json
from typing import Final

from memanto.loop.port import Verbs
from memanto.memory.visibility import is_upkeep
from memanto.models import Memory, Status

SHORT: Final = 18
"""Characters of an id that lists show, and that a text may cite it by."""


def citing(verbs: Verbs, memory_id: str) -> list[Memory]:
    """Return the current memories whose text, title, metadata or lineage names this one, newest first.

    Every memory is looked at, whatever its status, apart from forgotten ones: a summary that was retired may have
    been believed. The first 18 characters of the id count as its name.
    """
    wanted = verbs.show(memory_id).id
    name = wanted[:SHORT]
    found = {str(json.loads(line).get("id", "")) for line in verbs.export() if name in line.replace(wanted, name)}
    heads = [verbs.show(one) for one in sorted(found - {wanted, ""})]
    named = [memory for memory in heads if memory.status is not Status.FORGOTTEN and _names(memory, name)]
    named = [memory for memory in named if not is_upkeep(memory)]
    return sorted(named, key=lambda one: (one.recorded_at, one.id), reverse=True)


def _names(memory: Memory, name: str) -> bool:
    said = [memory.content, memory.title, json.dumps(dict(memory.metadata), ensure_ascii=False), *memory.supersedes]
    return any(name in text for text in said)
