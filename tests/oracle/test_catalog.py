"""From dictionary rows to units and spaces, by hand."""

from __future__ import annotations

import pytest

from connectors.model.moves import UnitKind
from connectors.model.observation import NO_PARENT
from connectors.oracle.catalog import Entry, owned_of, space_of, units_of
from connectors.oracle.facts import Whose, key_now
from connectors.oracle.names import key_of, plain

MIB = 1 << 20
OWNERS = [
    ("index", "APP", "ORDERS", None, "APP", "ORDERS", None, "NORMAL"),  # an index may bear its table's name
    ("index", "APP", "SYS_IL0000010$$", None, "APP", "ORDERS", None, "LOB"),
    ("index", "APP", "SYS_IOT_TOP_30", None, "APP", "RATES", None, "IOT - TOP"),
    ("overflow", "APP", "SYS_IOT_OVER_30", None, "APP", "RATES", None, None),
    ("lob", "APP", "SYS_LOB0000010$$", None, "APP", "ORDERS", None, "DOC"),
    ("lob partition", "APP", "SYS_LOB0000040$$", "SYS_LOB_P1", "APP", "LOGS", "P1", "BODY"),
]


def _entry(number: int, name: str, kind: str, part: str | None = None, space: str | None = "SLOW") -> Entry:
    return Entry(number, number, "APP", name, part, kind, MIB if space else None, 128, space, "DEFAULT")


ENTRIES = [
    _entry(10, "ORDERS", "TABLE"),
    _entry(11, "ORDERS", "INDEX"),
    _entry(12, "SYS_LOB0000010$$", "LOB"),
    _entry(13, "SYS_IL0000010$$", "INDEX"),
    _entry(30, "RATES", "TABLE", space=None),
    _entry(31, "SYS_IOT_TOP_30", "INDEX"),
    _entry(32, "SYS_IOT_OVER_30", "TABLE"),
    _entry(40, "LOGS", "TABLE", space=None),
    _entry(41, "LOGS", "TABLE PARTITION", "P1"),
    _entry(42, "SYS_LOB0000040$$", "LOB PARTITION", "SYS_LOB_P1"),
    _entry(50, "LATER", "TABLE", space=None),  # deferred: no segment
]


def test_every_segment_becomes_a_unit_with_a_key_of_its_own() -> None:
    """Tables, indexes, LOBs, index-organised tables with overflow, partitions; no LOB index, no deferred (f30, 39)."""
    units = units_of(ENTRIES, owned_of(OWNERS))
    assert {u.entry.object_id: (u.key, u.kind, u.bundle, u.parent) for u in units} == {
        10: ("APP.ORDERS", UnitKind.TABLE, 10, NO_PARENT),
        11: ("APP.ORDERS INDEX", UnitKind.INDEX, 11, 10),
        12: ("APP.ORDERS LOB (DOC)", UnitKind.LOB, 12, 10),
        31: ("APP.RATES", UnitKind.TABLE, 30, NO_PARENT),
        32: ("APP.RATES OVERFLOW", UnitKind.TABLE, 30, 30),
        41: ("APP.LOGS PARTITION P1", UnitKind.TABLE_PARTITION, 41, 40),
        42: ("APP.LOGS LOB (BODY) PARTITION P1", UnitKind.LOB, 42, 41),
    }


def test_a_renamed_object_has_another_key() -> None:
    """The key is made anew from the names of now, so a rename shows."""
    assert key_now(_entry(10, "ORDERS", "TABLE"), Whose("APP", "ORDERS")) == "APP.ORDERS"
    assert key_now(_entry(11, "ORDERS", "INDEX"), Whose("APP", "ORDERS", "NORMAL")) == "APP.ORDERS INDEX"
    assert key_now(_entry(31, "SYS_IOT_TOP_30", "INDEX"), Whose("APP", "RATES", "IOT - TOP")) == "APP.RATES"
    part = _entry(41, "LOGS", "TABLE PARTITION", "P1")
    assert key_now(part, Whose("APP", "LOGS", part="P1")) == "APP.LOGS PARTITION P1"
    documents = _entry(42, "SYS_LOB0000040$$", "LOB PARTITION", "SYS_LOB_P1")
    assert key_now(documents, Whose("APP", "LOGS", column="BODY", part="P1")) == "APP.LOGS LOB (BODY) PARTITION P1"


@pytest.mark.parametrize(("name", "shown"), [("ORDERS", "ORDERS"), ("Orders", '"Orders"'), ("A B", '"A B"')])
def test_names_are_quoted_in_keys_only_where_they_must_be(name: str, shown: str) -> None:
    """As a person would write them."""
    assert plain(name) == shown
    assert key_of("APP", name, part_word="PARTITION", part="p 1") == f'APP.{shown} PARTITION "p 1"'


def test_room_counts_what_files_may_grow_to() -> None:
    """100 MiB allocated, 400 at most, 60 used: 340 are free."""
    space = space_of(("SLOW", 8192, 60 * MIB, 100 * MIB, 400 * MIB, "/data/slow01.dbf"), {})
    assert (space.used_bytes, space.free_bytes, space.capacity_bytes) == (60 * MIB, 340 * MIB, 400 * MIB)


def test_a_disk_group_bounds_the_growth() -> None:
    """USABLE_FILE_MB counts mirroring and may be negative; FLEX groups do not say (oracle.md f31)."""
    row = ("FAST", 8192, 60 * MIB, 100 * MIB, 400 * MIB, "+SSD/orcl/fast.dbf")
    assert space_of(row, {"SSD": ("SSD", "NORMAL", 50, 900)}).free_bytes == 90 * MIB
    assert space_of(row, {"SSD": ("SSD", "HIGH", -5, 900)}).free_bytes == 40 * MIB
    assert space_of(row, {"SSD": ("SSD", "FLEX", 0, 900)}).free_bytes == 340 * MIB


def test_unknown_room_is_not_zero_room() -> None:
    """Without a data file or without its use there is nothing to say."""
    assert space_of(("X", 8192, None, None, None, None), {}).free_bytes is None
    assert space_of(("X", 8192, None, MIB, MIB, "/x"), {}).free_bytes is None
