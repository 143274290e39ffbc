"""`hotplace ledger move`: from a file to a server, row by row the same, broken off anywhere and run again."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pytest

from agent.config.models import LedgerServer
from agent.ledger.errors import LedgerMovedAway
from agent.ledger.ledger import Ledger
from agent.ledger.measured.codec import decode_history
from agent.ledger.measured.samples import TABLES as OF_SAMPLES
from agent.ledger.rows import StepState
from agent.ledger.store.move import LedgerMove
from agent.ledger.store.schema import metadata
from agent.model.states import MoveState
from agent.terminal.errors import ExitCode
from connectors.model.observation import DatabaseDemand
from policies.model.settings import Pin
from tests.cli.site import Finished, Site
from tests.ledger.clock import StillClock
from tests.ledger.conftest import ON_SERVER, approved, note, stored
from tests.ledger.servers import LedgerServers

pytestmark = ON_SERVER
TABLES = {table.name for table in OF_SAMPLES}
SAMPLES = "shared.anchors.samples"
EVER = (StillClock().now() - timedelta(days=1), StillClock().now() + timedelta(days=1))


@pytest.fixture
def server(servers: LedgerServers) -> Iterator[LedgerServer]:
    """A database without a ledger."""
    with servers.database("template1") as place:
        yield place


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """A configuration with a file that holds something of every kind."""
    site = Site(tmp_path)
    with Ledger.open(site.ledger_path, StillClock()) as ledger:
        fill(ledger)
    return site


def fill(ledger: Ledger) -> None:
    """Decisions, a statement that ended, a number that is given no more, samples and documents."""
    number = approved(ledger)
    (row, *_) = ledger.moves.rows(proposal_id=number)
    for state in (MoveState.PRECHECK, MoveState.RUNNING):
        ledger.moves.transition(row.id, state, "test")
    ledger.moves.step_result(
        ledger.moves.step_intent(row.id, 0, row.move.route.steps[0].sql), StepState.DONE, "done, «so» \u2028 far"
    )
    ledger.pins.pin("shop", "a", Pin.NEVER, who="anna", reason="")
    ledger.pins.unpin("shop", "a", who="anna")
    ledger.arrivals.close("shop", "fast", who="anna", reason="")
    ledger.state.save_document("shop", "status", {"ü": [1.5, None]})
    ledger.state.share_arrays("shop", "situation", StillClock().now(), {"a": np.arange(5.0)})
    ledger.slots.of("shop", ["x", "y"])
    for minute in (1, 2, 3, 70):
        at = StillClock().now() + timedelta(minutes=minute)
        ledger.history.append("shop", at, 60.1, np.array([0, 1]), np.array([[1.25, 2.5]]))
        ledger.work.append("shop", at, 60.1, DatabaseDemand(reads=1.25))


def shared(site: Site, place: LedgerServer) -> Path:
    """The configuration of the same site whose ledger is on the server."""
    path = site.folder / "shared.yaml"
    at = {"host": place.host, "dbname": place.dbname, "user": place.user, "schema": place.schema_name}
    path.write_text(json.dumps({**site.values, "ledger": {"postgresql": at, "anchors": "shared.anchors"}}))
    return path


def run(site: Site, place: LedgerServer, *more: str) -> Finished:
    """Move it."""
    return site.run("ledger", "move", "--to", str(shared(site, place)), *more)


def hours_of(dba: psycopg.Connection) -> list[tuple[float, float]]:
    """What the server has of samples: reads of the hours' second unit over 2.5, and their seconds."""
    query = "SELECT seconds, body, resolution_seconds FROM history ORDER BY ended_at"
    found = [(seconds, decode_history(bytes(body))) for seconds, body, _ in dba.execute(query).fetchall()]
    assert dba.execute("SELECT seconds FROM work").fetchall() == [(seconds,) for seconds, _ in found]
    return [(float(values[0][1]) / 2.5, round(seconds, 6)) for seconds, (_, values) in found]


def rows_of(connection: Any, table: str) -> list[tuple[object, ...]]:
    """All rows of a table, in an order that both sides have; the driver's values."""
    return sorted((tuple(row) for row in connection.execute(f"SELECT * FROM {table}").fetchall()), key=repr)


def test_everything_is_there_under_its_number(site: Site, server: LedgerServer, servers: LedgerServers) -> None:
    """Every row of every table; the chain fits and goes on; numbers that were given are given no more."""
    before = {}
    with closing(sqlite3.connect(site.ledger_path)) as file:
        before = {name: rows_of(file, name) for name in metadata.tables}
    done = run(site, server, "--json")
    assert done.code == 0, done.err
    assert {each["name"]: each["rows"] for each in done.document["tables"]} == {
        name: len(rows) for name, rows in before.items()
    }
    with Ledger.open(server, StillClock(), anchors=site.folder / "shared.anchors") as ledger:
        report = ledger.audit.verify()
        assert report.ok
        assert [row.event for row in ledger.audit.rows(1)] == ["ledger.moved"]
        assert ledger.audit.holds(done.document["audit"]["head"])
        assert ledger.pins.pin("shop", "b", Pin.NEVER, who="anna", reason="").id == 2  # 1 was given and removed
        assert stored(ledger, 3) == 2
        (row, *_) = ledger.moves.rows(proposal_id=1)
        ledger.moves.require_trust(row)
        assert len(list(ledger.history.read("shop", *EVER))) == 4
    with closing(sqlite3.connect(site.folder / SAMPLES)) as file:
        after = {name: rows_of(file, name) for name in TABLES}
    with servers.session(server.dbname) as dba:
        dba.execute("SET search_path = hotplace")
        assert hours_of(dba) == [(3, 180.3)]
        after |= {name: rows_of(dba, name) for name in set(metadata.tables) - {*TABLES}}
    for name in set(metadata.tables) - {"audit", "audit_head", "pins", "proposals", "moves"}:  # written to since
        assert after[name] == before[name], name
    assert set(before["audit"]) <= set(after["audit"])
    assert set(before["moves"]) <= set(after["moves"])


def test_the_file_is_read_and_never_written_again(site: Site, server: LedgerServer) -> None:
    """Also by an agent that has it open; the error says where it went. Moved again, there is nothing to do."""
    with Ledger.open(site.ledger_path, StillClock()) as running:
        assert run(site, server).code == 0
        with pytest.raises(LedgerMovedAway, match=rf"it was moved to .*{server.dbname}"):
            note(running, "too late")
        with pytest.raises(LedgerMovedAway):
            running.state.save_document("shop", "status", {})
        assert running.audit.verify().ok
    done = site.run("pin", "--list", "--json")
    assert done.code == 0
    refused = site.run("pin", "x", "never")
    assert (refused.code, "it was moved to" in refused.err) == (ExitCode.LEDGER_UNUSABLE, True)
    again = run(site, server)
    assert (again.code, "moved there before" in again.out) == (0, True)


def test_what_was_broken_off_goes_on(site: Site, server: LedgerServer, servers: LedgerServers) -> None:
    """Killed on the way: no hotplace opens what is there; what has changed since is written or removed."""
    with Ledger.open(site.ledger_path, StillClock()) as ledger:
        for number in range(3000):
            note(ledger, str(number))
    command = site.command("ledger", "move", "--to", str(shared(site, server)))
    process = site.start_program(*command)
    with servers.session(server.dbname) as dba:
        _wait_for_rows(process, dba)
        process.kill()
        process.communicate(timeout=30)
        reached = dba.execute("SELECT count(*) FROM hotplace.audit").fetchone()
        assert reached is not None
        assert 0 < reached[0] < 3000
        with pytest.raises(LedgerMovedAway, match="not complete"):
            Ledger.open(server, StillClock(), anchors=site.folder / "shared.anchors")
        with Ledger.open(site.ledger_path, StillClock()) as ledger:
            ledger.arrivals.open("shop", "fast", who="anna", reason="")  # the file is in use as before
        dba.execute("UPDATE hotplace.audit SET actor = 'x' WHERE id = 2")
        dba.execute("INSERT INTO hotplace.closed_spaces VALUES ('shop', 'gone', 'x', '', 0)")
    done = run(site, server, "--json")
    assert done.code == 0, done.err
    (audit,) = [each for each in done.document["tables"] if each["name"] == "audit"]
    assert 0 < audit["written"] < audit["rows"]
    with Ledger.open(server, StillClock(), anchors=site.folder / "shared.anchors") as ledger:
        assert ledger.audit.verify().ok
        assert ledger.arrivals.rows("shop") == []


def _wait_for_rows(process: subprocess.Popen[str], dba: psycopg.Connection) -> None:
    """Wait until the first rows of the chain are on the server."""
    for _ in range(3000):
        assert process.poll() is None, process.communicate()
        there = dba.execute("SELECT to_regclass('hotplace.audit') IS NOT NULL").fetchone()
        if there == (True,) and dba.execute("SELECT EXISTS (SELECT FROM hotplace.audit)").fetchone() == (True,):
            return
        time.sleep(0.01)
    raise AssertionError("no row came")


def test_ended_between_the_two_sides(
    site: Site, server: LedgerServer, servers: LedgerServers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is closed, the server not open yet: neither is written, until the next run ends it."""
    with monkeypatch.context() as patched:
        patched.setattr(LedgerMove, "_open_for_use", _interrupt)
        assert run(site, server).code == ExitCode.INTERRUPTED
    with Ledger.open(site.ledger_path, StillClock()) as ledger, pytest.raises(LedgerMovedAway, match="it was moved to"):
        note(ledger, "too late")
    with pytest.raises(LedgerMovedAway, match="not complete"):
        Ledger.open(server, StillClock(), anchors=site.folder / "shared.anchors")
    elsewhere = server.model_copy(update={"schema_name": "another"})
    assert run(site, elsewhere).code == ExitCode.LEDGER_UNUSABLE
    with servers.session(server.dbname) as dba, closing(sqlite3.connect(site.folder / SAMPLES)) as file:
        dba.execute("SET search_path = hotplace")
        before = rows_of(file, "history")
        with file:
            file.execute("UPDATE history SET seconds = 1 WHERE id = 2")
            file.execute("DELETE FROM history WHERE id = 1")
        assert run(site, server).code == 0
        assert rows_of(file, "history") == before
        assert hours_of(dba) == [(3, 180.3)], "once"
    with Ledger.open(server, StillClock(), anchors=site.folder / "shared.anchors") as ledger:
        assert ledger.audit.verify().ok


def _interrupt(_: LedgerMove) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("case", ["chain", "anchors", "other ledger", "same kind"])
def test_what_does_not_fit_is_not_moved(site: Site, server: LedgerServer, case: str) -> None:
    """A chain that was changed, anchors of another ledger, a server in use, a file as target: the file stays open."""
    expected = ExitCode.REFUSED
    match case:
        case "chain":
            expected = ExitCode.LEDGER_UNUSABLE
            with closing(sqlite3.connect(site.ledger_path)) as file, file:
                file.execute("UPDATE audit SET actor = 'x' WHERE id = 2")
        case "anchors":
            line = f"2026-01-01 hotplace-anchor ledger={'a' * 64} row=1 hash={'a' * 64}\n"
            (site.folder / "shared.anchors").write_text(line)
        case "other ledger":
            Ledger.open(server, StillClock(), anchors=site.folder / "others").close()
    done = site.run("ledger", "move", "--to", str(site.path)) if case == "same kind" else run(site, server)
    assert done.code == expected, done
    with Ledger.open(site.ledger_path, StillClock()) as ledger:
        if case != "chain":
            note(ledger, "still open")
            assert ledger.audit.verify().ok
