"""Every subject: its name and what makes it. One is imported when it is asked for."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Final

from tests.frozen.kept import Frozen

SUBJECTS: Final = {
    "texts": "commands.texts",
    "documents": "commands.documents",
    "routes": "routes.routes",
    "shipped": "shipped.shipped",
    "modes": "modes.modes",
    "faults": "faults.faults",
}
TESTED_ELSEWHERE: Final = {"faults"}  # by tests/fault_simulation/test_seeds.py, which runs those seeds anyway


@cache
def make(name: str) -> Frozen:
    """What the subject comes to now."""
    module, _, function = SUBJECTS[name].rpartition(".")
    made: Callable[[], Frozen] = getattr(import_module(f"tests.frozen.{module}"), function)
    return made()
