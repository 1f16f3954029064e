"""Upkeep, as verbs of `Memanto`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, tzinfo
from typing import TYPE_CHECKING, Any, Literal, cast

if TYPE_CHECKING:
    from memanto.embedding.port import Reranker
    from memanto.hygiene.conflict import Conflict
    from memanto.hygiene.detect import Detection, Detector
    from memanto.hygiene.expiry import Application, PolicyKeeper
    from memanto.hygiene.learning import Calibration, Learned
    from memanto.hygiene.policy import Policy
    from memanto.hygiene.resolve import Resolver
    from memanto.hygiene.summary import DailySummary
    from memanto.hygiene.upkeep import UpkeepReport
    from memanto.llm.port import LanguageModel
    from memanto.memory.change import By, Editor
    from memanto.memory.folding import Folder
    from memanto.memory.namespace import Namespace
    from memanto.memory.remember import Judge
    from memanto.models import Memory


class HygieneVerbs:
    """Conflicts, the daily summary, policies, and what keeps them going."""

    if TYPE_CHECKING:  # what `Memanto` brings
        agent: str

        @property
        def clock(self) -> Callable[[], datetime]: ...

        def _namespace(self, name: str | None = None) -> Namespace: ...

        def _editor(self) -> Editor: ...

        def _by(self, reason: str) -> By: ...

        def _get_reranker(self, *, warn: bool = True) -> Reranker | None: ...

        def _get_model(self) -> LanguageModel | None: ...

    # -- conflicts ----------------------------------------------------------------------------------
    def detect_conflicts(
        self,
        *,
        everything: bool = False,
        rerank: bool = True,
        llm: LanguageModel | Callable[[str], str] | Literal["default"] | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> Detection:
        """Compare memories with their neighbours, and record which may not go together.

        Looks at what was recorded since the last run. A run that was interrupted goes on where it ended.

        A language model that is handed in is then asked about every open conflict that none has judged yet, one at a
        time. Its verdict is kept on the conflict as advice. It decides nothing and changes no memory; a conflict of
        which it says that the two go together is set aside, see `conflicts`. Where it fails, takes too long or makes
        no sense, the rules stand and `judging` says so.

        Args:
            everything: Look at all memories again.
            rerank: Ask the cross-encoder, where it is installed, whether a pair is about the same at all.
            llm: A language model, a function from prompt to reply, `"default"` for the configured one, or `None`.
            progress: Called with (done, total) after each batch of 100, then after each pair a model was asked about.

        Returns:
            What was examined, and the open conflicts found. Nothing is decided and nothing is changed.

        Raises:
            NotFoundError: The agent does not exist.
            ConfigurationError: A language model is configured by half, or not allowed offline.
        """
        from memanto.llm.port import as_model

        model = self._get_model() if llm == "default" else None if llm is None else as_model(llm)
        found = self._detector(rerank=rerank).run(everything=everything, progress=progress)
        return found if llm is None else self._judged(found, model, progress)

    def _detector(self, *, rerank: bool) -> Detector:
        from memanto.hygiene.detect import Detector

        reranker = self._get_reranker(warn=False) if rerank else None
        return Detector(self._namespace(), reranker=reranker, actor=self._by("").actor, now=self.clock())

    def _judged(
        self, found: Detection, model: LanguageModel | None, progress: Callable[[int, int], None] | None
    ) -> Detection:
        """Return a detection after a language model was asked about the open conflicts."""
        from dataclasses import replace

        from memanto.hygiene.journal import Journal
        from memanto.hygiene.model_judge import UNSET, ModelJudge

        if model is None:
            return replace(found, judging=UNSET)
        judge = ModelJudge(Journal(self._namespace()), model, actor=self._by("").actor)
        judging, judged = judge.run(progress=progress)
        conflicts = [judged.get(one.id, one) for one in found.conflicts]
        return replace(found, judging=judging, conflicts=tuple(one for one in conflicts if not one.is_set_aside))

    def conflicts(self, *, resolved: bool = False, set_aside: bool = False) -> list[Conflict]:
        """Return the open conflicts, or those that were decided, oldest first.

        Args:
            resolved: Those that were decided.
            set_aside: Among the open ones also those of which a language model said that the two go together. They
                can be decided like any other, and `undo_conflict` takes the judgement back.

        Raises:
            NotFoundError: The agent does not exist.
        """
        return self._resolver().all(is_open=not resolved, set_aside=set_aside)

    def conflict(self, id: str) -> tuple[Conflict, Memory, Memory]:  # noqa: A002
        """Return a conflict and the current versions of both memories, the older first.

        Raises:
            NotFoundError: No conflict has this id.
            InvalidInputError: The prefix fits several.
        """
        resolver = self._resolver()
        found = resolver.get(id)
        return found, *resolver.memories(found)

    def resolve_conflict(
        self,
        id: str,  # noqa: A002
        action: str,
        *,
        text: str | None = None,
        reason: str = "",
    ) -> Conflict:
        """Decide a conflict. The loser stays in history as `superseded` or `expired`; `undo_conflict` takes it back.

        Args:
            id: The conflict's id or a unique prefix.
            action: `keep-old`, `keep-new`, `keep-both`, `merge`, `replace`, `expire-old` or `expire-new`.
            text: What holds instead, for `merge` and `replace`: one memory says it from now on.
            reason: Why, for the history.

        Raises:
            NotFoundError: No conflict has this id.
            InvalidInputError: It is decided already, or action and text do not fit.
            VersionConflictError: Somebody else changed a memory meanwhile.
        """
        from memanto.hygiene.conflict import check_action

        resolver = self._resolver()
        decided = resolver.resolve(resolver.get(id), check_action(action), self._by(reason), text=text)
        if resolver.may_wait(decided):  # pairs that had no room come up now
            self._detector(rerank=True).look_again(decided.older)
        return decided

    def undo_conflict(self, id: str, *, reason: str = "") -> Conflict:  # noqa: A002
        """Take a decision back: the memories say and stand again as before, and the conflict is open again.

        The decision and its undoing stay in history. Of a conflict that is open it takes back what a language model
        said, so that one that was set aside is shown again.

        Raises:
            NotFoundError: No conflict has this id.
            InvalidInputError: There is nothing to take back, or a memory has changed since.
        """
        resolver = self._resolver()
        return resolver.undo(resolver.get(id), self._by(reason))

    # -- the day ------------------------------------------------------------------------------------
    def daily_summary(
        self,
        day: date | None = None,
        *,
        since: datetime | None = None,
        until: datetime | None = None,
        run_id: str | None = None,
        zone: tzinfo = UTC,
        budget_tokens: int | None = None,
        llm: LanguageModel | Callable[[str], str] | Literal["default"] | None = None,
    ) -> DailySummary:
        """Return what a day left in memory: one line per memory by type, and what in it cannot both hold.

        As it was known at the end of the day, so that asking again gives the same. Nothing is stored.

        Args:
            day: The day in `zone`; today by default.
            since: Start of another span than a day (aware).
            until: Its end, excluded; now by default.
            run_id: Only what this run wrote, and its steps; of any day unless one is given.
            zone: Where the day begins at midnight.
            budget_tokens: Bound on the lines. What does not fit is counted per heading.
            llm: Adds a few sentences in which every claim cites an item; see `answer`.

        Raises:
            InvalidInputError: Both a day and a span are given, or the span is empty.
            NotFoundError: The agent does not exist.
        """
        from memanto.hygiene.digest import with_digest
        from memanto.hygiene.spans import span_of
        from memanto.hygiene.summary import summarise
        from memanto.llm.port import as_model
        from memanto.memory.request import check_budget
        from memanto.memory.versions import VersionLog

        now, namespace = self.clock(), self._namespace()
        first, last = span_of(day, since, until, now=now, zone=zone, of_a_run=run_id is not None)
        budget = check_budget(budget_tokens)
        summary = summarise(namespace, first, last, now=now, run_id=run_id, budget_tokens=budget)
        model = self._get_model() if llm == "default" else None if llm is None else as_model(llm)
        return summary if model is None else with_digest(summary, VersionLog(namespace), model)

    # -- letting go ---------------------------------------------------------------------------------
    def policy(self) -> Policy:
        """Return the agent's forgetting policy; the default preset while none was chosen."""
        return self._policy_keeper().policy()

    def set_policy(self, policy: Policy | str, *, reason: str = "") -> Policy:
        """Choose the agent's forgetting policy: a preset's name, or a policy.

        Nothing expires before `apply_policy`.

        Raises:
            InvalidInputError: There is no such preset, or a number is out of its range.
        """
        from memanto.hygiene.policy import checked, preset

        chosen = preset(policy) if isinstance(policy, str) else policy
        return self._policy_keeper().choose(checked(chosen), self._by(reason))

    def apply_policy(self, *, dry_run: bool = False, yes: bool = False) -> Application:
        """Let expire what the policy says. Each becomes `expired` with the reason; `restore` brings it back.

        Args:
            dry_run: Only say what would expire and why.
            yes: Also when more than the policy's share of the live memories would expire.

        Raises:
            InvalidInputError: More would expire than one run may; nothing was changed.
        """
        return self._policy_keeper().apply(self._by(""), now=self.clock(), dry_run=dry_run, yes=yes)

    def learn(self) -> list[Learned]:
        """Fold what runs and conflicts say of memories into their confidence; at most one version a day each."""
        from memanto.hygiene.learning import fold

        verbs = cast("Any", self)
        return fold(verbs, self._namespace(), verbs.runs(), self.conflicts(), now=self.clock())

    def calibration(self) -> Calibration:
        """Compare the confidence memories had when they were used with what became of it."""
        from memanto.hygiene.learning import calibrate, judged_ids
        from memanto.memory.versions import VersionLog

        namespace = self._namespace()
        return calibrate(VersionLog(namespace), cast("Any", self).runs(), judged_ids(namespace))

    def upkeep(
        self,
        *,
        since: date | None = None,
        zone: tzinfo = UTC,
        progress: Callable[[int, int], None] | None = None,
    ) -> UpkeepReport:
        """Do what `schedule run` does for one agent: summary, detection, learning, policy, doctor.

        A step that fails is reported, and the others are done all the same.

        Args:
            since: The day of the last pass; its summary and those of the days since are made.
            zone: Where days begin at midnight.
            progress: Called with (done, total) while conflicts are looked for.
        """
        from memanto.hygiene.upkeep import keep_up

        return keep_up(cast("Any", self), since=since, zone=zone, now=self.clock(), progress=progress)

    def _policy_keeper(self) -> PolicyKeeper:
        from memanto.hygiene.expiry import PolicyKeeper

        return PolicyKeeper(self._namespace(), self._editor())

    # -- parts --------------------------------------------------------------------------------------
    def _resolver(self) -> Resolver:
        from memanto.hygiene.journal import Journal
        from memanto.hygiene.resolve import Resolver

        return Resolver(Journal(self._namespace()), self._editor())

    def _write_judge(self, namespace: Namespace) -> Judge:
        """Return what compares a memory that is written with its neighbours."""
        from memanto.hygiene.at_write import WriteTimeJudge

        return WriteTimeJudge(namespace)

    def _folder(self, namespaces: Sequence[Namespace]) -> Folder:
        """Return what shows the newer statement of each open update in a recall."""
        from memanto.hygiene.folding import OpenConflictFolder

        return OpenConflictFolder(namespaces)

    def _conflict_records(self, memory_ids: Sequence[str]) -> list[str]:
        """Return the ids of the records about these memories, which are forgotten with them."""
        from memanto.hygiene.conflict import of
        from memanto.hygiene.journal import Journal

        return [record.id for record in Journal(self._namespace()).find(map(of, memory_ids))]
