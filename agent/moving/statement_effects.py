"""Which statements became slower or faster with moves, at the same load. Pure arithmetic.

A statement's evidence is its waits per read, interval by interval; what moves do not touch (processor, locks) stays
out of it. A statement that reads more blocks per execution than before does so because its objects have grown, or its
plan has changed: that is said, and not laid to moves. A split is another matter: what it leaves behind costs reads, so
that its statements are compared by execution. So are those of an engine that does not count reads; where it does not
time them, the whole time of an execution counts. Statements share the devices, so the load that counts is that of the
whole database; the rest is the arithmetic of ``effect``.

Good moves let sessions ask for more. A statement is faster than before at that load, had units stayed where they were;
it is slower only beyond what the load on the devices as they are used now explains, and only if its time has grown.

With many statements some would look slower by chance. Holm's method (1979) bounds the chance that any is called so
where none is, whatever the statements have in common.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from agent.model.outcomes import ComparedStatements, StatementChange, StatementInterval
from agent.moving.effect import LEAST_AFTER, LEAST_BEFORE, Effect, estimate, is_noise_known, share_beyond
from agent.moving.evidence import Evidences
from agent.moving.usual_wait import Evidence
from connectors.model.observation import F64

FALSE_ALARMS = 0.01  # chance that any statement is called slower, or any faster, where none is
LEAST_CHANGE = 0.10  # of its time, to be called slower or faster
LEAST_EXECUTIONS = 20  # before as well as after
LEAST_GROWTH = 1.1  # of the reads of an execution, to be named
MOST_COMPARED = 50  # those with most time
SHOWN = 5  # of either kind
_Sides = tuple[Sequence[StatementInterval], Sequence[StatementInterval]]  # before and after
FLOOR = 0.01  # of its time before: waits below it are no matter, and an interval without any has a logarithm


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementLoad:
    """What the reads of the whole database ask of the devices, by time, ascending; columns of one length."""

    at: F64  # end of each interval, seconds
    seconds: F64
    asked: F64  # seconds of reads where units were before the moves
    placed: F64  # the same where units were at the time

    @classmethod
    def of(cls, found: Evidences) -> Self:
        """By the evidence of the moves."""
        was, now = found.before, found.after
        return cls(
            at=np.concatenate([was.at, now.at]), seconds=np.concatenate([was.seconds, now.seconds]),
            asked=np.concatenate([was.expected, now.expected]),
            placed=np.concatenate([found.placed_before, found.placed_after]),
        )  # fmt: skip

    def within(self, intervals: Sequence[StatementInterval], name: str) -> F64 | None:
        """One of the columns, per second of each interval, NaN where it is not known; None where nothing is."""
        return np.array([self._within(each, getattr(self, name)) for each in intervals]) if len(self.at) else None

    def _within(self, interval: StatementInterval, column: F64) -> float:
        since, until = interval.started_at.timestamp(), interval.ended_at.timestamp()
        rows = slice(*np.searchsorted(self.at, [since, until], side="right"))
        seconds, busy = float(self.seconds[rows].sum()), float(column[rows].sum())
        return busy / seconds if seconds > 0 and busy > 0 else float("nan")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Runs:
    """One statement on one side of the moves, by interval."""

    evidence: Evidence
    executions: float  # sums
    seconds: float
    read_wait: float
    reads: float
    lasted: float  # seconds of all its intervals
    by_interval: F64  # reads

    @property
    def rate(self) -> float:
        """Seconds that were waited for one of what it is compared by: a read, or an execution."""
        return float(self.evidence.waited.sum() / self.evidence.expected.sum())

    def per_execution(self, name: str) -> float:
        """Mean of one of the sums."""
        return float(getattr(self, name)) / self.executions


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pair:
    """One statement before and after."""

    was: _Runs
    now: _Runs

    @property
    def waits(self) -> float:
        """What may change, as a share of its time."""
        return float(self.was.evidence.waited.sum()) / self.was.executions / self.was.per_execution("seconds")

    @property
    def plain(self) -> float:
        """Change of its waits as a share of its time before, whatever the load did."""
        return self.waits * (self.now.rate / self.was.rate - 1.0)

    @property
    def reads_more(self) -> bool:
        """Whether an execution takes more reads than before."""
        was, now = self.was.per_execution("reads"), self.now.per_execution("reads")
        return now > LEAST_GROWTH * was


@dataclass(frozen=True, slots=True, kw_only=True)
class _Judged:
    """A statement that took longer or shorter, and how easily chance would do the same."""

    change: StatementChange
    chance: float
    added: float  # seconds per second; less than 0: spared


def compare_statements(
    before: Sequence[StatementInterval],
    after: Sequence[StatementInterval],
    load: StatementLoad,
    *,
    by_execution: bool = False,
) -> ComparedStatements:
    """How the statements fared between two times.

    Args:
        before: intervals before the first move.
        after: those after settling.
        load: of the database at both times; empty where it is not known: then each statement's own counts.
        by_execution: more reads per execution count as well: a table was split.
    """
    loads = {name: [load.within(side, name) for side in (before, after)] for name in ("placed", "asked")}
    both = _with_most_time(before, after)
    compared, slower, faster, grown = 0, [], [], []
    for id_ in both:
        pairs = {name: _pair(id_, (before, after), sides, by_execution) for name, sides in loads.items()}
        if (pair := pairs["placed"]) is None:
            continue
        compared += 1
        if pair.plain >= LEAST_CHANGE:
            slower.append(_judge(id_, pair))
        elif pair.plain <= -LEAST_CHANGE:
            faster.append(_judge(id_, pairs["asked"] or pair))
        whole = _pair(id_, (before, after), loads["placed"], by_execution=True) if pair.reads_more else None
        if whole is not None and whole.plain >= LEAST_CHANGE:
            grown.append(_judge(id_, whole))
    worse = [each for each in _sure(slower, compared) if each.change.change >= LEAST_CHANGE]
    hurt = {each.change.id for each in worse}
    larger = [each for each in _sure(grown, compared) if each.change.change >= LEAST_CHANGE]
    larger = [each for each in larger if each.change.id not in hurt]
    longer = {each.change.id for each in larger}  # in all, however fast each of its reads is now
    better = [each for each in _sure(faster, compared) if each.change.change <= -LEAST_CHANGE]
    better = [each for each in better if each.change.id not in longer]
    return ComparedStatements(
        compared=compared,
        slower_count=len(worse),
        faster_count=len(better),
        slower=tuple(each.change for each in sorted(worse, key=lambda each: -each.added)[:SHOWN]),
        faster=tuple(each.change for each in sorted(better, key=lambda each: each.added)[:SHOWN]),
        grown_count=len(larger),
        grown=tuple(each.change for each in sorted(larger, key=lambda each: -each.added)[:SHOWN]),
        slower_seconds=sum(each.added for each in worse),
        faster_seconds=-sum(each.added for each in better),
        why_none="" if compared else _why_none(both, before, after, loads["placed"]),
    )


def _why_none(
    both: Sequence[str],
    before: Sequence[StatementInterval],
    after: Sequence[StatementInterval],
    loads: Sequence[F64 | None],
) -> str:
    """What was missing, so that no statement could be compared: a sentence without its end."""
    for side, least, when in ((before, LEAST_BEFORE, "before the moves"), (after, LEAST_AFTER, "after settling")):
        if len(side) < least:
            return f"statements were read over {len(side)} intervals {when}, and {least} are needed"
    if not both:
        return f"none of the {MOST_COMPARED} statements with most time ran before the moves as well as after them"
    for known, least, when in zip(loads, (LEAST_BEFORE, LEAST_AFTER), ("before", "after"), strict=True):
        if known is not None and int(np.isfinite(known).sum()) < least:
            return f"the load of the database {when} the moves is known for too few of the times statements were read"
    return f"none of {len(both)} statements ran {LEAST_EXECUTIONS} times before the moves as well as after them"


def _sure(judged: Sequence[_Judged | None], compared: int) -> list[_Judged]:
    """Those of so many compared that chance does not explain."""
    known = [each for each in judged if each is not None]
    surely = _holm(np.array([each.chance for each in known]), compared)
    return [each for each, is_sure in zip(known, surely, strict=True) if is_sure]


def _with_most_time(before: Sequence[StatementInterval], after: Sequence[StatementInterval]) -> list[str]:
    """Ids of the statements that ran on both sides, those with most time first."""
    sides = []
    for side in (before, after):
        sums: dict[str, float] = {}
        for interval in side:
            for id_, seconds in zip(interval.ids, interval.seconds.tolist(), strict=True):
                sums[id_] = sums.get(id_, 0.0) + seconds
        lasted = sum(each.length for each in side) or 1.0
        sides.append({id_: seconds / lasted for id_, seconds in sums.items()})
    was, now = sides
    both = was.keys() & now.keys()
    return sorted(both, key=lambda id_: (-max(was[id_], now[id_]), id_))[:MOST_COMPARED]


def _pair(id_: str, sides: _Sides, loads: Sequence[F64 | None], by_execution: bool) -> _Pair | None:
    """One statement before and after; None where it did not run often enough."""
    first = _runs_of(id_, sides[0], loads[0], unit=0.0)
    if first is None or len(first.evidence) < LEAST_BEFORE:
        return None
    floor = FLOOR * first.per_execution("seconds")
    was, now = (_runs_of(id_, *each, unit=floor) for each in zip(sides, loads, strict=True))
    if was is None or now is None or len(now.evidence) < LEAST_AFTER:
        return None
    pair = _Pair(was=was, now=now)
    return pair if by_execution else _at_equal_reads(pair)


def _at_equal_reads(pair: _Pair) -> _Pair:
    """The same compared by reads, where they are counted and timed, and were enough on both sides."""
    sides = []
    for side, least in ((pair.was, LEAST_BEFORE), (pair.now, LEAST_AFTER)):
        timed = math.isfinite(side.read_wait) and bool(np.isfinite(side.by_interval).all())
        if not timed or int((side.by_interval > 0).sum()) < least:
            return pair
        sides.append(replace(side, evidence=replace(side.evidence, expected=side.by_interval)))
    return _Pair(was=sides[0], now=sides[1])


def _runs_of(id_: str, intervals: Sequence[StatementInterval], loads: F64 | None, *, unit: float) -> _Runs | None:
    """One statement on one side, ``unit`` seconds added to the waits of each execution; None: too few executions."""
    rows = []
    for at, interval in enumerate(intervals):
        if id_ in interval.ids and not (loads is not None and np.isnan(loads[at])):
            row = interval.ids.index(id_)
            others = np.nan if loads is None else loads[at]
            counts = (each[row] for each in (interval.executions, interval.seconds, interval.read_wait, interval.reads))
            rows.append((interval.ended_at.timestamp(), interval.length, others, *counts))
    ended, lasted, others, executions, seconds, read_wait, reads = np.array(rows).reshape(len(rows), 7).T
    if executions.sum() < LEAST_EXECUTIONS:
        return None
    timed = bool(np.isfinite(read_wait).all())
    none = np.zeros(len(rows))
    evidence = Evidence(
        at=ended, seconds=lasted, waited=read_wait + unit * executions if timed else seconds, expected=executions,
        moved=none, elsewhere=none, others=None if loads is None else others,
    )  # fmt: skip
    sums = (float(each.sum()) for each in (executions, seconds, read_wait, reads, lasted))
    names = ("executions", "seconds", "read_wait", "reads", "lasted")
    return _Runs(evidence=evidence, by_interval=reads, **dict(zip(names, sums, strict=True)))


def _judge(id_: str, pair: _Pair) -> _Judged | None:
    """What the effect on its waits means for its time; None where it was waited for in too few intervals."""
    was, now = pair.was, pair.now
    effect = estimate(was.evidence, now.evidence)
    if effect is None or (effect.log_change > 0 and not is_noise_known(effect)):
        return None
    took, waits = was.per_execution("seconds"), pair.waits
    low, high = effect.ends()
    change = StatementChange(
        id=id_,
        executions_before=was.executions, executions_after=now.executions,
        seconds_before=took, seconds_after=now.per_execution("seconds"),
        read_wait_before=was.per_execution("read_wait"), read_wait_after=now.per_execution("read_wait"),
        reads_before=was.per_execution("reads"), reads_after=now.per_execution("reads"),
        change=waits * effect.change, change_low=waits * low, change_high=waits * high,
    )  # fmt: skip
    added = change.change * took * now.executions / now.lasted
    return _Judged(change=change, chance=_chance(effect), added=added)


def _chance(effect: Effect) -> float:
    """How often noise alone would be as far from no change."""
    least, most = sorted((effect.log_change, effect.log_change + effect.further))
    distance = max(least, -most, 0.0)
    return share_beyond(distance / effect.error, effect.freedom)


def _holm(chances: F64, compared: int) -> NDArray[np.bool_]:
    """Which are sure, so that any of all that were compared is by chance at most as often as ``FALSE_ALARMS``.

    Args:
        chances: of those that might be.
        compared: how many there are with those that plainly are not.
    """
    order = np.argsort(chances, kind="stable")
    limits = FALSE_ALARMS / (compared - np.arange(len(chances)))
    passed = np.cumprod(chances[order] <= limits).astype(np.bool_)  # after the first that fails none passes
    surely = np.zeros(len(chances), dtype=np.bool_)
    surely[order] = passed
    return surely
