"""Results of queries as tools write them are read to the same rows, or refused with line and column."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest

from agent.studies.assessment import observe_exports
from agent.studies.assessment_files import read_export
from agent.studies.exported_tables import columns_of, rows_of
from connectors.kit.assessment import Export, FromFiles, Readings, UnusableFile
from connectors.kit.registry import engine_names, find_engine
from connectors.model.observation import Catalog
from tests.unit.policies.situations import NOON, Site, Unit, demand, sample

QUERY = "SELECT t.name, t.object_id, count(*) AS reads, sum(x.seconds) AS seconds FROM t WHERE a IN (SELECT b FROM c)"
COLUMNS = ("name", "object_id", "reads", "seconds")
ROWS = [("ORDERS", 17, 1234567, 12.5), ("2024", 18, None, 0.25)]

AS_WRITTEN = {
    "psql --csv": "name,object_id,reads,seconds\nORDERS,17,1234567,12.5\n2024,18,,0.25\n",
    "SSMS, no header": "ORDERS,17,1234567,12.5\r\n2024,18,NULL,0.25\r\n",
    "Db2 EXPORT": '"ORDERS",17,1234567,+0000012.500\n"2024",18,,+0000000.250\n',
    "semicolons": "name;object_id;reads;seconds\nORDERS;17;1234567;12.5\n2024;18;;0.25\n",
    "tabs": "name\tobject_id\treads\tseconds\nORDERS\t17\t1234567\t12.5\n2024\t18\tNULL\t0.25\n",
    "sqlcmd -s,": (
        "name      ,object_id,reads    ,seconds\n----------,---------,---------,-------\n"
        "ORDERS    ,       17,  1234567,   12.5\n2024      ,       18,     NULL,   0.25\n\n(2 rows affected)\n"
    ),
    "sqlcmd": (
        "name       object_id   reads       seconds \n---------- ----------- ----------- --------\n"
        "ORDERS              17     1234567     12.5\n2024                18        NULL     0.25\n"
        "\n(2 rows affected)\n"
    ),
    "Db2 CLP": (
        "\nNAME       OBJECT_ID   READS       SECONDS \n---------- ----------- ----------- --------\n"
        "ORDERS              17     1234567     12.5\n2024                18           -     0.25\n"
        "\n  2 record(s) selected.\n\n"
    ),
    "SQL*Plus MARKUP CSV": (
        '\n"NAME","OBJECT_ID","READS","SECONDS"\n"ORDERS",17,1234567,12.5\n"2024",18,,.25\n\n2 rows selected.\n'
    ),
    "SQL*Plus, a heading on each page": (
        '\n"NAME","OBJECT_ID","READS","SECONDS"\n"ORDERS",17,1234567,12.5\n\n'
        '"NAME","OBJECT_ID","READS","SECONDS"\n"2024",18,,.25\n'
    ),
    "decimal comma": "name;object_id;reads;seconds\nORDERS;17;1234567;12,5\n2024;18;;0,25\n",
    "decimal comma and dots between thousands": (
        "name;object_id;reads;seconds\nORDERS;17;1.234.567;12,5\n2024;18;;0,25\n"
    ),
    "thousands": 'name,object_id,reads,seconds\nORDERS,17,"1,234,567",12.5\n2024,18,,0.25\n',
    "psql": (
        "  name  | object_id |  reads  | seconds \n--------+-----------+---------+---------\n"
        " ORDERS |        17 | 1234567 |    12.5\n 2024   |        18 |         |    0.25\n(2 rows)\n"
    ),
}


@pytest.mark.parametrize("tool", AS_WRITTEN)
def test_each_tool_is_read_to_the_same_rows(tool: str) -> None:
    """Header or none, whatever is between cells, rulers, pages, foots and numbers of other languages."""
    assert rows_of("x.csv", AS_WRITTEN[tool], COLUMNS) == ROWS


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("name;reads;seconds\nORDERS;1,234;5\n", "x.csv, line 2: reads: 1,234 may be 1234 or 1.234"),
        ("name;reads;seconds\nITEMS;950;7\nORDERS;12.345;98.765\n", "line 3: reads: 12.345 may be 12345 or 12.345"),
        (
            "name;reads;seconds\nA;1,234,567;5\nB;5;0,25\n",
            "written both with commas between thousands and with a decimal",
        ),
        ("ORDERS,17,5\n", "x.csv, line 1: has no header line and 3 cells a row, where the query has 4 columns"),
        ("name,object_id,reads,seconds\nORDERS,17,5\n", "x.csv, line 2: has 3 cells where the header has 4"),
        ("\n\n", "x.csv, line 1: is empty"),
        ("ORDERS,17,5,1\n2024,18,5\n", "x.csv, line 2: has 3 cells where the first row has 4"),
    ],
)
def test_what_is_left_open_is_refused(text: str, words: str) -> None:
    """With the line, and the column where it is one's; and with what to do."""
    with pytest.raises(UnusableFile) as refused:
        rows_of("x.csv", text, COLUMNS)
    assert words in str(refused.value)
    assert refused.value.advice


def test_three_decimals_are_read_where_others_show_that_a_point_is_one() -> None:
    """By a number of four digits without a sign between them, or a fraction of other than three digits."""
    for other in ("4321", "0.25"):
        rows = rows_of("x.csv", f"name;reads;seconds\nORDERS;{other};12.345\n", COLUMNS)
        assert rows == [("ORDERS", float(other), 12.345)]


def test_a_header_alone_is_no_row() -> None:
    """A query without a result: no rows, with a header and of a known query."""
    assert rows_of("x.csv", "name,object_id,reads,seconds\n", COLUMNS) == []


def test_columns_of_a_query_are_those_of_its_outermost_select() -> None:
    """Commas in brackets and texts are none of its own; a star is not known."""
    assert columns_of(QUERY) == ("name", "object_id", "reads", "seconds")
    assert columns_of("WITH a AS (SELECT x, y FROM b) SELECT 'a,b' AS \"Odd\", f(x, y) z FROM a") == ("Odd", "z")
    assert columns_of("SELECT * FROM a") == ()
    assert columns_of("") == ()


@pytest.mark.parametrize("engine", [name for name in engine_names() if find_engine(name).by_hand is not None])
def test_columns_of_every_printed_query_are_known(engine: str) -> None:
    """So that a result without a header line is known by them."""
    hand = find_engine(engine).by_hand
    assert hand is not None
    unknown = {name for name, text in hand.queries().items() if not columns_of(text)}
    assert unknown == set()


# -- when they were taken --------------------------------------------------------------------------------------------


class _Readings(Exception):
    """What the engine was given."""

    def __init__(self, before: Export, after: Export) -> None:
        super().__init__()
        self.seconds = (after.at - before.at).total_seconds()


def _read(before: Export, after: Export) -> Readings:
    raise _Readings(before, after)


HAND = FromFiles(queries=lambda: {"clock": "SELECT x AS taken_at", "units": "SELECT a, b FROM c"}, read=_read)


def folder(at: Path, clock: str | None) -> Path:
    """An export of one result, and of the server's clock."""
    at.mkdir()
    (at / "units.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    if clock is not None:
        (at / "clock.csv").write_text(f"taken_at\n{clock}\n", encoding="utf-8")
    return at


def elapsed_of(paths: list[Path], elapsed: float | None = None) -> float:
    """Seconds that an engine takes to be between two exports."""
    before, after = (read_export(path, HAND.queries()) for path in paths)
    with pytest.raises(_Readings) as given:
        observe_exports("postgresql", HAND, before, after, elapsed)
    return given.value.seconds


def test_the_servers_clock_says_how_long_it_was(tmp_path: Path) -> None:
    """Not the times of files: a copy of both folders has other ones, and the same result."""
    paths = [
        folder(tmp_path / name, clock)
        for name, clock in (("before", "2026-03-01 10:00:00"), ("after", "2026-03-01 11:00:00"))
    ]
    assert elapsed_of(paths) == 3600
    copied = [Path(shutil.copytree(path, tmp_path / f"{path.name}_copy")) for path in reversed(paths)][::-1]
    os.utime(copied[0] / "units.csv", (2e9, 2e9))
    assert elapsed_of(copied) == 3600
    assert elapsed_of(copied, 600) == 600


def test_without_a_clock_the_period_is_asked_for(tmp_path: Path) -> None:
    """Two folders without it, and JSON without taken_at: refused with what to say; with --elapsed both are read."""
    paths = [folder(tmp_path / name, None) for name in ("before", "after")]
    before, after = (read_export(path, HAND.queries()) for path in paths)
    with pytest.raises(UnusableFile, match="does not say when it was taken") as refused:
        observe_exports("postgresql", HAND, before, after, None)
    assert "--elapsed" in refused.value.advice
    assert elapsed_of(paths, 60) == 60
    (tmp_path / "x.json").write_text(json.dumps({"results": {"units": [[1, 2]]}}), encoding="utf-8")
    assert read_export(tmp_path / "x.json", HAND.queries()).taken_at is None
    said: Mapping[str, object] = {"taken_at": "2026-03-01T10:00:00Z", "results": {}}
    (tmp_path / "y.json").write_text(json.dumps(said), encoding="utf-8")
    assert read_export(tmp_path / "y.json", HAND.queries()).at == datetime(2026, 3, 1, 10, tzinfo=UTC)


def test_a_clock_that_is_none_is_refused(tmp_path: Path) -> None:
    """Any other text in its place, by the name of the query."""
    paths = [folder(tmp_path / name, clock) for name, clock in (("before", "soon"), ("after", "2026-03-01 11:00:00"))]
    before, after = (read_export(path, HAND.queries()) for path in paths)
    with pytest.raises(UnusableFile, match="the result of clock is no time"):
        observe_exports("postgresql", HAND, before, after, None)


def test_a_result_of_too_few_columns_is_named() -> None:
    """In our words, with the query and both numbers, where an engine would find its list too short."""
    hand = FromFiles(queries=HAND.queries, read=lambda before, _: before.rows("units")[0][9])
    export = Export(path="before", taken_at=datetime(2026, 3, 1, tzinfo=UTC), results={"units": [(1,)]})
    with pytest.raises(UnusableFile, match="before: the result of units has 1 columns, and its query 2"):
        observe_exports("postgresql", hand, export, Export(path="after", taken_at=None, results={}), 60)


def test_a_unit_whose_counters_began_anew_is_named() -> None:
    """An index that was rebuilt between two exports: what it read is not known, and it was the hottest, perhaps."""
    units = Site().situation([Unit(key="hot", size=10), Unit(key="warm", size=10)])
    catalog = Catalog(taken_at=NOON, spaces=units.spaces, units=units.units)
    samples = sample(0, {1000: 500, 1001: 5}), sample(3600, {1000: 20, 1001: 3605}, wall=3600)

    def readings(before: Export, after: Export) -> Readings:
        return Readings(
            database="app", version="1", catalog=catalog, before=samples[0], after=samples[1],
            classify=lambda interval, _: demand(interval.seconds, {1001: interval.deltas["reads"][-1] / 3600}),
        )  # fmt: skip

    hand = FromFiles(queries=HAND.queries, read=readings)
    exports = [Export(path=name, taken_at=None, results={}) for name in ("before", "after")]
    found = observe_exports("postgresql", hand, exports[0], exports[1], 3600)
    assert any("counters of hot began anew" in note for note in found.notes)
    assert not any("warm" in note for note in found.notes)
