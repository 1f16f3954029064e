"""`Memanto`: the verbs of memory for one agent."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self

from memanto.errors import InvalidInputError, MemantoError, NotFoundError
from memanto.hygiene.verbs import HygieneVerbs
from memanto.ids import check_agent_id
from memanto.loop.answer_verbs import AnswerVerbs
from memanto.loop.plan_verbs import PlanVerbs
from memanto.loop.run_verbs import RunVerbs
from memanto.model_choices import ModelChoices
from memanto.models import (
    DEFAULT_LIMIT,
    Agent,
    Draft,
    Memory,
    MemoryType,
    Provenance,
    Receipt,
    Recollection,
    Status,
)
from memanto.opened import Opened
from memanto.times import utc_now

if TYPE_CHECKING:
    from memanto.embedding.port import Embedder, Reranker
    from memanto.engine.port import Engine
    from memanto.llm.port import LanguageModel
    from memanto.maintenance import Checkup, StoreStatus
    from memanto.memory.change import By, Editor
    from memanto.memory.namespace import Namespace
    from memanto.memory.prepare import Defaults
    from memanto.memory.reindex import Reindexed
    from memanto.memory.remember import Writer
    from memanto.memory.spaces import Space
    from memanto.memory.versions import VersionLog
    from memanto.portability.importing import ImportReport
    from memanto.portability.salvage import Salvaged
    from memanto.stores import Store


class Memanto(ModelChoices, AnswerVerbs, PlanVerbs, RunVerbs, HygieneVerbs):
    """The memory of one agent.

    Use it as a context manager, or call `open` and `close`. Every method may be called from any thread.
    What a write returns is durable and readable. Methods that take an id accept a unique prefix of it.

    Args:
        agent: The agent id, the namespace every surface shares. It is created by the first write.
        store: `Embedded(path)`, `InMemory()` or `Server(url)`. Default: what the user configured, which is
            the embedded store in `$MEMANTO_HOME` unless they chose a server.
        embedder: An `Embedder`; `None` for words only; `"default"` for the configured model.
        reranker: A `Reranker`, or `"default"` for the offline cross-encoder, loaded on first use.
        llm: A language model or a function from prompt to reply, for `answer`; `"default"`: the configured one.
        source: Who writes, where a memory does not say so itself.
        provenance: Of memories that do not say so themselves.
        actor: The person or process behind the writer.
        run_id: The run that memories of this handle belong to.
        create: Create the agent at the first write; `False` makes that a `NotFoundError`.
        clock: Tells the time (aware); for tests.
    """

    def __init__(
        self,
        agent: str,
        *,
        store: Store | None = None,
        embedder: Embedder | Literal["default"] | None = "default",
        reranker: Reranker | Literal["default"] | None = "default",
        llm: LanguageModel | Callable[[str], str] | Literal["default"] | None = "default",
        source: str = "user",
        provenance: Provenance | str = Provenance.EXPLICIT_STATEMENT,
        actor: str | None = None,
        run_id: str | None = None,
        create: bool = True,
        clock: Callable[[], datetime] = utc_now,
    ) -> None:
        super().__init__(embedder, reranker, llm)
        self.agent = check_agent_id(agent)
        self._connection: Opened[Engine] = Opened(store, lambda chosen: chosen.connect(clock))
        self._source = source
        self._provenance = provenance
        self._actor = actor
        self._run_id = run_id
        self._create = create
        self._clock = clock

    @property
    def clock(self) -> Callable[[], datetime]:
        """Tells the time, as it was given."""
        return self._clock

    # -- life ---------------------------------------------------------------------------------------
    def open(self) -> Self:
        """Connect to the store. Calling it again does nothing."""
        self._connection.get()
        return self

    def close(self) -> None:
        """Flush and let go of the store. Calling it again does nothing."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self.open()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # -- writing ------------------------------------------------------------------------------------
    def remember(
        self,
        content: str | Draft,
        *,
        type: MemoryType | str | None = None,  # noqa: A002 - the word users know it by
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
        """Store one memory and return a receipt made after reading it back.

        The same text while it is current is the same memory. A value under `key` is the next version of the
        memory that has the key. Secrets are redacted first. A text of more than 10,000 characters is split
        under a parent.

        Args:
            content: The text, or a complete `Draft` (then no other argument applies).
            type: One of the 13 types; guessed from the text when missing.
            title: At most 100 characters; the text's first words when missing.
            tags: At most 20 of 1..64 characters.
            confidence: 0..1.
            provenance: How it is known. An inferred fact is quarantined.
            source: Who says so: 1..64 of `[A-Za-z0-9._-]`.
            source_ref: Where it comes from, at most 512 characters.
            valid_from: Aware time from when it is true in the world.
            valid_to: Aware time until when it is true, exclusive.
            key: Slot, at most 256 characters.
            run_id: The run that writes it.
            actor: The person or process behind the source.
            pinned: Keep it in front of every brief.
            metadata: JSON of at most 16,384 bytes.
            dry_run: Check everything and store nothing.

        Raises:
            InvalidInputError: A value breaks its limit; nothing is stored.
            NotFoundError: The agent does not exist and `create` is off.
            VersionConflictError: Others kept changing the same memory.
        """
        if isinstance(content, Draft):
            draft = content
        else:
            from memanto.memory.validation import check_tags, coerce_provenance, coerce_type

            draft = Draft(
                content=content,
                type=None if type is None else coerce_type(type),
                title=title,
                tags=check_tags(tags),
                confidence=confidence,
                provenance=None if provenance is None else coerce_provenance(provenance),
                source=source,
                source_ref=source_ref,
                valid_from=valid_from,
                valid_to=valid_to,
                key=key,
                run_id=run_id,
                actor=actor,
                pinned=pinned,
                metadata=metadata or {},
            )
        return self.remember_many([draft], dry_run=dry_run)[0]

    def remember_many(self, drafts: Iterable[Draft], *, dry_run: bool = False) -> list[Receipt]:
        """Store up to 1,000 memories in order; all are checked before the first is stored.

        Raises:
            InvalidInputError: One breaks a limit; the message says which, and nothing is stored.
        """
        items = list(drafts)
        wrong = [type(item).__name__ for item in items if not isinstance(item, Draft)]
        if wrong:
            raise InvalidInputError(f"{wrong[0]} is not a Draft", hint="pass Draft(content=…) for each memory")
        return self._write(items, dry_run=dry_run)

    def _write(self, drafts: Sequence[Draft], *, dry_run: bool) -> list[Receipt]:
        self._ensure_agent()
        writer, defaults = self._writer(), self._defaults()
        act = writer.preview if dry_run else writer.remember
        return act(drafts, defaults, now=self._clock())

    def edit(self, id: str, *, reason: str = "", expected_version: int | None = None, **changes: Any) -> Receipt:  # noqa: A002
        """Append a version with other contents.

        Args:
            id: Id or unique prefix.
            reason: Why, for the history.
            expected_version: The version the change was made on.
            **changes: `content`, `type`, `title`, `tags`, `confidence`, `provenance`, `source`,
                `source_ref`, `valid_from`, `valid_to` or `metadata`.

        Raises:
            VersionConflictError: Somebody else was faster.
        """
        return self._editor().edit(self._id(id), changes, self._by(reason), expected_version=expected_version)

    def verify(self, id: str, *, reason: str = "", confidence: float | None = None) -> Receipt:  # noqa: A002
        """Record that a memory was checked; a quarantined one is believed from now on."""
        from memanto.memory.validation import check_confidence

        sure = None if confidence is None else check_confidence(confidence)
        return self._editor().verify(self._id(id), self._by(reason), confidence=sure)

    def quarantine(self, id: str, *, reason: str = "") -> Receipt:  # noqa: A002
        """Demote a memory that proved wrong: recallable on request only."""
        return self._editor().quarantine(self._id(id), self._by(reason))

    def expire(self, id: str, *, reason: str = "") -> Receipt:  # noqa: A002
        """Retire a memory that is no longer true or needed; `restore` brings it back."""
        return self._editor().expire(self._id(id), self._by(reason))

    def restore(self, id: str, *, reason: str = "") -> Receipt:  # noqa: A002
        """Bring back what was expired, superseded or quarantined."""
        return self._editor().restore(self._id(id), self._by(reason))

    def supersede(self, old: str, new: str, *, reason: str = "") -> Receipt:
        """Record that memory `new` took the place of memory `old`, which stays in history."""
        return self._editor().supersede(self._id(old), self._id(new), self._by(reason))

    def pin(self, id: str) -> Receipt:  # noqa: A002
        """Keep a memory in front of every brief."""
        return self._editor().pin(self._id(id), self._by(""), pinned=True)

    def unpin(self, id: str) -> Receipt:  # noqa: A002
        """Take back `pin`."""
        return self._editor().pin(self._id(id), self._by(""), pinned=False)

    def forget(self, *ids: str, reason: str = "") -> list[Receipt]:
        """Erase memories with all their versions; tombstones without text remain.

        Embedded: no byte of their text is left in the store when this returns. On a server the points are
        deleted; what its files hold until it compacts is out of reach.
        """
        if not ids:
            raise InvalidInputError("forget needs at least one id")
        named = [self._id(memory_id) for memory_id in ids]
        return self._editor().forget([*named, *self._conflict_records(named)], self._by(reason))[: len(set(named))]

    # -- reading ------------------------------------------------------------------------------------
    def recall(
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
        limit: int = DEFAULT_LIMIT,
        rerank: bool = False,
        budget_tokens: int | None = None,
        words_only: bool = False,
    ) -> list[Recollection]:
        """Return the best memories for a query, or the newest when there is no query.

        Every filter combines with every other and is applied before ranking. Only what is active, current
        and still true is returned, unless `status`, `everything`, `as_of` or `valid_at` ask otherwise.

        Args:
            query: What to look for; words and meanings count.
            types: Any of these types.
            memory: `"episodic"`, `"semantic"`, `"procedural"` or `"failures"`: the types of that kind.
            tags: All of these tags.
            any_tags: At least one of these tags.
            status: Any of these statuses instead of `active`.
            min_confidence: 0..1.
            min_similarity: Cosine in -1..1 between query and memory.
            since: Event time (`valid_from`, else when recorded) from here on.
            until: Event time up to here.
            changed_since: Recorded from here on.
            as_of: What was believed then. No later write changes the answer.
            valid_at: What was true in the world then.
            source: Written by this source.
            run_id: Written in this run.
            key: In this slot.
            pinned: Only what is pinned.
            everything: Also what is retired, quarantined or no longer true, and nothing folded.
            agents: Search these agents instead of this one.
            limit: 1..100.
            rerank: Let the cross-encoder order the best candidates (about 0.3 s more).
            budget_tokens: Leave out results whose text would not fit.
            words_only: Search by words alone, so that no model is loaded.

        Returns:
            At most `limit` recollections, best first; empty when nothing matches.

        Raises:
            InvalidInputError: A value is out of its range.
            NotFoundError: An agent does not exist.
            EmbedderMismatchError: The agent's vectors come from another embedder.
        """
        from memanto.memory import recall as reading
        from memanto.memory.request import check_budget, check_similarity, recall_filter
        from memanto.memory.validation import check_list

        request = reading.Request(
            query=query,
            filter=recall_filter(
                types=types,
                memory=memory,
                tags=tags,
                any_tags=any_tags,
                status=status,
                min_confidence=min_confidence,
                source=source,
                run_id=run_id,
                key=key,
                pinned=pinned,
                everything=everything,
                since=since,
                until=until,
                changed_since=changed_since,
                as_of=as_of,
                valid_at=valid_at,
            ),
            limit=limit,
            min_similarity=check_similarity(min_similarity),
            budget_tokens=check_budget(budget_tokens),
            reranker=self._get_reranker() if rerank and query is not None else None,
            words_only=words_only,
        )
        names = list(dict.fromkeys(check_list("agents", agents))) or [self.agent]
        sources = [(namespace, self._space(namespace)) for namespace in map(self._namespace, names)]
        folder = self._folder([namespace for namespace, _ in sources])
        return reading.Reader(sources, folder=folder).recall(request, now=self._clock())

    def show(self, id: str) -> Memory:  # noqa: A002
        """Return the current version of a memory, whatever its status; a split text is put together again.

        Raises:
            NotFoundError: No memory has this id.
            InvalidInputError: The prefix fits several.
        """
        from dataclasses import replace

        from memanto.memory.change import full_text

        log = self._log()
        head = log.head(self._id(id))
        return (
            replace(head, content=full_text(log, head)) if head.parts and head.status is not Status.FORGOTTEN else head
        )

    def history(self, id: str) -> list[Memory]:  # noqa: A002
        """Return every version of a memory, oldest first, each with who decided it and why."""
        return self._log().history(self._id(id))

    # -- carrying -----------------------------------------------------------------------------------
    def export(self) -> Iterator[str]:
        """Yield the agent's memories as JSON lines: all versions, lossless."""
        from memanto.portability.jsonl import export_lines

        return export_lines(self._namespace(), now=self._clock())

    def salvage(self) -> Salvaged:
        """Return an export of what can be read when the agent's files are damaged, and what is missing.

        Changes nothing.

        Raises:
            NotFoundError: There is no such agent.
            StoreDamagedError: Nothing is left.
            BackendError: The files belong to a server.
        """
        from memanto.portability.salvage import salvage

        namespace = self._namespace()
        return salvage(namespace.engine, namespace.name, now=self._clock())

    def import_(
        self, lines: Iterable[str], *, dry_run: bool = False, progress: Callable[[int, int], None] | None = None
    ) -> ImportReport:
        """Add the versions of an export that are not there yet; running it again changes nothing."""
        from memanto.portability.importing import import_lines

        self._ensure_agent()
        namespace = self._namespace()
        space = self._space(namespace)
        return import_lines(lines, namespace, space, now=self._clock(), dry_run=dry_run, progress=progress)

    # -- upkeep -------------------------------------------------------------------------------------
    def reindex(
        self, embedder: Embedder | None = None, *, progress: Callable[[int, int], None] | None = None
    ) -> Reindexed:
        """Search vectors of another embedder from now on (default: the one in use), and keep the old ones.

        Can be interrupted and run again. Reindexing to the former embedder goes back.
        """
        from memanto.memory.reindex import reindex

        chosen = embedder if embedder is not None else self._get_embedder()
        if chosen is None:
            raise InvalidInputError("there is no embedder to reindex with", hint=self._lexical_hint())
        return reindex(self._namespace(), chosen, progress=progress)

    def optimize(self, *, progress: Callable[[str], None] | None = None) -> bool:
        """Build graph indexes and reclaim space; returns whether anything changed. Worth it from 100,000 on."""
        namespace = self._namespace()
        return namespace.engine.optimize(namespace.name, progress)

    def status(self) -> StoreStatus:
        """Return figures about this agent's memories and the store."""
        from memanto.maintenance import status

        return status(self._namespace())

    def doctor(self, *, repair: bool = False) -> list[Checkup]:
        """Check the store for real: write and read a canary, lock, disk, model, lineage.

        Args:
            repair: Also mend what can be mended without a loss.

        Returns:
            What was looked at. A store that cannot be reached is one check that failed, beside those that need none.
        """
        from memanto.maintenance import examine, unreachable

        choice = (self._get_embedder(), self._lexical_hint())
        try:
            engine = self._opened()
        except MemantoError as error:
            return unreachable(error, choice)
        if not self._create:
            self._namespace()
        return examine(engine, self.agent, choice, now=self._clock(), repair=repair)

    # -- agents -------------------------------------------------------------------------------------
    def agents(self) -> list[Agent]:
        """Return all agents of the store, by id."""
        engine = self._opened()
        return [self._namespace(name).described() for name in engine.namespaces()]

    def create_agent(self, *, description: str = "", pattern: str | None = None) -> bool:
        """Create this agent; `False` when it exists already (nothing is changed then)."""
        from memanto.memory.redaction import redact
        from memanto.memory.validation import check_description

        said = redact(check_description(description))[0]
        agent = Agent(id=self.agent, description=said, pattern=pattern, created_at=self._clock())
        return self._bare_namespace().create(agent)

    def delete_agent(self) -> None:
        """Remove this agent with all its memories and the checkpoints of its graphs, for good.

        Raises:
            NotFoundError: It has neither.
        """
        engine = self._opened()
        with closing(Opened(self._connection.store, lambda chosen: chosen.records(self._clock))) as connection:
            records = connection.get()
            kept = self.agent in records.namespaces()
            namespace = self._bare_namespace() if kept else self._namespace()
            if engine.exists(namespace.name):
                engine.drop(namespace.name)
            records.drop(namespace.name)

    # -- parts --------------------------------------------------------------------------------------
    def _opened(self) -> Engine:
        return self._connection.get()

    def _bare_namespace(self, name: str | None = None) -> Namespace:
        from memanto.memory.namespace import Namespace

        return Namespace(self._opened(), self.agent if name is None else check_agent_id(name))

    def _namespace(self, name: str | None = None) -> Namespace:
        namespace = self._bare_namespace(name)
        if not namespace.engine.exists(namespace.name):
            from difflib import get_close_matches

            near = get_close_matches(namespace.name, namespace.engine.namespaces(), n=1)
            raise NotFoundError(
                f"no agent named {namespace.name!r}" + (f"; did you mean {near[0]!r}?" if near else ""),
                hint=f"`memanto agent create {namespace.name}` makes it; `memanto agent list` shows those there are",
            )
        return namespace

    def _ensure_agent(self) -> None:
        if self._create and not self._opened().exists(self.agent):
            self.create_agent()

    def _scratch_memory(self) -> Memanto:
        """Return a throw-away memory apart from this one, with the same models, writer and clock."""
        from memanto.stores import InMemory

        return Memanto(
            self.agent,
            store=InMemory(),
            embedder=self._embedder_choice,
            reranker=self._reranker_choice,
            source=self._source,
            provenance=self._provenance,
            actor=self._actor,
            clock=self._clock,
        )

    def _id(self, prefix: str) -> str:
        from memanto.memory.validation import check_id_prefix

        return self._log().resolve(check_id_prefix(prefix))

    def _log(self) -> VersionLog:
        from memanto.memory.versions import VersionLog

        return VersionLog(self._namespace())

    def _space(self, namespace: Namespace) -> Space:
        from memanto.memory.spaces import Space

        return Space(namespace, self._get_embedder)

    def _durable(self) -> str:
        return self._connection.store.durable

    def _writer(self) -> Writer:
        from memanto.memory.remember import Writer

        namespace = self._namespace()
        judge = self._write_judge(namespace)
        return Writer(namespace, self._space(namespace), durable=self._durable(), judge=judge)

    def _editor(self) -> Editor:
        from memanto.memory.change import Editor

        namespace = self._namespace()
        return Editor(namespace, self._space(namespace), durable=self._durable())

    def _defaults(self) -> Defaults:
        from memanto.memory.prepare import Defaults
        from memanto.memory.redaction import redact_source
        from memanto.memory.validation import check_source, coerce_provenance

        return Defaults(
            source=redact_source(check_source(self._source))[0],
            provenance=coerce_provenance(self._provenance),
            actor=self._actor,
            run_id=self._run_id,
        )

    def _by(self, reason: str) -> By:
        from memanto.memory.change import By
        from memanto.memory.redaction import redact
        from memanto.memory.validation import check_reason

        return By(actor=redact(self._actor or self._source)[0], reason=redact(check_reason(reason))[0])
