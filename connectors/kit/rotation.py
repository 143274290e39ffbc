"""How often an expensive reading of counters may be made, and what to read where all at once is too much. Pure.

``CounterReader`` reads the counters of all units with one call, which has a time limit of its own below the interval.
Where that takes more than its share of the time, it reads them object by object, and tries all at once again after an
hour or more.

``Rest`` keeps readings that take longer than their share of the time apart. It counts a reading that ran into its time
limit as one that was answered: otherwise a server that cannot answer in time would be asked for ever.

``Rotation`` reads counters object by object within the same share: the objects that most waits belong to at each
turn, the others one after the other. The totals that it keeps grow by what an object did per second since its last
reading, for the length of one interval. What was not read in an interval is named, so that nobody takes it for cold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from connectors.kit.contract import Clock, TimedOut
from connectors.model.formatting import format_seconds
from connectors.model.observation import F64, I64, Bools, Counts, Coverage

USUAL_INTERVAL = 60.0  # seconds; of readings whose interval is not known yet
SHARE = 0.05  # of the time that readings may take, so of a core of the server at most
LEAST_SECONDS = 3.0  # the share of the usual interval: where samples are nearer together, people want to see more
HOT_WAITS = 0.95  # of all waits: the fewest objects that have so much of them are read at each turn
HOT_SHARE = 0.75  # of the time that may be taken, before others have their turn
A_LITTLE = 0.1  # of the time that is left: a call that takes no more may ask for twice as many objects
ABOVE_ALL = 2.0**62  # counters
LONGEST_SAVING = 600.0  # seconds whose share may be saved up
OBJECT_SHARE = 0.8  # of the time that readings may take, where counters are read object by object; the rest is for
# trying again whether all can be read at once
ALL_AGAIN_SECONDS = 3600.0  # no sooner than that
BY_OBJECT = " by object"  # of a sample's epoch
CALL_SHARE = 0.8  # of an interval, that one call may take
DEAR_SECONDS = 0.5  # less is cheap, whatever all take
NO_CHEAPER = 0.5  # of the time of all: a call for some that takes so long looks at all of them
DEAR_CALLS = 2  # of such, one after the other, after which some are not asked for
OBJECTS_AGAIN_SECONDS = 24 * 3600.0  # until they are


def is_too_long(seconds: float, interval: float, share: float = SHARE) -> bool:
    """Whether a reading that is made once an interval (NaN: not known yet) takes more than its share of the time."""
    return seconds > max(LEAST_SECONDS, share * (interval if interval > 0 else USUAL_INTERVAL))


class Rest:
    """When an expensive reading may be made again."""

    def __init__(self, what: str, share: float = SHARE) -> None:
        """Nothing was read yet.

        Args:
            what: is read; the subject of a sentence.
            share: of the time that readings may take.
        """
        self._what, self._share = what, share
        self._until, self._seconds = float("-inf"), 0.0
        self._wanted = self._interval = float("nan")
        self._was_long = False

    def check(self, now: float) -> None:
        """See that the time of rest is over; called each time that a reading is wanted.

        Raises:
            TimedOut: it is not.
        """
        self._interval, self._wanted = now - self._wanted, now
        if now < self._until:
            raise TimedOut(
                f"{self._what} took {format_seconds(self._seconds)}; hotplace reads again in "
                f"{format_seconds(self._until - now)}, so that this takes {self._share:.0%} of the time at most",
                advice="Sample less often, or look at why the server takes so long.",
            )

    def note(self, began: float, ended: float, *, failed: bool = False) -> None:
        """A reading has ended, by an answer or by an error. One that was slow for once changes nothing."""
        was_long, self._was_long = self._was_long, is_too_long(ended - began, self._interval, self._share)
        if self._was_long and (was_long or failed):
            self.begin(ended - began, ended)

    @contextmanager
    def reading(self, clock: Clock) -> Iterator[None]:
        """Around a reading: it counts when it is answered, and when it runs into its time limit.

        A server has worked as long for the one as for the other.
        """
        began = clock.monotonic()
        try:
            yield
        except TimedOut:
            self.note(began, clock.monotonic(), failed=True)
            raise
        self.note(began, clock.monotonic())

    def begin(self, seconds: float, now: float) -> None:
        """Rest from now on, for a reading that took so long."""
        self._seconds, self._until = seconds, now + seconds * (1.0 / self._share - 1.0)


class Rotation:
    """Counters of units that are read object by object."""

    def __init__(self, waits: F64, *, marks: Sequence[int] = (), share: float = SHARE) -> None:
        """No unit is known yet.

        Args:
            waits: weight of each counter in the sum by which objects are called hot, shape ``(counters,)``.
            marks: rows of those that count no work: where one of them has changed, the others began anew.
            share: of the time that readings may take.
        """
        self._share, self._waits = share, waits
        self._marks = list(marks)
        self._ids: I64 = np.empty(0, dtype=np.int64)
        self._objects: I64 = np.empty(0, dtype=np.int64)  # of each unit
        self._order: I64 = np.empty(0, dtype=np.int64)  # rows of the units by object
        self._names: I64 = np.empty(0, dtype=np.int64)  # of the objects, ascending
        self._starts: I64 = np.empty(0, dtype=np.int64)  # place in that order of the first unit of each
        self._raw = np.zeros((len(waits), 0))  # as last read
        self._totals = np.zeros((len(waits), 0))  # as samples have them
        self._read_at: F64 = np.empty(0)  # NaN: never
        self._fresh: Bools = np.empty(0, dtype=np.bool_)  # read at this turn, with a reading before
        self._heat: F64 = np.empty(0)  # waits per second of each unit; before two readings, in all
        self._paced: Bools = np.empty(0, dtype=np.bool_)  # it is per second
        self._turn_at, self._interval = float("nan"), 0.0
        self._saved = 0.0  # seconds that readings may take now

    def know(self, ids: I64, objects: I64) -> None:
        """Take units in, and drop those that are not among them.

        Args:
            ids: ascending and unique.
            objects: to which each belongs, asked for together.
        """
        if np.array_equal(ids, self._ids) and np.array_equal(objects, self._objects):
            return
        at = np.searchsorted(self._ids, ids)
        kept = np.zeros(len(ids), dtype=np.bool_)
        inside = at < len(self._ids)
        kept[inside] = self._ids[at[inside]] == ids[inside]
        old = at[kept]

        def carry(values: F64, empty: float) -> F64:
            made = np.full((*values.shape[:-1], len(ids)), empty)
            made[..., kept] = values[..., old]
            return made

        self._raw, self._totals = carry(self._raw, 0.0), carry(self._totals, 0.0)
        self._read_at, self._heat = carry(self._read_at, np.nan), carry(self._heat, 0.0)
        self._fresh = carry(self._fresh.astype(np.float64), 0.0) > 0
        self._paced = carry(self._paced.astype(np.float64), 0.0) > 0
        self._ids, self._objects = ids, objects
        self._order = np.argsort(objects, kind="stable")
        self._names, self._starts = np.unique(objects[self._order], return_index=True)

    def forget(self) -> None:
        """Compare nothing with what was read so far: the server's counters began anew."""
        self._raw[:] = ABOVE_ALL  # so that each counter seems to have fallen; when it was read still orders the turns
        self._fresh[:] = False

    def begin(self, now: float) -> None:
        """Begin a turn: the time that has gone by since the last one may be used."""
        gone = now - self._turn_at if now > self._turn_at else 0.0
        self._interval, self._turn_at = gone, now
        self._saved = min(self._saved + gone * self._share, LONGEST_SAVING * self._share)
        self._fresh[:] = False

    def due(self, at_once: int = 1) -> Iterator[list[int]]:
        """Objects to read now, for as long as time is left; ``put`` is called before the next are asked for.

        Args:
            at_once: objects that one call may ask for; fewer where these would take much of the time that is left.
        """
        hot, size = self._hot(), 1
        others_from = self._saved * (1.0 - HOT_SHARE)
        for objects, until in ((iter(hot), others_from), (self._by_age(set(hot)), 0.0)):
            while self._saved > until:
                some = [each for _, each in zip(range(size), objects, strict=False)]  # in this order: none is lost
                if not some:
                    break
                before = self._saved
                yield some
                size = min(at_once, 2 * size) if before - self._saved <= A_LITTLE * before else max(1, size // 2)

    def put(self, objects: Sequence[int], ids: I64, values: F64 | I64, began: float, ended: float) -> None:
        """What the counters of some objects are.

        Args:
            objects: that were asked for.
            ids: of their units that have counters, ascending.
            values: shape ``(counters, len(ids))``.
            began: when it was asked for.
            ended: when the answer was there.
        """
        self.take(ended - began)
        rows = [self._rows(each) for each in objects]
        self._put(rows[0] if len(rows) == 1 else np.sort(np.concatenate(rows)), ids, values, began)

    def take(self, seconds: float) -> None:
        """Take so much of the time that may be used: a call has taken it."""
        self._saved -= seconds

    def put_all(self, ids: I64, values: F64 | I64, at: float) -> None:
        """What all counters are, read at once; it takes nothing of the time for single objects."""
        self._put(np.arange(len(self._ids)), ids, values, at)

    def totals(self) -> tuple[I64, F64, I64]:
        """Ids, counters that only rise, and the ids that were not read in the interval that ends now.

        Counters are not rounded: what an object did in an hour is told in parts, and of a few scans all must be there
        with the reads that they explain.
        """
        return self._ids, self._totals.copy(), self._ids[~self._fresh]

    def coverage(self, now: float) -> Coverage:
        """How much of the units was read."""
        never = int(np.isnan(self._read_at).sum())
        ages = now - self._read_at[~np.isnan(self._read_at)]
        read = int((self._read_at >= self._turn_at).sum())
        return Coverage(len(self._ids), read, never, float(ages.max(initial=0.0)))

    def _rows(self, object_id: int) -> I64:
        """Of its units; none where the catalog has none of it by now."""
        at = int(np.searchsorted(self._names, object_id))
        if at == len(self._names) or self._names[at] != object_id:
            return np.empty(0, dtype=np.int64)
        ends = self._starts[at + 1] if at + 1 < len(self._starts) else len(self._order)
        return self._order[self._starts[at] : ends]

    def _put(self, asked: I64, ids: I64, values: F64 | I64, at: float) -> None:
        """Counters of units that were asked for; who has no row has no counter above zero."""
        if not len(asked):
            return
        own = self._ids[asked]
        at_row = np.minimum(np.searchsorted(own, ids), len(own) - 1)
        known = own[at_row] == ids
        found = np.zeros((len(self._raw), len(asked)))
        found[:, at_row[known]] = values[:, known]
        self._absorb(asked, found, at)

    def _absorb(self, rows: I64, values: F64, at: float) -> None:
        gone, rise = at - self._read_at[rows], values - self._raw[:, rows]
        # A total that fell began anew, at a time that is not known; the first reading has none to be compared with.
        fit = (gone > 0) & (rise >= 0).all(axis=0)
        if self._marks:
            fit &= (rise[self._marks] == 0).all(axis=0)
        seconds = np.where(fit, gone, 1.0)
        first = np.isnan(self._read_at[rows])
        self._totals[:, rows[first]] = values[:, first]
        self._totals[:, rows] += np.where(fit, rise, 0.0) * np.minimum(1.0, self._interval / seconds)
        for mark in self._marks:
            self._totals[mark, rows] = values[mark]
        paced = np.maximum(0.0, self._waits @ rise) / seconds
        unpaced = np.where(self._paced[rows], self._heat[rows], np.maximum(0.0, self._waits @ values))
        self._heat[rows] = np.where(fit, paced, unpaced)
        self._paced[rows] |= fit
        self._fresh[rows] = fit
        self._raw[:, rows], self._read_at[rows] = values, at

    def _hot(self) -> list[int]:
        """Objects with most of the waits, those first that have waited most since they were read.

        While none has a pace, by all that they ever waited.
        """
        counted = self._paced if (self._paced & (self._heat > 0)).any() else ~np.isnan(self._read_at)
        objects, where = np.unique(self._objects[counted], return_inverse=True)
        heat = np.bincount(where, weights=self._heat[counted], minlength=len(objects))
        order = np.argsort(-heat, kind="stable")
        before = np.cumsum(heat[order]) - heat[order]
        needed = (before < HOT_WAITS * heat.sum()) & (heat[order] > 0)
        read_at = np.full(len(objects), np.inf)
        np.minimum.at(read_at, where, self._read_at[counted])
        unseen = (heat * (self._turn_at - read_at))[order][needed]
        return [int(each) for each in objects[order][needed][np.argsort(-unseen, kind="stable")]]

    def _by_age(self, left_out: set[int]) -> Iterator[int]:
        """The others, never read ones first, then those whose reading is longest ago."""
        objects, where = np.unique(self._objects, return_inverse=True)
        read_at = np.full(len(objects), np.inf)
        np.minimum.at(read_at, where, np.where(np.isnan(self._read_at), -np.inf, self._read_at))
        for at in np.argsort(read_at, kind="stable"):
            if int(objects[at]) not in left_out and read_at[at] < self._turn_at:
                yield int(objects[at])


class Counters(NamedTuple):
    """Of units, by the engine's names."""

    ids: I64  # ascending
    by_name: Mapping[str, Counts | F64]  # each aligned with the ids


def no_units() -> tuple[I64, I64]:
    """Ids and objects before any catalog was read."""
    return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)


@dataclass(frozen=True, slots=True, kw_only=True)
class CounterSource:
    """How an engine's counters of units are read, and what they mean."""

    read_all: Callable[[float | None], Counters]  # given the seconds that it may take; None: what the session may
    read_some: Callable[[Sequence[int], float | None], Counters]  # of these objects
    units: Callable[[], tuple[I64, I64]]  # ids of the catalog, ascending; and the object that each is asked for with
    names: Sequence[str]  # of all counters
    waits: Mapping[str, float]  # weight of those that say how much is waited for
    marks: Sequence[str] = ()  # names of those that count no work: where one has changed, the others began anew
    at_once: int = 1  # objects that one call may ask for


@dataclass(frozen=True, slots=True)
class CounterReading:
    """Counters, and of which units they say nothing."""

    counters: Counters
    unread: I64 | None = None  # ids, ascending; None: all were read at once
    coverage: Coverage | None = None

    @property
    def suffix(self) -> str:
        """Of the epoch: totals that are put together by object are not those of the server."""
        return "" if self.unread is None else BY_OBJECT


class CounterReader:
    """Reads the counters of all units: with one call, or some of them where that call takes too long."""

    def __init__(
        self,
        source: CounterSource,
        clock: Clock,
        what: str,
        *,
        budget_seconds: float = float("inf"),
        share: float = SHARE,
        slow_answers: int = 2,
    ) -> None:
        """Nothing was read yet.

        Args:
            source: what it reads.
            clock: time.
            what: is read; the subject of a sentence.
            budget_seconds: a call for all that takes longer is too slow, whatever the interval.
            share: of the time that readings may take.
            slow_answers: one after the other, after which all are not read at once; a time-out is enough by itself.
        """
        self._source, self._clock, self._budget, self._share = source, clock, budget_seconds, share
        self._slow_answers, self._slow = slow_answers, 0
        self._rest = Rest(what, share)
        self._rotation: Rotation | None = None  # None: all are read at once
        self._wanted = float("nan")  # the last reading
        self._all_seconds = 0.0  # that a call for all took
        self._all_at = self._some_at = float("-inf")  # when all, or some, may be tried again
        self._dear = 0  # calls for some that were no cheaper, one after the other
        self._epoch = ""

    def read(self, now: float) -> CounterReading:
        """Of all units that are known.

        Raises:
            TimedOut: it takes too long, and counters cannot be read by object, or which units there are is not known.
            ConnectorError: another subclass that says what may be done.
        """
        interval, self._wanted = now - self._wanted, now
        self._rest.check(now)
        # Of the session's own limit at most; two samples a moment apart leave a call its usual time.
        limit = max(LEAST_SECONDS, CALL_SHARE * interval) if interval > 0 else None
        if now >= self._all_at:
            found = self._read_all(now, interval, limit)
            if found is not None:
                self._rotation = None
                return CounterReading(found)
        else:
            self._begin_turn(now)
        assert self._rotation is not None, "what takes too long has begun a rotation, or is an error"
        self._read_some(self._rotation, limit)
        ids, totals, unread = self._rotation.totals()
        by_name = dict(zip(self._source.names, totals, strict=True))
        return CounterReading(Counters(ids, by_name), unread, self._rotation.coverage(now))

    def note_epoch(self, epoch: str) -> None:
        """Take note of whose counters were read: nothing is compared with those of another."""
        if epoch != self._epoch and self._rotation is not None:
            self._rotation.forget()
        self._epoch = epoch

    def _begin_turn(self, now: float) -> Rotation:
        names = list(self._source.names)
        rotation = self._rotation = self._rotation or Rotation(
            np.array([self._source.waits.get(name, 0.0) for name in names]),
            marks=[names.index(name) for name in self._source.marks],
            share=OBJECT_SHARE * self._share,
        )
        rotation.know(*self._source.units())
        rotation.begin(now)
        return rotation

    def _read_all(self, began: float, interval: float, limit: float | None) -> Counters | None:
        """None where it takes too long: from then on counters are read object by object, this answer the first."""
        found: Counters | None = None
        failure: TimedOut | None = None
        try:
            found = self._source.read_all(limit)
        except TimedOut as error:
            failure = error
        ended = self._clock.monotonic()
        took = self._all_seconds = ended - began
        slow = took > self._budget or is_too_long(took, interval, self._share)
        self._slow = self._slow + 1 if slow else 0
        too_long = failure is not None or self._slow >= self._slow_answers
        self._all_at = float("-inf")
        if too_long and ended >= self._some_at and len(self._source.units()[0]):
            self._all_at = ended + max(ALL_AGAIN_SECONDS, took / ((1.0 - OBJECT_SHARE) * self._share))
            rotation = self._begin_turn(began)
            if found is not None:
                rotation.put_all(found.ids, self._matrix(found), began)
            return None
        if too_long:
            self._rest.begin(took, ended)
        if failure is not None:
            raise failure
        return found

    def _read_some(self, rotation: Rotation, limit: float | None) -> None:
        for objects in rotation.due(self._source.at_once):
            began = self._clock.monotonic()
            try:
                found = self._source.read_some(objects, limit)
            except TimedOut:
                rotation.take(self._clock.monotonic() - began)
                self._note_call(began)
                return  # what is left of the time is not for the same again
            rotation.put(objects, found.ids, self._matrix(found), began, self._clock.monotonic())
            self._note_call(began)

    def _note_call(self, began: float) -> None:
        """See whether it is any use to ask for some: a view that has no index is looked through for each.

        Raises:
            TimedOut: it is not; all are read at once again, and seldom.
        """
        ended = self._clock.monotonic()
        self._dear = self._dear + 1 if ended - began >= max(DEAR_SECONDS, NO_CHEAPER * self._all_seconds) else 0
        if self._dear < DEAR_CALLS:
            return
        self._dear, self._rotation = 0, None
        self._all_at, self._some_at = float("-inf"), ended + OBJECTS_AGAIN_SECONDS
        self._rest.begin(self._all_seconds, ended)
        self._rest.check(ended)

    def _matrix(self, counters: Counters) -> F64:
        """Shape ``(counters, ids)``."""
        rows = [np.asarray(counters.by_name[name], dtype=np.float64) for name in self._source.names]
        return np.stack(rows)
