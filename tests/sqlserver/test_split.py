"""A table split by a range: function, scheme and clustered index, written out for a person."""

from __future__ import annotations

from dataclasses import replace

import pytest

from connectors.model.moves import Border, ByHand, NoRoute
from connectors.sqlserver.ddl import ServerFeatures
from connectors.sqlserver.definition import HEAP, Definition
from connectors.sqlserver.routes import by_hand
from tests.sqlserver.made import ID, bundle, index, settings, table

BORDER = Border(column="id", value="500000")
ENTERPRISE, STANDARD = ServerFeatures(major=15, edition=3), ServerFeatures(major=15, edition=2)


@pytest.fixture(autouse=True)
def _secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "x")


def written(definition: Definition, server: ServerFeatures = ENTERPRISE, border: Border = BORDER) -> ByHand | NoRoute:
    """What is written for that table."""
    return by_hand(definition, bundle(), border, "SSD", server, settings())


def test_what_a_person_runs() -> None:
    """The index is rebuilt on a scheme of two filegroups, online where the edition can, and the way back is there."""
    found = written(table(index()))
    assert isinstance(found, ByHand)
    statements = [line for line in found.statements if not line.startswith("--")]
    assert statements[1:3] == [
        "CREATE PARTITION FUNCTION [hotplace_orders] (int) AS RANGE RIGHT FOR VALUES (500000)",
        "CREATE PARTITION SCHEME [hotplace_orders] AS PARTITION [hotplace_orders] TO ([HDD], [SSD])",
    ]
    assert statements[3].startswith("CREATE CLUSTERED INDEX [pk] ON ")
    assert "DROP_EXISTING = ON" in statements[3]
    assert "ONLINE = ON" in statements[3]
    assert statements[3].endswith(" ON [hotplace_orders]([id])")
    offline = written(table(index()), STANDARD)
    assert isinstance(offline, ByHand)
    assert "ONLINE = ON" not in " ".join(offline.statements)


def test_what_is_refused() -> None:
    """A heap, a unique index without the column, a column of no such type, and what is not there."""
    other, store = replace(ID, name="other"), replace(ID, name="text", type_name="text")
    asked = (
        written(table(index(HEAP, None, columns=()))),
        written(table(index(unique=1), columns=(ID, other)), border=Border(column="other", value="1")),
        written(table(index(), columns=(ID, store)), border=Border(column="text", value="1")),
        written(table(index()), border=Border(column="nothing", value="1")),
        written(table(index()), ServerFeatures(major=12, edition=2)),
    )
    codes = [each.code for each in asked if isinstance(each, NoRoute)]
    assert codes == ["no_clustered_index", "unique", "type", "no_column", "edition"]
