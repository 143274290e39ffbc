"""No query finds an object of another user: each view and package is named with SYS; over an emulated server."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.resources import files

import pytest

from connectors.oracle.connector import OracleConnector
from tests.contract.asking import route_to, run
from tests.labs.oracle.harness import OracleHarness, running_harness
from tests.labs.oracle.model import Quirks
from tests.over import over

SQL = sorted(path.name for path in (files("connectors.oracle") / "sql").iterdir())
NAMED = re.compile(r"\b(?:FROM|JOIN)\s+([\w$.]+)")
PACKAGE = re.compile(r"(?<![\w.])(?:DBMS|UTL)_\w+\s*\.")


@pytest.fixture(scope="module")
def besieged() -> Iterator[OracleHarness]:
    """A 19c lab in which bare names lead to objects of somebody with CREATE PUBLIC SYNONYM."""
    with running_harness("oracle names (emulated server)", quirks=Quirks(hostile_synonyms=True)) as running:
        yield running


@over("name", SQL)
def test_every_view_is_named_with_its_owner(name: str) -> None:
    """By the bare name a table of CURRENT_SCHEMA would come first, then a public synonym."""
    lines = (files("connectors.oracle") / "sql" / name).read_text(encoding="utf-8").splitlines()
    text = re.sub(r"'[^']*'", "''", "\n".join(line for line in lines if not line.startswith("--")))
    common = set(re.findall(r"\b(\w+)\s+AS\s+\(", text))
    assert [found for found in NAMED.findall(text) if not found.startswith("SYS.") and found not in common] == []
    assert PACKAGE.findall(text) == []


def test_objects_of_others_are_never_found(besieged: OracleHarness) -> None:
    """Emulated server: whatever the connector asks, a hostile object behind the bare name is not what answers."""
    with besieged.session() as session, session.cursor() as cursor, pytest.raises(Exception, match="ORA-20666"):
        cursor.execute("SELECT COUNT(*) FROM DBA_TABLES")
    table = besieged.create("besieged")
    connector = besieged.connector()
    try:
        ask_everything(connector)
        lease = connector.acquire_lease("one")
        route = route_to(connector, table.key, besieged.target_space)
        run(connector, route)
        assert connector.inspect(route).home.name == "TARGET"
        assert lease.is_held()
        lease.release()
    finally:
        connector.close()
        besieged.drop(table)


def ask_everything(connector: OracleConnector) -> None:
    """Whatever changes nothing."""
    connector.identify()
    connector.capabilities()
    catalog = connector.catalog()
    connector.sample()
    connector.exact_sizes(catalog.units.physical_id)
    assert not [each for each in connector.doctor() if "ORA-20666" in each.sentence]
    counters = connector.read_statements(10)
    connector.statement_texts(() if counters is None else counters.ids)
    with connector.read_blocks() as looks:
        looks.look(catalog.units.physical_id)
