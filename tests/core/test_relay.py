"""Processes that work through the one that has the lease, also when it is killed, stopped, or says nonsense."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import socket
import stat
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import pytest
from tests.core._edge_worker import AGENT, new, point_id
from tests.core._relay_kit import (
    EDGE_WORKER,
    Programs,
    RelayedEngine,
    eventually,
    finish,
    lease_of,
    opened,
    raw,
    read_frame,
)

from memanto.engine import edge_lease, relay_protocol, relay_socket
from memanto.engine.edge import EdgeEngine
from memanto.engine.edge_calls import Commit, Count, Get, Replace, Request
from memanto.engine.port import Change, Point, SparseVector
from memanto.engine.relay_client import RelayClient, Trouble
from memanto.engine.relay_protocol import Envelope, encode_request, frame
from memanto.errors import BackendUnavailableError, InvalidInputError, NotFoundError, StoreLockedError
from memanto.filters import Equals, Where

pytestmark = pytest.mark.skipif(not relay_socket.supported(), reason="no Unix domain sockets: processes take turns")
EVERYTHING = Where()
SOCKETS = """
import os
import stat
for number in range(3, 256):
    try:
        if stat.S_ISSOCK(os.fstat(number).st_mode):
            print(number)
    except OSError:
        pass
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    with opened(tmp_path) as engine:
        assert engine.create(AGENT, {"kind": "meta"})
    return tmp_path


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The socket of a namespace with one point, for tests that must leave it as it is."""
    with opened(tmp_path_factory.mktemp("served")) as engine:
        engine.create(AGENT, {"kind": "meta"})
        with engine.hold(AGENT):
            yield lease_of(engine)._socket


@pytest.fixture
def programs() -> Iterator[Programs]:
    started = Programs()
    yield started
    started.end()


def points(writer: str, count: int) -> list[UUID]:
    return [point_id(writer, number) for number in range(count)]


def reachable(path: Path) -> bool:
    client = RelayClient(path, AGENT)
    found = client.reachable()
    client.close()
    return found


# -- the usual case -------------------------------------------------------------------------------------
def test_a_process_without_the_lease_works_through_the_one_that_has_it(root: Path, programs: Programs) -> None:
    holder = programs.holder(root)
    with opened(root) as engine:
        assert engine.commit(AGENT, [new("a", n) for n in range(3)]).count(None) == 0
        assert engine.commit(AGENT, [new("a", 0), new("a", 3)])[0] is None
        with engine.hold(AGENT), engine.hold(AGENT):
            assert set(engine.get(AGENT, points("a", 9))) == set(points("a", 4))
            assert engine.count(AGENT, EVERYTHING) == 5
        assert engine.info(AGENT).points == 5
        assert engine.problems(AGENT) == []
        with pytest.raises(NotFoundError):
            engine.set_payload(AGENT, UUID(int=1), {"a": 1})
        with pytest.raises(InvalidInputError):
            engine.set_payload(AGENT, UUID(int=1), {"a": float("nan")})
        assert not lease_of(engine).is_mine
    holder.communicate("\n", timeout=60)
    with opened(root) as engine:
        assert engine.count(AGENT, EVERYTHING) == 5
        assert lease_of(engine).is_mine


def test_an_answer_over_the_socket_equals_the_local_one(root: Path) -> None:
    rng = random.Random(3)
    with opened(root) as local:
        relayed = RelayedEngine(root, lock_timeout=60)
        relayed.open()
        local.add_vector_name(AGENT, "v", 8)
        for number in range(60):
            vector = [rng.gauss(0, 1) for _ in range(8)]
            words = SparseVector(tuple(rng.sample(range(30), 4)), tuple(rng.random() for _ in range(4)))
            fields = {"type": rng.choice("ab"), "note": "é\u2028\x00", "deep": {"x": [1, 2.5, None, True, 2**60]}}
            point = Point(point_id("p", number), {"kind": "version", **fields}, {"v": vector}, words)
            engine = rng.choice([local, relayed])
            assert engine.commit(AGENT, [Change(point)])[0]
        for _ in range(10):
            vector = [rng.gauss(0, 1) for _ in range(8)]
            words = SparseVector((1, 2, 3), (1.0, 0.5, 0.25))
            where = rng.choice([EVERYTHING, Where((Equals("type", "a"),))])
            for call in (
                lambda e, v=vector, w=where: e.search_dense(AGENT, "v", v, w, 7),
                lambda e, q=words, w=where: e.search_lexical(AGENT, q, w, 7, corpus=w, fields=["type"]),
                lambda e, w=where: e.scan(AGENT, w, order_by="recorded_at", vectors=True),
                lambda e, w=where: e.count(AGENT, w),
                lambda e, w=where: e.facet(AGENT, "type", w),
                lambda e: e.get(AGENT, points("p", 5), vectors=True),
                lambda e: e.vector_names(AGENT),
            ):
                assert call(relayed) == call(local)
        assert relayed.asked >= 100
        relayed.close()


def test_what_is_relayed_with_full_durability_is_on_the_disk_before_it_is_acknowledged(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forced: list[Path] = []
    monkeypatch.setattr("memanto.engine.edge_shard.sync", forced.append)
    engine = RelayedEngine(root, durability="full", lock_timeout=60)
    engine.open()
    with engine.hold(AGENT):
        engine.commit(AGENT, [new("a", 0)])
        with lease_of(engine).use(60) as shard:
            assert not shard.dirty or shard.folder / "wal" in forced
    engine.close()


def test_a_client_takes_over_when_the_holder_ends_and_serves_in_its_turn(root: Path, programs: Programs) -> None:
    holder = programs.holder(root)
    with opened(root) as engine:
        engine.commit(AGENT, [new("a", 0)])
        assert not lease_of(engine).is_mine
        holder.communicate("\n", timeout=60)
        engine.commit(AGENT, [new("a", 1)])
        assert lease_of(engine).is_mine
        with engine.hold(AGENT):
            assert len(finish(programs.start("write", root, "b", 20, worker=EDGE_WORKER))) == 20
        assert engine.count(AGENT, EVERYTHING) == 23


def test_who_rewrites_files_waits_for_the_lease_and_the_others_follow(root: Path, programs: Programs) -> None:
    holder = programs.holder(root, "have")
    with opened(root) as engine:
        engine.commit(AGENT, [new("a", n) for n in range(3)])
        engine.erase(AGENT, points("a", 1), [new("tombstone", 0)])
        assert lease_of(engine).is_mine
        with engine.hold(AGENT):
            finish(programs.start("write", root, "b", 5, worker=EDGE_WORKER))
        assert engine.count(AGENT, EVERYTHING) == 1 + 2 + 1 + 5
    holder.communicate("\n", timeout=60)


def test_a_process_that_only_takes_turns_gets_one_although_others_keep_asking(root: Path, programs: Programs) -> None:
    with opened(root) as engine:
        engine.count(AGENT, EVERYTHING)
        writers = [programs.start("write", root, f"w{n}", 300, worker=EDGE_WORKER) for n in range(2)]
        for writer in writers:
            assert writer.stdout is not None
            writer.stdout.readline()
        turn = programs.holder(root, "hold", "turns")
        turn.communicate("\n", timeout=60)
        for writer in writers:
            finish(writer)
        assert engine.count(AGENT, EVERYTHING) == 601


def test_close_lets_go_at_once_although_others_keep_asking(root: Path, programs: Programs) -> None:
    with opened(root) as engine:
        engine.count(AGENT, EVERYTHING)
        writers = [programs.start("write", root, f"w{n}", 150, worker=EDGE_WORKER) for n in range(3)]
        for writer in writers:
            assert writer.stdout is not None
            writer.stdout.readline()
        lease = lease_of(engine)
        assert lease.is_mine
    assert not lease.is_mine
    for writer in writers:
        finish(writer)
    with opened(root) as engine:
        assert engine.count(AGENT, EVERYTHING) == 451


def test_threads_of_one_client_ask_side_by_side(root: Path, programs: Programs) -> None:
    programs.holder(root)
    with opened(root) as engine, ThreadPoolExecutor(6) as pool:
        times = list(pool.map(lambda n: engine.commit(AGENT, [new("t", n)])[0], range(60)))
        assert None not in times
        assert len(set(times)) == 60
        assert not lease_of(engine).is_mine


def test_more_clients_than_the_server_takes_wait_for_a_turn(
    root: Path, programs: Programs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memanto.engine.relay_server.MAX_CLIENTS", 0)
    with opened(root) as engine:
        engine.count(AGENT, EVERYTHING)
        assert len(finish(programs.start("write", root, "b", 3, worker=EDGE_WORKER))) == 3


def test_without_the_relay_processes_take_turns(root: Path, programs: Programs) -> None:
    holder = programs.holder(root, "hold", "turns")
    with opened(root, lock_timeout=0.2) as engine:
        assert not any(stat.S_ISSOCK(path.stat().st_mode) for path in root.rglob("*"))
        with pytest.raises(StoreLockedError, match=str(holder.pid)):
            engine.count(AGENT, EVERYTHING)
    holder.communicate("\n", timeout=60)
    programs.holder(root)
    with opened(root, lock_timeout=0.2, relay=False) as engine, pytest.raises(StoreLockedError):
        engine.count(AGENT, EVERYTHING)


def test_engines_with_and_without_relay_share_one_process(root: Path) -> None:
    with opened(root, relay=False) as one, opened(root) as two, one.hold(AGENT), two.hold(AGENT):
        one.commit(AGENT, [new("one", 0)])
        two.commit(AGENT, [new("two", 0)])
        assert one.count(AGENT, EVERYTHING) == two.count(AGENT, EVERYTHING) == 3


def test_nothing_is_left_behind_after_close(root: Path) -> None:
    with opened(root) as engine:
        engine.count(AGENT, EVERYTHING)
        [path] = [path for path in root.rglob("*") if stat.S_ISSOCK(path.stat().st_mode)]
        assert path.stat().st_mode & 0o777 == 0o600
        assert path.parent.stat().st_mode & 0o777 == 0o700
    assert not path.exists()
    eventually(lambda: not [one for one in threading.enumerate() if one.name.startswith(("relay", "lease"))])


def test_a_store_far_down_has_a_socket_too(tmp_path: Path, programs: Programs) -> None:
    root = tmp_path / ("d" * 90) / ("e" * 90)
    with opened(root) as engine:
        engine.create(AGENT, {"kind": "meta"})
    programs.holder(root)
    with opened(root, lock_timeout=5 if sys.platform == "linux" else 0.2) as engine:
        if sys.platform == "linux":
            assert engine.count(AGENT, EVERYTHING) == 1
        else:
            with pytest.raises(StoreLockedError):
                engine.count(AGENT, EVERYTHING)


# -- faults ---------------------------------------------------------------------------------------------
@pytest.mark.slow
def test_eight_processes_write_everything_exactly_once(root: Path, programs: Programs) -> None:
    writers = [programs.start("write", root, f"w{n}", 100, worker=EDGE_WORKER) for n in range(8)]
    assert [len(finish(writer)) for writer in writers] == [100] * 8
    with opened(root) as engine:
        assert engine.count(AGENT, EVERYTHING) == 801
        assert len(engine.get(AGENT, [p for n in range(8) for p in points(f"w{n}", 100)])) == 800


@pytest.mark.slow
@pytest.mark.parametrize("attempt", range(3))
def test_a_holder_killed_while_it_serves_four_loses_nothing_and_doubles_nothing(
    root: Path, programs: Programs, attempt: int
) -> None:
    """Each writer asserts that each of its commits won: one that was carried out and repeated counts as won."""
    holder = programs.holder(root)
    writers = [programs.start("write", root, f"w{n}", 120, worker=EDGE_WORKER) for n in range(4)]
    for writer in writers:
        assert writer.stdout is not None
        for _ in range(20 + attempt * 7):
            writer.stdout.readline()
    holder.kill()
    for writer in writers:
        finish(writer)
    with opened(root) as engine:
        assert engine.count(AGENT, EVERYTHING) == 4 * 120 + 1
        found = engine.get(AGENT, [p for n in range(4) for p in points(f"w{n}", 120)])
        assert len(found) == 480
        assert len({point.payload["token"] for point in found.values()}) == 480


@pytest.mark.parametrize("lost", [1, 2])
def test_a_commit_whose_answer_was_lost_has_won(root: Path, programs: Programs, lost: int) -> None:
    holder = programs.holder(root, "lose-answers", lost)
    with opened(root) as engine:
        if lost == 1:
            assert engine.commit(AGENT, [new("a", 0)])[0] is not None
            assert not lease_of(engine).is_mine
        else:  # a holder that keeps losing them is asked no more
            with ThreadPoolExecutor(1) as pool:
                waiting = pool.submit(engine.commit, AGENT, [new("a", 0)])
                other = EdgeEngine(root, lock_timeout=60)
                eventually(lambda: other.count(AGENT, EVERYTHING) == 2)
                holder.communicate("\n", timeout=60)
                assert waiting.result(timeout=60)[0] is not None
        assert engine.commit(AGENT, [new("a", 0)]) == [None]
        assert engine.count(AGENT, EVERYTHING) == 2


def test_what_was_written_and_lost_its_answer_is_recognised_by_its_token(root: Path) -> None:
    with opened(root) as engine:
        lease, clock = lease_of(engine), lambda: datetime(2026, 5, 1, tzinfo=UTC)

        def perform(call: Commit | Replace, incarnation: int | None = None):
            return lease.perform(Request(call, incarnation=incarnation), clock, 20, ask=False)

        current = engine._place(AGENT).incarnation()
        commit = Commit([new("a", 0), new("a", 1)], ["t0", "t1"])
        first = perform(commit)
        assert perform(commit, current) == first
        assert perform(Commit([new("a", 0), new("a", 2)], ["u0", "u1"]))[0] is None
        slot = Replace(Point(point_id("slot", 0), {"kind": "slot"}), None, "s0")
        assert perform(slot)
        assert perform(slot, current)
        assert not perform(Replace(slot.point, None, "s1"))
        assert perform(Replace(slot.point, "s0", "s2"))
        assert not perform(slot, current), "somebody else has changed it since"
        engine.erase(AGENT, points("a", 1), [])
        with pytest.raises(BackendUnavailableError, match="may or may not") as raised:
            perform(commit, current)
        assert raised.value.retryable
        assert point_id("a", 0) not in engine.get(AGENT, points("a", 3)), "what was erased stays erased"


@pytest.mark.parametrize("go_on", [False, True])
def test_a_holder_that_is_stopped_is_named_and_goes_on_when_it_may(root: Path, programs: Programs, go_on: bool) -> None:
    holder = programs.holder(root)
    with opened(root, lock_timeout=60 if go_on else 0.4) as engine:
        engine.commit(AGENT, [new("a", 0)])
        holder.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, holder.pid, os.WSTOPPED | os.WNOWAIT)
        if go_on:
            with ThreadPoolExecutor(1) as pool:
                waiting = pool.submit(engine.commit, AGENT, [new("a", 1)])
                holder.send_signal(signal.SIGCONT)
                assert waiting.result(timeout=60)[0] is not None
            return
        for _ in range(2):
            with pytest.raises(StoreLockedError, match=f"process {holder.pid} .*may have stored"):
                engine.commit(AGENT, [new("a", 1)])
        holder.send_signal(signal.SIGCONT)
    with opened(root) as engine:
        assert engine.count(AGENT, EVERYTHING) == 2, "a request that nobody waits for any more is not carried out"


def test_a_client_that_dies_in_the_middle_of_a_request_disturbs_nobody(root: Path, programs: Programs) -> None:
    with opened(root) as engine, engine.hold(AGENT):
        path = lease_of(engine)._socket
        request = encode_request(Envelope(Request(Commit([new("dead", 0)], ["t"])), float("1e12")))
        for cut in (1, 4, 5, len(request) // 2, len(request) - 1):
            with raw(path) as connected:
                connected.sendall(request[:cut])
        with raw(path) as connected:
            connected.sendall(request)
            connected.shutdown(socket.SHUT_WR)
            assert read_frame(connected) == b"", "who does not wait for the answer gets nothing done"
        assert finish(programs.start("write", root, "alive", 3, worker=EDGE_WORKER)) == ["0", "1", "2"]
        assert not engine.get(AGENT, points("dead", 1))


@pytest.mark.parametrize(
    "said",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        b"\xff" * 64,
        struct.pack(">I", 2**31) + b"x",
        struct.pack(">I", relay_protocol.MAX_FRAME + 1),
        frame("not a request"),
        frame(["Count", [], False, None, 1e12]),
        frame(["Drop", [[[], []]], False, None, 1e12]),
        frame(["__class__", [], False, None, 1e12]),
        struct.pack(">I", 8) + b"\xff\xfe{}\x00\x00\x00\x00",
        struct.pack(">I", 200_000) + b"[" * 200_000,
        struct.pack(">I", 5_000) + b"1" * 5_000,
    ],
    ids=lambda said: repr(said[:24]),
)
@pytest.mark.parametrize("greeted", [False, True])
def test_nonsense_on_the_socket_ends_that_connection_alone(served: Path, said: bytes, greeted: bool) -> None:
    with raw(served) as good, raw(served, greeted=greeted) as bad:
        with contextlib.suppress(ConnectionError):  # it may be closed before all is said
            bad.sendall(said)
        answer = read_frame(bad)
        assert b"refused" in answer if answer else True
        good.sendall(encode_request(Envelope(Request(Count(EVERYTHING)), 1e12)))
        assert read_frame(good) == b'{"result":1}'


def test_random_bytes_never_disturb_the_server(served: Path) -> None:
    rng = random.Random(11)
    valid = encode_request(Envelope(Request(Get([UUID(int=1)], vectors=True)), 1e12))
    with raw(served) as good:
        for _ in range(100):
            data = bytearray(valid[4:])
            for _ in range(rng.randrange(1, 6)):
                data[rng.randrange(len(data))] = rng.randrange(256)
            with raw(served) as bad:
                bad.sendall(struct.pack(">I", len(data)) + data)
                read_frame(bad)
        good.sendall(encode_request(Envelope(Request(Count(EVERYTHING)), 1e12)))
        assert read_frame(good) == b'{"result":1}'


def test_another_user_is_neither_served_nor_trusted(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(root) as engine, engine.hold(AGENT):
        path = lease_of(engine)._socket
        monkeypatch.setattr(relay_socket, "peer_user", lambda _: os.geteuid() + 1)
        assert not reachable(path)
        with raw(path, greeted=False) as connected:
            assert read_frame(connected) == b""
        monkeypatch.undo()
        assert reachable(path)


@pytest.mark.skipif(sys.platform != "linux", reason="the system does not tell")
def test_the_system_tells_who_is_at_the_other_end() -> None:
    one, other = socket.socketpair()
    with one, other:
        assert relay_socket.peer_user(one) == os.geteuid()


def test_another_version_is_left_alone(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(root) as engine, engine.hold(AGENT):
        path, request = lease_of(engine)._socket, Request(Count(EVERYTHING))
        assert RelayClient(path, "other").ask(request, 20) is Trouble.UNFIT
        client = RelayClient(path, AGENT)
        assert client.ask(request, 20).result == 1
        client.close()
        monkeypatch.setattr("memanto.engine.relay_client.greeting", lambda _: frame({"protocol": 99}))
        assert client.ask(request, 20) is Trouble.UNFIT


def test_what_does_not_fit_a_message_waits_for_a_turn(
    root: Path, programs: Programs, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(root) as engine, engine.hold(AGENT):
        engine.commit(AGENT, [new("a", n) for n in range(30)])
        client = RelayClient(lease_of(engine)._socket, AGENT)
        with monkeypatch.context() as patch:
            patch.setattr(relay_protocol, "MAX_FRAME", 2_000)
            assert client.ask(Request(Commit([new("b", n) for n in range(30)], ["t"] * 30)), 20) is Trouble.UNFIT
            scan = edge_lease.Scan(EVERYTHING, None, True, None, False, None)
            assert client.ask(Request(scan), 20) is Trouble.UNFIT
        monkeypatch.setattr(edge_lease, "MAX_POINTS", 30)
        assert client.ask(Request(scan), 20) is Trouble.UNFIT
        monkeypatch.setattr(edge_lease, "MAX_POINTS", 31)
        assert len(client.ask(Request(scan), 20).result) == 31
        client.close()
    programs.holder(root, "have")
    monkeypatch.setattr(relay_protocol, "MAX_FRAME", 200)
    with opened(root) as engine:
        engine.commit(AGENT, [new("c", n) for n in range(30)])
        assert lease_of(engine).is_mine


@pytest.mark.parametrize("left", ["socket", "file", "folder"])
def test_what_lies_at_the_sockets_place_does_no_harm(root: Path, programs: Programs, left: str) -> None:
    with opened(root) as engine:
        path = lease_of(engine)._socket
    if left == "socket":
        stale = socket.socket(socket.AF_UNIX)
        with relay_socket._address(path) as address:
            stale.bind(address)
        stale.close()
    elif left == "file":
        path.write_text("in the way")
    else:
        path.mkdir()
    with opened(root) as engine:
        assert engine.count(AGENT, EVERYTHING) == 1
        assert lease_of(engine).is_mine
        assert reachable(path) == (left != "folder")
        finish(programs.start("write", root, "b", 2, worker=EDGE_WORKER))
        assert engine.count(AGENT, EVERYTHING) == 3


def test_where_sockets_are_forbidden_processes_take_turns(
    root: Path, programs: Programs, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> socket.socket:
        raise PermissionError("no sockets in this sandbox")

    holder = programs.holder(root, "have")
    monkeypatch.setattr(relay_socket.socket, "socket", refuse)
    with opened(root) as engine:
        assert engine.count(AGENT, EVERYTHING) == 1
        assert lease_of(engine).is_mine
    holder.communicate("\n", timeout=60)


def test_a_listener_that_never_answers_is_given_up_for_a_turn(root: Path) -> None:
    """As a holder whose thread died would be: half of the time is left for the locks."""
    with opened(root, lock_timeout=2) as engine:
        mute = socket.socket(socket.AF_UNIX)
        with relay_socket._address(lease_of(engine)._socket) as address:
            mute.bind(address)
        mute.listen()
        with mute:
            assert engine.commit(AGENT, [new("a", 0)])[0] is not None
        assert lease_of(engine).is_mine


# -- fork -----------------------------------------------------------------------------------------------
def test_a_forked_client_connects_anew(root: Path, programs: Programs) -> None:
    programs.holder(root)
    assert finish(programs.start("fork-as-client", root)) == ["both went on"]


def test_a_child_of_the_holder_keeps_neither_the_socket_nor_the_locks(root: Path, programs: Programs) -> None:
    holder = programs.holder(root, "fork-as-holder")
    assert holder.stdout is not None
    child = int(holder.stdout.readline())
    try:
        with opened(root) as engine:
            engine.commit(AGENT, [new("a", 0)])
            assert not lease_of(engine).is_mine
            holder.send_signal(signal.SIGKILL)
            holder.wait(timeout=60)
            os.kill(child, 0)
            engine.commit(AGENT, [new("a", 1)])
            assert lease_of(engine).is_mine
            assert engine.count(AGENT, EVERYTHING) == 3
    finally:
        os.kill(child, signal.SIGKILL)


def test_starting_a_program_gives_it_no_socket(root: Path) -> None:
    with opened(root) as engine, engine.hold(AGENT):
        engine.count(AGENT, EVERYTHING)
        done = subprocess.run([sys.executable, "-c", SOCKETS], capture_output=True, text=True, check=True)
        assert done.stdout == ""
