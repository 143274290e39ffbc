"""Statements before and after moves, in worlds where it is known what moves did to each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from agent.model.outcomes import ComparedStatements, StatementInterval
from agent.moving.statement_effects import FALSE_ALARMS, LEAST_EXECUTIONS, StatementLoad, _holm, compare_statements
from agent.moving.usual_wait import queue_curve
from connectors.model.observation import F64

START = datetime(2026, 1, 5, tzinfo=UTC)
STEP = timedelta(seconds=150)
STATEMENTS = 40
IDLE, USED = 0.004, 0.5  # seconds of a read on an idle device, and how busy it is at the usual load


class Shop:
    """Statements that read from one device, with noise of their own and noise that all share."""

    def __init__(self, seed: int, *, timed: bool = True, noise: float = 0.1) -> None:
        self._random = np.random.default_rng(seed)
        self._reads = self._random.uniform(0.5, 20, STATEMENTS)  # per execution
        self._rate = self._random.uniform(0.1, 5, STATEMENTS)  # executions per second
        self._cpu = self._random.uniform(0.0005, 0.02, STATEMENTS)
        self._timed, self._noise = timed, noise

    def intervals(
        self,
        count: int,
        first: int,
        load: float = 1.0,
        changes: Mapping[int, float] | None = None,
        growth: Mapping[int, float] | None = None,
    ) -> tuple[list[StatementInterval], F64]:
        """So many intervals, and the load of each.

        ``changes``: of the read time of some statements; ``growth``: how many times as much some read per execution.
        """
        random, made, loads = self._random, [], []
        factor = np.ones(STATEMENTS)
        for row, change in (changes or {}).items():
            factor[row] = 1 + change
        takes = self._reads * [(growth or {}).get(row, 1.0) for row in range(STATEMENTS)]
        for at in range(first, first + count):
            now = load * float(np.exp(random.normal(0, 0.15)))
            read = IDLE * np.exp(queue_curve(np.array([now]), USED, 1)) * np.exp(random.normal(0, 0.05))
            ran = random.poisson(self._rate * now * STEP.total_seconds()).astype(np.float64)
            waits = ran * takes * read * factor * np.exp(random.normal(0, self._noise, STATEMENTS))
            made.append(StatementInterval(
                started_at=START + at * STEP, ended_at=START + (at + 1) * STEP,
                ids=tuple(f"s{each}" for each in range(STATEMENTS)), executions=ran,
                seconds=waits + ran * self._cpu, read_wait=waits if self._timed else np.full(STATEMENTS, np.nan),
                reads=ran * takes,
            ))  # fmt: skip
            loads.append(now)
        return made, np.array(loads)


def compared(
    shop: Shop,
    changes: Mapping[int, float],
    *,
    load: float = 1.0,
    before: int = 96,
    after: int = 12,
    relief: float = 1.0,
    growth: Mapping[int, float] | None = None,
    by_execution: bool = False,
) -> ComparedStatements:
    """Statements of four hours before and half an hour after moves with known effects.

    ``relief``: how many times the load of the device would be had nothing moved.
    """
    was, load_before = shop.intervals(before, 0)
    now, load_after = shop.intervals(after, before + 10, load, changes, growth)
    seconds = STEP.total_seconds()
    loads = np.concatenate([load_before, load_after])
    at = np.array([each.ended_at.timestamp() for each in (*was, *now)])
    asked = np.concatenate([load_before, load_after * relief]) * seconds
    known = StatementLoad(at=at, seconds=np.full(len(at), seconds), asked=asked, placed=loads * seconds)
    return compare_statements(was, now, known, by_execution=by_execution)


def ids(changes: Sequence[object]) -> list[str]:
    """Of some changes."""
    return [getattr(each, "id") for each in changes]  # noqa: B009  # of any of them


@pytest.mark.parametrize("timed", [True, False])
def test_one_slower_among_winners(timed: bool) -> None:
    """Thirty statements read five times as fast, one takes three times as long, and it is found with its figures."""
    winners = dict.fromkeys(range(10, STATEMENTS), -0.8)
    found = compared(Shop(1, timed=timed), {**winners, 3: 2.0})
    assert ids(found.slower) == ["s3"]
    assert (found.compared, found.slower_count) == (STATEMENTS, 1)
    assert found.faster_count >= 25
    assert not {"s3"} & set(ids(found.faster))
    (worst,) = found.slower
    assert worst.change == pytest.approx(worst.seconds_after / worst.seconds_before - 1, rel=0.15)
    assert worst.reads_after == pytest.approx(worst.reads_before, rel=0.05)
    if timed:
        assert worst.change_low <= 2.0 * worst.read_wait_before / worst.seconds_before <= worst.change_high
    else:
        assert np.isnan(worst.read_wait_before)


@pytest.mark.parametrize("by_execution", [False, True])
def test_who_reads_more_is_not_hurt_by_moves_but_by_a_split(by_execution: bool) -> None:
    """Its index has outgrown the pool: it is named, and is no harm of moves; a split may have left it dead entries."""
    found = compared(Shop(1), {3: 2.0}, growth={5: 8.0}, by_execution=by_execution)
    assert sorted(ids(found.slower)) == (["s3", "s5"] if by_execution else ["s3"])
    assert ids(found.grown) == ([] if by_execution else ["s5"])
    assert ("1 read more per execution: their objects have grown" in found.sentence) is not by_execution


def test_what_slower_statements_pay_is_said() -> None:
    """Next to what the others gain: seconds in each minute, by the load that they have."""
    shop = Shop(1)
    found = compared(shop, {**dict.fromkeys(range(10, STATEMENTS), -0.8), 3: 2.0})
    (worst,) = found.slower
    took = (worst.seconds_after - worst.seconds_before) * worst.executions_after / (12 * STEP.total_seconds())
    assert found.slower_seconds == pytest.approx(took, rel=0.15)
    assert found.faster_seconds > found.slower_seconds
    assert "more in each minute)" in found.sentence
    assert "less in each minute)" in found.sentence


WHY = {
    "statements were read over 4 intervals before the moves, and 6 are needed": (4, 12, 0.2),
    "statements were read over 2 intervals after settling, and 3 are needed": (96, 2, 0.2),
    "none of 40 statements ran 20 times before the moves as well as after them": (96, 12, 0.0001),
}


@pytest.mark.parametrize("why", WHY)
def test_why_no_statement_was_compared_is_told(why: str) -> None:
    """By what was missing: too few readings are no rare statements."""
    before, after, rate = WHY[why]
    shop = Shop(1)
    shop._rate[:] = rate
    found = compared(shop, {}, before=before, after=after)
    assert (found.compared, found.sentence) == (0, f"no statement was compared: {why}")


def test_sessions_that_ask_for_more_hide_no_victim() -> None:
    """A device was relieved and its sessions ask for three times as much: who waits longer all the same is hurt."""
    winners = dict.fromkeys(range(10, STATEMENTS), -0.8)
    found = compared(Shop(2), {**winners, 3: 2.0}, relief=3.0)
    assert ids(found.slower) == ["s3"]
    assert found.faster_count >= 20


def test_who_gains_nothing_from_a_relieved_device_is_not_hurt() -> None:
    """The load has fallen; a statement that takes no longer than ever is not called slower."""
    found = compared(Shop(2, noise=0.03), {3: 0.25}, load=0.75, relief=1.3)
    assert found.slower == ()


def test_no_effect_is_no_alarm() -> None:
    """Six moves that do nothing, some while the load rises or falls: not one statement is called slower."""
    worlds = [compared(Shop(seed), {}, load=load) for seed, load in enumerate([1.0, 1.2, 0.8] * 2)]
    assert sum(each.compared for each in worlds) == 6 * STATEMENTS
    assert [each.slower for each in worlds if each.slower] == []
    assert sum(each.faster_count for each in worlds) <= 1


def test_a_plain_comparison_would_raise_alarms() -> None:
    """At a fifth more load most statements take at least a tenth longer: none of them because of a move."""
    was, _ = Shop(5).intervals(96, 0)
    now, _ = Shop(5).intervals(12, 106, 1.2)
    took = [sum(each.seconds.sum() for each in side) / sum(each.executions.sum() for each in side)
            for side in (was, now)]  # fmt: skip
    assert took[1] / took[0] > 1.1


def test_most_regressions_are_found() -> None:
    """Statements that read half as long again because of a move, one in each of six worlds."""
    found = [compared(Shop(seed), {seed: 0.5}) for seed in range(6)]
    assert sum(f"s{seed}" in ids(each.slower) for seed, each in enumerate(found)) >= 5
    assert sum(each.slower_count for each in found) <= 6


def test_what_matters_little_is_no_alarm() -> None:
    """A statement that waits for a hundredth of its time and then for two is not called slower."""
    shop = Shop(1)
    shop._cpu[7] = 50 * shop._reads[7] * IDLE * 2
    assert compared(shop, {7: 1.0}).slower == ()


def test_the_worst_comes_first_and_few_are_kept() -> None:
    """By the time that they take more of together, not by how much slower one execution is."""
    found = compared(Shop(3), dict.fromkeys(range(8), 3.0))
    assert (found.slower_count, len(found.slower)) == (8, 5)
    added = [each.change * each.seconds_before * each.executions_after for each in found.slower]
    assert added == sorted(added, reverse=True)


def test_too_little_is_no_comparison() -> None:
    """A statement that ran less than twenty times, or in too few intervals, is left out."""
    shop = Shop(1)
    shop._rate[:] = (LEAST_EXECUTIONS - 8) / (12 * STEP.total_seconds())
    assert compared(shop, {}).compared < 5
    assert compared(Shop(1), {}, before=5).compared == 0
    none = np.empty(0)
    assert compare_statements([], [], StatementLoad(at=none, seconds=none, asked=none, placed=none)).compared == 0


def test_where_no_load_is_known_its_own_counts() -> None:
    """An engine that counts no reads by object: how often the statement ran stands for the load."""
    shop, none = Shop(1), np.empty(0)
    (was, _), (now, _) = shop.intervals(96, 0), shop.intervals(12, 106, changes={3: 2.0})
    found = compare_statements(was, now, StatementLoad(at=none, seconds=none, asked=none, placed=none))
    assert ids(found.slower) == ["s3"]


def test_holm_bounds_all_of_them_together() -> None:
    """By hand: the smallest against a quarter of the limit, the next against a third, and none after one that fails."""
    limit = FALSE_ALARMS
    assert _holm(np.array([0.9, limit / 4, limit, limit / 3]), 4).tolist() == [False, True, False, True]
    assert _holm(np.array([limit / 3, limit / 4 * 1.01, 0.0001, limit]), 4).tolist() == [True, True, True, True]
    assert _holm(np.array([limit / 2 * 1.01, limit]), 2).tolist() == [False, False]
    assert _holm(np.array([limit / 4 * 1.01]), 4).tolist() == [False], "those that did not change count too"
    assert _holm(np.empty(0), 0).tolist() == []


def test_what_is_faster_is_seen_at_the_load_that_was_asked_for() -> None:
    """Twice as much would be asked of the device had nothing moved: it is the moves that make all faster."""
    found = compared(Shop(2, noise=0.03), {}, load=0.5, relief=2.0)
    assert found.faster_count >= 20
    assert found.slower == ()


def test_those_with_most_time_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    """A handful of many: the one that takes most time is among them, that with least is not."""
    monkeypatch.setattr("agent.moving.statement_effects.MOST_COMPARED", 5)
    shop = Shop(1)
    took = shop._rate * (shop._cpu + shop._reads * 2 * IDLE)
    most, least = int(np.argmax(took)), int(np.argmin(took))
    found = compared(shop, {most: 1.0, least: 3.0})
    assert (found.compared, ids(found.slower)) == (5, [f"s{most}"])


def test_an_interval_whose_load_is_unknown_is_left_out() -> None:
    """The agent was restarted in it, say: the others tell."""
    shop, seconds = Shop(1), STEP.total_seconds()
    (was, load_before), (now, load_after) = shop.intervals(96, 0), shop.intervals(12, 106, changes={3: 2.0})
    at = np.array([each.ended_at.timestamp() for each in (*was, *now)])
    loads = np.concatenate([load_before, load_after]) * seconds
    seen = np.ones(len(at), dtype=np.bool_)
    seen[[20, 100]] = False
    known = StatementLoad(at=at[seen], seconds=np.full(int(seen.sum()), seconds), asked=loads[seen], placed=loads[seen])
    assert ids(compare_statements(was, now, known).slower) == ["s3"]


def test_the_worst_is_worst_while_it_runs() -> None:
    """By the time that it adds to a second in which it is seen: a job of one half hour stands above a constant load."""
    shop, none = Shop(3, noise=0.02), np.empty(0)
    shop._rate[:], shop._reads[:], shop._cpu[:] = 1.0, 10.0, 0.001
    shop._rate[1] = 2.0
    (was, _), (now, _) = shop.intervals(96, 0), shop.intervals(12, 106, changes={0: 3.0, 1: 3.0})

    def without(interval: StatementInterval) -> StatementInterval:
        kept = [row for row, id_ in enumerate(interval.ids) if id_ != "s1"]
        return replace(
            interval, ids=tuple(interval.ids[row] for row in kept), executions=interval.executions[kept],
            seconds=interval.seconds[kept], read_wait=interval.read_wait[kept], reads=interval.reads[kept],
        )  # fmt: skip

    now[4:] = [without(each) for each in now[4:]]
    known = StatementLoad(at=none, seconds=none, asked=none, placed=none)
    assert ids(compare_statements(was, now, known).slower) == ["s1", "s0"]
