"""A table that was split by a time, and the partitions that come after it by the calendar."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

import psycopg

from connectors.model import Home, NoRoute
from connectors.postgresql.connector import PostgresqlConnector
from connectors.templates import TemplateKind
from tests.contract.asking import run
from tests.labs.calendar_site import DAY, a_template
from tests.labs.test_split import KEY, only_newest, pytestmark, split_route

__all__ = ["pytestmark"]
PAGE = Path(__file__).parents[2] / "docs" / "pages" / "how-to" / "split.md"
PARTS = """
    SELECT c.relname, t.spcname FROM pg_inherits JOIN pg_class AS c ON c.oid = inhrelid
      LEFT JOIN pg_tablespace AS t ON t.oid = c.reltablespace WHERE inhparent = 'orders'::regclass ORDER BY 1
"""


@only_newest
def test_rolling_goes_on_from_a_split(dba: psycopg.Connection, connector: PostgresqlConnector) -> None:
    """It says that the hot part has no end; once the statements of the page have given it one, months follow."""
    dba.execute("CREATE TABLE orders (made_at timestamptz NOT NULL, id bigint GENERATED ALWAYS AS IDENTITY, note text)")
    dba.execute("ALTER TABLE orders ADD PRIMARY KEY (made_at, id); SET TimeZone = 'UTC'")
    dba.execute("INSERT INTO orders (made_at) SELECT '2029-01-01'::date + g FROM generate_series(1, 50) AS g")
    run(connector, split_route(connector, dba, "made_at", "2100-02-01 00:00+00"))
    dba.execute("INSERT INTO orders (made_at) VALUES ('2100-02-03')")
    refused = connector.template(TemplateKind.NEXT_PARTITION, KEY, "fast", 40 * DAY)
    assert isinstance(refused, NoRoute)
    assert "its last partition orders_p1 has no end, as a split leaves it" in refused.sentence
    assert "Partitions after it" in refused.sentence
    for statement in statements_of("Partitions after it"):
        dba.execute(statement.replace("2030", "2100").replace("TABLESPACE ssd", "TABLESPACE fast").encode())
    template = a_template(connector, TemplateKind.NEXT_PARTITION, KEY, "fast", 40)
    (route,) = connector.routes_due(template, datetime(2100, 3, 10, tzinfo=UTC))
    assert template.find_refusal(route, datetime(2100, 3, 10, tzinfo=UTC)) == ""
    run(connector, route)
    assert connector.inspect(route).home is Home.TARGET
    assert dba.execute(PARTS).fetchall() == [
        ("orders_2100_03", "fast"), ("orders_2100_04", "fast"), ("orders_p0", None), ("orders_p1", "fast"),
    ]  # fmt: skip
    dba.execute("INSERT INTO orders (made_at) VALUES ('2100-04-29')")
    assert dba.execute("SELECT count(*), max(id) FROM orders").fetchone() == (52, 52)


def statements_of(heading: str) -> list[str]:
    """Those that the page shows under a heading."""
    part = PAGE.read_text(encoding="utf-8").partition(f"## {heading}\n")[2].partition("\n## ")[0]
    shown = "\n".join(re.findall(r"^    (.*)$", part, re.MULTILINE))
    assert shown, f"{heading} shows none"
    return [each.strip() for each in shown.split(";") if each.strip()]
