"""Examples in docstrings do what they show."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

from tests.over import over

ROOT = Path(__file__).parents[2]
PACKAGES = ("agent", "connectors", "policies")
SHOWN = [
    ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for package in PACKAGES
    for path in sorted((ROOT / package).rglob("*.py"))
    if ">>> " in path.read_text(encoding="utf-8")
]


@over("module", SHOWN)
def test_the_examples_of_a_module_are_true(module: str) -> None:
    """Whoever copies an example from a docstring gets the answer that stands below it."""
    tried = doctest.testmod(importlib.import_module(module))
    assert tried.attempted
    assert not tried.failed
