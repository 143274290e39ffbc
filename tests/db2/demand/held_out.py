"""The vectors that are not looked at while the connector is mended; rules and conventions as in ``vectors``."""

from __future__ import annotations

from tests.db2.demand.vector import Counted, Placed, Vector
from tests.db2.demand.vectors import LOB, ON_A, ORDERS, ORDERS_1000, PK_1000, A, looked_up

HELD_OUT = (
    Vector(
        name="two tables with LOBs in one space",
        workload=(
            "DOCS reads 1,000 LOBs of 1 MB by one request each, 20 ms; ICONS 1,000 of 8 KB, 8 ms. Rows and keys "
            "are cached. The space tells 28 s in all, the tables their sectors and requests."
        ),
        storage={A: "SLOW", LOB: "SLOW"},
        tables={
            "DOCS": Placed(space=A, long_space=LOB, pages=2_000, lob_pages=80_000, indexes={"DOCS_PK": 200}),
            "ICONS": Placed(space=A, long_space=LOB, pages=2_000, lob_pages=2_000, indexes={"ICONS_PK": 200}),
        },
        during=(
            Counted(
                tables={
                    "DOCS": {"OBJECT_DATA_L_READS": 1_000, "ROWS_READ": 1_000, "DIRECT_READS": 2_048_000,
                             "DIRECT_READ_REQS": 1_000},
                    "ICONS": {"OBJECT_DATA_L_READS": 1_000, "ROWS_READ": 1_000, "DIRECT_READS": 16_000,
                              "DIRECT_READ_REQS": 1_000},
                },
                spaces={
                    A: {"POOL_DATA_L_READS": 2_000},
                    LOB: {"DIRECT_READS": 2_064_000, "DIRECT_READ_REQS": 2_000, "DIRECT_READ_TIME": 28_000},
                },
            ),
        ),
        truth={"APP.DOCS lob": 0.20, "APP.ICONS lob": 0.08},
        bounds={"APP.DOCS lob": (0.0, 0.28), "APP.ICONS lob": (0.0, 0.28)},
        order=(("APP.DOCS lob", "APP.DOCS"), ("APP.ICONS lob", "APP.ICONS")),
        held_out=True,
    ),
    Vector(
        name="sorts that spill",
        workload=(
            "1,000 look-ups of ORDERS, 8 ms a page. Meanwhile sorts read 5,000 pages of temporary tables, 4,000 "
            "of them by prefetchers, whose counters do not tell temporary pages apart."
        ),
        storage=ON_A,
        tables={"ORDERS": ORDERS},
        during=(
            Counted(
                tables={"ORDERS": ORDERS_1000},
                indexes={"ORDERS_PK": PK_1000},
                spaces={
                    A: {
                        "POOL_DATA_L_READS": 1_000, "POOL_DATA_P_READS": 1_000, "POOL_INDEX_L_READS": 3_000,
                        "POOL_INDEX_P_READS": 1_000, "POOL_INDEX_LBP_PAGES_FOUND": 2_000, "POOL_READ_TIME": 16_000,
                    },
                    "TEMPSPACE1": {
                        "POOL_TEMP_DATA_L_READS": 9_000, "POOL_TEMP_DATA_P_READS": 5_000,
                        "POOL_ASYNC_DATA_READS": 4_000, "POOL_ASYNC_DATA_READ_REQS": 125, "POOL_READ_TIME": 10_000,
                        "POOL_ASYNC_READ_TIME": 2_000,
                    },
                },
            ),
        ),
        truth={"APP.ORDERS": 0.08, "index APP.ORDERS_PK": 0.08},
        elsewhere_ms={"TEMPSPACE1": 8_000},
        held_out=True,
    ),
    Vector(
        name="a small table scanned from the pool",
        workload=(
            "COUNTRIES, 10 pages, is scanned 10,000 times out of the buffer pool; its pages were prefetched once. "
            "1,000 look-ups of ORDERS, 8 ms a page."
        ),
        storage=ON_A,
        tables={"ORDERS": ORDERS, "COUNTRIES": Placed(space=A, pages=10, indexes={"COUNTRIES_PK": 1})},
        during=(
            Counted(
                tables={"ORDERS": ORDERS_1000, "COUNTRIES": {
                    "OBJECT_DATA_L_READS": 100_000, "OBJECT_DATA_P_READS": 10, "TABLE_SCANS": 10_000,
                    "OBJECT_DATA_LBP_PAGES_FOUND": 100_000, "ROWS_READ": 400_000,
                }},
                indexes={"ORDERS_PK": PK_1000},
                spaces={A: {
                    "POOL_DATA_L_READS": 101_000, "POOL_DATA_P_READS": 1_010, "POOL_ASYNC_DATA_READS": 10,
                    "POOL_ASYNC_DATA_READ_REQS": 1, "POOL_DATA_LBP_PAGES_FOUND": 100_000,
                    "POOL_INDEX_L_READS": 3_000, "POOL_INDEX_P_READS": 1_000, "POOL_INDEX_LBP_PAGES_FOUND": 2_000,
                    "POOL_READ_TIME": 16_009, "POOL_ASYNC_READ_TIME": 9,
                }},
            ),
        ),
        truth={"APP.ORDERS": 0.08, "index APP.ORDERS_PK": 0.08},
        bounds={"APP.COUNTRIES": (0.0, 0.0008)},  # ORDERS: 990 to 1,000 pages, which is measured
        order=(("APP.ORDERS", "APP.COUNTRIES"),),
        held_out=True,
    ),
    Vector(
        name="prefetchers on an index only",
        workload=(
            "4,000 look-ups of ORDERS and 1,000 of ITEMS, 8 ms a page; 29,000 leaves of the index of ITEMS read "
            "in order by prefetchers. No data page was prefetched."
        ),
        storage=ON_A,
        tables={"ORDERS": ORDERS, "ITEMS": Placed(space=A, pages=50_000, indexes={"ITEMS_PK": 30_000})},
        during=(
            Counted(
                tables={"ORDERS": looked_up(4_000)[0], "ITEMS": ORDERS_1000},
                indexes={
                    "ORDERS_PK": looked_up(4_000)[1],
                    "ITEMS_PK": {"OBJECT_INDEX_L_READS": 32_002, "OBJECT_INDEX_P_READS": 30_000, "INDEX_SCANS": 1_001,
                                 "OBJECT_INDEX_LBP_PAGES_FOUND": 31_002},
                },
                spaces={A: {
                    "POOL_DATA_L_READS": 5_000, "POOL_DATA_P_READS": 5_000, "POOL_INDEX_L_READS": 44_002,
                    "POOL_INDEX_P_READS": 34_000, "POOL_ASYNC_INDEX_READS": 29_000, "POOL_ASYNC_INDEX_READ_REQS": 907,
                    "POOL_INDEX_LBP_PAGES_FOUND": 39_002, "POOL_READ_TIME": 94_500, "POOL_ASYNC_READ_TIME": 14_500,
                }},
            ),
        ),
        truth={
            "APP.ORDERS": 0.32, "APP.ITEMS": 0.08, "index APP.ORDERS_PK": 0.32, "index APP.ITEMS_PK": 0.08,
        },
        # agents read 5,000 leaves: of ITEMS_PK 1,000 to 5,000, of ORDERS_PK 0 to 4,000
        bounds={"index APP.ORDERS_PK": (0.0, 0.32), "index APP.ITEMS_PK": (0.08, 0.40)},
        order=(("APP.ORDERS", "APP.ITEMS"), ("index APP.ORDERS_PK", "index APP.ITEMS_PK")),
        held_out=True,
    ),
    Vector(
        name="a scan whose prefetch requests fail",
        workload=(
            "One scan of FACTS, 50,000 pages: the prefetchers' queue is full, 20,000 pages are read by the "
            "session itself, one after the other, 1 ms each. It is the only object of its space that is read."
        ),
        storage=ON_A,
        tables={"FACTS": Placed(space=A, pages=50_000, indexes={"FACTS_PK": 5_000})},
        during=(
            Counted(
                tables={"FACTS": {
                    "OBJECT_DATA_L_READS": 50_000, "OBJECT_DATA_P_READS": 50_000, "TABLE_SCANS": 1,
                    "OBJECT_DATA_LBP_PAGES_FOUND": 30_000, "ROWS_READ": 200_000,
                }},
                spaces={A: {
                    "POOL_DATA_L_READS": 50_000, "POOL_DATA_P_READS": 50_000, "POOL_ASYNC_DATA_READS": 30_000,
                    "POOL_ASYNC_DATA_READ_REQS": 938, "POOL_FAILED_ASYNC_DATA_REQS": 625,
                    "POOL_DATA_LBP_PAGES_FOUND": 30_000, "POOL_READ_TIME": 35_000, "POOL_ASYNC_READ_TIME": 15_000,
                }},
            ),
        ),
        truth={"APP.FACTS": 0.20},
        held_out=True,
    ),
    Vector(
        name="two members, one of them busy",
        workload=(
            "ORDERS on two database partitions: 1,000 look-ups on the first, 3,000 on the second; 8 ms a page on "
            "both."
        ),
        storage=ON_A,
        tables={"ORDERS": ORDERS},
        during=tuple(
            Counted(
                tables={"ORDERS": looked_up(n)[0]},
                indexes={"ORDERS_PK": looked_up(n)[1]},
                spaces={A: {
                    "POOL_DATA_L_READS": n, "POOL_DATA_P_READS": n, "POOL_INDEX_L_READS": 3 * n,
                    "POOL_INDEX_P_READS": n, "POOL_INDEX_LBP_PAGES_FOUND": 2 * n, "POOL_READ_TIME": milliseconds,
                }},
            )
            for n, milliseconds in ((1_000, 16_000), (3_000, 48_000))
        ),
        truth={"APP.ORDERS": 0.32, "index APP.ORDERS_PK": 0.32},
        held_out=True,
    ),
)  # fmt: skip
