"""Reports as SQL*Plus pages them, and reports of other kinds: read right, or refused by what they are."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from connectors.kit.assessment import UnusableFile
from connectors.oracle.reports import parse_report
from tests.assess.test_assessing import TOLD
from tests.assess.written_reports import Listed, Space, write
from tests.cli.site import run_here

MANY = replace(
    TOLD,
    spaces=[Space(name=f"SPACE_{number:02}", reads=1_000_000 - number, read_ms=7.0) for number in range(30)],
    segments=[
        Listed(owner="SHOP", space="SPACE_01", name=f"TABLE_{number:02}", blocks=60_000 - number, calls=60_000 - number)
        for number in range(30)
    ],
)  # fmt: skip


def paged(text: str, lines: int, heading: str = "\nOUTPUT\n" + "-" * 80) -> str:
    """The text as one column of a query, with the column's heading on each page."""
    rows = text.split("\n")
    pages = [rows[at : at + lines] for at in range(0, len(rows), lines)]
    return "\n".join(
        "\n".join([heading.lstrip("\n") if not number else heading, *page]) for number, page in enumerate(pages)
    )


@pytest.mark.parametrize("layout", ["statspack9", "statspack11", "awr11", "awr11204", "awr19"])
@pytest.mark.parametrize("lines", [12, 14, 23, 57])
def test_headings_of_pages_are_no_names(layout: str, lines: int) -> None:
    """A page break anywhere, with OUTPUT and dashes above each page: the same report."""
    whole, found = parse_report("r", write(MANY, layout)), parse_report("r", paged(write(MANY, layout), lines))
    assert repr(found) == repr(whole), "unknown figures are NaN, which equals nothing"


@pytest.mark.parametrize("layout", ["statspack11", "awr11", "awr19"])
@pytest.mark.parametrize("between", ["\n", "\f", ""])
def test_headings_of_tables_may_come_again(layout: str, between: str) -> None:
    """A heading above each page of a table, after a blank line, a page break or nothing: no row is lost or renamed."""
    text = write(MANY, layout)
    whole = parse_report("r", text)
    lines = text.split("\n")
    (title,) = (at for at, line in enumerate(lines) if line.startswith("Tablespace IO Stats"))
    (first,) = (at for at, line in enumerate(lines) if line.strip() == "SPACE_00")
    heading = lines[title + 3 : first]
    assert heading[0] == "Tablespace"
    for row in (10, 20):
        (at,) = (at for at, line in enumerate(lines) if line.strip() == f"SPACE_{row:02}")
        again = [between + heading[0], *heading[1:]] if between == "\f" else [*([""] if between else []), *heading]
        lines[at:at] = again
    found = parse_report("r", "\n".join(lines))
    assert repr(found.tablespaces) == repr(whole.tablespaces)


@pytest.mark.parametrize(
    ("title", "words"),
    [
        ("WORKLOAD REPOSITORY COMPARE PERIOD REPORT", "an AWR compare report"),
        ("WORKLOAD REPOSITORY REPORT (RAC)", "a RAC report"),
        ("WORKLOAD REPOSITORY SQL Report", "of one statement"),
        ("ASH Report For SHOP/shop1", "an ASH report"),
        ("          ADDM Report for Task 'ADDM:1_2_3'", "an ADDM report"),
    ],
)
def test_other_reports_are_refused_by_what_they_are(
    title: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As text and as HTML, each with what is read instead."""
    monkeypatch.chdir(tmp_path)
    Path("r.txt").write_text(title + "\n\nDB Name\n", encoding="utf-8")
    Path("r.html").write_text(f"<html><h1 class='awr'>\n{title}\n</h1><table></table></html>", encoding="utf-8")
    for name in ("r.txt", "r.html"):
        done = run_here("assess", name)
        assert done.code == 2
        assert words in re.sub(r"\s+", " ", done.err)
        assert "next: Give the report of one period" in re.sub(r"\s+", " ", done.err)


@pytest.mark.parametrize("layout", ["awr19", "html19"])
def test_a_report_of_a_pluggable_database_is_read(layout: str) -> None:
    """Its title is another one, its sections are the same."""
    text = write(MANY, layout).replace(
        "WORKLOAD REPOSITORY report for", "WORKLOAD REPOSITORY PDB report (PDB snapshots)"
    )
    assert len(parse_report("r", text).tablespaces) == 30


LEVEL_7 = """\
Segments by Physical Reads  DB/Inst: SHOP/shop  Snaps: 100-101
-> End Segment Physical Reads Threshold:      1000
-> Pct Total shows % of physical reads for each top segment compared
   with total physical reads for all segments captured by the Snapshot

                                           Subobject    Obj.      Physical   Pct
Owner      Tablespace Object Name          Name         Type         Reads Total
---------- ---------- -------------------- ------------ ----- ------------ -----
SHOP       SHOP_DATA  ORDERS                            TABLE      600,123  61.2
SHOP       SHOP_IDX   ORDERS_PK            P_2026_01    INDEX       41,001   4.2
          -------------------------------------------------------------
"""


def test_segments_of_statspack_at_level_7_are_read() -> None:
    """Owner, tablespace, name, part and blocks; it prints no total of the instance."""
    text = write(replace(TOLD, segments=[]), "statspack11").replace("End of Report", LEVEL_7 + "\nEnd of Report")
    (top,) = parse_report("r", text).lists.values()
    assert {
        (each.owner, each.tablespace, each.name, each.part, each.type): value for each, value in top.values.items()
    } == {
        ("SHOP", "SHOP_DATA", "ORDERS", "", "TABLE"): 600_123.0,
        ("SHOP", "SHOP_IDX", "ORDERS_PK", "P_2026_01", "INDEX"): 41_001.0,
    }


@pytest.mark.parametrize("layout", ["awr11", "awr19", "html19"])
def test_a_cut_file_is_told_as_cut(layout: str) -> None:
    """Wherever it ends: by a note or a refusal that says so, never as a report without the section."""
    text = write(MANY, layout)
    for share in (0.3, 0.5, 0.7, 0.9, 0.99):
        cut = text[: int(len(text) * share)]
        try:
            notes = parse_report("r", cut).notes
        except UnusableFile as error:
            assert "was cut" in str(error)  # noqa: PT017  # the later ones are read
            assert "BASIC" not in error.advice  # noqa: PT017
        else:
            assert any("End of Report" in note or "the file ends within" in note for note in notes)
