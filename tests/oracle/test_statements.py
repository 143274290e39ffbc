"""Counters of single statements (emulated server): V$SQLSTATS of all instances, and who may not read it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from connectors.kit.statements import ReadsStatements
from connectors.oracle.connector import OracleConnector
from tests.labs.oracle.harness import OWNER, OracleHarness, running_harness
from tests.labs.oracle.model import Quirks, Segment

LOOK = "SELECT * FROM orders WHERE id = 17 AND name = 'Mrs Robinson'"


@pytest.fixture
def lab() -> Iterator[OracleHarness]:
    """Two instances of 19c."""
    with running_harness("statements of a cluster", quirks=Quirks(instances=2)) as running:
        yield running


@pytest.fixture
def orders(lab: OracleHarness) -> Segment:
    """Of a table that look-ups on both instances have read from storage, each for 5 ms."""
    segment = lab.database.add_table(OWNER, "ORDERS", "SLOW", 2**20).segments[0]
    lab.database.read_randomly(segment, 100, instance=1, by=LOOK)
    lab.database.read_randomly(segment, 20, instance=2, by=LOOK)
    return segment


def figures(connector: OracleConnector) -> tuple[float, ...]:
    """Of the one look-up: executions, seconds, wait, reads."""
    found = connector.read_statements(1000)
    assert found is not None
    texts = connector.statement_texts(found.ids)
    (row,) = [at for at, id_ in enumerate(found.ids) if texts[id_].startswith("SELECT * FROM orders")]
    return tuple(float(each[row]) for each in (found.executions, found.seconds, found.read_wait, found.reads))


def test_what_a_statement_took(lab: OracleHarness, connector: OracleConnector, orders: Segment) -> None:
    """120 executions on two instances, each 5 ms of waiting and 50 microseconds of a processor; then a faster disk."""
    assert isinstance(connector, ReadsStatements)
    assert figures(connector) == pytest.approx((120, 120 * 5.05e-3, 120 * 5e-3, 120))
    lab.database.read_randomly(orders, 80, microseconds=200, by=LOOK)
    assert figures(connector) == pytest.approx((200, 120 * 5.05e-3 + 80 * 0.25e-3, 120 * 5e-3 + 80 * 0.2e-3, 200))


def test_no_text_holds_what_a_user_entered(connector: OracleConnector, orders: Segment) -> None:
    """Literals are part of Oracle's texts, and gone from ours; what it has forgotten has none."""
    found = connector.read_statements(1000)
    assert found is not None
    texts = connector.statement_texts([*found.ids, "0000000000000"])
    assert "SELECT * FROM orders WHERE id = ? AND name = ?" in texts.values()
    assert "Robinson" not in str(texts)
    assert "0000000000000" not in texts


def test_only_what_took_most_time(lab: OracleHarness, connector: OracleConnector, orders: Segment) -> None:
    """As many as are asked for."""
    for number in range(5):
        lab.database.run(f"SELECT {number} FROM dual", {"EXECUTIONS": 1, "ELAPSED_TIME": 10})
    found = connector.read_statements(1)
    assert found is not None
    assert found.executions.tolist() == [120]
