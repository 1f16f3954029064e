# ruff: noqa: A002, PYI021 - the parameters of `Memanto`, and docstrings for editors that read nothing else
# Types of `memanto.aio`. Written by scripts/make_async_stub.py; do not edit.

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta, tzinfo
from types import TracebackType
from typing import Any, Generic, Literal, Self, TypeVar

from memanto.client import Memanto
from memanto.embedding.port import Embedder, Reranker
from memanto.hygiene.conflict import Conflict
from memanto.hygiene.detect import Detection
from memanto.hygiene.expiry import Application
from memanto.hygiene.learning import Calibration, Learned
from memanto.hygiene.policy import Policy
from memanto.hygiene.summary import DailySummary
from memanto.hygiene.upkeep import UpkeepReport
from memanto.llm.port import LanguageModel
from memanto.loop.answer import Answer
from memanto.loop.baton import Baton
from memanto.loop.brief import Brief
from memanto.loop.check import CheckReport
from memanto.loop.compounding import Compounding
from memanto.loop.compress import Distilled, Kept, Page
from memanto.loop.feedback import Verdict
from memanto.loop.guard import Trigger
from memanto.loop.handoff import Handoff, HandoffReceipt
from memanto.loop.pins import Pins
from memanto.loop.policy_prompt import Part
from memanto.loop.runs import RunFailure, RunRecord, RunState, Step
from memanto.maintenance import Checkup, StoreStatus
from memanto.memory.reindex import Reindexed
from memanto.models import Agent, Draft, Memory, MemoryType, Provenance, Receipt, Recollection, Status
from memanto.portability.importing import ImportReport
from memanto.portability.salvage import Salvaged
from memanto.stores import Store

_T = TypeVar("_T")
WORKERS: int
BLOCKS: frozenset[str]

class AsyncMemanto:
    def __init__(
        self,
        agent: str,
        *,
        store: Store | None = None,
        embedder: Embedder | Literal["default"] | None = "default",
        reranker: Reranker | Literal["default"] | None = "default",
        llm: LanguageModel | Callable[[str], str] | Literal["default"] | None = "default",
        source: str = "user",
        provenance: Provenance | str = ...,
        actor: str | None = None,
        run_id: str | None = None,
        create: bool = True,
        clock: Callable[[], datetime] = ...,
    ) -> None: ...
    @property
    def agent(self) -> str: ...
    @property
    def sync(self) -> Memanto: ...
    async def open(self) -> Self: ...
    async def close(self) -> None: ...
    async def __aenter__(self) -> Self: ...
    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...
    async def ack_handoff(self, *, lane: str = "main", by: str | None = None) -> Handoff:
        """Record that the taken baton was read; it is done for good."""
    async def agents(self) -> list[Agent]:
        """Return all agents of the store, by id."""
    async def answer(
        self,
        question: str,
        *,
        types: Iterable[MemoryType | str] = (),
        as_of: datetime | None = None,
        limit: int = 10,
        budget_tokens: int | None = None,
        llm: LanguageModel | Callable[[str], str] | Literal["default"] | None = "default",
        rerank: bool = True,
        on_text: Callable[[str], None] | None = None,
    ) -> Answer:
        """Answer a question from memory, part by part, every claim cited, or abstain."""
    async def apply_policy(self, *, dry_run: bool = False, yes: bool = False) -> Application:
        """Let expire what the policy says. Each becomes `expired` with the reason; `restore` brings it back."""
    async def brief(
        self,
        task: str | None = None,
        *,
        task_type: str | None = None,
        budget_tokens: int = 600,
        bullets: int = 5,
        as_of: datetime | None = None,
        words_only: bool = False,
    ) -> Brief:
        """Return what to know before planning: pins, then cited lines within a budget."""
    async def calibration(self) -> Calibration:
        """Compare the confidence memories had when they were used with what became of it."""
    async def check(self, questions: Any = None, *, task_type: str | None = None, rerank: bool = True) -> CheckReport:
        """Ask memory what it should know, and say for each answer whether it can be relied on."""
    async def citing(self, id: str) -> list[Memory]:
        """Return the current memories whose text, metadata or lineage names this one, newest first."""
    async def compounding(
        self,
        task_type: str | None = None,
        *,
        min_runs: int | None = None,
        against: str = "off",
    ) -> Compounding:
        """Return how runs of each task type change from one to the next, and how arms compare."""
    async def conflict(self, id: str) -> tuple[Conflict, Memory, Memory]:
        """Return a conflict and the current versions of both memories, the older first."""
    async def conflicts(self, *, resolved: bool = False, set_aside: bool = False) -> list[Conflict]:
        """Return the open conflicts, or those that were decided, oldest first."""
    async def create_agent(self, *, description: str = "", pattern: str | None = None) -> bool:
        """Create this agent; `False` when it exists already (nothing is changed then)."""
    async def daily_summary(
        self,
        day: date | None = None,
        *,
        since: datetime | None = None,
        until: datetime | None = None,
        run_id: str | None = None,
        zone: tzinfo = ...,
        budget_tokens: int | None = None,
        llm: LanguageModel | Callable[[str], str] | Literal["default"] | None = None,
    ) -> DailySummary:
        """Return what a day left in memory: one line per memory by type, and what in it cannot both hold."""
    async def delete_agent(self) -> None:
        """Remove this agent with all its memories and the checkpoints of its graphs, for good."""
    async def detect_conflicts(
        self,
        *,
        everything: bool = False,
        rerank: bool = True,
        llm: LanguageModel | Callable[[str], str] | Literal["default"] | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> Detection:
        """Compare memories with their neighbours, and record which may not go together."""
    async def distil(self, memories: Iterable[Memory], *, budget_tokens: int) -> Distilled:
        """Return one line per memory within a budget, and the ids of those that did not fit."""
    async def doctor(self, *, repair: bool = False) -> list[Checkup]:
        """Check the store for real: write and read a canary, lock, disk, model, lineage."""
    async def edit(self, id: str, *, reason: str = "", expected_version: int | None = None, **changes: Any) -> Receipt:
        """Append a version with other contents."""
    async def end_run(
        self,
        run_id: str | None = None,
        outcome: str = "",
        *,
        success: bool = True,
        conclusion: str = "",
    ) -> RunRecord:
        """End a run by its id, or the only unfinished one; see `Run.end`."""
    async def expire(self, id: str, *, reason: str = "") -> Receipt:
        """Retire a memory that is no longer true or needed; `restore` brings it back."""
    async def export(self) -> list[str]:
        """Yield the agent's memories as JSON lines: all versions, lossless."""
    async def feedback(self, id: str, verdict: Verdict, *, reason: str = "") -> Receipt:
        """Say whether a memory helped, was wrong or was irrelevant; its confidence moves by a stated rule."""
    async def forget(self, *ids: str, reason: str = "") -> list[Receipt]:
        """Erase memories with all their versions; tombstones without text remain."""
    async def goal(self, *, as_of: datetime | None = None) -> Memory | None:
        """Return the current goal: the one that was set, else the newest `goal` memory that may direct."""
    async def guard(
        self,
        situation: str = "",
        *,
        tool: str | None = None,
        args: Mapping[str, Any] | Sequence[Any] | str | None = None,
        limit: int = 3,
        lane: str = "main",
        by_meaning: bool = False,
    ) -> list[Trigger]:
        """Return recorded failures, and steps not to be redone, that match the action about to be taken."""
    async def history(self, id: str) -> list[Memory]:
        """Return every version of a memory, oldest first, each with who decided it and why."""
    async def import_(
        self,
        lines: Iterable[str],
        *,
        dry_run: bool = False,
        progress: Callable[[int, int], None] | None = None,
    ) -> ImportReport:
        """Add the versions of an export that are not there yet; running it again changes nothing."""
    def isolate(self, task: str, *, run_id: str | None = None, source: str | None = None) -> AsyncBlock[AsyncScratch]:
        """Return a scratch for a sub-agent, to be used in a `with` block."""
    async def keep_result(
        self,
        text: str,
        *,
        title: str,
        over_tokens: int = 1000,
        source: str | None = None,
        run_id: str | None = None,
    ) -> Kept:
        """Store a long tool result as an `artifact` and return the pointer that stands for it in the window."""
    async def learn(self) -> list[Learned]:
        """Fold what runs and conflicts say of memories into their confidence; at most one version a day each."""
    async def optimize(self, *, progress: Callable[[str], None] | None = None) -> bool:
        """Build graph indexes and reclaim space; returns whether anything changed. Worth it from 100,000 on."""
    async def page(self, id: str, number: int = 1) -> Page:
        """Return one page (about 1,000 tokens) of a long memory."""
    async def pin(self, id: str) -> Receipt:
        """Keep a memory in front of every brief."""
    async def pins(self, *, as_of: datetime | None = None) -> Pins:
        """Return what must survive every window: goal, plan, and the constraints that are pinned."""
    async def plan(self, *, as_of: datetime | None = None) -> Memory | None:
        """Return the current plan summary, or `None`."""
    async def policy(self) -> Policy:
        """Return the agent's forgetting policy; the default preset while none was chosen."""
    async def policy_prompt(self, part: Part | None = None) -> str:
        """Return the text that teaches an agent to use its memory, or one of its five parts."""
    async def quarantine(self, id: str, *, reason: str = "") -> Receipt:
        """Demote a memory that proved wrong: recallable on request only."""
    async def recall(
        self,
        query: str | None = None,
        *,
        types: Iterable[MemoryType | str] = (),
        memory: str | None = None,
        tags: Iterable[str] = (),
        any_tags: Iterable[str] = (),
        status: Iterable[Status | str] = (),
        min_confidence: float | None = None,
        min_similarity: float | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        changed_since: datetime | None = None,
        as_of: datetime | None = None,
        valid_at: datetime | None = None,
        source: str | None = None,
        run_id: str | None = None,
        key: str | None = None,
        pinned: bool = False,
        everything: bool = False,
        agents: Iterable[str] = (),
        limit: int = 10,
        rerank: bool = False,
        budget_tokens: int | None = None,
        words_only: bool = False,
    ) -> list[Recollection]:
        """Return the best memories for a query, or the newest when there is no query."""
    async def record_failure(
        self,
        trigger: str = "",
        *,
        task_type: str = "",
        attempted: str = "",
        wrong: str = "",
        cause: str = "",
        fix: str = "",
        confidence: float | None = None,
        provenance: Provenance | str | None = ...,
        tags: Iterable[str] = (),
        source: str | None = None,
        run_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Receipt:
        """Record what went wrong, why, and what to do instead, as an `error` memory phrased as a trigger."""
    async def reindex(
        self,
        embedder: Embedder | None = None,
        *,
        progress: Callable[[int, int], None] | None = None,
    ) -> Reindexed:
        """Search vectors of another embedder from now on (default: the one in use), and keep the old ones."""
    async def remember(
        self,
        content: str | Draft,
        *,
        type: MemoryType | str | None = None,
        title: str | None = None,
        tags: Iterable[str] = (),
        confidence: float | None = None,
        provenance: Provenance | str | None = None,
        source: str | None = None,
        source_ref: str | None = None,
        valid_from: datetime | None = None,
        valid_to: datetime | None = None,
        key: str | None = None,
        run_id: str | None = None,
        actor: str | None = None,
        pinned: bool = False,
        metadata: Mapping[str, Any] | None = None,
        dry_run: bool = False,
    ) -> Receipt:
        """Store one memory and return a receipt made after reading it back."""
    async def remember_many(self, drafts: Iterable[Draft], *, dry_run: bool = False) -> list[Receipt]:
        """Store up to 1,000 memories in order; all are checked before the first is stored."""
    async def resolve_conflict(self, id: str, action: str, *, text: str | None = None, reason: str = "") -> Conflict:
        """Decide a conflict. The loser stays in history as `superseded` or `expired`; `undo_conflict` takes it back."""
    async def restore(self, id: str, *, reason: str = "") -> Receipt:
        """Bring back what was expired, superseded or quarantined."""
    async def resume_run(self, run_id: str | None = None, *, source: str | None = None) -> AsyncRun:
        """Return the handle of an unfinished run; the steps recorded before are in its `steps`."""
    def run(
        self,
        task_type: str,
        *,
        run_id: str | None = None,
        goal: str | None = None,
        arm: str = "memory",
        source: str | None = None,
    ) -> AsyncBlock[AsyncRun]:
        """Begin a run that ends with its `with` block; see `start_run`."""
    async def run_steps(self, run_id: str) -> list[Step]:
        """Return the steps of a run, in order."""
    async def runs(
        self,
        task_type: str | None = None,
        *,
        arm: str | None = None,
        state: RunState | None = None,
        limit: int | None = None,
    ) -> list[RunRecord]:
        """Return runs, the latest first, each with the number of its failures that an earlier one had recorded."""
    async def salvage(self) -> Salvaged:
        """Return an export of what can be read when the agent's files are damaged, and what is missing."""
    async def set_goal(
        self,
        text: str,
        *,
        source: str | None = None,
        provenance: Provenance | str | None = None,
    ) -> Receipt:
        """Make a text the current goal, the next version of the one before it."""
    async def set_plan(
        self,
        text: str,
        *,
        source: str | None = None,
        provenance: Provenance | str | None = None,
    ) -> Receipt:
        """Make a text the current plan summary, the next version of the one before it."""
    async def set_policy(self, policy: Policy | str, *, reason: str = "") -> Policy:
        """Choose the agent's forgetting policy: a preset's name, or a policy."""
    async def show(self, id: str) -> Memory:
        """Return the current version of a memory, whatever its status; a split text is put together again."""
    async def show_handoff(self, *, lane: str = "main", as_of: datetime | None = None) -> list[Handoff]:
        """Return the batons of a lane that wait or are claimed, without claiming; the first is the live one."""
    async def start_run(
        self,
        task_type: str,
        *,
        run_id: str | None = None,
        goal: str | None = None,
        arm: str = "memory",
        source: str | None = None,
    ) -> AsyncRun:
        """Begin a run and record that it has begun."""
    async def status(self) -> StoreStatus:
        """Return figures about this agent's memories and the store."""
    async def step(
        self,
        run_id: str | None,
        outcome: str,
        *,
        tool_calls: int | None = None,
        tokens: int | None = None,
        cost: float | None = None,
        failure: RunFailure | str | None = None,
        delivered: Iterable[str] = (),
        used: Iterable[str] = (),
    ) -> Step:
        """Record a step of a run by the run's id, for callers without its handle; see `Run.step`."""
    async def supersede(self, old: str, new: str, *, reason: str = "") -> Receipt:
        """Record that memory `new` took the place of memory `old`, which stays in history."""
    async def take_handoff(
        self,
        *,
        lane: str = "main",
        by: str | None = None,
        hold: timedelta = ...,
        unconfirmed: bool = False,
    ) -> Handoff | None:
        """Claim the live baton of a lane; `None` when there is none to be had."""
    async def undo_conflict(self, id: str, *, reason: str = "") -> Conflict:
        """Take a decision back: the memories say and stand again as before, and the conflict is open again."""
    async def unpin(self, id: str) -> Receipt:
        """Take back `pin`."""
    async def upkeep(
        self,
        *,
        since: date | None = None,
        zone: tzinfo = ...,
        progress: Callable[[int, int], None] | None = None,
    ) -> UpkeepReport:
        """Do what `schedule run` does for one agent: summary, detection, learning, policy, doctor."""
    async def verify(self, id: str, *, reason: str = "", confidence: float | None = None) -> Receipt:
        """Record that a memory was checked; a quarantined one is believed from now on."""
    async def write_handoff(
        self,
        baton: Baton | None = None,
        *,
        goal: str = "",
        done: str | Iterable[str] = (),
        state: str = "",
        next: str | Iterable[str] = (),
        blockers: str | Iterable[str] = (),
        artifacts: str | Iterable[str] = (),
        do_not_redo: str | Iterable[str] = (),
        lane: str = "main",
        source: str | None = None,
        provenance: Provenance | str | None = ...,
        run_id: str | None = None,
    ) -> HandoffReceipt:
        """Leave a baton for the next shift; it takes the place of the lane's former one."""

class AsyncRun:
    @property
    def id(self) -> str: ...
    @property
    def record(self) -> RunRecord: ...
    @property
    def steps(self) -> tuple[Step, ...]: ...
    async def __aenter__(self) -> Self: ...
    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...
    async def brief(self, task: str | None = None, **options: Any) -> Brief:
        """Ask `Memanto.brief` before planning, by default for this task type; note what it shows as delivered."""
    async def delivered(self, *ids: str) -> None:
        """Note memories that were shown to the agent; recorded with the next step."""
    async def end(self, outcome: str = "", *, success: bool = True, conclusion: str = "") -> RunRecord:
        """End the run and leave the line that `recall --type event` finds."""
    async def guard(self, situation: str = "", **options: Any) -> list[Trigger]:
        """Ask `Memanto.guard` about the action at hand, and note what it returns as delivered."""
    async def recall(self, query: str | None = None, **options: Any) -> list[Recollection]:
        """Recall as `Memanto.recall` does, and note what is returned as delivered."""
    async def remember(self, content: str, **fields: Any) -> Receipt:
        """Remember as `Memanto.remember` does, as written by this run."""
    async def step(
        self,
        outcome: str,
        *,
        tool_calls: int | None = None,
        tokens: int | None = None,
        cost: float | None = None,
        failure: RunFailure | str | None = None,
        delivered: Iterable[str] = (),
        used: Iterable[str] = (),
    ) -> Step:
        """Record one finished piece of work as one line; readable when this returns."""
    async def used(self, *ids: str) -> None:
        """Note memories the agent acted on; recorded with the next step, credited at the end if delivered."""

class AsyncScratch:
    @property
    def task(self) -> str: ...
    @property
    def receipt(self) -> Receipt | None: ...
    @property
    def memory(self) -> AsyncMemanto: ...
    async def conclude(
        self,
        text: str,
        *,
        confidence: float | None = None,
        provenance: Provenance | str | None = None,
    ) -> None:
        """Say what comes back; it is stored when the block ends without an exception."""

class AsyncBlock(Generic[_T]):
    async def __aenter__(self) -> _T: ...
    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...

def public_methods(of: type) -> list[str]: ...
