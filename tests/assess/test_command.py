"""``hotplace assess``: reports from files, without configuration and without a database."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agent.terminal.errors import ExitCode
from tests.assess.test_assessing import TOLD
from tests.assess.written_reports import write
from tests.cli.site import run_here


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder without a configuration."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HOTPLACE_CONFIG", raising=False)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "80")
    (tmp_path / "r.txt").write_text(write(TOLD, "awr11"), encoding="utf-8")
    return tmp_path


def test_a_report_at_eighty_columns(folder: Path) -> None:
    """Spaces, objects and how sure it is, on lines of 80 characters wherever a table is."""
    done = run_here("assess", "r.txt")
    assert done.code == 0
    assert "DATA" in done.out
    assert "APP.ORDERS" in done.out
    tables = done.out[done.out.index("spaces, by") : done.out.index("how sure this is")]
    assert max(map(len, tables.splitlines())) <= 80


def test_several_forms_as_json(folder: Path) -> None:
    """Text, HTML and compressed files in one call, each with its own assessment."""
    (folder / "r.html").write_text(write(TOLD, "html11"), encoding="utf-8")
    (folder / "r16.txt").write_text(write(TOLD, "statspack11"), encoding="utf-16")
    document = json.loads(run_here("assess", "r.txt", "r.html", "r16.txt", "--json").out)
    sources = [each["source"] for each in document["assessments"]]
    assert sources == [
        "AWR report (text) of release 11.2.0.4.0", "AWR report (HTML) of release 11.2.0.4.0",
        "Statspack report (text) of release 11.2.0.4.0",
    ]  # fmt: skip
    assert all(each["spaces"][0]["space"] == "DATA" for each in document["assessments"])


HEAD = "OBJECT_ID,DATA_OBJECT_ID,OWNER,OBJECT_NAME,SUBOBJECT_NAME,OBJECT_TYPE,BYTES,BLOCKS,TABLESPACE_NAME,BUFFER_POOL"


def test_sizes_and_an_offer(folder: Path) -> None:
    """With sizes: the curve, and what so much SSD would bring, with its objects."""
    rows = ["1,1,APP,ORDERS,,TABLE,83886080,10240,DATA,DEFAULT", "2,2,APP,2024,,TABLE,335544320,40960,DATA,DEFAULT"]
    (folder / "units.csv").write_text("\n".join([HEAD, *rows, ""]), encoding="utf-8")
    done = run_here("assess", "r.txt", "--sizes", "units.csv", "--ssd", "100MB")
    assert done.code == 0
    assert "# whole" in done.out or "knee" in done.out
    assert "APP.ORDERS: 80.0 MiB, saves" in done.out
    assert "usable 85.8 MiB" in done.out


@pytest.mark.parametrize(
    "text",
    [
        HEAD.replace("BYTES,BLOCKS", "BLOCKS,BYTES") + "\n1,1,APP,ORDERS,,TABLE,10240,83886080,DATA,DEFAULT\n",
        "tablespace_name;bytes;subobject_name;object_name;owner\nDATA;83.886.080;;ORDERS;APP\n",
        "1,1,APP,ORDERS,,TABLE,83886080,10240,DATA,DEFAULT\n",
        HEAD + "\n1,1,APP,ORDERS,,TABLE,83886080.0,10240,DATA,DEFAULT\n2,2,APP,PARTED,,TABLE,,,,\n",
    ],
)
def test_sizes_are_found_by_the_names_of_their_columns(folder: Path, text: str) -> None:
    """In any order, with those of the query that are needed; without a header line in the order of the query."""
    (folder / "units.csv").write_text(text, encoding="utf-8")
    document = json.loads(run_here("assess", "r.txt", "--sizes", "units.csv", "--json").out)
    (assessed,) = document["assessments"]
    assert {unit["unit"]: unit["bytes"] for unit in assessed["units"]}["APP.ORDERS"] == 80 * 2**20


SIZED = HEAD + "\n1,1,APP,ITEMS,,TABLE,83886080,10240,DATA,DEFAULT\n\n2,2,APP,ORDERS,,TABLE,{0},10240,DATA,DEFAULT\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (SIZED.format("4G"), "units.csv, line 4: BYTES of APP.ORDERS is no number of bytes: '4G'"),
        (SIZED.format("-5"), "units.csv, line 4: BYTES of APP.ORDERS is no number of bytes: -5"),
        (SIZED.format("12.5"), "units.csv, line 4: BYTES of APP.ORDERS is no number of bytes: 12.5"),
        (SIZED.format("9" * 30), "units.csv, line 4: BYTES of APP.ORDERS is no number of bytes: 999"),
        ("garbage,1\n", "units.csv, line 1: has no header line and 2 cells a row, where the query has 10 columns"),
        (HEAD.replace("BYTES", "SIZE_GB") + "\n1,1,APP,ORDERS,,TABLE,1,1,DATA,DEFAULT\n",
         "units.csv: has no column BYTES, but OBJECT_ID, "),
        (HEAD.replace("BLOCKS", "BYTES") + "\n1,1,APP,ORDERS,,TABLE,1,1,DATA,DEFAULT\n",
         "units.csv: has 2 columns BYTES"),
        (HEAD + "\n", "units.csv: holds no segment with its size"),
    ],
)  # fmt: skip
def test_sizes_that_cannot_be_used_are_refused(folder: Path, text: str, words: str) -> None:
    """With file, line, column, value and what to do; never as a fault of hotplace."""
    (folder / "units.csv").write_text(text, encoding="utf-8")
    done = run_here("assess", "r.txt", "--sizes", "units.csv")
    assert done.code == ExitCode.USAGE
    assert words in " ".join(done.err.split())
    assert "hotplace assess --print-queries oracle" in " ".join(done.err.split()) or "columns of the query" in done.err


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("x.txt", "hello\n", "x.txt, line 1: is no report"),
        ("x.txt", "", "x.txt, line 1: is empty"),
        ("x.txt", "STATSPACK report for\n", "x.txt: the time between its snapshots is missing"),
        ("x.json", "{", "x.json: is one export"),
        (
            "x.htm",
            "<html><h1>WORKLOAD REPOSITORY report for</h1>Elapsed:&#160;60,02 (mins)",
            "another language's form: '60,02'",
        ),
    ],
)
def test_what_cannot_be_used_is_named(folder: Path, name: str, text: str, words: str) -> None:
    """The file, where known the line, and what to do next; the command line is what is wrong."""
    (folder / name).write_text(text, encoding="utf-8")
    done = run_here("assess", name)
    assert done.code == 2
    assert words in done.err.replace("\n", " ")
    assert "next:" in done.err


def test_a_file_that_is_not_there(folder: Path) -> None:
    """A name that leads nowhere is no traceback."""
    done = run_here("assess", "nowhere.html")
    assert done.code == 2
    assert "nowhere.html: cannot be read" in done.err
