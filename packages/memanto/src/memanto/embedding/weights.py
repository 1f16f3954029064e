"""Where the files of a model are, found without importing anything that could run it."""

from __future__ import annotations

import hashlib
import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from memanto.embedding.specs import Packaged
from memanto.errors import ConfigurationError, EmbedderError

_USUAL_FILES: Final = ("model.onnx", "model_optimized.onnx", "onnx/model.onnx")


@dataclass(frozen=True, slots=True)
class Weights:
    """The files of one model.

    Attributes:
        folder: Holds the ONNX file, `tokenizer.json` and `tokenizer_config.json`.
        model_file: Path of the ONNX file inside the folder.
        digests: Pinned SHA-256 by file name; empty when nothing is pinned.
    """

    folder: Path
    model_file: str
    digests: Mapping[str, str] = field(default_factory=dict)

    @property
    def path(self) -> Path:
        return self.folder / self.model_file

    def digest(self) -> str:
        """Return the SHA-256 of the weights: the pinned one, else computed (about 0.7 ms per MB).

        Weights in a second file beside the ONNX file (`<name>_data`) count as its continuation.

        Raises:
            EmbedderError: A file cannot be read.
        """
        pinned = self.digests.get(self.model_file)
        return pinned or _sha256(self.path, self.path.with_name(self.path.name + "_data"))

    def verify(self) -> None:
        """Compare every pinned file with its SHA-256.

        Done at each load and never remembered: 34 MB take some 25 ms, less than keeping a record of earlier
        checks in step with the files would be worth.

        Raises:
            EmbedderError: A file is missing or differs.
        """
        for name, expected in self.digests.items():
            path = self.folder / name
            found = _sha256(path)
            if found != expected:
                raise EmbedderError(
                    f"The model file {str(path)!r} is not the one expected: "
                    f"sha256 {found[:12]}… instead of {expected[:12]}…",
                    hint="Reinstall the package that holds it, or name a folder with a model of your own",
                )


def packaged(source: Packaged) -> Weights | None:
    """Return the weights inside an installed package, or `None` when it or its folder is not there."""
    spec = importlib.util.find_spec(source.package)
    for root in (spec.submodule_search_locations or ()) if spec else ():
        folder = Path(root, source.folder)
        if folder.is_dir():
            return Weights(folder, "model.onnx", source.digests)
    return None


def in_folder(folder: Path) -> Weights:
    """Return the weights in a folder that the user named.

    Raises:
        ConfigurationError: The folder is missing, or lacks an ONNX file under a usual name or the tokenizer.
    """
    for name in _USUAL_FILES:
        if (folder / name).is_file() and (folder / "tokenizer.json").is_file():
            return Weights(folder, name)
    raise ConfigurationError(
        f"No model in the folder {str(folder)!r}",
        hint=f"It must hold tokenizer.json, tokenizer_config.json and one of {', '.join(_USUAL_FILES)}",
    )


def downloaded(repository: str, model_file: str, cache: Path) -> Weights | None:
    """Return the weights that fastembed downloaded into `cache` earlier, or `None`.

    Reads the documented layout of the model hub's cache (`models--<owner>--<name>`, `refs/main` naming the
    current one of `snapshots/`), because asking the hub's own client costs half a second of imports.
    """
    root = cache / f"models--{repository.replace('/', '--')}"
    try:
        revision = (root / "refs" / "main").read_text(encoding="utf-8").strip()
    except OSError:
        return None
    folder = root / "snapshots" / revision
    return Weights(folder, model_file) if revision and (folder / model_file).is_file() else None


def _sha256(path: Path, continuation: Path | None = None) -> str:
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            hashlib.file_digest(file, lambda: digest)
        if continuation is not None and continuation.is_file():
            with continuation.open("rb") as file:
                hashlib.file_digest(file, lambda: digest)
    except OSError as error:
        raise EmbedderError(
            f"The model file {str(path)!r} cannot be read: {error.strerror}",
            hint="Check the installation of the model, or name a folder with a model of your own",
        ) from error
    return digest.hexdigest()
