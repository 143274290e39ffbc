"""What statements did between two readings."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from agent.sampling import sampler
from agent.sampling.sampler import statement_difference
from connectors.kit.statements import StatementCounters

AT = datetime(2026, 1, 5, tzinfo=UTC)


def counters(minute: int, rows: dict[str, tuple[float, float]], epoch: str = "1") -> StatementCounters:
    """Executions and seconds by id; a third of the time is waited for reads, and reads are not counted."""
    executions, seconds = np.array(list(rows.values()), dtype=np.float64).reshape(len(rows), 2).T
    return StatementCounters(
        taken_at=AT + timedelta(minutes=minute), epoch=epoch, ids=tuple(rows), executions=executions, seconds=seconds,
        read_wait=seconds / 3, reads=np.full(len(rows), np.nan), server_seconds=0.1,
    )  # fmt: skip


def test_what_was_there_before_counts() -> None:
    """Those with most time first; new and forgotten statements are left out, in whatever order they come."""
    before = counters(0, {"small": (10, 1.0), "big": (10, 100.0), "forgotten": (500, 9.0)})
    after = counters(
        2, {"forgotten": (3, 9.5), "big": (14, 108.0), "new": (9, 9.0), "small": (30, 2.0), "idle": (5, 5)}
    )
    found = statement_difference(before, after)
    assert found is not None
    assert (found.ids, found.length) == (("big", "small"), 120.0)
    assert (found.executions.tolist(), found.seconds.tolist()) == ([4.0, 20.0], [8.0, 1.0])
    assert found.read_wait == pytest.approx([8 / 3, 1 / 3])
    assert np.isnan(found.reads).all()


def test_counters_that_restarted_are_no_work() -> None:
    """Another epoch, or a clock that went back."""
    before, after = counters(0, {"a": (1, 1.0)}), counters(1, {"a": (9, 9.0)})
    assert statement_difference(before, after) is not None
    assert statement_difference(before, replace(after, epoch="2")) is None
    assert statement_difference(after, replace(before, executions=np.array([20.0]))) is None


def test_only_so_many_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those with most time in the interval, not since ever."""
    monkeypatch.setattr(sampler, "MOST_KEPT", 2)
    before = counters(0, {"old": (1, 900.0), "a": (1, 1.0), "b": (1, 1.0), "c": (1, 1.0)})
    found = statement_difference(before, counters(1, {"old": (2, 900.5), "a": (2, 2.0), "b": (2, 4.0), "c": (2, 3.0)}))
    assert found is not None
    assert found.ids == ("b", "c")


def test_none_is_an_interval_too() -> None:
    """A server that nothing was asked: no rows, and no error."""
    found = statement_difference(counters(0, {}), counters(1, {}))
    assert found is not None
    assert found.ids == ()
