"""A table split by a range: written out for a person, with its checks and its refusals."""

from __future__ import annotations

from typing import Any

import pytest

from connectors.model.moves import Border, ByHand, NoRoute
from connectors.oracle import manual_scripts
from tests.oracle.made import bundle, entry, facts, server, standard

BORDER = Border(column="MADE AT", value="2030-02-01")


def test_what_a_person_runs() -> None:
    """The licence, room and rows are looked at first; one statement copies the table into two parts."""
    found = manual_scripts.by_hand(facts(), bundle(), BORDER, "FAST", server())
    assert isinstance(found, ByHand)
    statements = [line for line in found.statements if not line.startswith("--")]
    assert statements[-1] == (
        'ALTER TABLE "APP"."ORDERS" MODIFY PARTITION BY RANGE ("MADE AT") (PARTITION HOTPLACE_P0 VALUES LESS THAN '
        "(TO_DATE('2030-02-01', 'SYYYY-MM-DD')) TABLESPACE \"SLOW\", PARTITION HOTPLACE_P1 VALUES LESS THAN (MAXVALUE) "
        'TABLESPACE "FAST") ONLINE UPDATE INDEXES'
    )
    assert [
        word for word in ("SYS.V_$OPTION", "SYS.DBA_FREE_SPACE", "COUNT(*)") if not any(word in s for s in statements)
    ] == []
    assert "licence" in found.because


@pytest.mark.parametrize(
    ("of", "code"),
    [
        (standard(), "no_option"),
        ({"number": (12, 1)}, "too_old"),
        ({"role": "PHYSICAL STANDBY"}, "standby"),
    ],
)
def test_servers_that_cannot(of: dict[str, Any], code: str) -> None:
    """By edition, release and role."""
    found = manual_scripts.by_hand(facts(), bundle(), BORDER, "FAST", server(**of))
    assert isinstance(found, NoRoute)
    assert found.code == code


def test_tables_that_cannot() -> None:
    """A partition, an index-organised table, and what is gone."""
    asked = (facts(lead=entry(type="TABLE PARTITION")), facts(index_type="IOT - TOP"), None)
    found = [manual_scripts.by_hand(each, bundle(), BORDER, "FAST", server()) for each in asked]
    assert [each.code for each in found if isinstance(each, NoRoute)] == ["no_table", "index_organised", "gone"]
