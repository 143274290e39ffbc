"""How a replay answers: in the order of the recording, within the work that is replayed, by the columns of today."""

from __future__ import annotations

from dataclasses import replace

import pytest

from connectors.kit.contract import LockNotObtained, NotRecorded, PrivilegeMissing, Row
from connectors.kit.recorded_columns import Kind, RecordedColumn, RecordedTable
from connectors.kit.recording_file import Asked, End, Event, Mark, Moment, Work
from connectors.kit.taps import ReplayTap

TABLE = RecordedTable(queries={"sizes": (RecordedColumn("id", Kind.NUMBER), RecordedColumn("bytes", Kind.NUMBER))})


def at(steady: int) -> Moment:
    """So many microseconds after the beginning."""
    return Moment(1_000_000 + steady, steady)


def asked(steady: int, size: int, query: str = "sizes", **other: str) -> Asked:
    """An answer that took one microsecond."""
    return Asked(at=at(steady), until=at(steady + 1), query=query, values=(), rows=((1, size),), **other)


def tap_of(*events: Event, columns: tuple[str, ...] = ("id", "bytes")) -> ReplayTap:
    """A replay of them."""
    return ReplayTap(iter((*events, End(at(999), "whole"))), at(0), TABLE, {"sizes": columns})


def answer(tap: ReplayTap, query: str = "sizes") -> list[Row]:
    """What the tap says; the server would be asked in vain."""
    return tap.answer(query, (), lambda: pytest.fail("a server was asked"), doing="sizing")


def test_answers_come_in_order_and_the_clock_shows_when() -> None:
    """The second question of a work gets the second answer, the third one that again."""
    tap = tap_of(Mark(at(10), Work.SAMPLE), asked(20, 5), asked(30, 6), Mark(at(40), Work.SAMPLE), asked(50, 7))
    works = tap.works()
    next(works)
    assert tap.clock.at == at(10)
    assert [answer(tap) for _ in range(3)] == [[(1, 5)], [(1, 6)], [(1, 6)]]
    assert tap.clock.at == at(31)
    next(works)
    assert answer(tap) == [(1, 7)]
    assert list(works) == []
    assert tap.ended == "whole"


def test_what_was_not_asked_in_a_work_has_the_last_answer_before_it() -> None:
    """And never one that came later."""
    tap = tap_of(
        Mark(at(10), Work.SAMPLE), asked(20, 5), Mark(at(40), Work.PLAN), Mark(at(60), Work.SAMPLE), asked(70, 7)
    )
    works = tap.works()
    next(works)
    answer(tap)
    next(works)
    assert answer(tap) == [(1, 5)]
    assert tap.clock.at == at(40)


def test_work_that_was_given_up_does_not_count() -> None:
    """Ctrl-C in the middle of a sample: it is no sample when it is replayed."""
    tap = tap_of(Mark(at(10), Work.SAMPLE), asked(20, 5), Mark(at(30), Work.NONE), Mark(at(40), Work.PLAN))
    works = tap.works()
    assert next(works) is Work.PLAN
    with pytest.raises(NotRecorded):
        answer(tap)


def test_an_error_is_an_error_again() -> None:
    """Of the class and with the code that it had; one of an unknown class is the root of them."""
    failed = asked(20, 0, error="LockNotObtained", native_code="55P03")
    tap = tap_of(Mark(at(10), Work.SAMPLE), failed)
    next(tap.works())
    with pytest.raises(LockNotObtained) as caught:
        answer(tap)
    assert caught.value.native_code == "55P03"
    tap = tap_of(Mark(at(10), Work.SAMPLE), replace(failed, error="print"))
    next(tap.works())
    with pytest.raises(Exception, match="refused when it was recorded"):
        answer(tap)


def test_what_was_never_recorded_is_as_without_the_right_to_ask() -> None:
    """Optional queries of a later version go without; others say which one is missing."""
    tap = tap_of(Mark(at(10), Work.SAMPLE))
    next(tap.works())
    with pytest.raises(PrivilegeMissing, match="no answer of sizes"):
        answer(tap)


@pytest.mark.parametrize(
    ("columns", "expected"), [(("bytes", "id"), (5, 1)), (("id",), (1, None)), (("id", "old", "bytes"), (1, 9))]
)
def test_columns_of_another_version_are_found_by_name(columns: tuple[str, ...], expected: Row) -> None:
    """Another order, one that there was not yet, one that there is no more."""
    recorded = Asked(at=at(1), until=at(2), query="sizes", values=(), rows=((1, 5, 9)[: max(2, len(columns))],))
    if columns == ("id",):
        recorded = replace(recorded, rows=((1,),))
    tap = tap_of(Mark(at(0), Work.SAMPLE), recorded, columns=columns)
    next(tap.works())
    assert answer(tap) == [expected]
