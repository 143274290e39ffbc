"""Connections that end, where it hurts: over IBM's driver against the emulated server."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from connectors.kit.contract import CannotConnect, OutcomeUnknown, Paused, Retry
from connectors.model.observation import Home
from tests.contract.asking import route_to, run
from tests.db2.conftest import Connect
from tests.labs.db2.client import Db2, running_db2, wait_until
from tests.labs.db2.server import ADMIN, FAST, SLOW, TS_FAST
from tests.labs.db2.wire.tls import tls_in_front
from tests.labs.tns.certificate import self_signed

pytestmark = [pytest.mark.db2, pytest.mark.xdist_group("db2")]
KEY = "APP.ORDERS"
SLOWLY = 0.5  # extents a second, of 72: a rebalance that ends when it is let go, however slow the machine is


@pytest.fixture(scope="module")
def db2() -> Iterator[Db2]:
    """One emulated server."""
    with running_db2("11.5") as running:
        yield running


@pytest.fixture
def lab(db2: Db2) -> Iterator[Any]:
    """One table on slow storage in a table space of its own, and one of files of its own."""
    db2.lab.create_space("TS_OWN", SLOW)
    db2.lab.create_table("APP", "ORDERS", "ORDERS_PK", "TS_OWN", 2000)
    db2.lab.create_dms("TS_FILES", {"/db2/slow/files/a": 400, "/db2/slow/files/b": 400})
    db2.lab.create_table("APP", "FILED", "FILED_PK", "TS_FILES", 500)
    yield db2.lab
    db2.lab.behave(end_with=0, extents_per_second=1e9, phase_seconds=0.0, copied_share=None, silent=False)
    for table, space in (("ORDERS", "TS_OWN"), ("FILED", "TS_FILES")):
        db2.lab.drop_table("APP", table)
        db2.lab.drop_space(space)


@pytest.mark.parametrize("code", [-1024, -1224, -30081])
def test_emulated_server_a_statement_whose_session_ended_is_unknown(lab: Any, connect: Connect, code: int) -> None:
    """SQL1024N and its sisters under USING STOGROUP: unknown to us, known to the catalog; it works again."""
    connector = connect(move_by="table_space")
    route = route_to(connector, KEY, FAST)
    with connector.open_mover() as mover:
        mover.prepare(route)
        lab.behave(end_next_change_with=code)
        with pytest.raises(OutcomeUnknown) as caught:
            mover.execute(route.steps[0])
    assert caught.value.retry is Retry.RECONCILE
    assert connector.inspect(route).home is Home.SOURCE
    run(connector, route)
    assert connector.inspect(route).home is Home.TARGET


def test_emulated_server_a_read_survives_sql1024n(lab: Any, connect: Connect) -> None:
    """A session that reads is opened anew; nobody notices."""
    connector = connect()
    connector.sample()
    lab.behave(end_with=-1024)
    assert len(connector.sample().physical_id)


def test_emulated_server_connections_broken_in_a_rebalance(lab: Any, connect: Connect) -> None:
    """All sessions cut in the middle: the watching one comes back, and stays until the extents are there."""
    connector = connect(move_by="table_space")
    route = route_to(connector, KEY, FAST)
    lab.behave(extents_per_second=SLOWLY)
    cutter = threading.Thread(target=lambda: _when_rebalancing(lab, lambda: _ended_and_back(lab, lab.cut)))
    cutter.start()
    run(connector, route)
    cutter.join()
    assert connector.inspect(route).home is Home.TARGET


def test_emulated_server_gone_silent_in_a_rebalance(lab: Any, connect: Connect) -> None:
    """Nobody can look any more: unknown, not "nothing changed", and later the catalog tells."""
    connector = connect(move_by="table_space", query_timeout=1.0, connect_timeout=1.0)
    route = route_to(connector, KEY, FAST)
    lab.behave(extents_per_second=SLOWLY)
    silencer = threading.Thread(target=lambda: _when_rebalancing(lab, lambda: lab.behave(silent=True)))
    silencer.start()
    with pytest.raises(OutcomeUnknown):
        run(connector, route)
    silencer.join()
    lab.behave(silent=False, extents_per_second=1e9)
    wait_until(lambda: not lab.rebalancing(), "the rebalance ended")
    assert connect(move_by="table_space").inspect(route).home is Home.TARGET


def test_emulated_server_deactivated_in_a_rebalance(lab: Any, connect: Connect) -> None:
    """Deactivation: connections end, counters start anew, the rebalance goes on at the next activation."""
    connector = connect(move_by="table_space")
    route = route_to(connector, KEY, FAST)
    epoch = connector.sample().epoch
    lab.behave(extents_per_second=SLOWLY)
    stopper = threading.Thread(target=lambda: _when_rebalancing(lab, lambda: _ended_and_back(lab, lab.restart)))
    stopper.start()
    run(connector, route)
    stopper.join()
    assert connector.inspect(route).home is Home.TARGET
    assert connector.sample().epoch != epoch


def test_emulated_server_a_held_rebalance_that_goes_on_by_itself(lab: Any, connect: Connect) -> None:
    """Db2 resumes suspended rebalances when it is activated: resume() then sends nothing and watches the end."""
    connector = connect(move_by="table_space")
    route = route_to(connector, KEY, FAST)
    _hold(lab, connector, route)
    assert connector.inspect(route).paused
    lab.behave(extents_per_second=1e9)
    lab.restart()
    at = len(lab.sent())
    with connector.open_mover() as mover:
        mover.prepare(route)
        mover.resume(route.steps[0])
    assert not [text for text in lab.sent()[at:] if "RESUME" in text]
    assert connector.inspect(route).home is Home.TARGET


def test_emulated_server_somebody_elses_suspension_is_respected(lab: Any, connect: Connect) -> None:
    """A rebalance that a DBA has suspended is not resumed behind his back: the move is held, as if we had done it."""
    connector = connect(move_by="table_space")
    route = route_to(connector, KEY, FAST)
    lab.behave(extents_per_second=SLOWLY)
    at = len(lab.sent())
    dba = threading.Thread(target=lambda: _when_rebalancing(lab, lambda: lab.suspend("TS_OWN")))
    dba.start()
    with pytest.raises(Paused):
        run(connector, route)
    dba.join()
    assert not [text for text in lab.sent()[at:] if "RESUME" in text]
    assert connector.inspect(route).paused


@pytest.mark.parametrize("target", ["SSD_FILES", FAST])
def test_emulated_server_containers_of_its_own(lab: Any, connect: Connect, target: str) -> None:
    """Swapped in two passes and back, or converted for good: held, gone on with by another session, arrived."""
    folders = {"SSD_FILES": "/db2/fast/files", "HDD_FILES": "/db2/slow/files"}
    connector = connect(move_by="table_space", folders=folders)
    catalog = connector.catalog()
    row = list(catalog.units.key).index("APP.FILED")
    assert catalog.spaces[catalog.units.space[row]].name == "HDD_FILES"
    route = route_to(connector, "APP.FILED", target)
    _hold(lab, connector, route)
    lab.behave(extents_per_second=1e9)
    again = connect(move_by="table_space", folders=folders)
    held = len(route.steps) - 1  # of a conversion, whose first statement begins no rebalance, the second
    with again.open_mover() as mover:
        mover.prepare(route)
        mover.resume(route.steps[held])
    assert again.inspect(route).home is Home.TARGET
    if target == FAST:
        assert lab.containers("TS_FILES") == ["/db2/fast"]
        assert "no way leads back" in again.routes(route.bundle, "HDD_FILES").sentence
        return
    assert sorted(lab.containers("TS_FILES")) == ["/db2/fast/files/TS_FILES.0", "/db2/fast/files/TS_FILES.1"]
    run(again, route, undo=True)
    assert sorted(lab.containers("TS_FILES")) == ["/db2/slow/files/a", "/db2/slow/files/b"]
    assert again.inspect(route).home is Home.SOURCE


def test_emulated_server_a_copy_tells_its_bytes(lab: Any, connect: Connect) -> None:
    """While COPY runs its progress is the share of the rows that are in the target: a quarter, then three."""
    connector = connect()
    route = route_to(connector, KEY, TS_FAST)

    def at(share: float) -> bool:
        now = mover.progress()
        return now is not None and now.done_bytes / now.total_bytes == pytest.approx(share, rel=0.01)

    with connector.open_mover() as mover:
        mover.prepare(route)
        mover.execute(route.steps[0])
        lab.behave(phase_seconds=60.0, copied_share=0.25)
        copying = threading.Thread(target=lambda: mover.execute(route.steps[1]))
        copying.start()
        try:
            for copied in (0.25, 0.75):
                lab.behave(copied_share=copied)
                wait_until(partial(at, copied), f"{copied:.0%} are there")
        finally:
            lab.behave(phase_seconds=0.0, copied_share=None)
            copying.join()
        assert mover.progress() is None


def _when_rebalancing(lab: Any, act: Any) -> None:
    """Act while the mover watches one: it begins with the COMMIT, whose answer is still to come then."""
    wait_until(lambda: bool(lab.rebalancing()), "a rebalance")
    before = lab.looks()
    wait_until(lambda: lab.looks() > before, "somebody looks at it")
    act()


def _ended_and_back(lab: Any, end: Any) -> None:
    """End all sessions; the rebalance gets on as soon as somebody looks at it in a new one."""
    last = max(lab.connections())
    end()
    wait_until(lambda: max(lab.connections(), default=0) > last, "somebody connects anew")
    assert lab.rebalancing()
    lab.behave(extents_per_second=1e9)


def _hold(lab: Any, connector: Any, route: Any) -> None:
    """Begin the route and hold it in the middle; its mover is gone afterwards."""
    lab.behave(extents_per_second=SLOWLY)
    with connector.open_mover() as mover:
        mover.prepare(route)
        holder = threading.Thread(target=lambda: wait_until(mover.pause, "it is held"))
        holder.start()
        with pytest.raises(Paused):
            _execute_all(mover, route)
        holder.join()


def _execute_all(mover: Any, route: Any) -> None:
    for step in route.steps:
        mover.execute(step)


@pytest.fixture
def port(db2: Db2, tmp_path: Path) -> Iterator[int]:
    """Of a server whose certificate for localhost is ``certificate.pem``."""
    with tls_in_front(db2.port, self_signed(tmp_path)) as port:
        yield port


def test_emulated_server_over_tls(connect: Connect, port: int, tmp_path: Path) -> None:
    """A PEM of the server's certificate is all that it takes; catalog and sample come through."""
    connector = connect(host="localhost", port=port, security="SSL", server_certificate=tmp_path / "certificate.pem")
    assert connector.identify().database == connect().identify().database
    assert connector.catalog().spaces


def test_emulated_server_tls_that_is_not_to_be_trusted(connect: Connect, port: int, tmp_path: Path) -> None:
    """Another certificate, another name, no file: each is refused and says what to look at."""
    (tmp_path / "other").mkdir()
    self_signed(tmp_path / "other")
    right = tmp_path / "certificate.pem"
    refused = {
        "it has to be the server's own": {
            "host": "localhost",
            "server_certificate": tmp_path / "other/certificate.pem",
        },
        "name the host as the certificate does": {"host": "127.0.0.1", "server_certificate": right},
        "Check the path of server_certificate": {"host": "localhost", "server_certificate": tmp_path / "none.pem"},
    }
    for advice, other in refused.items():
        with pytest.raises(CannotConnect) as caught:
            connect(port=port, security="SSL", **other).identify()
        assert advice in caught.value.advice
        assert ADMIN.password not in str(caught.value)
