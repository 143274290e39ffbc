"""Standbys that fall behind and an active log that fills hold moves and end them (emulated server)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from connectors.db2.connector import Db2Connector
from connectors.kit.contract import Crowding, SeesQueues
from tests.db2.conftest import Connect
from tests.labs.db2.client import Db2, running_db2

pytestmark = [pytest.mark.db2, pytest.mark.xdist_group("db2")]
MIB = 2**20


@pytest.fixture(scope="module")
def db2() -> Iterator[Db2]:
    """One for all."""
    with running_db2("11.5") as running:
        yield running


@pytest.fixture(autouse=True)
def _as_it_was(db2: Db2) -> Iterator[None]:
    """What a test sets is taken back."""
    before = db2.lab.behave(hadr_role="STANDARD", log_files=(1024, 13, 12))
    yield
    db2.lab.set_standby(1, state="PEER", connected="CONNECTED", gap=0, replay_gap=0)
    db2.lab.behave(**before)
    db2.lab.use_log(0)


def test_emulated_server_rule_17_a_standby_that_falls_behind_holds_moves(db2: Db2, connect: Connect) -> None:
    """Not received and not replayed count together; one that is disconnected catches up from archives."""
    connector = connect()
    assert isinstance(connector, Db2Connector)
    assert connector.crowding() == Crowding()
    db2.lab.behave(hadr_role="PRIMARY")
    db2.lab.set_standby(1, gap=600 * MIB, replay_gap=600 * MIB)
    assert connector.crowding().hold == "a standby is 1.2 GiB of log behind (replica_queue_mib: 1024)"
    with connector.open_mover() as mover:
        assert isinstance(mover, SeesQueues)
        db2.lab.set_standby(1, gap=9000 * MIB)
        assert "(replica_queue_abort_mib: 8192)" in mover.crowding().abort
    db2.lab.set_standby(1, state="DISCONNECTED")
    assert connector.crowding() == Crowding()


def test_emulated_server_rule_18_a_log_that_fills_holds_moves(db2: Db2, connect: Connect) -> None:
    """Primary and secondary log together; one without end is never full."""
    connector = connect()
    assert isinstance(connector, Db2Connector)
    total = 1024 * 25 * 4096
    db2.lab.use_log(int(total * 0.85))
    assert connector.crowding().hold.startswith("the active log is 8")
    db2.lab.use_log(int(total * 0.97))
    assert connector.crowding().abort.endswith("(log_used_abort_percent: 95)")
    db2.lab.behave(log_files=(1024, 13, -1))
    assert connector.crowding() == Crowding()
