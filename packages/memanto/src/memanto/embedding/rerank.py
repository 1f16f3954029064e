"""The cross-encoder that judges query and text together."""

from __future__ import annotations

import math
from collections.abc import Sequence

from memanto.embedding.onnx import OnnxModel
from memanto.embedding.specs import DEFAULT_RERANKER
from memanto.embedding.weights import Weights
from memanto.errors import EmbedderError


class CrossEncoder:
    """Scores pairs with a BERT cross-encoder, one pair at a time (some 10 ms for a paragraph).

    Logits of the default model lie between about -11 (unrelated) and +10 (says the same). A right answer
    may score -5, so they order texts and do not decide whether one answers at all.
    """

    def __init__(self, weights: Weights, *, name: str = DEFAULT_RERANKER) -> None:
        self._name = name
        self._model = OnnxModel(weights)

    @property
    def name(self) -> str:
        return self._name

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return one logit per text, higher is better.

        Raises:
            EmbedderError: The model cannot be loaded or failed.
        """
        logits = [float(self._model.run(query, text).reshape(-1)[0]) for text in texts]
        if not all(map(math.isfinite, logits)):
            raise EmbedderError(f"The reranker {self._name!r} returned NaN or infinity", hint="Check its model files")
        return logits
