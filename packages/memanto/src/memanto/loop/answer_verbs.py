"""Answering and checking, as verbs of `Memanto`."""

from __future__ import annotations


class AnswerVerbs:
    """Answering and checking."""
