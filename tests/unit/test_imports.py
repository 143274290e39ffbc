"""No file imports itself by way of others: a circle of files can only be understood as a whole."""

from __future__ import annotations

import ast
import tomllib
from collections import Counter
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import agent
from connectors.kit.registry import BUILT_IN

ROOT = Path(agent.__file__).parents[1]
PACKAGES = ("agent", "policies", "connectors")
MOST_MODULES = 40


def _modules() -> dict[str, Path]:
    paths = (path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
    return {".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path for path in paths}


def _run(node: ast.AST) -> Iterator[ast.AST]:
    """Everything below a node but what only a type checker reads."""
    for child in ast.iter_child_nodes(node):
        if not (isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING"):
            yield child
            yield from _run(child)


def _imported(path: Path, known: set[str]) -> Iterator[str]:
    for node in _run(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            for name in node.names:
                whole = f"{node.module}.{name.name}"
                yield whole if whole in known else str(node.module)
        elif isinstance(node, ast.Import):
            yield from (name.name for name in node.names)


def test_no_circle_of_files() -> None:
    """Imports inside functions count too; import-linter holds the rooms apart, this holds the files of a room apart."""
    modules = _modules()
    known = set(modules)
    graph = {
        name: {each for each in _imported(path, known) if each in known} - {name} for name, path in modules.items()
    }
    order = list(TopologicalSorter(graph).static_order())  # raises CycleError, which names the circle
    assert len(order) == len(modules) > 300


def test_import_contracts_name_every_engine() -> None:
    """A contract that lists engines lists all of them: one that is left out could import any other."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    engines = {f"connectors.{name}" for name in BUILT_IN}
    lists = [set(value) & engines for each in contracts for value in each.values() if isinstance(value, list)]
    assert sum(bool(named) for named in lists) >= 3
    assert [named for named in lists if len(named) > 1 and named != engines] == []


def test_no_folder_has_more_modules_than_one_can_look_over() -> None:
    """Forty at most: a folder that grows past that wants rooms."""
    many = Counter(path.parent.relative_to(ROOT) for path in _modules().values() if path.name != "__init__.py")
    assert {str(folder): count for folder, count in many.items() if count > MOST_MODULES} == {}
