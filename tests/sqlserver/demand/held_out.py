"""Vectors that are not to be looked at while demand is mended. Rules and units as in ``vectors.py``."""

from __future__ import annotations

from tests.labs.sqlserver.world import FAST, SLOW
from tests.sqlserver.demand.vector import Counted, Placed, Vector
from tests.sqlserver.demand.vectors import HERE, HISTORY, ORDERS, looked_up

DAYS = "[dbo].[days] partition"
HELD_OUT = (
    Vector(
        name="an extent at a time",
        workload=(
            "report lies in pieces of one extent: 10,000 requests of 8 pages, 4 ms each, whose session waits 500 times "
            "for 4 ms: 2 s. 2,000 look-ups of orders, 8 ms each: 16 s."
        ),
        tables={"report": Placed(space=SLOW, pages=80_000), "orders": HERE},
        during=Counted(
            rows={
                "[dbo].[report]": {
                    "range_scan_count": 1,
                    "page_io_latch_wait_count": 500,
                    "page_io_latch_wait_in_ms": 2_000,
                },
                ORDERS: looked_up(2_000, 16_000),
            },
            files={SLOW: (12_000, 82_000, 56_000)},
            read_ahead=80_000,
        ),
        truth={"[dbo].[report]": 0.02, ORDERS: 0.16},
        order=((ORDERS, "[dbo].[report]"),),
        held_out=True,
    ),
    Vector(
        name="large objects in memory",
        workload=(
            "3,000 look-ups of profile wait 8 ms each for the row's page; its LOB page is in memory. Whether "
            "row or LOB "
            "was waited for cannot be seen: 3,000 waits, 3,000 LOB pages fetched. The sum can: 24 s."
        ),
        tables={"profile": Placed(space=SLOW, lob_pages=4_000)},
        during=Counted(
            rows={"[dbo].[profile]": looked_up(3_000, 24_000) | {"lob_fetch_in_pages": 3_000}},
            files={SLOW: (3_000, 3_000, 24_000)},
        ),
        truth={"[dbo].[profile]": 0.24},
        bounds={"[dbo].[profile]": (0.0, 0.24), "[dbo].[profile] lob": (0.0, 0.24)},
        together=(("[dbo].[profile]", "[dbo].[profile] lob"),),
        held_out=True,
    ),
    Vector(
        name="a heap whose rows have moved",
        workload="1,000 look-ups of pile by its index: a leaf, the page of the row, and where it has moved; 8 ms.",
        tables={"pile": Placed(space=SLOW, heap=True), "orders": HERE},
        during=Counted(
            rows={
                "[dbo].[pile]": looked_up(1_000, 16_000, waits=2_000) | {"forwarded_fetch_count": 1_000},
                "[dbo].[pile].[ix_pile]": looked_up(1_000, 8_000),
                ORDERS: looked_up(1_500, 12_000),
            },
            files={SLOW: (4_500, 4_500, 36_000)},
        ),
        truth={"[dbo].[pile]": 0.16, "[dbo].[pile].[ix_pile]": 0.08, ORDERS: 0.12},
        order=(("[dbo].[pile]", ORDERS), (ORDERS, "[dbo].[pile].[ix_pile]")),
        held_out=True,
    ),
    Vector(
        name="upper levels of an index",
        workload=(
            "1,000 look-ups by a large index: each waits for its leaf, 300 for a page above it too; 8 ms. The waits "
            "above are contained in the others: 1,300 in all."
        ),
        tables={"orders": HERE},
        during=Counted(
            rows={
                f"{ORDERS}.[ix_orders]": looked_up(1_000, 10_400, waits=1_300)
                | {"tree_page_io_latch_wait_count": 300, "tree_page_io_latch_wait_in_ms": 2_400},
                ORDERS: looked_up(1_000, 8_000),
            },
            files={SLOW: (2_300, 2_300, 18_400)},
        ),
        truth={f"{ORDERS}.[ix_orders]": 0.104, ORDERS: 0.08},
        order=((f"{ORDERS}.[ix_orders]", ORDERS),),
        held_out=True,
    ),
    Vector(
        name="partitions",
        workload="3,000 look-ups of the newest range, 300 of the one before, 8 ms; the oldest is scanned, read ahead.",
        tables={"days": Placed(space=SLOW, boundaries=(10, 20))},
        during=Counted(
            rows={
                f"{DAYS} 1": {
                    "range_scan_count": 1,
                    "page_io_latch_wait_count": 1,
                    "page_io_latch_wait_in_ms": 6,
                },
                f"{DAYS} 2": looked_up(300, 2_400),
                f"{DAYS} 3": looked_up(3_000, 24_000),
            },
            files={SLOW: (3_425, 11_300, 27_150)},
            read_ahead=7_999,
        ),
        truth={f"{DAYS} 1": 0.00006, f"{DAYS} 2": 0.024, f"{DAYS} 3": 0.24},
        order=((f"{DAYS} 3", f"{DAYS} 2"), (f"{DAYS} 2", f"{DAYS} 1")),
        held_out=True,
    ),
    Vector(
        name="a backup meanwhile",
        workload=(
            "2,000 look-ups of orders on hdd, 12 ms each during a backup that reads 1 MiB at a time and keeps "
            "no session waiting: 24 s; 5,000 of busy on ssd, 0.4 ms each: 2 s. Most of the files' reads are its own."
        ),
        tables={"orders": HERE, "busy": Placed(space=FAST), "history": Placed(space=SLOW, pages=80_000)},
        during=Counted(
            rows={ORDERS: looked_up(2_000, 24_000), "[dbo].[busy]": looked_up(5_000, 2_000)},
            files={SLOW: (2_750, 98_000, 39_000), FAST: (5_100, 17_800, 3_000)},
        ),
        truth={ORDERS: 0.24, "[dbo].[busy]": 0.02},
        order=((ORDERS, "[dbo].[busy]"), ("[dbo].[busy]", HISTORY)),
        running=("BACKUP DATABASE",),
        held_out=True,
    ),
)
