"""Oracle's encodings, against bytes worked out by hand from the published format (emulated server)."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.labs.tns.values import (
    OracleType,
    decode_datetime,
    decode_double,
    decode_number,
    encode_datetime,
    encode_double,
    encode_number,
)


@pytest.mark.parametrize(
    ("value", "raw"),
    [
        (0, "80"),
        (1, "c102"),
        (100, "c202"),
        (123, "c20218"),
        (-123, "3d644e66"),
        (Decimal("0.5"), "c033"),
        (Decimal("-0.5"), "3f3366"),
        (Decimal("1234.567"), "c20d2339" + "47"),
        (10**30, "d002"),
    ],
)
def test_numbers_are_encoded_as_published(value: int | Decimal, raw: str) -> None:
    """An exponent byte, then base-100 digits plus one; negative ones complemented, with 102 at the end."""
    assert encode_number(value).hex() == raw
    assert decode_number(bytes.fromhex(raw)) == value


@given(st.decimals(allow_nan=False, allow_infinity=False, places=5, min_value=-(10**25), max_value=10**25))
def test_numbers_come_back(value: Decimal) -> None:
    """What is encoded is decoded to the same value."""
    assert decode_number(encode_number(value)) == value


@given(st.floats(allow_nan=False))
def test_doubles_come_back(value: float) -> None:
    """Whatever the sign."""
    assert decode_double(encode_double(value)) == value


def test_dates_have_seven_bytes() -> None:
    """Century and year plus 100, hours, minutes and seconds plus one."""
    raw = encode_datetime(datetime(2026, 11, 20, 15, 30, 59), OracleType.DATE)
    assert list(raw) == [120, 126, 11, 20, 16, 31, 60]
    assert decode_datetime(raw) == datetime(2026, 11, 20, 15, 30, 59)
