"""Typed, versioned memory for agents on Qdrant: `Memanto` and the values it works with.

Importing this package does no work: no environment, network, logging set-up or model load. Names are loaded
when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0+qdrant"

_HOMES = {
    "Agent": "models",
    "Answer": "loop.answer",
    "AsyncMemanto": "aio",
    "Baton": "loop.baton",
    "Brief": "loop.brief",
    "CheckReport": "loop.check",
    "Compounding": "loop.compounding",
    "Decision": "models",
    "Draft": "models",
    "Embedded": "stores",
    "Embedder": "embedding.port",
    "EmbedderIdentity": "embedding.port",
    "FailureRecord": "loop.failures",
    "InMemory": "stores",
    "LanguageModel": "llm.port",
    "LexicalOnlyWarning": "model_choices",
    "Memanto": "client",
    "MemantoError": "errors",
    "Memory": "models",
    "MemoryType": "models",
    "Provenance": "models",
    "Receipt": "models",
    "Recollection": "models",
    "Redaction": "models",
    "Reranker": "embedding.port",
    "Run": "loop.run",
    "Server": "stores",
    "Status": "models",
    "Trigger": "loop.guard",
    "Why": "models",
}

__all__ = sorted(_HOMES)  # noqa: PLE0605 - a list of the names above

if TYPE_CHECKING:
    from memanto.aio import AsyncMemanto as AsyncMemanto
    from memanto.client import Memanto as Memanto
    from memanto.embedding.port import Embedder as Embedder
    from memanto.embedding.port import EmbedderIdentity as EmbedderIdentity
    from memanto.embedding.port import Reranker as Reranker
    from memanto.errors import MemantoError as MemantoError
    from memanto.llm.port import LanguageModel as LanguageModel
    from memanto.loop.answer import Answer as Answer
    from memanto.loop.baton import Baton as Baton
    from memanto.loop.brief import Brief as Brief
    from memanto.loop.check import CheckReport as CheckReport
    from memanto.loop.compounding import Compounding as Compounding
    from memanto.loop.failures import FailureRecord as FailureRecord
    from memanto.loop.guard import Trigger as Trigger
    from memanto.loop.run import Run as Run
    from memanto.model_choices import LexicalOnlyWarning as LexicalOnlyWarning
    from memanto.models import Agent as Agent
    from memanto.models import Decision as Decision
    from memanto.models import Draft as Draft
    from memanto.models import Memory as Memory
    from memanto.models import MemoryType as MemoryType
    from memanto.models import Provenance as Provenance
    from memanto.models import Receipt as Receipt
    from memanto.models import Recollection as Recollection
    from memanto.models import Redaction as Redaction
    from memanto.models import Status as Status
    from memanto.models import Why as Why
    from memanto.stores import Embedded as Embedded
    from memanto.stores import InMemory as InMemory
    from memanto.stores import Server as Server


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'memanto' has no attribute {name!r}")
    return getattr(import_module(f"memanto.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
