# ruff: noqa: INP001 - a script, run by its path
"""Learn the weights by which the type of a memory is guessed, from the examples in the package.

    python scripts/train_typing.py            # writes typing_model.json
    python scripts/train_typing.py --check    # fails when that file is not what the examples give

Two multinomial logistic regressions with L2 penalty, fitted to the whole set by accelerated gradient steps from zero:
no randomness, so the same examples give the same weights up to rounding. One sees the features of the words, one the
vector. Needs the offline model.
"""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import json
import math
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from memanto.embedding.choice import default_embedder
from memanto.memory import classify, typing_features

FOLDER: Final = Path(classify.__file__).parent
EXAMPLES: Final = FOLDER / "typing_examples.jsonl"
MODEL: Final = FOLDER / "typing_model.json"

SEEN: Final = 2
"""Examples a feature must occur in to get a weight."""
PENALTY: Final = 3e-4
"""Chosen on sentences that are neither examples nor the held-apart ones."""
STEPS: Final = 200
TOLERANCE: Final = 2
"""Hundredths by which a weight may differ between machines: sums are rounded in another order."""

Matrix = npt.NDArray[np.float64]


def examples() -> list[dict[str, str]]:
    """Return the examples in order, each with `type`, `lang` and `text`."""
    return [json.loads(line) for line in EXAMPLES.read_text("utf-8").splitlines()]


def sources() -> str:
    """Return the digest of everything the weights depend on."""
    files = [EXAMPLES, FOLDER / typing_features.CUES, Path(typing_features.__file__), Path(__file__)]
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in files)).hexdigest()


def train() -> dict[str, Any]:
    """Return the model as it is written to the file."""
    rows = examples()
    types = [kind.value for kind in classify.TYPES]
    labels = np.array([types.index(row["type"]) for row in rows])
    names, lexical = _lexical([row["text"] for row in rows])
    weights, bias = _fit(lexical, labels, len(types))
    embedder = default_embedder(cache=Path("no-cache")).model
    if embedder is None:
        raise SystemExit("error: the offline model is not installed; run `make setup`")
    vectors = embedder.embed_documents([row["text"] for row in rows]).astype(np.float64)
    centre = vectors.mean(axis=0)
    directions, dense_bias = _fit(vectors - centre, labels, len(types))
    return {
        "sources": sources(),
        "types": types,
        "bias": _hundredths(bias),
        "weights": {name: row for name, row in zip(names, map(_hundredths, weights), strict=True) if any(row)},
        "prototypes": {
            "embedder": dataclasses.asdict(embedder.identity),
            "bias": _hundredths(dense_bias - centre @ directions),
            "directions": [_hundredths(column) for column in directions.T],
        },
    }


def _lexical(texts: Sequence[str]) -> tuple[list[str], Matrix]:
    """Return the names of the features that count and their values, `(n_texts, n_features)`."""
    found = [typing_features.features(text) for text in texts]
    counts = Counter(name for one in found for name in one)
    names = sorted(name for name, count in counts.items() if count >= SEEN)
    column = {name: index for index, name in enumerate(names)}
    values = np.zeros((len(texts), len(names)))
    for row, one in zip(values, found, strict=True):
        known = [name for name in one if name in column]
        words = [column[name] for name in known if not classify.is_cue(name)]
        row[words] = 1 / math.sqrt(len(words)) if words else 0.0
        row[[column[name] for name in known if classify.is_cue(name)]] = 1.0
    return names, values


def _fit(values: Matrix, labels: npt.NDArray[np.int64], types: int) -> tuple[Matrix, Matrix]:
    """Fit a multinomial logistic regression; returns weights `(n_features, types)` and bias `(types,)`.

    Nesterov's accelerated gradient with the step 1/L, where L bounds the curvature of the loss.
    """
    n, wanted = len(values), np.eye(types)[labels]
    curvature = 0.5 * float(np.linalg.eigvalsh(values @ values.T)[-1]) / n + PENALTY
    weights, bias = np.zeros((values.shape[1], types)), np.zeros(types)
    ahead, ahead_bias, momentum = weights, bias, 1.0
    for _ in range(STEPS):
        odds = values @ ahead + ahead_bias
        shares = np.exp(odds - odds.max(axis=1, keepdims=True))
        error = (shares / shares.sum(axis=1, keepdims=True) - wanted) / n
        new = ahead - (values.T @ error + PENALTY * ahead) / curvature
        new_bias = ahead_bias - error.sum(axis=0)
        following = (1 + math.sqrt(1 + 4 * momentum**2)) / 2
        pull = (momentum - 1) / following
        ahead, ahead_bias = new + pull * (new - weights), new_bias + pull * (new_bias - bias)
        weights, bias, momentum = new, new_bias, following
    return weights, bias


def _hundredths(row: Matrix) -> list[int]:
    return [round(100 * value) for value in row.tolist()]


def difference(old: dict[str, Any], new: dict[str, Any]) -> float:
    """Return the largest difference of two models' weights in hundredths; infinite where they do not correspond."""
    pairs = [
        (old["bias"], new["bias"]),
        (old["prototypes"]["bias"], new["prototypes"]["bias"]),
        *zip(old["prototypes"]["directions"], new["prototypes"]["directions"], strict=True),
        *((old["weights"].get(name, [0] * 13), row) for name, row in new["weights"].items()),
        *((row, new["weights"].get(name, [0] * 13)) for name, row in old["weights"].items()),
    ]
    if any(old[name] != new[name] for name in ("sources", "types")):
        return math.inf
    return float(max(abs(a - b) for one, two in pairs for a, b in zip(one, two, strict=True)))


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the model, or compare it with what the examples give."""
    parser = argparse.ArgumentParser(description="Learn the weights of type guessing from the examples.")
    parser.add_argument("--check", action="store_true", help="compare with the file, write nothing")
    options = parser.parse_args(arguments)
    model = train()
    if options.check:
        return int(difference(json.loads(MODEL.read_text("utf-8")), model) > TOLERANCE)
    lines = json.dumps(model, ensure_ascii=False, separators=(",", ":")).replace("],", "],\n")
    MODEL.write_text(lines + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
