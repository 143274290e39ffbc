"""What is imported at run time is what an installation brings: tests run where far more is installed."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from itertools import chain
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
FOR_TESTS = {"dev", "microsoft-odbc"}  # extras that no user installs
OF_PYDANTIC = "pydantic-core"  # pydantic's own half, which it asks for by an exact version
OURS = {"agent", "connectors", "hotplace", "policies"}
DISTRIBUTIONS = packages_distributions()


def name_of(requirement: str) -> str:
    """The distribution that a requirement names, as all spell it alike."""
    return re.sub(r"[-_.]+", "-", re.split(r"[\[<>=!~; ]", requirement)[0]).lower()


def required() -> set[str]:
    """Everything that hotplace or one of its users' extras asks for by name."""
    extras = (PROJECT["optional-dependencies"][extra] for extra in PROJECT["optional-dependencies"].keys() - FOR_TESTS)
    return {name_of(each) for each in chain(PROJECT["dependencies"], *extras)}


def imported(path: Path) -> Iterator[str]:
    """Packages that a module imports, wherever in it, but for those that only its types need."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    typing_only = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if id(node) in typing_only:
            continue
        if isinstance(node, ast.Import):
            yield from (each.name.partition(".")[0] for each in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]


@pytest.mark.parametrize("package", sorted(OURS - {"hotplace"}))
def test_every_import_is_required(package: str) -> None:
    """A package that only tests bring would end the first command of a user with an error."""
    found = {
        (str(path.relative_to(ROOT)), name)
        for path in (ROOT / package).rglob("*.py")
        for name in imported(path)
        if name not in sys.stdlib_module_names | OURS
    }
    asked = required() | {OF_PYDANTIC}
    missing = {(path, name) for path, name in found if not {name_of(d) for d in DISTRIBUTIONS.get(name, ())} & asked}
    assert missing == set()
