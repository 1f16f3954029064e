"""What only `ServerEngine` has to get right: errors, secrets, versions, and what it asks a real server for.

Where no real server is at hand, a small HTTP server stands in for the far side of the wire.
"""

from __future__ import annotations

import importlib
import json
import pkgutil
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from tests.conformance.engine_kit import EVERYTHING, add, fresh, point

from memanto.engine.port import Change, Point
from memanto.engine.schema import INDEXED_FIELDS, TIME_FIELDS
from memanto.engine.server import ServerEngine
from memanto.engine.server_client import Connection, foreign_errors, translate
from memanto.engine.server_convert import batches, to_struct
from memanto.errors import (
    BackendError,
    BackendTimeoutError,
    BackendUnavailableError,
    ConfigurationError,
    InvalidInputError,
    MemantoError,
    NotFoundError,
    SchemaMismatchError,
)
from memanto.filters import Where
from memanto.ids import meta_point_id

KEY = "qd-secret-5cd1"
HERE = "http://127.0.0.1:6333"


class Wire(ThreadingHTTPServer):
    """Stands in for a server: answers by method and path (or by a function of the body), and keeps what was asked."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.asked: list[tuple[str, str, Any]] = []
        self.headers: list[str | None] = []
        self.answers: dict[tuple[str, str], tuple[int, Any]] = {
            ("GET", "/"): (200, {"title": "qdrant", "version": "1.19.0"}),
            ("GET", "/collections/memanto/exists"): (200, {"result": {"exists": False}}),
        }

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: Wire

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        path = self.path.split("?")[0]
        self.server.asked.append((self.command, path, json.loads(body) if body else None))
        self.server.headers.append(self.headers.get("api-key"))
        fallback = (200, {"result": {"operation_id": 0, "status": "completed"}})
        status, answer = self.server.answers.get((self.command, path), fallback)
        if callable(answer):
            answer = answer(self.server.asked[-1][2])
        content = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_PUT = do_POST = _answer  # noqa: N815 - the names are the base class's

    def log_message(self, *_: object) -> None:
        """Stay silent."""


@pytest.fixture
def wire() -> Iterator[Wire]:
    server = Wire()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def described(**changes: Any) -> dict[str, Any]:
    """Return a server's description of the collection this version makes."""
    from qdrant_client import QdrantClient

    client = QdrantClient(":memory:")
    client.create_collection("x", vectors_config={})
    info = json.loads(client.get_collection("x").model_dump_json(exclude_none=True))
    client.close()
    info["config"]["metadata"] = {"memanto_schema": 1}
    info["config"]["params"]["sparse_vectors"] = {"bm25": {"modifier": "idf"}}
    info["config"]["params"]["vectors"] = {}
    return {**info, **changes}


def exists(wire: Wire, description: dict[str, Any]) -> None:
    wire.answers["GET", "/collections/memanto/exists"] = (200, {"result": {"exists": True}})
    wire.answers["GET", "/collections/memanto"] = (200, {"result": description})


# -- loading ------------------------------------------------------------------------------------------
def test_importing_the_engine_and_making_one_loads_no_client() -> None:
    code = (
        "import sys; from memanto.engine.server import ServerEngine; ServerEngine('http://localhost:6333');"
        "sys.exit(any(name.split('.')[0] in {'qdrant_client', 'httpx', 'grpc'} for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_two_in_memory_engines_are_two_stores() -> None:
    one, other = ServerEngine(":memory:"), ServerEngine(":memory:")
    one.open()
    other.open()
    fresh(one, "a")
    assert (one.namespaces(), other.namespaces()) == (["a"], [])
    one.close()
    assert other.create("a", {})
    other.close()


def test_an_in_memory_engine_opened_again_begins_anew() -> None:
    engine = ServerEngine(":memory:")
    for _ in range(2):
        engine.open()
        fresh(engine, "a")
        add(engine, "a", point("a", 1, dense=[1.0, 0.0, 0.0, 0.0]))
        engine.close()


def test_calls_of_in_memory_engines_never_overlap() -> None:
    one, other = Connection(":memory:"), Connection(":memory:")
    one.open()
    other.open()
    entered = threading.Event()
    second = threading.Thread(target=lambda: other.run(lambda _: entered.set()))

    def inside(_: object) -> bool:
        second.start()
        return entered.wait(0.05)

    assert not one.run(inside)
    second.join()
    assert entered.is_set()
    one.close()
    other.close()


# -- addresses and secrets ----------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://localhost:6333", "http://localhost:6333"),
        ("localhost:6333", "http://localhost:6333"),
        ("qdrant.example", "http://qdrant.example"),
        (f"https://me:{KEY}@qdrant.example/prefix/", "https://qdrant.example/prefix"),
        (f"https://me:{KEY}/x?y#z@qdrant.example:6334", "https://qdrant.example:6334"),
        (f"https://qdrant.example:6333/?api_key={KEY}#{KEY}", "https://qdrant.example:6333"),
        (f"{KEY}@qdrant.example:6333", "http://qdrant.example:6333"),
        ("http://[::1]:6333", "http://[::1]:6333"),
    ],
)
def test_a_location_is_shown_without_anything_secret(url: str, shown: str) -> None:
    with pytest.raises(BackendUnavailableError, match="not open") as caught:
        ServerEngine(url).namespaces()
    assert f"for {shown} is" in str(caught.value)
    assert KEY not in str(caught.value)


@pytest.mark.parametrize("url", ["", "ftp://host", "http://", "http://host:port", f"redis://me:{KEY}@host"])
def test_a_malformed_address_is_refused_at_once(url: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        ServerEngine(url)
    assert KEY not in str(caught.value)


@pytest.mark.parametrize("timeout", [0.0, -1.0, float("nan"), float("inf")])
def test_a_timeout_is_a_positive_number(timeout: float) -> None:
    with pytest.raises(ConfigurationError, match="timeout"):
        ServerEngine(HERE, timeout=timeout)


@pytest.mark.filterwarnings("ignore:Api key is used with an insecure connection")
@pytest.mark.parametrize("status", [400, 401, 404, 408, 413, 429, 500, 503])
def test_the_key_is_sent_and_never_shown_even_when_the_server_repeats_it(wire: Wire, status: int) -> None:
    wire.answers["GET", "/"] = (status, {"status": {"error": f"bad key {KEY}"}})
    engine = ServerEngine(wire.url, api_key=KEY)
    with pytest.raises(MemantoError) as caught:
        engine.open()
    assert wire.headers == [KEY]
    assert KEY not in str(caught.value)
    assert wire.url in str(caught.value)


# -- reaching a server --------------------------------------------------------------------------------
def test_a_server_that_is_not_there_is_unavailable() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}"
        with pytest.raises(BackendUnavailableError, match="cannot be reached"):
            ServerEngine(url).open()


def test_a_server_that_does_not_answer_times_out() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        with pytest.raises(BackendTimeoutError, match="in time"):
            ServerEngine(f"http://127.0.0.1:{silent.getsockname()[1]}", timeout=0.5).open()


@pytest.mark.parametrize("version", ["1.18.4", "1.9.0", "0.19.0", "unknown", ""])
def test_a_server_that_is_too_old_is_refused_with_the_version_found(wire: Wire, version: str) -> None:
    wire.answers["GET", "/"] = (200, {"title": "qdrant", "version": version})
    with pytest.raises(ConfigurationError, match=r"1\.19 or newer") as caught:
        ServerEngine(wire.url).open()
    assert repr(version) in caught.value.message


@pytest.mark.parametrize("version", ["1.19.0", "1.20.1-dev", "2.0.0"])
def test_a_recent_server_is_accepted_and_only_looked_at(wire: Wire, version: str) -> None:
    wire.answers["GET", "/"] = (200, {"title": "qdrant", "version": version})
    engine = ServerEngine(wire.url)
    engine.open()
    assert engine.namespaces() == []
    with pytest.raises(NotFoundError):
        engine.count("a", Where())
    assert {method for method, _, _ in wire.asked} == {"GET"}
    engine.close()


def test_a_forked_child_speaks_over_a_connection_of_its_own(wire: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = ServerEngine(wire.url)
    engine.open()
    inherited = engine._connection._client
    assert engine.namespaces() == []
    assert engine._connection._client is inherited
    monkeypatch.setattr("memanto.engine.server_client.os.getpid", lambda: -1)
    assert engine.namespaces() == []
    assert engine._connection._client is not inherited
    engine.close()


def test_something_that_is_no_qdrant_server_is_reported(wire: Wire) -> None:
    wire.answers["GET", "/"] = (200, ["hello"])
    with pytest.raises(BackendError):
        ServerEngine(wire.url).open()


# -- the collection -----------------------------------------------------------------------------------
def test_the_collection_is_made_for_many_tenants(wire: Wire) -> None:
    """One collection: a tenant index, graphs per tenant, document frequencies, no graph links by other fields."""
    wire.answers["PUT", "/collections/memanto"] = (200, {"result": True})
    wire.answers["GET", "/collections/memanto"] = (200, {"result": described()})
    wire.answers["POST", "/collections/memanto/points"] = (200, {"result": []})
    engine = ServerEngine(wire.url)
    engine.open()
    assert not engine.create("a", {"kind": "meta"})  # the stand-in keeps nothing, and reading back tells
    engine.close()

    sent = {(method, path): body for method, path, body in wire.asked}
    made = sent["PUT", "/collections/memanto"]
    assert made["sparse_vectors"]["bm25"]["modifier"] == "idf"
    assert (made["hnsw_config"]["m"], made["hnsw_config"]["payload_m"]) == (0, 16)
    bodies = [body for method, path, body in wire.asked if (method, path) == ("PUT", "/collections/memanto/index")]
    indexes = {body["field_name"]: body["field_schema"] for body in bodies}
    assert set(indexes) == {"namespace", "namespace_meta", *INDEXED_FIELDS}
    assert (indexes["namespace"]["type"], indexes["namespace"]["is_tenant"]) == ("keyword", True)
    for field in {*INDEXED_FIELDS, "namespace_meta"}:
        assert indexes[field]["type"] == ("datetime" if field in TIME_FIELDS else "keyword")
        assert indexes[field]["enable_hnsw"] is False
    written = sent["PUT", "/collections/memanto/points"]
    assert written["update_mode"] == "insert_only"
    (meta,) = written["points"]
    assert meta["id"] == str(meta_point_id("a"))
    assert (meta["payload"]["namespace"], meta["payload"]["namespace_meta"]) == ("a", "a")


def test_a_collection_that_something_else_made_is_left_alone(wire: Wire) -> None:
    config = described()["config"]
    foreign: list[tuple[dict[str, Any], str]] = [
        ({"metadata": {}}, "not made by memanto"),
        ({"metadata": {"memanto_schema": 2}}, "schema 2"),
        ({"params": {**config["params"], "sparse_vectors": {}}}, "bm25"),
        ({"params": {**config["params"], "vectors": {"v": {"size": 4, "distance": "Cosine"}}}}, "dot product"),
    ]
    for changes, message in foreign:
        exists(wire, described(config={**config, **changes}))
        with pytest.raises(SchemaMismatchError, match=message):
            ServerEngine(wire.url).open()
    assert {method for method, _, _ in wire.asked} == {"GET"}


def test_missing_indexes_are_a_problem_that_is_named(wire: Wire) -> None:
    exists(wire, described(payload_schema={"type": {"data_type": "keyword", "points": 1}}))
    meta = {"id": str(meta_point_id("a")), "payload": {"namespace": "a"}}
    wire.answers["POST", "/collections/memanto/points"] = (200, {"result": [meta]})
    engine = ServerEngine(wire.url)
    engine.open()
    problems = engine.problems("a")
    engine.close()
    assert len(problems) == len(INDEXED_FIELDS) - 1 + 2
    assert any("'namespace'" in problem for problem in problems)
    assert not any("'type'" in problem for problem in problems)


def test_a_facet_is_asked_for_again_until_every_value_is_in_it(wire: Wire) -> None:
    names = sorted(f"agent-{number}" for number in range(9_500))
    exists(wire, described())
    wire.answers["POST", "/collections/memanto/facet"] = (
        200,
        lambda body: {"result": {"hits": [{"value": name, "count": 1} for name in names[: body["limit"]]]}},
    )
    engine = ServerEngine(wire.url)
    engine.open()
    assert engine.namespaces() == names
    engine.close()
    bodies = [body for _, path, body in wire.asked if path.endswith("/facet")]
    assert {(body["key"], body["exact"]) for body in bodies} == {("namespace_meta", True)}


def test_a_failed_write_is_not_acknowledged(wire: Wire) -> None:
    exists(wire, described())
    wire.answers["PUT", "/collections/memanto/points"] = (500, {"status": {"error": "disk is full"}})
    engine = ServerEngine(wire.url)
    engine.open()
    with pytest.raises(BackendError, match="disk is full"):
        engine.create("a", {})
    engine.close()


# -- payload fields and sizes -------------------------------------------------------------------------
def test_fields_the_engine_keeps_for_itself_are_refused_and_never_shown() -> None:
    engine = ServerEngine(":memory:")
    engine.open()
    fresh(engine, "a", "b")
    each = point("a", 1)
    for field in ("namespace", "namespace_meta"):
        with pytest.raises(InvalidInputError, match=field):
            engine.commit("a", [Change(Point(each.id, {field: "b"}))])
        add_payload = {field: "b"}
        with pytest.raises(InvalidInputError, match=field):
            engine.create("c", add_payload)
        with pytest.raises(InvalidInputError, match=field):
            engine.replace("a", Point(each.id, add_payload), None)
    add(engine, "a", each)
    with pytest.raises(InvalidInputError, match="namespace"):
        engine.set_payload("a", each.id, {"namespace": "b"})
    with pytest.raises(InvalidInputError, match="namespace"):
        engine.commit("a", [Change(point("a", 2), closes=each.id, closing={"namespace": "b"})])
    for found in engine.scan("a", EVERYTHING):
        assert not {"namespace", "namespace_meta"} & found.payload.keys()
    assert (engine.count("a", EVERYTHING), engine.count("b", EVERYTHING)) == (2, 1)
    engine.close()


def test_requests_stay_below_the_limit_of_32_mib() -> None:
    large = [to_struct("a", point("a", number, content="€" * 4_000_000), {}) for number in range(3)]
    small = [to_struct("a", point("a", number, dense=[0.1] * 384), {}) for number in range(2_500)]
    for structs in (large, small):
        split = list(batches(structs))
        assert [each.id for batch in split for each in batch] == [each.id for each in structs]
        for batch in split:
            size = sum(len(json.dumps(each.model_dump(), ensure_ascii=False).encode()) for each in batch)
            assert size <= 32 * 2**20
    assert len(list(batches(small))) < 10


# -- errors -------------------------------------------------------------------------------------------
def _client_errors() -> set[type[Exception]]:
    """Return every exception class that qdrant-client defines, wherever it is."""
    import qdrant_client

    for module in pkgutil.walk_packages(qdrant_client.__path__, "qdrant_client."):
        if not {"fastembed", "embed", "hybrid"} & set(module.name.split(".")) and "fastembed" not in module.name:
            importlib.import_module(module.name)
    found, pending = set(), [Exception]
    while pending:
        for each in pending.pop().__subclasses__():
            pending.append(each)
            if each.__module__.startswith("qdrant_client"):
                found.add(each)
    return found


def test_every_error_class_of_the_client_is_translated() -> None:
    """A gap guard: a class that a new client brings fails here until somebody decides what it means."""
    import grpc  # type: ignore[import-untyped]
    import httpx
    from qdrant_client.common.client_exceptions import QdrantException, ResourceExhaustedResponse
    from qdrant_client.http.exceptions import ApiException, ResponseHandlingException, UnexpectedResponse

    decided: dict[type[Exception], list[tuple[Exception, type[MemantoError]]]] = {
        ApiException: [(ApiException(), BackendError)],
        QdrantException: [(QdrantException("x"), BackendError)],
        ResourceExhaustedResponse: [(ResourceExhaustedResponse("busy", 3), BackendUnavailableError)],
        UnexpectedResponse: [
            (UnexpectedResponse(status, "", b"x", httpx.Headers()), wanted)
            for status, wanted in (
                (400, BackendError),
                (401, ConfigurationError),
                (403, ConfigurationError),
                (404, BackendError),
                (408, BackendTimeoutError),
                (413, BackendError),
                (429, BackendUnavailableError),
                (500, BackendError),
                (502, BackendUnavailableError),
                (503, BackendUnavailableError),
                (504, BackendTimeoutError),
            )
        ],
        ResponseHandlingException: [
            (ResponseHandlingException(httpx.ConnectError("refused")), BackendUnavailableError),
            (ResponseHandlingException(httpx.ReadError("reset")), BackendUnavailableError),
            (ResponseHandlingException(httpx.ReadTimeout("slow")), BackendTimeoutError),
            (ResponseHandlingException(ValueError("not JSON")), BackendError),
        ],
    }
    assert _client_errors() == set(decided)
    others: list[tuple[Exception, type[MemantoError]]] = [
        (httpx.PoolTimeout("busy"), BackendTimeoutError),
        (httpx.ConnectTimeout("slow"), BackendTimeoutError),
        (httpx.RemoteProtocolError("cut"), BackendUnavailableError),
        (httpx.DecodingError("gzip"), BackendError),
        (ConnectionResetError("reset"), BackendUnavailableError),
        (TimeoutError("slow"), BackendTimeoutError),
        (grpc.RpcError(), BackendError),
        (ValueError("local mode"), BackendError),
        (KeyError("local mode"), BackendError),
    ]
    for error, wanted in [case for cases in decided.values() for case in cases] + others:
        assert isinstance(error, foreign_errors())
        assert type(translate(error, HERE)) is wanted, repr(error)
        assert HERE in str(translate(error, HERE))


def test_every_error_of_the_http_library_is_caught() -> None:
    import httpx

    known = [value for value in vars(httpx).values() if isinstance(value, type) and issubclass(value, Exception)]
    assert len(known) > 20
    uncaught = {each.__name__ for each in known if not issubclass(each, foreign_errors())}
    assert uncaught <= {"CookieConflict"}


# -- several writers ----------------------------------------------------------------------------------
def test_engines_that_share_a_server_hand_out_each_time_once() -> None:
    """Two engines on one in-memory client race as two processes do: each keeps its own lock."""
    engines = [ServerEngine(":memory:"), ServerEngine(":memory:")]
    engines[0].open()
    engines[1]._connection = engines[1]._collection._connection = engines[0]._connection
    fresh(engines[0], "a")
    gate = threading.Barrier(4)
    times: list[Any] = []

    def write(number: int) -> None:
        gate.wait()
        for part in range(5):
            times.extend(engines[number % 2].commit("a", [Change(point("a", f"{number}-{part}"))]))

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert None not in times
    assert len(set(times)) == len(times) == 20
    assert engines[0].count("a", EVERYTHING) == 21
    engines[0].close()


def test_a_write_to_a_namespace_that_is_dropped_meanwhile_leaves_nothing_behind() -> None:
    engine = ServerEngine(":memory:")
    engine.open()
    fresh(engine, "a")
    insert = engine._collection.insert

    def drop_first(structs: Any) -> None:
        engine._collection.insert = insert  # type: ignore[method-assign]
        engine.drop("a")
        insert(structs)

    engine._collection.insert = drop_first  # type: ignore[method-assign]
    with pytest.raises(NotFoundError):
        engine.replace("a", point("a", 1), None)
    assert engine.create("a", {})
    assert engine.count("a", EVERYTHING) == 1
    engine.close()
