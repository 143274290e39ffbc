"""The list of what is easily done wrong with SQL Server has 44 lines, and each is a test that carries its number."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).parents[1]
FOLDERS = (TESTS / "sqlserver", TESTS / "labs" / "sqlserver")
PITFALLS = 44
_NUMBERS = re.compile(r"Pitfalls? (\d+(?:(?:, | and )\d+)*)")


def numbered() -> Iterator[int]:
    """Numbers that the docstrings of tests begin with."""
    for path in (file for folder in FOLDERS for file in folder.rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                match = _NUMBERS.match(ast.get_docstring(node) or "")
                yield from (int(number) for number in re.findall(r"\d+", match[1] if match else ""))


def test_every_pitfall_has_a_test() -> None:
    """None is without, and none has a number that the list does not have."""
    assert set(numbered()) == set(range(1, PITFALLS + 1))
