"""Emulated server: what looking costs does not depend on how much there is to see."""

from __future__ import annotations

from tests.labs.oracle.harness import OWNER, running_harness

MB = 2**20


def _statements(tables: int) -> tuple[int, int]:
    """Statements of a sample and of a catalog."""
    with running_harness("cost") as lab:
        for number in range(tables):
            table = lab.database.add_table(OWNER, f"T{number}", "SLOW", MB // 4)
            lab.database.read_randomly(table.segments[0], 1)
        connector = lab.connector()
        connector.sample()
        counts = []
        for work in (connector.sample, connector.catalog):
            before = len(lab.server.statements)
            work()
            counts.append(len(lab.server.statements) - before)
        connector.close()
    return counts[0], counts[1]


def test_statements_are_bounded() -> None:
    """A sample and a catalog of two tables send exactly as many statements as of three hundred."""
    assert _statements(2) == _statements(300)
