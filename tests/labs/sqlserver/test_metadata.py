"""Rules 2 and 9: counters of what cannot be seen, and what belongs to an index that is rebuilt."""

from __future__ import annotations

import pytest

from tests.labs.sqlserver.conftest import Ask
from tests.labs.sqlserver.instance import Account
from tests.labs.sqlserver.lab import Lab
from tests.labs.sqlserver.objects import Table
from tests.labs.sqlserver.world import HALF_BLIND, READER, WITHOUT_DEFINITIONS, add_table

COUNTED = "SELECT COUNT(*) AS n FROM sys.dm_db_index_operational_stats(DB_ID(), NULL, NULL, NULL)"
SEEN = "SELECT name FROM sys.tables ORDER BY name"
MOVE = "CREATE UNIQUE CLUSTERED INDEX pk_orders ON dbo.orders (id) WITH (DROP_EXISTING = ON{}) ON ssd"


@pytest.fixture
def orders(lab: Lab) -> Table:
    """A table that is read, whose key has a property and a persisted sample; a role may read it."""
    table = add_table(lab.shop, "orders", pages=80)
    table.base.properties["owner"], table.base.persisted_sample = "sales", 100.0
    table.grants = (("SELECT", "reporting"),)
    lab.instance.read_randomly(lab.shop, table.base.partitions[0], 10)
    return table


@pytest.mark.parametrize(
    ("account", "seen"),
    [(READER, ["orders", "secret"]), (WITHOUT_DEFINITIONS, []), (HALF_BLIND, ["orders"])],
    ids=lambda value: value.name if isinstance(value, Account) else None,
)
def test_counters_come_without_definitions(
    lab: Lab, orders: Table, ask: Ask, account: Account, seen: list[str]
) -> None:
    """VIEW SERVER STATE shows rows of both tables, whatever the login sees of their definitions."""
    secret = add_table(lab.shop, "secret", pages=80)
    lab.instance.read_randomly(lab.shop, secret.base.partitions[0], 10)
    assert ask(COUNTED, account=account) == [(2,)]
    assert ask(SEEN, account=account) == [(name,) for name in seen]


def properties(ask: Ask) -> list[tuple[object, ...]]:
    """Of indexes, with their values as text."""
    return ask("SELECT name, CONVERT(nvarchar(100), value) AS value FROM sys.extended_properties WHERE class = 7")


def test_what_belongs_to_an_index_can_be_read(orders: Table, ask: Ask) -> None:
    """Extended properties, persisted sample and permissions, each in its view."""
    assert properties(ask) == [("owner", "sales")]
    asked = "SELECT persisted_sample_percent FROM sys.dm_db_stats_properties({}, 1)"
    assert ask(asked.format(orders.object_id)) == [(100.0,)]
    granted = (
        "SELECT p.permission_name, n.name FROM sys.database_permissions AS p "
        "JOIN sys.database_principals AS n ON n.principal_id = p.grantee_principal_id WHERE p.class = 1"
    )
    assert ask(granted) == [("SELECT", "reporting")]
    ask(MOVE.format(""))
    assert properties(ask) == [("owner", "sales")]
    assert orders.base.persisted_sample == 100.0


@pytest.mark.parametrize("what", ["index", "unique", "compression", "extended property", "sample", "permission"])
def test_a_server_that_loses_something(lab: Lab, orders: Table, ask: Ask, what: str) -> None:
    """Each loss is in the catalog afterwards, and the move has ended well."""
    orders.base.partitions[0].compression = "PAGE"
    lab.instance.rebuild_loses = frozenset({what})
    ask(MOVE.format(", DATA_COMPRESSION = PAGE"))
    base = orders.base
    kept = {
        "index": 2 in orders.indexes,
        "unique": base.unique,
        "compression": base.partitions[0].compression == "PAGE",
        "extended property": bool(properties(ask)),
        "sample": base.persisted_sample is not None,
        "permission": bool(orders.grants),
    }
    assert [name for name, there in kept.items() if not there] == [what]
