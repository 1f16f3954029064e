"""Search by words through a real shard: what must be found, in every script and for every kind of name."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import pytest
import qdrant_edge as qe
from hypothesis import given
from hypothesis import strategies as st

from memanto.engine.bm25 import encode_document, encode_query
from memanto.engine.port import SparseVector

DOCUMENTS = {
    "sushi": "昨日は寿司を食べに行きました。",
    "config": "本番環境の設定ファイルはS3にある",
    "beijing": "会议改到了北京办公室",
    "katakana": "サーバーのログを確認する",
    "glued": "新しいAPIキーをrotateKeysで更新",
    "korean": "데이터베이스에서 오류가 발생했습니다",
    "thai": "เซิร์ฟเวอร์ล่มเพราะหน่วยความจำไม่พอ",
    "cafe": "The team meets in a café in Zürich",
    "plain": "Naive resume of the facade",
    "russian": "Сервер перезагружается каждую ночь",
    "arabic": "الخادم يعيد التشغيل كل ليلة",
    "ticket": "PROJ-482 blocks the release",
    "other ticket": "PROJ-481 shipped with 3 fixes and 482 tests",
    "version": "Pinned to 1.2.3 after the regression",
    "other version": "3.1.2 is broken, 2 of 3 tests fail",
    "camel": "parseConfigFile swallows the exception",
    "snake": "max_retry_count is read once at start",
    "path": "The API schema lives at src/schema/index.ts",
    "email": "Write to ops.team@example.com",
    "url": "Runbook: https://wiki.example.org/on-call/pager_duty",
    "emoji": "🚀🚀 launch done 🎉",
    "hash": "commit " + "0123456789abcdef" * 12 + "01234567",
    "wide": "注文番号は７７１９です",
    "duration": "Timeouts rise from 100ms to 250 ms; limit 1,500 rows",
}


@pytest.fixture(scope="module")
def shard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[qe.EdgeShard]:
    folder: Path = tmp_path_factory.mktemp("lexical")
    parameters = {"bm25": qe.EdgeSparseVectorParams(modifier=qe.Modifier.Idf)}
    shard = qe.EdgeShard.create(str(folder), qe.EdgeConfig(sparse_vectors=parameters))
    points = [
        qe.Point(id=number, vector={"bm25": engine_vector(encode_document(text))}, payload={"name": name})
        for number, (name, text) in enumerate(DOCUMENTS.items())
    ]
    shard.update(qe.UpdateOperation.upsert_points(points))
    yield shard
    shard.close()


def engine_vector(vector: SparseVector) -> qe.SparseVector:
    return qe.SparseVector(indices=list(vector.indices), values=list(vector.values))


def found(shard: qe.EdgeShard, query: str) -> list[str]:
    request = qe.QueryRequest(
        limit=10, with_payload=True, query=qe.Query.Nearest(engine_vector(encode_query(query)), using="bm25")
    )
    return [hit.payload["name"] for hit in shard.query(request) if hit.payload]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("鮨 寿司", "sushi"),
        ("食", "sushi"),
        ("食べ", "sushi"),
        ("を食べに", "sushi"),
        ("設定", "config"),
        ("本番環境", "config"),
        ("設定ファイルの場所", "config"),
        ("北京", "beijing"),
        ("会", "beijing"),
        ("北京办公", "beijing"),
        ("ログ", "katakana"),
        ("ｻｰﾊﾞｰ", "katakana"),
        ("api key", "glued"),
        ("APIキー", "glued"),
        ("rotateKeys", "glued"),
        ("s3", "config"),
        ("데이터베이스", "korean"),
        ("오류", "korean"),
        ("오류를", "korean"),
        ("หน่วยความจำ", "thai"),
        ("ล่ม", "thai"),
        ("cafe", "cafe"),
        ("CAFÉ", "cafe"),
        ("zurich", "cafe"),
        ("Zürich", "cafe"),
        ("naïve résumé", "plain"),
        ("façade", "plain"),
        ("сервер", "russian"),
        ("НОЧЬ", "russian"),
        ("الخادم", "arabic"),
        ("الخادِم", "arabic"),
        ("PROJ-482", "ticket"),
        ("proj_482", "ticket"),
        ("1.2.3", "version"),
        ("config", "camel"),
        ("parseConfigFile", "camel"),
        ("parse_config_file", "camel"),
        ("retry", "snake"),
        ("max_retry_count", "snake"),
        ("maxRetryCount", "snake"),
        ("schema", "path"),
        ("index.ts", "path"),
        ("src/schema/index.ts", "path"),
        ("ops.team@example.com", "email"),
        ("example.com", "email"),
        ("pager duty", "url"),
        ("https://wiki.example.org/on-call/pager_duty", "url"),
        ("launch 🚀", "emoji"),
        ("0123456789abcdef" * 12 + "01234567", "hash"),
        ("7719", "wide"),
        ("100 ms", "duration"),
        ("1500", "duration"),
    ],
)
def test_the_right_text_comes_first(shard: qe.EdgeShard, query: str, expected: str) -> None:
    assert found(shard, query)[0] == expected


@pytest.mark.parametrize(
    ("query", "expected"),
    [("482", {"ticket", "other ticket"}), ("proj", {"ticket", "other ticket"}), ("1.2", {"version", "other version"})],
)
def test_a_part_finds_every_text_that_holds_it(shard: qe.EdgeShard, query: str, expected: set[str]) -> None:
    assert expected <= set(found(shard, query))


@pytest.mark.parametrize("query", ["what is the", "", "   ", "?!…", "🚀", "\ud800", "\u200b"])
def test_a_query_without_words_that_count_finds_nothing(shard: qe.EdgeShard, query: str) -> None:
    assert encode_query(query) == SparseVector((), ())
    assert found(shard, query) == []


def test_a_repeated_word_weighs_more_in_a_document_and_the_same_in_a_query() -> None:
    once, twice = encode_document("ledger"), encode_document("ledger ledger")
    assert twice.indices == once.indices
    assert twice.values[0] > once.values[0]
    assert encode_query("ledger ledger") == encode_query("ledger") == SparseVector(once.indices, (1.0,))


@given(st.text(st.characters(codec=None), max_size=80))
def test_any_text_can_be_encoded(text: str) -> None:
    document, query = encode_document(text), encode_query(text)
    assert set(query.indices) == set(document.indices)
    assert len(document.indices) == len(document.values)
    assert all(math.isfinite(value) and value > 0 for value in document.values)
