"""The HTTP side: three paths, loopback, and a clear error for a taken address."""

from __future__ import annotations

import gzip
import socket
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from http import HTTPStatus

import pytest
from prometheus_client import CollectorRegistry, Gauge

from agent.service.connections import CannotListen
from agent.service.httpd import Answer, Audience, MetricsServer, is_loopback
from tests.over import over


class Answers:
    """A readiness that the test changes."""

    ready = True
    asked_by: threading.Thread | None = None

    def __call__(self) -> tuple[bool, str]:
        """Ready or not, and a sentence."""
        self.asked_by = threading.current_thread()
        return self.ready, "ready" if self.ready else "no fresh sample of shop"


@pytest.fixture
def readiness() -> Answers:
    """Ready until a test says otherwise."""
    return Answers()


@pytest.fixture
def server(readiness: Answers) -> Iterator[MetricsServer]:
    """A server on a free port with one gauge."""
    registry = CollectorRegistry()
    Gauge("hotplace_test_ratio", "A figure.", registry=registry).set(0.5)
    server = MetricsServer(registry, readiness, listen="127.0.0.1", port=0)
    server.start()
    yield server
    server.stop()


def get(server: MetricsServer, path: str) -> tuple[int, str]:
    """Status and body of a GET."""
    url = server.url.replace("/metrics", path)
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def test_metrics_are_served(server: MetricsServer) -> None:
    """/metrics renders the registry, with or without a query."""
    assert get(server, "/metrics")[0] == 200
    assert "hotplace_test_ratio 0.5" in get(server, "/metrics?x=1")[1]


def test_whoever_takes_gzip_gets_the_page_packed(server: MetricsServer) -> None:
    """Prometheus asks for gzip and gets the same page packed; /healthz stays plain."""
    for path, packed in (("/metrics", True), ("/healthz", False)):
        url = server.url.replace("/metrics", path)
        with urllib.request.urlopen(
            urllib.request.Request(url, headers={"Accept-Encoding": "gzip"}), timeout=5
        ) as page:
            body = page.read()
            assert (page.headers["Content-Encoding"] == "gzip") is packed
            assert (gzip.decompress(body) if packed else body).decode() == get(server, path)[1]


def test_health_and_readiness(server: MetricsServer, readiness: Answers) -> None:
    """/healthz says alive; /readyz follows the daemon and says why not."""
    assert get(server, "/healthz") == (200, "alive\n")
    assert get(server, "/readyz") == (200, "ready\n")
    readiness.ready = False
    assert get(server, "/readyz") == (503, "no fresh sample of shop\n")


def test_requests_hold_no_process_up(server: MetricsServer, readiness: Answers) -> None:
    """Each is answered by a daemon thread: a client that reads slowly does not keep the agent from ending."""
    get(server, "/readyz")
    assert readiness.asked_by is not None
    assert readiness.asked_by.daemon


def test_other_paths_are_not_found(server: MetricsServer) -> None:
    """A wrong path is told the right ones."""
    status, body = get(server, "/")
    assert status == 404
    assert "/metrics" in body


def test_a_taken_address_is_a_clear_error(server: MetricsServer, readiness: Answers) -> None:
    """The error names address and port, and what to do."""
    port = int(server.url.rsplit(":", 1)[1].split("/")[0])
    with pytest.raises(CannotListen, match=str(port)) as caught:
        MetricsServer(CollectorRegistry(), readiness, listen="127.0.0.1", port=port)
    assert "metrics.port" in caught.value.advice


OTHER_SITES = [
    "evil.example", "evil.example:9477", "127.0.0.1.evil.example", "", "localhost.evil", "[127.0.0.1]evil.com",
    "[::1]evil.com:9477", "127.0.0.1:evil.com", "127.0.0.1:9477:evil.com", "127.0.0.1@evil.com", "evil.com/127.0.0.1",
    "[localhost]", "localhost evil.com", "127.0.0.1\t", "127.1", "0x7f000001", "[::1", "::1", "10.0.0.1",
]  # fmt: skip
HERE = [
    "127.0.0.1",
    "127.0.0.1:9477",
    "127.8.7.6:1",
    "localhost",
    "LOCALHOST:9477",
    "[::1]",
    "[::1]:9477",
    "localhost:",
]


def ask(server: MetricsServer, request: str, *, end: bool = False) -> bytes:
    """What comes back for exactly these bytes; with ``end`` the client says that no more will come."""
    address = server.url.split("/")[2].partition(":")
    with socket.create_connection((address[0], int(address[2])), timeout=10) as asking:
        asking.sendall(request.encode("latin-1"))
        if end:
            asking.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: asking.recv(65536), b""))


def status_of(answer: bytes) -> int:
    """The status of an answer."""
    return int(answer.split(maxsplit=2)[1])


@over("host", OTHER_SITES)
def test_another_sites_name_is_no_loopback(host: str) -> None:
    """A name around an address, a port that is none, spellings that resolvers know: none is taken for this machine."""
    assert not is_loopback(host)
    assert not Audience().is_told(host, "127.0.0.1")


@pytest.mark.parametrize("host", HERE)
def test_names_of_loopback_are_answered(host: str) -> None:
    """With or without a port, in any spelling that is an address of it."""
    assert is_loopback(host)
    assert Audience().is_told(host, "192.0.2.7")


def test_who_may_ask_under_which_name() -> None:
    """The address that was reached and configured names; with a password or a certificate any name."""
    assert Audience().is_told("192.0.2.7:9477", "192.0.2.7")
    assert not Audience().is_told("192.0.2.8:9477", "192.0.2.7")
    assert Audience(hosts=("DB1.example",)).is_told("db1.Example:9477", "192.0.2.7")
    assert not Audience(hosts=("db1.example",)).is_told("[db1.example]", "192.0.2.7")
    for audience in (Audience("eva:horse"), Audience(has_certificate=True)):
        assert audience.is_told("evil.example", "192.0.2.7")


def test_another_site_reads_nothing_through_a_browser(readiness: Answers) -> None:
    """Every path but /healthz is closed to a name that was made to resolve to this machine; a password comes first."""
    paths = ("/metrics", "/readyz", "/", "/api/v1/openapi.json", "/metrics?x=1", "/nothing")
    for expected, host, status in (
        ("", "evil.example:9477", 403), ("", "localhost:9477", 200), ("", "db1.example", 200),
        ("a:b", "evil.example", 401),
    ):  # fmt: skip
        server = MetricsServer(
            CollectorRegistry(), readiness, listen="127.0.0.1", port=0, expected=expected, hosts=["db1.example"],
            pages=lambda _: Answer(HTTPStatus.OK, b"a page"),
        )  # fmt: skip
        server.start()
        try:
            for path in paths:
                answer = ask(server, f"GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n")
                assert status_of(answer) == status, (path, host)
                assert status != 403 or b"metrics.hosts" in answer
            assert status_of(ask(server, f"GET /healthz HTTP/1.1\r\nHost: {host}\r\n\r\n")) == 200
        finally:
            server.stop()


@pytest.mark.parametrize(
    "headers", ["", "Host: evil.example\r\nHost: 127.0.0.1\r\n", "Host: 127.0.0.1\r\nHost: evil.example\r\n"]
)
def test_a_request_names_one_host(server: MetricsServer, headers: str) -> None:
    """None or two, of which one is ours: closed."""
    assert status_of(ask(server, f"GET /metrics HTTP/1.1\r\n{headers}\r\n")) == 403


CUT_OFF = [
    "GET /readyz", "GET /readyz HTTP/1.0\r\n", "GET /readyz HTTP/1.0\r\nHost: 127.0.0.1\r\n", "GET /readyz\r\n",
    "GET /readyz HTTP/1.0\r\nHost: 127.0.0.1\r\nX: ", f"GET /readyz HTTP/1.0\r\nX: {200_000 * 'x'}",
]  # fmt: skip


@pytest.mark.parametrize("cut_off", CUT_OFF, ids=range(len(CUT_OFF)))
def test_only_a_whole_request_is_answered(server: MetricsServer, readiness: Answers, cut_off: str) -> None:
    """One whose headers are cut off, or never end, gets nothing and costs nothing."""
    try:
        assert ask(server, cut_off, end=True) == b""
    except OSError:
        assert len(cut_off) > 100_000  # closed while more of it came, or before its end could be told
    assert readiness.asked_by is None
    assert status_of(ask(server, "GET /readyz HTTP/1.0\r\nHost: 127.0.0.1\n\n")) == 200
