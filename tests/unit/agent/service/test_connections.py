"""Who keeps connections open and says nothing takes neither the places of others nor the agent's files and threads."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry, Counter
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from agent.service.connections import MOST_CONNECTIONS, PATIENCE_SECONDS, REQUEST_SECONDS, Connections
from agent.service.httpd import MetricsServer, encode_page

SLOW = 400  # connections, several times as many as there are places
CUT_OFF = {False: SLOW, True: 1000}  # the same that are cut off, by whether they have ended, which leaves no file open
ABOUT_TO_END = 4  # threads that have given their place back and are not gone yet


class Hand:
    """A monotonic clock that is set by hand."""

    now = 100.0

    def __call__(self) -> float:
        """The time."""
        return self.now


@pytest.fixture
def pairs() -> Iterator[list[tuple[socket.socket, socket.socket]]]:
    """Connections: the server's side and the client's."""
    made = [socket.socketpair() for _ in range(4)]
    yield made
    for pair in made:
        for each in pair:
            each.close()


def is_ended(client: socket.socket) -> bool:
    """Whether the server has ended a connection."""
    client.setblocking(False)
    try:
        return client.recv(1) == b""
    except BlockingIOError:
        return False


def test_the_slowest_gives_way(pairs: list[tuple[socket.socket, socket.socket]]) -> None:
    """First who has not asked, the oldest; who is being answered only after some patience; else the new one waits."""
    clock = Hand()
    connections = Connections(clock, most=2)
    (a, at_a), (b, at_b), (c, at_c), (d, _) = pairs
    assert connections.admit(a)
    connections.note_asked(a)
    assert connections.admit(b)
    assert connections.admit(c)
    assert [is_ended(each) for each in (at_a, at_b, at_c)] == [False, True, False]
    connections.note_asked(c)
    assert not connections.admit(d), "both are being answered"
    clock.now += PATIENCE_SECONDS + 0.1
    assert connections.admit(d)
    assert [is_ended(each) for each in (at_a, at_c)] == [True, False]
    connections.forget(d)
    assert len(connections) == 1


def test_who_had_to_go_is_not_served(pairs: list[tuple[socket.socket, socket.socket]]) -> None:
    """Its request may have been read at that very moment; no work is done for it."""
    connections = Connections(Hand(), most=1)
    (a, _), (b, _), *_ = pairs
    connections.admit(a)
    connections.admit(b)
    assert not connections.note_asked(a)
    assert connections.note_asked(b)


def test_who_does_not_ask_in_time_is_ended(pairs: list[tuple[socket.socket, socket.socket]]) -> None:
    """Byte by byte is no request either: the time counts from the beginning, and again from the request."""
    clock = Hand()
    connections = Connections(clock)
    (a, at_a), (b, at_b), *_ = pairs
    connections.admit(a)
    connections.admit(b)
    clock.now += REQUEST_SECONDS - 1
    connections.note_asked(b)
    clock.now += 2
    connections.end_late()
    assert (is_ended(at_a), is_ended(at_b), len(connections)) == (True, False, 1)


def open_files() -> int:
    """Of this process."""
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def test_slow_connections_leave_health_alive() -> None:
    """Hundreds that send half a request: /healthz answers at once, and files and threads stay few."""
    server = MetricsServer(CollectorRegistry(), lambda: (True, "ready"), listen="127.0.0.1", port=0)
    server.start()
    address = ("127.0.0.1", int(server.url.rpartition(":")[2].partition("/")[0]))
    threads, files = threading.active_count(), open_files()
    with contextlib.ExitStack() as opened:
        opened.callback(server.stop)
        for _ in range(SLOW):
            slow = opened.enter_context(socket.create_connection(address, timeout=5))
            with contextlib.suppress(OSError):  # it had to go already
                slow.sendall(b"GET /metrics HTTP/1.0\r\nX: ")
        for _ in range(5):
            began = time.monotonic()
            with socket.create_connection(address, timeout=5) as quick:
                quick.sendall(b"GET /healthz HTTP/1.0\r\n\r\n")
                assert quick.makefile("rb").readline().split()[1] == b"200"
            assert time.monotonic() - began < 2.0
        end = time.monotonic() + 5.0
        while threading.active_count() - threads > MOST_CONNECTIONS and time.monotonic() < end:
            time.sleep(0.05)  # those that had to go are about to
        assert threading.active_count() - threads <= MOST_CONNECTIONS
        assert open_files() - files - SLOW <= MOST_CONNECTIONS


class Slow(Collector):
    """Takes its time, and counts how often it is asked and how many threads there are."""

    asked = 0

    def collect(self) -> Iterator[Metric]:
        """No family."""
        self.asked += 1
        time.sleep(0.02)
        return iter(())

    def describe(self) -> Iterable[Metric]:
        """Nothing in advance."""
        return ()


@pytest.mark.parametrize("end", [False, True])
def test_cut_off_requests_cost_neither_threads_nor_pages(end: bool) -> None:
    """Thousands without a blank line, left open or ended: no page is rendered, and threads never exceed the places."""
    registry, slow = CollectorRegistry(), Slow()
    registry.register(slow)
    server = MetricsServer(registry, lambda: (True, "ready"), listen="127.0.0.1", port=0)
    server.start()
    address = ("127.0.0.1", int(server.url.rpartition(":")[2].partition("/")[0]))
    threads, most = threading.active_count(), 0
    with contextlib.ExitStack() as opened:
        opened.callback(server.stop)
        for _ in range(CUT_OFF[end]):
            cut = socket.create_connection(address, timeout=5)
            if not end:
                opened.callback(cut.close)
            with contextlib.suppress(OSError):  # it had to go already
                cut.sendall(b"GET /metrics HTTP/1.0\r\nHost: 127.0.0.1\r\n")
            if end:
                cut.close()
            most = max(most, threading.active_count() - threads)
        assert slow.asked == 0
        assert most <= MOST_CONNECTIONS + ABOUT_TO_END


class Stuck(Slow):
    """Takes as long as it is held."""

    def __init__(self) -> None:
        self.released = threading.Event()

    def collect(self) -> Iterator[Metric]:
        """No family."""
        self.asked += 1
        self.released.wait(30)
        return iter(())


def test_threads_that_run_on_count() -> None:
    """Connections that waited too long for their page make room, but no thread is started before another one ends."""
    registry, stuck = CollectorRegistry(), Stuck()
    registry.register(stuck)
    server = MetricsServer(registry, lambda: (True, "ready"), listen="127.0.0.1", port=0)
    server.start()
    address = ("127.0.0.1", int(server.url.rpartition(":")[2].partition("/")[0]))
    threads = threading.active_count()

    def ask() -> socket.socket:
        asking = opened.enter_context(socket.create_connection(address, timeout=20))
        asking.sendall(b"GET /metrics HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n")
        return asking

    with contextlib.ExitStack() as opened:
        opened.callback(server.stop)
        opened.callback(stuck.released.set)
        for _ in range(MOST_CONNECTIONS):
            ask()
        time.sleep(PATIENCE_SECONDS + 0.2)
        more = [ask() for _ in range(4)]
        assert more[-1].recv(1) == b"", "there was no place for it"
        assert threading.active_count() - threads <= MOST_CONNECTIONS
        stuck.released.set()
        deadline = time.monotonic() + 10
        while threading.active_count() - threads > 2:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        assert ask().recv(100).startswith(b"HTTP/1.0 200")


def test_no_page_is_made_for_those_that_had_to_go(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three ask and wait for one page; when it can be made at last their time is over: the others get none."""
    monkeypatch.setattr("agent.service.connections.REQUEST_SECONDS", 0.5)
    registry, stuck = CollectorRegistry(), Stuck()
    registry.register(stuck)
    server = MetricsServer(registry, lambda: (True, "ready"), listen="127.0.0.1", port=0)
    server.start()
    address = ("127.0.0.1", int(server.url.rpartition(":")[2].partition("/")[0]))
    threads = threading.active_count()
    with contextlib.ExitStack() as opened:
        opened.callback(server.stop)
        asking = [opened.enter_context(socket.create_connection(address, timeout=20)) for _ in range(3)]
        for each in asking:
            each.sendall(b"GET /metrics HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n")
        assert [each.recv(1) for each in asking] == [b"", b"", b""]
        stuck.released.set()
        deadline = time.monotonic() + 10
        while threading.active_count() > threads:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        assert stuck.asked == 1


@pytest.mark.parametrize(
    "accepted",
    [
        "", "*/*", "text/plain;version=x", "application/openmetrics-text;version=", "text/plain;version=1..0",
        "application/openmetrics-text; version=99.0.0; escaping=no-such", "application/openmetrics-text;version=1.0.0",
        "application/openmetrics-text;version=é", "application/openmetrics-text; version=1.0.0; escaping=allow-utf-8",
        ";=,", "application/openmetrics-text;version=1e99",
    ],
)  # fmt: skip
def test_whatever_a_client_accepts_it_gets_the_page(accepted: str) -> None:
    """A version that is no number, an unknown one, none at all: never an error."""
    registry = CollectorRegistry()
    Counter("hotplace_test", "A figure.", registry=registry).inc()
    page, content_type = encode_page(registry, accepted)
    assert b"hotplace_test_total 1.0" in page
    assert content_type.startswith(("text/plain", "application/openmetrics-text"))
    assert content_type.isprintable()
    assert content_type.isascii()
