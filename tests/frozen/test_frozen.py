"""What users see is what was written down."""

from __future__ import annotations

import pytest

from tests.frozen.kept import Frozen, differences, foreign
from tests.frozen.subjects import SUBJECTS, TESTED_ELSEWHERE, make


@pytest.mark.parametrize("name", [name for name in SUBJECTS if name not in TESTED_ELSEWHERE])
def test_nothing_has_changed(name: str) -> None:
    """Each item is as it was kept, and none of them hangs on the machine, the day or the interpreter."""
    made = make(name)
    assert not foreign(made)
    told = differences(name, made)
    assert not told, told


def test_routes_can_be_shown() -> None:
    """No statement, purpose or note of a route has a character that a terminal would not show."""
    lines = [line for text in make("routes").whole.values() for line in text.splitlines()]
    assert [line for line in lines if not line.isprintable()] == []


def test_a_change_is_seen() -> None:
    """Another text, another hash, an item that is new and one that is gone are each named."""
    whole, hashed = "init", "first screen"
    told = differences("texts", Frozen({whole: "well\n", "new": "x"}), partly=True)
    assert "+well" in told
    assert "new (now)" in told
    assert f"{hashed}: differs" in differences("shipped", Frozen({}, {hashed: "cheap\n"}), partly=True)
    assert "is no more" in differences("documents", Frozen({}))
