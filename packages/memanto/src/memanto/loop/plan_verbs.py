"""Handoffs, failures, briefs, pins and isolation, as verbs of `Memanto`."""

from __future__ import annotations


class PlanVerbs:
    """Handoffs, failures, briefs, pins and isolation."""
