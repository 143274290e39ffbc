"""Standbys that fall behind and a recovery area that fills hold moves and end them (emulated server)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from connectors.kit.contract import Crowding, SeesQueues
from connectors.oracle.connector import OracleConnector
from tests.labs.oracle.harness import OracleHarness, running_harness
from tests.labs.oracle.model import Quirks
from tests.labs.oracle.redo import GB


@pytest.fixture
def lab() -> Iterator[OracleHarness]:
    """A primary of 19c with two standbys, whose logs have 512 MB."""
    with running_harness("queues", quirks=Quirks(standbys=2)) as running:
        yield running


def test_a_standby_that_falls_behind_holds_moves_and_ends_them(lab: OracleHarness, connector: OracleConnector) -> None:
    """In whole logs: three of them are over the first limit, eighteen over the second; the mover tells the same."""
    assert connector.crowding() == Crowding()
    lab.database.set_destination(2, logs_not_received=2)
    assert connector.crowding() == Crowding()
    lab.database.set_destination(2, logs_not_applied=1)
    held = connector.crowding()
    assert held == Crowding(hold="a standby is 1.5 GiB of log behind (replica_queue_mib: 1024)")
    with connector.open_mover() as mover:
        assert isinstance(mover, SeesQueues)
        lab.database.set_destination(3, logs_not_received=18)
        assert mover.crowding().abort == "a standby is 9.0 GiB of log behind (replica_queue_abort_mib: 8192)"


def test_a_recovery_area_that_fills_holds_moves(lab: OracleHarness, connector: OracleConnector) -> None:
    """What can be reclaimed counts as free, and no area as nothing to watch."""
    lab.database.set_redo(area_limit=10 * GB, area_used=9 * GB, area_reclaimable=2 * GB)
    assert connector.crowding() == Crowding()
    lab.database.set_redo(area_reclaimable=0)
    assert connector.crowding().hold == "the recovery area is 90% full (log_used_percent: 80)"
    lab.database.set_redo(area_limit=0)
    assert connector.crowding() == Crowding()
