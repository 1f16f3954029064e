"""Settings files are edited as text: what the edit means, and that nothing else moves (specification)."""

from __future__ import annotations

import json
import random
from typing import Any

import json5
import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from memanto.connect import jsonc, tables
from memanto.errors import InvalidInputError

QUICK = settings(deadline=None, max_examples=60)
NAMES = st.text('abc "\\é/*', min_size=0, max_size=4)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(-2, 2) | st.text('a"\\/*\n,{}é', max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=12,
)
OBJECTS = st.dictionaries(NAMES, VALUES, max_size=4)
PATHS = st.lists(NAMES, min_size=1, max_size=3)


def spelled(value: Any, seed: int) -> str:
    """Return JSON as a person may write it: any spacing, comments anywhere, a comma too many."""
    chance = random.Random(seed)

    def gap() -> str:
        return chance.choice(["", "", " ", "\n", "\n\t", " /* c, {} */ ", ' // "x": [1],\n', "\r\n  "])

    def write(one: Any) -> str:
        if isinstance(one, dict):
            parts = [f"{gap()}{json.dumps(k)}{gap()}:{gap()}{write(v)}{gap()}" for k, v in one.items()]
        elif isinstance(one, list):
            parts = [f"{gap()}{write(v)}{gap()}" for v in one]
        else:
            return json.dumps(one, ensure_ascii=chance.random() < 0.5)
        comma = "," if parts and chance.random() < 0.3 else ""
        body = f"{','.join(parts)}{comma}{gap()}"
        return f"{{{body}}}" if isinstance(one, dict) else f"[{body}]"

    return f"{gap()}{write(value)}{gap()}"


@QUICK
@given(OBJECTS, st.integers(0, 10_000))
def test_json_with_comments_reads_as_another_parser_reads_it(value: dict[str, Any], seed: int) -> None:
    text = spelled(value, seed)
    assert jsonc.parse(text).value == value == json5.loads(text)


@QUICK
@given(OBJECTS, PATHS, VALUES, st.integers(0, 10_000))
def test_setting_a_member_means_that_and_nothing_else(
    value: dict[str, Any], path: list[str], new: Any, seed: int
) -> None:
    text = spelled(value, seed)
    wanted = json.loads(json.dumps(value))
    holder = wanted
    for name in path[:-1]:
        if not isinstance(holder.setdefault(name, {}), dict):
            with pytest.raises(InvalidInputError):
                jsonc.set_member(text, path, new)
            return
        holder = holder[name]
    holder[path[-1]] = new
    edited = jsonc.set_member(text, path, new)
    assert json5.loads(edited) == wanted
    assert jsonc.set_member(edited, path, new) == edited
    assert edited.count("/* c, {} */") >= text.count("/* c, {} */") - spelled_below(value, path, seed)


def spelled_below(value: dict[str, Any], path: list[str], seed: int) -> int:
    """Return how many comments may go because they stood within the value that was replaced."""
    found: Any = value
    for name in path:
        found = found.get(name) if isinstance(found, dict) else None
    return 0 if found is None else spelled(value, seed).count("/* c, {} */")


@QUICK
@given(OBJECTS, NAMES, VALUES, st.integers(0, 10_000))
def test_what_was_added_is_removed_again(value: dict[str, Any], name: str, new: Any, seed: int) -> None:
    value.pop(name, None)
    text = spelled(value, seed)
    left = jsonc.remove_member(jsonc.set_member(text, [name], new), [name])
    assert json5.loads(left) == value
    assert left.count("/* c, {} */") == text.count("/* c, {} */")
    assert left.count('// "x"') == text.count('// "x"')


@QUICK
@given(OBJECTS, st.integers(0, 10_000))
@example({"": {"": None}}, 0)
def test_removing_any_member_leaves_the_others(value: dict[str, Any], seed: int) -> None:
    text = spelled(value, seed)
    for name in value:
        rest = {other: one for other, one in value.items() if other != name}
        assert json5.loads(jsonc.remove_member(text, [name])) == rest


@QUICK
@given(st.lists(st.integers(0, 9), max_size=5), st.integers(0, 10_000))
@example([7, 6, 7, 7, 6], 7)
def test_items_are_appended_and_removed_by_what_they_are(items: list[int], seed: int) -> None:
    text = spelled({"a": items}, seed)
    more = jsonc.append_item(text, ["a"], {"ours": True})
    assert json5.loads(more)["a"] == [*items, {"ours": True}]
    assert json5.loads(jsonc.remove_items(more, ["a"], lambda one: isinstance(one, dict)))["a"] == items
    assert json5.loads(jsonc.remove_items(text, ["a"], lambda one: one > 4))["a"] == [one for one in items if one <= 4]


@pytest.mark.parametrize(
    "text", ["{", "[1", '{"a"}', '{"a": }', '{"a": 1 "b": 2}', "{a: 1}", '{"a": 01}', "{} {}", '"a']
)
def test_what_is_no_json_is_refused_with_its_line(text: str) -> None:
    with pytest.raises(InvalidInputError, match="line 2"):
        jsonc.parse(f"\n{text}")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "extensions:\n  other: {type: x}\n",
        "extensions:\n\n  # first\n  other:\n    type: x\n\n  last:\n    type: y\nafter: 1\n",
        "a: |\n  extensions:\n    b: 1\n",
        "extensions:\n",
        "# only a remark",
    ],
)
def test_a_child_in_yaml_comes_and_goes(text: str) -> None:
    before = yaml.safe_load(text) or {}
    value = {"cmd": "m", "args": ["a b", "--c"], "on": True}
    added = tables.set_child(text, "extensions", "memanto", value)
    assert yaml.safe_load(added) == before | {"extensions": {**(before.get("extensions") or {}), "memanto": value}}
    assert tables.set_child(added, "extensions", "memanto", value) == added
    assert tables.set_child(added, "extensions", "memanto", {"cmd": "n"}).count("memanto") == 1
    left = yaml.safe_load(tables.remove_child(added, "extensions", "memanto")) or {}
    assert {**left, "extensions": left.get("extensions") or {}} == {
        **before, "extensions": before.get("extensions") or {},
    }  # fmt: skip


@pytest.mark.parametrize(
    "text", ["extensions: {a: {b: 1}}", "- a\n- b", "extensions: *x", "a: [", "extensions: text\n"]
)
def test_yaml_that_cannot_be_added_to_is_refused(text: str) -> None:
    with pytest.raises(InvalidInputError):
        tables.set_child(text, "extensions", "memanto", {"cmd": "m"})
