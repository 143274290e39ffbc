"""What may be recorded of a value: by the kind of its column, whatever the value is."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

import pytest

from connectors.kit.recorded_columns import HashedNames, Kind, PlainNames, RecordedColumn, RecordedTable, ValueRefused

KEY = bytes(range(32))
HASHED = HashedNames(KEY, frozenset({"PRIMARY"}), ["SYS_C[0-9]+"])
AT = datetime(2026, 1, 1, tzinfo=UTC)


def kept(kind: Kind, value: object, *, plain: bool = True) -> tuple[object, bool]:
    """The value as it is recorded, and whether it was dropped."""
    table = RecordedTable(queries={"one": (RecordedColumn("c", kind),)})
    rows, dropped = table.rows("one", [(value,)], PlainNames() if plain else HASHED)
    return rows[0][0], bool(dropped)


@pytest.mark.parametrize("value", [None, True, 5, 1.5, Decimal("1.5"), "-12.5e3", [1, 2]])
def test_a_number_is_a_number(value: object) -> None:
    """Of every type that drivers have for one, numerals too."""
    assert kept(Kind.NUMBER, value) == (value, False)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (Kind.NUMBER, "4711 Main Street"), (Kind.NUMBER, AT), (Kind.NUMBER, b"1"), (Kind.TIME, "yesterday"),
        (Kind.TIME, 3), (Kind.NAME, 7), (Kind.WORD, b"x"), (Kind.PATH, 1), (Kind.NAMES, {"a": 1}), (Kind.KEY, ["a"]),
    ],
)  # fmt: skip
def test_what_is_of_another_kind_is_dropped_and_said(kind: Kind, value: object) -> None:
    """A string in a column of numbers is no counter: it may be anything."""
    assert kept(kind, value) == (None, True)


@pytest.mark.parametrize("value", ["2024-01-01", "([region]=N'EU')", 42, AT])
def test_definitions_and_borders_are_never_kept(value: object) -> None:
    """With plain names too; only that there is one."""
    assert kept(Kind.TEXT, value) == ("?", False)
    assert kept(Kind.TEXT, None) == (None, False)
    assert kept(Kind.TEXT, "") == ("", False)


@pytest.mark.parametrize(
    ("address", "expected"),
    [("127.0.0.1", "127.0.0.1"), ("::1", "127.0.0.1"), ("", ""), ("10.1.2.3", "192.0.2.1"), ("db.corp", "192.0.2.1")],
)
def test_of_an_address_only_whether_it_is_this_machine(address: str, expected: str) -> None:
    """Another one is an address of documentation."""
    assert kept(Kind.ADDRESS, address) == (expected, False)


def test_a_row_of_another_width_is_refused() -> None:
    """Columns that were added since the list was written shift the others: nothing of the answer may be recorded."""
    table = RecordedTable(queries={"one": (RecordedColumn("c", Kind.NUMBER),)})
    with pytest.raises(ValueRefused, match="2 columns, and its table 1"):
        table.rows("one", [(1, "data")], PlainNames())
    with pytest.raises(ValueRefused, match="1 parameters"):
        table.values("one", ("data",), PlainNames())


def test_pseudonyms_have_the_case_of_names_and_hide_all_else() -> None:
    """Upper case for names without a small letter; the vendor's own names stay."""
    assert HASHED.name("orders") == HASHED.name("orders") != HASHED.name("Orders")
    assert HASHED.name("orders")[0] == "n"
    assert HASHED.name("ORDERS") == HASHED.name("ORDERS").upper()
    assert len(HASHED.name("x" * 128)) == len(HASHED.name("x")) == 17
    assert [HASHED.name(name) for name in ("", "PRIMARY", "SYS_C0012")] == ["", "PRIMARY", "SYS_C0012"]
    assert HashedNames(bytes(32)).name("orders") != HASHED.name("orders")


def test_a_key_keeps_its_dots_and_a_path_its_folders() -> None:
    """What lies in a folder, disk or disk group still does; the parts are those of the names alone."""
    assert HASHED.key('public."My ""odd"" Table"').split(".") == [HASHED.name("public"), HASHED.name('My "odd" Table')]
    assert HASHED.key("a.b") == f"{HASHED.name('a')}.{HASHED.name('b')}"
    assert HASHED.path("/ssd/data/a.dbf").startswith(HASHED.path("/ssd/data") + "/")
    assert HASHED.path("S:\\data\\a.ndf").startswith("S:\\")
    assert HASHED.path("+FAST/db/x") == f"+{HASHED.name('FAST')}/{HASHED.name('db')}/{HASHED.name('x')}"
    assert HASHED.path("fast") == HASHED.name("fast")


def test_names_in_lists_are_names() -> None:
    """As those of standbys, with numbers between them."""
    value, dropped = kept(Kind.NAMES, [["north", "sync", 5]], plain=False)
    assert value == [[HASHED.name("north"), HASHED.name("sync"), 5]]
    assert not dropped
