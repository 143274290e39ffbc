"""Counters that begin anew never make anything cold; figures worked out by hand."""

from __future__ import annotations

from datetime import timedelta

import pytest

from connectors.kit.contract import TimedOut
from connectors.model.observation import Interval, Sample
from connectors.sqlserver.sampler import COUNTERS, DmvSampler, by_unit
from connectors.sqlserver.sessions import Row
from policies.evidence.counter_deltas import Gap, difference
from tests.sqlserver.made import NOON


def sample(at: int, *waits: tuple[int, int], epoch: str = "a") -> Sample:
    """A sample ``at`` seconds past noon with (object, waits), of index 1."""
    rows: list[Row] = [(number, 1, 1, count, *(0,) * (len(COUNTERS) - 1)) for number, count in waits]
    ids, counters = by_unit(rows)
    return Sample(
        taken_at=NOON + timedelta(seconds=at),
        monotonic_seconds=float(at),
        epoch=epoch,
        physical_id=ids,
        counters=dict(zip(COUNTERS, counters, strict=True)),
        database={},
        server_seconds=0.0,
    )


def between(before: Sample, after: Sample) -> Interval:
    """What happened between them."""
    found = difference(before, after, longest_seconds=3600)
    assert isinstance(found, Interval)
    return found


def test_pitfall_2_an_evicted_row_is_no_evidence() -> None:
    """Pitfall 2: a row that left the metadata cache restarts; when it comes back it counts what it shows."""
    gone = between(sample(0, (105, 100), (106, 7)), sample(10, (106, 9)))
    assert gone.restarted.tolist() == [True, False]
    assert gone.deltas["io_waits"].tolist() == [0.0, 2.0]
    back = between(sample(10, (106, 9)), sample(20, (105, 5), (106, 9)))
    assert back.restarted.tolist() == [False]
    assert back.deltas["io_waits"].tolist() == [5.0]


def test_pitfall_2_a_smaller_total_is_a_restart() -> None:
    """Pitfall 2: DDL, our own move too, begins the counters of a unit anew."""
    found = between(sample(0, (105, 100)), sample(10, (105, 40)))
    assert found.restarted.tolist() == [True]
    assert found.deltas["io_waits"].tolist() == [0.0]


def test_pitfall_2_a_restart_of_the_service_is_another_epoch() -> None:
    """Pitfall 2: nothing is concluded across it."""
    assert isinstance(difference(sample(0, (105, 1)), sample(10, (105, 2), epoch="b"), longest_seconds=3600), Gap)


class Steps:
    """A clock that goes on by ``slow`` seconds each time it is read."""

    def __init__(self, slow: float) -> None:
        self.seconds, self.slow = 0.0, slow

    def now(self) -> object:
        """Noon."""
        return NOON

    def monotonic(self) -> float:
        """Later each time."""
        self.seconds += self.slow
        return self.seconds

    def sleep(self, seconds: float) -> None:
        """Go on."""
        self.seconds += seconds


class Answers:
    """Stands in for a session: one busy unit, and nothing else that may be seen."""

    def rows(self, name: str, *values: object, doing: str, limit: float | None = None) -> list[Row]:
        """Of the counters only."""
        return [(105, 1, 1, *(1,) * len(COUNTERS))] if name == "sample" else []


def test_a_slow_sample_is_followed_by_a_rest() -> None:
    """A call of 3 s with a budget of 2 s is left alone for 20 times as long; then it is asked again."""
    clock = Steps(3.0)
    sampler = DmvSampler(Answers(), clock, budget_seconds=2.0)  # type: ignore[arg-type]  # answers like a session
    assert len(sampler.sample().physical_id) == 1
    with pytest.raises(TimedOut) as caught:
        sampler.sample()
    assert caught.value.retry == "later"
    clock.sleep(20 * 3.0)
    assert sampler.sample().epoch == "unknown"


def test_maintenance_touches_the_intervals_on_both_sides() -> None:
    """A backup seen at the second of four samples raises the total at the second and the third, and no more."""
    answers = iter([[], [("BACKUP DATABASE",)], [], []])

    class Backups(Answers):
        def rows(self, name: str, *values: object, doing: str, limit: float | None = None) -> list[Row]:
            return next(answers) if name == "maintenance" else super().rows(name, *values, doing=doing)

    sampler = DmvSampler(Backups(), Steps(0.1), budget_seconds=2.0)  # type: ignore[arg-type]  # answers like a session
    assert [sampler.sample().database["backups_seen"] for _ in range(4)] == [0.0, 1.0, 2.0, 2.0]


@pytest.mark.parametrize("partitions", [10, 100_000])
def test_a_sample_takes_eight_statements_however_many_partitions(partitions: int) -> None:
    """Nothing is asked for each partition."""
    asked: list[str] = []

    class Many(Answers):
        def rows(self, name: str, *values: object, doing: str, limit: float | None = None) -> list[Row]:
            asked.append(name)
            ones = (1,) * len(COUNTERS)
            return [(105 + n // 1000, 1, 1 + n % 1000, *ones) for n in range(partitions)] if name == "sample" else []

    taken = DmvSampler(Many(), Steps(0.1), budget_seconds=2.0).sample()  # type: ignore[arg-type]  # answers like a session
    assert len(taken.physical_id) == partitions
    assert sorted(asked) == ["batches", "counters", "files", "maintenance", "roles", "sample", "server", "sessions"]
