"""Words that are younger than Microsoft's parsers at hand, read by sqlfluff: an independent grammar of T-SQL."""

from __future__ import annotations

import re

import pytest
from sqlfluff.core import FluffConfig, Linter

from tests.sqlserver.test_grammars import statements

SHRINK = "SHRINKFILE .*WAIT_AT_LOW_PRIORITY"
WORDS = {
    "sequential": ("OPTIMIZE_FOR_SEQUENTIAL_KEY", [("_KEY =", "_KEYS ="), ("_KEY = OFF", "_KEY = MAYBE")]),
    "patient and resumable": (
        r"CREATE .*WAIT_AT_LOW_PRIORITY.*RESUMABLE = ON",
        [("ABORT_AFTER_WAIT = SELF", "ABORT_AFTER_WAIT = SELFISH"), ("RESUMABLE = ON", "RESUMABLE = MAYBE")],
    ),
    "resumed": (r"RESUME WITH", [("= SELF", "= SELFISH"), ("MAX_DURATION =", "MAX_DURATION")]),
    "switched": (r"SWITCH PARTITION", [("SWITCH PARTITION 2 TO", "SWITCH PARTITION TO")]),
    "shrunk": (SHRINK, [("= SELF", "SELF"), ("= SELF", "="), ("(ABORT", "ABORT")]),
}


@pytest.fixture(scope="module")
def linter() -> Linter:
    """Of T-SQL."""
    return Linter(config=FluffConfig(overrides={"dialect": "tsql"}))


@pytest.fixture(autouse=True)
def _secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "x")


def refused(linter: Linter, sql: str) -> bool:
    """Whether any part of it is not understood."""
    return bool(linter.parse_string(f"{sql};").violations)


@pytest.mark.parametrize("words", WORDS)
def test_younger_words_are_read_and_broken_twins_rejected(linter: Linter, words: str) -> None:
    """One statement of each form that a move may send to 2022; the same with one thing wrong is not taken."""
    form, wrong = WORDS[words]
    found = [s.partition("*/ ")[2] for s in statements(16) if re.search(form, s)]
    assert found
    shortest = min(found, key=len)
    for part in shortest.split("; ") if words == "switched" else [shortest]:
        if re.search(form, part):
            assert not refused(linter, part), part
            for old, new in wrong:
                assert old in part
                assert refused(linter, part.replace(old, new)), (part, new)
