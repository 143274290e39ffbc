"""How a daemon ends, and what it says of itself, while a server says nothing."""

from __future__ import annotations

import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest

from agent.ledger.ledger import Ledger
from agent.ledger.rows import HistorySettings
from agent.model.clock import SystemClock
from agent.sampling.sampler import Cycle
from agent.service.jobs import Jobs
from agent.service.process import LastResort
from agent.service.snapshot import SLOW_CYCLE_SECONDS, Snapshot
from agent.service.watch import Watch

SECONDS = 20.0
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def test_a_process_that_is_held_up_is_ended() -> None:
    """Once asked, and not dismissed in time."""
    left = threading.Event()
    last_resort = LastResort(0.01, left.set)
    assert not left.wait(0.1)
    last_resort.begin()
    assert left.wait(SECONDS)


def test_a_process_that_ends_in_time_is_let_alone() -> None:
    """Dismissed after it was asked, and without ever being asked."""
    left = threading.Event()
    for asked in (True, False):
        last_resort = LastResort(0.3, left.set)
        if asked:
            last_resort.begin()
        last_resort.dismiss()
    assert not left.wait(0.6)


def test_jobs_that_do_not_end_are_named() -> None:
    """Those of other databases have ended, none begins any more, and after a new beginning they do."""
    jobs = Jobs(cast(Ledger, None), SystemClock(), HistorySettings())  # these jobs need none
    began, let_go, done = threading.Event(), threading.Event(), []

    def job(watch: Watch) -> None:
        if watch.database.name == "silent":
            began.set()
            assert let_go.wait(SECONDS)
        done.append(watch.database.name)

    silent, other = (
        cast(
            Watch,
            SimpleNamespace(
                database=SimpleNamespace(name=name),
                stands_by=False,
                snapshot=Snapshot(database=name, engine="simulated"),
            ),
        )
        for name in ("silent", "other")
    )
    thread = threading.Thread(target=jobs.run_guarded, args=(job, silent))
    thread.start()
    assert began.wait(SECONDS)
    jobs.run_guarded(job, other)
    assert jobs.end(0.05) == {"silent"}
    jobs.run_guarded(job, other)
    let_go.set()
    assert jobs.end() == frozenset()
    thread.join()
    jobs.begin()
    jobs.run_guarded(job, other)
    assert done == ["other", "silent", "other"]


@pytest.mark.parametrize(
    ("since", "changes", "up"),
    [
        (None, {}, True),
        (NOON - timedelta(seconds=60), {}, True),
        (NOON - timedelta(seconds=61), {}, False),
        (NOON - timedelta(seconds=SLOW_CYCLE_SECONDS), {"sample_seconds": 0.5}, True),
        (None, {"error": "the server has not answered"}, False),
        (None, {"cycle": None}, False),
    ],
)
def test_a_cycle_that_is_overdue_is_no_success(since: datetime | None, changes: dict[str, Any], up: bool) -> None:
    """A cycle that goes on when the next one is due says that the server does not answer."""
    cycle = cast(Cycle, SimpleNamespace(taken_at=NOON))
    snapshot = Snapshot(database="shop", engine="simulated", cycle=cycle, sample_seconds=60.0, sampling_since=since)
    assert replace(snapshot, **changes).is_up(NOON) is up
