"""Drives the command line in this process: arguments in, exit status and both streams out."""

from __future__ import annotations

import io
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from memanto import composition
from memanto.cli.main import run
from memanto.config import Settings
from memanto.embedding.choice import Choice
from memanto.embedding.port import Embedder
from memanto.testing import HashEmbedder

_VARIABLES = (
    "AGENT",
    "BACKEND",
    "QDRANT_URL",
    "API_KEY_ENV",
    "EMBED_MODEL",
    "EMBED_MODEL_PATH",
    "DURABILITY",
    "OFFLINE",
)


_CONFIGURED = composition.configured_embedder


def _embedder(settings: Settings | None = None) -> Choice[Embedder]:
    """Return a double unless a model is named: words decide here, not what a model has learned."""
    if settings is not None and (settings.embed_model or settings.embed_model_path):
        return _CONFIGURED(settings)
    return Choice(HashEmbedder())


@dataclass(frozen=True)
class Outcome:
    """What one command did."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output as JSON."""
        return json.loads(self.out)

    @property
    def error(self) -> dict[str, str]:
        """The error on standard error, as JSON."""
        return json.loads(self.err.splitlines()[-1])["error"]


class Cli:
    """The command line of one user, whose store and settings are in `home`."""

    def __init__(self, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.home = home
        self._patch = monkeypatch
        monkeypatch.setenv("MEMANTO_HOME", str(home))
        monkeypatch.setenv("TZ", "UTC")
        for name in _VARIABLES:
            monkeypatch.delenv(f"MEMANTO_{name}", raising=False)
        monkeypatch.delenv("MEMANTO_DEBUG", raising=False)
        monkeypatch.setattr(composition, "configured_embedder", _embedder)

    def __call__(self, *arguments: str, stdin: bytes | None = None) -> Outcome:
        """Run a command; `stdin` is what standard input holds, which is never a terminal."""
        out, err = _Stream(), _Stream()
        with self._patch.context() as patch:
            patch.setattr(sys, "stdout", out)
            patch.setattr(sys, "stderr", err)
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin or b""), "utf-8"))
            status = run(list(arguments))
        return Outcome(status, out.text(), err.text())

    def done(self, *arguments: str, stdin: bytes | None = None) -> Outcome:
        """Run a command that has to succeed."""
        outcome = self(*arguments, stdin=stdin)
        assert outcome.status == 0, outcome
        return outcome

    def remember(self, text: str, *options: str) -> str:
        """Remember a text and return its id."""
        return str(self.done("remember", text, *options, "--json").json["id"])

    def recalled(self, *arguments: str) -> list[str]:
        """Return the texts that `recall` finds, best first."""
        return [one["memory"]["content"] for one in self.done("recall", *arguments, "--json").json["results"]]


class _Stream(io.TextIOWrapper):
    def __init__(self) -> None:
        super().__init__(io.BytesIO(), "utf-8")

    def text(self) -> str:
        self.flush()
        buffer = self.buffer
        assert isinstance(buffer, io.BytesIO)
        return buffer.getvalue().decode("utf-8")
