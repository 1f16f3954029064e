"""What stands between an embedder and the store."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memanto.embedding.checks import check_vectors, checked_documents, checked_query
from memanto.errors import EmbedderError
from memanto.testing import BrokenEmbedder, HashEmbedder

FINITE = st.floats(allow_nan=False, allow_infinity=False)


@given(st.lists(st.lists(FINITE, min_size=3, max_size=3).filter(any), min_size=1, max_size=4))
def test_rows_of_any_length_come_back_with_norm_one(rows: list[list[float]]) -> None:
    checked = check_vectors(rows, len(rows), 3)
    assert checked.dtype == np.float32
    assert np.linalg.norm(checked, axis=1) == pytest.approx(1.0, abs=1e-5)
    largest = np.argmax(np.abs(rows), axis=1, keepdims=True)
    assert (
        np.sign(np.take_along_axis(checked, largest, 1)) == np.sign(np.take_along_axis(np.array(rows), largest, 1))
    ).all()


def test_rows_already_normalised_stay_what_they_are() -> None:
    rows = HashEmbedder().embed_documents(["one", "two words"])
    np.testing.assert_allclose(check_vectors(rows, 2, 64), rows, atol=1e-7)


def test_no_rows_are_fine() -> None:
    assert check_vectors(np.empty((0, 3)), 0, 3).shape == (0, 3)


@pytest.mark.parametrize(
    ("vectors", "complaint"),
    [
        ([[1.0, float("nan")]], "NaN or infinity"),
        ([[1.0, float("inf")]], "NaN or infinity"),
        ([[0.0, 0.0]], "zeros"),
        ([[1.0, 2.0, 3.0]], r"\(1, 3\) instead of \(1, 2\)"),
        ([[1.0, 2.0], [1.0, 2.0]], r"\(2, 2\) instead of \(1, 2\)"),
        ([1.0, 2.0], r"\(2,\) instead of \(1, 2\)"),
        ([["a", "b"]], "no array of numbers"),
        ([[1.0], [1.0, 2.0]], "no array of numbers"),
        (None, "instead of"),
    ],
)
def test_what_cannot_be_a_vector_is_refused(vectors: object, complaint: str) -> None:
    with pytest.raises(EmbedderError, match=complaint):
        check_vectors(vectors, 1, 2)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("kind", "complaint"),
    [
        ("nan", "NaN"),
        ("wrong_size", "shape"),
        ("zeros", "zeros"),
        ("raises", "memanto/broken-raises.*RuntimeError: cannot embed"),
    ],
)
def test_a_misbehaving_embedder_is_reported_not_stored(kind: str, complaint: str) -> None:
    embedder = BrokenEmbedder(kind)  # type: ignore[arg-type]
    with pytest.raises(EmbedderError, match=complaint):
        checked_documents(embedder, ["text"])
    with pytest.raises(EmbedderError, match=complaint):
        checked_query(embedder, "text")


def test_a_sound_embedder_passes() -> None:
    embedder = HashEmbedder()
    assert checked_documents(embedder, ["a", "b"]).shape == (2, 64)
    assert checked_documents(embedder, []).shape == (0, 64)
    assert checked_query(embedder, "a").shape == (64,)
