"""The client of endpoints that speak the OpenAI protocol, against a loopback server of it."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest
from tests.loop.llm_stub import (
    DONE,
    STALLS,
    Behaviour,
    LlmStub,
    breaks_off,
    chunk,
    fails,
    runs_out,
    says,
    says_at_once,
    sends,
)

from memanto.composition import configured_model
from memanto.config import load_settings, set_value
from memanto.errors import ConfigurationError, InvalidInputError, LanguageModelError
from memanto.llm.openai import OpenAiModel
from memanto.llm.port import CallableModel, Message, as_model

PROMPT = [Message("system", "Be brief."), Message("user", "Where is Berlin?")]
KEY = "sk-test-4242424242"


def ask(behaviour: Behaviour, **options: object) -> tuple[str, list[str]]:
    """Return the reply to a prompt and the pieces it came in."""
    pieces: list[str] = []
    with LlmStub(behaviour) as stub:
        model = OpenAiModel(stub.url, "tiny", local=True, **{"timeout": 5.0, **options})  # type: ignore[arg-type]
        return model.complete(PROMPT, on_text=pieces.append).text, pieces


def failure(behaviour: Behaviour, **options: object) -> LanguageModelError:
    with pytest.raises(LanguageModelError) as raised:
        ask(behaviour, **options)
    return raised.value


def test_a_streamed_reply_arrives_piece_by_piece_and_whole() -> None:
    text, pieces = ask(says("Berlin is in Germany — and 在 Deutschland."))
    assert text == "".join(pieces) == "Berlin is in Germany — and 在 Deutschland."
    assert len(pieces) > 3


def test_a_reply_that_is_not_streamed_is_taken_too() -> None:
    assert ask(says_at_once("In Germany.")) == ("In Germany.", ["In Germany."])


def test_the_request_names_the_model_the_messages_and_the_bound_on_tokens() -> None:
    with LlmStub(says("x")) as stub:
        OpenAiModel(f"{stub.url}/", "tiny", max_tokens=77, api_key=KEY, local=True).complete(PROMPT)
    [request] = stub.requests
    assert request["path"] == "/v1/chat/completions"
    assert (request["model"], request["max_tokens"], request["stream"]) == ("tiny", 77, True)
    assert request["messages"] == [{"role": m.role, "content": m.text} for m in PROMPT]
    assert stub.headers[0]["authorization"] == f"Bearer {KEY}"


def test_without_a_key_no_authorization_is_sent() -> None:
    with LlmStub(says("x")) as stub:
        OpenAiModel(stub.url, "tiny", local=True).complete(PROMPT)
    assert "authorization" not in stub.headers[0]


@pytest.mark.parametrize("size", [1, 2, 3, 11])
def test_events_are_put_together_wherever_the_network_cuts_them(size: int) -> None:
    body = b": a comment\n\nevent: x\n" + chunk("grün ") + chunk("二") + chunk(reason="stop") + DONE
    pieces = [body[i : i + size] for i in range(0, len(body), size)]
    assert ask(sends(*pieces))[0] == "grün 二"


def test_events_with_carriage_returns_are_read() -> None:
    assert ask(sends((chunk("a") + chunk("b", "stop") + DONE).replace(b"\n", b"\r\n")))[0] == "ab"


def test_a_reply_that_breaks_off_is_an_error() -> None:
    assert "broke off" in failure(breaks_off("Berlin is in")).message


def test_a_reply_cut_by_the_bound_on_tokens_says_so() -> None:
    with LlmStub(runs_out("Berlin is in")) as stub:
        assert not OpenAiModel(stub.url, "tiny", local=True).complete(PROMPT).complete


@pytest.mark.parametrize(
    ("behaviour", "told"),
    [
        (sends(b"data: {not json}\n\n"), "not JSON"),
        (sends(b"data: [1, 2]\n\n"), "not an object"),
        (sends(b"<html>login</html>", content_type="text/html"), "broke off"),
        (sends(b'data: {"error": {"message": "model crashed"}}\n\n'), "model crashed"),
        (sends(b'{"choices": []}', content_type="application/json"), "no text"),
        (sends(b""), "broke off"),
        (fails(500, "oops"), "answered 500: oops"),
        (fails(302, "", location="http://127.0.0.1:9/v1"), "answered 302"),
    ],
)
def test_a_broken_reply_is_an_error_that_tells_what_came(behaviour: Behaviour, told: str) -> None:
    error = failure(behaviour)
    assert told in error.message
    assert error.hint or error.code


@pytest.mark.parametrize(("status", "hint"), [(401, "llm.api_key_env"), (404, "/v1"), (429, "later")])
def test_an_error_status_says_what_to_do(status: int, hint: str) -> None:
    assert hint in failure(fails(status)).hint


def test_a_key_that_the_endpoint_repeats_is_not_shown() -> None:
    error = failure(fails(401, f"Incorrect key {KEY}"), api_key=KEY)
    assert KEY not in str(error)
    assert "Incorrect key" in error.message


def test_an_endpoint_that_says_nothing_is_given_up() -> None:
    assert "took more than 0.2 s" in failure(STALLS, timeout=0.2).message


def test_a_reply_that_drips_is_given_up_as_a_whole() -> None:
    seconds = itertools.count(0, 100)
    error = failure(says("a long reply " * 20), timeout=60.0, monotonic=lambda: float(next(seconds)))
    assert "took more than 60 s" in error.message


def test_an_endless_reply_is_given_up() -> None:
    assert "more than 2000000 bytes" in failure(sends(*[b"data: " + b"x" * 500_000] * 6)).message


def test_an_endpoint_that_is_not_there_is_an_error() -> None:
    with LlmStub(says("x")) as stub:
        url = stub.url
    with pytest.raises(LanguageModelError, match="no reply"):
        OpenAiModel(url, "tiny", local=True).complete(PROMPT)


def test_a_prompt_that_cannot_be_sent_is_an_error() -> None:
    with LlmStub(says("x")) as stub, pytest.raises(LanguageModelError, match="cannot ask"):
        OpenAiModel(stub.url, "tiny", local=True).complete([Message("user", "\ud800")])


def test_a_proxy_of_the_environment_is_left_out_for_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    assert ask(says("direct"))[0] == "direct"


# -- functions --------------------------------------------------------------------------------------
def test_a_function_from_prompt_to_reply_is_a_model() -> None:
    model = as_model(lambda prompt: f"{len(prompt.splitlines())} lines")
    assert isinstance(model, CallableModel)
    assert model.complete(PROMPT).text == "3 lines"


def test_a_function_that_fails_or_returns_no_text_is_an_error() -> None:
    def broken(prompt: str) -> str:
        raise KeyError(prompt)

    with pytest.raises(LanguageModelError, match="broken failed: KeyError"):
        as_model(broken).complete(PROMPT)
    with pytest.raises(LanguageModelError, match="returned int"):
        as_model(len).complete(PROMPT)  # type: ignore[arg-type]


def test_what_is_neither_a_model_nor_a_function_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="neither"):
        as_model("gpt")  # type: ignore[arg-type]


# -- settings ---------------------------------------------------------------------------------------
def test_the_endpoint_is_set_by_dotted_names_and_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with LlmStub(says("configured")) as stub:
        set_value(tmp_path, "llm.base_url", stub.url)
        set_value(tmp_path, "llm.model", "tiny")
        set_value(tmp_path, "llm.api_key_env", "TINY_KEY")
        set_value(tmp_path, "llm.max_tokens", "99")
        monkeypatch.setenv("TINY_KEY", KEY)
        model = configured_model(load_settings({"MEMANTO_HOME": str(tmp_path)}, tmp_path))
        assert model is not None
        assert model.complete(PROMPT).text == "configured"
    assert stub.headers[0]["authorization"] == f"Bearer {KEY}"
    assert stub.requests[0]["max_tokens"] == 99
    assert KEY not in (tmp_path / "config.toml").read_text("utf-8")


def test_the_environment_sets_the_endpoint(tmp_path: Path) -> None:
    environ = {"MEMANTO_HOME": str(tmp_path), "MEMANTO_LLM_BASE_URL": "http://127.0.0.1:1/v1", "MEMANTO_LLM_MODEL": "m"}
    model = configured_model(load_settings(environ, tmp_path))
    assert model is not None
    assert model.name == "m"


def test_nothing_configured_is_no_model_and_half_is_an_error(tmp_path: Path) -> None:
    environ = {"MEMANTO_HOME": str(tmp_path)}
    assert configured_model(load_settings(environ, tmp_path)) is None
    with pytest.raises(ConfigurationError, match="llm_model is set and llm_base_url is not"):
        configured_model(load_settings(environ | {"MEMANTO_LLM_MODEL": "m"}, tmp_path))


@pytest.mark.parametrize("offline", [{"MEMANTO_OFFLINE": "1"}, {"MEMANTO_BACKEND": "on-prem"}])
def test_an_endpoint_elsewhere_is_refused_offline(offline: dict[str, str], tmp_path: Path) -> None:
    environ = {"MEMANTO_HOME": str(tmp_path), "MEMANTO_LLM_MODEL": "m", **offline}
    with pytest.raises(ConfigurationError, match="llm_base_url"):
        load_settings(environ | {"MEMANTO_LLM_BASE_URL": "https://models.example.com/v1"}, tmp_path)
    load_settings(environ | {"MEMANTO_LLM_BASE_URL": "http://localhost:11434/v1"}, tmp_path)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("llm.timeout", "0"),
        ("llm.timeout", "soon"),
        ("llm.max_tokens", "12.5"),
        ("llm.context_tokens", "nan"),
        ("llm.base_url", "ftp://x"),
        ("llm.base_url", "https://user:secret@models.example.com"),
        ("llm.api_key_env", KEY),
    ],
)
def test_a_value_that_makes_no_sense_is_refused_without_showing_a_secret(name: str, value: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError) as raised:
        set_value(tmp_path, name, value)
    assert "secret" not in str(raised.value)
    assert KEY not in str(raised.value)
    assert name in raised.value.message


def test_the_stub_speaks_the_protocol_that_the_client_expects() -> None:
    events = [json.loads(piece[6:]) for piece in says("hello").pieces[:-1]]
    assert [event["choices"][0]["finish_reason"] for event in events] == [None, "stop"]
