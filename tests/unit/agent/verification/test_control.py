"""Statements that read nothing of what moved: how they are found, what they show, and what is judged beside them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from agent.model.outcomes import OutcomeVerdict, StatementInterval
from agent.moving.control import LEAST_INTERVALS, LEAST_READS, Control, UnitReads, find_control
from agent.moving.effect import verdict_of
from agent.moving.verifier import BY_CONTROL, SHARED, measure
from connectors.model.observation import F64
from tests.bench.verify import judge
from tests.bench.verify_worlds import make_case
from tests.unit.agent.verification.test_effect import evidence
from tests.unit.agent.verification.test_verifier import PROPOSAL, demand
from tests.unit.samples import an_effect

START = datetime(2026, 3, 2, tzinfo=UTC)
STEP = timedelta(minutes=3)
SHARES = {"moved": 1.0, "half": 0.5, "stays": 0.0, "stays too": 0.0}  # of a statement's reads, of what moved


def reads_by_chance(count: int, *, together: bool = False, seed: int = 1) -> dict[str, F64]:
    """Reads of each statement by interval; ``together``: all of them rise and fall as one."""
    generator = np.random.default_rng(seed)
    load = np.exp(generator.normal(0, 0.2, count))
    noise = 0.0 if together else 0.2
    return {name: np.round(1000 * load * np.exp(generator.normal(0, noise, count))) for name in SHARES}


def statements(reads: Mapping[str, F64], *, slower: Mapping[str, float], first: int = 0) -> list[StatementInterval]:
    """Intervals in which a read takes 10 ms, times what is given."""
    names = tuple(reads)
    return [
        StatementInterval(
            started_at=START + STEP * (first + at), ended_at=START + STEP * (first + at + 1), ids=names,
            executions=np.full(len(names), 100.0), seconds=np.full(len(names), 60.0),
            read_wait=np.array([each[at] * 0.01 * slower.get(name, 1.0) for name, each in reads.items()]),
            reads=np.array([each[at] for each in reads.values()]),
        )
        for at in range(len(next(iter(reads.values()))))
    ]  # fmt: skip


def units(reads: Mapping[str, F64], *, blocks: float = 1.0) -> UnitReads:
    """What units were read in the same time; so many blocks of a statement are one read of a unit."""
    moved = np.asarray(sum(SHARES[name] * each for name, each in reads.items()))
    whole = np.asarray(sum(reads.values()))
    until = np.array([(START + STEP * (row + 1)).timestamp() for row in range(len(whole))])
    return UnitReads(since=until - STEP.total_seconds(), until=until, moved=moved / blocks, every=whole / blocks)


def found(
    count: int = 120, *, blocks: float = 1.0, together: bool = False, after: Sequence[float] = (1.0,) * 5
) -> Control | None:
    """The control by so many intervals before."""
    reads = reads_by_chance(count, together=together)
    later = {name: each[: len(after)] for name, each in reads.items()}
    now = [
        replace(each, read_wait=each.read_wait * factor)
        for each, factor in zip(statements(later, slower={"moved": 0.1}, first=count), after, strict=True)
    ]
    return find_control(statements(reads, slower={}), now, units(reads, blocks=blocks))


@pytest.mark.parametrize("blocks", [1.0, 8.0])
def test_statements_that_read_nothing_of_what_moved_are_found(blocks: float) -> None:
    """By counts alone, and whatever an engine counts as one read; one that reads half of it there is none."""
    control = found(blocks=blocks)
    assert control is not None
    assert sorted(control.ids) == ["stays", "stays too"]
    assert control.slower == pytest.approx(0.0, abs=1e-9), "moves made others faster, not these"


def test_where_all_statements_rise_and_fall_together_nothing_is_known() -> None:
    """Which of them reads what moved cannot be told."""
    assert found(together=True) is None


def test_little_was_seen() -> None:
    """Fewer intervals than show what each statement reads, and none after."""
    assert found(LEAST_INTERVALS - 1) is None
    assert found(after=()) is None


def test_folded_history_is_left_out() -> None:
    """Units are known by ten minutes for most of the time: what each statement reads is found by the rest alone."""
    reads = reads_by_chance(120)
    fine = units(reads)
    folded = {name: getattr(fine, name)[:80].reshape(-1, 5) for name in ("moved", "every")}
    joined = UnitReads(
        since=np.append(fine.since[:80:5], fine.since[80:]), until=np.append(fine.until[4:80:5], fine.until[80:]),
        **{name: np.append(each.sum(axis=1), getattr(fine, name)[80:]) for name, each in folded.items()},
    )  # fmt: skip
    before, after = statements(reads, slower={}), statements(reads, slower={}, first=120)[:5]
    control = find_control(before, after, joined)
    assert control is not None
    assert sorted(control.ids) == ["stays", "stays too"]
    assert find_control(before[:100], after, joined) is None, "of twenty intervals alone"


def test_reads_that_are_not_counted_are_no_control() -> None:
    """An engine that tells waits and no reads."""
    reads = reads_by_chance(60)
    unknown = [replace(each, reads=np.full(len(SHARES), math.nan)) for each in statements(reads, slower={})]
    assert find_control(unknown, unknown[:5], units(reads)) is None


def test_the_control_shows_what_the_device_does() -> None:
    """Twice as slow for two intervals: its logarithm there, nothing elsewhere, and times without it are left out."""
    control = found(after=(1.0, 2.0, 2.0, 1.0, 1.0))
    assert control is not None
    assert control.slower[-5:] == pytest.approx([0.0, math.log(2), math.log(2), 0.0, 0.0], abs=1e-9)
    minutes = evidence(20)
    first = control.until[-5] - 180.0  # of the five intervals after
    known = control.beside(replace(minutes, at=first + 60.0 * np.arange(1, 21)))
    assert known.control is not None
    assert known.control == pytest.approx([0.0] * 3 + [math.log(2)] * 6 + [0.0] * 6, abs=1e-9)


def test_another_mix_of_controls_is_no_slower_device() -> None:
    """One of them always takes five times as long for a read: more of it is not noise; hardly any of it no mean."""
    reads = reads_by_chance(120)
    slow = {"stays": 5.0}
    later = {name: each[:4] * (20 if name == "stays" else 1) for name, each in reads.items()}
    few = {name: np.full(2, LEAST_READS - 1) for name in reads}
    after = statements(later, slower=slow, first=120) + statements(few, slower={"stays": 99.0}, first=124)
    control = find_control(statements(reads, slower=slow), after, units(reads))
    assert control is not None
    assert control.slower == pytest.approx(0.0, abs=1e-9)
    assert len(control.slower) == 124


@pytest.mark.parametrize(
    ("whole", "beside", "verdict"),
    [
        (0.10, 0.20, OutcomeVerdict.HURT),  # noise hides it, and the control does not
        (-0.01, 0.20, OutcomeVerdict.CANNOT_TELL),  # reads as a whole are faster: a device was relieved
        (0.10, 0.04, OutcomeVerdict.CANNOT_TELL),  # too little
        (0.10, 0.0, OutcomeVerdict.CANNOT_TELL),  # the device is slower, the moves are not why
    ],
)
def test_harm_beside_a_control(whole: float, beside: float, verdict: OutcomeVerdict) -> None:
    """It must be sure beside what did not move, and reads as a whole must not be faster."""
    effect = replace(an_effect(whole, error=0.1), beside=an_effect(beside, error=0.01))
    outcome = measure(PROPOSAL, demand(40.0), demand(44.0), 60.0, effect=effect)
    assert outcome.verdict is verdict
    is_hurt = verdict is OutcomeVerdict.HURT
    assert outcome.change == pytest.approx(beside if is_hurt else whole), "the figure that the verdict rests on"
    assert (BY_CONTROL in outcome.rests_on) is is_hurt


def test_two_tests_share_the_chance_to_be_wrong() -> None:
    """What is just sure enough by itself is not where a control is asked as well."""
    alone = an_effect(0.12, error=0.0335)
    assert verdict_of(alone) is OutcomeVerdict.HURT
    assert verdict_of(replace(alone, beside=an_effect(0.0))) is OutcomeVerdict.CANNOT_TELL


def test_a_rise_that_a_control_shows_as_well_is_no_harm() -> None:
    """A neighbour's load is sure to have made reads slower, and not the moves."""
    risen = an_effect(0.2, error=0.01)
    assert verdict_of(risen) is OutcomeVerdict.HURT
    assert verdict_of(replace(risen, beside=an_effect(0.01, error=0.01))) is OutcomeVerdict.CANNOT_TELL
    assert verdict_of(replace(risen, beside=an_effect(0.15, error=0.1))) is OutcomeVerdict.HURT, "not sure, but there"


@pytest.mark.parametrize(("beyond", "verdict"), [(0.09, OutcomeVerdict.CANNOT_TELL), (0.11, OutcomeVerdict.HURT)])
def test_half_of_a_rise_must_go_beyond_the_control(beyond: float, verdict: OutcomeVerdict) -> None:
    """It may be slowed down by less than the rest, and then a part of a neighbour's load is sure to look like harm."""
    risen = an_effect(0.2, error=0.01)
    assert verdict_of(replace(risen, beside=an_effect(beyond, error=0.001))) is verdict
    assert verdict_of(replace(an_effect(0.2, error=0.2), beside=an_effect(beyond, error=0.001))) is verdict
    effect = replace(risen, beside=an_effect(beyond, error=0.001))
    outcome = measure(PROPOSAL, demand(40.0), demand(44.0), 60.0, effect=effect)
    assert (SHARED in outcome.rests_on) is (verdict is OutcomeVerdict.CANNOT_TELL), "who reads it learns why"


@pytest.mark.parametrize(("effect", "hurt"), [("none", 0), ("spill", 0), ("helped", 0), ("hurt much", 2)])
def test_noise_of_hours_beside_a_control(effect: str, hurt: int) -> None:
    """A fifth more wait is found; no good move is called hurt because it relieved the device of the others."""
    generator = np.random.default_rng(11)
    judged = [judge(make_case(generator, effect, "neighbours 3 h", days=2), control=True) for _ in range(2)]
    assert [each.verdict for each in judged].count(OutcomeVerdict.HURT) == hurt
