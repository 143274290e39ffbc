"""What goes wrong between agent and server: broken, silent, refusing; on the emulated server, over the real driver."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from connectors.kit.contract import (
    CannotConnect,
    ConnectorError,
    LeaseHeld,
    NamesStranger,
    OutcomeUnknown,
    PrivilegeMissing,
    Retry,
    SpaceFull,
    StatementFailed,
    TimedOut,
)
from connectors.model.moves import Route
from connectors.model.observation import Home
from connectors.oracle.connector import OracleConnector
from connectors.oracle.lease import LEASE_ID
from connectors.oracle.mover import OracleMover, Watcher
from tests.contract.asking import route_to
from tests.contract.harness import PlayTable
from tests.labs.oracle.harness import LOOKER, PASSWORD, OracleHarness, furnished, running_harness
from tests.labs.tns.backend import OracleError
from tests.labs.tns.certificate import self_signed
from tests.labs.tns.faults import Faults
from tests.labs.tns.server import serving


@pytest.fixture(scope="module")
def shared() -> Iterator[OracleHarness]:
    """One 19c lab for the module."""
    with running_harness("oracle faults (emulated server)") as running:
        yield running


@pytest.fixture
def lab(shared: OracleHarness) -> Iterator[OracleHarness]:
    """The lab, in which nothing goes wrong yet."""
    yield shared
    shared.server.faults = Faults()


@pytest.fixture
def connector(lab: OracleHarness) -> Iterator[OracleConnector]:
    """With a short limit for what it reads."""
    connected = lab.connector(statement_timeout=1.0)
    yield connected
    lab.server.faults = Faults()
    connected.close()


@pytest.fixture
def table(lab: OracleHarness) -> Iterator[PlayTable]:
    """A table of its own."""
    made = lab.create("faulty")
    yield made
    lab.drop(made)


def _newest_session(lab: OracleHarness, action: str) -> int:
    """Of that name; older ones may still be on their way out."""
    return max(n for n, session in list(lab.database.sessions.items()) if session.client.action.startswith(action))


def test_a_session_that_died_while_idle_is_opened_anew(lab: OracleHarness, connector: OracleConnector) -> None:
    """Emulated server: reading twice does no harm, so nobody hears of it."""
    first = connector.identify()
    lab.server.connection_of(_newest_session(lab, "watch")).drop()
    assert connector.identify() == first


def test_a_server_that_breaks_every_time_is_told(lab: OracleHarness, connector: OracleConnector) -> None:
    """Emulated server: once is repeated, twice is an error that may be tried later."""
    connector.identify()
    lab.server.faults = Faults(drop_before="GV_\\$SEGSTAT")
    with pytest.raises(CannotConnect) as caught:
        connector.sample()
    assert caught.value.retry is Retry.LATER


def test_a_slow_query_is_given_up(lab: OracleHarness, connector: OracleConnector) -> None:
    """Emulated server: call_timeout ends it, the counters rest, and the connector goes on."""
    connector.identify()
    lab.server.faults = Faults(delay=("GV_\\$SEGSTAT", 1.5))
    with pytest.raises((TimedOut, CannotConnect)):
        connector.sample()
    lab.server.faults = Faults()
    with pytest.raises(TimedOut, match="reads again in"):
        connector.sample()
    assert connector.catalog().spaces


def _moved_under(lab: OracleHarness, connector: OracleConnector, table: PlayTable, faults: Faults) -> Route:
    """A move whose connection breaks; the outcome is not known."""
    route = route_to(connector, table.key, "FAST")
    with connector.open_mover() as mover:
        mover.prepare(route)
        lab.server.faults = faults
        with pytest.raises(OutcomeUnknown) as caught:
            mover.execute(route.steps[0])
        lab.server.faults = Faults()
    assert caught.value.retry is Retry.RECONCILE
    return route


def test_a_break_after_the_move_is_found_out(lab: OracleHarness, connector: OracleConnector, table: PlayTable) -> None:
    """Emulated server: the statement ran, its answer was lost; the catalog knows (oracle.md f27)."""
    route = _moved_under(lab, connector, table, Faults(drop="ALTER TABLE"))
    assert connector.inspect(route).home is Home.TARGET


def test_a_break_before_the_move_is_found_out(lab: OracleHarness, connector: OracleConnector, table: PlayTable) -> None:
    """Emulated server: the statement never ran; the catalog knows."""
    route = _moved_under(lab, connector, table, Faults(drop_before="ALTER TABLE"))
    assert connector.inspect(route).home is Home.SOURCE


@pytest.mark.parametrize(
    ("number", "kind"),
    [
        (8104, StatementFailed),
        (439, StatementFailed),
        (1031, PrivilegeMissing),
        (12850, StatementFailed),
        (1653, SpaceFull),
        (1658, SpaceFull),
        (1950, SpaceFull),
        (14257, StatementFailed),
        (12034, StatementFailed),
    ],
)
def test_refusals_bring_advice(
    lab: OracleHarness, connector: OracleConnector, table: PlayTable, number: int, kind: type[ConnectorError]
) -> None:
    """Emulated server: whatever the words, the number decides, and a person hears what to do."""
    route = route_to(connector, table.key, "FAST")
    lab.server.faults = Faults(fail={"ALTER TABLE": OracleError(number, "reworded in 23ai")})
    with connector.open_mover() as mover:
        mover.prepare(route)
        with pytest.raises(kind) as caught:
            mover.execute(route.steps[0])
    assert caught.value.native_code == f"ORA-{number:05d}"
    assert caught.value.advice


def test_a_lease_without_the_grant_is_told(lab: OracleHarness) -> None:
    """Emulated server: PLS-00201 inside ORA-06550 means that EXECUTE on DBMS_LOCK is not granted."""
    lab.database.add_user("UNLOCKED", PASSWORD, privileges={"SELECT ANY DICTIONARY"})
    connector = lab.connector(user="UNLOCKED")
    with pytest.raises(PrivilegeMissing) as caught:
        connector.acquire_lease("me")
    assert "DBMS_LOCK" in caught.value.advice
    connector.close()


def test_a_lease_names_its_holder(lab: OracleHarness, connector: OracleConnector) -> None:
    """Emulated server: the one who comes second hears who was first; a cut session lets go."""
    lease = connector.acquire_lease("agent-1 on host a")
    with pytest.raises(LeaseHeld, match="agent-1"):
        connector.acquire_lease("agent-2")
    lab.server.connection_of(_newest_session(lab, "lease agent-1")).drop()
    assert not lease.is_held()
    lease.release()
    connector.acquire_lease("agent-2").release()


TAKE = (
    "BEGIN :answer := SYS.DBMS_LOCK.REQUEST(id => :id, lockmode => 6, timeout => 0, release_on_commit => FALSE); END;"
)
LET_GO = "BEGIN :answer := SYS.DBMS_LOCK.RELEASE(id => :id); END;"


def test_a_stranger_with_the_lock_is_no_agent(lab: OracleHarness, connector: OracleConnector) -> None:
    """Emulated server: whoever may call DBMS_LOCK may take it; acting goes on, and two agents keep each other off."""
    with lab.session(LOOKER) as session, session.cursor() as cursor:
        session.action = "lease agent-1"
        answer = cursor.var(int)
        cursor.execute(TAKE, {"answer": answer, "id": LEASE_ID})
        lease = connector.acquire_lease("agent-1")
        assert isinstance(lease, NamesStranger)
        assert lease.is_held()
        assert re.fullmatch(r"a session \(session \d+, from .*\), user LOOKER", lease.stranger)
        with pytest.raises(LeaseHeld, match=r"lease! agent-1 \(session \d+, from .*\), user HOTPLACE"):
            connector.acquire_lease("agent-2")
        cursor.execute(LET_GO, {"answer": answer, "id": LEASE_ID})
    assert lease.is_held()
    assert lease.stranger == "", "it has taken the lock itself"
    with pytest.raises(LeaseHeld, match=r"another agent acts on this database: lease agent-1 "):
        connector.acquire_lease("agent-2")
    lease.release()
    connector.acquire_lease("agent-2").release()


@pytest.mark.parametrize("changes", [{"service": "nowhere"}, {"port": 1}], ids=str)
def test_no_way_to_the_server(lab: OracleHarness, changes: dict[str, Any]) -> None:
    """Emulated server: a service that nobody offers, a port where nobody listens; the message names the place."""
    connector = lab.connector(**changes)
    with pytest.raises(CannotConnect, match=r"HOTPLACE@127\.0\.0\.1") as caught:
        connector.identify()
    assert caught.value.native_code in {"DPY-6001", "DPY-6005"}
    assert caught.value.advice


def test_tcps_with_a_wallet(tmp_path: Path) -> None:
    """Emulated server: by settings alone; without the wallet the certificate is not trusted."""
    database = furnished()
    with serving(database, self_signed(tmp_path)) as server:
        lab = OracleHarness("tcps", database, server, tmp_path)
        secure: dict[str, Any] = {"protocol": "tcps", "host": "localhost"}
        connector = lab.connector(**secure, wallet_location=tmp_path)
        assert connector.identify().database == "ORCLPDB1"
        connector.close()
        with pytest.raises(CannotConnect):
            lab.connector(**secure).identify()


def test_sessions_are_named_for_the_dba(lab: OracleHarness, connector: OracleConnector, table: PlayTable) -> None:
    """Emulated server: module hotplace, and the digits of the move as action."""
    route = route_to(connector, table.key, "FAST")
    with connector.open_mover() as mover:
        mover.prepare(route)
        actions = {s.client.action for s in lab.database.sessions.values() if s.client.module == "hotplace"}
    assert route.steps[0].sql.split()[3] in {action.removeprefix("move ") for action in actions}


def test_a_cancel_that_comes_too_late_hits_nobody(
    lab: OracleHarness, connector: OracleConnector, table: PlayTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Emulated server: the move was done already; its success stands, and so does that of the next statement."""
    route = route_to(connector, table.key, "FAST")
    with connector.open_mover() as mover:
        assert isinstance(mover, OracleMover)
        mover.prepare(route)
        send = mover._send

        def then_interrupt(statement: str, doing: str, watcher: Watcher | None = None) -> None:
            send(statement, doing, watcher)
            mover.interrupt()

        monkeypatch.setattr(mover, "_send", then_interrupt)
        mover.execute(route.steps[0])
        monkeypatch.setattr(mover, "_send", send)
        mover.execute(route.undo_steps[0])
    assert connector.inspect(route).home is Home.SOURCE
