"""What Db2 for i counts, by rows made by hand: differences of raw counters, every disk unit, several rows an object."""

from __future__ import annotations

import gc
import re
import time
from collections.abc import Sequence
from datetime import timedelta
from importlib.resources import files
from typing import Any

import numpy as np
import pytest

from connectors.db2.plan_only.connector import PlanOnlyConnector
from connectors.db2.plan_only.session import PACKAGE
from connectors.db2.sessions import Platform, query
from connectors.model.moves import NoRoute
from connectors.model.observation import Demand, Interval, Signal
from policies.evidence.counter_deltas import difference
from tests.db2.hand_made import GIB, Double, connector_over, many_tables, of_index, of_table, on_disk
from tests.db2.test_plan_only import bundle_of

SECONDS = 100.0
SLOW_VIEWS = ("QSYS2.SYSPARTITIONDISK", "QSYS2.SYSPARTITIONINDEXDISK", "QSYS2.SYSPARTITIONINDEXES", "QSYS2.SYSDISKSTAT")


def system(tables: Sequence[dict[str, Any]], indexes: Sequence[dict[str, Any]] = ()) -> Double:
    """Tables and indexes of 1 GiB each on hard disks."""
    return Double(
        {
            "QSYS2.SYSPARTITIONDISK": [on_disk(row) for row in tables],
            "QSYS2.SYSPARTITIONSTAT": list(tables),
            "QSYS2.SYSPARTITIONINDEXDISK": [on_disk(row) for row in indexes],
            "QSYS2.SYSPARTITIONINDEXSTAT": list(indexes),
        }
    )


def observed(connector: PlanOnlyConnector, double: Double, after: dict[str, Sequence[dict[str, Any]]]) -> Demand:
    """What the interval says between the rows as they are and those of afterwards."""
    catalog = connector.catalog()
    before = connector.sample()
    double.rows = {**double.rows, **after}
    later = connector.sample()
    found = difference(before, _moved(before, later), longest_seconds=1e6, known=catalog.units.physical_id)
    assert isinstance(found, Interval)
    return connector.classify(found, catalog)


def _moved(before: Any, later: Any) -> Any:
    """The later sample, as if a hundred seconds had passed."""
    return type(later)(
        **{
            **{name: getattr(later, name) for name in later.__dataclass_fields__},
            "taken_at": before.taken_at + timedelta(seconds=SECONDS),
            "monotonic_seconds": before.monotonic_seconds + SECONDS,
        }
    )


def reads_of(connector: PlanOnlyConnector, demand: Demand, key: str) -> tuple[float, float, bool]:
    """Random and other reads of one unit in the interval, and whether it says anything; 0 and True where it is idle."""
    units = connector.catalog().units
    number = units.physical_id[list(units.key).index(key)]
    at = np.flatnonzero(demand.physical_id == number)
    if not len(at):
        return 0.0, 0.0, True
    rates = demand.rates[:, at[0]] * SECONDS
    return (
        round(float(rates[Signal.SYNC_READ]), 6),
        round(float(rates[Signal.PREFETCHED_READ]), 6),
        bool(demand.observed[at[0]]),
    )


@pytest.mark.parametrize(
    ("before", "after", "random", "others"),
    [
        ((10**7, 0, 10**5), (10**7, 60_000, 160_000), 60_000, 0),  # look-ups after years of scans
        ((0, 10**7, 10**7), (500_000, 10**7, 10**7 + 500_000), 0, 500_000),  # a scan, and the product of totals falls
        ((4_000, 6_000, 500), (4_900, 6_100, 1_500), 100, 900),
        ((10**6, 10**6, 10), (10**6 + 30, 10**6 + 10, 30), 5, 15),  # half of all reads found in memory
        ((5, 5, 5), (5, 5, 25), 20, 0),  # kinds of reads that are not told: all may be waited for
    ],
)
def test_random_reads_are_those_of_the_interval(
    before: tuple[int, ...], after: tuple[int, ...], random: int, others: int
) -> None:
    """Sequential, random, physical, by hand: whatever there was since the IPL, the interval has a share of its own."""
    double = system([of_table("T", before)])
    connector = connector_over(Platform.I, double)
    demand = observed(connector, double, {"QSYS2.SYSPARTITIONSTAT": [of_table("T", after)]})
    assert reads_of(connector, demand, "SHOP.T") == (random, others, True)


def test_indexes_are_counted_and_what_is_not_counted_is_not_cold() -> None:
    """Of three indexes one reads, one is idle, and one has no counters: only the idle one is known to be idle."""
    indexes = [of_index("IX", (0, 0)), of_index("IDLE", (5, 5)), of_index("BLIND", None)]
    double = system([of_table("T", (0, 0))], indexes)
    connector = connector_over(Platform.I, double)
    after = [of_index("IX", (100, 300)), *indexes[1:]]
    demand = observed(connector, double, {"QSYS2.SYSPARTITIONINDEXSTAT": after})
    assert reads_of(connector, demand, "index SHOP.IX") == (300.0, 100.0, True)
    assert reads_of(connector, demand, "index SHOP.IDLE") == (0.0, 0.0, True)
    assert reads_of(connector, demand, "index SHOP.BLIND") == (0.0, 0.0, False)
    assert reads_of(connector, demand, "SHOP.T") == (0.0, 0.0, True)


def test_without_a_view_of_index_counters_indexes_are_not_observed() -> None:
    """An older release or a missing right: doctor names the view, and no index is cold."""
    double = system([of_table("T", (0, 0))], [of_index("IX", (0, 0))])
    del double.rows["QSYS2.SYSPARTITIONINDEXSTAT"]
    connector = connector_over(Platform.I, double)
    demand = observed(connector, double, {"QSYS2.SYSPARTITIONSTAT": [of_table("T", (0, 9))]})
    assert reads_of(connector, demand, "index SHOP.IX") == (0.0, 0.0, False)
    assert reads_of(connector, demand, "SHOP.T") == (9.0, 0.0, True)
    assert [f for f in connector.doctor() if f.code == "source_missing" and f.sentence.startswith("i_index_reads")]


def test_operations_of_an_index_are_a_bound_and_said_to_be_one() -> None:
    """Where SYSPARTITIONINDEXSTAT has no physical reads, random operations stand for them."""
    double = system([of_table("T", (0, 0))], [of_index("IX", (0, 0), physical=False)])
    connector = connector_over(Platform.I, double)
    after = [of_index("IX", (10, 70), physical=False)]
    demand = observed(connector, double, {"QSYS2.SYSPARTITIONINDEXSTAT": after})
    assert reads_of(connector, demand, "index SHOP.IX") == (70.0, 10.0, True)
    assert Signal.SYNC_READ in demand.estimated
    assert [f for f in connector.doctor() if f.code == "index_reads_bounded"]


def test_a_new_ssd_without_tables_is_a_space() -> None:
    """Units come from SYSDISKSTAT, a row for each path, and capacity counts all of them; unit 0 is in no ASP."""
    unit = {"ASP_NUMBER": 1, "UNIT_STORAGE_CAPACITY": 100 * GIB, "UNIT_SPACE_AVAILABLE": 60 * GIB}
    ssd = {**unit, "UNIT_TYPE": 1, "UNIT_SPACE_AVAILABLE": 100 * GIB}
    units: list[dict[str, Any]] = [
        {**unit, "UNIT_NUMBER": 2, "UNIT_TYPE": 0, "RESOURCE_NAME": "DD001"},
        {**unit, "UNIT_NUMBER": 2, "UNIT_TYPE": 0, "RESOURCE_NAME": "DD002"},
        {**unit, "UNIT_NUMBER": 3, "UNIT_TYPE": 0},
        {**ssd, "UNIT_NUMBER": 7},
        {**ssd, "UNIT_NUMBER": 8},
    ]
    double = system([of_table("T", (0, 0))])
    double.rows["QSYS2.SYSDISKSTAT"] = units
    connector = connector_over(Platform.I, double)
    spaces = {space.name: (space.capacity_bytes, space.free_bytes) for space in connector.catalog().spaces}
    assert spaces == {"ASP1 HDD": (200 * GIB, 120 * GIB), "ASP1 SSD": (200 * GIB, 200 * GIB)}
    found = connector.routes(bundle_of(connector, "SHOP.T"), "ASP1 SSD")
    assert not isinstance(found, NoRoute)
    assert found[0].by_hand is not None
    assert any("STRASPBAL TYPE(*MP)" in line for line in found[0].by_hand.after)  # there are both media now
    assert "UNIT_NUMBER <> 0" in query("i_units", PACKAGE).text


def test_an_asp_that_no_view_of_units_shows_keeps_its_tables() -> None:
    """Nothing is dropped silently, and a table without bytes on an ASP of SSDs is on these."""
    empty = {
        **on_disk(of_table("NEW", (0, 0))),
        "UNIT_SPACE_USED": 0,
        "ASP_NUMBER": 2,
        "UNIT_NUMBER": 9,
        "UNIT_TYPE": 1,
    }
    index = {**on_disk(of_index("IX", (0, 0))), "ASP_NUMBER": 3}
    double = system([of_table("T", (0, 0))])
    double.rows["QSYS2.SYSPARTITIONINDEXDISK"] = [index]
    double.rows["QSYS2.SYSPARTITIONDISK"] = [*double.rows["QSYS2.SYSPARTITIONDISK"], empty]
    catalog = connector_over(Platform.I, double).catalog()
    homes = {key: catalog.spaces[at].name for key, at in zip(catalog.units.key, catalog.units.space, strict=True)}
    assert homes == {"SHOP.T": "ASP1 HDD", "SHOP.NEW": "ASP2 SSD", "index SHOP.IX": "ASP3 HDD"}
    assert [space.free_bytes for space in catalog.spaces if space.name == "ASP3 HDD"] == [None]


SSD_UNIT = {
    "ASP_NUMBER": 1, "UNIT_NUMBER": 9, "UNIT_TYPE": 1, "UNIT_STORAGE_CAPACITY": GIB, "UNIT_SPACE_AVAILABLE": GIB,
}  # fmt: skip


def test_several_rows_an_object_are_normal() -> None:
    """Members of a partitioned index are units; a spanning index and one over two tables are one unit each."""
    members = [of_index("PIX", (0, 0), member=f"M{n}") for n in (1, 2)]
    spanning = [{**of_index("SPAN", (5, 50)), "TABLE_PARTITION": f"P{n}"} for n in (1, 2, 3)]
    joined = [{**of_index("JOIN", (0, 0)), "INDEX_TYPE": "LOGICAL", "TABLE_NAME": name} for name in ("A", "B")]
    alike = [of_index("SAME", (0, 0)), {**of_index("SAME", (0, 0), member=None), "INDEX_TYPE": "UNIQUE"}]
    double = system([of_table("T", (0, 0))], [*members, *spanning, *joined, *alike])
    double.rows["QSYS2.SYSDISKSTAT"] = [SSD_UNIT]
    connector = connector_over(Platform.I, double)
    units = connector.catalog().units
    sizes = dict(zip(units.key, units.size_bytes.tolist(), strict=True))
    assert sizes == {
        "SHOP.T": GIB, "index SHOP.PIX partition M1": GIB, "index SHOP.PIX partition M2": GIB, "index SHOP.SPAN": GIB,
        "index SHOP.JOIN": 2 * GIB, "index SHOP.SAME partition SAME": GIB, 'index SHOP.SAME partition ""': GIB,
    }  # fmt: skip
    found = connector.routes(bundle_of(connector, "index SHOP.PIX partition M2"), "ASP1 SSD")
    assert not isinstance(found, NoRoute)
    assert found[0].by_hand is not None
    assert found[0].by_hand.statements == ("CL: CHGLFM FILE(SHOP/PIX) MBR(M2) UNIT(*SSD);",)
    after = [{**of_index("SPAN", (5, 80)), "TABLE_PARTITION": f"P{n}"} for n in (1, 2, 3)]
    demand = observed(connector, double, {"QSYS2.SYSPARTITIONINDEXSTAT": [*members, *after, *joined, *alike]})
    assert reads_of(connector, demand, "index SHOP.SPAN") == (30.0, 0.0, True)


def test_clones_of_zos_share_their_table_space() -> None:
    """INSTANCE 1 and 2 are the data sets of base table and clone: one unit, as one storage group is given to both."""
    space = {"DBNAME": "DB", "NAME": "TS", "PARTITION": 0, "SPACE": 4096, "UPDATESTATSTIME": None}
    index = {**space, "NAME": "IX", "CREATOR": "ME", "SPACE": 100}
    double = Double(
        {
            "SYSIBM.SYSTABLESPACESTATS": [{**space, "INSTANCE": n} for n in (1, 2)],
            "SYSIBM.SYSINDEXSPACESTATS": [{**index, "INSTANCE": n} for n in (1, 2)],
        }
    )
    connector = connector_over(Platform.ZOS, double)
    units = connector.catalog().units
    assert dict(zip(units.key, units.size_bytes.tolist(), strict=True)) == {
        "DB.TS": 8192 * 1024,
        "index ME.IX": 200 * 1024,
    }
    demand = observed(connector, double, {})
    assert reads_of(connector, demand, "DB.TS") == (0.0, 0.0, False)


def zos(name: str, **space: Any) -> Double:
    """One table space of z/OS that is not partitioned, in the storage group SLOW."""
    of = {
        "DBNAME": "DB", "NAME": name, "PARTITION": 0, "TYPE": " ", "MAXPARTITIONS": 0, "STORTYPE": "I",
        "STORNAME": "SLOW", "TSNAME": name, "SPACE": 4096, "UPDATESTATSTIME": None, "INSTANCE": 1, **space,
    }  # fmt: skip
    return Double({f"SYSIBM.{table}": [of] for table in ("SYSTABLESPACE", "SYSTABLEPART", "SYSTABLESPACESTATS")})


def test_a_clone_moves_with_its_base() -> None:
    """-STOP, -START and REORG are for base objects alone unless they say CLONE: both are sent, in IBM's order."""
    double = zos("TS")
    stats = double.rows["SYSIBM.SYSTABLESPACESTATS"]
    double.rows["SYSIBM.SYSTABLESPACESTATS"] = [*stats, {**stats[0], "INSTANCE": 2}]
    connector = connector_over(Platform.ZOS, double)
    connector.catalog()
    found = connector.routes(bundle_of(connector, "DB.TS"), "FAST")
    assert not isinstance(found, NoRoute)
    assert found[0].by_hand is not None
    text = "\n".join(found[0].by_hand.statements)
    wanted = (
        "'-STOP DATABASE(DB) SPACENAM(TS)'", "'-STOP DATABASE(DB) SPACENAM(TS) CLONE'", "ALTER TABLESPACE",
        "ACCESS(RW)'", "ACCESS(RW) CLONE'", "REORG TABLESPACE DB.TS SHRLEVEL", "REORG TABLESPACE DB.TS CLONE SHRLEVEL",
    )  # fmt: skip
    places = [text.index(each) for each in wanted]
    assert places == sorted(places)


@pytest.mark.parametrize(
    ("space", "why"),
    [
        ({"SPACE": None}, "has no size here"),
        ({"SPACE": -1}, "has no size here"),
        ({"TYPE": "?"}, "of a kind"),
        ({"TYPE": "?", "PARTITION": 1}, "of a kind"),
    ],
)
def test_what_zos_does_not_say_of_a_space_is_no_script(space: dict[str, Any], why: str) -> None:
    """A size that is not known is not nothing, and a kind that is not known may be LOBs, whose REORG is another one."""
    connector = connector_over(Platform.ZOS, zos("TS", **space))
    key = connector.catalog().units.key[0]
    found = connector.routes(bundle_of(connector, key), "FAST")
    assert isinstance(found, NoRoute)
    assert why in found.sentence


def test_spaces_of_zos_without_statistics_are_named() -> None:
    """What SYSTABLEPART has and SYSTABLESPACESTATS has not is missing in every list: doctor says so."""
    double = zos("TS")
    parts = double.rows["SYSIBM.SYSTABLEPART"]
    double.rows["SYSIBM.SYSTABLEPART"] = [*parts, {**parts[0], "TSNAME": "QUIET"}]
    connector = connector_over(Platform.ZOS, double)
    said = [finding.sentence for finding in connector.doctor() if finding.code == "no_statistics"]
    assert len(said) == 1
    assert said[0].endswith("1 table space(s); no list shows them: DB.QUIET")


def test_work_files_of_a_data_sharing_group_are_left_out() -> None:
    """Each member has such a database under a name of its own."""
    double = zos("TS")
    double.rows["SYSIBM.SYSDATABASE"] = [{"NAME": "DB", "TYPE": "W"}]
    assert len(connector_over(Platform.ZOS, double).catalog().units) == 0


def test_units_of_i_count_once_by_what_is_known_of_them() -> None:
    """Paths that show nothing, mirrored units that come twice, and sizes below nothing change no sum and no medium."""
    rows = [on_disk(of_table("T", (0, 0)))] * 2 + [{**on_disk(of_table("NEGATIVE", (0, 0))), "UNIT_SPACE_USED": -5}]
    unit = {"ASP_NUMBER": 1, "UNIT_NUMBER": 1, "UNIT_TYPE": 1, "UNIT_STORAGE_CAPACITY": 9 * GIB,
            "UNIT_SPACE_AVAILABLE": 4 * GIB}  # fmt: skip
    dead = {**unit, "UNIT_TYPE": None, "UNIT_STORAGE_CAPACITY": 0, "UNIT_SPACE_AVAILABLE": 0}
    double = system([of_table("T", (0, 0)), of_table("NEGATIVE", (0, 0))])
    double.rows |= {"QSYS2.SYSPARTITIONDISK": rows, "QSYS2.SYSDISKSTAT": [dead, unit, dead]}
    catalog = connector_over(Platform.I, double).catalog()
    assert dict(zip(catalog.units.key, catalog.units.size_bytes.tolist(), strict=True)) == {
        "SHOP.T": GIB, "SHOP.NEGATIVE": 0,
    }  # fmt: skip
    spaces = {space.name: (space.capacity_bytes, space.free_bytes) for space in catalog.spaces}
    assert spaces == {"ASP1 HDD": (100 * GIB, 40 * GIB), "ASP1 SSD": (9 * GIB, 4 * GIB)}
    assert {catalog.spaces[row].name for row in catalog.units.space} == {"ASP1 HDD"}


def test_a_sample_reads_no_view_of_disks() -> None:
    """Those are slow on large systems: with the catalog only. A partition that lies on no disk calls for none."""
    double = system([of_table("T", (0, 0))], [of_index("IX", (0, 0))])
    double.rows["QSYS2.SYSPARTITIONSTAT"] = [of_table("T", (0, 0)), of_table("NOWHERE", (0, 0))]
    connector = connector_over(Platform.I, double)
    connector.catalog()
    sent = len(double.sent)
    sample = connector.sample()
    assert not [text for text in double.sent[sent:] if any(f" {view} " in text for view in SLOW_VIEWS)]
    assert len(sample.physical_id) == 2
    double.rows["QSYS2.SYSPARTITIONSTAT"] = [of_table("T", (0, 0)), of_table("NEW", (0, 0))]
    assert len(connector.sample().physical_id) == 3  # the agent reads the catalog for what it does not know


def test_the_cost_of_a_sample_grows_with_the_tables_only() -> None:
    """Eight times the tables cost some eight times the processor: with pairs of tables it was sixty-four times."""
    few, many = (seconds_of_a_sample(tables) for tables in (1_000, 8_000))
    assert many < 24 * few


def seconds_of_a_sample(tables: int) -> float:
    """Processor seconds of a catalog and a sample, the best of three."""
    connector = connector_over(Platform.I, many_tables(tables))
    spent = []
    for _ in range(3):
        gc.collect()
        gc.disable()  # it looks at all that other tests of this process have left behind
        try:
            started = time.process_time()
            connector.catalog()
            connector.sample()
            spent.append(time.process_time() - started)
        finally:
            gc.enable()
    return min(spent)


def test_libraries_of_users_may_begin_with_q() -> None:
    """Those that IBM ships are named, in every query alike; no pattern hides QUALITY or SYSTEMS."""
    texts = [
        query(path.name.removesuffix(".sql"), PACKAGE).text
        for path in (files(PACKAGE) / "sql").iterdir()
        if path.name.startswith("i_")
    ]
    lists = {tuple(re.findall(r"'(\w+)'", text)) for text in texts if "TABLE_SCHEMA NOT IN" in text}
    assert len(lists) == 1
    (names,) = lists
    assert {"QSYS", "QSYS2", "SYSIBM"} <= set(names)
    assert not {"QGPL", "QUSRSYS"} & set(names)
    assert not [text for text in texts if "LIKE" in text]
    assert sum("TABLE_SCHEMA NOT IN" in text for text in texts) == 5
