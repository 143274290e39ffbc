"""Whatever a file holds and whatever it is, ``assess`` ends soon, with an assessment or with a sentence."""

from __future__ import annotations

import gzip
import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from agent.config.tiers import KINDS
from agent.studies.assessment import assess
from agent.studies.assessment_files import csv_rows, read_export, read_text
from connectors.kit.assessment import UnusableFile
from connectors.kit.files import open_given, parse_json, read_given
from connectors.oracle.report_observation import observe_report
from policies.model.settings import PolicySettings
from tests.assess.test_assessing import TOLD
from tests.assess.written_reports import END, Listed, Space, write
from tests.examples import by_turns
from tests.over import over
from tests.patterns.found import ROOT
from tests.patterns.measuring import grows

RULER = "------------------------------ ---------- ----------"
IN_TEXT = {  # what is repeated in a text report
    "tildes": "~", "rulers": "- ", "ruled lines": f"\n{RULER}", "blank lines": "\n", "lines of blanks": "          \n",
    "digits": "1", "tabs": "\t", "page breaks": "\f", "titles": "\nTablespace IO Stats\n",
    "titles and rulers": f"\nWait Events\n{RULER}\n",
    "notes": "\n-> Total ", "words": " Total", "elapsed": "Elapsed:<", "names that go on": "\nABCDEFGH",
    "rows": "\nABC 1 2\nDEF 3 4", "ends of sections": f"\n{END}",
    "percent": "%", "numbers": "\n1,111,111", "figures": " 1,111", "segments by": "\nSegments by Physical Reads\n",
}  # fmt: skip
PLACES = ("Elapsed", "DATA", "ORDERS")  # of a text report
IN_HTML = {
    "tags": "<a ", "brackets": "<", "ends": ">", "comments": "<!--", "declarations": "<!", "sections": "<![CDATA[",
    "tables": "<table>", "rows": "<tr><td>1", "headings": "<h3>Tablespace IO Stats</h3>", "lists": "<li>Total x</li>",
    "lists and tables": "<li>x</li><table><tr><th>a</table>", "scripts": "<script>", "ends of tags": "</td",
    "entities": "&amp;",
    "no entities": "&#", "summaries": '<table summary="', "quotes": "<td class='", "elapsed": "Elapsed:<td>",
    "cells": "<td>a",
}  # fmt: skip


def judge(text: str | bytes) -> None:
    """All that the command does with a report."""
    assert isinstance(text, str)
    try:
        assess(observe_report("r", text), KINDS["ssd"], KINDS["hdd"], PolicySettings(), offered=2**30)
    except UnusableFile as error:
        assert str(error).startswith(("r", "AWR report", "Statspack report"))  # noqa: PT017  # most are judged


def within(layout: str, at: str, repeated: str) -> Callable[[int], str]:
    """A report with something repeated before its last occurrence of a word."""
    report = write(TOLD, layout)
    begin, _, end = report.rpartition(at)
    return lambda length: f"{begin}{at}{repeated * (length // len(repeated))}{end}"


@pytest.mark.parametrize(
    ("what", "at"), [(what, at) for place, what in enumerate(IN_TEXT) for at in by_turns(PLACES, place)]
)
def test_a_text_report_takes_time_in_proportion(what: str, at: str) -> None:
    """Wherever and whatever is repeated in it, twice as much takes twice as long."""
    assert not grows(judge, within("awr11", at, IN_TEXT[what]))


@over("what", IN_HTML)
def test_an_html_report_takes_time_in_proportion(what: str) -> None:
    """The same of HTML: tags that do not end, comments that do not end, tables and lists without end."""
    assert not grows(judge, within("html11", "DATA", IN_HTML[what]))


@pytest.mark.parametrize("layout", ["awr11", "html11"])
def test_very_many_spaces_and_segments_take_time_in_proportion(layout: str) -> None:
    """Segments of as many spaces as there are, with names that a report cuts."""

    def text(length: int) -> str:
        names = [f"SPACE_{number:06}" for number in range(length // 256)]
        spaces = [Space(name=name, reads=1000, read_ms=5.0) for name in names]
        listed = [Listed(owner="APP", space=name, name=f"T{name}", blocks=10, calls=10) for name in names]
        return write(replace(TOLD, spaces=spaces, segments=listed), layout)

    assert not grows(judge, text, 2**15)


@over("layout", ["awr11", "statspack11", "html11"])
@over("large", ["9" * 40, "9" * 400, "1e308", "1e999", "9.9e307", "-5", "0"])
@over("figure", ["60.00", "1,000,000", "7.0", "600,000", "1,300,000"])
def test_figures_that_cannot_be(layout: str, large: str, figure: str) -> None:
    """Too large, negative, none: judged, or refused with the name of the file, never an error of arithmetic."""
    report = write(TOLD, layout)
    assert figure in report
    judge(report.replace(figure, large))


# -- files that are none ----------------------------------------------------------------------------------------------


def test_a_named_pipe_is_refused_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody writes to it: as a report, as an export, within a folder of exports, and as sizes."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "r.txt").write_text(write(TOLD, "awr11"), encoding="utf-8")
    (tmp_path / "folder").mkdir()
    for name in ("pipe.txt", "pipe.json", "folder/units.csv"):
        os.mkfifo(tmp_path / name)
    for arguments in (
        ("pipe.txt",), ("pipe.json", "pipe.json", "--engine", "postgresql"),
        ("folder", "folder", "--engine", "postgresql"), ("r.txt", "--sizes", "pipe.txt"),
    ):  # fmt: skip
        done = subprocess.run(
            [sys.executable, "-m", "hotplace", "assess", *arguments], capture_output=True, text=True, check=False,
            timeout=60, env={**os.environ, "PYTHONPATH": str(ROOT)},
        )  # fmt: skip
        assert done.returncode == 2
        assert "it is a named pipe, not a file" in done.stderr.replace("\n", " ")


def test_other_kinds_of_files_are_refused(tmp_path: Path) -> None:
    """A device without an end, a socket, a folder; a link to a file is one."""
    (tmp_path / "report.txt").write_text("STATSPACK report for\n", encoding="utf-8")
    (tmp_path / "link").symlink_to("report.txt")
    assert read_text(tmp_path / "link").startswith("STATSPACK")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket"))
        for path, what in ((Path("/dev/zero"), "a device"), (tmp_path / "socket", "a socket"), (tmp_path, "a folder")):
            with pytest.raises(UnusableFile, match=f"cannot be read: it is {what}, not a file"):
                read_text(path)
            with pytest.raises(OSError, match="not a file"):
                open_given(path)


def test_a_file_that_becomes_a_pipe_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the look at it and its opening: what was opened counts."""
    path = tmp_path / "x"
    path.write_text("x", encoding="utf-8")
    was = path.stat()
    path.unlink()
    os.mkfifo(path)
    monkeypatch.setattr(Path, "stat", lambda *_, **__: was)
    with pytest.raises(OSError, match="a named pipe"):
        read_given(path, 10)


# -- size and depth ---------------------------------------------------------------------------------------------------


def test_a_file_that_is_too_large_is_refused(tmp_path: Path) -> None:
    """By its size, and by that which it unpacks to; what it holds is not read."""
    path = tmp_path / "r.gz"
    with gzip.open(path, "wb", 1) as file:
        file.write(b" " * 70 * 2**20)
    with pytest.raises(UnusableFile, match=r"unpacked it is larger than 64\.0 MiB"):
        read_text(path)
    with path.open("wb") as file:
        file.truncate(300 * 2**20)  # sparse
    with pytest.raises(UnusableFile, match=r"it is larger than 64\.0 MiB"):
        read_text(path)
    (tmp_path / "x.json").write_bytes(b"")
    os.truncate(tmp_path / "x.json", 300 * 2**20)
    with pytest.raises(UnusableFile, match=r"it is larger than 256\.0 MiB"):
        read_export(tmp_path / "x.json", {"units": ""})


def test_a_damaged_archive_is_refused(tmp_path: Path) -> None:
    """A gzip whose bytes are others, or that ends too early."""
    whole = gzip.compress(b"STATSPACK report for\n" * 100)
    for number in range(0, len(whole), 7):
        path = tmp_path / f"{number}.gz"
        path.write_bytes(whole[:number] + b"\xff\xff" + whole[number + 2 :])
        with pytest.raises(UnusableFile):
            observe_report("r", read_text(path))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[" * 100_000, "nested too deeply"), ('{"a":' * 100_000, "nested too deeply"),
        ('{"results": {"units": ' + "[" * 5000 + "]" * 5000 + "}}", "nested too deeply"),
        ('{"results": {"units": [[NaN]]}}', "NaN is no value of JSON"),
        ('{"results": {"units": [[-Infinity]]}}', "Infinity is no value of JSON"),
        ('{"results": {"units": [[1e999]]}}', "neither a text nor a number"),
        ('{"results": {"units": [[[1]]]}}', "neither a text nor a number"),
        ('{"results": {"units": [{"a": {"b": 1}}]}}', "neither a text nor a number"),
        ('{"results": {"units": [1]}}', "neither a list nor an object, but a int"),
        ('{"results": {"units": [[' + "1" * 5000 + "]]}}", "is no JSON"),
        ('{"results": {"units": []}, "taken_at": [[]]}', "taken_at is no time: a list"),
        ('{"results": {"units": []}, "taken_at": "0001-01-01T00:00:00Z"}', "which cannot be"),
        ('{"results": {"units": []}, "taken_at": "9999-12-31T23:59:59Z"}', "which cannot be"),
        ('{"results": {"units": []}, "taken_at": "' + "9" * 9999 + '"}', "taken_at is no time: '999"),
        ('{"results": [', "line 1: is no JSON"), ('{"results": {"units": {}}}', "has no results"),
        ("7", "has no results"),
    ],
)  # fmt: skip
def test_json_is_refused_with_a_sentence(tmp_path: Path, text: str, words: str) -> None:
    """Deep, with numbers that are none, of no time: by a sentence of the file, not longer than a few lines."""
    path = tmp_path / "x.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UnusableFile, match=r"x\.json") as caught:
        read_export(path, {"units": ""})
    assert words in str(caught.value)
    assert len(str(caught.value)) < 300 + len(str(path))
    assert caught.value.advice


def test_the_number_of_values_is_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before they are made: empty lists take twenty times the memory of their text."""
    monkeypatch.setattr("connectors.kit.files.MOST_VALUES", 100)
    monkeypatch.setattr("agent.studies.assessment_files.MOST_VALUES", 100)
    assert parse_json(json.dumps([1] * 90)) == [1] * 90
    for text in ("[" + "[]," * 200 + "1]", "[" + "{}," * 200 + "1]"):
        with pytest.raises(ValueError, match="more than 100 values"):
            parse_json(text)
    (tmp_path / "x.csv").write_text("a,b\n" + "1,2\n" * 200, encoding="utf-8")
    with pytest.raises(UnusableFile, match="has more than 100 cells"):
        csv_rows(tmp_path / "x.csv")


def test_a_csv_number_is_a_number(tmp_path: Path) -> None:
    """What Python takes for one and no server writes makes its column a text."""
    (tmp_path / "x.csv").write_text("a,b,c,d\n1e999,nan,inf,5\n1,2,3,4\n", encoding="utf-8")
    assert csv_rows(tmp_path / "x.csv") == [("1e999", "nan", "inf", 5), ("1", "2", "3", 4)]
