"""Memory for LangGraph in a memanto store: a checkpointer, a store, nodes and a callback.

Importing this package loads nothing else; names are loaded when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0+qdrant"

_HOMES = {
    "MemantoCallback": "callback",
    "MemantoSaver": "saver",
    "MemantoStore": "store",
    "brief_node": "nodes",
    "compress_node": "nodes_window",
    "guard_node": "nodes",
    "handoff_node": "nodes",
    "isolate_node": "nodes_window",
    "remember_node": "nodes",
}

__all__ = sorted(_HOMES)  # noqa: PLE0605 - a list of the names above

if TYPE_CHECKING:
    from langgraph_memanto.callback import MemantoCallback as MemantoCallback
    from langgraph_memanto.nodes import brief_node as brief_node
    from langgraph_memanto.nodes import guard_node as guard_node
    from langgraph_memanto.nodes import handoff_node as handoff_node
    from langgraph_memanto.nodes import remember_node as remember_node
    from langgraph_memanto.nodes_window import compress_node as compress_node
    from langgraph_memanto.nodes_window import isolate_node as isolate_node
    from langgraph_memanto.saver import MemantoSaver as MemantoSaver
    from langgraph_memanto.store import MemantoStore as MemantoStore


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'langgraph_memanto' has no attribute {name!r}")
    return getattr(import_module(f"langgraph_memanto.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
