"""Whether the open part of a table can be closed, by the catalog as it is now."""

from __future__ import annotations

from connectors.model import NoRoute
from connectors.postgresql.moving.open_part import lies_behind, read_open_part
from connectors.postgresql.moving.present_rows import read_present_share
from connectors.postgresql.moving.relation import find_relation
from connectors.postgresql.moving.split_table import BorderValue
from connectors.postgresql.routes.close import Closable, closable_part, refuse_border
from connectors.postgresql.session.sessions import ReadSession


def find_closable(session: ReadSession, table: str, to_space: str) -> Closable | NoRoute:
    """The open part of a table, behind which one can be made in a space; or why not, whatever the border.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    found = read_open_part(session, table)
    relation = None if found is None or found.part is None else find_relation(session, found.by.key, to_space)
    return closable_part(found, relation, to_space)


def refuse_now(session: ReadSession, found: Closable, border: BorderValue) -> NoRoute | None:
    """Why the part is not closed at that border; None where it may be. Reads no row.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    behind = lies_behind(session, found.column, found.by.low, border.text)
    # Of the part's own column: the whole may have no statistics, autovacuum gathers those of parts.
    column = next((each for each in found.part.columns if each.name == found.column.name), found.column)
    present = read_present_share(session, found.part, column, border.text)
    return refuse_border(found, border, present, behind=behind)
