"""The five texts that teach an agent to use its memory: copy one into a system prompt or an instruction file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, get_args

from memanto.errors import InvalidInputError
from memanto.loop.baton import HEADING, LABELS

Part = Literal["policy", "handoff", "failure", "before-you-plan", "check"]

_POLICY: Final = """\
MEMORY POLICY
WRITE to memory at the moment you learn it, not at the end:
- the goal and the plan as they stand now (they stay in view always): `goal set`, `plan set`
- each decision together with its reason: `remember --type decision`
- lasting facts you come upon, such as ids, paths, settings and limits: `remember --type fact` or `--type artifact`
- each failure with the correction that resolved it: `failure`
KEEP in the window only this:
- the subtask you are on
- the plan summary
- those tool results the present step cannot do without
COMPRESS, then let go of the raw text:
- a tool result from an earlier subtask becomes one line, or a pointer when it is long
- a finished subtask becomes its outcome in one line: `run step --outcome`
ISOLATE in a sub-agent that hands back a summary and nothing else:
- wide searches, reading large files, exploring what may lead nowhere
QUARANTINE what nobody has checked:
- a claim a model made is never stored as a fact: mark it `--provenance inferred`, and it waits until somebody runs
  `verify`. One invented fact misleads every step after it.
"""

_HANDOFF: Final = f"""\
{HEADING}
Write this before the window ends (`handoff write`); begin the next shift by taking it (`handoff take`).
{LABELS["goal"]}: <what all of this is for>
{LABELS["done"]}: <each completed step, a line each>
{LABELS["state"]}: <where things stand at this moment>
{LABELS["next"]}: <the one action to begin with>
{LABELS["blockers"]}: <what is open or in the way>
{LABELS["artifacts"]}: <paths and ids of what was made>
{LABELS["do_not_redo"]}: <finished steps that must not run a second time>
"""

_FAILURE: Final = """\
FAILURE RECORD
Write one whenever something went wrong and you know better now (`failure`).
Task type: <the kind of work it was>
Attempted: <what you did>
Went wrong: <what you saw happen>
Root cause: <why, or nothing while you are not sure>
Correction: <what worked in its place>
Trigger: When <the situation as you will meet it again>, <what to do then>
Give it a high confidence when the correction was seen to work, below 0.5 while it is a guess.
"""

_BEFORE: Final = """\
BEFORE YOU PLAN, look up (`brief` does all four in one call):
1. Earlier runs of this kind of task: what worked and what did not.
2. Lasting facts about where you work.
3. Recorded failures whose trigger fits the situation at hand.
4. The runbook for this task, where there is one.
Write down in 3 to 5 bullets what you carry forward, each with the id it rests on. Plan only then.
Before an action that could fail, ask `guard` with the tool and its arguments.
"""

_CHECK: Final = """\
MEMORY CHECK: answer from stored memory alone, and name the id of what you rely on (`check` asks all four):
- Which goal and which plan hold at present?
- What did the latest run of this kind of task come to?
- Which failure of this task is on record, and what corrects it?
- Which lasting facts about where you work are stored?
An answer that is missing, vague or false means that writing or finding went wrong. Mend that before you rely on it.
"""

_PARTS: Final[Mapping[str, str]] = {
    "policy": _POLICY,
    "handoff": _HANDOFF,
    "failure": _FAILURE,
    "before-you-plan": _BEFORE,
    "check": _CHECK,
}


def policy_prompt(part: Part | None = None) -> str:
    """Return one of the five texts, or all of them with a blank line between.

    Raises:
        InvalidInputError: There is no such part.
    """
    if part is None:
        return "\n".join(_PARTS.values())
    if part not in _PARTS:
        raise InvalidInputError(f"unknown part {part!r}", hint=f"one of {', '.join(get_args(Part))}")
    return _PARTS[part]
