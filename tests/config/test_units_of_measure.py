"""Quantities survive being written by people and printed for them."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.model.units_of_measure import (
    MOST_BYTES,
    MOST_SECONDS,
    format_when,
    parse_bytes,
    parse_rate,
    parse_ratio,
    parse_seconds,
)
from connectors.model.formatting import (
    exact_bytes,
    format_bytes,
    format_ratio,
    format_seconds,
    format_sessions,
    format_wait,
)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("200 GiB", 200 * 2**30),
        ("1.5TB", 1_500_000_000_000),
        ("8 kib", 8192),
        ("1 B", 1),
        ("1,610,612,736 bytes", 1_610_612_736),
        (" 7 MB ", 7_000_000),
        (0, 0),
        ("0", 0),
    ],
)
def test_sizes_are_read_as_written(text: str | int, size: int) -> None:
    """IEC units are powers of two, SI units powers of ten."""
    assert parse_bytes(text) == size


@pytest.mark.parametrize("text", ["200", 200, "200 G", "GiB", "-1 GiB", "1e3 GiB", "1,0 GiB", True, 0.5, "", "nan B"])
def test_sizes_without_a_clear_unit_are_refused(text: str | float) -> None:
    """A size that people could read in two ways is refused, and the message shows it."""
    with pytest.raises(ValueError, match="is not a size") as refusal:
        parse_bytes(text)
    assert repr(text) in str(refusal.value)


def test_a_size_beyond_64_bits_is_refused() -> None:
    """Sizes are 64-bit columns everywhere, so a larger one cannot be meant."""
    assert parse_bytes(f"{MOST_BYTES} B") == MOST_BYTES
    for text in (f"{MOST_BYTES + 1} B", f"{'9' * 5000} PiB"):
        with pytest.raises(ValueError, match="is more than"):
            parse_bytes(text)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0.2ms", 0.0002),
        ("16us", 0.000016),
        ("16 µs", 0.000016),
        ("16 \u03bcs", 0.000016),
        ("60s", 60),
        ("15min", 900),
        ("1h30min", 5400),
        ("1 h 30 m", 5400),
        ("14d", 14 * 86400),
        ("2w", 14 * 86400),
        (0, 0),
    ],
)
def test_durations_are_read_as_written(text: str | int, seconds: float) -> None:
    """Every unit from nanoseconds to weeks, alone or one after the other."""
    assert parse_seconds(text) == seconds


@pytest.mark.parametrize("text", ["60", 60, 1.5, "1 fortnight", "-5s", "h", "5s and 3", "5s,3s", True, "", "3M"])
def test_durations_without_a_clear_unit_are_refused(text: str | float) -> None:
    """A duration that says no unit, or more than a duration, is refused."""
    with pytest.raises(ValueError, match="is not a duration"):
        parse_seconds(text)


def test_a_duration_beyond_a_century_is_refused() -> None:
    """Added to a date it would overflow."""
    with pytest.raises(ValueError, match="more than a hundred years"):
        parse_seconds("40000d")
    assert datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=MOST_SECONDS)


@pytest.mark.parametrize(("text", "ratio"), [("10%", 0.1), ("12.5 %", 0.125), (0.1, 0.1), ("0.1", 0.1), (1, 1), (0, 0)])
def test_ratios_are_read_as_written(text: str | float, ratio: float) -> None:
    """Per cent and plain fractions mean the same."""
    assert parse_ratio(text) == ratio


@pytest.mark.parametrize("text", [10, "10", "101%", -0.1, "ten", True, math.nan, math.inf])
def test_ratios_outside_0_to_1_are_refused(text: str | float) -> None:
    """A bare 10 is not taken for 10%."""
    with pytest.raises(ValueError, match=r"10% or 0\.1"):
        parse_ratio(text)


@pytest.mark.parametrize("text", ["50 MB", "50/s", 50, "50 MB/h"])
def test_rates_need_a_size_per_second(text: str | int) -> None:
    """A rate is bytes per second and says so."""
    assert parse_rate("50 MB/s") == 50e6
    with pytest.raises(ValueError, match="is not a"):
        parse_rate(text)


@given(st.integers(0, MOST_BYTES))
def test_exact_bytes_are_read_back_exactly(size: int) -> None:
    """What the exact form prints is the same number again."""
    assert parse_bytes(exact_bytes(size)) == size


@given(st.integers(0, 2**59))
def test_printed_sizes_are_read_back_closely(size: int) -> None:
    """The human form is off by at most half of its last digit, and never shows 1024 of a unit."""
    text = format_bytes(size)
    number, _ = text.split()
    assert float(number) < 1024
    assert parse_bytes(text) == pytest.approx(size, rel=0.05, abs=0.5)
    assert format_bytes(-size) == (f"-{text}" if size else text)


@given(st.floats(1e-9, MOST_SECONDS * 0.99))
def test_printed_durations_are_read_back_closely(seconds: float) -> None:
    """Two units or three digits lose less than one in twenty."""
    assert parse_seconds(format_seconds(seconds)) == pytest.approx(seconds, rel=0.05)


@given(st.floats(0, MOST_SECONDS * 0.99))
def test_printing_a_duration_again_changes_nothing(seconds: float) -> None:
    """A printed duration, read and printed, is the same text: no 60 s, no 24 h, no 1000 ms."""
    text = format_seconds(seconds)
    assert format_seconds(parse_seconds(text)) == text


@given(st.floats(0, 1))
def test_printed_ratios_are_read_back_closely(ratio: float) -> None:
    """Three digits of per cent."""
    assert parse_ratio(format_ratio(ratio)) == pytest.approx(ratio, rel=0.006, abs=1e-5)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (0.0002, "200 µs"),
        (0.0055, "5.5 ms"),
        (0.9999, "1 s"),
        (59.99, "1 min"),
        (65, "1 min 5 s"),
        (3599.9, "1 h"),
        (11100, "3 h 5 min"),
        (86399, "1 d"),
        (180000, "2 d 2 h"),
        (-65, "-1 min 5 s"),
        (math.inf, "forever"),
        (math.nan, "unknown"),
    ],
)
def test_durations_are_printed_for_people(seconds: float, text: str) -> None:
    """Each size of duration has its form; rounding carries into the next unit."""
    assert format_seconds(seconds) == text


@pytest.mark.parametrize(
    ("size", "text"), [(0, "0 B"), (512, "512 B"), (1_610_612_736, "1.5 GiB"), (1024**2 - 1, "1.0 MiB"), (-0.2, "0 B")]
)
def test_sizes_are_printed_for_people(size: float, text: str) -> None:
    """One decimal, in the unit that keeps it below 1024."""
    assert format_bytes(size) == text


def test_the_exact_form_groups_digits() -> None:
    """Exact sizes are for comparing with the engine's own figures."""
    assert exact_bytes(1_610_612_736) == "1,610,612,736 bytes"
    assert exact_bytes(1) == "1 byte"


def test_instants_are_printed_with_their_zone() -> None:
    """Whoever reads a time knows whose time it is; a time without a zone is refused."""
    at = datetime(2026, 3, 1, 13, 5, 9, tzinfo=UTC)
    assert format_when(at, UTC) == "2026-03-01 13:05:09 UTC"
    assert format_when(at, timezone(timedelta(hours=1), "CET")) == "2026-03-01 14:05:09 CET"
    assert format_when(at).startswith("2026-0")
    with pytest.raises(ValueError, match="has no time zone"):
        format_when(datetime(2026, 3, 1))  # noqa: DTZ001  # the very thing that is refused


@pytest.mark.parametrize(
    ("seconds", "sessions", "wait"),
    [
        (6840.0, "1.9", "1.9 waiting sessions (1 h 54 min/h)"),
        (3600.0, "1", "1 waiting session (1 h/h)"),
        (385_200.0, "107", "107 waiting sessions (4 d 11 h/h)"),
        (5_400_000.0, "1,500", "1,500 waiting sessions (62 d 12 h/h)"),
        (-954.0, "-0.265", "-0.265 waiting sessions (-15 min 54 s/h)"),
        (3.5, "<0.001", "3.5 s of wait per hour"),
        (0.0, "0", "0 s of wait per hour"),
        (math.nan, "unknown", "unknown"),
        (math.inf, "endless", "endless"),
    ],
)
def test_waits_are_printed_as_sessions_that_wait(seconds: float, sessions: str, wait: str) -> None:
    """An hour of wait in every hour is one session that waits all the time; what is tiny stays a time."""
    assert (format_sessions(seconds), format_wait(seconds)) == (sessions, wait)
