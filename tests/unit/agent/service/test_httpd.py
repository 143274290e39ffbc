"""The HTTP side: three paths, loopback, and a clear error for a taken address."""

from __future__ import annotations

import gzip
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator

import pytest
from prometheus_client import CollectorRegistry, Gauge

from agent.service.connections import CannotListen
from agent.service.httpd import MetricsServer


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
