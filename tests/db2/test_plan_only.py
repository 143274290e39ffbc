"""Db2 for i and z/OS: recognised, looked at through a double of a driver, and planned for as scripts. Golden text.

Neither system can be had here: rows are made by hand in the shape of the documented columns.
"""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agent.model.clock import SystemClock
from connectors.db2.engine import connect
from connectors.db2.plan_only import look
from connectors.db2.plan_only.connector import PlanOnlyConnector
from connectors.db2.plan_only.look import bytes_by_object, mixed_media_pools, pools
from connectors.db2.plan_only.session import PACKAGE, odbc_string
from connectors.db2.sessions import Platform, fit, insist_on, platform_of, query
from connectors.kit.contract import CannotConnect, StatementFailed
from connectors.kit.settings import SecretSource
from connectors.model.moves import Bundle, NoRoute
from connectors.model.observation import Interval, Signal
from tests.db2.hand_made import GIB, Double, connector_over, settings

KNOWN = json.loads((Path(__file__).parent / "columns.json").read_text(encoding="utf-8"))
NAMES = sorted(
    path.name.removesuffix(".sql") for path in (files(PACKAGE) / "sql").iterdir() if path.name.endswith(".sql")
)


@pytest.mark.parametrize(
    ("name", "product", "found"),
    [
        ("DB2/LINUXX8664", "", Platform.LUW),
        ("DB2/NT64", "", Platform.LUW),
        ("DB2", "", Platform.ZOS),
        ("AS", "", Platform.I),
        ("DB2/400 SQL", "", Platform.I),
        ("", "DSN12015", Platform.ZOS),
        ("", "QSQ07040", Platform.I),
        ("", "SQL12014", Platform.LUW),
        ("", "CSS10150", None),
    ],
)
def test_which_db2_it_is(name: str, product: str, found: Platform | None) -> None:
    """By its name, else by its product id; a stranger is taken at the configuration's word."""
    assert platform_of(name, product) is found
    insist_on(Platform.LUW, None, "here")


def test_the_wrong_db2_is_refused_with_the_setting_that_fits() -> None:
    """Before anything is asked of its catalog."""
    with pytest.raises(CannotConnect) as caught:
        insist_on(Platform.LUW, Platform.ZOS, "u@h:446/DSN")
    assert "Db2 for z/OS" in str(caught.value)
    assert "platform: zos" in caught.value.advice


@pytest.mark.parametrize("name", NAMES)
def test_columns_are_documented_or_probed(name: str) -> None:
    """What nobody saw documented is asked for only where a probe finds it, and read as NULL elsewhere."""
    wanted = query(name, PACKAGE)
    known = [KNOWN[kind].get(wanted.source, ()) for kind in ("catalog", "documentation", "unverified")]
    documented, unverified = {*known[0], *known[1]}, set(known[2])
    named = set(re.findall(r"\b[A-Z]\.([A-Z_]+)", wanted.text))
    assert named <= documented | unverified
    assert named & (unverified - documented) <= wanted.optional
    assert set(re.findall(r"\b[A-Z]\.([A-Z_]+)", fit(wanted, lambda _: frozenset(documented)))) <= documented


@pytest.mark.parametrize("name", NAMES)
def test_queries_reset_nothing(name: str) -> None:
    """SELECT of named columns WITH UR: no command, no LSTATS, nothing that takes from what the site itself reads."""
    text = query(name, PACKAGE).text
    assert text.startswith("SELECT")
    assert text.rstrip().endswith("WITH UR")
    assert not re.search(r"LSTATS|ADMIN_COMMAND|QCMDEXC|\*", text)


def test_golden_scripts_of_i() -> None:
    """Preferences by SQL and CL, and the balancer that enforces them."""
    assert look.prefer_table("SHOP", "ORDERS", "SSD") == 'ALTER TABLE "SHOP"."ORDERS" ALTER UNIT SSD;'
    member = look.Member(library="SHOP", file="ORDERS", member="P1")
    assert look.prefer_member(member, "SSD") == "CHGPFM FILE(SHOP/ORDERS) MBR(P1) UNIT(*SSD)"
    assert look.prefer_member(member, "ANY", index=True) == "CHGLFM FILE(SHOP/ORDERS) MBR(P1) UNIT(*ANY)"
    assert look.prefer_file("SHOP", "ORDERS", "SSD") == "CHGPF FILE(SHOP/ORDERS) UNIT(*SSD)"
    assert look.prefer_file("SHOP", "odd", "SSD", index=True) == 'CHGLF FILE(SHOP/"odd") UNIT(*SSD)'
    assert look.follow_preference(1) == "STRASPBAL TYPE(*MP) ASP(1) SUBTYPE(*CALC) TIMLMT(120) PRIORITY(*LOW)"
    assert look.trace_and_balance(2, 60) == (
        "TRCASPBAL SET(*ON) ASP(2) TIMLMT(60)",
        "STRASPBAL TYPE(*HSM) ASP(2) TIMLMT(120) PRIORITY(*LOW)",
    )


REORG = "CALL SYSPROC.DSNUTILU('HOTPLACE', 'NO', '{}', ?);"
TABLE_DATA_SETS = (
    "TEMPLATE HPCOPY DSN(&US..&DB..&SN..C&PA..T&TI.) UNIT(SYSALLDA) DISP(NEW,CATLG,CATLG) "
    "TEMPLATE HPUNLD DSN(&US..&DB..&SN..U&PA..T&TI.) UNIT(SYSALLDA) DISP(NEW,DELETE,CATLG) "
)
INDEX_DATA_SETS = "TEMPLATE HPWORK DSN(&US..&DB..&SN..W&PA..T&TI.) UNIT(SYSALLDA) DISP(NEW,DELETE,CATLG) "
WITH_COPY = "SHRLEVEL REFERENCE COPYDDN(HPCOPY) UNLDDN(HPUNLD) SORTDEVT SYSALLDA"


def test_golden_scripts_of_zos() -> None:
    """The definition first, then the REORG that moves the data sets, without JCL: DSNUTILU, data sets by TEMPLATE."""
    assert look.move_table_space("DB", "TS", 0, "SGSSD", by_growth=False) == (
        'ALTER TABLESPACE "DB"."TS" USING STOGROUP "SGSSD";',
        REORG.format(f"{TABLE_DATA_SETS}REORG TABLESPACE DB.TS {WITH_COPY}"),
    )
    assert look.move_index("ME", "IX", 0, "SGSSD") == (
        'ALTER INDEX "ME"."IX" USING STOGROUP "SGSSD";',
        REORG.format(f'{INDEX_DATA_SETS}REORG INDEX "ME"."IX" SHRLEVEL REFERENCE WORKDDN(HPWORK)'),
    )


def test_partitions_of_zos_without_minus_665() -> None:
    """By range each partition is altered alone, of spaces and indexes; by growth only all of them together."""
    assert look.move_table_space("DB", "TS", 3, "SGSSD", by_growth=False) == (
        'ALTER TABLESPACE "DB"."TS" ALTER PARTITION 3 USING STOGROUP "SGSSD";',
        REORG.format(f"{TABLE_DATA_SETS}REORG TABLESPACE DB.TS PART 3 {WITH_COPY}"),
    )
    by_growth = look.move_table_space("DB", "TS", 3, "SGSSD", by_growth=True)
    assert by_growth == look.move_table_space("DB", "TS", 0, "SGSSD", by_growth=False)
    alter, reorg = look.move_index("ME", "IX", 2, "SGSSD")
    assert alter == 'ALTER INDEX "ME"."IX" ALTER PARTITION 2 USING STOGROUP "SGSSD";'
    assert 'REORG INDEX "ME"."IX" PART 2 SHRLEVEL' in reorg


def test_an_independent_asp_goes_by_its_device() -> None:
    """ASP(33) is refused by CL; without the device there is no command to run by mistake."""
    assert look.follow_preference(33, device="IASP1").startswith("STRASPBAL TYPE(*MP) ASPDEV(IASP1) ")
    assert look.follow_preference(33).startswith("-- ")
    assert all("ASPDEV(IASP1)" in command for command in look.trace_and_balance(33, 60, device="IASP1"))


_GRAMMAR = re.compile(
    r'ALTER TABLE ("[^"]+"\.)"[^"]+" ALTER UNIT (SSD|ANY);'
    r"|CHG[PL]FM? FILE\([A-Z0-9_]{1,10}/[A-Z0-9_]{1,10}\)( MBR\(\S+\))? UNIT\(\*(SSD|ANY)\)"
    r"|(STRASPBAL TYPE\(\*(MP|HSM)\)|TRCASPBAL SET\(\*ON\)) (ASP\(\d\d?\)|ASPDEV\(\w+\))( SUBTYPE\(\*CALC\))? "
    r"TIMLMT\(\d+\)( PRIORITY\(\*LOW\))?"
    r'|ALTER (TABLESPACE|INDEX) "[^"]+"\."[^"]+"( ALTER PARTITION \d+)? USING STOGROUP "[^"]+";'
    r"|CALL SYSPROC\.DSNUTILU\('HOTPLACE', 'NO', '(TEMPLATE HP\w+ DSN\(\S+\) UNIT\(\w+\) DISP\([A-Z,]+\) )+"
    r"REORG (TABLESPACE \w+\.\w+( PART \d+)? SHRLEVEL REFERENCE COPYDDN\(HPCOPY\) UNLDDN\(HPUNLD\) SORTDEVT SYSALLDA"
    r'|INDEX "[^"]+"\."[^"]+"( PART \d+)? SHRLEVEL REFERENCE WORKDDN\(HPWORK\))\', \?\);'
)


@pytest.mark.parametrize(
    "broken",
    [
        'ALTER TABLE "S"."T" UNIT SSD;',
        "CHGPFM FILE(S/T) UNIT(SSD)",
        "STRASPBAL TYPE(*MP) ASP(x) TIMLMT(1)",
        'ALTER TABLESPACE "D"."T" STOGROUP "G";',
        "CALL SYSPROC.DSNUTILU('HOTPLACE', 'NO', 'REORG TABLESPACE D.T SHRLEVEL REFERENCE', ?);",
        "CHGLF FILE(SHOP/ORDERS_BY_CUSTOMER) UNIT(*SSD)",
        "STRASPBAL TYPE(*MP) ASP(133) TIMLMT(1)",
    ],
)
def test_a_broken_twin_is_no_statement(broken: str) -> None:
    """The grammar that every script below has to obey refuses what is nearly right."""
    assert not _GRAMMAR.fullmatch(broken)


def test_pitfall_29_residency_by_unit() -> None:
    """3 of 4 GiB on an SSD: there. Rows a unit are summed, units that come twice are one, unit 0 is none."""
    rows = [("S", "T", "T", 1, 1, 1, 3 * GIB), ("S", "T", "T", 1, 2, 0, GIB), ("S", "U", "U", 1, 2, 0, GIB)]
    found = bytes_by_object(rows, 3)
    assert (found["S", "T", "T"].fast, found["S", "T", "T"].mostly_fast) == (3 * GIB, True)
    assert not found["S", "U", "U"].mostly_fast
    units = [(1, 1, 1, 100, 40), (1, 1, 1, 100, 40), (1, 2, 0, 900, 300), (1, 3, 0, 900, 100), (0, 0, 0, 5000, 5000)]
    assert [(pool.name, pool.units, pool.capacity, pool.free) for pool in pools(units)] == [
        ("ASP1 HDD", 2, 1800, 400), ("ASP1 SSD", 1, 100, 40),
    ]  # fmt: skip
    assert mixed_media_pools(pools(units)) == {1}
    assert not mixed_media_pools(pools(units[2:]))


def test_pitfall_29_spanning_indexes_are_taken_once() -> None:
    """They come again with every partition of their table: the query is DISTINCT and leaves the partition out."""
    text = query("i_indexes", PACKAGE).text
    assert text.startswith("SELECT DISTINCT")
    assert "TABLE_PARTITION" not in text
    assert "MEDIA_PREFERENCE" not in query("i_partitions", PACKAGE).text  # a wish is no place


def test_pitfall_30_statistics_are_only_read() -> None:
    """No query here, and no script, has LSTATS or a trace in it; a negative figure counts as nothing."""
    for name in NAMES:
        assert "LSTATS" not in query(name, PACKAGE).text
    units = dict(_sizes(zos()))
    assert units["DB.TS partition P2"] == 0  # -40 KB, as data sharing shows for a while


def on_i(index: dict[str, Any] | None = None, **reads: Any) -> tuple[PlanOnlyConnector, Double]:
    """ORDERS has two partitions, the second on SSDs; ITEMS one; an index on hard disks."""
    disk = {"ASP_NUMBER": 1, "UNIT_MEDIA_CAPACITY": 100 * GIB, "UNIT_SPACE_AVAILABLE": 40 * GIB}
    ssd, hdd = {**disk, "UNIT_NUMBER": 1, "UNIT_TYPE": 1}, {**disk, "UNIT_NUMBER": 2, "UNIT_TYPE": 0}

    def at(table: str, partition: str, unit: dict[str, Any], used: int) -> dict[str, Any]:
        return {
            "TABLE_SCHEMA": "SHOP", "TABLE_NAME": table, "TABLE_PARTITION": partition, "UNIT_SPACE_USED": used, **unit,
        }  # fmt: skip

    def stat(table: str, partition: str) -> dict[str, Any]:
        names = {"SYSTEM_TABLE_SCHEMA": "SHOP", "SYSTEM_TABLE_NAME": table, "SYSTEM_TABLE_MEMBER": partition}
        return {"TABLE_SCHEMA": "SHOP", "TABLE_NAME": table, "TABLE_PARTITION": partition, **names, **reads}

    of_index = {"INDEX_SCHEMA": "SHOP", "INDEX_NAME": "ORDERS_IX", "INDEX_MEMBER": "M", "TABLE_SCHEMA": "SHOP"}
    of_index |= {"INDEX_TYPE": "INDEX", "TABLE_NAME": "ORDERS", **(index or {})}
    name = {key: value for key, value in of_index.items() if key.startswith(("INDEX_", "SYSTEM_INDEX_"))}
    double = Double(
        {
            "QSYS2.SYSPARTITIONDISK": [
                at("ORDERS", "P1", hdd, 3 * GIB), at("ORDERS", "P2", ssd, 2 * GIB), at("ITEMS", "ITEMS", hdd, GIB),
            ],
            "QSYS2.SYSPARTITIONINDEXDISK": [{**of_index, "UNIT_SPACE_USED": 5, **hdd}],
            **({"QSYS2.SYSPARTITIONINDEXES": [name]} if "SYSTEM_INDEX_NAME" in name else {}),
            "QSYS2.SYSPARTITIONSTAT": [stat("ORDERS", "P1"), stat("ORDERS", "P2"), stat("ITEMS", "ITEMS")],
        }
    )  # fmt: skip
    return connector_over(Platform.I, double), double


def zos(kind: str | None = "R", stortype: str = "I", **more: Any) -> PlanOnlyConnector:
    """A table space of two partitions, one with a figure that is negative for the moment, and an index."""
    space = {"DBNAME": "DB      ", "NAME": "TS", "INSTANCE": 1, "UPDATESTATSTIME": None}
    double = Double(
        {
            "SYSIBM.SYSTABLESPACESTATS": [
                {**space, "PARTITION": 1, "SPACE": 4096, **more}, {**space, "PARTITION": 2, "SPACE": -40, **more},
            ],
            "SYSIBM.SYSINDEXSPACESTATS": [{**space, "NAME": "IX", "PARTITION": 0, "SPACE": 100, "CREATOR": "ME"}],
            "SYSIBM.SYSTABLEPART": [
                {"DBNAME": "DB", "TSNAME": "TS", "PARTITION": n, "STORTYPE": stortype, "STORNAME": "SGHDD"}
                for n in (1, 2)
            ],
            "SYSIBM.SYSTABLESPACE": [
                {"DBNAME": "DB", "NAME": "TS", "PARTITIONS": 2, **({"TYPE": kind} if kind else {})},
            ],
        }
    )  # fmt: skip
    return connector_over(Platform.ZOS, double, storage_groups=["SGSSD"])


def _sizes(connector: PlanOnlyConnector) -> list[tuple[str, int]]:
    units = connector.catalog().units
    return list(zip(units.key, units.size_bytes.tolist(), strict=True))


def bundle_of(connector: PlanOnlyConnector, key: str) -> Bundle:
    """The bundle of one unit."""
    catalog = connector.catalog()
    row = list(catalog.units.key).index(key)
    return Bundle(
        key=key, physical_ids=(int(catalog.units.physical_id[row]),), unit_keys=(key,), kind=catalog.units.kind[row],
        size_bytes=int(catalog.units.size_bytes[row]), space=catalog.spaces[catalog.units.space[row]].name,
    )  # fmt: skip


def test_i_is_seen_by_residency() -> None:
    """Two media of one ASP; each partition is where its bytes are."""
    connector, _ = on_i()
    catalog = connector.catalog()
    assert {space.name: space.free_bytes for space in catalog.spaces} == {"ASP1 HDD": 40 * GIB, "ASP1 SSD": 40 * GIB}
    homes = {key: catalog.spaces[at].name for key, at in zip(catalog.units.key, catalog.units.space, strict=True)}
    assert homes == {
        "SHOP.ORDERS partition P1": "ASP1 HDD", "SHOP.ORDERS partition P2": "ASP1 SSD", "SHOP.ITEMS": "ASP1 HDD",
        "index SHOP.ORDERS_IX": "ASP1 HDD",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("key", "first"),
    [
        ("SHOP.ITEMS", 'ALTER TABLE "SHOP"."ITEMS" ALTER UNIT SSD;'),
        ("SHOP.ORDERS partition P1", "CHGPFM FILE(SHOP/ORDERS) MBR(P1) UNIT(*SSD)"),
        ("index SHOP.ORDERS_IX", "CHGLF FILE(SHOP/ORDERS_IX) UNIT(*SSD)"),
    ],
)
def test_routes_of_i_are_scripts(key: str, first: str) -> None:
    """Marked, complete with the balance that enforces them, and never a route that something could send."""
    connector, double = on_i()
    found = connector.routes(bundle_of(connector, key), "ASP1 SSD")
    assert isinstance(found, NoRoute)
    assert found.code == "plan_only"
    mark, title, *statements = found.sentence.splitlines()
    assert mark == look.MARK
    assert key in title
    assert statements == [first, look.follow_preference(1)]
    assert all(_GRAMMAR.fullmatch(statement) for statement in statements)
    assert all(text.startswith("SELECT") for text in double.sent)


def test_routes_of_zos_are_scripts() -> None:
    """From the group that a probe found to one that the configuration names."""
    connector = zos()
    found = connector.routes(bundle_of(connector, "DB.TS partition P1"), "SGSSD")
    assert isinstance(found, NoRoute)
    assert found.sentence.splitlines()[2:] == list(look.move_table_space("DB", "TS", 1, "SGSSD", by_growth=False))
    assert all(_GRAMMAR.fullmatch(line) for line in found.sentence.splitlines()[2:])
    assert {space.name for space in connector.catalog().spaces} == {"SGSSD", "SGHDD", "(no storage group)"}


def test_what_zos_does_not_tell_is_no_script() -> None:
    """The kind of a partitioned space, a catalog in the place of a storage group, and a target that is no name."""
    found = zos(kind=None).routes(bundle_of(zos(kind=None), "DB.TS partition P1"), "SGSSD")
    assert isinstance(found, NoRoute)
    assert "-665" in found.sentence
    connector = zos(stortype="E")
    assert bundle_of(connector, "DB.TS partition P1").space == "(no storage group)"
    found = connector.routes(bundle_of(connector, "DB.TS partition P1"), "(no storage group)")
    assert isinstance(found, NoRoute)
    assert (found.code, "STOGROUP" in found.sentence) == ("no_space", False)


def test_a_space_that_grows_moves_with_all_its_partitions() -> None:
    """Its partitions have one definition."""
    connector = zos(kind="G")
    found = connector.routes(bundle_of(connector, "DB.TS partition P1"), "SGSSD")
    assert isinstance(found, NoRoute)
    assert "PARTITION 1 USING" not in found.sentence
    assert "PART 1" not in found.sentence


def test_the_catalog_of_zos_is_left_out() -> None:
    """And so are the directory and the work files."""
    for name in NAMES:
        if name.startswith("z_"):
            assert "NOT IN ('DSNDB01', 'DSNDB06', 'DSNDB07')" in query(name, PACKAGE).text


@pytest.mark.parametrize(
    ("index", "first"),
    [
        ({"INDEX_TYPE": "PRIMARY KEY"}, "access path of a constraint and goes with the file of ORDERS"),
        ({"INDEX_NAME": "ORDERS_BY_CUSTOMER"}, "CL takes no other"),
        (
            {"INDEX_NAME": "ORDERS_BY_CUSTOMER", "SYSTEM_INDEX_NAME": "ORDER00001", "SYSTEM_INDEX_SCHEMA": "SHOP"},
            "CHGLF FILE(SHOP/ORDER00001) UNIT(*SSD)",
        ),
    ],
)
def test_indexes_of_i_go_by_their_system_names(index: dict[str, Any], first: str) -> None:
    """Ten characters at most; a key of a constraint has no logical file at all."""
    connector, _ = on_i(index=index)
    name = index.get("INDEX_NAME", "ORDERS_IX")
    found = connector.routes(bundle_of(connector, f"index SHOP.{name}"), "ASP1 SSD")
    assert isinstance(found, NoRoute)
    assert first in found.sentence


def test_nothing_moves() -> None:
    """There is no session that could."""
    for connector in (on_i()[0], zos()):
        with pytest.raises(StatementFailed, match="plan-only"):
            connector.open_mover()
        assert not connector.identify().writable
        assert [f for f in connector.doctor() if f.code == "plan_only"]
        connector.close()


def interval(connector: PlanOnlyConnector, factor: float) -> Interval:
    """Ten seconds in which every counter rose by that share of itself."""
    sample = connector.sample()
    start = datetime(2026, 3, 1, tzinfo=UTC)
    return Interval(
        started_at=start, ended_at=start + timedelta(seconds=10), seconds=10.0, physical_id=sample.physical_id,
        deltas={name: values.astype(np.float64) * factor for name, values in sample.counters.items()},
        restarted=np.zeros(len(sample.physical_id), dtype=np.bool_), database=sample.database,
    )  # fmt: skip


def test_without_read_columns_nothing_is_cold() -> None:
    """A release without a count of physical reads: every unit is unobserved; doctor offers the system's own trace."""
    connector, _ = on_i()
    catalog = connector.catalog()
    demand = connector.classify(interval(connector, 1.0), catalog)
    assert len(demand.observed) == len(catalog.units) == 4
    assert not demand.observed.any()
    (finding,) = (f for f in connector.doctor() if f.code == "no_physical_reads")
    assert "TRCASPBAL SET(*ON) ASP(1)" in finding.remedy


def test_reads_that_a_probe_finds_are_ranked() -> None:
    """1,000 physical reads in ten seconds, three in four of them random: 75/s waited for, 25/s read ahead."""
    connector, _ = on_i(LOGICAL_READS=5000, PHYSICAL_READS=1000, SEQUENTIAL_READS=100, RANDOM_READS=300)
    catalog = connector.catalog()
    demand = connector.classify(interval(connector, 1.0), catalog)
    row = list(catalog.units.key).index("SHOP.ITEMS")
    at = list(demand.physical_id).index(catalog.units.physical_id[row])
    assert demand.rates[Signal.SYNC_READ, at] == 75.0
    assert demand.rates[Signal.PREFETCHED_READ, at] == 25.0
    assert demand.observed[at]


def test_a_view_that_is_missing_is_a_finding() -> None:
    """An older release degrades by name, not with a crash."""
    connector = connector_over(Platform.ZOS, Double({}))
    assert len(connector.catalog().units) == 0
    missing = [f.sentence for f in connector.doctor() if f.code == "source_missing"]
    assert len(missing) == 4


def test_the_engine_makes_the_adapter(tmp_path: Path) -> None:
    """By the setting, without a driver; a closing brace in a password ends nothing of the ODBC string."""
    assert isinstance(connect(settings("i"), SystemClock()), PlanOnlyConnector)
    (tmp_path / "pw").write_text("a}b;c")
    words = odbc_string(settings("i", password=SecretSource(file=tmp_path / "pw"), security="SSL"))
    assert words == (
        "DRIVER={IBM i Access ODBC Driver};SYSTEM={h};UID={u};PWD={a}}b;c};DATABASE={DB};SSL={1};CONNTYPE={2};"
    )
