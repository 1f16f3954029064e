"""Runs and what they add up to, as verbs of `Memanto`."""

from __future__ import annotations


class RunVerbs:
    """Runs and what they add up to."""
