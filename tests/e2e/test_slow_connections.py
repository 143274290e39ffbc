"""Thousands who connect and say nothing: the agent goes on sampling, and tells that it is alive."""

from __future__ import annotations

import os
import resource
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from tests.cli.site import Site
from tests.e2e.program import wait_until
from tests.e2e.test_daemon import scrape

SLOW = int(os.environ.get("HOTPLACE_SLOW_CONNECTIONS", "1000"))  # at the same time; `make soak` opens 5,000
ANSWER_SECONDS = 3.0  # of /healthz, on a busy machine
SAMPLE_SECONDS = 0.5
OURS = 200  # other files of this process


@pytest.fixture
def many_files() -> Iterator[None]:
    """This process may have as many files open as it takes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < SLOW + OURS:
        pytest.skip(f"this process may open {hard} files only")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, SLOW + OURS), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def cycles(port: int) -> float:
    """Samples so far, by the agent's own metric; 0 where the page takes too long."""
    with suppress(TimeoutError):
        lines = [line for line in scrape(port).splitlines() if line.startswith("hotplace_cycles_total{")]
        return sum(float(line.rpartition(" ")[2]) for line in lines)
    return 0.0


def reachable(port: int) -> bool:
    """Whether the agent listens by now."""
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=5):
        return True
    return False


@pytest.mark.slow
@pytest.mark.usefixtures("many_files")
def test_thousands_of_slow_connections_cost_no_sample(tmp_path: Path, port: int) -> None:
    """Half a request from each: /healthz answers in time, and the samples go on."""
    site = Site(tmp_path)
    site.values["metrics"] = {"port": port}
    site.database["sample_every"] = f"{SAMPLE_SECONDS}s"
    site.write()
    with ExitStack() as opened:
        agent = opened.enter_context(site.start("run", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        opened.callback(agent.kill)
        wait_until("samples", lambda: reachable(port) and cycles(port) > 2)
        before = cycles(port)
        for number in range(SLOW):
            slow = opened.enter_context(socket.create_connection(("127.0.0.1", port), timeout=5))
            with suppress(OSError):  # it had to go already
                slow.sendall(b"GET /metrics HTTP/1.0\r\nX: ")
            if number % 250 == 249:
                asked = time.monotonic()
                assert scrape(port, "/healthz") == "alive\n"
                assert time.monotonic() - asked < ANSWER_SECONDS
        during = wait_until("the metrics with all of them open", lambda: cycles(port))
        assert during > before
        wait_until("samples after that", lambda: cycles(port) >= during + 3)
        assert scrape(port, "/readyz") == "ready\n"
