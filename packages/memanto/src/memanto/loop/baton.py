"""The session handoff: seven fields that one shift leaves for the next, read from any spelling of them.

Reading is tolerant (one line with bars, or lines; other names for the fields; fields missing), writing is
canonical, and reading what was written gives the same fields.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from typing import Final

from memanto.memory.batons import is_baton

HEADING: Final = "SESSION HANDOFF"
MAIN: Final = "main"
"""The lane of a baton that names none."""

LABELS: Final = {
    "goal": "Goal",
    "done": "Done",
    "state": "State",
    "next": "Next",
    "blockers": "Blockers",
    "artifacts": "Artifacts",
    "do_not_redo": "Do NOT redo",
}
"""The seven fields in order, with the words they are written under."""

_GAP: Final = r"[^\S\n]+"  #: between the words of a name, which stand on one line
_NAMES: Final = {
    "goal": rf"(?:overall{_GAP})?(?:goal|objective)",
    "done": rf"(?:done|completed|finished)(?:{_GAP}so{_GAP}far|{_GAP}steps)?",
    "state": rf"(?:current{_GAP})?(?:state|status)",
    "next": rf"next(?:{_GAP}(?:steps?|actions?|up))?",
    "blockers": rf"(?:open{_GAP})?(?:blockers?|blocked(?:{_GAP}(?:by|on))?)",
    "artifacts": rf"artifacts?(?:{_GAP}(?:written|created))?|files(?:{_GAP}written)?",
    "do_not_redo": rf"(?:do{_GAP}not|do(?:-|[^\S\n])?n[o']t|never|not{_GAP}to)(?:-|[^\S\n])+(?:redo|repeat|re-?run)",
}
_NAME: Final = "|".join(f"(?P<{name}>{pattern})" for name, pattern in _NAMES.items())
_LABEL: Final = rf"[\s>*#-]*+(?:(?:{_NAME})\**[^\S\n]*[:=\uff1a]\**[^\S\n]*)?"
"""What may stand before a field's name, then the name. A run without a name behind it matches too, as a whole and
without a group: otherwise every character of a long run would be tried as the beginning of one."""
_HEAD: Final = re.compile(
    r"^\W*(?:session[\s_-]*)?handoff\b[\s*]*(?:\[(?P<lane>[^\[\]\n]+)\])?[\s:.*|\u2013\u2014-]*", re.IGNORECASE
)
_BULLET: Final = re.compile(r"^\s*(?:[-*\u2022]|\d+[.)])\s+")
_BULLETS: Final = re.compile(r"(?:[| ]*(?:[-*\u2022]|\d+[.)]) )+[| ]*")
_MARKS: Final = " >*#-"
_SEPARATOR: Final = re.compile(r"[;,]")
_NOTHING: Final = frozenset({"none", "nothing", "n/a", "na", "-", "\u2013", "\u2014", "no"})


@functools.cache
def _labels(before: str) -> re.Pattern[str]:
    """Return the pattern of a field's name behind one of these characters; made when the first baton is read."""
    return re.compile(rf"{before}{_LABEL}", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Baton:
    """What one shift hands to the next. Texts are single lines; empty where nothing was said.

    Attributes:
        goal: The overall objective.
        done: Completed steps.
        state: Where things stand.
        next: What to do next.
        blockers: What is unresolved.
        artifacts: Paths and ids of what was made.
        do_not_redo: Steps that must not be done again.
    """

    goal: str = ""
    done: tuple[str, ...] = ()
    state: str = ""
    next: tuple[str, ...] = ()
    blockers: tuple[str, ...] = ()
    artifacts: tuple[str, ...] = ()
    do_not_redo: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether the shift has nothing to tell: no field but the goal is filled."""
        return self.weight == 0

    @property
    def weight(self) -> int:
        """Number of things told beside the goal."""
        return bool(self.state) + sum(
            len(items) for items in (self.done, self.next, self.blockers, self.artifacts, self.do_not_redo)
        )

    def text(self, lane: str | None = None) -> str:
        """Return the canonical text: the heading, then one line per field, or one per item where it has several.

        The lane, where it is not the main one, stands in brackets behind the heading.
        """
        lines = [HEADING if lane is None else f"{HEADING} [{lane}]"]
        for name, label in LABELS.items():
            value = getattr(self, name)
            items = (value,) if isinstance(value, str) and value else value
            if isinstance(value, str) or (len(items) == 1 and not _needs_bullet(items[0])):
                lines += [f"{label}: {item}" for item in items]
            elif items:
                lines += [f"{label}:", *(f"- {item}" for item in items)]
        return "\n".join(lines)


def make_baton(**given: str | Iterable[str] | None) -> Baton:
    """Return a baton with its texts put on single lines and blank ones left out.

    An item that opens like a field ("Next: …") gets a dash for its colon, so that it stays an item.
    """
    lists = {field.name for field in fields(Baton)} - {"goal", "state"}
    values: dict[str, str | tuple[str, ...]] = {}
    for name, value in given.items():
        items = (value,) if isinstance(value, str) else tuple(value or ())
        clean = [line for line in (_one_line(item) for item in items) if line]
        values[name] = tuple(map(_unlike_label, clean)) if name in lists else _one_line(" ".join(clean))
    return Baton(**values)  # type: ignore[arg-type]  # an unknown name is a TypeError, as for any call


def parse_baton(text: str) -> Baton | None:
    """Return the fields of a session handoff, or `None` when the text is none.

    A bar or a line break that no field's name follows belongs to the text before it; where the heading has a line
    of its own, so do all bars. What stands before the first
    field counts as the state, so nothing is lost. A list field's
    lines are its items; on a single line it is cut at `;`, artifacts and do-not-redo also at commas outside brackets.
    """
    if not is_baton(text):
        return None
    head = _HEAD.match(text)
    body = text[head.end() :] if head is not None else text
    in_lines = head is not None and "\n" in head[0]
    body = f"\n{body}"
    runs = _labels(r"\n" if in_lines else r"[|\n]").finditer(body)
    found = [match for match in runs if match.lastgroup is not None]
    values: dict[str, list[str]] = {}
    lead = (body[: found[0].start()] if found else body).strip(" \n|")
    if lead:
        values["state"] = [lead]
    ends = [later.start() for later in found[1:]] + [len(body)]
    for match, end in zip(found, ends, strict=False):
        name = str(match.lastgroup)
        values.setdefault(name, []).extend(_items(name, body[match.end() : end]))
    return make_baton(**values)


def lane_of(text: str) -> str:
    """Return the lane that a handoff names in its heading, else the main one."""
    found = _HEAD.match(text)
    return (found["lane"].strip() if found is not None and found["lane"] else "") or MAIN


_REMARK: Final = re.compile(
    r"(?:and |all |both |already |fully )*(?:done|tested|verified|checked|reviewed|merged|deployed|finished"
    r"|completed?|released|approved|green|ok(?:ay)?|passing|passed)",
    re.IGNORECASE,
)
"""What is said of a finished step rather than a step."""


def _items(name: str, raw: str) -> Iterator[str]:
    value = raw.strip(" \n\t|")
    lines = [line for line in value.split("\n") if line.strip()]
    if name in {"goal", "state"}:
        yield " ".join(_BULLET.sub("", line) for line in lines)
    elif lines and _BULLET.match(lines[0]):
        yield from _bulleted(lines)
    elif len(lines) > 1:
        yield from lines
    else:
        yield from _with_remarks(_split(value, commas=name in {"artifacts", "do_not_redo"}))


def _with_remarks(items: Iterable[str]) -> Iterator[str]:
    """Yield items, each with the remarks behind it: `/v1/auth done, tested` is one finished step, not two."""
    waiting: list[str] = []
    for item in items:
        if waiting and not _REMARK.fullmatch(item.strip()):
            yield ",".join(waiting)
            waiting = []
        if waiting or item:
            waiting.append(item)
    if waiting:
        yield ",".join(waiting)


def _bulleted(lines: list[str]) -> Iterator[str]:
    item: list[str] = []
    for line in lines:
        if _BULLET.match(line):
            yield " ".join(item)
            item = []
        item.append(_BULLET.sub("", line))
    yield " ".join(item)


def _split(text: str, *, commas: bool) -> Iterator[str]:
    depth, start = 0, 0
    for index, character in enumerate(text):
        depth += (character in "([{") - (character in ")]}")
        ends = character == ";" or (commas and character == "," and text[index + 1 : index + 2] in {" ", ""})
        if ends and depth <= 0:
            yield text[start:index]
            start = index + 1
    yield text[start:]


def _needs_bullet(item: str) -> bool:
    return _SEPARATOR.search(item) is not None


def _unlike_label(item: str) -> str:
    found = _labels("").match(item)
    if found is None or found.lastgroup is None:
        return item
    name = found[0].rstrip(" *:=\uff1a")
    return f"{name} - {item[found.end() :]}".strip(" -|")


def _one_line(text: str) -> str:
    """Return a text on one line, without a bullet; `""` for one that only says that there is nothing."""
    line = " ".join(text.split()).strip("| ")
    bullets = _BULLETS.match(line)
    if bullets is not None:
        line = line[bullets.end() :]
    tells = line.strip(_MARKS) and line.casefold().rstrip(".") not in _NOTHING
    return line if tells else ""
