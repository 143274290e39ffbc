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
from connectors.db2.plan_only import ibm_i, zos
from connectors.db2.plan_only.connector import PlanOnlyConnector
from connectors.db2.plan_only.look import bytes_by_object, mixed_media_pools, pools
from connectors.db2.plan_only.session import PACKAGE, odbc_string
from connectors.db2.sessions import Platform, fit, insist_on, platform_of, query
from connectors.kit.contract import CannotConnect, StatementFailed
from connectors.kit.settings import SecretSource
from connectors.model.moves import Bundle, ByHand, NoRoute, UnitKind
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


def test_statements_of_i() -> None:
    """Preferences by SQL and CL; names that CL knows only in quotation marks, and those that it cannot take."""
    assert ibm_i.prefer_table("SHOP", "ORDERS", "SSD") == 'ALTER TABLE "SHOP"."ORDERS" ALTER UNIT SSD;'
    member = ibm_i.Member(library="SHOP", file="ORDERS", member="P1")
    assert ibm_i.prefer_member(member, "SSD") == "CL: CHGPFM FILE(SHOP/ORDERS) MBR(P1) UNIT(*SSD);"
    assert ibm_i.prefer_member(member, "ANY", index=True) == "CL: CHGLFM FILE(SHOP/ORDERS) MBR(P1) UNIT(*ANY);"
    assert ibm_i.prefer_file("SHOP", "ORDERS", "SSD") == "CL: CHGPF FILE(SHOP/ORDERS) UNIT(*SSD);"
    assert ibm_i.prefer_file("SHOP", "odd", "SSD", index=True) == 'CL: CHGLF FILE(SHOP/"odd") UNIT(*SSD);'
    assert ibm_i.traced_balance(ibm_i.Asp(2))[0] == "TRCASPBAL SET(*ON) ASP(2) TIMLMT(*NOMAX)"


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("A987@.442#", "A987@.442#"),
        ("$LIBX", "$LIBX"),
        ("ONE_NAME", "ONE_NAME"),
        ("9LIVES", '"9LIVES"'),
        ("odd", '"odd"'),
        ('"odd"', '"odd"'),  # as the catalog has it, marks and all
        ("Ünique", '"Ünique"'),
        ("_X", '"_X"'),
        ("A B", '"A B"'),
        ("lowercase", ""),  # nine characters between marks: eight at most
        ("ELEVENCHARS", ""),
        *((f"A{bad}B", "") for bad in "*?'\";/\n\x1b\x85\u2028"),
        ("a--b", ""),
        ("a/*b", ""),
        ("", ""),
    ],
)
def test_names_of_cl(name: str, written: str) -> None:
    """IBM's rules of *NAME: basic ones of ten characters, quoted ones of eight without * ? ' " and controls."""
    assert ibm_i.cl_name(name) == written


def test_balances_of_i_come_last_and_once() -> None:
    """In the order of IBM's pages: what runs is looked at, preferences, one balance; a trace only where *HSM is."""
    asp = ibm_i.Asp(1)
    hand = ibm_i.move_by_hand("CL: CHGPF FILE(A/B) UNIT(*SSD);", "CL: CHGPF FILE(A/B) UNIT(*ANY);", asp)
    live = [line for line in (*hand.before, *hand.statements, *hand.after) if not line.startswith("--")]
    check, *others = live
    assert check == hand.before[-1]
    assert "QSYS2.ASP_INFO WHERE ASP_NUMBER = 1" in check
    assert others == [
        "CL: CHGPF FILE(A/B) UNIT(*SSD);",
        "CL: STRASPBAL TYPE(*MP) ASP(1) SUBTYPE(*CALC) TIMLMT(120) PRIORITY(*LOW);",
    ]
    offered = "\n".join(hand.after)
    assert [offered.index(each) for each in ("SET(*ON)", "DLYJOB", "SET(*OFF)", "TYPE(*HSM)")] == sorted(
        offered.index(each) for each in ("SET(*ON)", "DLYJOB", "SET(*OFF)", "TYPE(*HSM)")
    )
    for each in ("*USAGE", "*CAPACITY", "*ENDALC", "*MOVDTA", "SUBTYPE(*HDD)", "TIMLMT", "ENDASPBAL"):
        assert each in offered
    assert "neither a balance nor a trace runs" in hand.before[0]
    assert len(re.findall(r"MESSAGE_TEXT = '(.*?)'", check)[0]) <= 70


def command(text: str) -> str:
    """A command of Db2 as the script sends it."""
    return f"CALL SYSPROC.ADMIN_COMMAND_DB2('{text}', {len(text)}, ' ', NULL, ?, ?, ?, ?, ?, ?, ?, ?);"


REORG = "CALL SYSPROC.DSNUTILU('HOTPLACE', 'NO', '{}', ?);"
COPY = "TEMPLATE HPCOPY DSN(&US..&DB..&SN..C&PA..T&TI.) UNIT(SYSALLDA) DISP(NEW,CATLG,CATLG) "
TABLE_DATA_SETS = COPY + "TEMPLATE HPUNLD DSN(&US..&DB..&SN..U&PA..T&TI.) UNIT(SYSALLDA) DISP(NEW,DELETE,CATLG) "
INDEX_DATA_SETS = "TEMPLATE HPWORK DSN(&US..&DB..&SN..W&PA..T&TI.) UNIT(SYSALLDA) DISP(NEW,DELETE,CATLG) "
WITH_COPY = "SHRLEVEL REFERENCE COPYDDN(HPCOPY) UNLDDN(HPUNLD) SORTDEVT SYSALLDA"


def space_moved(partition: int, kind: str) -> tuple[str, ...]:
    """Statements that move a table space of DB."""
    of = zos.TableSpacePart(database="DB", name="TS", partition=partition, kind=kind)
    hand = zos.move_table_space(of, "SGHDD", "SGSSD")
    assert hand is not None
    return hand.statements


def index_moved(partition: int) -> tuple[str, ...]:
    """Statements that move an index of DB."""
    of = zos.IndexPart(database="DB", space="IXSP", creator="ME", name="IX", partition=partition)
    hand = zos.move_index(of, "SGHDD", "SGSSD")
    assert hand is not None
    return hand.statements


def test_statements_of_zos() -> None:
    """Stopped, altered, started, then the REORG that moves the data sets, without JCL: DSNUTILU and TEMPLATE."""
    stop, display, alter, commit, start, reorg = space_moved(0, "")
    assert (stop, display, start) == (
        command("-STOP DATABASE(DB) SPACENAM(TS)"), command("-DISPLAY DATABASE(DB) SPACENAM(TS)"),
        command("-START DATABASE(DB) SPACENAM(TS) ACCESS(RW)"),
    )  # fmt: skip
    assert (alter, commit) == ('ALTER TABLESPACE "DB"."TS" USING STOGROUP "SGSSD";', "COMMIT;")
    assert reorg == REORG.format(f"{TABLE_DATA_SETS}REORG TABLESPACE DB.TS {WITH_COPY}")
    stop, _, alter, _, start, reorg = index_moved(0)
    assert stop == command("-STOP DATABASE(DB) SPACENAM(IXSP)")  # commands know index spaces, not indexes
    assert start == command("-START DATABASE(DB) SPACENAM(IXSP) ACCESS(RW)")
    assert alter == 'ALTER INDEX "ME"."IX" USING STOGROUP "SGSSD";'
    assert reorg == REORG.format(f'{INDEX_DATA_SETS}REORG INDEX "ME"."IX" SHRLEVEL REFERENCE WORKDDN(HPWORK)')


def test_partitions_of_zos_without_minus_665() -> None:
    """By range each partition is altered alone, of spaces and indexes; by growth only all of them together."""
    stop, _, alter, _, start, reorg = space_moved(3, "R")
    assert all("SPACENAM(TS) PART(3)" in each for each in (stop, start))
    assert alter == 'ALTER TABLESPACE "DB"."TS" ALTER PARTITION 3 USING STOGROUP "SGSSD";'
    assert reorg == REORG.format(f"{TABLE_DATA_SETS}REORG TABLESPACE DB.TS PART 3 {WITH_COPY}")
    assert space_moved(3, "G") == space_moved(0, "G") == space_moved(0, "")
    stop, _, alter, _, _, reorg = index_moved(2)
    assert "SPACENAM(IXSP) PART(2)" in stop
    assert alter == 'ALTER INDEX "ME"."IX" ALTER PARTITION 2 USING STOGROUP "SGSSD";'
    assert 'REORG INDEX "ME"."IX" PART 2 SHRLEVEL' in reorg


def test_spaces_of_lobs_take_other_options() -> None:
    """IBM's list of what REORG of a LOB table space does not take: PART, SORTDEVT, SHRLEVEL NONE; LOG NO and a copy."""
    reorg = space_moved(0, "O")[-1]
    assert reorg == REORG.format(f"{COPY}REORG TABLESPACE DB.TS LOG NO SHRLEVEL REFERENCE COPYDDN(HPCOPY)")
    assert not re.search(r" PART | SORTDEVT | SHRLEVEL NONE | UNLDDN", reorg)


@pytest.mark.parametrize("name", ["odd", "A B", "A'B", "A)B", "NINELONG9", 'A"B', "A\nB", ""])
def test_names_that_a_command_cannot_take_have_no_script(name: str) -> None:
    """-STOP DATABASE(...) takes ordinary names of eight characters as they stand."""
    assert zos.move_table_space(zos.TableSpacePart(database="DB", name=name, partition=0, kind=""), "A", "B") is None
    assert zos.move_table_space(zos.TableSpacePart(database=name, name="TS", partition=0, kind=""), "A", "B") is None
    of = zos.IndexPart(database="DB", space=name, creator="ME", name="IX", partition=0)
    assert zos.move_index(of, "A", "B") is None


def test_an_independent_asp_goes_by_its_device() -> None:
    """ASP(33) is refused by CL; without the device, or with a name that CL cannot take, there is no command to run."""
    (line,) = (each for each in ibm_i.follow_preferences(ibm_i.Asp(33, "IASP1")) if not each.startswith("--"))
    assert line.startswith("CL: STRASPBAL TYPE(*MP) ASPDEV(IASP1) ")
    for unknown in (ibm_i.Asp(33), ibm_i.Asp(33, "a;b")):
        assert all(each.startswith("-- ") for each in ibm_i.follow_preferences(unknown))
        assert ibm_i.traced_balance(unknown) == ()
    assert all("ASPDEV(IASP1)" in command for command in ibm_i.traced_balance(ibm_i.Asp(33, "IASP1")))


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
    units = dict(_sizes(on_zos()))
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


def on_zos(kind: str | None = "R", stortype: str = "I", most: int | None = None, **more: Any) -> PlanOnlyConnector:
    """A table space of two partitions, one with a figure that is negative for the moment, and an index."""
    space = {"DBNAME": "DB      ", "NAME": "TS", "INSTANCE": 1, "UPDATESTATSTIME": None}
    ix = {"CREATOR": "ME", "INDEXSPACE": "IX1A"}
    double = Double(
        {
            "SYSIBM.SYSTABLESPACESTATS": [
                {**space, "PARTITION": 1, "SPACE": 4096, **more}, {**space, "PARTITION": 2, "SPACE": -40, **more},
            ],
            "SYSIBM.SYSINDEXSPACESTATS": [{**space, "NAME": "IX", "PARTITION": 0, "SPACE": 100, **ix}],
            "SYSIBM.SYSINDEXPART": [
                {"IXCREATOR": "ME", "IXNAME": "IX", "PARTITION": 0, "STORTYPE": "I", "STORNAME": "SGIX"},
            ],
            "SYSIBM.SYSTABLEPART": [
                {"DBNAME": "DB", "TSNAME": "TS", "PARTITION": n, "STORTYPE": stortype, "STORNAME": "SGHDD"}
                for n in (1, 2)
            ],
            "SYSIBM.SYSTABLESPACE": [
                {"DBNAME": "DB", "NAME": "TS", "PARTITIONS": 2, "MAXPARTITIONS": most,
                 **({} if kind is None else {"TYPE": kind})},
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
        key=key, physical_ids=(int(catalog.units.physical_id[row]),), unit_keys=(key,),
        kind=UnitKind(int(catalog.units.kind[row])), size_bytes=int(catalog.units.size_bytes[row]),
        space=catalog.spaces[catalog.units.space[row]].name,
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


def by_hand(connector: PlanOnlyConnector, key: str, target: str) -> ByHand:
    """What a person runs to bring a unit there."""
    found = connector.routes(bundle_of(connector, key), target)
    assert not isinstance(found, NoRoute), found
    (route,) = found
    assert (route.steps, route.undo_steps, route.tidy_steps, route.prologue) == ((), (), (), ())
    assert route.by_hand is not None
    return route.by_hand


@pytest.mark.parametrize(
    ("key", "first"),
    [
        ("SHOP.ITEMS", 'ALTER TABLE "SHOP"."ITEMS" ALTER UNIT SSD;'),
        ("SHOP.ORDERS partition P1", "CL: CHGPFM FILE(SHOP/ORDERS) MBR(P1) UNIT(*SSD);"),
        ("index SHOP.ORDERS_IX", "CL: CHGLF FILE(SHOP/ORDERS_IX) UNIT(*SSD);"),
    ],
)
def test_routes_of_i_are_by_hand(key: str, first: str) -> None:
    """A way there and back, the balance that follows once for the ASP, and no step that something could send."""
    connector, double = on_i()
    hand = by_hand(connector, key, "ASP1 SSD")
    assert hand.statements == (first,)
    assert hand.undo == (first.replace("SSD", "ANY"),)
    assert hand.after == ibm_i.follow_preferences(ibm_i.Asp(1))
    assert all(text.startswith("SELECT") for text in double.sent)


def test_another_asp_is_no_medium() -> None:
    """A preference brings nothing there, so there is no script that says so."""
    connector, _ = on_i()
    found = connector.routes(bundle_of(connector, "SHOP.ITEMS"), "ASP2 SSD")
    assert isinstance(found, NoRoute)
    assert "another ASP" in found.sentence


def test_routes_of_zos_are_by_hand() -> None:
    """From the groups that catalog tables tell, of spaces and of indexes, to one that the configuration names."""
    connector = on_zos()
    hand = by_hand(connector, "DB.TS partition P1", "SGSSD")
    of = zos.TableSpacePart(database="DB", name="TS", partition=1, kind="R")
    assert hand == zos.move_table_space(of, "SGHDD", "SGSSD")
    assert {space.name for space in connector.catalog().spaces} == {"SGSSD", "SGHDD", "SGIX"}
    hand = by_hand(connector, "index ME.IX", "SGSSD")
    assert hand.undo[2] == 'ALTER INDEX "ME"."IX" USING STOGROUP "SGIX";'


def test_what_zos_does_not_tell_is_no_script() -> None:
    """The kind of a partitioned space, a catalog in the place of a storage group, and a target that is no name."""
    found = on_zos(kind=None).routes(bundle_of(on_zos(kind=None), "DB.TS partition P1"), "SGSSD")
    assert isinstance(found, NoRoute)
    assert "-665" in found.sentence
    connector = on_zos(stortype="E")
    assert bundle_of(connector, "DB.TS partition P1").space == "(no storage group)"
    found = connector.routes(bundle_of(connector, "DB.TS partition P1"), "(no storage group)")
    assert isinstance(found, NoRoute)
    assert (found.code, "STOGROUP" in found.sentence) == ("no_space", False)


@pytest.mark.parametrize(
    ("kind", "most", "alone"),
    [("R", 0, True), (" ", 0, True), ("L", None, True), ("P", 0, True), ("P", 256, False), ("G", 256, False)],
)
def test_kinds_of_partitioned_spaces(kind: str, most: int | None, alone: bool) -> None:
    """Blank and L are by range, of a time before universal spaces; those of XML documents as their table's space is."""
    hand = by_hand(on_zos(kind=kind, most=most), "DB.TS partition P1", "SGSSD")
    assert ("ALTER PARTITION 1" in hand.statements[2]) is alone


@pytest.mark.parametrize(("kind", "most"), [("P", None), ("?", 0), (None, None)])
def test_a_kind_that_is_not_known_has_no_script(kind: str | None, most: int | None) -> None:
    """The wrong statement ends with -665 while the space is stopped."""
    connector = on_zos(kind=kind, most=most)
    assert isinstance(connector.routes(bundle_of(connector, "DB.TS partition P1"), "SGSSD"), NoRoute)


def test_a_space_that_grows_moves_with_all_its_partitions() -> None:
    """Its partitions have one definition."""
    connector = on_zos(kind="G")
    found = connector.routes(bundle_of(connector, "DB.TS partition P1"), "SGSSD")
    assert not isinstance(found, NoRoute)
    hand = found[0].by_hand
    assert hand is not None
    assert not [line for line in hand.statements if re.search(r"PART(ITION)?[ (]1", line)]
    assert connector.catalog().units.bundle.tolist().count(connector.catalog().units.bundle[0]) == 2


def test_the_catalog_of_zos_is_left_out() -> None:
    """And so are the directory and the work files."""
    for name in NAMES:
        if name in {"z_storage_groups", "z_new_groups", "z_volumes", "z_work_databases"}:  # hold no objects
            continue
        if name == "z_index_groups":  # is asked about indexes that the other queries show
            assert "N.IXCREATOR <> 'SYSIBM'" in query(name, PACKAGE).text
        elif name.startswith("z_"):
            assert "NOT IN ('DSNDB01', 'DSNDB06', 'DSNDB07')" in query(name, PACKAGE).text


@pytest.mark.parametrize(
    ("index", "first"),
    [
        ({"INDEX_TYPE": "PRIMARY KEY"}, "access path of a constraint and goes with the file of ORDERS"),
        ({"INDEX_NAME": "ORDERS_BY_CUSTOMER"}, "CL takes no other"),
        (
            {"INDEX_NAME": "ORDERS_BY_CUSTOMER", "SYSTEM_INDEX_NAME": "ORDER00001", "SYSTEM_INDEX_SCHEMA": "SHOP"},
            "CL: CHGLF FILE(SHOP/ORDER00001) UNIT(*SSD);",
        ),
    ],
)
def test_indexes_of_i_go_by_their_system_names(index: dict[str, Any], first: str) -> None:
    """Ten characters at most; a key of a constraint has no logical file at all."""
    connector, _ = on_i(index=index)
    name = index.get("INDEX_NAME", "ORDERS_IX")
    found = connector.routes(bundle_of(connector, f"index SHOP.{name}"), "ASP1 SSD")
    said = found.sentence if isinstance(found, NoRoute) else str(found[0].by_hand)
    assert first in said


def test_nothing_moves() -> None:
    """There is no session that could."""
    for connector in (on_i()[0], on_zos()):
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
    assert len(missing) == 7
    remedies = {str(found.remedy) for found in connector.doctor() if found.code == "source_missing"}
    assert all("db2-zos-observe.sql" in remedy for remedy in remedies)


def test_the_engine_makes_the_adapter(tmp_path: Path) -> None:
    """By the setting, without a driver; a closing brace in a password ends nothing of the ODBC string."""
    assert isinstance(connect(settings("i"), SystemClock()), PlanOnlyConnector)
    (tmp_path / "pw").write_text("a}b;c")
    words = odbc_string(settings("i", password=SecretSource(file=tmp_path / "pw"), security="SSL"))
    assert words == (
        "DRIVER={IBM i Access ODBC Driver};SYSTEM={h};UID={u};PWD={a}}b;c};DATABASE={DB};SSL={1};CONNTYPE={2};"
    )
