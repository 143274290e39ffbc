"""Figures of public reports of real databases ("real report"), typed by hand; no text of a report is here.

Each says where it was found, which sections it had, and what it does not say. ``seconds`` is derived from calls and
calls a second where a page shows no times.
"""

from __future__ import annotations

from dataclasses import dataclass

from tests.assess.written_reports import Listed, Space, Told


@dataclass(frozen=True, slots=True, kw_only=True)
class After:
    """The same work once the data was on solid state storage: waits for reads of one block and of several."""

    address: str
    singles: int
    single_seconds: float
    several: int
    several_seconds: float
    blocks_per_read: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Real:
    """One real report."""

    name: str
    address: str
    release: str
    layout: str  # of the writer, in which the figures are put before they are read
    told: Told
    missing: str  # of the report as it was published
    whole: bool = True  # False: what sessions waited is of more than the tablespaces that are known
    after: After | None = None


REAL = (
    Real(
        name="TPC-H on an ATA array, 9i",
        address="http://www.remote-dba.cc/t_oraclerac_statspack_report_ssd.htm and "
        "http://www.fast-track.cc/t_ssd_statspack_report.htm",
        release="9.2",
        layout="statspack9",
        missing="segments, sizes; the second index file's calls a second",
        told=Told(
            seconds=438_000,
            release="9.2.0.1.0",
            database="DSS",
            top_only=True,
            events=[("db file sequential read", 93_211_687, 398_236), ("db file scattered read", 344_252, 1_512)],
            spaces=[
                Space(name="DSS_DATA", reads=33_299_194 + 29_693_254 + 30_079_180, read_ms=4.4, blocks=1.1),
                Space(name="DSS_INDEX", reads=159_622 + 151_677, read_ms=6.7, blocks=1.0),
            ],
        ),
        after=After(
            address="http://www.remote-dba.cc/t_oraclerac_tpc-h_ssd.htm (run 5, an array of memory)",
            singles=80_346,
            single_seconds=7,
            several=1_630_994 + 6_373,
            several_seconds=1_101 + 16,
            blocks_per_read=11.4,
        ),
    ),
    Real(
        name="hospital, node 2 of a cluster, 11.2.0.4",
        address="an AWR report of ORCL/orcl2, snapshots 73343-73349 (20-Jan-25), in a public repository",
        release="11.2.0.4.0",
        layout="html19",
        missing="sizes; calls for one block are whole numbers a second",
        told=Told(
            seconds=180.61 * 60,
            release="11.2.0.4.0",
            database="ORCL",
            db_time=710.67 * 60,
            transactions=44.5,
            events=[
                ("db file sequential read", 503_183, 202),
                ("db file scattered read", 918, 1),
                ("direct path read", 2_613, 1),
                ("db file parallel read", 3_003, 0),
            ],
            spaces=[
                Space(name="WOPB", reads=5_043_222, read_ms=0.0, blocks=126.7, singles=21_661, single_ms=0.4),
                Space(name="USERS", reads=273_354, read_ms=0.33, blocks=16.3, singles=238_266, single_ms=0.38),
                Space(name="HISSPACE", reads=489_000, read_ms=0.2, blocks=70.0, singles=210_000, single_ms=0.33),
                Space(name="WDPB", reads=41_359, read_ms=0.37, blocks=1.06, singles=43_324, single_ms=0.37),
                Space(name="URM_MT_DATA", reads=14_353, read_ms=0.41, blocks=2.92, singles=10_831, single_ms=0.37),
            ],
            segments=[
                Listed(owner="WOPB", space="WOPB", name="DISPENSE_NOTE", blocks=339_614_853, calls=2_693_959),
                Listed(owner="WOPB", space="WOPB", name="DISPENSE_DETAIL", blocks=299_147_700, calls=2_346_335),
                Listed(owner="HISUSER", space="HISSPACE", name="T_PA_PERSON", blocks=33_949_266, calls=266_810),
                Listed(owner="URM", space="USERS", name="SCHEDULE", blocks=4_441_551, calls=267_968),
                Listed(owner="HISUSER", space="HISSPACE", name="IDX_NU_MSG", blocks=28_440, calls=28_440, type="INDEX"),
            ],
        ),
    ),
    Real(
        name="online shop, node 2 of a cluster, 11.2",
        address="an AWR report of ITSCMP/itscmp2, snapshots 70719-70723, quoted in a public guide to AWR",
        release="11.2",
        layout="awr11",
        missing="wait events, segments, sizes",
        told=Told(
            seconds=17_349_398 / 4_801,
            database="ITSCMP",
            spaces=[
                Space(name="DATA_TS", reads=17_349_398, read_ms=2.3, blocks=1.5, writes=141_077),
                Space(name="INDEX_TS", reads=9_193_122, read_ms=2.0, blocks=1.0, writes=238_563),
                Space(name="UNDOTBS1", reads=1_582_659, read_ms=0.7, blocks=1.0, writes=2),
            ],
        ),
    ),
    Real(
        name="a disk that is far too slow, 11",
        address="an AWR report of BOZDB/PBOZ01, snapshots 12199-12200, quoted in the manual of awrcsv.pl",
        release="11",
        layout="awr11",
        missing="wait events, segments, sizes",
        told=Told(
            seconds=118_849 / 114,
            database="BOZDB",
            spaces=[
                Space(name="TSPACE01", reads=118_849, read_ms=409.1, blocks=8.9, writes=3_937),
                Space(name="TSPACE02", reads=5_964, read_ms=156.9, blocks=1.0, writes=28_850),
                Space(name="TSPACE03", reads=26_259, read_ms=64.9, blocks=9.5, writes=486),
            ],
        ),
    ),
    Real(
        name="E-Business Suite, one tablespace, 11.2",
        address="an AWR report quoted in a public copy of a guide to slow I/O (tablespace APPS_DATA)",
        release="11.2",
        layout="awr11",
        missing="all tablespaces but one, segments, sizes",
        whole=False,
        told=Told(
            seconds=1_606_553 / 446,
            database="APPS",
            events=[("db file sequential read", 2_354_428, 8_256), ("db file scattered read", 23_614, 48)],
            spaces=[Space(name="APPS_DATA", reads=1_606_553, read_ms=2.2, blocks=8.3, writes=75_575)],
        ),
    ),
)
