"""Emulated server: what looking costs does not depend on how much there is to see."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("pyodbc", reason="no pyodbc here: make setup")

from agent.model.clock import SystemClock
from connectors.kit.settings import SecretSource
from connectors.sqlserver.connector import SqlserverConnector
from connectors.sqlserver.settings import SqlserverSettings
from tests.labs.sqlserver.lab import running_lab
from tests.labs.sqlserver.world import READER, SLOW, add_scheme, add_table
from tests.labs.tds.drivers import freetds

pytestmark = pytest.mark.skipif(bool(freetds().missing), reason=freetds().missing or "present")


def _statements(partitions: int, folder: Path) -> tuple[int, int]:
    """Statements of a sample and of a catalog of two indexes with that many partitions each."""
    secret = folder / "secret"
    secret.write_text(READER.password)
    with running_lab() as lab:
        add_scheme(lab.shop, "many", list(range(1, partitions)), [SLOW] * partitions)
        table = add_table(lab.shop, "orders", space="many", pages=8, column="id")
        for partition in table.base.partitions:
            lab.instance.read_randomly(lab.shop, partition, 1)
        settings = SqlserverSettings(
            host="127.0.0.1", port=lab.server.port, database=lab.shop.name, user=READER.name,
            password=SecretSource(file=secret), driver=freetds().path, encrypt="no",
        )  # fmt: skip
        connector = SqlserverConnector(settings, SystemClock())
        assert len(connector.sample().physical_id) == partitions
        counts = []
        for work in (connector.sample, connector.catalog):
            before = lab.instance.batches
            work()
            counts.append(lab.instance.batches - before)
        connector.close()
    return counts[0], counts[1]


def test_statements_are_bounded(tmp_path: Path) -> None:
    """Two partitions and four hundred take the same eight statements to sample and three to list."""
    assert _statements(2, tmp_path) == _statements(400, tmp_path) == (8, 3)
