"""Models that fastembed downloads, and runs when this project does not know their pooling."""

from __future__ import annotations

import threading
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from memanto.embedding.checks import check_vectors
from memanto.embedding.onnx import silence_runtime
from memanto.embedding.port import EmbedderIdentity
from memanto.embedding.specs import prefixes_of
from memanto.embedding.weights import Weights
from memanto.errors import EmbedderError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from fastembed import TextEmbedding

_PATIENCE: Final = 4.0
"""Seconds to wait for a sign of life from the hub, whose client would try for 40 before it gives up."""


def offered() -> dict[str, Mapping[str, Any]]:
    """Return fastembed's own descriptions of its embedding models, by lower-case name."""
    silence_runtime()
    from fastembed import TextEmbedding

    return {str(model["model"]).lower(): model for model in TextEmbedding.list_supported_models()}


def download(kind: Literal["embedder", "reranker"], name: str, cache: Path) -> str:
    """Download a model into `cache` with fastembed's progress bar on standard error.

    Returns:
        `""` when the files are there, else the reason why not, for the user. The hub's offline switch
        (`HF_HUB_OFFLINE`) and mirror (`HF_ENDPOINT`) are respected.
    """
    from huggingface_hub import constants

    if constants.HF_HUB_OFFLINE:
        return "HF_HUB_OFFLINE forbids the download"
    if not _answers(constants.ENDPOINT):
        return f"the model hub {constants.ENDPOINT!r} does not answer"
    silence_runtime()
    from fastembed import TextEmbedding
    from fastembed.rerank.cross_encoder import TextCrossEncoder

    load = TextEmbedding if kind == "embedder" else TextCrossEncoder
    try:
        load(name, cache_dir=str(cache), lazy_load=True)
    except Exception as error:  # noqa: BLE001 - the hub's and the HTTP client's errors have no common base
        return f"the download of {name!r} failed: {error}"
    return ""


def _answers(endpoint: str) -> bool:
    """Whether the hub can be reached, proxies of the environment included."""
    try:
        request = urllib.request.Request(endpoint, method="HEAD")  # noqa: S310 - the user's own mirror setting
        with urllib.request.urlopen(request, timeout=_PATIENCE):  # noqa: S310
            return True
    except urllib.error.HTTPError:
        return True  # it refuses this page, but it is there
    except (OSError, ValueError):
        return False


class FastEmbedder:
    """Embeds with any downloaded model that fastembed offers, through fastembed itself."""

    def __init__(self, description: Mapping[str, Any], weights: Weights, cache: Path) -> None:
        self._name = str(description["model"])
        self._dimension = int(description["dim"])
        self._prefixes = prefixes_of(self._name)
        self._weights = weights
        self._cache = cache
        self._lock = threading.Lock()
        self._model: TextEmbedding | None = None

    @cached_property
    def identity(self) -> EmbedderIdentity:
        return EmbedderIdentity(self._name, self._dimension, self._prefixes.rule, self._weights.digest())

    def embed_documents(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        import numpy as np

        if not texts:
            return np.empty((0, self._dimension), np.float32)
        return self._embed([self._prefixes.document + text for text in texts], query=False)

    def embed_query(self, text: str) -> npt.NDArray[np.float32]:
        row: npt.NDArray[np.float32] = self._embed([self._prefixes.query + text], query=True)[0]
        return row

    def _embed(self, texts: list[str], *, query: bool) -> npt.NDArray[np.float32]:
        safe = [text.encode("utf-8", "replace").decode("utf-8") for text in texts]
        try:
            model = self._load()
            embed = model.query_embed if query else model.passage_embed
            # One text per run: neighbours in a batch change the vectors of quantised models.
            vectors = list(embed(safe, batch_size=1))
        except Exception as error:  # fastembed, onnxruntime and tokenizers share no base
            raise EmbedderError(
                f"The model {self._name!r} failed: {error}", hint=f"Remove {str(self._cache)!r} to download it again"
            ) from error
        return check_vectors(vectors, len(texts), self._dimension)

    def _load(self) -> TextEmbedding:
        silence_runtime()
        from fastembed import TextEmbedding

        with self._lock:
            if self._model is None:
                self._model = TextEmbedding(self._name, cache_dir=str(self._cache), threads=1, local_files_only=True)
            return self._model
