"""How often the type of a memory is guessed right, and what it is taken for otherwise.

Two sets. The held-apart sentences: short, 13 types, seven languages, by the author of the examples but written before
them. The project's own log: notes of up to a few sentences, written and typed for another end; one half of them was
read while the last examples were written, the other was not.
"""

from __future__ import annotations

import json
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from tests.benchmarks.harness import ROOT, Bench, Figures, Result, Suite, provenance, register, share, table

from memanto.corpus import load_log
from memanto.memory.classify import classify, prototypes
from memanto.models import MemoryType

_SENTENCES: Final = ROOT / "tests" / "data" / "typing_sentences.jsonl"
_TYPES: Final = [kind.value for kind in MemoryType]
Row = Mapping[str, str]


def run(bench: Bench) -> Figures:
    """Guess with the words alone, and with the default model."""
    from tests.benchmarks.models import offline_models

    sets = {"held apart": sentences(), **log_halves()}
    model, _ = offline_models(bench.cache)
    figures: Figures = {}
    for name, rows in sets.items():
        texts = [row["text"] for row in rows]
        figures[name] = {"words": counted(rows, [None] * len(rows))}
        if model is None or model.identity != prototypes().embedder:
            bench.skip(f"{name} with the default model", "the offline model is not installed")
            continue
        figures[name]["words and vector"] = counted(rows, model.embed_documents(texts).tolist())
    return figures


def sentences() -> list[Row]:
    """Return the held-apart sentences."""
    return [json.loads(line) for line in _SENTENCES.read_text("utf-8").splitlines()]


def log_halves() -> dict[str, list[Row]]:
    """Return the notes of the log, split by a hash of their text."""
    halves: dict[str, list[Row]] = {"log, read before": [], "log, never read": []}
    for entry in load_log():
        if entry.type is not None and entry.content:
            half = list(halves)[zlib.crc32(entry.content.encode()) % 2]
            halves[half].append({"type": entry.type.value, "lang": "", "text": entry.content})
    return halves


def counted(rows: Sequence[Row], vectors: Sequence[Sequence[float] | None]) -> dict[str, Any]:
    """Return how many rows were guessed right, by language too, and every type's guesses."""
    right: Counter[str] = Counter()
    total: Counter[str] = Counter()
    either = 0
    matrix = {kind: dict.fromkeys(_TYPES, 0) for kind in _TYPES}
    for row, vector in zip(rows, vectors, strict=True):
        guess = classify(row["text"], vector)
        matrix[row["type"]][guess.type.value] += 1
        either += row["type"] in (guess.type, guess.runner_up)
        for group in ("all", row["lang"]):
            total[group] += 1
            right[group] += guess.type == row["type"]
    shares = {group: right[group] / count for group, count in sorted(total.items()) if group}
    return {"n": len(rows), "right": shares, "first or second": either / len(rows), "matrix": matrix}


def page(result: Result) -> str:
    """Render the page."""
    rows = [
        [name, way, found["n"], share(found["right"]["all"]), share(found["first or second"]), _languages(found)]
        for name, ways in result.figures.items()
        for way, found in ways.items()
    ]
    header = ["set", "evidence", "n", "right", "first or second", "by language"]
    parts = ["# Guessed types\n", (__doc__ or "").split("\n", 2)[2].strip() + "\n", table(header, rows) + "\n"]
    for name, ways in result.figures.items():
        way, found = list(ways.items())[-1]
        parts.append(f"## Confusion: {name}, {way}\n\nA row is the right type, a column the guess.\n")
        parts.append(_confusion(found["matrix"]) + "\n")
    return "\n".join([*parts, provenance(result)])


def _languages(found: Mapping[str, Any]) -> str:
    return ", ".join(f"{group} {share(value)}" for group, value in found["right"].items() if group != "all")


def _confusion(matrix: Mapping[str, Mapping[str, int]]) -> str:
    rows = [[kind, *(str(guesses[other] or "·") for other in matrix)] for kind, guesses in matrix.items()]
    return table(["", *(kind[:6] for kind in matrix)], rows)


SUITE: Final = register(
    Suite(name="typing", about="Types guessed from texts, with the confusion matrix", run=run, page=page)
)
