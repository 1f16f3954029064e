"""A loopback server that speaks the OpenAI protocol and behaves as a test wants: well, slowly, brokenly, or lying."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

JSON = "application/json"
EVENTS = "text/event-stream"


@dataclass(frozen=True)
class Behaviour:
    """How the server replies: a status, a content type and the pieces of the body."""

    pieces: tuple[bytes, ...]
    status: int = 200
    content_type: str = EVENTS
    stalls: bool = False
    headers: dict[str, str] = field(default_factory=dict)


def chunk(text: str = "", reason: str | None = None) -> bytes:
    """Return one event of a streamed reply."""
    body = {"choices": [{"index": 0, "delta": {"content": text} if text else {}, "finish_reason": reason}]}
    return f"data: {json.dumps(body, ensure_ascii=False)}\n\n".encode()


DONE = b"data: [DONE]\n\n"


def says(text: str) -> Behaviour:
    """Stream a text in pieces of seven characters and end it."""
    return Behaviour((*(chunk(text[i : i + 7]) for i in range(0, len(text), 7)), chunk(reason="stop"), DONE))


def says_at_once(text: str) -> Behaviour:
    """Reply without streaming, as some servers do whatever they are asked."""
    body = {"choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}]}
    return Behaviour((json.dumps(body).encode(),), content_type=JSON)


def breaks_off(text: str) -> Behaviour:
    """Stream a text and hang up without an end."""
    return Behaviour((chunk(text),))


def runs_out(text: str) -> Behaviour:
    """Stream a text that the bound on tokens cut."""
    return Behaviour((chunk(text), chunk(reason="length"), DONE))


def fails(status: int, body: str = '{"error": {"message": "no"}}', **headers: str) -> Behaviour:
    """Answer with an error."""
    return Behaviour((body.encode(),), status=status, content_type=JSON, headers=headers)


def sends(*pieces: bytes, content_type: str = EVENTS) -> Behaviour:
    """Send these bytes."""
    return Behaviour(pieces, content_type=content_type)


STALLS = Behaviour((), stalls=True)
"""Accept the question and never say a word."""


class LlmStub:
    """The server. `requests` holds what it was asked, `headers` with which headers.

    Args:
        behaviour: How to reply, or a function from the request to that.
    """

    def __init__(self, behaviour: Behaviour | Callable[[dict[str, Any]], Behaviour]) -> None:
        self.behaviour = behaviour
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self._closing = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    @property
    def prompt(self) -> str:
        """The last prompt, all messages together."""
        return "\n".join(message["content"] for message in self.requests[-1]["messages"])

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        stub = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                request = json.loads(self.rfile.read(int(self.headers["content-length"])))
                stub.requests.append({**request, "path": self.path})
                stub.headers.append({name.lower(): value for name, value in self.headers.items()})
                behaviour = stub.behaviour if isinstance(stub.behaviour, Behaviour) else stub.behaviour(request)
                if behaviour.stalls:
                    stub._closing.wait(30)
                    return
                self.send_response(behaviour.status)
                self.send_header("content-type", behaviour.content_type)
                for name, value in behaviour.headers.items():
                    self.send_header(name, value)
                self.end_headers()
                try:
                    for piece in behaviour.pieces:
                        self.wfile.write(piece)
                        self.wfile.flush()
                except OSError:
                    pass  # the client hung up, as some tests make it do

            def log_message(self, *_: object) -> None:
                pass

        return Handler
