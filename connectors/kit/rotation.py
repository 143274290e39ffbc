"""How often an expensive reading of counters may be made, and what to read where all at once is too much. Pure.

``Rest`` keeps readings that take longer than their share of the time apart. It counts a reading that ran into its time
limit as one that was answered: otherwise a server that cannot answer in time would be asked for ever.

``Rotation`` reads counters object by object within the same share: the objects that most waits belong to at each
turn, the others one after the other. The totals that it keeps grow by what an object did per second since its last
reading, for the length of one interval. What was not read in an interval is named, so that nobody takes it for cold.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from connectors.kit.contract import Clock, TimedOut
from connectors.model.formatting import format_seconds
from connectors.model.observation import F64, I64, Bools

USUAL_INTERVAL = 60.0  # seconds; of readings whose interval is not known yet
SHARE = 0.05  # of the time that readings may take, so of a core of the server at most
LEAST_SECONDS = 3.0  # the share of the usual interval: where samples are nearer together, people want to see more
HOT_WAITS = 0.95  # of all waits: the fewest objects that have so much of them are read at each turn
HOT_SHARE = 0.75  # of the time that may be taken, before others have their turn
LONGEST_SAVING = 600.0  # seconds whose share may be saved up


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


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much of the units a sample has read."""

    units: int
    read: int  # at this turn
    never: int  # of them, not read yet
    oldest_seconds: float  # since the reading of the others that is longest ago

    @property
    def sentence(self) -> str:
        """For people."""
        said = f"counters of {self.read:,} of {self.units:,} units were read at this turn"
        if self.never:
            return f"{said}, {self.never:,} have not been read yet"
        return f"{said}, the others up to {format_seconds(self.oldest_seconds)} before"


class Rotation:
    """Counters of units that are read object by object."""

    def __init__(self, counters: int, waits: int, *, share: float = SHARE) -> None:
        """No unit is known yet.

        Args:
            counters: how many each unit has.
            waits: the row of the counter by which objects are called hot.
            share: of the time that readings may take.
        """
        self._share, self._waits = share, waits
        self._ids: I64 = np.empty(0, dtype=np.int64)
        self._objects: I64 = np.empty(0, dtype=np.int64)  # of each unit
        self._rows_of: dict[int, I64] = {}  # of each object
        self._raw = np.zeros((counters, 0))  # as last read
        self._totals = np.zeros((counters, 0))  # as samples have them
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
        if np.array_equal(ids, self._ids):
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
        order = np.argsort(objects, kind="stable")
        names, starts = np.unique(objects[order], return_index=True)
        rows = np.split(order, starts[1:]) if len(names) else []
        self._rows_of = {int(name): own for name, own in zip(names, rows, strict=True)}

    def begin(self, now: float) -> None:
        """Begin a turn: the time that has gone by since the last one may be used."""
        gone = now - self._turn_at if now > self._turn_at else 0.0
        self._interval, self._turn_at = gone, now
        self._saved = min(self._saved + gone * self._share, LONGEST_SAVING * self._share)
        self._fresh[:] = False

    def due(self) -> Iterator[int]:
        """Objects to read now, for as long as time is left; ``put`` is called before the next one is asked for."""
        hot = self._hot()
        others_from = self._saved * (1.0 - HOT_SHARE)
        for object_id in hot:
            if self._saved <= others_from:
                break
            yield object_id
        for object_id in self._by_age(set(hot)):
            if self._saved <= 0.0:
                return
            yield object_id

    def put(self, object_id: int, ids: I64, values: I64, began: float, ended: float) -> None:
        """What an object's counters are.

        Args:
            object_id: that was asked for.
            ids: of its units that have counters.
            values: shape ``(counters, len(ids))``.
            began: when it was asked for.
            ended: when the answer was there.
        """
        self._saved -= ended - began
        self._put(self._rows_of[object_id], ids, values, began)

    def put_all(self, ids: I64, values: I64, at: float) -> None:
        """What all counters are, read at once; it takes nothing of the time for single objects."""
        self._put(np.arange(len(self._ids)), ids, values, at)

    def totals(self) -> tuple[I64, I64, I64]:
        """Ids, counters that only rise, and the ids that were not read in the interval that ends now."""
        return self._ids, np.rint(self._totals).astype(np.int64), self._ids[~self._fresh]

    def coverage(self, now: float) -> Coverage:
        """How much of the units was read."""
        never = int(np.isnan(self._read_at).sum())
        ages = now - self._read_at[~np.isnan(self._read_at)]
        read = int((self._read_at >= self._turn_at).sum())
        return Coverage(len(self._ids), read, never, float(ages.max(initial=0.0)))

    def _put(self, asked: I64, ids: I64, values: F64 | I64, at: float) -> None:
        """Counters of units that were asked for; who has no row has no counter above zero."""
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
        seconds = np.where(fit, gone, 1.0)
        first = np.isnan(self._read_at[rows])
        self._totals[:, rows[first]] = values[:, first]
        self._totals[:, rows] += np.where(fit, rise, 0.0) * np.minimum(1.0, self._interval / seconds)
        paced = rise[self._waits] / seconds
        self._heat[rows] = np.where(fit, paced, np.where(self._paced[rows], self._heat[rows], values[self._waits]))
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
