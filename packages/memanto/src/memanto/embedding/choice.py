"""Choosing the models: an explicit folder, the package of the extra `offline`, a download, or none."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Generic, Literal, TypeVar

from memanto.embedding import weights
from memanto.embedding.specs import DEFAULT_MODEL, DEFAULT_RERANKER, RERANKER_SOURCE, SPECS, Source
from memanto.embedding.weights import Weights
from memanto.errors import ConfigurationError

if TYPE_CHECKING:
    from memanto.embedding.port import Embedder, Reranker

T_co = TypeVar("T_co", covariant=True)

_NO_PACKAGE: Final = "the package of the extra `offline` is not installed"
_NOT_LOADED: Final = "nothing was downloaded before and downloads are off"


@dataclass(frozen=True, slots=True)
class Choice(Generic[T_co]):
    """The model to use, or why there is none.

    Attributes:
        model: `None` when no files were found.
        reason: For the user when `model` is `None`, as a clause that says what was tried; else `""`.
    """

    model: T_co | None
    reason: str = ""


def default_embedder(
    *, model: str | None = None, folder: Path | None = None, cache: Path, allow_download: bool = False
) -> Choice[Embedder]:
    """Choose the embedder. Loads no model; only a download that is needed and allowed takes time.

    Args:
        model: Public name in any case; the default is `DEFAULT_MODEL`.
        folder: Holds the ONNX file and the tokenizer of the model that `model` names.
        cache: Folder of ours for downloaded models; made when something is downloaded.
        allow_download: Whether the network may be used.

    Raises:
        ConfigurationError: The name is unknown, or the folder holds no model.
    """
    from memanto.embedding.local import OnnxEmbedder

    name = DEFAULT_MODEL if model is None else model
    spec = SPECS.get(name.lower())
    if spec is None:
        if folder is not None:
            raise _unknown(name, (known.name for known in SPECS.values()), "cannot be run from a folder")
        return _by_fastembed(name, cache, allow_download=allow_download)
    if folder is not None:
        return Choice(OnnxEmbedder(spec, weights.in_folder(folder)))
    found, reason = _locate(spec.source, cache, _downloader("embedder", spec.name, cache, allowed=allow_download))
    return Choice(OnnxEmbedder(spec, found) if found else None, reason)


def default_reranker(*, folder: Path | None = None, cache: Path, allow_download: bool = False) -> Choice[Reranker]:
    """Choose the cross-encoder, located like the embedder.

    Raises:
        ConfigurationError: The folder holds no model.
    """
    from memanto.embedding.rerank import CrossEncoder

    if folder is not None:
        return Choice(CrossEncoder(weights.in_folder(folder)))
    download = _downloader("reranker", DEFAULT_RERANKER, cache, allowed=allow_download)
    found, reason = _locate(RERANKER_SOURCE, cache, download)
    return Choice(CrossEncoder(found) if found else None, reason)


def _locate(source: Source, cache: Path, download: Callable[[], str] | None) -> tuple[Weights | None, str]:
    """Return the weights, or `None` and why there are none."""
    tried = []
    if source.packaged:
        if found := weights.packaged(source.packaged):
            return found, ""
        tried.append(_NO_PACKAGE)
    if not source.repository:
        return None, "; ".join([*tried, "it is not offered for download: name a folder that holds it"])
    found = weights.downloaded(source.repository, source.model_file, cache)
    if found is None and download:
        reason = download()
        found = weights.downloaded(source.repository, source.model_file, cache)
        tried.append(reason or "the download left no file where it was expected")
    elif found is None:
        tried.append(_NOT_LOADED)
    return found, "" if found else "; ".join(tried)


def _downloader(
    kind: Literal["embedder", "reranker"], name: str, cache: Path, *, allowed: bool
) -> Callable[[], str] | None:
    def download() -> str:
        from memanto.embedding import hub

        return hub.download(kind, name, cache)

    return download if allowed else None


def _by_fastembed(name: str, cache: Path, *, allow_download: bool) -> Choice[Embedder]:
    from memanto.embedding import hub

    offered = hub.offered()
    description = offered.get(name.lower())
    if description is None:
        names = [*(spec.name for spec in SPECS.values()), *(str(known["model"]) for known in offered.values())]
        raise _unknown(name, names, "is not known")
    source = Source(str(description["sources"]["hf"]), str(description["model_file"]))
    download = _downloader("embedder", str(description["model"]), cache, allowed=allow_download)
    found, reason = _locate(source, cache, download)
    return Choice(hub.FastEmbedder(description, found, cache) if found else None, reason)


def _unknown(name: str, known: Iterable[str], problem: str) -> ConfigurationError:
    import difflib

    names = sorted(set(known), key=str.lower)
    lowered = {candidate.lower(): candidate for candidate in names}
    near = difflib.get_close_matches(name.lower(), lowered, n=3, cutoff=0.5)
    hint = f"Did you mean {' or '.join(repr(lowered[match]) for match in near)}?" if near else ""
    return ConfigurationError(f"The model {name!r} {problem}", hint=hint or f"Known are {', '.join(names[:12])}")
