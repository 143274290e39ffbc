"""Which unit somebody means who does not write its whole key."""

from __future__ import annotations

import pytest

from agent.cli.units import row_of
from agent.terminal.errors import CommandError

KEYS = ('public."Orders"', "public.orders", "shop.lines", "old.lines", "shop.customers", "APP.ITEMS")


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("public.orders", "public.orders"),
        ("public.Orders", 'public."Orders"'),
        ("customers", "shop.customers"),
        ("app.items", "APP.ITEMS"),
        ("items", "APP.ITEMS"),
        ("OLD.lines", "old.lines"),
    ],
)
def test_what_is_clear_need_not_be_written_whole(text: str, key: str) -> None:
    """Quotes, case and schema may be left out while one unit remains; an exact key always means itself."""
    assert KEYS[row_of(KEYS, text)] == key


def test_what_is_not_clear_is_asked_back() -> None:
    """Two units of one name are both named, and none is chosen."""
    with pytest.raises(CommandError, match="several units could be meant") as refused:
        row_of(KEYS, "lines")
    assert refused.value.advice == "Did you mean: shop.lines, old.lines"


@pytest.mark.parametrize("text", ["", "ine", ".lines"])
def test_parts_of_a_name_mean_nothing(text: str) -> None:
    """Only whole names count: part of one is answered by what it may have been."""
    with pytest.raises(CommandError, match="no unit has the key"):
        row_of(KEYS, text)
