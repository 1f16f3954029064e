"""All targets, by name; importing it imports what they test."""

from __future__ import annotations

from tests.fuzz import on_command, on_connect, on_files, on_texts, on_wires, on_words
from tests.fuzz.kit import TARGETS

__all__ = ["TARGETS", "on_command", "on_connect", "on_files", "on_texts", "on_wires", "on_words"]
