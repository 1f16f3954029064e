"""The run ledger: storing runs and their steps, and reading them back.

A run is one `event` memory in the slot `run/<run id>`; every change of it is a version. A step is a part of
that memory without vectors and words, so it is neither searched nor listed, and is forgotten with its run. A
step's id follows from its run and number and is only ever inserted, so of two processes that record step 7 at
once one gets 7 and the other 8.
"""

from __future__ import annotations

import hashlib
import secrets
import uuid
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Final

from memanto.errors import InvalidInputError, NotFoundError, VersionConflictError
from memanto.loop import runs
from memanto.loop.port import Verbs
from memanto.loop.run_checks import check_arm, check_task_type, one_line
from memanto.loop.run_codec import lacks_failures, record_of, run_metadata, step_metadata, step_of
from memanto.loop.runs import RunFailure, RunRecord, Step
from memanto.memory.namespace import Namespace
from memanto.memory.prepare import default_title
from memanto.memory.redaction import redact
from memanto.memory.versions import NewVersion, VersionLog
from memanto.models import MAX_LIMIT, Memory, MemoryType, Provenance, Status

_ATTEMPTS: Final = 64
_RESOLUTION: Final = timedelta(microseconds=1)


class Ledger:
    """The runs of one agent.

    Args:
        memory: The agent's memory.
        namespace: Where it is kept.
        source: Who records.
    """

    def __init__(self, memory: Verbs, namespace: Namespace, *, source: str) -> None:
        self._memory = memory
        self._namespace = namespace
        self._log = VersionLog(namespace)
        self._source = source

    # -- writing ------------------------------------------------------------------------------------
    def start(self, task_type: str, *, run_id: str | None, goal: str | None, arm: str) -> RunRecord:
        """Record that a run has begun.

        Raises:
            InvalidInputError: A value breaks its limit, or a run has this id already.
            VersionConflictError: Somebody else began a run with this id at the same moment.
        """
        now = self._memory.clock()
        chosen = f"{now:%Y%m%dT%H%M%S}-{secrets.token_hex(3)}" if run_id is None else _check_run_id(run_id)
        if run_id is not None and self._head(chosen) is not None:
            raise InvalidInputError(f"there is a run {chosen!r} already", hint="resume it, or choose another id")
        record = RunRecord(
            id=chosen,
            memory_id="",
            version=1,
            task_type=check_task_type(task_type),
            arm=check_arm(arm),
            state="unfinished",
            started_at=now,
            goal=_clean("goal", goal, runs.MAX_CONCLUSION),
        )
        receipt = self._memory.remember(
            runs.opening_line(record),
            type=MemoryType.EVENT,
            tags=(runs.TAG, f"{runs.TAG}:{record.task_type}"),
            provenance=Provenance.OBSERVED,
            source=self._source,
            key=_slot(chosen),
            run_id=chosen,
            metadata=run_metadata(record),
        )
        if receipt.version != 1:
            raise VersionConflictError(f"run {chosen!r} was begun by somebody else too", hint="choose another id")
        return replace(record, memory_id=receipt.id)

    def add_step(self, record: RunRecord, step: Step) -> Step:
        """Store a step under the next free number of its run, from `step.number` on, and return it as stored.

        Raises:
            InvalidInputError: A value breaks its limit.
            VersionConflictError: Others kept recording steps of this run.
        """
        clean = replace(step, outcome=_clean("outcome", step.outcome), failure=_clean_failure(step.failure))
        number = step.number
        for _ in range(_ATTEMPTS):
            memory = self._part(record, replace(clean, number=number))
            [stored] = self._log.append([NewVersion(memory=memory)])
            if stored is not None:
                return step_of(stored)
            number = max([number, *(part.part for part in self._log.parts(record.memory_id))]) + 1
        raise VersionConflictError(f"others keep recording steps of run {record.id!r}", hint="try again")

    def end(
        self,
        record: RunRecord,
        *,
        outcome: str,
        success: bool,
        conclusion: str,
        delivered: Sequence[str] = (),
        used: Sequence[str] = (),
    ) -> RunRecord:
        """Record that a run has ended, with the sums over its steps and the line that recall finds.

        Args:
            record: The run as it was read last.
            outcome: One line.
            success: Whether it reached what it was to reach.
            conclusion: One line, or `""`.
            delivered: Memories delivered after the last step.
            used: Memories used after the last step.

        Raises:
            InvalidInputError: A value breaks its limit.
            VersionConflictError: Somebody else ended it meanwhile.
        """
        steps = self.steps(record)
        ended = replace(
            runs.totals(record, steps, delivered=delivered, used=used),
            state="success" if success else "failure",
            ended_at=self._memory.clock(),
            outcome=_clean("outcome", outcome),
            conclusion=_clean("conclusion", conclusion, runs.MAX_CONCLUSION),
            interrupted="",
        )
        failures = [step.failure.text for step in steps if step.failure is not None]
        line = runs.closing_line(ended, failures)
        return self._write(ended, f"run ended in {ended.state}", content=line)

    def interrupt(self, record: RunRecord, reason: str) -> RunRecord:
        """Record what left a run unfinished."""
        halted = replace(record, interrupted=_clean("reason", reason[: runs.MAX_OUTCOME]))
        return self._write(halted, "run interrupted")

    def _write(self, record: RunRecord, reason: str, **changes: str) -> RunRecord:
        receipt = self._memory.edit(
            record.memory_id,
            reason=reason,
            expected_version=record.version,
            source=self._source,
            metadata=run_metadata(record),
            **changes,
        )
        return replace(record, version=receipt.version)

    def _part(self, record: RunRecord, step: Step) -> Memory:
        return Memory(
            id=step_id(record.memory_id, step.number),
            version=1,
            namespace=self._namespace.name,
            type=MemoryType.EVENT,
            content=step.outcome,
            title=default_title(step.outcome),
            recorded_at=self._memory.clock(),
            provenance=Provenance.OBSERVED,
            source=self._source,
            run_id=record.id,
            metadata=step_metadata(step),
            parent_id=record.memory_id,
            part=step.number,
        )

    # -- reading ------------------------------------------------------------------------------------
    def find(self, run_id: str) -> RunRecord:
        """Return a run, with the sums over the steps recorded so far.

        Raises:
            NotFoundError: No run has this id, or it was forgotten.
        """
        head = self._head(run_id)
        record = None if head is None else self._record(head)
        if record is None:
            raise NotFoundError(
                f"no run {run_id!r} in agent {self._namespace.name!r}", hint="`memanto runs` lists them"
            )
        return record

    def steps(self, record: RunRecord) -> list[Step]:
        """Return a run's steps in order."""
        return [step_of(part) for part in self._log.parts(record.memory_id) if part.status is not Status.FORGOTTEN]

    def runs(self, task_type: str | None = None) -> list[RunRecord]:
        """Return all runs that are believed, in the order they began, with their repeated failures counted."""
        tag = runs.TAG if task_type is None else f"{runs.TAG}:{check_task_type(task_type)}"
        memories: dict[str, Memory] = {}
        until = None
        while True:
            page = self._memory.recall(types=[MemoryType.EVENT], tags=[tag], until=until, limit=MAX_LIMIT)
            fresh = {hit.memory.id: hit.memory for hit in page if hit.memory.id not in memories}
            memories.update(fresh)
            if len(page) < MAX_LIMIT or not fresh:
                break
            until = page[-1].memory.recorded_at - _RESOLUTION
        records = [record for record in map(self._record, memories.values()) if record is not None]
        return runs.with_repeats(records)

    def _record(self, memory: Memory) -> RunRecord | None:
        record = record_of(memory)
        if record is None or (record.is_over and not lacks_failures(memory)):
            return record
        return runs.totals(record, self.steps(record))

    def _head(self, run_id: str) -> Memory | None:
        slot = ("key", _slot(_check_run_id(run_id)))
        owner, _ = self._namespace.slots([slot]).get(slot, (None, None))
        head = None if owner is None else self._log.heads([owner]).get(owner)
        return None if head is None or head.status is Status.FORGOTTEN else head


def step_id(run_memory_id: str, number: int) -> str:
    """Return the memory id of a run's step: the same wherever it is computed (a UUID of version 8, RFC 9562)."""
    digest = hashlib.blake2b(f"step\x00{run_memory_id}\x00{number}".encode(), digest_size=16).digest()
    value = int.from_bytes(digest, "big") & ~(0xF << 76) & ~(0x3 << 62)
    return str(uuid.UUID(int=value | 0x8 << 76 | 0x2 << 62))


def choose_unfinished(records: Sequence[RunRecord]) -> RunRecord:
    """Return the one unfinished run.

    Raises:
        InvalidInputError: There is none, or several.
    """
    waiting = [record for record in records if not record.is_over]
    if len(waiting) == 1:
        return waiting[0]
    if not waiting:
        raise InvalidInputError("no run is unfinished", hint="`memanto run start TASK-TYPE` begins one")
    names = ", ".join(repr(record.id) for record in waiting[:5])
    raise InvalidInputError(f"{len(waiting)} runs are unfinished: {names}", hint="name the run that is meant")


def _slot(run_id: str) -> str:
    return f"run/{run_id}"


def _check_run_id(value: str) -> str:
    return one_line("run id", value, 200)


def _clean(name: str, value: str | None, limit: int = runs.MAX_OUTCOME) -> str:
    """Return a line without secrets, or `""` where there is none."""
    if value is None or value == "":
        return ""
    return redact(one_line(name, value, limit))[0]


def _clean_failure(failure: RunFailure | None) -> RunFailure | None:
    if failure is None:
        return None
    return RunFailure(text=redact(failure.text)[0], key=None if failure.key is None else redact(failure.key)[0])
