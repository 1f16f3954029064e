"""Serving over HTTP: on this machine without a token, beyond it never."""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, Final

from memanto.errors import ConfigurationError

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

PORT: Final = 8766
TOKEN_VARIABLE: Final = "MEMANTO_MCP_TOKEN"  # noqa: S105 - the variable's name
SHORTEST_TOKEN: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Listen:
    """Where a server listens, and the token it asks for.

    Attributes:
        host: Address or name; `127.0.0.1` is this machine alone.
        port: 0 lets the system choose.
        token: Asked for as `Authorization: Bearer …`; `None` asks for none, on this machine only.

    Raises:
        ConfigurationError: The address is not on this machine and there is no token, or the token is short.
    """

    host: str = "127.0.0.1"
    port: int = PORT
    token: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.token is None and not is_local(self.host):
            raise ConfigurationError(
                f"host {self.host!r} is not this machine, and no token is set",
                hint=f"set {TOKEN_VARIABLE} to a secret of at least {SHORTEST_TOKEN} characters, or use 127.0.0.1",
            )
        if self.token is not None and len(self.token) < SHORTEST_TOKEN:
            raise ConfigurationError(
                f"the token has {len(self.token)} characters", hint=f"use at least {SHORTEST_TOKEN} random ones"
            )


def is_local(host: str) -> bool:
    """Return whether only this machine can reach an address: `localhost`, `127.0.0.0/8` or `::1`."""
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


def guarded(app: ASGIApp, token: str) -> ASGIApp:
    """Return an application that answers 401 unless a request carries the token. Compared in constant time."""
    expected = f"Bearer {token}".encode()

    async def checked(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await app(scope, receive, send)
            return
        given = [value for name, value in scope.get("headers", ()) if name == b"authorization"]
        if len(given) == 1 and hmac.compare_digest(given[0], expected):
            await app(scope, receive, send)
        elif scope["type"] == "http":
            await _refuse(send)

    return checked


async def _refuse(send: Callable[[dict[str, Any]], Awaitable[None]]) -> None:
    headers = [(b"www-authenticate", b"Bearer"), (b"content-type", b"text/plain; charset=utf-8")]
    await send({"type": "http.response.start", "status": 401, "headers": headers})
    await send({"type": "http.response.body", "body": b"a bearer token is needed\n"})


async def run_http(app: ASGIApp, listen: Listen) -> None:
    """Serve until interrupted."""
    import uvicorn

    if listen.token is not None:
        app = guarded(app, listen.token)
    # Server and access logs go to standard error, which uvicorn's own set-up does not do for the latter.
    config = uvicorn.Config(app, host=listen.host, port=listen.port, log_level="warning", access_log=False)
    await uvicorn.Server(config).serve()
