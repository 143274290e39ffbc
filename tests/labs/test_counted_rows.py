"""Rows that a split, a closing or their way back moves are counted and compared before anything of theirs is dropped.

Whatever a person has hung on a part since decides what an INSERT of its rows does: rules and triggers swallow or change
them, a function that was replaced computes other values. Each is real, on a real server.
"""

from __future__ import annotations

from dataclasses import replace

import psycopg
import pytest

from connectors.kit.contract import ConnectorError
from connectors.model.moves import Route
from connectors.postgresql.connector import PostgresqlConnector
from connectors.postgresql.split_block import COUNTED
from tests.contract.asking import run
from tests.labs.test_close import close_route, split_orders, way_back
from tests.labs.test_split import ADD, only_newest, orders, place, pytestmark, split_route
from tests.labs.test_split_rows import CONTENTS, analyzed

__all__ = ["analyzed", "orders", "place", "pytestmark", "split_orders"]
SWALLOW = """
    CREATE FUNCTION swallow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
    CREATE TRIGGER t BEFORE INSERT ON {0} FOR EACH ROW EXECUTE FUNCTION swallow()
"""
CHANGE = """
    CREATE FUNCTION change() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.customer := 1; RETURN NEW; END';
    CREATE TRIGGER t BEFORE INSERT ON {0} FOR EACH ROW EXECUTE FUNCTION change()
"""
DELETE = """
    CREATE FUNCTION take_away() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public AS
        'BEGIN DELETE FROM {0} WHERE id = NEW.id; RETURN NULL; END';
    CREATE TRIGGER t AFTER INSERT ON {0} FOR EACH ROW WHEN (NEW.id % 7 = 0) EXECUTE FUNCTION take_away()
"""
# What hangs on the part that takes the rows, by what it does to them.
HOSTILE = {
    "a rule that drops them": "CREATE RULE r AS ON INSERT TO {0} DO INSTEAD NOTHING",
    "a rule that drops some": "CREATE RULE r AS ON INSERT TO {0} WHERE NEW.id % 2 = 0 DO INSTEAD NOTHING",
    "a rule that adds some": "CREATE RULE r AS ON INSERT TO {0} DO ALSO INSERT INTO {0} VALUES (NEW.id - 9, now(), 1)",
    "a trigger that swallows them": SWALLOW,
    "a trigger that changes them": CHANGE,
    "a trigger that takes them away": DELETE,
}


def refused(connector: PostgresqlConnector, route: Route, *, undo: bool) -> str:
    """What ended the way there or back; "" where it did not end so."""
    try:
        run(connector, route, undo=undo)
    except ConnectorError as error:
        return str(error)
    return ""


@only_newest
@pytest.mark.parametrize("what", HOSTILE)
def test_what_hangs_on_the_part_that_takes_rows_back(
    analyzed: psycopg.Connection, connector: PostgresqlConnector, what: str
) -> None:
    """The way back of a split is rolled back, and says what is in the way; without it every row comes back."""
    route = split_route(connector, analyzed, "id", "1805")
    run(connector, route)
    analyzed.execute(ADD.encode())
    seen = analyzed.execute(CONTENTS).fetchall()
    analyzed.execute(HOSTILE[what].format("orders_p0").encode())
    assert "orders_p0 has a rule or trigger of its own (" in refused(connector, route, undo=True)
    assert analyzed.execute(CONTENTS).fetchall() == seen
    kind = "RULE r" if "RULE" in HOSTILE[what] else "TRIGGER t"
    analyzed.execute(f"DROP {kind} ON orders_p0".encode())
    assert refused(connector, route, undo=True) == ""
    assert analyzed.execute(CONTENTS).fetchall() == seen


@only_newest
@pytest.mark.parametrize("what", ["a rule that drops them", "a trigger that changes them"])
def test_what_hangs_on_the_part_that_is_opened_again(
    split_orders: psycopg.Connection, connector: PostgresqlConnector, what: str
) -> None:
    """The same of the way back of a closing."""
    route = close_route(connector, "2000000")
    run(connector, route)
    split_orders.execute("SELECT setval('orders_id_seq', 2000000)")
    split_orders.execute(ADD.encode())
    seen = split_orders.execute(CONTENTS).fetchall()
    split_orders.execute(HOSTILE[what].format("orders_p1").encode())
    for step in route.undo_steps[:2]:
        split_orders.execute(step.sql.encode())
    with pytest.raises(psycopg.errors.Error, match="orders_p1 has a rule or trigger of its own"):
        split_orders.execute(route.undo_steps[2].sql.encode())
    assert split_orders.execute(CONTENTS).fetchall() == seen
    assert way_back(route).steps


# What a person gives the part that a way back would drop, by the word that names it.
OF_ITS_OWN = {
    "index only_here": "CREATE INDEX only_here ON {0} (counted)",
    "constraint only_here": "ALTER TABLE {0} ADD CONSTRAINT only_here CHECK (counted > 0) NOT VALID",
    "trigger only_here": "CREATE TRIGGER only_here BEFORE UPDATE ON {0} FOR EACH ROW "
    "EXECUTE FUNCTION suppress_redundant_updates_trigger()",
    "rule only_here": "CREATE RULE only_here AS ON DELETE TO {0} DO ALSO NOTHING",
    "policy only_here": "CREATE POLICY only_here ON {0} USING (true)",
    "privileges": "GRANT SELECT ON {0} TO split_reader",
    "privileges of column customer": "GRANT SELECT (customer) ON {0} TO split_reader",
    "publication only_here": "CREATE PUBLICATION only_here FOR TABLE {0}",
    "statistics only_here": "CREATE STATISTICS only_here ON customer, counted FROM {0}",
    "comment": "COMMENT ON TABLE {0} IS 'kept for the auditors'",
    "foreign key lines_o_fkey of public.lines": "CREATE TABLE lines (o bigint REFERENCES {0} (id))",
    "row security": "ALTER TABLE {0} ENABLE ROW LEVEL SECURITY",
}


@only_newest
@pytest.mark.parametrize("what", OF_ITS_OWN)
def test_what_belongs_to_a_part_alone_is_not_dropped_with_it(
    analyzed: psycopg.Connection, connector: PostgresqlConnector, what: str
) -> None:
    """By name, before a row is copied: an index, a privilege or a comment that only the part has would be lost."""
    route = split_route(connector, analyzed, "id", "1805")
    run(connector, route)
    seen = analyzed.execute(CONTENTS).fetchall()
    analyzed.execute(OF_ITS_OWN[what].format("orders_p1").encode())
    assert f"orders_p1 has what the whole has not ({what})" in refused(connector, route, undo=True)
    assert analyzed.execute(CONTENTS).fetchall() == seen


COMPUTED = """
    CREATE FUNCTION fee(int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT $1 * 2';
    CREATE TABLE orders (id bigint NOT NULL, n int, fee int GENERATED ALWAYS AS (fee(n)) STORED);
    INSERT INTO orders SELECT g, g FROM generate_series(1, 100) AS g; ANALYZE orders;
"""
REPLACED = "CREATE OR REPLACE FUNCTION fee(int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT $1 * 3'"


@only_newest
@pytest.mark.parametrize("undo", [False, True])
def test_values_that_would_be_computed_otherwise_today(
    dba: psycopg.Connection, connector: PostgresqlConnector, undo: bool
) -> None:
    """A generated column keeps what it was computed as then: an INSERT would compute it anew: the move is refused."""
    dba.execute(COMPUTED.encode())
    route = split_route(connector, dba, "id", "51")
    if undo:
        run(connector, route)
    seen = dba.execute(CONTENTS).fetchall()
    dba.execute(REPLACED.encode())
    assert "do not come out as they were" in refused(connector, route, undo=undo)
    assert dba.execute(CONTENTS).fetchall() == seen
    dba.execute(REPLACED.replace("* 3", "* 2").encode())
    assert refused(connector, route, undo=undo) == ""
    assert dba.execute(CONTENTS).fetchall() == seen


@only_newest
def test_what_was_written_before_rows_were_compared_is_not_sent(
    analyzed: psycopg.Connection, connector: PostgresqlConnector
) -> None:
    """An approval of an earlier version holds statements that would drop a part without looking at its rows."""
    route = split_route(connector, analyzed, "id", "1805")
    run(connector, route)
    seen = analyzed.execute(CONTENTS).fetchall()
    step = route.undo_steps[0]
    assert step.operation is not None
    older = replace(step.operation, parameters={k: v for k, v in step.operation.parameters.items() if k != COUNTED})
    stored = replace(route, undo_steps=(replace(step, operation=older),))
    assert "did not compare the rows" in refused(connector, stored, undo=True)
    assert analyzed.execute(CONTENTS).fetchall() == seen
