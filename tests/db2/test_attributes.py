"""Every attribute that the catalog has of keys, indexes, constraints and triggers is kept, refused or named here.

The lists below are held to the documented columns of the views (``tests/labs/db2``): a column that comes with a version
is in none of them, and this fails until somebody has said what becomes of it when a table is moved.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from connectors.db2 import sql
from connectors.model.observation import Home
from tests.contract.asking import bundle_of, run
from tests.db2.conftest import Connect
from tests.labs.db2.client import Db2, running_db2
from tests.labs.db2.documented import NEWEST, views
from tests.labs.db2.server import TS_FAST, TS_SLOW

NAMES = {"CONSTNAME", "TABSCHEMA", "TABNAME", "INDSCHEMA", "INDNAME", "TRIGSCHEMA", "TRIGNAME", "IID"}
TIMES = {"CREATE_TIME", "STATS_TIME", "LASTUSED", "LAST_REGEN_TIME"}
# What is read and compared before and after, or written again; and what is neither, with the reason.
COMPARED = {
    "SYSCAT.REFERENCES": {"REFTABSCHEMA", "REFTABNAME", "REFKEYNAME", "DELETERULE", "UPDATERULE"},
    "SYSCAT.TABCONST": {
        "TYPE", "OWNER", "ENFORCED", "TRUSTED", "CHECKEXISTINGDATA", "ENABLEQUERYOPT", "PERIODNAME", "PERIODPOLICY",
        "REMARKS",
    },
    "SYSCAT.KEYCOLUSE": {"COLNAME", "COLSEQ"},
    "SYSCAT.CHECKS": {"TYPE", "TEXT"},
    "SYSCAT.INDEXES": {
        "UNIQUERULE", "INDEXTYPE", "COMPRESSION", "PCTFREE", "REVERSE_SCANS", "MADE_UNIQUE", "ENTRYTYPE", "OWNER",
        "REMARKS", "VIEWNAME",
    },
    "SYSCAT.INDEXCOLUSE": {"COLNAME", "COLORDER", "COLSEQ"},
    "SYSCAT.TRIGGERS": {
        "OWNER", "TRIGTIME", "TRIGEVENT", "EVENTUPDATE", "EVENTDELETE", "EVENTINSERT", "GRANULARITY", "VALID",
        "QUALIFIER", "FUNC_PATH", "COLLATIONSCHEMA", "COLLATIONNAME", "TEXT", "REMARKS",
    },
}  # fmt: skip
OTHERS = {
    "SYSCAT.REFERENCES": {
        "COLCOUNT": "of the columns, which are compared",
        "OWNER": "who adds it again owns it: a note says so",
        "OWNERTYPE": "of the owner",
    },
    "SYSCAT.TABCONST": {"OWNERTYPE": "of the owner"},
    "SYSCAT.CHECKS": {"OWNER": "as in TABCONST", "OWNERTYPE": "of the owner"},
    "SYSCAT.INDEXES": {
        "COLCOUNT": "of the columns, which are compared", "UNIQUE_COLCOUNT": "of the columns, which are compared",
        "NLEAF": "measured", "NLEVELS": "measured", "FULLKEYCARD": "measured", "CLUSTERRATIO": "measured",
        "TBSPACEID": "where it is: that is what moves", "VIEWSCHEMA": "refused with VIEWNAME: an expression",
        "OWNERTYPE": "of the owner",
    },
    "SYSCAT.TRIGGERS": {"OWNERTYPE": "of the owner"},
}  # fmt: skip
QUERIES = {
    "SYSCAT.REFERENCES": ("foreign_keys",),
    "SYSCAT.TABCONST": ("foreign_keys", "table_constraints"),
    "SYSCAT.KEYCOLUSE": ("key_columns",),
    "SYSCAT.CHECKS": ("table_checks",),
    "SYSCAT.INDEXES": ("table_indexes",),
    "SYSCAT.INDEXCOLUSE": ("index_columns",),
    "SYSCAT.TRIGGERS": ("table_triggers",),
}


@pytest.mark.parametrize("view", COMPARED)
def test_no_attribute_is_forgotten(view: str) -> None:
    """Each documented column is compared, or named with why it is not; and no other is named."""
    documented = set(views(NEWEST)[view].columns)
    said = COMPARED[view] | OTHERS.get(view, {}).keys()
    assert documented - NAMES - TIMES == said - NAMES - TIMES


@pytest.mark.parametrize("view", COMPARED)
def test_what_is_compared_is_read(view: str) -> None:
    """A column that a query does not ask for cannot be compared."""
    folder = Path(str(sql.__path__[0]))
    text = "\n".join((folder / f"{name}.sql").read_text() for name in QUERIES[view])
    asked = set(re.findall(r"\b[A-Z]\.([A-Z_0-9]+)", text))
    assert COMPARED[view] <= asked


@pytest.fixture(scope="module")
def db2() -> Iterator[Db2]:
    """One emulated server."""
    with running_db2("11.5") as running:
        yield running


@pytest.fixture
def lab(db2: Db2) -> Iterator[Any]:
    """A table with a second index, a trigger and a check constraint."""
    db2.lab.create_table("APP", "ORDERS", "ORDERS_PK", TS_SLOW, 200)
    db2.lab.add_index("APP", "ORDERS", "BY_DAY", "+C1")
    db2.lab.alter_table("APP", "ORDERS", triggers={"T": "Y"}, constraints={"POSITIVE": {}}, checks=1)
    yield db2.lab
    db2.lab.drop_table("APP", "ORDERS")


CHANGES: dict[str, tuple[str, dict[str, Any]]] = {
    **{
        f"TRIGGERS.{column}": ("table", {"trigger_columns": {column: value}})
        for column, value in (
            ("OWNER", "SOMEBODY"), ("TRIGTIME", "B"), ("TRIGEVENT", "D"), ("EVENTUPDATE", "Y"), ("EVENTDELETE", "Y"),
            ("EVENTINSERT", "N"), ("GRANULARITY", "S"), ("QUALIFIER", "OTHER"), ("FUNC_PATH", '"X"'),
            ("COLLATIONNAME", "UCA"), ("COLLATIONSCHEMA", "OTHER"), ("TEXT", "CREATE TRIGGER T another"),
            ("REMARKS", "x"),
        )
    },
    "TRIGGERS.VALID": ("table", {"triggers": {"T": "X"}}),
    **{
        f"TABCONST.{column}": ("table", {"constraints": {"POSITIVE": {column: value}}})
        for column, value in (
            ("OWNER", "SOMEBODY"), ("ENFORCED", "N"), ("TRUSTED", "N"), ("CHECKEXISTINGDATA", "D"),
            ("ENABLEQUERYOPT", "N"), ("PERIODNAME", "BUSINESS_TIME"), ("REMARKS", "x"), ("TYPE", "I"),
            ("TEXT", "C0 > 1"),
        )
    },
    **{
        f"INDEXES.{column}": ("index", {"catalog": {column: value}})
        for column, value in (
            ("PCTFREE", 20), ("REVERSE_SCANS", "N"), ("MADE_UNIQUE", "Y"), ("ENTRYTYPE", "H"), ("OWNER", "SOMEBODY"),
            ("REMARKS", "x"), ("COMPRESSION", "Y"),
        )
    },
    "INDEXES.UNIQUERULE": ("index", {"unique": "U"}),
    "INDEXCOLUSE.COLORDER": ("index", {"columns": "-C1"}),
}  # fmt: skip


UNCHANGED = {
    "trigger_columns": {}, "triggers": {"T": "Y"}, "constraints": {"POSITIVE": {}}, "catalog": {}, "unique": "D",
    "columns": "+C1",
}  # fmt: skip


@pytest.mark.db2
@pytest.mark.xdist_group("db2")
def test_emulated_server_an_attribute_that_a_move_has_changed_is_told(lab: Any, connect: Connect) -> None:
    """One attribute alone is another after the move: the sentence of the move names what it belongs to."""
    connector = connect()
    found = connector.routes(bundle_of(connector.catalog(), "APP.ORDERS"), TS_FAST)
    assert isinstance(found, tuple), found
    run(connector, found[0])
    named = {"TRIGGERS": "APP.T", "TABCONST": "POSITIVE", "INDEXES": "BY_DAY", "INDEXCOLUSE": "BY_DAY"}
    for attribute, (of, change) in CHANGES.items():
        seen = connector.inspect(found[0])
        assert (seen.home, "not as it was" in seen.sentence) == (Home.TARGET, False), (attribute, seen.sentence)
        alter = lab.alter_table if of == "table" else lab.alter_index
        alter("APP", "ORDERS", **change)
        told = connector.inspect(found[0]).sentence
        assert "not as it was" in told, attribute
        assert named[attribute.partition(".")[0]] in told, attribute
        alter("APP", "ORDERS", **{field: UNCHANGED[field] for field in change})
