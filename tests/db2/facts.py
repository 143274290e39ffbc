"""Storage and tables to plan moves of, as a small site might have them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from connectors.db2.settings import Db2Settings
from connectors.db2.storage import ServerStorage, StorageGroup, TableSpace
from connectors.db2.tables import IndexFacts, TableFacts
from connectors.model.moves import Bundle, UnitKind

SETTINGS = Db2Settings(host="db.test", dbname="APP", user="hotmove")
SLOW = StorageGroup(
    number=0, name="SLOW", default=True, overhead=6.7, read_rate=100.0, datatag=0, paths=("/db/slow",),
    free_bytes=9_000_000, total_bytes=10_000_000,
)  # fmt: skip
FAST = replace(SLOW, number=1, name="FAST", default=False, overhead=0.1, read_rate=2000.0, paths=("/db/fast",))
SPACE = TableSpace(
    number=4, name="TS_SLOW", managed="D", permanent=True, page_bytes=4096, extent_pages=32, overhead=-1.0,
    transfer_rate=-1.0, group="SLOW", automatic=True, hybrid=False, grows=True, reclaimable=True, paths_dropped=False,
    os_cached=False, caching_tier="", state="NORMAL", mode="NO_REBAL", total_bytes=2_000_000, used_bytes=1_000_000,
    free_bytes=1_000_000, containers=("/db/slow/inst/NODE0000/APP/T0000004/C0000000.LRG",),
    container_pages={"/db/slow/inst/NODE0000/APP/T0000004/C0000000.LRG": 488}, container_room=9_000_000,
)  # fmt: skip
FAST_SPACE = replace(SPACE, number=5, name="TS_FAST", group="FAST")
STORAGE = ServerStorage({4: SPACE, 5: FAST_SPACE}, {"SLOW": SLOW, "FAST": FAST})
INDEX = IndexFacts(name="APP.ORDERS_PK", space=4, rule="P", columns=("+ID",), analysed=True)
PLAIN_INDEX = replace(INDEX, name="APP.BY_DAY", rule="D", columns=("-DAY", "include NAME"))
TABLE = TableFacts(
    schema="APP", name="ORDERS", kind="T", status="N", access="F", space="TS_SLOW", index_space="TS_SLOW",
    lob_space="TS_SLOW", column_organised=False, temporal=False, lobs=False, indexes=(INDEX,), referred_by=0,
    refers_to=0, partitions=1, owner="SALES", analysed=True,
)  # fmt: skip


def bundle(key: str = "APP.ORDERS", kind: UnitKind = UnitKind.TABLE, space: str = "TS_SLOW") -> Bundle:
    """A bundle of one unit of 400,000 bytes."""
    return Bundle(key=key, physical_ids=(1,), unit_keys=(key,), kind=kind, size_bytes=400_000, space=space)


def table(**changes: Any) -> TableFacts:
    """The table, but for what is given."""
    return replace(TABLE, **changes)


def space(**changes: Any) -> TableSpace:
    """The table space, but for what is given."""
    return replace(SPACE, **changes)
