"""A table split by a range of a column, written for a person: ADMIN_MOVE_TABLE with a partitioning clause. Pure.

It copies every row while triggers note what changes, and swaps the two under a short exclusive lock.
Source: SQL procedures, ADMIN_MOVE_TABLE (argument data_part); CREATE TABLE, partitioning-clause.
"""

from __future__ import annotations

import re

from connectors.containers import ByHand
from connectors.db2.reading.names import identifier, literal
from connectors.db2.reading.tables import TableFacts
from connectors.db2.routes.restrictions import refusal, written_name
from connectors.db2.routes.statements import PROCEDURE
from connectors.model import Bundle, NoRoute
from connectors.scripts import comment
from connectors.splitting import Border

UNIQUE_INDEXES = (
    "SELECT INDNAME, COLNAMES FROM SYSCAT.INDEXES "
    "WHERE UNIQUERULE <> 'D' AND TABSCHEMA = {schema} AND TABNAME = {table}"
)
_NUMBER = re.compile(r"-?\d+(\.\d+)?")


def by_hand(table: TableFacts | None, bundle: Bundle, border: Border, to_space: str) -> ByHand | NoRoute:
    """The statements, or why there is no way.

    Args:
        table: as the catalog has it; None: it is gone.
        bundle: the table.
        border: where it is split.
        to_space: table space of rows from the border on.
    """
    if table is None:
        return NoRoute(code="gone", sentence=f"{bundle.key} no longer exists")
    if table.partitions > 1 or not table.space:
        return NoRoute(code="partitioned", sentence=f"{written_name(table)} is partitioned already")
    if table.column_organised:
        return NoRoute(code="column_organised", sentence=f"{written_name(table)} is column-organised: no ranges there")
    refused = refusal(table)
    if refused is not None:
        return NoRoute(code=refused[0], sentence=refused[1])
    value = border.value if _NUMBER.fullmatch(border.value) else literal(border.value)
    column, name = identifier(border.column), f"{identifier(table.schema)}.{identifier(table.name)}"
    ranges = (
        f"({column}) (STARTING MINVALUE ENDING {value} EXCLUSIVE IN {identifier(table.space)}, "
        f"STARTING {value} ENDING MAXVALUE IN {identifier(to_space)})"
    )
    arguments = (table.schema, table.name, "", "", "", "", "", ranges, "", "", "MOVE")
    return ByHand(
        statements=(
            comment("unique indexes must contain the column, or be made NOT PARTITIONED beforehand:"),
            UNIQUE_INDEXES.format(schema=literal(table.schema), table=literal(table.name)),
            comment("how many rows go where; it reads the table:"),
            f"SELECT COUNT(*) FROM {name} WHERE {column} >= {value}",  # noqa: S608  # quoted names
            comment("reads and writes go on and are noted by triggers; an exclusive lock for a moment at the swap;"),
            comment("room for the table once more; MOVE is all phases in one call; INIT, COPY, REPLAY and SWAP, with"),
            comment("COUNT_BIG(*) of both tables after it, let you look before CLEANUP drops what the table was:"),
            f"CALL {PROCEDURE}({','.join(literal(argument) for argument in arguments)})",
            comment("should it end in between:"),
            f"CALL {PROCEDURE}({','.join(literal(each) for each in (*arguments[:2], *[''] * 8, 'CANCEL'))})",
        ),
        because="it copies all rows, and hotplace has no way back for a table that has become partitioned",
    )
