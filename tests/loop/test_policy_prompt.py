"""The five texts hold every item of the course, in our words (specification)."""

from __future__ import annotations

import pytest

from memanto.errors import InvalidInputError
from memanto.loop.baton import LABELS, parse_baton
from memanto.loop.policy_prompt import policy_prompt

ITEMS = {
    "policy": {
        "WRITE": ["goal and the plan", "decision together with its reason", "ids, paths, settings", "the correction"],
        "KEEP": ["the subtask you are on", "plan summary", "tool results the present step"],
        "COMPRESS": ["becomes one line", "its outcome in one line"],
        "ISOLATE": ["hands back a summary", "wide searches, reading large files"],
        "QUARANTINE": ["never stored as a fact", "verify"],
    },
    "failure": {
        "FAILURE RECORD": [
            "Task type:", "Attempted:", "Went wrong:", "Root cause:", "Correction:", "Trigger: When",
        ],
    },
    "before-you-plan": {
        "BEFORE YOU PLAN": [
            "1. Earlier runs", "2. Lasting facts", "3. Recorded failures", "4. The runbook", "3 to 5 bullets",
            "Plan only then",
        ],
    },
    "check": {
        "MEMORY CHECK": [
            "goal and which plan", "latest run", "failure of this task", "lasting facts", "name the id",
        ],
    },
}  # fmt: skip


@pytest.mark.parametrize(
    ("part", "heading", "item"),
    [(part, heading, item) for part, heads in ITEMS.items() for heading, items in heads.items() for item in items],
)
def test_each_item_stands_under_its_heading(part: str, heading: str, item: str) -> None:
    text = policy_prompt(part)  # type: ignore[arg-type]
    headings = [one for one in ITEMS[part] if one != heading]
    section = text[text.index(heading) :]
    ends = [section.index(f"\n{one}") for one in headings if f"\n{one}" in section]
    assert item in section[: min(ends, default=None)]


def test_the_handoff_template_has_the_seven_fields_and_is_read_as_a_baton() -> None:
    text = policy_prompt("handoff")
    assert [label for label in LABELS.values() if f"\n{label}: <" in text] == list(LABELS.values())
    filled = parse_baton(text)
    assert filled is not None
    assert (filled.goal, len(filled.next)) == ("<what all of this is for>", 1)


def test_all_parts_together_are_the_five_in_order() -> None:
    parts = [policy_prompt(part) for part in ("policy", "handoff", "failure", "before-you-plan", "check")]  # type: ignore[arg-type]
    assert policy_prompt() == "\n".join(parts)


def test_an_unknown_part_is_refused_with_the_known_ones() -> None:
    with pytest.raises(InvalidInputError, match="unknown part 'plan'") as caught:
        policy_prompt("plan")  # type: ignore[arg-type]
    assert "before-you-plan" in caught.value.hint
