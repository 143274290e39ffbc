"""Online moves and transactions: long ones are waited for before anything is sent, short ones by the statement."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import cast

import pytest

from connectors.kit.contract import Connector, LockNotObtained
from tests.contract.asking import route_to, run
from tests.labs.oracle.harness import OWNER, OracleHarness, running_harness
from tests.labs.oracle.session import EmulatedSession
from tests.oracle.made import MIB


@pytest.fixture
def lab() -> Iterator[OracleHarness]:
    """A 19c lab with APP.EVENTS of two partitions."""
    with running_harness("oracle busy tables (emulated server)") as running:
        running.database.add_table(OWNER, "EVENTS", "SLOW", MIB, partitions=("P1", "P2"))
        yield running


@pytest.fixture
def connector(lab: OracleHarness) -> Iterator[Connector]:
    """One that waits for three seconds at most."""
    opened = lab.connector(online_lock_timeout="3s")
    yield opened
    opened.close()


def _age_transactions(lab: OracleHarness, seconds: float) -> None:
    """As if those that are open now had been for longer."""
    with lab.database.changed:
        for session in lab.database.sessions.values():
            cast("EmulatedSession", session).transaction_started -= timedelta(seconds=seconds)


@pytest.mark.parametrize(("part", "moves"), [("P1", False), ("P2", True)])
def test_a_long_transaction_is_waited_for_first(
    lab: OracleHarness, connector: Connector, part: str, moves: bool
) -> None:
    """Emulated server: open for a minute on the same partition it stops the move before anything is sent."""
    route = route_to(connector, "APP.EVENTS PARTITION P1", "FAST")
    with lab.session() as writer:
        writer.cursor().execute(f"LOCK TABLE APP.EVENTS PARTITION ({part}) IN ROW EXCLUSIVE MODE")
        _age_transactions(lab, 60)
        if moves:
            run(connector, route)
        else:
            with pytest.raises(LockNotObtained, match="open for more than 3") as refused:
                run(connector, route)
            assert not refused.value.native_code  # nothing was sent that could have been cancelled
    assert lab.database.table(OWNER, "EVENTS").segments[0].tablespace == ("FAST" if moves else "SLOW")


def test_a_short_transaction_that_stays_open_ends_the_wait(lab: OracleHarness, connector: Connector) -> None:
    """Emulated server: what was young as the statement started is waited for by the statement, which is cancelled."""
    route = route_to(connector, "APP.EVENTS PARTITION P1", "FAST")
    with lab.session() as writer:
        writer.cursor().execute("LOCK TABLE APP.EVENTS PARTITION (P1) IN ROW EXCLUSIVE MODE")
        _age_transactions(lab, -60)  # young, however slow this machine is
        with pytest.raises(LockNotObtained, match="it waited for another session"):
            run(connector, route)
    assert lab.database.table(OWNER, "EVENTS").segments[0].tablespace == "SLOW"
