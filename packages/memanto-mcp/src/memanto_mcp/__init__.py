"""MCP server for memanto: ten tools, four resources and three prompts over one agent's memory.

Importing this package loads nothing; `make_server` and `serve` load the MCP SDK.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0+qdrant"

_HOMES = {"Host": "host", "Listen": "http", "make_server": "server", "serve": "server"}

__all__ = sorted(_HOMES)  # noqa: PLE0605 - a list of the names above

if TYPE_CHECKING:
    from memanto_mcp.host import Host as Host
    from memanto_mcp.http import Listen as Listen
    from memanto_mcp.server import make_server as make_server
    from memanto_mcp.server import serve as serve


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'memanto_mcp' has no attribute {name!r}")
    return getattr(import_module(f"memanto_mcp.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
