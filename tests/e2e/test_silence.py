"""A server that is frozen in the middle of everything: the daemon says so, ends when it is told to, and finds out."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import psutil
import psycopg
import pytest

from agent.demo.server import PrivateServer
from agent.demo.slow_disk import SSD
from tests.e2e.program import Shop, load, wait_until, write_config
from tests.e2e.test_daemon import HOT, cycles, first_proposal, scrape, states

UP = 'hotplace_up{database="shop",engine="postgresql"}'
SAMPLE_SECONDS = 6.0  # no shorter: up to 5 s a cycle may take however often there is one
END_SECONDS = 10.0
pytestmark = [pytest.mark.postgresql, pytest.mark.slow]


def processes_of(server: PrivateServer) -> list[int]:
    """The postmaster and all its children."""
    postmaster = int((server.data / "postmaster.pid").read_text().split()[0])
    return [postmaster, *(child.pid for child in psutil.Process(postmaster).children())]


def mover_of(server: PrivateServer) -> list[int]:
    """The backend that carries out a statement of a move, if one does.

    Not one that looks something up: stopped while it reads a page of the catalog, it would stop who needs that page.
    """
    with psycopg.connect(server.conninfo) as session:
        rows = session.execute(
            "SELECT pid FROM pg_stat_activity WHERE application_name = 'hotplace move' AND state = 'active'"
            " AND query LIKE '/* hotplace move %' AND clock_timestamp() - query_start > interval '300 ms'"
        ).fetchall()
    return [pid for (pid,) in rows]


@contextmanager
def frozen(processes: list[int]) -> Iterator[None]:
    """They are stopped inside, and go on afterwards."""
    for pid in processes:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in processes:
            os.kill(pid, signal.SIGCONT)


def end(daemon: subprocess.Popen[str]) -> float:
    """Tell it to end; how many seconds that took."""
    begun = time.monotonic()
    daemon.send_signal(signal.SIGTERM)
    assert daemon.wait(3 * END_SECONDS) == 0
    return time.monotonic() - begun


def test_a_frozen_server_shows_and_holds_no_end_up(shop: Shop, port: int) -> None:
    """All of PostgreSQL is stopped: hotplace_up is 0 within two cycles, and SIGTERM ends the daemon in ten seconds."""
    write_config(shop.config, shop.server, metrics_port=port)
    shop.config.write_text(shop.config.read_text().replace("sample_every: 500ms", f"sample_every: {SAMPLE_SECONDS}s"))
    with shop.daemon() as daemon:
        wait_until("a good cycle", lambda: cycles(shop) and f"{UP} 1.0" in scrape(port))
        with frozen(processes_of(shop.server)):
            begun = time.monotonic()
            wait_until("the metric", lambda: f"{UP} 0.0" in scrape(port))
            assert time.monotonic() - begun < 2 * SAMPLE_SECONDS + 1.0
            assert scrape(port, "/healthz")
            assert end(daemon) < END_SECONDS
    assert "left to the next start" in shop.log()


@pytest.mark.soak  # in `make test`: a killed agent in test_daemon.py, and tests/contract/test_silence.py
@pytest.mark.parametrize("shop_on_disks", [replace(SSD, bytes_per_second=4e6)], indirect=True, ids=["slow copies"])
def test_a_statement_that_cannot_be_cancelled_is_found_out(shop_on_disks: Shop) -> None:
    """The backend of a move is stopped: SIGTERM ends the daemon; the next one waits for the truth and goes on."""
    shop = shop_on_disks
    with load(shop.server):
        with shop.daemon() as daemon:
            proposal = first_proposal(shop)
            shop.hotplace("approve", str(proposal["id"]), "--yes")
            backends = wait_until("a statement of a move", lambda: mover_of(shop.server))
            with frozen(backends):
                assert end(daemon) < END_SECONDS
                assert states(shop) & {"running", "unknown"}
                assert shop.space_of(HOT) == "pg_default"
        with shop.daemon() as daemon:
            wait_until("every move ended", lambda: not states(shop) & {"approved", "running", "unknown", "precheck"})
            assert end(daemon) < END_SECONDS
    for move in shop.answer("history")["moves"]:
        if move["state"] in {"placed", "settling", "kept"}:
            assert shop.space_of(move["unit"]) == move["to_space"]
    assert shop.hotplace("audit", "verify").returncode == 0
    with psycopg.connect(shop.server.conninfo) as session:
        assert session.execute('SELECT count(*) FROM "Hot Orders"').fetchone() == (30000,)
