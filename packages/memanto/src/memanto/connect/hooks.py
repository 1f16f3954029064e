"""What coding tools run at their own events: `memanto hook EVENT`, with the event as JSON on standard input.

A hook must never be in the way. It loads no model, gives itself up after a few seconds, and whatever goes wrong it says
on standard error and exits with 0, so that the tool goes on as if it were not there.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from memanto.connect.told import Told
from memanto.errors import InvalidInputError, MemantoError

if TYPE_CHECKING:
    from memanto.client import Memanto
    from memanto.loop.guard import Trigger
    from memanto.models import Memory

DEADLINE: Final = 6.0
"""Seconds after which a hook gives itself up; tools give it ten."""
_LOCK_WAIT: Final = 3.0
_LONGEST: Final = 500
"""Characters of each argument of a tool that `guard` looks at: the text of a whole file would match anything."""
_FAILURES: Final = 5
EVENTS: Final = ("session-start", "pre-tool-use", "pre-compact", "session-end")


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One run of a hook.

    Attributes:
        event: One of `EVENTS`.
        client: The tool that runs it.
        agent: Whose memory; what is in effect in the tool's folder when missing.
        strict: Whether a confirmed failure stops the tool call each time.
        given: What the tool said of the event.
    """

    event: str
    client: str
    agent: str | None = None
    strict: bool = False
    given: Mapping[str, Any]

    @property
    def session(self) -> str:
        """The tool's id of the session, or `""`."""
        return str(self.given.get("session_id") or self.given.get("conversation_id") or "")

    @property
    def folder(self) -> Path | None:
        """The folder the tool works in, or `None` when it does not say."""
        roots = self.given.get("workspace_roots")
        named = self.given.get("cwd") or (roots[0] if isinstance(roots, list) and roots else None)
        return Path(named) if isinstance(named, str) and named else None


def main(arguments: Sequence[str], environ: Mapping[str, str]) -> int:
    """Run a hook and return 0, whatever happens; 2 only for arguments that name no hook.

    Args:
        arguments: Those behind `memanto hook`.
        environ: The environment.
    """
    try:
        event, options = _parsed(arguments)
    except InvalidInputError as error:
        sys.stderr.write(f"error[{error.code}]: {error.message}\n  {error.hint}\n")
        return error.exit_code
    answer: list[str] = []
    worker = threading.Thread(target=lambda: _answer(event, options, environ, answer), daemon=True)
    worker.start()
    worker.join(DEADLINE)
    if worker.is_alive():
        _complain(f"the hook gave itself up after {DEADLINE:g} s")
        os._exit(0)  # the thread may hold a lock that an orderly end would wait for; the system frees it
    try:
        for text in answer:  # JSON in ASCII, whatever the encoding is
            sys.stdout.write(f"{text}\n")
        sys.stdout.flush()
    except (OSError, ValueError, AttributeError) as error:  # the tool has closed its end, or never opened it
        _complain(f"hook {event} was not heard: {error}")
        os._exit(0)  # an orderly end would try to write it again, and fail
    return 0


def _complain(text: str) -> None:
    with suppress(OSError, ValueError, AttributeError):
        sys.stderr.write(f"memanto: {text}\n")
        sys.stderr.flush()


def _parsed(arguments: Sequence[str]) -> tuple[str, dict[str, Any]]:
    rest = list(arguments)
    options: dict[str, Any] = {"client": "unknown", "strict": False, "agent": None}
    event = ""
    while rest:
        word = rest.pop(0)
        if word == "--strict":
            options["strict"] = True
        elif word in {"--client", "--agent"} and rest:
            options[word.removeprefix("--")] = rest.pop(0)
        elif not event and word in EVENTS:
            event = word
        else:
            raise InvalidInputError(f"unexpected {word!r}", hint=f"memanto hook {'|'.join(EVENTS)} --client NAME")
    if not event:
        raise InvalidInputError("no event is named", hint=f"one of {', '.join(EVENTS)}")
    return event, options


def _answer(event: str, options: Mapping[str, Any], environ: Mapping[str, str], answer: list[str]) -> None:
    try:
        raw = b"" if sys.stdin is None or sys.stdin.isatty() else sys.stdin.buffer.read(10_000_000)
        given = json.loads(raw.decode("utf-8", "replace") or "{}")
        call = Call(event=event, given=given if isinstance(given, dict) else {}, **options)
        text = answered(call, environ)
        if text:
            answer.append(text)
    except Exception as error:
        # The edge of the process: a hook that fails must leave the tool as it would be without it.
        if environ.get("MEMANTO_DEBUG") == "1":
            raise
        shown = str(error) if isinstance(error, MemantoError) else f"{type(error).__name__}: {error}"
        _complain(f"hook {event} did nothing: {shown}")


def answered(call: Call, environ: Mapping[str, str]) -> str:
    """Return what the hook tells the tool, in the tool's own form; `""` for nothing.

    Raises:
        MemantoError: The memory cannot be read or written.
    """
    from memanto.agents import resolve_agent
    from memanto.config import resolve_home

    folder = call.folder or Path.cwd()
    home = resolve_home(environ, Path.cwd())[0]
    agent = resolve_agent(call.agent, environ, folder, home)[0]
    told = Told(home / "hooks", call.client, call.session)
    with _memory(agent, call.client) as memory:
        match call.event:
            case "session-start":
                told.prune()
                return _in_form(call, started(memory))
            case "pre-tool-use":
                return _guarded(call, memory, told)
            case _:
                told.forget()
                _left(call, memory, agent)
                return ""


def _memory(agent: str, client: str, **options: Any) -> Memanto:
    """Return the memory without models, and with little patience for other processes."""
    from memanto.client import Memanto
    from memanto.composition import configured_store
    from memanto.stores import Embedded

    store = configured_store()
    if isinstance(store, Embedded):
        store = replace(store, lock_timeout=_LOCK_WAIT)
    chosen: dict[str, Any] = {"embedder": None, "reranker": None, "llm": None, **options}
    return Memanto(agent, store=store, source=client.replace("-", "_"), create=False, **chosen)


# -- the beginning of a session ---------------------------------------------------------------------
def started(memory: Memanto) -> str:
    """Return what a session should begin with: pins, the handoff that waits, a brief and failures; fenced as data."""
    from memanto.loop.fence import NOTICE, fence_one
    from memanto.loop.trust import informs
    from memanto.models import MemoryType

    brief = memory.brief(None, words_only=True)
    waiting = [one for one in memory.show_handoff() if one.state == "offered" and one.confirmed][:1]
    shown = {one.id: fence_one(one) for one in brief.pins.memories}
    shown |= {one.memory.id: fence_one(one.memory, text=one.baton.text()) for one in waiting}
    shown |= {one.memory.id: fence_one(one.memory, text=one.text) for one in brief.bullets}
    failures: list[Memory] = [hit.memory for hit in memory.recall(types=[MemoryType.ERROR], limit=_FAILURES)]
    shown |= {one.id: fence_one(one) for one in failures if informs(one) and one.id not in shown}
    if not shown:
        return ""
    lead = (
        f"What memory holds for this project (agent {memory.agent}). Ask it for a brief on your task before you plan."
    )
    if waiting:
        lead += " A handoff waits: take it with the handoff tool, acknowledge it, and go on from there."
    return "\n".join([lead, NOTICE, *shown.values()])


def _in_form(call: Call, text: str) -> str:
    if not text:
        return ""
    if call.client == "cursor":
        return json.dumps({"additional_context": text})
    said = {"hookEventName": "SessionStart", "additionalContext": text}
    return json.dumps({"hookSpecificOutput": said})


# -- before a tool call -----------------------------------------------------------------------------
def _guarded(call: Call, memory: Memanto, told: Told) -> str:
    name, given = str(call.given.get("tool_name", "")), call.given.get("tool_input")
    if "memanto" in name or not (name or given):
        return ""
    shown = {key: _cut(value) for key, value in given.items()} if isinstance(given, dict) else _cut(given)
    triggers = memory.guard(tool=name, args=shown)
    stops = [one for one in triggers if one.confirmed]
    if call.strict and stops:
        return _refused(call, _warning(stops, "Memory stops this call. Take another way, or ask the user."))
    new = told.new(triggers, key=lambda one: f"{one.memory.id}:{one.when}")
    stops = [one for one in new if one.confirmed]
    if call.client != "cursor":
        said = {"hookEventName": "PreToolUse", "additionalContext": _warning(new, "Before you go on:")}
        return json.dumps({"hookSpecificOutput": said}) if new else ""
    # Cursor hands text to the model only with a refusal, so the call is refused once.
    again = "Memory has something on this call. If it does not apply, or you have heeded it, call again."
    return _refused(call, _warning(stops, again)) if stops else ""


def _cut(value: Any) -> Any:
    return value[:_LONGEST] if isinstance(value, str) else value


def _warning(triggers: Sequence[Trigger], lead: str) -> str:
    from memanto.loop.fence import NOTICE, fence_one

    lines = [lead, NOTICE]
    for one in triggers:
        parts = (("When", one.when), ("Do", one.do), ("Because", one.cause))
        text = "\n".join(f"{label}: {value}" for label, value in parts if value)
        doubt = "" if one.confirmed else "Unconfirmed: "
        lines.append(f"{doubt}{fence_one(one.memory, text=text)}")
    return "\n".join(lines)


def _refused(call: Call, reason: str) -> str:
    if call.client == "cursor":
        told = {"permission": "deny", "agent_message": reason, "user_message": "memanto: a recorded failure matches"}
        return json.dumps(told)
    said = {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": reason}
    return json.dumps({"hookSpecificOutput": said})


# -- the end of a session ---------------------------------------------------------------------------
def _left(call: Call, memory: Memanto, agent: str) -> None:
    from memanto.connect.shift import leave
    from memanto.connect.transcript import Shift, read_shift

    path = call.given.get("transcript_path")
    shift = read_shift(Path(path), call.folder) if isinstance(path, str) and path else Shift()
    write: Callable[[Memanto], object] = lambda one: leave(one, shift, client=one._source, session=call.session)  # noqa: E731, SLF001
    if memory.status().embedder is not None:
        write(memory)  # without a model: words find a handoff, and vectors of others are in place
        return
    with _memory(agent, call.client, embedder="default") as whole:  # the first memory binds the agent to its embedder
        write(whole)
