"""The vectors. Counters and truths were worked out by hand from Microsoft's documentation, before any code for demand.

Rules that they follow, with the page or view that each is from:

- ``page_io_latch_wait_count`` and ``page_io_latch_wait_in_ms`` of sys.dm_db_index_operational_stats, by heap or index
  and partition: a session needed a page that was still being read, and waited so long. ``tree_page_io_latch_wait_*``
  is the part of it on the upper levels of a B-tree, contained in the former.
- The same columns hold the waits for LOB pages of the partition; ``lob_fetch_in_pages`` counts LOB pages fetched, from
  storage or from memory.
- A page that was read ahead is waited for only by whoever needs it before it has arrived; that wait is counted like any
  other (Reading pages).
- Several sessions that wait for one page are several waits and one read.
- sys.dm_io_virtual_file_stats: num_of_reads counts requests, of one page where a row is looked up, of up to 64 pages
  where pages are read ahead, 8 at a time where an extent is all that lies together; io_stall_read_ms is the sum of all
  requests' times, read-ahead and backups included (view's page; Reading pages).
- ``singleton_lookup_count``, ``range_scan_count`` (scans begun), ``forwarded_fetch_count`` count operations, wherever
  their pages were found.

An interval of 100 s throughout: 1 second of wait is 0.01. A page takes 8 ms on ``hdd`` and 0.2 ms on ``ssd`` where the
workload does not say otherwise; 64 pages in order take 6 ms on ``hdd``.
"""

from __future__ import annotations

from tests.labs.sqlserver.world import FAST, SLOW
from tests.sqlserver.demand.vector import Counted, Placed, Vector

HERE = Placed(space=SLOW)
ORDERS, HISTORY = "[dbo].[orders]", "[dbo].[history]"


def looked_up(times: int, milliseconds: int, *, waits: int | None = None) -> dict[str, int]:
    """A row of so many look-ups, each of which waits for one page, milliseconds in all."""
    waited = times if waits is None else waits
    return {
        "singleton_lookup_count": times,
        "page_io_latch_wait_count": waited,
        "page_io_latch_wait_in_ms": milliseconds,
    }


# 80,000 pages of history in 1,250 requests of 64, 6 ms each; one wait of 6 ms, for the first of them
SCANNED = Counted(
    rows={HISTORY: {"range_scan_count": 1, "page_io_latch_wait_count": 1, "page_io_latch_wait_in_ms": 6}},
    files={SLOW: (1_250, 80_000, 7_500)},
    read_ahead=79_999,
)

VECTORS = (
    Vector(
        name="look-ups",
        workload="5,000 look-ups of orders by its key and 2,500 by its index, a page of 8 ms each. Before: a scan.",
        tables={"orders": HERE, "history": Placed(space=SLOW, pages=80_000)},
        before=SCANNED,
        during=Counted(
            rows={ORDERS: looked_up(5_000, 40_000), f"{ORDERS}.[ix_orders]": looked_up(2_500, 20_000)},
            files={SLOW: (7_500, 7_500, 60_000)},
        ),
        truth={ORDERS: 0.40, f"{ORDERS}.[ix_orders]": 0.20},
        order=((ORDERS, f"{ORDERS}.[ix_orders]"), (f"{ORDERS}.[ix_orders]", HISTORY)),
    ),
    Vector(
        name="three ranks",
        workload="6,000, 3,000 and 600 look-ups of three tables of one size, 8 ms each.",
        tables={"a": HERE, "b": HERE, "c": HERE},
        during=Counted(
            rows={
                "[dbo].[a]": looked_up(6_000, 48_000),
                "[dbo].[b]": looked_up(3_000, 24_000),
                "[dbo].[c]": looked_up(600, 4_800),
            },
            files={SLOW: (9_600, 9_600, 76_800)},
        ),
        truth={"[dbo].[a]": 0.48, "[dbo].[b]": 0.24, "[dbo].[c]": 0.048},
        order=(("[dbo].[a]", "[dbo].[b]"), ("[dbo].[b]", "[dbo].[c]")),
    ),
    Vector(
        name="one filegroup, two times of a read",
        workload=(
            "3,000 look-ups each of two tables in one filegroup: those of the first meet a crowded disk and "
            "take 30 ms, "
            "those of the second a quiet one with a cache, 1 ms."
        ),
        tables={"crowded": HERE, "quiet": HERE},
        during=Counted(
            rows={"[dbo].[crowded]": looked_up(3_000, 90_000), "[dbo].[quiet]": looked_up(3_000, 3_000)},
            files={SLOW: (6_000, 6_000, 93_000)},
        ),
        truth={"[dbo].[crowded]": 0.90, "[dbo].[quiet]": 0.03},
        order=(("[dbo].[crowded]", "[dbo].[quiet]"),),
    ),
    Vector(
        name="look-ups and a scanner",
        workload=(
            "1,350 look-ups of orders, 8 ms each: 10.8 s. One scan of 80,000 pages of history, 64 at a time, whose "
            "session is faster than the disk: it waits 4,000 times for 1 ms until a page has arrived: 4 s."
        ),
        tables={"orders": HERE, "history": Placed(space=SLOW, pages=80_000)},
        during=Counted(
            rows={
                ORDERS: looked_up(1_350, 10_800),
                HISTORY: {
                    "range_scan_count": 1,
                    "page_io_latch_wait_count": 4_000,
                    "page_io_latch_wait_in_ms": 4_000,
                },
            },
            files={SLOW: (2_600, 81_350, 18_300)},
            read_ahead=80_000,
        ),
        truth={ORDERS: 0.108, HISTORY: 0.04},
        order=((ORDERS, HISTORY),),
    ),
    Vector(
        name="a scan without waits",
        workload="1,000 look-ups of orders, 8 ms each; a scan of history, read ahead in time: one wait of 6 ms.",
        tables={"orders": HERE, "history": Placed(space=SLOW, pages=80_000)},
        during=Counted(
            rows={ORDERS: looked_up(1_000, 8_000), **SCANNED.rows},
            files={SLOW: (2_250, 81_000, 15_500)},
            read_ahead=79_999,
        ),
        truth={ORDERS: 0.08, HISTORY: 0.00006},
        order=((ORDERS, HISTORY),),
    ),
    Vector(
        name="waits behind read-ahead",
        workload=(
            "A report over history is read ahead 64 pages at a time, and waits 20,000 times for 2 ms each until pages "
            "have arrived: 40 s. 1,000 look-ups of orders, 8 ms each: 8 s."
        ),
        tables={"orders": HERE, "history": Placed(space=SLOW, pages=80_000)},
        during=Counted(
            rows={
                ORDERS: looked_up(1_000, 8_000),
                HISTORY: {
                    "range_scan_count": 4,
                    "page_io_latch_wait_count": 20_000,
                    "page_io_latch_wait_in_ms": 40_000,
                },
            },
            files={SLOW: (6_000, 321_000, 48_000)},
            read_ahead=320_000,
        ),
        truth={ORDERS: 0.08, HISTORY: 0.40},
        order=((HISTORY, ORDERS),),
    ),
    Vector(
        name="several sessions wait for one page",
        workload=(
            "2,000 pages of hot are read in 8 ms, and four sessions wait for each: 8,000 waits, 64 s. 2,000 "
            "look-ups of "
            "cold by one session: 16 s. The files saw 4,000 reads."
        ),
        tables={"hot": HERE, "cold": HERE},
        during=Counted(
            rows={"[dbo].[hot]": looked_up(8_000, 64_000), "[dbo].[cold]": looked_up(2_000, 16_000)},
            files={SLOW: (4_000, 4_000, 32_000)},
        ),
        truth={"[dbo].[hot]": 0.64, "[dbo].[cold]": 0.16},
        order=(("[dbo].[hot]", "[dbo].[cold]"),),
    ),
    Vector(
        name="large objects from storage",
        workload=(
            "2,000 look-ups of docs: a page of the row and five of its LOB, each from storage in 8 ms: 16 s and 80 s. "
            "The row counts both: 12,000 waits, and 10,000 LOB pages fetched; 2,000 look-ups of one row cannot have "
            "waited for many more than 2,000 leaves."
        ),
        tables={"docs": Placed(space=SLOW, lob_pages=40_000), "orders": HERE},
        during=Counted(
            rows={
                "[dbo].[docs]": looked_up(2_000, 96_000, waits=12_000) | {"lob_fetch_in_pages": 10_000},
                ORDERS: looked_up(3_000, 24_000),
            },
            files={SLOW: (15_000, 15_000, 120_000)},
        ),
        truth={"[dbo].[docs]": 0.16, "[dbo].[docs] lob": 0.80, ORDERS: 0.24},
        bounds={"[dbo].[docs]": (0.13, 0.30), "[dbo].[docs] lob": (0.66, 0.83)},
        together=(("[dbo].[docs]", "[dbo].[docs] lob"),),
        order=(("[dbo].[docs] lob", "[dbo].[docs]"), ("[dbo].[docs] lob", ORDERS)),
    ),
    Vector(
        name="two speeds of storage",
        workload="2,000 look-ups on hdd, 8 ms each: 16 s. 20,000 on ssd, 0.2 ms each: 4 s.",
        tables={"slow": HERE, "fast": Placed(space=FAST)},
        during=Counted(
            rows={"[dbo].[slow]": looked_up(2_000, 16_000), "[dbo].[fast]": looked_up(20_000, 4_000)},
            files={SLOW: (2_000, 2_000, 16_000), FAST: (20_000, 20_000, 4_000)},
        ),
        truth={"[dbo].[slow]": 0.16, "[dbo].[fast]": 0.04},
        order=(("[dbo].[slow]", "[dbo].[fast]"),),
    ),
    Vector(
        name="busy and in memory",
        workload="100,000 look-ups of cached find every page in memory; 500 of orders do not, 8 ms each.",
        tables={"cached": HERE, "orders": HERE},
        during=Counted(
            rows={"[dbo].[cached]": {"singleton_lookup_count": 100_000}, ORDERS: looked_up(500, 4_000)},
            files={SLOW: (500, 500, 4_000)},
        ),
        truth={ORDERS: 0.04},
        order=((ORDERS, "[dbo].[cached]"),),
    ),
)
