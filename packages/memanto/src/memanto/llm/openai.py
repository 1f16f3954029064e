"""A client for every endpoint that speaks the OpenAI protocol: chat completions, streamed.

OpenAI, Ollama, llama.cpp, vLLM, LM Studio and OpenRouter do. Nothing of the prompt or the key is logged, redirects
are not followed (they could lead the key to another machine), and proxies of the environment are left out of
account for an endpoint on this machine.
"""

from __future__ import annotations

import codecs
import json
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from memanto.errors import LanguageModelError
from memanto.llm.port import CONTEXT_TOKENS, MAX_TOKENS, TIMEOUT, Message, OnText, Reply

if TYPE_CHECKING:
    import httpx

_CONNECT_TIMEOUT: Final = 10.0
_MAX_BYTES: Final = 2_000_000
"""Bytes of a reply from which on the endpoint is not believed to be a language model."""
_SHOWN: Final = 200
_NEXT_STEP: Final = "see `memanto config show` for llm_base_url, llm_model and llm_api_key_env"
_HINTS: Final = {
    401: "the endpoint wants a key: name the variable that holds it with `memanto config set llm.api_key_env NAME`",
    403: "the key may not use this model; see llm_api_key_env and llm_model",
    404: "check llm_base_url (it usually ends in /v1) and llm_model",
    429: "the endpoint allows no more calls for now; try again later",
}


class OpenAiModel:
    """A model behind an endpoint that speaks the OpenAI protocol.

    Args:
        base_url: Address up to and with the version, for example `http://127.0.0.1:11434/v1`.
        model: The endpoint's name for the model.
        api_key: Sent as bearer token, or `None`.
        timeout: Seconds that a whole reply may take.
        max_tokens: Tokens that a reply may take.
        context_tokens: Tokens that prompt and reply may take together.
        local: Whether the endpoint is on this machine, so that no proxy stands before it.
        monotonic: Tells seconds passing, for tests.
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        api_key: str | None = None,
        timeout: float = TIMEOUT,
        max_tokens: int = MAX_TOKENS,
        context_tokens: int = CONTEXT_TOKENS,
        local: bool = False,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._url = f"{base_url.rstrip('/')}/chat/completions"
        self._model = model
        self._key = api_key
        self._timeout = timeout
        self._max_tokens = max_tokens
        self._context_tokens = context_tokens
        self._local = local
        self._monotonic = monotonic

    @property
    def name(self) -> str:
        return self._model

    @property
    def context_tokens(self) -> int:
        return self._context_tokens

    @property
    def max_tokens(self) -> int:
        return self._max_tokens

    def complete(self, messages: Sequence[Message], *, on_text: OnText | None = None) -> Reply:
        """Return the reply; see `LanguageModel`."""
        import httpx

        body = {
            "model": self._model,
            "messages": [{"role": message.role, "content": message.text} for message in messages],
            "max_tokens": self._max_tokens,
            "temperature": 0,
            "stream": True,
        }
        headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        limits = httpx.Timeout(self._timeout, connect=min(self._timeout, _CONNECT_TIMEOUT))
        try:
            with (
                httpx.Client(timeout=limits, follow_redirects=False, trust_env=not self._local) as client,
                client.stream("POST", self._url, json=body, headers=headers) as response,
            ):
                return self._read(response, on_text)
        except httpx.TimeoutException as error:
            raise self._too_slow() from error
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            what = self._hidden(f"{type(error).__name__}: {error}")
            raise LanguageModelError(f"no reply from {self._url}: {what}", hint=_NEXT_STEP) from error
        except ValueError as error:  # a key or a text that HTTP or JSON cannot carry
            raise LanguageModelError(f"cannot ask {self._url}: {type(error).__name__}", hint=_NEXT_STEP) from error

    def _read(self, response: httpx.Response, on_text: OnText | None) -> Reply:
        deadline = self._monotonic() + self._timeout
        if response.status_code != 200:
            shown = b"".join(self._bounded(response.iter_bytes(), deadline))[:_SHOWN].decode("utf-8", "replace")
            raise LanguageModelError(
                f"{self._url} answered {response.status_code}: {self._hidden(' '.join(shown.split()))}",
                hint=_HINTS.get(response.status_code, _NEXT_STEP),
            )
        chunks = self._bounded(response.iter_bytes(), deadline)
        if response.headers.get("content-type", "").startswith("application/json"):
            reply = _whole(self._decoded(b"".join(chunks).decode("utf-8-sig", "replace")))
            if on_text is not None:
                on_text(reply.text)
            return reply
        return self._streamed(chunks, on_text)

    def _bounded(self, chunks: Iterable[bytes], deadline: float) -> Iterator[bytes]:
        """Yield the chunks of a body until it is too long or too slow as a whole."""
        size = 0
        for chunk in chunks:
            size += len(chunk)
            if size > _MAX_BYTES:
                raise LanguageModelError(f"{self._url} sent more than {_MAX_BYTES} bytes", hint=_NEXT_STEP)
            if self._monotonic() > deadline:
                raise self._too_slow()
            yield chunk

    def _streamed(self, chunks: Iterable[bytes], on_text: OnText | None) -> Reply:
        pieces: list[str] = []
        characters = _Characters()
        ended = ""

        def hear(text: str) -> None:
            if text:
                pieces.append(text)
                if on_text is not None:
                    on_text(text)

        for data in _events(chunks):
            if data == "[DONE]":
                ended = ended or "stop"
                break
            text, reason = _delta(self._decoded(data))
            hear(characters.whole(text))
            ended = reason or ended
        hear(characters.rest())
        if not ended:
            raise LanguageModelError(f"{self._url} broke off its reply", hint="look at the endpoint's log")
        return Reply("".join(pieces), complete=ended != "length")

    def _decoded(self, data: str) -> dict[str, Any]:
        try:
            value = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise LanguageModelError(f"{self._url} sent what is not JSON", hint=_NEXT_STEP) from error
        if not isinstance(value, dict):
            raise LanguageModelError(f"{self._url} sent {type(value).__name__}, not an object", hint=_NEXT_STEP)
        if value.get("error"):
            raise LanguageModelError(
                f"{self._url} reports: {self._hidden(str(value['error'])[:_SHOWN])}", hint=_NEXT_STEP
            )
        return value

    def _too_slow(self) -> LanguageModelError:
        return LanguageModelError(
            f"{self._url} took more than {self._timeout:g} s",
            hint="raise `memanto config set llm.timeout SECONDS`, or choose a smaller model",
        )

    def _hidden(self, text: str) -> str:
        """Return a text of the endpoint without the key, which some repeat in their errors."""
        return text.replace(self._key, "…") if self._key else text


def _events(chunks: Iterable[bytes]) -> Iterator[str]:
    """Yield the data of server-sent events; comments and other fields are passed over.

    See the HTML standard, section 9.2.6. Only whole lines count: what the end cuts off is dropped.
    """
    pending: list[bytes] = []
    data: list[str] = []
    for chunk in chunks:
        pending.append(chunk)
        if b"\n" not in chunk:  # a long line in many small pieces is put together once
            continue
        *lines, rest = b"".join(pending).replace(b"\r\n", b"\n").split(b"\n")
        pending = [rest]
        for raw in lines:
            line = raw.decode("utf-8", "replace")
            if line.startswith("data:"):
                data.append(line[5:].removeprefix(" "))
            elif not line and data:
                yield "\n".join(data)
                data = []
    if data:
        yield "\n".join(data)


class _Characters:
    """Makes whole characters of texts whose JSON escapes may be halves of a pair, also one half in each of two.

    A half that stays alone becomes U+FFFD: such a text could be neither shown nor stored.
    """

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-16-le")("replace")

    def whole(self, text: str) -> str:
        """Return what is whole of the text, led by what the last one left."""
        return self._decoder.decode(text.encode("utf-16-le", "surrogatepass"))

    def rest(self) -> str:
        """Return what stands for a half that waits in vain."""
        return self._decoder.decode(b"", final=True)


def _delta(value: dict[str, Any]) -> tuple[str, str]:
    """Return the text that a chunk adds, and why the reply ended if it did."""
    choice = _object(_first_choice(value))
    content, reason = _object(choice.get("delta")).get("content"), choice.get("finish_reason")
    return content if isinstance(content, str) else "", reason if isinstance(reason, str) else ""


def _whole(value: dict[str, Any]) -> Reply:
    """Return the reply of an endpoint that does not stream."""
    choice = _object(_first_choice(value))
    content = _object(choice.get("message")).get("content")
    if not isinstance(content, str):
        raise LanguageModelError("the endpoint's reply holds no text", hint=_NEXT_STEP)
    characters = _Characters()
    return Reply(characters.whole(content) + characters.rest(), complete=choice.get("finish_reason") != "length")


def _first_choice(value: dict[str, Any]) -> object:
    choices = value.get("choices")
    return choices[0] if isinstance(choices, list) and choices else None


def _object(value: object) -> dict[str, Any]:
    """Return a JSON object as it is, and nothing for whatever else an endpoint may send in its place."""
    return value if isinstance(value, dict) else {}
