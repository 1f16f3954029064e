"""TOML and YAML settings: adding one entry and taking it out again, as text, with a parser to check each step.

An entry is a table of its own at the end of a TOML file, or the first child of a YAML key. So the rest keeps its
comments and spelling. Every edit is parsed and compared with what it should say; a file that is written in a way this
does not understand is refused, never guessed at.
"""

from __future__ import annotations

import copy
import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

from memanto.errors import InvalidInputError

_HAND = "add it by hand; nothing was changed"
_UNCHECKED = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""What the YAML library raises besides its own errors: it checks no value that is tagged with a type, as `!!int x`."""


# -- TOML -------------------------------------------------------------------------------------------
def set_table(text: str, path: Sequence[str], values: Mapping[str, Any]) -> str:
    """Return a TOML text whose table at a path holds these values and no other.

    Raises:
        InvalidInputError: The text is malformed, or the table cannot be added to it.
    """
    before = _toml(text)
    wanted = _with(before, path, dict(values))
    if before == wanted:
        return text
    base = remove_table(text, path)
    lines = [f"[{'.'.join(map(_key, path))}]", *(f"{_key(name)} = {_shown(value)}" for name, value in values.items())]
    added = _gap(base) + "".join(f"{line}\n" for line in lines)
    if _says(base + added, wanted):
        return base + added
    edited = _by_tomlkit(base, path, values)
    if _says(edited, wanted):
        return edited
    raise InvalidInputError(f"{'.'.join(path)} cannot be added", hint=_HAND)


def remove_table(text: str, path: Sequence[str]) -> str:
    """Return a TOML text without the table at a path; the text itself when there is none."""
    before = _toml(text)
    if _at(before, path) is None:
        return text
    wanted = _without(before, path)
    header = r"\.".join(rf'\s*(?:{re.escape(name)}|"{re.escape(name)}")\s*' for name in path)
    table = re.compile(rf"(?:^\n)?^\[{header}\][^\n]*\n?(?:[^\[\s#][^\n]*\n?)*", re.MULTILINE)
    edited = table.sub("", text, count=1)
    if _says(edited, wanted):
        return edited
    import tomlkit

    document = tomlkit.parse(text)
    holder: Any = document
    for name in path[:-1]:
        holder = holder[name]
    holder.remove(path[-1])
    return tomlkit.dumps(document)


def table_at(text: str, path: Sequence[str]) -> Any:
    """Return the value at a path in a TOML text, or `None` when there is none."""
    return _at(_toml(text), path)


def _by_tomlkit(text: str, path: Sequence[str], values: Mapping[str, Any]) -> str:
    """Return the text with the table where `path` stands already in another spelling, such as an inline table."""
    import tomlkit

    document = tomlkit.parse(text)
    holder: Any = document
    for name in path[:-1]:
        holder = holder.setdefault(name, {})
    holder[path[-1]] = dict(values)
    return tomlkit.dumps(document)


def _toml(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInputError(f"not valid TOML: {error!s:.200}", hint="correct it; nothing was changed") from error


def _says(text: str, wanted: Mapping[str, Any]) -> bool:
    try:
        return tomllib.loads(text) == wanted
    except (ValueError, RecursionError):
        return False


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name)


def _shown(value: Any) -> str:
    """Return a text, number, boolean or list of texts as TOML; JSON's spelling is TOML's for these."""
    return json.dumps(value, ensure_ascii=False)


def _gap(text: str) -> str:
    """Return what parts an addition from the text before it."""
    if not text.strip():
        return ""
    return "\n" if text.endswith("\n") else "\n\n"


# -- YAML -------------------------------------------------------------------------------------------
def set_child(text: str, key: str, name: str, value: Mapping[str, Any], *, listed: bool = False) -> str:
    """Return a YAML text where a top-level key has a child of this name.

    Args:
        text: The file.
        key: The top-level key, made where it is missing.
        name: The child's name: its key, or in a list the value of its `name`.
        value: What the child holds.
        listed: The children are a list of mappings rather than a mapping.

    Raises:
        InvalidInputError: The text is malformed, or the child cannot be added to it.
    """
    before = _yaml(text)
    if _child(before.get(key), name) == dict(value):
        return text
    base = remove_child(text, key, name)
    lines = _rendered(name, value, listed=listed)
    found = re.search(rf"^{re.escape(key)}:[ \t]*(?:\{{\}}|\[\]|null|~)?[ \t]*(#.*)?$", base, re.MULTILINE)
    if found is None and key in before:
        raise InvalidInputError(f"{key!r} is written in a way that cannot be added to", hint=_HAND)
    if found is None:
        block = "".join(f"{line}\n" for line in [f"{key}:", *(f"  {line}" for line in lines)])
        edited = f"{base}{'' if not base or base.endswith(chr(10)) else chr(10)}{block}"
    else:
        indent = _children_indent(base[found.end() :], listed=listed)
        head = f"{key}:{f' {found[1]}' if found[1] else ''}"
        edited = base[: found.start()] + "\n".join([head, *(f"{indent}{line}" for line in lines)]) + base[found.end() :]
    if _yaml(edited) != _with_child(_yaml(base), key, name, value, listed=listed):
        raise InvalidInputError(f"{key}.{name} cannot be added", hint=_HAND)
    return edited


def remove_child(text: str, key: str, name: str) -> str:
    """Return a YAML text without a child of a top-level key; the text itself when there is none."""
    before = _yaml(text)
    children = before.get(key)
    if _child(children, name) is None:
        return text
    quoted = rf"[\"']?{re.escape(name)}[\"']?"
    first = rf"-[ ]+name:[ ]*{quoted}[ \t\r]*$" if isinstance(children, list) else rf"{quoted}:[^\n]*$"
    section = re.search(rf"^{re.escape(key)}:", text, re.MULTILINE)
    found = section and re.compile(rf"^([ ]*){first}", re.MULTILINE).search(text, section.end())
    if not found:
        raise InvalidInputError(
            f"{key}.{name} cannot be found to remove", hint="remove it by hand; nothing was changed"
        )
    end = found.end() + 1
    deeper = re.compile(rf"{found[1]}[ ]+\S[^\n]*(?:\n|\Z)")
    while line := deeper.match(text, end):
        end = line.end()
    edited = text[: found.start()] + text[end:]
    wanted = _without_child(before, key, name)
    if not wanted[key]:  # a key with nothing below it would say null
        nothing = "[]" if isinstance(children, list) else "{}"
        edited = re.sub(rf"^({re.escape(key)}:)", rf"\1 {nothing}", edited, count=1, flags=re.MULTILINE)
    if _yaml(edited) != wanted:
        raise InvalidInputError(f"{key}.{name} cannot be removed", hint="remove it by hand; nothing was changed")
    return edited


def drop_empty_key(text: str, key: str) -> str:
    """Return a YAML text without a top-level key that has nothing below it."""
    if _yaml(text).get(key, key):
        return text
    return re.sub(rf"^{re.escape(key)}:[ \t]*(?:\{{\}}|\[\])?[ \t\r]*(?:\n|\Z)", "", text, count=1, flags=re.MULTILINE)


def _yaml(text: str) -> dict[str, Any]:
    import yaml  # type: ignore[import-untyped]

    try:
        found = yaml.safe_load(text)
    except (yaml.YAMLError, *_UNCHECKED) as error:
        line = getattr(getattr(error, "problem_mark", None), "line", -1) + 1
        raise InvalidInputError(f"not valid YAML, line {line}", hint="correct it; nothing was changed") from error
    if found is not None and not isinstance(found, dict):
        raise InvalidInputError("the file holds no settings by name", hint=_HAND)
    return found or {}


def _rendered(name: str, value: Mapping[str, Any], *, listed: bool) -> list[str]:
    import yaml

    shown = [dict(value)] if listed else {name: dict(value)}
    lines = str(yaml.safe_dump(shown, sort_keys=False, allow_unicode=True, width=1_000))
    return lines.rstrip("\n").split("\n")


def _children_indent(below: str, *, listed: bool) -> str:
    found = re.match(r"(?:[ \t\r]*(?:#[^\n]*)?\n)*([ ]*)(-(?=\s))?[^\s#]?", below)
    if found is not None and (found[1] or (listed and found[2])):
        return str(found[1])
    return "  "


def _child(children: Any, name: str) -> Any:
    if isinstance(children, dict):
        return children.get(name)
    if isinstance(children, list):
        return next((one for one in children if isinstance(one, dict) and one.get("name") == name), None)
    return None


def _with_child(data: dict[str, Any], key: str, name: str, value: Mapping[str, Any], *, listed: bool) -> dict[str, Any]:
    if listed:
        return data | {key: [dict(value), *(data.get(key) or [])]}
    return data | {key: {**(data.get(key) or {}), name: dict(value)}}


def _without_child(data: dict[str, Any], key: str, name: str) -> dict[str, Any]:
    children = data[key]
    if isinstance(children, list):
        rest: Any = [one for one in children if not (isinstance(one, dict) and one.get("name") == name)]
    else:
        rest = {one: value for one, value in children.items() if one != name}
    return data | {key: rest}


def child_at(text: str, key: str, name: str) -> Any:
    """Return the child of a top-level key in a YAML text, or `None` when there is none."""
    return _child(_yaml(text).get(key), name)


# -- both -------------------------------------------------------------------------------------------
def _at(data: Any, path: Sequence[str]) -> Any:
    for name in path:
        data = data.get(name) if isinstance(data, dict) else None
    return data


def _with(data: dict[str, Any], path: Sequence[str], value: Any) -> dict[str, Any]:
    result = copy.deepcopy(data)
    holder = result
    for name in path[:-1]:
        holder = holder.setdefault(name, {})
        if not isinstance(holder, dict):
            raise InvalidInputError(f"{name} is no table", hint=_HAND)
    holder[path[-1]] = value
    return result


def _without(data: dict[str, Any], path: Sequence[str]) -> dict[str, Any]:
    """Return the data without the value at a path, and without the tables that held nothing else."""
    result = copy.deepcopy(data)
    holders = [result]
    for name in path[:-1]:
        holders.append(holders[-1][name])
    del holders[-1][path[-1]]
    for name, holder, below in zip(reversed(path[:-1]), reversed(holders[:-1]), reversed(holders[1:]), strict=True):
        if not below:
            del holder[name]
    return result
