"""ARCHITECTURE.md is short and names rooms, files, functions and tests that exist."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from connectors.kit.registry import engine_names
from tests.docs.text import ROOT

TEXT = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
LONGEST, WIDEST = 250, 120  # lines, columns of prose
PRODUCT = ("agent", "policies", "connectors")
PYTHON = [path for folder in PRODUCT for path in (ROOT / folder).rglob("*.py")]
WORDS = frozenset(re.findall(r"\w+", " ".join(path.read_text(encoding="utf-8") for path in PYTHON)))
ENGINES = sorted({*engine_names()} - {"simulated"})  # the simulated one is smaller
SQL_AND_SHELL = re.compile(r"[A-Z]{3,}[ A-Z]*|make .*|python -m .*")
FILE_NAME = re.compile(r"\w+\.(?:py|sql|toml|md|yml)")
FUNCTION = re.compile(r"(\w+)\(.*\)")
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
BLOCK = re.compile(r"\n(?=\n|\| |- |\d+\. )")  # a paragraph, an item of a list, a row of a table
PROMISES = re.split(r"\n(?=\d+\. )", TEXT[TEXT.index("## The promises") :])[1:]


def places(name: str) -> list[Path]:
    """Where a path from the root leads, for each engine where it says ENGINE; NAME stands for any name."""
    found = []
    for engine in ENGINES if "ENGINE" in name else [""]:
        pattern = name.rstrip("/").replace("ENGINE", engine).replace("NAME", "*")
        found.append(next(iter(sorted(ROOT.glob(pattern))), ROOT / pattern))
    return found


def texts(places: list[Path]) -> Iterator[str]:
    """The source of a file, or of each file in a folder."""
    for place in places:
        files = place.rglob("*.py") if place.is_dir() else [place]
        yield "\n".join(path.read_text(encoding="utf-8") for path in files)


def mistakes(block: str) -> Iterator[str]:
    """The code spans of a block that name nothing.

    A path leads from the root. A file name is in the folder named last, a function in the file or folder named last.
    Anything else is SQL, a command, or words of the code.
    """
    last: list[Path] = []
    for span in re.findall(r"`([^`\n]+)`", block):
        function = FUNCTION.fullmatch(span)
        if "/" in span or FILE_NAME.fullmatch(span):
            folders = [place if place.is_dir() else place.parent for place in last]
            last = places(span) if "/" in span or (ROOT / span).exists() else [folder / span for folder in folders]
            known = bool(last) and all(place.exists() for place in last)
        elif function:
            known = bool(last) and all(re.search(rf"def {function[1]}\(", text) for text in texts(last))
        else:
            known = bool(SQL_AND_SHELL.fullmatch(span)) or {*re.findall(r"\w+", span)} <= WORDS
        if not known:
            yield span


@pytest.mark.parametrize("block", [block for block in BLOCK.split(FENCED.sub("", TEXT)) if "`" in block])
def test_what_is_named_exists(block: str) -> None:
    """Paths, files, functions and names of each paragraph, item and row."""
    assert [*mistakes(block)] == []


@pytest.mark.parametrize(
    "block",
    ["`agent/no/such.py`", "`agent/model/` `no_such.py`", "`agent/ledger/moves.py` `no_such()`", "`no_such_word`"],
)
def test_what_is_not_there_is_found(block: str) -> None:
    """A path, a file, a function and a word that do not exist are mistakes."""
    assert len([*mistakes(block)]) == 1


def test_it_is_short() -> None:
    """It is read from start to end; what gives reasons is in docs/decisions."""
    lines = FENCED.sub("", TEXT).splitlines()
    assert TEXT.count("\n") <= LONGEST
    assert [line for line in lines if len(line) > WIDEST and not line.startswith("|")] == []


def test_the_drawing_shows_every_room() -> None:
    """Each package of the agent, the policies and an engine stands in the drawing."""
    drawing = TEXT[TEXT.index("## The house") : TEXT.index("imports run downwards only")]
    shown = set(re.findall(r"\w+", drawing))
    below = [path.parent for path in PYTHON if path.name == "__init__.py"]
    rooms = {path.name for path in below if path.parent.name in {"agent", "policies", "postgresql"}}
    assert len(rooms) > 12
    assert rooms - shown == set()


def test_every_promise_names_its_tests() -> None:
    """Each promise is held by a test file or folder, whose names are checked above."""
    assert len(PROMISES) == 16
    assert [promise for promise in PROMISES if "`tests/" not in promise] == []
