"""The public doubles of `memanto.testing`."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta, timezone

import numpy as np
import pytest

from memanto.testing import FixedClock, HashEmbedder


def test_the_hash_embedder_is_the_same_everywhere() -> None:
    """Pins the vectors themselves: stores written with them must stay readable."""
    vectors = HashEmbedder(8).embed_documents(["ledger lag", "ünïcode", "", "\ud800"])
    signs = np.packbits(vectors > 0).tobytes() + np.packbits(vectors == 0).tobytes()
    assert hashlib.sha256(signs).hexdigest()[:16] == "c085650f6d41cb03"


def test_texts_that_share_words_are_nearer_than_texts_that_do_not() -> None:
    embedder = HashEmbedder()
    near, far = embedder.embed_documents(["the ledger lags five minutes", "postgres needs a vacuum tonight"])
    query = embedder.embed_query("ledger lags")
    assert query @ near > 0.5 > query @ far


def test_queries_and_documents_share_one_space_and_case_does_not_matter() -> None:
    embedder = HashEmbedder(16)
    np.testing.assert_array_equal(embedder.embed_documents(["Ledger LAG"])[0], embedder.embed_query("lag ledger"))


@pytest.mark.parametrize("dimension", [1, 2, 7, 64, 384])
@pytest.mark.parametrize("text", ["", "one", "one two", "🚀", "a b c d e f"])
def test_every_text_has_a_direction(dimension: int, text: str) -> None:
    vector = HashEmbedder(dimension).embed_query(text)
    assert vector.shape == (dimension,)
    assert vector.dtype == np.float32
    assert np.linalg.norm(vector) == pytest.approx(1.0, abs=1e-6)


def test_the_hash_embedder_needs_a_dimension() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        HashEmbedder(0)


def test_the_clock_stands_still_until_it_is_moved() -> None:
    clock = FixedClock(datetime(2026, 6, 1, tzinfo=UTC))
    assert clock() == clock() == datetime(2026, 6, 1, tzinfo=UTC)
    clock.advance(1.5)
    clock.advance(timedelta(days=1))
    assert clock() == datetime(2026, 6, 2, 0, 0, 1, 500_000, tzinfo=UTC)
    clock.set(datetime(2026, 6, 1, 2, tzinfo=timezone(timedelta(hours=2))))
    assert clock() == datetime(2026, 6, 1, tzinfo=UTC)
    assert clock().tzinfo is UTC


def test_the_clock_refuses_a_moment_without_a_zone() -> None:
    with pytest.raises(ValueError, match="aware"):
        FixedClock(datetime(2026, 6, 1))  # noqa: DTZ001
