"""The vectors. Counters and truths were worked out by hand from IBM's documentation, before any code of the connector.

Rules that they follow, with their sources (numbers of the laboratory's README):

- POOL_k_P_READS counts pages of kind k (DATA, INDEX, XDA, COL) read by agents and by prefetchers, POOL_ASYNC_k_READS
  those of prefetchers; agents read P - ASYNC, one page an I/O (db2mon.sql; element pool_async_data_reads). Rule 1.
- POOL_READ_TIME and POOL_ASYNC_READ_TIME are milliseconds, over all kinds of a table space; their difference is what
  sessions waited for pages that they read themselves (element pool_async_read_time). Rule 1.
- PREFETCH_WAIT_TIME: milliseconds that sessions waited for prefetchers, by table space; in no other time. Rule 3.
- DIRECT_READS are sectors of 512 bytes, DIRECT_READ_REQS I/Os, both by table too; DIRECT_READ_TIME is by table space.
- OBJECT_k_P_READS of a table or an index counts both sorts of reads, without times and without the split.
- TABLE_SCANS and INDEX_SCANS count scans, wherever their pages were found.

An interval of 100 s throughout: 1 second of wait is 0.01. A page that a session reads itself takes 8 ms on SLOW and 0.2
ms on FAST, where the workload does not say otherwise.
"""

from __future__ import annotations

from tests.db2.demand.vector import Counted, Placed, Vector

A, B, LOB = "TS_A", "TS_B", "TS_LOB"
ON_A = {A: "SLOW"}
ORDERS = Placed(space=A, pages=20_000, indexes={"ORDERS_PK": 2_000})
HISTORY = Placed(space=A, pages=80_000, indexes={"HISTORY_PK": 8_000})


def looked_up(count: int) -> tuple[dict[str, int], dict[str, int]]:
    """Table and index of so many look-ups: a data page and a leaf come from storage, two upper levels from the pool."""
    table = {"OBJECT_DATA_L_READS": count, "OBJECT_DATA_P_READS": count, "ROWS_READ": count}
    index = {"OBJECT_INDEX_L_READS": 3 * count, "OBJECT_INDEX_P_READS": count, "INDEX_SCANS": count}
    return table, {**index, "OBJECT_INDEX_LBP_PAGES_FOUND": 2 * count}


ORDERS_1000, PK_1000 = looked_up(1_000)
ORDERS_2000, PK_2000 = looked_up(2_000)
# a scan of HISTORY, every page by prefetchers, and a space in which that was all
HISTORY_SCANNED = {
    "OBJECT_DATA_L_READS": 80_000, "OBJECT_DATA_P_READS": 80_000, "OBJECT_DATA_LBP_PAGES_FOUND": 80_000,
    "TABLE_SCANS": 1, "ROWS_READ": 320_000,
}  # fmt: skip
SPACE_SCANNED = {
    "POOL_DATA_L_READS": 80_000, "POOL_DATA_P_READS": 80_000, "POOL_ASYNC_DATA_READS": 80_000,
    "POOL_ASYNC_DATA_READ_REQS": 2_500, "POOL_DATA_LBP_PAGES_FOUND": 80_000, "POOL_READ_TIME": 40_000,
    "POOL_ASYNC_READ_TIME": 40_000,
}  # fmt: skip

VECTORS = (
    Vector(
        name="look-ups",
        workload="5,000 look-ups of ORDERS by its key: 5,000 leaves and 5,000 data pages, 8 ms each. Before: scans.",
        storage=ON_A,
        tables={"ORDERS": ORDERS, "HISTORY": HISTORY},
        before=Counted(tables={"HISTORY": HISTORY_SCANNED}, spaces={A: SPACE_SCANNED}),
        during=(
            Counted(
                tables={"ORDERS": looked_up(5_000)[0]},
                indexes={"ORDERS_PK": looked_up(5_000)[1]},
                spaces={A: {
                    "POOL_DATA_L_READS": 5_000, "POOL_DATA_P_READS": 5_000, "POOL_INDEX_L_READS": 15_000,
                    "POOL_INDEX_P_READS": 5_000, "POOL_INDEX_LBP_PAGES_FOUND": 10_000, "POOL_READ_TIME": 80_000,
                }},
            ),
        ),
        truth={"APP.ORDERS": 0.40, "index APP.ORDERS_PK": 0.40},
        order=(("APP.ORDERS", "APP.HISTORY"),),
    ),
    Vector(
        name="index waited for, table prefetched",
        workload=(
            "9,000 look-ups that the index of SALES answers, 1,000 of which go on to the table; 8 ms each. "
            "Meanwhile one scan of SALES, 90,000 pages ahead of its session: nobody waits for it."
        ),
        storage=ON_A,
        tables={"SALES": Placed(space=A, pages=90_000, indexes={"SALES_PK": 9_000})},
        during=(
            Counted(
                tables={"SALES": {
                    "OBJECT_DATA_L_READS": 91_000, "OBJECT_DATA_P_READS": 91_000, "TABLE_SCANS": 1,
                    "OBJECT_DATA_LBP_PAGES_FOUND": 90_000, "ROWS_READ": 361_000,
                }},
                indexes={"SALES_PK": looked_up(9_000)[1]},
                spaces={A: {
                    "POOL_DATA_L_READS": 91_000, "POOL_DATA_P_READS": 91_000, "POOL_ASYNC_DATA_READS": 90_000,
                    "POOL_ASYNC_DATA_READ_REQS": 2_813, "POOL_DATA_LBP_PAGES_FOUND": 90_000,
                    "POOL_INDEX_L_READS": 27_000, "POOL_INDEX_P_READS": 9_000, "POOL_INDEX_LBP_PAGES_FOUND": 18_000,
                    "POOL_READ_TIME": 125_000, "POOL_ASYNC_READ_TIME": 45_000,
                }},
            ),
        ),
        truth={"APP.SALES": 0.08, "index APP.SALES_PK": 0.72},
        order=(("index APP.SALES_PK", "APP.SALES"),),
    ),
    Vector(
        name="a scanned history next to the waiter",
        workload=(
            "2,000 look-ups of ORDERS, 8 ms a page. One scan of HISTORY in the same space, all of it ahead of its "
            "session."
        ),
        storage=ON_A,
        tables={"ORDERS": ORDERS, "HISTORY": HISTORY},
        during=(
            Counted(
                tables={"ORDERS": ORDERS_2000, "HISTORY": HISTORY_SCANNED},
                indexes={"ORDERS_PK": PK_2000},
                spaces={A: {
                    "POOL_DATA_L_READS": 82_000, "POOL_DATA_P_READS": 82_000, "POOL_ASYNC_DATA_READS": 80_000,
                    "POOL_ASYNC_DATA_READ_REQS": 2_500, "POOL_DATA_LBP_PAGES_FOUND": 80_000,
                    "POOL_INDEX_L_READS": 6_000, "POOL_INDEX_P_READS": 2_000, "POOL_INDEX_LBP_PAGES_FOUND": 4_000,
                    "POOL_READ_TIME": 72_000, "POOL_ASYNC_READ_TIME": 40_000,
                }},
            ),
        ),
        truth={"APP.ORDERS": 0.16, "index APP.ORDERS_PK": 0.16},
        bounds={"APP.ORDERS": (0.0, 0.16), "APP.HISTORY": (0.0, 0.16)},  # agents read 2,000 data pages; whose, by scans
        order=(("APP.ORDERS", "APP.HISTORY"), ("index APP.ORDERS_PK", "APP.HISTORY")),
    ),
    Vector(
        name="a scan that prefetchers cannot keep up with",
        workload=(
            "A warehouse: one scan of FACTS, 160,000 pages, whose session waits 3,000 times 10 ms for "
            "prefetchers. 500 look-ups of ORDERS in another space, 8 ms a page."
        ),
        storage={A: "SLOW", B: "SLOW"},
        tables={
            "FACTS": Placed(space=B, pages=160_000, indexes={"FACTS_PK": 16_000}),
            "ORDERS": ORDERS,
        },
        during=(
            Counted(
                tables={"FACTS": {
                    "OBJECT_DATA_L_READS": 160_000, "OBJECT_DATA_P_READS": 160_000, "TABLE_SCANS": 1,
                    "OBJECT_DATA_LBP_PAGES_FOUND": 160_000, "ROWS_READ": 640_000,
                }, "ORDERS": looked_up(500)[0]},
                indexes={"ORDERS_PK": looked_up(500)[1]},
                spaces={
                    A: {
                        "POOL_DATA_L_READS": 500, "POOL_DATA_P_READS": 500, "POOL_INDEX_L_READS": 1_500,
                        "POOL_INDEX_P_READS": 500, "POOL_INDEX_LBP_PAGES_FOUND": 1_000, "POOL_READ_TIME": 8_000,
                    },
                    B: {
                        "POOL_DATA_L_READS": 160_000, "POOL_DATA_P_READS": 160_000,
                        "POOL_ASYNC_DATA_READS": 160_000, "POOL_ASYNC_DATA_READ_REQS": 5_000,
                        "POOL_DATA_LBP_PAGES_FOUND": 160_000, "POOL_READ_TIME": 80_000,
                        "POOL_ASYNC_READ_TIME": 80_000, "PREFETCH_WAIT_TIME": 30_000, "PREFETCH_WAITS": 3_000,
                    },
                },
            ),
        ),
        truth={"APP.FACTS": 0.30, "APP.ORDERS": 0.04, "index APP.ORDERS_PK": 0.04},
        order=(("APP.FACTS", "APP.ORDERS"), ("APP.FACTS", "index APP.ORDERS_PK")),
    ),
    Vector(
        name="two scans that wait in one space",
        workload=(
            "FACTS, 100,000 pages, waits 25 s for prefetchers; DETAILS, 50,000 pages, 5 s. The space tells 30 s "
            "in all."
        ),
        storage=ON_A,
        tables={
            "FACTS": Placed(space=A, pages=100_000, indexes={"FACTS_PK": 10_000}),
            "DETAILS": Placed(space=A, pages=50_000, indexes={"DETAILS_PK": 5_000}),
        },
        during=(
            Counted(
                tables={
                    "FACTS": {"OBJECT_DATA_L_READS": 100_000, "OBJECT_DATA_P_READS": 100_000, "TABLE_SCANS": 1,
                              "OBJECT_DATA_LBP_PAGES_FOUND": 100_000, "ROWS_READ": 400_000},
                    "DETAILS": {"OBJECT_DATA_L_READS": 50_000, "OBJECT_DATA_P_READS": 50_000, "TABLE_SCANS": 1,
                                "OBJECT_DATA_LBP_PAGES_FOUND": 50_000, "ROWS_READ": 200_000},
                },
                spaces={A: {
                    "POOL_DATA_L_READS": 150_000, "POOL_DATA_P_READS": 150_000, "POOL_ASYNC_DATA_READS": 150_000,
                    "POOL_ASYNC_DATA_READ_REQS": 4_688, "POOL_DATA_LBP_PAGES_FOUND": 150_000,
                    "POOL_READ_TIME": 75_000, "POOL_ASYNC_READ_TIME": 75_000, "PREFETCH_WAIT_TIME": 30_000,
                    "PREFETCH_WAITS": 3_000,
                }},
            ),
        ),
        truth={"APP.FACTS": 0.25, "APP.DETAILS": 0.05},
        bounds={"APP.FACTS": (0.0, 0.30), "APP.DETAILS": (0.0, 0.30)},
        order=(("APP.FACTS", "APP.DETAILS"), ("APP.DETAILS", "index APP.FACTS_PK")),
    ),
    Vector(
        name="two speeds of storage",
        workload=(
            "50,000 look-ups of SESSIONS on flash, 0.2 ms a page; 2,000 of ORDERS on disk, 8 ms a page: read 25 "
            "times less, waited for longer."
        ),
        storage={A: "SLOW", B: "FAST"},
        tables={"ORDERS": ORDERS, "SESSIONS": Placed(space=B, pages=9_000, indexes={"SESSIONS_PK": 900})},
        during=(
            Counted(
                tables={"ORDERS": ORDERS_2000, "SESSIONS": looked_up(50_000)[0]},
                indexes={"ORDERS_PK": PK_2000, "SESSIONS_PK": looked_up(50_000)[1]},
                spaces={
                    A: {
                        "POOL_DATA_L_READS": 2_000, "POOL_DATA_P_READS": 2_000, "POOL_INDEX_L_READS": 6_000,
                        "POOL_INDEX_P_READS": 2_000, "POOL_INDEX_LBP_PAGES_FOUND": 4_000, "POOL_READ_TIME": 32_000,
                    },
                    B: {
                        "POOL_DATA_L_READS": 50_000, "POOL_DATA_P_READS": 50_000, "POOL_INDEX_L_READS": 150_000,
                        "POOL_INDEX_P_READS": 50_000, "POOL_INDEX_LBP_PAGES_FOUND": 100_000, "POOL_READ_TIME": 20_000,
                    },
                },
            ),
        ),
        truth={
            "APP.ORDERS": 0.16, "index APP.ORDERS_PK": 0.16, "APP.SESSIONS": 0.10, "index APP.SESSIONS_PK": 0.10,
        },
        order=(("APP.ORDERS", "APP.SESSIONS"), ("index APP.ORDERS_PK", "index APP.SESSIONS_PK")),
    ),
    Vector(
        name="LOBs in a space of their own",
        workload=(
            "2,000 look-ups of DOCS, 8 ms a page; each then reads a LOB of 64 KB by one direct read of 12 ms, "
            "which no buffer pool holds."
        ),
        storage={A: "SLOW", LOB: "SLOW"},
        tables={
            "DOCS": Placed(space=A, long_space=LOB, pages=20_000, lob_pages=64_000, indexes={"DOCS_PK": 2_000}),
        },
        during=(
            Counted(
                tables={"DOCS": {**ORDERS_2000, "DIRECT_READS": 256_000, "DIRECT_READ_REQS": 2_000}},
                indexes={"DOCS_PK": PK_2000},
                spaces={
                    A: {
                        "POOL_DATA_L_READS": 2_000, "POOL_DATA_P_READS": 2_000, "POOL_INDEX_L_READS": 6_000,
                        "POOL_INDEX_P_READS": 2_000, "POOL_INDEX_LBP_PAGES_FOUND": 4_000, "POOL_READ_TIME": 32_000,
                    },
                    LOB: {"DIRECT_READS": 256_000, "DIRECT_READ_REQS": 2_000, "DIRECT_READ_TIME": 24_000},
                },
            ),
        ),
        truth={"APP.DOCS": 0.16, "index APP.DOCS_PK": 0.16, "APP.DOCS lob": 0.24},
        order=(("APP.DOCS lob", "APP.DOCS"), ("APP.DOCS lob", "index APP.DOCS_PK")),
    ),
    Vector(
        name="two indexes, one of them read in order",
        workload=(
            "ITEMS: 3,000 data pages looked up and 10,000 scanned ahead; 1,000 leaves of BY_KEY looked up, 5,000 "
            "of BY_DAY read in order by prefetchers in one index scan. 8 ms a page that is waited for."
        ),
        storage=ON_A,
        tables={"ITEMS": Placed(space=A, pages=10_000, indexes={"BY_KEY": 1_000, "BY_DAY": 5_000})},
        during=(
            Counted(
                tables={"ITEMS": {
                    "OBJECT_DATA_L_READS": 13_000, "OBJECT_DATA_P_READS": 13_000, "TABLE_SCANS": 1,
                    "OBJECT_DATA_LBP_PAGES_FOUND": 10_000, "ROWS_READ": 43_000,
                }},
                indexes={
                    "BY_KEY": PK_1000,
                    "BY_DAY": {"OBJECT_INDEX_L_READS": 5_002, "OBJECT_INDEX_P_READS": 5_000, "INDEX_SCANS": 1,
                               "OBJECT_INDEX_LBP_PAGES_FOUND": 5_002},
                },
                spaces={A: {
                    "POOL_DATA_L_READS": 13_000, "POOL_DATA_P_READS": 13_000, "POOL_ASYNC_DATA_READS": 10_000,
                    "POOL_ASYNC_DATA_READ_REQS": 313, "POOL_DATA_LBP_PAGES_FOUND": 10_000,
                    "POOL_INDEX_L_READS": 8_002, "POOL_INDEX_P_READS": 6_000, "POOL_ASYNC_INDEX_READS": 5_000,
                    "POOL_ASYNC_INDEX_READ_REQS": 157, "POOL_INDEX_LBP_PAGES_FOUND": 7_002,
                    "POOL_READ_TIME": 39_500, "POOL_ASYNC_READ_TIME": 7_500,
                }},
            ),
        ),
        truth={"APP.ITEMS": 0.24, "index APP.BY_KEY": 0.08},
        bounds={"index APP.BY_KEY": (0.0, 0.08), "index APP.BY_DAY": (0.0, 0.08)},
        order=(("APP.ITEMS", "index APP.BY_KEY"), ("index APP.BY_KEY", "index APP.BY_DAY")),
    ),
    Vector(
        name="columns next to rows",
        workload=(
            "WIDE, organised by column: 38,000 pages by prefetchers, for which its sessions wait 10 s, and 2,000 "
            "that they read themselves, 8 ms each. In the same space 1,000 look-ups of ORDERS, 8 ms a page."
        ),
        storage=ON_A,
        tables={"ORDERS": ORDERS, "WIDE": Placed(space=A, pages=40_000, indexes={"WIDE_PK": 400}, organized="C")},
        during=(
            Counted(
                tables={"ORDERS": ORDERS_1000, "WIDE": {
                    "OBJECT_COL_L_READS": 40_000, "OBJECT_COL_P_READS": 40_000, "OBJECT_COL_LBP_PAGES_FOUND": 38_000,
                    "TABLE_SCANS": 4, "ROWS_READ": 900_000,
                }},
                indexes={"ORDERS_PK": PK_1000},
                spaces={A: {
                    "POOL_DATA_L_READS": 1_000, "POOL_DATA_P_READS": 1_000, "POOL_INDEX_L_READS": 3_000,
                    "POOL_INDEX_P_READS": 1_000, "POOL_INDEX_LBP_PAGES_FOUND": 2_000, "POOL_COL_L_READS": 40_000,
                    "POOL_COL_P_READS": 40_000, "POOL_ASYNC_COL_READS": 38_000, "POOL_ASYNC_COL_READ_REQS": 1_188,
                    "POOL_COL_LBP_PAGES_FOUND": 38_000, "POOL_READ_TIME": 51_000, "POOL_ASYNC_READ_TIME": 19_000,
                    "PREFETCH_WAIT_TIME": 10_000, "PREFETCH_WAITS": 800,
                }},
            ),
        ),
        truth={"APP.WIDE": 0.26, "APP.ORDERS": 0.08, "index APP.ORDERS_PK": 0.08},
        order=(("APP.WIDE", "APP.ORDERS"), ("APP.WIDE", "index APP.ORDERS_PK")),
    ),
    Vector(
        name="look-ups under an online backup",
        workload=(
            "2,000 look-ups of ORDERS, 8 ms a page, while an online backup reads the space past the buffer pool: "
            "its direct reads are in the space's counters and in no table's, and no session waits for them."
        ),
        storage=ON_A,
        tables={"ORDERS": ORDERS},
        during=(
            Counted(
                tables={"ORDERS": ORDERS_2000},
                indexes={"ORDERS_PK": PK_2000},
                spaces={A: {
                    "POOL_DATA_L_READS": 2_000, "POOL_DATA_P_READS": 2_000, "POOL_INDEX_L_READS": 6_000,
                    "POOL_INDEX_P_READS": 2_000, "POOL_INDEX_LBP_PAGES_FOUND": 4_000, "POOL_READ_TIME": 32_000,
                    "DIRECT_READS": 176_000, "DIRECT_READ_REQS": 172, "DIRECT_READ_TIME": 60_000,
                }},
            ),
        ),
        truth={"APP.ORDERS": 0.16, "index APP.ORDERS_PK": 0.16},
        elsewhere_ms={A: 60_000},
        utility="BACKUP",
    ),
    Vector(
        name="an index in a space of its own",
        workload=(
            "6,000 look-ups that the index of ORDERS answers on flash, 0.2 ms a leaf; 1,000 of them go on to the "
            "table on disk, 8 ms a page. In the table's space one scan of HISTORY, ahead of its session."
        ),
        storage={A: "SLOW", B: "FAST"},
        tables={
            "ORDERS": Placed(space=A, index_space=B, pages=20_000, indexes={"ORDERS_PK": 2_000}),
            "HISTORY": HISTORY,
        },
        during=(
            Counted(
                tables={"ORDERS": ORDERS_1000, "HISTORY": HISTORY_SCANNED},
                indexes={"ORDERS_PK": looked_up(6_000)[1]},
                spaces={
                    A: {
                        "POOL_DATA_L_READS": 81_000, "POOL_DATA_P_READS": 81_000, "POOL_ASYNC_DATA_READS": 80_000,
                        "POOL_ASYNC_DATA_READ_REQS": 2_500, "POOL_DATA_LBP_PAGES_FOUND": 80_000,
                        "POOL_READ_TIME": 48_000, "POOL_ASYNC_READ_TIME": 40_000,
                    },
                    B: {
                        "POOL_INDEX_L_READS": 18_000, "POOL_INDEX_P_READS": 6_000,
                        "POOL_INDEX_LBP_PAGES_FOUND": 12_000, "POOL_READ_TIME": 1_200,
                    },
                },
            ),
        ),
        truth={"APP.ORDERS": 0.08, "index APP.ORDERS_PK": 0.012},
        bounds={"APP.ORDERS": (0.0, 0.08), "APP.HISTORY": (0.0, 0.08)},
        order=(("APP.ORDERS", "index APP.ORDERS_PK"), ("APP.ORDERS", "APP.HISTORY")),
    ),
)  # fmt: skip
