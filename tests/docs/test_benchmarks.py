"""What ``make bench`` names can be found, and each published figure names a command that exists."""

from __future__ import annotations

import json
import re
from importlib.util import find_spec
from pathlib import Path

from tests.bench.__main__ import MODULES, module_of
from tests.over import over

RESULTS = Path(__file__).parents[1] / "bench" / "results.json"
COMMAND = re.compile(r"python -m (tests\.bench(?:\.\w+)*)")


@over("name", MODULES)
def test_each_benchmark_is_found(name: str) -> None:
    """A benchmark that moved would be missed only when ``make bench`` runs, which takes hours."""
    assert find_spec(module_of(name)) is not None


def test_published_figures_name_commands_that_exist() -> None:
    """Who reads a figure can measure it again."""
    commands = {line["command"] for line in json.loads(RESULTS.read_text(encoding="utf-8"))}
    modules = {match[1] for command in commands if (match := COMMAND.search(command))}
    assert modules
    assert [module for module in sorted(modules) if find_spec(module) is None] == []
