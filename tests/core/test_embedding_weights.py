"""Finding the files of models and telling whether they are the right ones."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from memanto.embedding import weights
from memanto.embedding.specs import DEFAULT_MODEL, RERANKER_SOURCE, SPECS, Packaged, Source
from memanto.embedding.weights import Weights
from memanto.errors import ConfigurationError, EmbedderError


def seed(folder: Path, **contents: bytes) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in contents.items():
        (folder / name.replace("__", ".")).write_bytes(content)
    return folder


@pytest.mark.parametrize("source", [SPECS[DEFAULT_MODEL.lower()].source, RERANKER_SOURCE], ids=["embedder", "reranker"])
def test_the_package_of_the_extra_holds_exactly_the_pinned_files(source: Source) -> None:
    assert source.packaged is not None
    found = weights.packaged(source.packaged)
    assert found is not None
    found.verify()
    assert found.digest() == hashlib.sha256(found.path.read_bytes()).hexdigest()


@pytest.mark.parametrize("source", [Packaged("no_such_package", "x", {}), Packaged("json", "no_such_folder", {})])
def test_an_absent_package_or_folder_is_no_error(source: Packaged) -> None:
    assert weights.packaged(source) is None


def test_a_changed_file_is_named(tmp_path: Path) -> None:
    seed(tmp_path, model__onnx=b"weights", tokenizer__json=b"{}")
    pins = {
        "model.onnx": hashlib.sha256(b"weights").hexdigest(),
        "tokenizer.json": hashlib.sha256(b"{ }").hexdigest(),
    }
    with pytest.raises(EmbedderError, match=r"tokenizer\.json"):
        Weights(tmp_path, "model.onnx", pins).verify()


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(EmbedderError, match=r"model\.onnx.*cannot be read"):
        Weights(tmp_path, "model.onnx", {"model.onnx": "0" * 64}).verify()


def test_weights_beside_the_onnx_file_count_as_part_of_it(tmp_path: Path) -> None:
    seed(tmp_path, model__onnx=b"graph")
    alone = Weights(tmp_path, "model.onnx").digest()
    seed(tmp_path, model__onnx_data=b"tensors")
    assert alone == hashlib.sha256(b"graph").hexdigest()
    assert Weights(tmp_path, "model.onnx").digest() == hashlib.sha256(b"graphtensors").hexdigest()


def test_a_folder_is_taken_with_any_usual_file_name(tmp_path: Path) -> None:
    folder = seed(tmp_path, model_optimized__onnx=b"graph", tokenizer__json=b"{}")
    assert weights.in_folder(folder).path == folder / "model_optimized.onnx"


@pytest.mark.parametrize("present", [[], ["model__onnx"], ["tokenizer__json"]])
def test_a_folder_without_a_model_is_refused_by_name(tmp_path: Path, present: list[str]) -> None:
    seed(tmp_path, **dict.fromkeys(present, b"{}"))
    with pytest.raises(ConfigurationError, match=r"tokenizer\.json") as caught:
        weights.in_folder(tmp_path)
    assert str(tmp_path) in caught.value.message


def test_a_download_is_found_at_its_current_revision(tmp_path: Path) -> None:
    root = tmp_path / "models--Owner--name"
    seed(root / "snapshots" / "old", model__onnx=b"old")
    seed(root / "snapshots" / "new", model__onnx=b"new")
    assert weights.downloaded("Owner/name", "model.onnx", tmp_path) is None
    seed(root / "refs", main=b"new\n")
    found = weights.downloaded("Owner/name", "model.onnx", tmp_path)
    assert found is not None
    assert found.path.read_bytes() == b"new"
    assert weights.downloaded("Owner/name", "other.onnx", tmp_path) is None
    assert weights.downloaded("Owner/other", "model.onnx", tmp_path) is None
