"""How many rows of a table lie from a border on, by the server's statistics."""

from __future__ import annotations

from psycopg import sql

from connectors.postgresql.moving.split_table import Column, Table
from connectors.postgresql.session.queries import name_of, query
from connectors.postgresql.session.sessions import ReadSession

LEAST_SHARE = 0.001  # the planner hardly says fewer than a ten-thousandth: nothing may be there
_NO_ROW = 1.0  # as the planner writes it


def read_present_share(session: ReadSession, table: Table, column: Column, border: str) -> float | None:
    """Share of the table's rows from the border on, 0 to 1, as the planner estimates it; reads no row.

    None: the column has no statistics that this login may see, or to plan a query would run code of users.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    if not column.analyzed or table.foreign_code:
        return None
    value = sql.SQL("{}::{}").format(sql.Literal(border), sql.SQL(column.type))
    condition = sql.SQL("{} >= {}").format(sql.Identifier(column.name), value)
    beyond, all_rows = (_planned_rows(session, table, each) for each in (condition, sql.SQL("true")))
    return 0.0 if beyond <= _NO_ROW else min(1.0, beyond / all_rows)


def _planned_rows(session: ReadSession, table: Table, condition: sql.Composable) -> float:
    text = query("split_rows")
    parts = {"table": sql.Identifier(table.schema_, table.name), "condition": condition}
    statement = sql.SQL(text.decode()).format(**parts).as_bytes(None)
    rows = session.rows(statement, doing=f"estimating rows of {table.name}", name=name_of(text))
    return float(rows[0][0][0]["Plan"]["Plan Rows"])
