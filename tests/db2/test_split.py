"""A table split by a range: ADMIN_MOVE_TABLE with a partitioning clause, written out for a person."""

from __future__ import annotations

from dataclasses import replace

from connectors.db2.table_move import by_hand
from connectors.model.moves import Border, ByHand, NoRoute
from tests.db2.facts import bundle, table

BORDER = Border(column="day", value="2030-02-01")


def test_what_a_person_runs() -> None:
    """Unique indexes and rows are looked at first; one call copies the table into two ranges, another gives it up."""
    found = by_hand(table(), bundle(), BORDER, "TS_FAST")
    assert isinstance(found, ByHand)
    statements = [line for line in found.statements if not line.startswith("--")]
    assert statements[2] == (
        "CALL SYSPROC.ADMIN_MOVE_TABLE('APP','ORDERS','','','','','','(\"day\") (STARTING MINVALUE "
        "ENDING ''2030-02-01'' EXCLUSIVE IN \"TS_SLOW\", STARTING ''2030-02-01'' ENDING "
        "MAXVALUE IN \"TS_FAST\")','','','MOVE')"
    )
    assert statements[3].endswith("'CANCEL')")
    assert "SYSCAT.INDEXES" in statements[0]


def test_what_is_refused() -> None:
    """What is partitioned, organised by columns, or of no kind that the procedure moves."""
    asked = (None, table(partitions=3), table(column_organised=True), table(kind="U"), replace(table(), space=""))
    found = [by_hand(each, bundle(), BORDER, "TS_FAST") for each in asked]
    codes = [each.code for each in found if isinstance(each, NoRoute)]
    assert codes == ["gone", "partitioned", "column_organised", "typed_table", "partitioned"]
