"""How names of partitions say when they begin: what tools and people write, and what is refused."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from connectors.kit.rolling import HIGH, LOW, PARTITION, Range, RangeTable, next_ranges, refusal_of_name
from connectors.kit.templates import StatementTemplate, StatementText, TemplateKind, TemplateParameter, ValueKind

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
START = datetime(2026, 11, 27, 14, tzinfo=UTC)
MIDNIGHT = datetime(2026, 11, 27, tzinfo=UTC)


def table(*partitions: tuple[datetime, datetime, str]) -> RangeTable:
    """With those ranges and names."""
    ranges = tuple(
        Range(id=at, schema="s", name=name, key=f"s.{name}", low=low, high=high, space="fast", size_bytes=1)
        for at, (low, high, name) in enumerate(partitions, start=1)
    )
    return RangeTable(key="s.t", schema="s", name="t", time_format="%F %T", ranges=ranges, why_not="", why_no_more="")


def in_a_row(low: datetime, length: timedelta, name: str, count: int = 2) -> RangeTable:
    """So many ranges whose names have one form."""
    lows = [low + at * length for at in range(count)]
    return table(*((each, each + length, each.strftime(name)) for each in lows))


@pytest.mark.parametrize(
    ("low", "length", "name"),
    [
        (START, HOUR, "meas_p%Y%m%d_%H%M%S"),  # pg_partman 5, shorter than a day
        (MIDNIGHT, DAY, "meas_p%Y%m%d"),  # pg_partman 5
        (START, HOUR, "meas_p%Y_%m_%d_%H%M"),  # pg_partman 4
        (MIDNIGHT, DAY, "meas_p%Y_%m_%d"),
        (datetime(2026, 11, 23, tzinfo=UTC), 7 * DAY, "meas_p%Gw%V"),
        (START, timedelta(minutes=15), "meas_p%Y_%m_%d_%H%M"),
        (START, timedelta(seconds=30), "meas_p%Y_%m_%d_%H%M%S"),
        (START, HOUR, "meas_%Y%m%d%H"),
        (START, HOUR, "meas_%Y%m%d_%H"),
        (START, HOUR, "meas_%Y%m%d_%H00"),
        (MIDNIGHT, DAY, "meas_%Y%m%d_part"),
        (MIDNIGHT, DAY, "y2020_%Y-%m-%d"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("count", [1, 2, 3])
def test_names_of_tools_and_people_are_read(low: datetime, length: timedelta, name: str, count: int) -> None:
    """The form gives each partition so far its own name, and the next one the name that the tool would give it."""
    found = in_a_row(low, length, name, count)
    assert refusal_of_name(found) is None
    last = found.ranges[-1]
    assert last.named_for(last.high, found.name_form) == last.high.strftime(name)


def test_months_of_another_zone_are_said_to_be_counted_in_utc() -> None:
    """Midnight in Berlin, in summer and in winter: none of the lengths is a calendar month of UTC."""
    lows = [datetime(2026, 9, 30, 22, tzinfo=UTC), datetime(2026, 10, 31, 23, tzinfo=UTC)]
    found = table((lows[0], lows[1], "m_2026_10"), (lows[1], datetime(2026, 11, 30, 23, tzinfo=UTC), "m_2026_11"))
    assert found.refusal is not None
    assert "counted in UTC, where the last one begins at 2026-10-31 23:00:00" in found.refusal.sentence


def test_months_and_years_are_read() -> None:
    """Calendar lengths differ."""
    months = table(*((datetime(2026, at, 1, tzinfo=UTC), datetime(2026, at + 1, 1, tzinfo=UTC), f"m_2026_{at:02}")
                     for at in (9, 10)))  # fmt: skip
    assert months.name_form == "%Y_%m"
    years = table(*((datetime(at, 1, 1, tzinfo=UTC), datetime(at + 1, 1, 1, tzinfo=UTC), f"m_p{at}")
                    for at in (2024, 2025)))  # fmt: skip
    assert years.name_form == "%Y"


@pytest.mark.parametrize(
    ("names", "length"),
    [
        (("m_p20261127_h14", "m_p20261127_h15"), HOUR),  # the day alone would give each hour one name
        (("m_20261127_a", "m_20261128_b"), DAY),  # something else counts along
        (("m_1_20261127", "m_2_20261128"), DAY),
        (("first", "m_20261128"), DAY),
    ],
)
def test_a_form_that_does_not_make_the_names_that_are_there_is_refused(
    names: tuple[str, ...], length: timedelta
) -> None:
    """With the name, before anybody signs."""
    lows = [(START if length == HOUR else MIDNIGHT) + at * length for at in range(len(names))]
    found = table(*((low, low + length, name) for low, name in zip(lows, names, strict=True)))
    refusal = refusal_of_name(found)
    assert refusal is not None
    assert names[-1] in refusal.sentence
    assert "a name of its own" in refusal.sentence


@pytest.mark.parametrize(
    ("begins", "ends"),
    [
        ("2026-04-01 2026-07-01 2026-10-01", "2027-01-01"),  # quarters: 91 and 92 days
        ("2026-07-01 2026-10-01 2027-01-01", "2027-04-01"),  # twice 92 days, then 90
        ("2026-01-01 2027-01-01 2028-01-01", "2029-01-01"),  # years, the next of 366 days
        ("2024-01-01 2025-01-01 2026-01-01", "2027-01-01"),
        ("2026-07-01 2027-01-01", "2027-07-01"),  # half a year, of which there is one
        ("2026-07-01 2026-08-01 2026-09-01", "2026-10-01"),  # twice 31 days
        ("2026-01-04 2026-02-01 2026-03-01", "2026-03-29"),  # four weeks, one of which is a month by chance
        ("2026-11-02 2026-11-09 2026-11-16", "2026-11-23"),
    ],
)
def test_calendar_lengths_go_on(begins: str, ends: str) -> None:
    """The next range ends where the calendar says, also where the last two have the same number of days."""
    bounds = [datetime.fromisoformat(each).replace(tzinfo=UTC) for each in begins.split()]
    found = table(*((low, high, f"m_{low:%Y%m%d}") for low, high in pairwise(bounds)))
    assert found.next_high == datetime.fromisoformat(ends).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("bounds", "names", "third"),
    [
        ("2026-07-01 2026-10-01 2027-01-01", ("m_p2026q3", "m_p2026q4"), "m_p2027q1"),  # pg_partman 4
        ("2026-07-01 2026-10-01 2027-01-01", ("m_2026_Q3", "m_2026_Q4"), "m_2027_Q1"),
        ("2026-10-01 2026-11-01 2026-12-01", ("m_y2026m10", "m_y2026m11"), "m_y2026m12"),  # PostgreSQL's manual
    ],
)
def test_names_of_quarters_and_months(bounds: str, names: tuple[str, ...], third: str) -> None:
    """Their form makes the next name."""
    ends = [datetime.fromisoformat(each).replace(tzinfo=UTC) for each in bounds.split()]
    found = table(*((low, high, name) for (low, high), name in zip(pairwise(ends), names, strict=True)))
    assert refusal_of_name(found) is None
    last = found.ranges[-1]
    assert last.named_for(last.high, found.name_form) == third


MADE = StatementText(role="step 1", sql="CREATE {partition} FROM {low} TO {high}")


def a_template(days: int) -> StatementTemplate:
    """Of daily partitions that begin within so many days."""
    bounds = (TemplateParameter(name=name, kind=ValueKind.TIME, least=-366 * 86400, most=days * 86400)
              for name in (LOW, HIGH))  # fmt: skip
    word = TemplateParameter(name=PARTITION, kind=ValueKind.WORD, least=8, most=8)
    return StatementTemplate(
        kind=TemplateKind.NEXT_PARTITION, table="s.t", space="fast", texts=(MADE,), parameters=(word, *bounds)
    )


@pytest.mark.parametrize(
    ("there", "due"),
    [
        ((26, 27, 28), [29, 30, 31]),  # without a gap
        ((26, 27, 30), [28, 29, 31]),  # two could not be made when the third one was
        ((26, 27, 29, 30), [28, 31]),
        ((20, 21, 25, 26, 27), [28, 29, 30, 31]),  # rows of a gap that is over come no more
        ((27, 29), [28, 30, 31]),
    ],
)
def test_a_partition_that_is_missing_comes_first(there: tuple[int, ...], due: list[int]) -> None:
    """As its creation has failed once: else its rows would be refused for ever."""
    days = {day: MIDNIGHT + (day - 27) * DAY for day in range(20, 33)}
    found = table(*((days[day], days[day] + DAY, f"m_{days[day]:%Y%m%d}") for day in there))
    made = [each.name for each, _ in next_ranges(found, a_template(4), START)]
    assert made == [f"m_{days[day]:%Y%m%d}" for day in due]
