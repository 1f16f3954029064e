"""Bare words on a command line that belong to the option before them: `--source claude code`."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, takewhile
from typing import Final

from memanto.errors import InvalidInputError

Complete = Callable[[Sequence[str]], str | None]
"""Returns the known value that some words spell together, or `None`."""

LONGEST: Final = 4
"""Words of the longest value that may be typed without quotes (`last seven days`, and one to spare)."""


@dataclass(frozen=True, slots=True)
class Joined:
    """Words that were read as one value, for the echo."""

    option: str
    words: tuple[str, ...]
    value: str


@dataclass(frozen=True, slots=True)
class _Token:
    """One argument: `option` is the option whose value it is, or the option it names itself."""

    text: str
    kind: str
    option: str = ""


def join_bare_words(
    arguments: Sequence[str],
    *,
    valued: Iterable[str],
    flags: Container[str] = (),
    complete: Mapping[str, Complete],
    positionals: int,
) -> tuple[list[str], list[Joined]]:
    """Return the arguments with bare words joined to the option value they complete, and what was joined.

    Words are joined when the value alone is not one the option knows, or when the command has more
    positional words than it takes.

    Args:
        arguments: What follows the command's name.
        valued: Spellings of the options that take a value.
        flags: Spellings of the options that take none.
        complete: For some of those spellings, how words become a known value.
        positionals: How many positional words the command takes.

    Raises:
        InvalidInputError: A positional word is left over, and no unknown option may have meant to take it; or an
            option lacks one of its two dashes.
    """
    takers = frozenset(valued)
    tokens = list(_tokens(arguments, takers))
    _refuse_single_dash(tokens, takers, flags)
    excess = sum(token.kind == "positional" for token in tokens) - positionals
    result: list[str] = []
    joined: list[Joined] = []
    rest = iter(range(len(tokens)))
    for index in rest:
        token = tokens[index]
        known = complete.get(token.option) if token.kind in {"value", "both"} else None
        if known is None:
            result.append(token.text)
            continue
        prefix, own = ("", token.text) if token.kind == "value" else _cut(token.text)
        following = takewhile(lambda other: other.kind == "positional", tokens[index + 1 : index + LONGEST])
        words = [own, *(other.text for other in following)]
        enough = excess <= 0 and known([own]) is not None
        found = None if enough else _longest(words, known)
        if found is None:
            result.append(token.text)
            continue
        count, value = found
        joined.append(Joined(token.option, tuple(words[:count]), value))
        result.append(f"{prefix}{value}")
        excess -= count - 1
        for _ in range(count - 1):
            next(rest)
    known_options = all(
        token.kind not in {"option", "both"} or token.option in takers or token.text in flags or token.text == "--"
        for token in tokens
    )
    if excess > 0 and known_options:
        _refuse_stray(tokens, positionals)
    return result, joined


def _longest(words: Sequence[str], known: Complete) -> tuple[int, str] | None:
    """Return how many of the words, two or more, spell a known value, and the value."""
    for count in range(len(words), 1, -1):
        value = known(words[:count])
        if value is not None:
            return count, value
    return None


def _cut(text: str) -> tuple[str, str]:
    name, _, value = text.partition("=")
    return f"{name}=", value


def _tokens(arguments: Sequence[str], valued: frozenset[str]) -> Iterator[_Token]:
    """Yield each argument with its part: option, value, both (`--opt=value`) or positional."""
    waiting = ""
    literal = False
    for text in arguments:
        if waiting:
            yield _Token(text, "value", waiting)
            waiting = ""
        elif literal or text == "-" or not text.startswith("-"):
            yield _Token(text, "positional")
        elif text == "--":
            literal = True
            yield _Token(text, "option")
        elif text.startswith("--") and "=" in text:
            yield _Token(text, "both", text.partition("=")[0])
        else:
            waiting = text if text in valued else ""
            yield _Token(text, "option", text)


def _refuse_single_dash(tokens: Sequence[_Token], takers: Container[str], flags: Container[str]) -> None:
    """Name an option that lacks one of its two dashes: `-type fact` would be read as `-t ype`."""
    for token in tokens:
        name = f"-{token.text.partition('=')[0]}"
        if token.kind == "option" and not token.text.startswith("--") and (name in takers or name in flags):
            raise InvalidInputError(f"no such option: {token.text}. Did you mean {name}?", hint="names take two dashes")


def _refuse_stray(tokens: Sequence[_Token], positionals: int) -> None:
    """Name the word that is left over."""
    words = [token for token in tokens if token.kind == "positional"]
    after_value = [
        token for before, token in pairwise(tokens)
        if token.kind == "positional" and before.kind in {"value", "both"}
    ]  # fmt: skip
    stray = after_value[0] if after_value else words[positionals]
    # Without a hint of ours, the command's help is named: quotes would not mend these.
    mended = positionals > 0 or bool(after_value)
    hint = "put a text or value of several words in quotes" if mended and " " not in stray.text else ""
    raise InvalidInputError(f"unexpected word {stray.text!r}", hint=hint)
