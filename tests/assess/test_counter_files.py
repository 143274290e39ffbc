"""Counters of SQL Server, Db2 and PostgreSQL as other tools export them: what they tell, and what they leave open."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from agent.terminal.errors import ExitCode
from tests.cli.site import run_here

FILES = "Database Name,Logical Name,sample_ms,num_of_reads,io_stall_read_ms,size_on_disk_bytes\n"
OPERATIONS = "schema_name,object_name,index_name,page_io_latch_wait_count,page_io_latch_wait_in_ms\n"
TABLESPACES = (
    "TBSP_NAME,POOL_DATA_P_READS,POOL_INDEX_P_READS,POOL_ASYNC_DATA_READS,POOL_READ_TIME,POOL_ASYNC_READ_TIME\n"
)
TABLES = "TABSCHEMA,TABNAME,TBSP_NAME,OBJECT_DATA_P_READS\n"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder without a configuration."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HOTPLACE_CONFIG", raising=False)
    return tmp_path


def folder(at: Path, files: dict[str, str]) -> str:
    """A folder with these files."""
    at.mkdir()
    for name, text in files.items():
        (at / name).write_text(text, encoding="utf-8")
    return at.name


def answered(*arguments: str) -> dict[str, Any]:
    """The assessment as JSON."""
    done = run_here("assess", *arguments, "--json")
    assert done.code == 0, done.err
    (found,) = json.loads(done.out)["assessments"]
    return dict(found)


def waits(found: dict[str, Any], column: str = "wait_per_hour_seconds") -> dict[str, float]:
    """A figure of each object."""
    return {unit["unit"]: unit[column] for unit in found["units"]}


def test_a_counter_that_is_no_number_is_named(here: Path) -> None:
    """Taken for 0 it would be waits without reads: of one text in a column all are."""
    (here / "operations.csv").write_text(OPERATIONS + "dbo,ORDERS,PK,12'345,500\ndbo,ITEMS,PK,10,50\n")
    done = run_here("assess", "operations.csv", "--elapsed", "1h")
    assert done.code == ExitCode.USAGE
    assert "pageiolatchwaitcount of dbo.ORDERS.PK" in done.err
    assert '"12\'345"' in done.err


def test_a_negative_counter_is_refused(here: Path) -> None:
    """The object would be left out, and the sum told as measured."""
    (here / "operations.csv").write_text(OPERATIONS + "dbo,ORDERS,PK,950,-7600\ndbo,ITEMS,PK,10,50\n")
    done = run_here("assess", "operations.csv", "--elapsed", "1h")
    assert done.code == ExitCode.USAGE
    assert "pageiolatchwaitinms of dbo.ORDERS.PK in sys.dm_db_index_operational_stats is negative: -7600" in done.err


def test_files_have_the_sizes_that_the_view_says(here: Path) -> None:
    """So there is a curve; sizes of another file are refused and not left unread."""
    (here / "files.csv").write_text(FILES + "SHOP,SHOP_1,3600000,10100,90000,1048576\n")
    found = answered("files.csv")
    assert [unit["bytes"] for unit in found["units"]] == [1048576]
    done = run_here("assess", "files.csv", "--sizes", "none.csv")
    assert done.code == ExitCode.USAGE
    assert "--sizes" in done.err


def test_latch_waits_of_sql_server_are_measured(here: Path) -> None:
    """Two snapshots: waits by object are exact, the period comes from sample_ms of the files."""
    before = folder(here / "before", {
        "files.csv": FILES + "SHOP,SHOP_1,1000000,100,1000,1048576\n",
        "operations.csv": OPERATIONS + "dbo,ORDERS,PK,100,500\ndbo,ITEMS,PK,10,50\n",
    })  # fmt: skip
    after = folder(here / "after", {
        "files.csv": FILES + "SHOP,SHOP_1,4600000,10100,90000,1048576\n",
        "operations.csv": OPERATIONS + "dbo,ORDERS,PK,8100,40500\ndbo,ITEMS,PK,1010,5050\n",
    })  # fmt: skip
    found = answered(before, after)
    assert found["seconds"] == 3600
    assert found["measured_read_wait_per_hour_seconds"] == pytest.approx(45)
    assert waits(found) == pytest.approx({"dbo.ORDERS.PK": 40, "dbo.ITEMS.PK": 5})
    assert waits(found, "wait_high_per_hour_seconds") == pytest.approx(waits(found))


def test_one_snapshot_of_files_is_since_the_start(here: Path) -> None:
    """Uptime from sample_ms, said so; times hold read-ahead, so that what was waited is not called measured."""
    Path("files.csv").write_text(
        FILES + "SHOP,A,7200000,1000,20000,1048576\nSHOP,B,7200000,10,100,NULL\n", encoding="utf-8"
    )
    found = answered("files.csv")
    assert found["seconds"] == 7200
    assert found["measured_read_wait_per_hour_seconds"] is None
    assert waits(found) == pytest.approx({"(all else) in SHOP.A": 10, "(all else) in SHOP.B": 0.05})
    assert any("one snapshot: counters since the server was started, 2 h ago" in note for note in found["notes"])
    assert any("at most as long" in note for note in found["notes"])


def test_tables_of_db2_share_the_wait_of_their_space(here: Path) -> None:
    """By reads, and as an interval: no table's time is counted. Reads and times of prefetchers are taken off."""
    before = folder(here / "b", {
        "s.csv": TABLESPACES + "TS,0,0,0,0,0\n", "t.csv": TABLES + "SHOP,ORDERS,TS,0\nSHOP,ITEMS,TS,0\n"
    })  # fmt: skip
    after = folder(here / "a", {
        "s.csv": TABLESPACES + "TS,9000,1000,2000,50000,10000\n",
        "t.csv": TABLES + "SHOP,ORDERS,TS,6000\nSHOP,ITEMS,TS,1000\n",
    })  # fmt: skip
    found = answered(before, after, "--elapsed", "1h")
    assert found["measured_read_wait_per_hour_seconds"] == pytest.approx(40)
    assert waits(found) == pytest.approx({"SHOP.ORDERS": 30, "SHOP.ITEMS": 5, "(all else) in TS": 5})
    assert set(waits(found, "wait_low_per_hour_seconds").values()) == {0.0}
    assert waits(found, "wait_high_per_hour_seconds") == pytest.approx(dict.fromkeys(waits(found), 40))


def test_times_of_db2_are_divided_by_all_reads_that_they_time(here: Path) -> None:
    """Pages of temporary table spaces have counters of their own, and direct reads are requests."""
    (here / "s.csv").write_text(
        TABLESPACES.rstrip() + ",POOL_TEMP_DATA_P_READS,DIRECT_READ_REQS,DIRECT_READ_TIME\n"
        "TS,1000,0,0,5000,0,0,0,0\nTEMPSPACE1,0,0,0,10000,0,2000,0,0\nLOBS,100,0,0,500,0,0,900,4500\n"
    )
    found = answered("s.csv", "--elapsed", "1000s")
    reads = {each["space"]: each["reads_per_second"] for each in found["spaces"][:3]}
    assert reads == pytest.approx({"TS": 1, "TEMPSPACE1": 2, "LOBS": 1})
    assert {round(each["read_seconds"], 6) for each in found["spaces"][:3]} == {0.005}


def test_reads_from_a_cache_are_no_measured_storage(here: Path) -> None:
    """Reads of 3 us each: the present speed is a limit, and the notes say so; nothing is gained."""
    before = folder(here / "b", {"d.csv": PSQL["d.csv"].format(0, 0), "t.csv": PSQL["t.csv"].format("", "", 0, 0)})
    after = folder(here / "a", {"d.csv": PSQL["d.csv"].format(900_000, 2_700),
                                "t.csv": PSQL["t.csv"].format("", "", 900_000, 0)})  # fmt: skip
    found = answered(before, after, "--elapsed", "1h")
    assert any("quicker than storage" in note for note in found["notes"])
    assert all(saved == 0 for saved in waits(found, "wait_saved_per_hour_seconds").values())
    slow = folder(here / "slow", {"d.csv": PSQL["d.csv"].format(900_000, 4_500_000),
                                  "t.csv": PSQL["t.csv"].format("", "", 900_000, 0)})  # fmt: skip
    assert not any("quicker than storage" in note for note in answered(before, slow, "--elapsed", "1h")["notes"])


PSQL = {
    "d.csv": "datname,blks_read,blk_read_time\nshop,{0},{1}\n",
    "t.csv": "schemaname,relname,heap_blks_read,idx_blks_read\npublic,orders,{2},{3}\n",
}
EXPORTER = """\
# HELP pg_stat_database_blks_read Number of disk blocks read in this database
# TYPE pg_stat_database_blks_read counter
pg_stat_database_blks_read{{datid="5",datname="shop"}} {0}
pg_stat_database_blk_read_time{{datid="5",datname="shop"}} {1}
pg_statio_user_tables_heap_blocks_read_total{{datname="shop",relname="orders",schemaname="public"}} {2}
pg_statio_user_tables_idx_blocks_read_total{{datname="shop",relname="orders",schemaname="public"}} {3}
"""


def test_postgresql_by_psql_and_by_an_exporter_is_the_same(here: Path) -> None:
    """CSV of psql and the text of an exporter: the same waits, the table with its indexes, the rest as all else."""
    first, second = (1000, 500.0, 100, 100), (11_000, 20_500.0, 4_100, 1_100)
    for name, values in (("before", first), ("after", second)):
        folder(here / name, {file: text.format(*values) for file, text in PSQL.items()})
        (here / f"{name}.prom").write_text(EXPORTER.format(*values), encoding="utf-8")
    by_psql = answered("before", "after", "--elapsed", "1h")
    by_exporter = answered("before.prom", "after.prom", "--elapsed", "1h")
    assert waits(by_psql) == pytest.approx({"public.orders": 10, "(all else)": 10})
    assert waits(by_exporter) == pytest.approx({"shop.public.orders": 10, "(all else)": 10})
    assert by_psql["measured_read_wait_per_hour_seconds"] == pytest.approx(20)
    assert waits(by_psql, "wait_high_per_hour_seconds")["public.orders"] == pytest.approx(20)


STATISTICS = "datname,blks_read,blk_read_time,stats_reset,now\n"


def test_a_row_without_an_earlier_one_is_left_out_and_named(here: Path) -> None:
    """Its counters are of its whole life: 2 of the 2,002 waiting sessions of this hour were the other database's."""
    (here / "b.csv").write_text("datname,blks_read,blk_read_time,stats_reset\nshop,0,0,2024-01-01 00:00:00+00\n")
    (here / "a.csv").write_text(
        "datname,blks_read,blk_read_time,stats_reset\nshop,3600000,7200000,2024-01-01 00:00:00+00\n"
        "crm,900000000,7200000000,2024-01-01 00:00:00+00\n"
    )
    found = answered("b.csv", "a.csv", "--elapsed", "1h")
    assert found["measured_read_wait_per_hour_seconds"] == pytest.approx(7200)
    (note,) = (note for note in found["notes"] if "crm" in note)
    assert note == (
        "pg_stat_database: b.csv has no earlier counters of crm, which is left out: what it read between the two is "
        "not known, not 0"
    )


def test_a_file_and_an_index_without_an_earlier_row_are_left_out(here: Path) -> None:
    """Of each table on its own; a second partition of an index that was there before leaves the index open too."""
    before = folder(here / "b", {
        "files.csv": FILES + "SHOP,A,1000000,100,1000,1048576\n",
        "operations.csv": OPERATIONS + "dbo,ORDERS,PK,100,500\ndbo,ITEMS,PK,10,50\n",
    })  # fmt: skip
    after = folder(here / "a", {
        "files.csv": FILES + "SHOP,A,4600000,10100,90000,1048576\nSHOP,B,4600000,900100,9000000,1048576\n",
        "operations.csv": OPERATIONS + "dbo,ORDERS,PK,8100,40500\ndbo,ITEMS,PK,1010,5050\ndbo,ITEMS,PK,7000,9000\n"
        "dbo,OLD,PK,1000,7000\n",
    })  # fmt: skip
    found = answered(before, after)
    assert waits(found) == pytest.approx({"dbo.ORDERS.PK": 40})
    left_out = [note for note in found["notes"] if "no earlier counters" in note]
    assert ["SHOP.B" in note for note in left_out] == [True, False]
    assert "dbo.ITEMS.PK, dbo.OLD.PK, which are left out" in left_out[1]


def test_tables_of_a_space_without_an_earlier_row_are_left_out_with_it(here: Path) -> None:
    """What their reads waited is not known; they get no share of the waits of other spaces."""
    tables = TABLES + "SHOP,ORDERS,TS,{0}\nSHOP,OLD,ARCHIVE,{0}\n"
    before = folder(here / "b", {"s.csv": TABLESPACES + "TS,0,0,0,0,0\n", "t.csv": tables.format(0)})
    after = folder(here / "a", {
        "s.csv": TABLESPACES + "TS,1000,0,0,5000,0\nARCHIVE,90000,0,0,900000,0\n", "t.csv": tables.format(1000)
    })  # fmt: skip
    found = answered(before, after, "--elapsed", "1h")
    assert waits(found) == pytest.approx({"SHOP.ORDERS": 5})
    assert any("no earlier counters of ARCHIVE" in note for note in found["notes"])
    assert any("SHOP.OLD" in note and "no wait" in note for note in found["notes"])


@pytest.mark.parametrize(
    ("since", "now", "counts"),
    [
        ("2026-03-01 12:10:00+00", "2026-03-01 13:00:00+00", True),
        ("2026-03-01 11:10:00+00", "2026-03-01 13:00:00+00", False),
        ("2026-03-01 13:10:00+00", "2026-03-01 13:00:00+00", False),
        ("2026-03-01 12:10:00", "2026-03-01 13:00:00+00", False),
        ("", "2026-03-01 13:00:00+00", False),
        ("2026-03-01 12:10:00+00", "", False),
    ],
)
def test_counters_that_began_within_the_period_count_from_zero(here: Path, since: str, now: str, counts: bool) -> None:
    """Where the files say when they were taken; before it, after it, in another zone or unsaid they are left out."""
    old = "2024-01-01 00:00:00+00"
    (here / "b.csv").write_text(STATISTICS + f"shop,0,0,{old},2026-03-01 12:00:00+00\n")
    (here / "a.csv").write_text(STATISTICS + f"shop,3600,7200,{old},{now}\ncrm,1000,3000,{since},{now}\n")
    found = answered("b.csv", "a.csv", "--elapsed", "1h")
    assert found["measured_read_wait_per_hour_seconds"] == pytest.approx(10.2 if counts else 7.2)
    assert any("crm" in note for note in found["notes"]) is not counts


def test_snapshots_without_a_common_row_are_refused(here: Path) -> None:
    """They are of different databases; nothing is left to assess."""
    (here / "b.csv").write_text(PSQL["d.csv"].format(5, 5.0))
    (here / "a.csv").write_text(PSQL["d.csv"].replace("shop", "crm").format(500, 500.0))
    done = run_here("assess", "b.csv", "a.csv", "--elapsed", "1h")
    assert done.code == ExitCode.USAGE
    assert "a.csv: has no counters that b.csv has too: crm is left out" in re.sub(r"\s+", " ", done.err)


@pytest.mark.parametrize(
    ("files", "arguments", "words"),
    [
        ({"a.csv": PSQL["d.csv"].format(5, 5.0)}, (), "does not say how long its counters ran"),
        ({"a.csv": PSQL["d.csv"].format(5, 0.0)}, ("--elapsed", "1h"), "says of no read that a session waited for it"),
        (
            {"a.csv": PSQL["t.csv"].format("", "", 5, 5), "b.csv": PSQL["t.csv"].format("", "", 9, 9)},
            ("--elapsed", "1h"),
            "times no read: pg_statio_user_tables counts reads alone next: Add the times of the same period: pg_stat",
        ),
        (
            {"a.csv": TABLES + "SHOP,ORDERS,TS,5\n"},
            ("--elapsed", "1h"),
            "next: Add the times of the same period: MON_GET_TABLESPACE or MON_GET_DATABASE, in one folder",
        ),
        (
            {"a.csv": PSQL["d.csv"].format(5, 5.0), "b.csv": PSQL["d.csv"].format(4, 4.0)},
            ("--elapsed", "1h"),
            "counters of shop in pg_stat_database are lower than before",
        ),
        (
            {"a.csv": PSQL["d.csv"].format(5, 5.0), "b.csv": FILES + "SHOP,A,7,9,9,9\n"},
            ("--elapsed", "1h"),
            "is of sqlserver, and not of postgresql",
        ),
        ({"a.csv": "datname,blks_read\nshop,5\n"}, (), "is no report that hotplace knows"),
        ({"a.txt": "            Database Snapshot\n\nDatabase name = SHOP\n"}, (), "the output of GET SNAPSHOT"),
        ({"a.txt": "\nDatabase Member 0 -- Database SHOP -- Active -- Up 3 days\n"}, (), "the output of db2pd"),
        ({"a.txt": "pgmetrics run at: 1 Jan 2026\n"}, (), "a report of pgmetrics"),
        ({"a.json": '{"meta": {"version": "1.17", "collected_dbs": ["shop"]}}'}, (), "a report of pgmetrics"),
        ({"a.csv": "DB,avg_read_latency_ms,avg_write_latency_ms\nSHOP,5,6\n"}, (), "a list of mean latencies"),
    ],
)
def test_what_tells_too_little_is_refused_by_what_it_is(
    here: Path, files: dict[str, str], arguments: tuple[str, ...], words: str
) -> None:
    """No period, no time, a restart, two engines, other tools: a sentence, and what is read instead."""
    for name, text in files.items():
        (here / name).write_text(text, encoding="utf-8")
    done = run_here("assess", *files, *arguments)
    assert done.code == 2
    assert words in re.sub(r"\s+", " ", done.err)
    assert "next:" in done.err
