"""Keys and the numbers that stand for units."""

from __future__ import annotations

import pytest

from connectors.db2.names import Key, Part, identifier, parse_key, physical_id
from tests.over import over

NAMES = ["ORDERS", "orders", "two words", 'do"uble', "dot.ted", "A partition B", "X lob", "Ünï 表", "index", "A#$@1"]


@over("name", NAMES)
@over("partition", [None, "PART0", "p 0"])
@over("part", list(Part))
def test_keys_are_read_back(part: Part, name: str, partition: str | None) -> None:
    """A key says the same after it was written and read, whatever the names hold."""
    key = Key(part, "APP", name, partition)
    assert parse_key(str(key)) == key


@pytest.mark.parametrize(
    ("key", "text"),
    [
        (Key(Part.TABLE, "SALES", "ORDERS"), "SALES.ORDERS"),
        (Key(Part.LOB, "SALES", "ORDERS", "PART0"), "SALES.ORDERS partition PART0 lob"),
        (Key(Part.INDEX, "SALES", "Orders"), 'index SALES."Orders"'),
    ],
)
def test_keys_as_they_are_written(key: Key, text: str) -> None:
    """Quotes only where they are needed."""
    assert str(key) == text


@pytest.mark.parametrize("text", ["", "ORDERS", "index A.B lob", "a.B", "A.B partition", 'A."B'])
def test_what_is_no_key(text: str) -> None:
    """Anything else is refused."""
    with pytest.raises(ValueError, match="no key"):
        parse_key(text)


def test_numbers_of_units() -> None:
    """A partition that is not there is NULL, -1 or 0; everything else tells units apart; none is negative."""
    one = physical_id(Part.TABLE, "A", "T", 0, None)
    assert one == physical_id(Part.TABLE, "A", "T", 0, -1) == physical_id(Part.TABLE, "A", "T", 0, 0)
    others = {
        physical_id(Part.TABLE, "A", "T", 0, 1),
        physical_id(Part.LOB, "A", "T", 0, None),
        physical_id(Part.INDEX, "A", "T", 1, None),
        physical_id(Part.INDEX, "A", "T", 2, None),
        physical_id(Part.TABLE, "AT", "", 0, None),
        physical_id(Part.TABLE, "B", "T", 0, None),
    }
    assert len(others | {one}) == 7
    assert all(0 <= number < 2**62 for number in others)


def test_identifiers_end_where_they_should() -> None:
    """A double quote is doubled."""
    assert identifier('a"b') == '"a""b"'
