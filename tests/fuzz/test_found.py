"""What fuzzing found, mended, as examples: each was another error, a hang, or an answer that was not true."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.fuzz.kit import within_cpu
from tests.fuzz.on_wires import _read

from memanto import Embedded, MemantoError
from memanto.config import load_settings, resolve_home, set_value
from memanto.connect import jsonc, tables
from memanto.errors import LONGEST_MESSAGE, ConfigurationError, InvalidInputError, LanguageModelError
from memanto.llm.port import Reply
from memanto.loop.baton import make_baton, parse_baton
from memanto.loop.check_questions import read_questions
from memanto.loop.citations import check_reply
from memanto.loop.failures import Rule, parse_rule
from memanto.loop.fence import neutralised
from memanto.loop.guard import action_text
from memanto.loop.handoff import check_lane
from memanto.loop.parts import split_question
from memanto.memory.terms import index_terms
from memanto.memory.validation import check_limit, check_tags
from memanto.times import from_rfc3339

NOBODY = "~nobody-has-this-name/x"
DEEP = "[" * 100_000


def questions_of(text: str, folder: Path, name: str = "q.yaml") -> Any:
    (folder / name).write_text(text, "utf-8")
    return read_questions(folder / name)


# -- times ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("text", ["2026-W01-1T03:04:05.000006Z", "2026-W531T03:04:05.0000006Z"])
def test_a_week_date_is_no_rfc_3339_though_it_is_as_long(text: str) -> None:
    with pytest.raises(InvalidInputError, match="RFC 3339"):
        from_rfc3339(text)


# -- questions of a check ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize("tagged", ["!!int ''", "!!float ''", "!!bool x", "!!timestamp x", "!!int x", "!!binary x"])
def test_a_value_that_is_not_of_the_type_it_is_tagged_with_is_refused(tagged: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="cannot be read"):
        questions_of(f"- {{question: x, expect: {tagged}}}\n", tmp_path)


def test_aliases_that_stand_for_more_than_fits_into_memory_are_refused(tmp_path: Path) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    with within_cpu(), pytest.raises(InvalidInputError, match=r"alias \*a0 is not supported"):
        questions_of("\n".join(lines), tmp_path)


@pytest.mark.parametrize("age", ["99999999999 years", "9" * 5_000 + " days"])
def test_an_age_beyond_all_time_is_refused(age: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="no span of time"):
        questions_of(f"- {{question: x, max_age: {age}}}\n", tmp_path)


@pytest.mark.parametrize("name", ["q.yaml", "q.json"])
def test_questions_nested_too_deep_are_refused(name: str, tmp_path: Path) -> None:
    with within_cpu(), pytest.raises(InvalidInputError):
        questions_of(DEEP, tmp_path, name)


def test_a_value_of_any_length_makes_a_short_message(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError) as raised:
        questions_of(f"- {{question: x, expect: {{a: {'long ' * 10_000}}}}}\n", tmp_path)
    assert len(raised.value.message) < 300


# -- paths ------------------------------------------------------------------------------------------------------------
def test_a_home_folder_that_there_is_not_is_refused_wherever_a_path_is_given(tmp_path: Path) -> None:
    for call in (
        lambda: read_questions(NOBODY),
        lambda: set_value(tmp_path, "embed_model_path", NOBODY),
        lambda: resolve_home({"MEMANTO_HOME": NOBODY}, tmp_path),
        lambda: load_settings({"MEMANTO_EMBED_MODEL_PATH": NOBODY}, tmp_path, {"home": tmp_path}),
        lambda: Embedded(NOBODY).connect(lambda: datetime.now(UTC)),
    ):
        with pytest.raises(MemantoError, match="home folder that there is not") as raised:
            call()
        assert raised.value.hint


@pytest.mark.parametrize("path", ["a\0b", "\0"])
def test_a_path_with_nul_in_it_is_refused(path: str, tmp_path: Path) -> None:
    for call in (lambda: read_questions(path), lambda: resolve_home({"MEMANTO_HOME": path}, tmp_path)):
        with pytest.raises(MemantoError, match="cannot be a path"):
            call()


# -- settings ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "text", [f"a = {DEEP}", "a = {b = " * 20_000, f"llm_timeout = 1{'0' * 400}", f"{'k' * 9_000} = 1"]
)
def test_a_settings_file_of_any_shape_is_refused_with_a_short_message(text: str, tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text(text, "utf-8")
    with within_cpu(), pytest.raises(ConfigurationError) as raised:
        load_settings({}, tmp_path, {"home": tmp_path})
    assert len(raised.value.message) < 600


def test_a_value_that_is_no_text_is_refused_and_the_file_stays_as_it_is(tmp_path: Path) -> None:
    set_value(tmp_path, "llm_model", "kept")
    before = (tmp_path / "config.toml").read_bytes()
    for name, value in (
        ("llm_model", "\udcff"),
        ("embed_model_path", "caf\udce9"),
        ("llm.base_url", "http://h/\udcff"),
    ):
        with pytest.raises(ConfigurationError, match="cannot be kept"):
            set_value(tmp_path, name, value)
    assert (tmp_path / "config.toml").read_bytes() == before


# -- a language model's stream ----------------------------------------------------------------------------------------
def sent(*values: Any) -> list[bytes]:
    return [f"data: {json.dumps(value)}\n\n".encode() for value in values] + [b"data: [DONE]\n\n"]


def piece(text: str) -> dict[str, Any]:
    return {"choices": [{"delta": {"content": text}}]}


@pytest.mark.parametrize("delta", ["x", 5, ["content"], True])
def test_a_stream_whose_delta_is_no_object_adds_nothing(delta: Any) -> None:
    assert _read(sent({"choices": [{"delta": delta}]}, piece("a")), "text/event-stream") == Reply("a")


@pytest.mark.parametrize("message", ["x", 5, ["content"], True])
def test_a_reply_whose_message_is_no_object_is_an_error_of_ours(message: Any) -> None:
    with pytest.raises(LanguageModelError, match="no text"):
        _read([json.dumps({"choices": [{"message": message}]}).encode()], "application/json")


@pytest.mark.parametrize("kind", ["text/event-stream", "application/json"])
def test_a_stream_nested_too_deep_is_an_error_of_ours(kind: str) -> None:
    with pytest.raises(LanguageModelError, match="not JSON"):
        _read([b"data: " * (kind == "text/event-stream") + DEEP.encode() + b"\n\n"], kind)


def test_halves_of_a_character_are_joined_across_pieces_and_replaced_where_alone() -> None:
    assert _read(sent(piece("a \ud83d"), piece("\ude00 b")), "text/event-stream").text == "a \U0001f600 b"
    alone = sent(piece("a \ud83d"), piece("b \ude00"), piece("\ud83d"))
    assert _read(alone, "text/event-stream").text == "a \ufffdb \ufffd\ufffd"
    whole = json.dumps({"choices": [{"message": {"content": "\ude00 a \ud83d"}}]}).encode()
    assert _read([whole], "application/json").text == "\ufffd a \ufffd"


def test_a_long_line_in_small_pieces_is_put_together_once() -> None:
    data = b"".join(sent(piece("x" * 1_000_000)))
    with within_cpu():
        assert len(_read([data[n : n + 8] for n in range(0, len(data), 8)], "text/event-stream").text) == 1_000_000


# -- triggers ---------------------------------------------------------------------------------------------------------
def test_a_second_then_stays_in_what_is_to_be_done() -> None:
    assert parse_rule("If a fails then do b then c") == Rule("a fails", "do b then c")


@pytest.mark.parametrize("unit", [" ", "\n", "\u201c", "\u2018", "\u00ab", ", ", "\n \t"])
def test_a_trigger_of_one_thing_repeated_takes_no_time(unit: str) -> None:
    with within_cpu():
        parse_rule(f"When it fails{unit * (300_000 // len(unit))}do it")


# -- handoffs ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("unit", ["\n", "\n- ", "\n> ", "- ", "; done", "\nx", "\n#"])
def test_a_handoff_of_one_thing_repeated_takes_no_time(unit: str) -> None:
    with within_cpu():
        parse_baton(f"SESSION HANDOFF\nDone: a{unit * (300_000 // len(unit))}\nNext: b")
        parse_baton(f"SESSION HANDOFF | Done: a{unit * (300_000 // len(unit))}\nNext: b")
        make_baton(done=[unit * (300_000 // len(unit))])


def test_two_items_that_read_as_a_name_together_stay_two() -> None:
    baton = make_baton(done=["Do NOT", "redo: s"], next=["Next", "steps"], state="**", blockers=["- **"])
    assert parse_baton(baton.text()) == baton
    assert baton.done == ("Do NOT", "redo: s")


def test_a_state_in_pieces_that_read_as_a_bullet_together_reads_back_equal() -> None:
    baton = make_baton(state=["4)", "s"], next="x")
    assert parse_baton(baton.text()) == baton


# -- citations --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("unit", [" ", "Ada ", "a", "[1", "x [1]. "])
def test_a_reply_of_one_thing_repeated_takes_no_time_and_no_memory(unit: str) -> None:
    with within_cpu():
        check_reply(f"It is {unit * (300_000 // len(unit))} [1]", {1: "It is Ada."}, "who is it?")
    assert len(index_terms(["a" * 1_000_000]).beginnings) == 0


# -- fences -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "hidden",
    ["\U000e0041", "\U000e0100", "\u115f", "\u3164", "\uffa0", "\u180b", "\u17b5", "\u206a", "\x00", "\x1b", "\x9f"],
)
def test_a_mark_with_invisible_characters_in_it_is_one(hidden: str) -> None:
    for forged in (f"<{hidden}memory id=", f"</mem{hidden}ory>", f"<memor{hidden * 3}ies>"):
        assert "<" not in neutralised(forged)


# -- files of other tools --------------------------------------------------------------------------------------------
@pytest.mark.parametrize("text", ['{"a\\s": 1}', '{"\\ud8": 1}', '{"a": "\\x"}'])
def test_an_escape_that_json_does_not_have_is_refused_in_names_and_values(text: str) -> None:
    with pytest.raises(InvalidInputError, match="malformed"):
        jsonc.parse(text)


def test_settings_that_no_parser_can_hold_are_refused() -> None:
    for text in ("a: !!int ''\n", "a: !!timestamp x\n", "a: " + "[" * 5_000):
        with pytest.raises(InvalidInputError, match="YAML"):
            tables.set_child(text, "extensions", "memanto", {})
    with pytest.raises(InvalidInputError, match="TOML"):
        tables.set_table(f"a = {DEEP}", ("servers", "memanto"), {})


# -- values -----------------------------------------------------------------------------------------------------------
def test_a_number_of_thousands_of_digits_is_refused_like_any_other() -> None:
    with pytest.raises(InvalidInputError, match="limit <int> is not"):
        check_limit(10**5_000)


def test_no_value_makes_a_message_longer_than_anybody_reads() -> None:
    for call in (
        lambda: check_lane("x" * 100_000),
        lambda: check_lane("\udcff" * 100),
        lambda: read_questions("q" * 10_000),
    ):
        with pytest.raises(InvalidInputError) as raised:
            call()
        assert len(raised.value.message) <= LONGEST_MESSAGE
        assert str(raised.value).endswith(raised.value.hint)


def test_a_label_of_piled_up_marks_is_refused_at_once() -> None:
    with within_cpu(), pytest.raises(InvalidInputError):
        check_tags(["a" + "\u0301\u0327" * 500_000])


def test_arguments_that_no_json_can_hold_are_refused() -> None:
    holds_itself: list[Any] = []
    holds_itself.append(holds_itself)
    for args in (holds_itself, {(1, 2): 3}, json.loads("[" * 500 + "]" * 500)):
        try:
            assert action_text("x", None, args)
        except InvalidInputError as error:
            assert error.hint


@pytest.mark.parametrize("unit", [" ", "?", "\uff1f", "? ", "?x"])
def test_a_question_of_one_thing_repeated_takes_no_time(unit: str) -> None:
    with within_cpu(2):
        split_question(f"what{unit * (10_000 // len(unit))}x")
