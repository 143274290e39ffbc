"""docs/decisions: short pages of one form, listed in their index, with figures and files that exist."""

from __future__ import annotations

import json
import re

import pytest

from tests.docs.text import ROOT

FOLDER = ROOT / "docs" / "decisions"
INDEX = (FOLDER / "README.md").read_text(encoding="utf-8")
DECISIONS = sorted(path.name for path in FOLDER.glob("[0-9]*.md"))
LONGEST = 40  # lines
HEADINGS = ["Situation", "Decision", "What was measured", "What would change our mind"]
ROWS = {row["name"] for row in json.loads((ROOT / "tests" / "bench" / "results.json").read_text(encoding="utf-8"))}
KINDS = "|".join(sorted({name.partition(".")[0] for name in ROWS}))
ROW = re.compile(rf"`((?:{KINDS})\.[\w.]+)`")
FILE = re.compile(r"`((?:agent|policies|connectors|deploy|docs|tests)/[\w./-]+)`")


@pytest.mark.parametrize("name", DECISIONS)
def test_a_decision_is_short_and_has_its_four_parts(name: str) -> None:
    """Each page can be read in a minute, and says what would change our mind."""
    text = (FOLDER / name).read_text(encoding="utf-8")
    assert text.count("\n") <= LONGEST
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == HEADINGS


@pytest.mark.parametrize("name", DECISIONS)
def test_the_index_has_number_and_title(name: str) -> None:
    """One line of the index for each decision, in its words."""
    title = (FOLDER / name).read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")
    assert title.startswith(f"{int(name[:4])}. ")
    assert f"- [{title}]({name})\n" in INDEX


@pytest.mark.parametrize("name", DECISIONS)
def test_figures_are_rows_and_files_exist(name: str) -> None:
    """What a decision rests on is a row of the benchmark results or a file that is there."""
    text = (FOLDER / name).read_text(encoding="utf-8")
    assert [row for row in ROW.findall(text) if row not in ROWS] == []
    assert [path for path in FILE.findall(text) if not (ROOT / path).exists()] == []


def test_numbers_are_given_once() -> None:
    """No two decisions share a number, and each line of the index has its page."""
    numbers = [name[:4] for name in DECISIONS]
    assert len(numbers) > 20
    assert len({*numbers}) == len(numbers)
    assert re.findall(r"\]\((\d{4}[\w-]+\.md)\)", INDEX) == DECISIONS
