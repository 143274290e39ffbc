"""Whether a table can be copied now: what ADMIN_GET_TAB_INFO reports in addition to its sizes.

Asked only before a route and again before INIT. An ALTER TABLE or a LOAD leaves a table that every copy would meet with
SQL0668N, and what SYSCAT.TABLES says of it is normal.
"""

from __future__ import annotations

from dataclasses import replace

from connectors.db2.reading.sizes import loading
from connectors.db2.reading.tables import LOAD_RUNS, TableFacts
from connectors.db2.session.sessions import ReadSession


def with_condition(session: ReadSession, table: TableFacts) -> TableFacts:
    """The table with what is known of its availability, of a LOAD and of a reorganization that it waits for.

    While a LOAD works on it, nothing else is read: the other queries would wait for its end.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    me = (table.schema, table.name)
    if me in loading(session):
        return replace(table, load_status=LOAD_RUNS)
    rows = session.rows("table_state", me, doing=f"looking at the state of {table.schema}.{table.name}")
    loads = {str(load) for _, _, load in rows if load}
    return replace(
        table,
        available=all(available != "N" for available, _, _ in rows),
        reorg_pending=any(pending == "Y" for _, pending, _ in rows),
        load_status=LOAD_RUNS if LOAD_RUNS in loads else "".join(sorted(loads)[:1]),
    )
