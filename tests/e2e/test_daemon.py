"""The normal life: the daemon watches, proposes, is told to go on, moves, measures, reloads and stops."""

from __future__ import annotations

import signal
import subprocess
import urllib.error
import urllib.request
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest

from agent.demo.slow_disk import SSD
from tests.e2e.program import PROGRAM, Shop, load, wait_until, write_config

HOT = 'public."Hot Orders"'
pytestmark = [pytest.mark.postgresql, pytest.mark.slow]


def first_proposal(shop: Shop) -> dict[str, Any]:
    """Wait for the first open proposal that moves the hot table; an earlier one may know its index alone."""

    def found() -> list[dict[str, Any]]:
        proposals = shop.answer("proposals")["proposals"]
        return [each for each in proposals if HOT in str(shop.answer("show", str(each["id"])))]

    first: dict[str, Any] = wait_until("a proposal", found)[0]
    return first


def states(shop: Shop) -> set[str]:
    """States of all moves so far."""
    return {move["state"] for move in shop.answer("history")["moves"]}


def cycles(shop: Shop) -> int:
    """How many samples the daemon has taken, 0 before it said anything."""
    status = shop.answer("status")["databases"][0]["daemon"]["status"]
    return int(status["cycles"]) if status else 0


def scrape(port: int, path: str = "/metrics") -> str:
    """What the daemon serves, whatever the status: right after a start it is not ready yet."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as answer:
            body: bytes = answer.read()
    except urllib.error.HTTPError as error:
        with error:
            body = error.read()
    return body.decode()


def test_from_watching_to_an_outcome(shop_on_disks: Shop, port: int) -> None:
    """The hot table is found, proposed, approved by its digest, moved, verified in the catalog and measured."""
    with load(shop_on_disks.server), shop_on_disks.daemon() as daemon:
        proposal = first_proposal(shop_on_disks)
        shown = shop_on_disks.answer("show", str(proposal["id"]))
        assert HOT in str(shown)
        approved = shop_on_disks.hotplace("approve", str(proposal["id"]), "--digest", proposal["digest"])
        assert approved.returncode == 0, approved.stderr
        wait_until("the table in its new home", lambda: shop_on_disks.space_of(HOT) == "fast")
        assert shop_on_disks.opened_to_write()  # so that its absence means something in a dry run
        wait_until("the outcome", lambda: "kept" in states(shop_on_disks))
        assert shop_on_disks.answer("outcomes")["outcomes"]
        text = scrape(port)
        assert 'hotplace_up{database="shop",engine="postgresql"} 1.0' in text
        assert 'hotplace_moves_total{database="shop",state="placed"}' in text
        assert scrape(port, "/readyz") == "ready\n"
        daemon.send_signal(signal.SIGTERM)
        assert daemon.wait(20) == 0
    assert shop_on_disks.hotplace("audit", "verify").returncode == 0


def test_a_dry_run_never_moves(shop_on_disks: Shop, port: int) -> None:
    """With dry_run on, an approved proposal stays approved and no session that may write was opened."""
    write_config(shop_on_disks.config, shop_on_disks.server, metrics_port=port, dry_run=True)
    with load(shop_on_disks.server), shop_on_disks.daemon():
        proposal = first_proposal(shop_on_disks)
        shop_on_disks.hotplace("approve", str(proposal["id"]), "--yes")
        before = cycles(shop_on_disks)
        wait_until("six more cycles", lambda: cycles(shop_on_disks) > before + 6)
        assert states(shop_on_disks) == {"approved"}
    assert not shop_on_disks.opened_to_write()
    assert shop_on_disks.space_of(HOT) == "pg_default"


def test_a_second_daemon_is_refused(shop: Shop, port: int, tmp_path: Path) -> None:
    """Two daemons on one database, even with ledgers of their own: the second ends with code 9 and names the first."""
    other = tmp_path / "other"
    other.mkdir()
    with shop.daemon():
        wait_until("the first daemon", lambda: "started" in shop.log())
        second = Shop(server=shop.server, config=other / "hotplace.yaml")
        write_config(second.config, shop.server, metrics_port=0)
        refused = second.hotplace("run")
    assert refused.returncode == 9
    assert "hotplace" in refused.stderr


def test_reload_keeps_the_old_configuration_when_the_new_is_wrong(shop: Shop, port: int) -> None:
    """SIGHUP with a mistake says the mistake and goes on; SIGHUP with a valid file takes it over."""
    with shop.daemon() as daemon:
        wait_until("the daemon", lambda: "started" in shop.log())
        good = shop.config.read_text()
        shop.config.write_text(good.replace("sample_every", "sample_evry"))
        daemon.send_signal(signal.SIGHUP)
        wait_until("the refusal", lambda: "not reloaded" in shop.log())
        assert "sample_every" in shop.log()
        assert daemon.poll() is None
        shop.config.write_text(good.replace("plan_every: 1s", "plan_every: 2s"))
        daemon.send_signal(signal.SIGHUP)
        wait_until("the new configuration", lambda: "configuration reloaded" in shop.log())
        wait_until("a sample after it", lambda: scrape(port, "/readyz") == "ready\n")
        daemon.send_signal(signal.SIGINT)
        assert daemon.wait(20) == 0


@pytest.mark.parametrize("shop_on_disks", [replace(SSD, bytes_per_second=2e6)], indirect=True, ids=["slow copies"])
def test_killed_while_moving_and_started_again(shop_on_disks: Shop) -> None:
    """Promise 3 for real: kill -9 of the agent while a statement copies; the next one finds the truth and goes on."""
    with load(shop_on_disks.server):
        with shop_on_disks.daemon() as daemon:
            proposal = first_proposal(shop_on_disks)
            shop_on_disks.hotplace("approve", str(proposal["id"]), "--yes")
            wait_until("a running move", lambda: "running" in states(shop_on_disks))
            daemon.send_signal(signal.SIGKILL)
            daemon.wait()
        assert shop_on_disks.space_of(HOT) == "pg_default"  # killed before its end
        with shop_on_disks.daemon() as daemon:
            wait_until(
                "every move ended", lambda: not states(shop_on_disks) & {"approved", "running", "unknown", "precheck"}
            )
            daemon.send_signal(signal.SIGTERM)
            assert daemon.wait(20) == 0
    for move in shop_on_disks.answer("history")["moves"]:
        if move["state"] in {"placed", "settling", "kept"}:
            assert shop_on_disks.space_of(move["unit"]) == move["to_space"]
    assert shop_on_disks.hotplace("audit", "verify").returncode == 0
    with psycopg.connect(shop_on_disks.server.conninfo) as session:
        assert session.execute('SELECT count(*) FROM "Hot Orders"').fetchone() == (30000,)


def test_the_server_goes_away_and_comes_back(shop: Shop) -> None:
    """A restart of PostgreSQL costs some cycles, not the daemon."""
    with shop.daemon() as daemon:
        before = wait_until("a good cycle", lambda: cycles(shop))
        shop.server.stop("immediate")
        wait_until("a failed cycle", lambda: "failed" in shop.log())
        shop.server.start()
        wait_until("good cycles again", lambda: cycles(shop) > before + 2)
        assert daemon.poll() is None


def test_a_wrong_program_call_is_explained() -> None:
    """Without a configuration the program says where it looked."""
    done = subprocess.run(
        [str(PROGRAM), "--config", "/nowhere.yaml", "status"], capture_output=True, text=True, check=False, timeout=30
    )
    assert done.returncode == 3
    assert "/nowhere.yaml" in done.stderr
