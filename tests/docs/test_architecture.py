"""ARCHITECTURE.md names rooms, files, functions and tests that exist."""

from __future__ import annotations

import re
from fnmatch import fnmatch

import pytest

from tests.docs.text import ROOT

TEXT = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
FOLDERS = ("agent", "policies", "connectors", "deploy", "docs", "tests")
FILES = [path for folder in FOLDERS for path in (ROOT / folder, *(ROOT / folder).rglob("*"))]
PATHS = {"/" + str(path.relative_to(ROOT)) for path in FILES if "__pycache__" not in path.parts}
WITHOUT_SUFFIX = {path.removesuffix(".py") for path in PATHS}
PYTHON = [path for path in FILES if path.suffix == ".py" and path.relative_to(ROOT).parts[0] in FOLDERS[:3]]
WORDS = frozenset(re.findall(r"\w+", " ".join(path.read_text(encoding="utf-8") for path in PYTHON)))
SPANS = sorted(set(re.findall(r"`([^`\n]+)`", TEXT)))
PLANNED: set[str] = set()  # rooms that have their place already
SQL_AND_SHELL = re.compile(r"[A-Z]{3,}[ A-Z]*|make .*|python -m .*|LD_PRELOAD")
PROMISES = TEXT[TEXT.index("## The promises") :]


def _exists(name: str) -> bool:
    """Whether a path is the end of one in the repository; words in capitals stand for any name."""
    pattern = "*/" + re.sub(r"\b[A-Z]+\b", "*", name.rstrip("/"))
    return any(fnmatch(path, pattern) for path in PATHS | WITHOUT_SUFFIX)


def _is_known(span: str) -> bool:
    """Whether each part of an inline code span is a path, a module, or a name in the code."""
    name = re.sub(r"\(.*\)$", "", span.partition(" -> ")[0])
    if "/" in name:
        return _exists(name)
    if _exists(name) or _exists(name.replace(".", "/")):
        return True
    return all(part in WORDS for part in re.findall(r"\w+", name))


@pytest.mark.parametrize("span", SPANS)
def test_what_is_named_exists(span: str) -> None:
    """A path has to be in the tree; any other name has to be a module or to occur in the code."""
    assert span in PLANNED or SQL_AND_SHELL.fullmatch(span) or _is_known(span)


def test_the_drawing_shows_every_room() -> None:
    """Each package of the agent, the policies and an engine stands in the drawing, and no planned room exists."""
    drawing = TEXT[TEXT.index("## The house") : TEXT.index("imports run downwards only")]
    shown = set(re.findall(r"\w+", drawing))
    below = [path.parent for path in PYTHON if path.name == "__init__.py"]
    rooms = {path.name for path in below if path.parent.name in {"agent", "policies", "postgresql"}}
    assert len(rooms) > 20
    assert rooms - shown == set()
    assert not [name for name in PLANNED if (ROOT / name).exists()]


def test_promises_name_tests_that_exist() -> None:
    """What stands in italics below the promises are folders and files of tests."""
    named = [name for group in re.findall(r"\*([^*]+)\*", PROMISES) for name in re.split(r",\s+", group)]
    paths = [re.sub(r"(?s)\s*\(.*\)$", "", name) for name in named]
    assert len(paths) > 20
    assert [path for path in paths if not (_exists(f"tests/{path}"))] == []
