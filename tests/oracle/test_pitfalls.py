"""Every pitfall that the facts about Oracle number has a test that carries its number."""

from __future__ import annotations

import re
from pathlib import Path

from tests.over import over

PITFALLS = range(1, 43)  # of oracle.md, section f
_NAMED = re.compile(r"(?:oracle\.md |\()(f\d+(?:, f?\d+)*)")
_FOLDERS = ("tests/oracle", "tests/labs/oracle", "tests/labs/tns")


def _carried() -> set[int]:
    """Numbers that tests name in words, as (oracle.md f12, f13) or (f30, 39)."""
    root = Path(__file__).parents[2]
    texts = (
        path.read_text(encoding="utf-8") for folder in _FOLDERS for path in sorted((root / folder).rglob("test_*.py"))
    )
    return {int(number) for text in texts for group in _NAMED.findall(text) for number in re.findall(r"\d+", group)}


@over("number", PITFALLS)
def test_a_test_carries_its_number(number: int) -> None:
    """Somebody who reads the facts finds the test."""
    assert number in _carried()
