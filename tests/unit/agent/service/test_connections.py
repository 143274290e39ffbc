"""Who keeps connections open and says nothing takes neither the places of others nor the agent's files and threads."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry, Counter

from agent.service.connections import MOST_CONNECTIONS, PATIENCE_SECONDS, REQUEST_SECONDS, Connections
from agent.service.httpd import MetricsServer, encode_page

SLOW = 400  # connections, several times as many as there are places


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
