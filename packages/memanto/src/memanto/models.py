"""The project's nouns: memories, drafts, receipts, recollections, and their closed sets and limits.

Plain values without I/O. Everything inside the project passes these around; other shapes (payloads of
an engine, JSON of the command line) are made from them at the edges.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final


class MemoryType(enum.StrEnum):
    """The 13 kinds of memory, in canonical order."""

    INSTRUCTION = "instruction"  #: standing rule, how-to, runbook
    FACT = "fact"  #: verified, objective information
    DECISION = "decision"  #: a choice, with its reason
    GOAL = "goal"  #: an objective or target
    COMMITMENT = "commitment"  #: a promise or obligation
    PREFERENCE = "preference"  #: a like, dislike or style
    RELATIONSHIP = "relationship"  #: ownership or a link between systems, teams, roles
    CONTEXT = "context"  #: the situation at hand; a session handoff
    EVENT = "event"  #: what happened and when; runs
    LEARNING = "learning"  #: a lesson or distilled finding
    OBSERVATION = "observation"  #: a pattern that was noticed
    ARTIFACT = "artifact"  #: a pointer: path, URL, id
    ERROR = "error"  #: a failure, its cause, fix and trigger


class Provenance(enum.StrEnum):
    """How the writer came to know it."""

    EXPLICIT_STATEMENT = "explicit_statement"  #: a person said so
    INFERRED = "inferred"  #: concluded, by a model or a person, without a source
    CORRECTED = "corrected"  #: replaces something that was wrong
    VALIDATED = "validated"  #: checked against the world
    OBSERVED = "observed"  #: seen in a tool's result or a log
    IMPORTED = "imported"  #: brought in from another store


class Status(enum.StrEnum):
    """The state of a version."""

    ACTIVE = "active"  #: believed
    QUARANTINED = "quarantined"  #: not trusted yet; recallable on request only
    SUPERSEDED = "superseded"  #: another memory took its place
    EXPIRED = "expired"  #: no longer believed or needed
    FORGOTTEN = "forgotten"  #: erased; a tombstone without text


MEMORY_GROUPS: Final[Mapping[str, tuple[MemoryType, ...]]] = {
    "episodic": (MemoryType.EVENT,),
    "semantic": (MemoryType.FACT, MemoryType.PREFERENCE, MemoryType.RELATIONSHIP),
    "procedural": (MemoryType.INSTRUCTION,),
    "failures": (MemoryType.ERROR,),
}
"""Which types each kind of memory in the theory of agent memory selects (`recall --memory`)."""

MAX_CONTENT: Final = 10_000  #: characters of one memory's content; longer text is split
MAX_TEXT: Final = 5_000_000  #: characters one call of `remember` may split
MAX_TITLE: Final = 100
MAX_TAGS: Final = 20
MAX_TAG: Final = 64
MAX_SOURCE: Final = 64
MAX_SOURCE_REF: Final = 512
MAX_KEY: Final = 256
MAX_METADATA: Final = 16_384  #: bytes of the metadata's JSON
MAX_REASON: Final = 2_000
MAX_BATCH: Final = 1_000
MAX_LIMIT: Final = 100
MAX_QUERY: Final = 10_000
DEFAULT_LIMIT: Final = 10
DEFAULT_CONFIDENCE: Final = 0.8


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """What a writer hands to `remember`: a memory without identity, version or time of recording.

    Values are checked and normalised by `memanto.memory.validation`; see `docs/reference/limits.md`.
    """

    content: str
    type: MemoryType | None = None
    title: str | None = None
    tags: tuple[str, ...] = ()
    confidence: float | None = None
    provenance: Provenance | None = None
    source: str | None = None
    source_ref: str | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    key: str | None = None
    run_id: str | None = None
    actor: str | None = None
    pinned: bool = False
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """Who decided that a version changed its standing, why and when."""

    actor: str
    action: str
    reason: str = ""
    at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """One version of a memory, as the store believed it at the time asked for.

    Attributes:
        id: UUIDv7 in canonical text form, the same for every version.
        version: 1..n; the highest is the current one.
        recorded_at: From when the store believed this version (aware, UTC, set by the store).
        retired_at: Until when, or `None` while it is the current version. In a point-in-time answer a
            retirement that came later is not shown.
        valid_from: From when it was true in the world, or `None`.
        valid_to: Until when it was true in the world (exclusive), or `None`.
        begins: Start of its truth as the store reckons it: `valid_from`, else when it was recorded if it
            follows another value of its slot, else `None` (since ever).
        type_guessed: The type was classified from the text rather than given.
        parent_id: The memory this one is a part of, when a long text was split.
        part: 1-based number of this part under its parent, or 0.
        parts: Number of parts this memory was split into, or 0.
    """

    id: str
    version: int
    namespace: str
    type: MemoryType
    content: str
    title: str
    recorded_at: datetime
    retired_at: datetime | None = None
    tags: tuple[str, ...] = ()
    confidence: float = DEFAULT_CONFIDENCE
    provenance: Provenance = Provenance.EXPLICIT_STATEMENT
    source: str = "user"
    source_ref: str | None = None
    status: Status = Status.ACTIVE
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    begins: datetime | None = None
    supersedes: tuple[str, ...] = ()
    superseded_by: str | None = None
    decision: Decision | None = None
    run_id: str | None = None
    actor: str | None = None
    key: str | None = None
    pinned: bool = False
    metadata: Mapping[str, Any] = field(default_factory=dict)
    type_guessed: bool = False
    title_given: bool = False
    imported: bool = False
    parent_id: str | None = None
    part: int = 0
    parts: int = 0

    @property
    def is_current(self) -> bool:
        """Whether no later version had retired this one."""
        return self.retired_at is None


@dataclass(frozen=True, slots=True, kw_only=True)
class Redaction:
    """One secret that was removed before anything was stored."""

    field: str
    kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ConflictNote:
    """What a receipt says of another memory that may not go together with the one just written.

    Attributes:
        id: Id of the conflict, for `conflicts`; where the older memory has several open ones already, of the latest.
        other: Id of the other memory.
        kind: `"update"`, `"duplicate"` or `"contradiction"`.
        rule: What found it.
        words: The telling words of the older text, and of the newer.
        cue: The words that make it an update, or `""`.
    """

    id: str
    other: str
    kind: str
    rule: str
    words: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    cue: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """What a write did, made after reading it back.

    Attributes:
        id: The memory's id. A read of this id finds the version when the receipt is returned.
        version: The version now current.
        status: Its status; `quarantined` when the trust gate held it back.
        duplicate: The same text was already current, so nothing was added.
        revived: The same text had been retired and became current again.
        searchable: `"hybrid"` when words and meaning find it, `"lexical"` when only words do.
        type: The type stored, `type_guessed` when it was classified from the text.
        redactions: The secrets that were removed.
        warnings: What the writer should know (an unfilled template, a guessed type, …).
        similar: Ids of current memories that may say the same, nearest first.
        conflicts: Current memories that it may not go together with, as far as rules tell at once.
        part_ids: Ids of the parts when the text was longer than one memory holds.
        durable: `"log"` (survives the process), `"disk"` (flushed before this receipt) or `"server"` (a
            Qdrant server acknowledged it; what that survives is the server's setting).
    """

    id: str
    version: int
    status: Status
    type: MemoryType
    recorded_at: datetime
    type_guessed: bool = False
    duplicate: bool = False
    revived: bool = False
    searchable: str = "hybrid"
    redactions: tuple[Redaction, ...] = ()
    warnings: tuple[str, ...] = ()
    similar: tuple[str, ...] = ()
    conflicts: tuple[ConflictNote, ...] = ()
    part_ids: tuple[str, ...] = ()
    durable: str = "log"


@dataclass(frozen=True, slots=True, kw_only=True)
class Why:
    """Why a recollection ranked where it did; every number that entered its score.

    Attributes:
        dense_rank: 1-based rank by meaning (the last of its group in a tie), or `None` when it was not among
            those candidates.
        dense_score: Cosine similarity in -1..1.
        lexical_rank: 1-based rank by words (BM25), or `None`.
        lexical_score: BM25 score, at least 0.
        lexical_weight: How much the list by words counted beside the one by meaning, 0.25..1; the same for all
            results of one call.
        fused: Reciprocal-rank fusion of the two, before the factors below.
        neighbours: Added to it by strong results of the same run that lie next to this one in time, or 0.
        recency: Factor in (0, 1] from age and the type's half-life.
        confidence: Factor in (0, 1] from the memory's confidence.
        rerank_score: Logit of the cross-encoder, when it was asked.
        notes: Words for a person, for example "newest handoff first".
    """

    dense_rank: int | None = None
    dense_score: float | None = None
    lexical_rank: int | None = None
    lexical_score: float | None = None
    lexical_weight: float = 1.0
    fused: float = 0.0
    neighbours: float = 0.0
    recency: float = 1.0
    confidence: float = 1.0
    rerank_score: float | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Folded:
    """An older statement under the result that shows the newer one.

    Attributes:
        memory: The older statement.
        conflict: Id of the open conflict that ties it to what is shown, for `conflicts`.
    """

    memory: Memory
    conflict: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Recollection:
    """A recalled memory with its score and the reasons for its rank.

    `score` orders results within one call (higher first, of equal ones the newest, then by id); it is not
    comparable between calls. Without a query (`recent`) it is 0.

    Attributes:
        memory: What was found.
        score: See above.
        why: The reasons for its rank.
        folded: Older statements that this one updates, the latest first: open conflicts that nobody decided yet.
        conflicts: Ids of open contradictions that it is part of.
    """

    memory: Memory
    score: float
    why: Why
    folded: tuple[Folded, ...] = ()
    conflicts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """A namespace: the owner of memories that every surface shares."""

    id: str
    description: str = ""
    pattern: str | None = None
    created_at: datetime | None = None
