"""Checkpoints of graphs: what a saver of a graph framework keeps of its threads, and their upkeep.

An adapter turns states into texts and back; everything else is here: where the texts are kept, that equal
values of a thread are kept once, which checkpoint is the latest, and which may go. So `memanto threads` can
list, show and prune without the framework that wrote them.

Public names: `CheckpointLog` and the values it takes and returns.
"""

from __future__ import annotations

from memanto.checkpoints.log import CheckpointLog as CheckpointLog
from memanto.checkpoints.values import Blob as Blob
from memanto.checkpoints.values import Checkpoint as Checkpoint
from memanto.checkpoints.values import Key as Key
from memanto.checkpoints.values import LogSize as LogSize
from memanto.checkpoints.values import Packed as Packed
from memanto.checkpoints.values import Pruned as Pruned
from memanto.checkpoints.values import Stored as Stored
from memanto.checkpoints.values import ThreadInfo as ThreadInfo
from memanto.checkpoints.values import Write as Write

__all__ = ["Blob", "Checkpoint", "CheckpointLog", "Key", "LogSize", "Packed", "Pruned", "Stored", "ThreadInfo", "Write"]
