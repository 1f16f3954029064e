"""Nothing a user meets is undocumented: commands, settings, errors, names, limits, values (our decision)."""

from __future__ import annotations

import dataclasses
import importlib.util
import re
import sys
from types import ModuleType

import pytest
from tests.docs.pages import DOCS

import memanto
from memanto import errors, models
from memanto.config import SETTING_NAMES
from memanto.config_keys import KEYS
from memanto.embedding.specs import SPECS
from memanto.engine.schema import INDEXED_FIELDS
from memanto.memory import neighbours, ranking
from memanto.memory.splitting import PART_LENGTH
from memanto.memory.trust import TRUST
from memanto.times import MAX_TIME, MIN_TIME, to_rfc3339

REFERENCE = DOCS / "reference"


def text_of(name: str) -> str:
    return (DOCS / name).read_text("utf-8")


def rows(name: str) -> dict[str, list[str]]:
    """Return the cells of every table row of a page by the first code word of the row."""
    found = {}
    for line in text_of(name).splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        words = re.findall(r"`([^`]+)`", cells[0]) if cells else []
        found.update(dict.fromkeys(words, cells))
    return found


@pytest.fixture(scope="module")
def cli_reference() -> ModuleType:
    spec = importlib.util.spec_from_file_location("cli_reference", DOCS / "cli_reference.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_reference_of_commands_is_what_the_commands_say(cli_reference: ModuleType) -> None:
    assert cli_reference.main(["--check"]) == 0, "run: python docs/cli_reference.py"


def test_every_command_is_used_or_named_outside_its_reference(cli_reference: ModuleType) -> None:
    pages = [*DOCS.rglob("*.md"), DOCS.parent / "README.md"]
    prose = "\n".join(page.read_text("utf-8") for page in pages if page != cli_reference.PAGE)
    unused = [path for path in cli_reference.command_paths() if path.removeprefix("memanto ") not in prose]
    assert unused == []


def test_every_setting_is_documented_with_its_variable() -> None:
    table = rows("reference/settings.md")
    assert set(SETTING_NAMES) <= set(table)
    for name, key in KEYS.items():
        assert key.variable in table[name][1]
        assert table[name][2] == key.file


ERRORS = [one for one in vars(errors).values() if isinstance(one, type) and issubclass(one, errors.MemantoError)]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: error.code)
def test_every_error_is_documented_as_it_is(error: type[errors.MemantoError]) -> None:
    _, name, status, retry, _ = rows("reference/errors.md")[error.code]
    assert name.startswith(f"`{error.__name__}`")
    assert (status, retry) == (str(error.exit_code), "yes" if error.retryable else "no")


def test_every_exported_name_has_its_place_in_the_reference() -> None:
    page = text_of("reference/python.md")
    documented = set(re.findall(r"auto(?:class|exception)::\s+memanto\.(\w+)\s*$", page, re.MULTILINE))
    assert documented == set(memanto.__all__)


def test_every_name_that_is_documented_exists() -> None:
    page = text_of("reference/python.md")
    for path in re.findall(r"auto(?:class|exception)::\s+(\S+)", page):
        module, _, name = path.rpartition(".")
        __import__(module)
        assert getattr(sys.modules[module], name).__doc__


@pytest.mark.parametrize(
    ("label", "numbers"),
    [
        ("content", [models.MAX_CONTENT, models.MAX_TEXT]),
        ("part of a split text", [PART_LENGTH]),
        ("title", [models.MAX_TITLE]),
        ("tags", [models.MAX_TAGS, models.MAX_TAG]),
        ("confidence", [models.DEFAULT_CONFIDENCE]),
        ("source", [models.MAX_SOURCE]),
        ("source_ref", [models.MAX_SOURCE_REF]),
        ("key, run_id, actor", [models.MAX_KEY]),
        ("metadata", [models.MAX_METADATA]),
        ("batch", [models.MAX_BATCH]),
        ("query", [models.MAX_QUERY]),
        ("limit of `recall`", [models.MAX_LIMIT, models.DEFAULT_LIMIT]),
    ],
)
def test_the_limits_stated_are_those_that_hold(label: str, numbers: list[float]) -> None:
    [line] = [one for one in text_of("reference/limits.md").splitlines() if one.startswith(f"| {label} |")]
    stated = re.findall(r"\d+(?:,\d{3})*(?:\.\d+)?", line.removeprefix(f"| {label} |"))
    assert [n for n in numbers if f"{n:,}" not in stated] == []


def test_the_range_of_times_is_stated_to_the_microsecond() -> None:
    assert {to_rfc3339(MIN_TIME), to_rfc3339(MAX_TIME)} <= set(re.findall(r"`([^`]+)`", text_of("reference/limits.md")))


def test_every_type_provenance_status_and_field_is_explained() -> None:
    table = rows("reference/memories.md")
    values = [*models.MemoryType, *models.Provenance, *models.Status]
    fields = [field.name for value in (models.Memory, models.Receipt) for field in dataclasses.fields(value)]
    assert [one for one in (*map(str, values), *fields) if one not in table] == []


def test_the_numbers_of_ranking_are_those_of_the_code() -> None:
    page = text_of("explanation/ranking.md")
    assert f"weight / ({ranking.RRF_K} + p)" in page
    assert f"= {ranking.WEAK_WORDS:g} + {1 - ranking.WEAK_WORDS:g} x min(1, " in page
    assert f"terms of the query / {ranking.STRONG_WORDS:g})" in page
    assert f"the best {neighbours.LENDERS} candidates by fusion lends {neighbours.SHARE:g} of its fused score" in page
    assert f"{neighbours.REACH} candidates before and the {neighbours.REACH} after" in page
    assert f"among the best {neighbours.NEIGHBOURHOOD} by fusion" in page
    assert f"the best {ranking.POOL} by meaning" in page
    assert f"the best {ranking.RERANK_POOL} are" in page
    assert f"recency    = {ranking.RECENCY_FLOOR:g} + {1 - ranking.RECENCY_FLOOR:g} x" in page
    assert f"= {ranking.CONFIDENCE_FLOOR:g} + {1 - ranking.CONFIDENCE_FLOOR:.1f} x confidence" in page
    assert f"at least {ranking.NEAR_COPY:g} of its words" in page
    table = rows("explanation/ranking.md")
    stated = {name: table[name][1] for name in map(str, ranking.HALF_LIVES)}
    units = {"hours": 1 / 24, "weeks": 7}
    assert {name: float(n) * units[unit] for name, (n, unit) in ((k, v.split()) for k, v in stated.items())} == {
        str(kind): half_life.total_seconds() / 86_400 for kind, half_life in ranking.HALF_LIVES.items()
    }


def test_the_ranks_of_trust_and_the_indexed_fields_are_those_of_the_code() -> None:
    line = {rank: [one.value for one, r in TRUST.items() if r == rank] for rank in set(TRUST.values())}
    for rank, names in line.items():
        [row] = [one for one in text_of("explanation/concepts.md").splitlines() if one.startswith(f"| {rank} |")]
        assert set(re.findall(r"`(\w+)`", row)) == set(names)
    [indexed] = re.findall(r"These fields are indexed: ([^.]*)\.", text_of("explanation/storage.md"))
    assert re.findall(r"`(\w+)`", indexed) == list(INDEXED_FIELDS)


def test_every_built_in_embedder_is_named() -> None:
    assert [spec.name for spec in SPECS.values() if f"`{spec.name}`" not in text_of("howto/embedder.md")] == []


def _measured_index() -> str:
    """Return the entries of the benchmarks' own index, as the main one would spell them."""
    entries = re.findall(r"^([\w-]+)$", text_of("benchmarks/index.md"), re.MULTILINE)
    return "\n".join(f"benchmarks/{entry}" for entry in entries)


def test_every_page_is_reached_from_the_index() -> None:
    index = text_of("index.md") + "".join(
        f"\n{name}" for name in re.findall(r"^benchmarks/[\w-]+$", _measured_index(), re.MULTILINE)
    )
    pages = {
        page.relative_to(DOCS).with_suffix("").as_posix() for page in DOCS.rglob("*.md") if "_build" not in page.parts
    }
    assert pages - {"index"} == set(re.findall(r"^([\w/-]+)$", index, re.MULTILINE))
