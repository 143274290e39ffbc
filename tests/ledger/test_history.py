"""History: appended, read by time, folded without losing a count, dropped when it is old."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import delete

from agent.ledger.errors import LedgerCorrupt
from agent.ledger.ledger import Ledger
from agent.ledger.rows import HistorySettings
from agent.ledger.store.schema import history
from tests.examples import examples
from tests.ledger.conftest import damage
from tests.unit.samples import MADE_AT

DAY = timedelta(days=1)
ALL = (MADE_AT - 900 * DAY, MADE_AT + 900 * DAY)


def _append(ledger: Ledger, at: datetime, counts: dict[int, int], seconds: float = 60.0, database: str = "shop") -> int:
    slots = np.array(list(counts), dtype=np.int64)
    values = np.array([list(counts.values()), [1] * len(counts)], dtype=np.uint32).reshape(2, -1)
    return ledger.history.append(database, at, seconds, slots, values)


def _totals(ledger: Ledger, database: str = "shop") -> tuple[Counter[int], float]:
    """Counts by slot and seconds over all of history."""
    counts: Counter[int] = Counter()
    seconds = 0.0
    for row in ledger.history.read(database, *ALL):
        counts.update(dict(zip(row.slots.tolist(), row.values[0].tolist(), strict=True)))
        seconds += row.seconds
    return counts, seconds


def test_intervals_are_read_by_their_end(ledger: Ledger) -> None:
    """Within (since, until], the oldest first, of one database; an idle interval counts as watched."""
    for minute in (3, 1, 2):
        _append(ledger, MADE_AT + timedelta(minutes=minute), {5: minute, 2: 7})
    _append(ledger, MADE_AT + timedelta(minutes=2), {1: 1}, database="hr")
    _append(ledger, MADE_AT + timedelta(minutes=4), {})
    rows = list(ledger.history.read("shop", MADE_AT + timedelta(minutes=1), MADE_AT + timedelta(minutes=3)))
    assert [(row.ended_at - MADE_AT).seconds // 60 for row in rows] == [2, 3]
    assert rows[0].slots.tolist() == [2, 5]
    assert rows[0].values.tolist() == [[7, 2], [1, 1]]
    assert (rows[0].started_at, rows[0].seconds, rows[0].resolution_seconds) == (
        MADE_AT + timedelta(minutes=1),
        60.0,
        0,
    )
    assert len(list(ledger.history.read("shop", *ALL))) == 4


def test_folding_waits_for_its_time(ledger: Ledger) -> None:
    """Younger than a day stays as sampled; a bucket folds when all of it is old enough."""
    for minute in range(1, 31):
        _append(ledger, MADE_AT + timedelta(minutes=minute), {1: 1})
    assert ledger.history.fold(MADE_AT + DAY).folded == 0
    assert ledger.history.fold(MADE_AT + DAY + timedelta(minutes=19)).folded == 10
    report = ledger.history.fold(MADE_AT + DAY + timedelta(minutes=30))
    assert (report.folded, report.made, report.dropped) == (20, 2, 0)
    assert report.bytes_after < report.bytes_before
    rows = list(ledger.history.read("shop", *ALL))
    assert [(row.resolution_seconds, row.seconds, row.values[0].tolist()) for row in rows] == [(600, 600.0, [10])] * 3
    assert [row.ended_at for row in rows] == [MADE_AT + timedelta(minutes=m) for m in (10, 20, 30)]
    assert [row.started_at for row in rows] == [MADE_AT + timedelta(minutes=m) for m in (0, 10, 20)]


def test_old_history_becomes_hourly_and_then_goes(ledger: Ledger) -> None:
    """After a week by the hour; past the end of history not at all."""
    for minute in range(1, 121):
        _append(ledger, MADE_AT + timedelta(minutes=minute), {1: 2, minute: 1})
    counts, seconds = _totals(ledger)
    ledger.history.fold(MADE_AT + 2 * DAY)
    ledger.history.fold(MADE_AT + 8 * DAY)
    rows = list(ledger.history.read("shop", *ALL))
    assert [(row.resolution_seconds, row.seconds) for row in rows] == [(3600, 3600.0)] * 2
    assert _totals(ledger) == (counts, seconds)
    late = [ledger.history.fold(MADE_AT + 14 * DAY + timedelta(hours=1)), ledger.history.fold(MADE_AT + 22 * DAY)]
    # A server drops whole weeks; one whose clock is behind these times (in a year) drops rows as a file does.
    assert sum(report.dropped for report in late) == 2
    assert all(report.bytes_before > report.bytes_after == 0 for report in late if report.dropped)
    assert [report.folded for report in late] == [0, 0]
    assert ledger.is_shared or [report.dropped for report in late] == [1, 1]
    assert list(ledger.history.read("shop", *ALL)) == []


def test_history_that_nobody_folded_for_long_catches_up(ledger: Ledger) -> None:
    """Both levels in one go."""
    for minute in range(1, 61):
        _append(ledger, MADE_AT + timedelta(minutes=minute), {1: 1})
    report = ledger.history.fold(MADE_AT + 10 * DAY)
    assert (report.folded, report.made) == (66, 7)
    assert _totals(ledger) == (Counter({1: 60}), 3600.0)


@given(
    st.lists(
        st.tuples(
            st.integers(0, 40 * 86400 * 10**6),  # microseconds before now
            st.floats(0.5, 4000.0),
            st.dictionaries(st.integers(0, 50), st.integers(0, 2**32 - 1), max_size=5),
            st.sampled_from(["shop", "hr"]),
        ),
        max_size=25,
    ),
    st.lists(st.integers(0, 20 * 86400), min_size=1, max_size=3),
)
@settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_folding_conserves_counts_and_seconds(
    ledger: Ledger, samples: list[tuple[int, float, dict[int, int], str]], later: list[int]
) -> None:
    """Whatever intervals there were and whenever folding runs, in whatever order of ages."""
    with ledger.samples.written().write() as transaction:
        transaction.execute(delete(history))
    keep = HistorySettings(history_seconds=1000 * 86400.0)
    for before, seconds, counts, database in samples:
        _append(ledger, MADE_AT - timedelta(microseconds=before), counts, seconds, database)
    expected = {name: _totals(ledger, name) for name in ("shop", "hr")}
    for seconds in later:
        ledger.history.fold(MADE_AT + timedelta(seconds=seconds), keep)
    for name, (counts, seconds) in expected.items():
        folded_counts, folded_seconds = _totals(ledger, name)
        assert folded_counts == counts
        assert folded_seconds == pytest.approx(seconds, rel=1e-12)


def test_intervals_with_other_signals_are_not_mixed(ledger: Ledger) -> None:
    """An agent that keeps more signals than its forerunner folds both, each by itself."""
    slots = np.array([1], dtype=np.int64)
    for minute, signals in enumerate((2, 3, 2, 3), start=1):
        at = MADE_AT + timedelta(minutes=minute)
        ledger.history.append("shop", at, 60.0, slots, np.ones((signals, 1), dtype=np.float64))
    assert ledger.history.fold(MADE_AT + 2 * DAY).made == 2
    assert sorted(row.values.shape for row in ledger.history.read("shop", *ALL)) == [(2, 1), (3, 1)]


def test_an_interval_needs_a_length(ledger: Ledger) -> None:
    """Zero, negative and NaN seconds are refused."""
    for seconds in (0.0, -1.0, float("nan")):
        with pytest.raises(ValueError, match="lasts"):
            _append(ledger, MADE_AT, {1: 1}, seconds)


def test_settings_that_make_no_sense_are_refused() -> None:
    """Coarser before finer, or no history at all."""
    with pytest.raises(ValueError):
        HistorySettings(as_sampled_seconds=8 * 86400.0)
    with pytest.raises(ValueError):
        HistorySettings(history_seconds=0.0)


def test_a_damaged_interval_is_named(ledger: Ledger) -> None:
    """And nothing is folded into garbage."""
    _append(ledger, MADE_AT, {1: 1})
    assert damage(ledger, "UPDATE history SET body = x'00'") == 1
    with pytest.raises(LedgerCorrupt, match="history of shop"):
        list(ledger.history.read("shop", *ALL))
    with pytest.raises(LedgerCorrupt):
        ledger.history.fold(MADE_AT + 2 * DAY)
    assert damage(ledger, "UPDATE history SET seconds = seconds") == 1


def test_readers_see_one_moment(ledger: Ledger) -> None:
    """GroupBy while somebody reads neither doubles nor hides an interval."""
    for minute in range(1, 21):
        _append(ledger, MADE_AT + timedelta(minutes=minute), {1: 1})
    reading = ledger.history.read("shop", *ALL)
    total = int(next(reading).values[0].sum())
    ledger.history.fold(MADE_AT + 2 * DAY)
    assert total + sum(int(row.values[0].sum()) for row in reading) == 20
