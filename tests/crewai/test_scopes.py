"""Scopes and categories become tags that memory keeps as they are (our decision)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crewai_memanto.scopes import (
    DEPTH,
    MAX_CATEGORIES,
    ROOT,
    category_tag,
    children,
    is_below,
    scope_of,
    scope_tag,
    tags_of,
)
from memanto.errors import InvalidInputError
from memanto.memory.redaction import redact
from memanto.memory.validation import check_tags

_SECRETS = [
    "xoxb-123456789012-123456789012-abcdefabcdef",
    "sk-proj-" + "a1" * 12,
    "ghp_" + "a1B2" * 9,
    "AKIA" + "Q" * 16,
]
_NAMES = st.text(max_size=80) | st.sampled_from(["crew", "agent", "senior-research-analyst", *_SECRETS])
_PATHS = st.lists(_NAMES, max_size=12).map("/".join)


@given(path=_PATHS, categories=st.lists(_NAMES, max_size=MAX_CATEGORIES, unique=True))
def test_every_tag_is_kept_as_it_is(path: str, categories: list[str]) -> None:
    tags = tags_of(scope_of(path), categories)
    assert check_tags(tags) == tags
    assert [redact(tag)[0] for tag in tags] == list(tags)


@given(path=_PATHS, below=_PATHS)
def test_what_is_below_a_scope_has_its_tag(path: str, below: str) -> None:
    prefix, scope = scope_of(path), scope_of(f"{path}/{below}")
    assert scope_of(scope) == scope
    assert is_below(scope, prefix)
    assert scope_tag(prefix) in tags_of(scope, ())


@pytest.mark.parametrize(
    ("scope", "prefix", "below"),
    [("/a", "/a", True), ("/a/x", "/a", True), ("/ab", "/a", False), ("/", "/a", False), ("/a", ROOT, True)],
)
def test_a_scope_is_compared_step_by_step(scope: str, prefix: str, below: bool) -> None:
    assert is_below(scope, prefix) is below


def test_children_are_the_next_steps() -> None:
    scopes = ["/", "/a", "/a/x/1", "/a/y", "/b/z"]
    assert children(scopes, ROOT) == ["/a", "/b"]
    assert children(scopes, "/a") == ["/a/x", "/a/y"]
    assert children(scopes, "/none") == []


def test_plain_names_stay_readable() -> None:
    assert tags_of("/crew/research-crew/agent/senior-analyst", ["food"]) == (
        "crewai", "/crew", "/crew/research-crew", "/crew/research-crew/agent",
        "/crew/research-crew/agent/senior-analyst", "food",
    )  # fmt: skip
    assert category_tag("crewai") != "crewai"
    assert len(tags_of("/1" * 30, [str(n) for n in range(MAX_CATEGORIES)])) == 1 + DEPTH + MAX_CATEGORIES
    with pytest.raises(InvalidInputError, match="at most 11"):
        tags_of("/", [str(n) for n in range(12)])
