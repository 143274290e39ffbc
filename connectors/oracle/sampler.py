"""Takes a sample: counters of segments, tablespaces and the instance, and reads and waits by kind.

``divide_reads`` splits the reads of each segment into single-block and multi-block reads, through the cache and past
it. For a segment, Oracle counts blocks read (B, direct ones included), direct ones (D) and read calls (R). No view that
is free of a licence counts single-block calls. Any other call reads between 2 and M blocks (M: 1 MiB of them), hence::

    max(0, 2R - B) <= single <= min(R, (M R - B) / (M - 1))

V$FILESTAT and V$IOSTAT_FILE count the single-block reads through the cache of a whole tablespace (F). They place all of
its segments at the same point between their bounds::

    single = lower + (upper - lower) * (F - sum of lower) / (sum of upper - sum of lower)          clipped to 0 .. 1

Segments in no known tablespace might have done any of these reads, so what they may have done is taken off F.
Multi-block calls of V$IOSTAT_FILE (LARGE) are not used: small ones are missing there.

``waited_seconds`` divides the waits of sessions among segments. V$SYSTEM_EVENT times waits of foreground sessions by
kind for the whole container, the files time single-block reads per tablespace, and no view free of a licence times a
segment::

    db file sequential read   single-block reads x read time of the tablespace, in all no more than the event
    db file parallel read     several single-block reads at once, in no file's count: its time by those blocks
    db file scattered read    a call for several blocks is waited for as a whole: its time by calls and blocks
    direct path read          single-block ones are waited for each, scans are issued ahead: what is left of its time
    read by other session     a wait for what another reads into the cache: its time by the waits above it

Meanings: Reference, appendix on wait events. One more block in a call costs about ``BLOCK_RATIO`` of a random read.

``role_figures`` holds the redo log, temporary and undo tablespaces; no view free of a licence tells sorts by unit.
``Sessions`` counts who takes part in the load. Time in a call is given in whole seconds, so it is not known how often
sessions of each kind come round.

``SegmentSampler`` takes the sample. ``read_statements`` reads V$SQLSTATS of every instance, which needs no pack.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import nan
from typing import Any

import numpy as np

from connectors.kit.contract import Clock, ConnectorError, PrivilegeMissing
from connectors.kit.counters import GroupBy, sum_by_id
from connectors.kit.population import Population, SessionKinds, SessionLook, kind_looks, sessions_of
from connectors.kit.rotation import SHARE, CounterReader, Counters, CounterSource
from connectors.kit.statements import READING_TEXT, StatementCounters, read_all
from connectors.model.observation import F64, I64, Role, RoleFigures, Sample, SpaceFigures
from connectors.oracle.catalog import CHUNK, NO_SEGMENTS, CountedSegments, of_ids, place_of
from connectors.oracle.sessions import CONTAINERS_SINCE, Instances, ReadSession, Row, Server, query


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadKinds:
    """Of each segment, shape ``(segments,)``."""

    single: F64  # calls for one block, through the cache
    calls: F64  # for several
    blocks: F64  # that those read
    direct_single: F64  # calls for one block, past the cache: LOBs with NOCACHE
    direct_calls: F64  # for several
    direct_blocks: F64


def divide_reads(delta: Mapping[str, F64], largest: F64, space: I64, files: F64) -> ReadKinds:
    """What each segment read how.

    Args:
        delta: by the names of ``COUNTERS``.
        largest: blocks that one call may move at most.
        space: row of the segment's tablespace, below 0 where it is not known.
        files: single-block reads of each tablespace, NaN where they were not counted.
    """
    blocks, requests = delta["blocks_read"], delta["requests"]
    direct = np.minimum(delta["blocks_direct"], blocks)
    missed = blocks - direct
    lower, upper = single_bounds(blocks, requests, largest)
    single = _likely_singles(np.minimum(lower, missed), np.minimum(upper, missed), space, files)
    direct_single = np.clip(lower - single, 0.0, direct)
    calls = np.maximum(0.0, requests - single - direct_single)
    cached_blocks, direct_blocks = missed - single, direct - direct_single
    several = cached_blocks + direct_blocks
    cached_share = np.divide(cached_blocks, several, out=np.ones(len(several)), where=several > 0)
    return ReadKinds(
        single=single,
        calls=calls * cached_share,
        blocks=cached_blocks,
        direct_single=direct_single,
        direct_calls=calls * (1.0 - cached_share),
        direct_blocks=direct_blocks,
    )


def single_bounds(blocks: F64, calls: F64, largest: F64 | float) -> tuple[F64, F64]:
    """The fewest and the most single-block calls among so many that read so many blocks, ``largest`` each at most."""
    lower = np.minimum(np.maximum(0.0, 2.0 * calls - blocks), calls)
    upper = np.clip((largest * calls - blocks) / (largest - 1.0), 0.0, calls)
    return lower, np.maximum(upper, lower)


def _likely_singles(lower: F64, upper: F64, space: I64, files: F64) -> F64:
    """Between the bounds, so that they add up to what the files of each tablespace counted."""
    inside = space >= 0
    if not len(files) or not inside.any():
        return lower
    anywhere = float(upper[~inside].sum())
    least = np.bincount(space[inside], weights=lower[inside], minlength=len(files))[: len(files)]
    most = np.bincount(space[inside], weights=upper[inside], minlength=len(files))[: len(files)]
    left = np.nan_to_num(files - anywhere - least, nan=0.0)
    share = np.clip(np.divide(left, most - least, out=np.zeros(len(files)), where=most > least), 0.0, 1.0)
    # One share for all segments of a tablespace: nothing tells which of them read how, and with a middle value for each
    # the sum would contradict what the files counted.
    return np.where(inside, lower + (upper - lower) * share[np.maximum(space, 0)], lower)


SINGLE, BATCH, SEVERAL, DIRECT, SHARED = "single_block", "batch_read", "multiblock", "direct_read", "shared_read"
KINDS = (SINGLE, BATCH, SEVERAL, DIRECT, SHARED)
BLOCK_RATIO = 0.02  # 8 KiB at 60 MB/s against 6 ms, or at 1 GB/s against 0.4 ms


def counted(kind: str) -> str:
    """The name of a kind's number of waits among the figures of the database."""
    return f"{kind}_waits"


def timed(kind: str) -> str:
    """The name of its seconds."""
    return f"{kind}_seconds"


def waited_seconds(
    reads: ReadKinds, from_flash: F64, read_seconds: F64, space: I64, files: F64, figures: Mapping[str, float]
) -> F64 | None:
    """Seconds that sessions waited for each segment; None where the server times no waits.

    Args:
        reads: of each segment.
        from_flash: single-block reads of each that a flash cache served.
        read_seconds: of a single-block read in each segment's tablespace, > 0.
        space: row of its tablespace, below 0 where it is not known.
        files: single-block reads of each tablespace, NaN where they were not counted.
        figures: of the database, by ``counted`` and ``timed``.
    """
    if not all(timed(kind) in figures and counted(kind) in figures for kind in KINDS):
        return None
    times, waits = ({kind: figures[name(kind)] for kind in KINDS} for name in (timed, counted))
    if sum(waits.values()) > 0 and not sum(times.values()) > 0:
        return None  # TIMED_STATISTICS is off
    batched = reads.single * (1.0 - _share_of_files(reads.single, space, files)) * (waits[BATCH] > 0)
    alone = np.maximum(0.0, reads.single - batched - from_flash) * read_seconds
    # Scaled down to the event but never up: waits beyond what segments explain were for the dictionary, undo or file
    # headers.
    cached = alone * min(1.0, _ratio(times[SINGLE], float(alone.sum())))
    cached = cached + _divide(times[BATCH], (batched if batched.any() else reads.single) * read_seconds)
    calls = (reads.calls + BLOCK_RATIO * reads.blocks) * read_seconds
    cached = cached + _divide(times[SEVERAL] * _ours(reads.calls, waits[SEVERAL]), calls)
    return cached + _divide(times[SHARED], cached) + _direct(reads, read_seconds, times[DIRECT], waits[DIRECT])


def _direct(reads: ReadKinds, read_seconds: F64, seconds: float, waits: float) -> F64:
    seconds *= _ours(reads.direct_single + reads.direct_calls, waits)
    single = reads.direct_single * read_seconds
    ahead = (reads.direct_calls + BLOCK_RATIO * reads.direct_blocks) * read_seconds
    if not ahead.any():
        return _divide(seconds, single)
    # Single-block ones first, since each is waited for in full; of calls that are issued ahead a session waits only for
    # what is late.
    certain = min(seconds, float(single.sum()))
    return _divide(certain, single) + _divide(seconds - certain, ahead)


def _share_of_files(single: F64, space: I64, files: F64) -> F64:
    """What part of the single-block reads of each segment's tablespace its files counted as such."""
    inside = space >= 0
    if not len(files) or not inside.any():
        return np.ones(len(single))
    total = np.bincount(space[inside], weights=single[inside], minlength=len(files))[: len(files)]
    known = np.isfinite(files) & (total > 0)
    share = np.minimum(1.0, np.divide(files, total, out=np.ones(len(files)), where=known))
    return np.where(inside, share[np.maximum(space, 0)], 1.0)


def _ours(calls: F64, waits: float) -> float:
    """What part of the waits the segments' calls can have caused: others are for SYSTEM and SYSAUX."""
    return min(1.0, _ratio(float(calls.sum()), waits))


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole > 0 else 1.0


def _divide(seconds: float, weights: F64) -> F64:
    """So many seconds by weight, none where nothing has any."""
    total = float(weights.sum())
    return weights * (seconds / total) if total > 0 else np.zeros(len(weights))


_COLUMNS = ("reads", "read_seconds", "writes", "write_seconds", "waited_seconds", "written_bytes")
_TIMES = frozenset({"read_seconds", "write_seconds", "waited_seconds"})


def role_figures(rows: Sequence[Row], *, timed: bool) -> tuple[RoleFigures, ...]:
    """Rows of ``sql/roles.sql``, those of one role and name added up; what is NULL in all of them is unknown.

    Args:
        rows: a role and name may come several times, by view and by instance.
        timed: TIMED_STATISTICS is on; off, every time is 0 and none is known.
    """
    sums: dict[tuple[str, str], dict[str, float]] = {}
    for role, name, *values in rows:
        known = sums.setdefault((str(role), str(name)), {})
        for column, value in zip(_COLUMNS, values, strict=True):
            if value is not None:
                scaled = float(value) * (MICROSECONDS if column in _TIMES else 1.0)
                known[column] = known.get(column, 0.0) + (scaled if timed or column not in _TIMES else nan)
    note = "" if timed else "TIMED_STATISTICS is off"
    return tuple(RoleFigures(role=Role(role), name=name, note=note, **known) for (role, name), known in sums.items())


SEGMENT = "segment_ids"  # no counter of work: another one after a move or truncate, see by_object
COUNTERS = (
    SEGMENT,
    "logical_reads",  # blocks; an estimate that moves in steps (V$SEGSTAT_NAME.SAMPLED), direct reads included
    "blocks_read",  # direct reads included
    "blocks_direct",
    "requests",  # calls, direct ones included
    "from_flash",  # reads that a flash cache served
    "blocks_written",  # direct writes included
    "written_direct",
    "scans",
)
_NONE: F64 = np.zeros(0)
CENTISECONDS, MILLISECONDS, MICROSECONDS = 1e-2, 1e-3, 1e-6
_READ_WAITS = {
    SINGLE: ("db file sequential read", "cell single block physical read"),  # the second: Exadata's name for it
    BATCH: ("db file parallel read",),  # each for several single blocks
    SEVERAL: ("db file scattered read", "cell multiblock physical read"),
    DIRECT: ("direct path read",),
    SHARED: ("read by other session",),
}
_WRITE_WAITS = ("direct path write", "free buffer waits", "write complete waits")


class Sessions:
    """Sessions in use, their kinds and the processors, added up over time."""

    def __init__(self) -> None:
        self._population, self._kinds = Population(), SessionKinds(fine=False)
        self._processors_seconds, self._counted_at = 0.0, nan  # processors times seconds, until then

    def figures(
        self, rows: Sequence[Row], counted: Mapping[str, float], *, processors: int, at: float
    ) -> dict[str, float]:
        """By their names in ``Sample.database``.

        Args:
            rows: of ``sql/sessions.sql``.
            counted: of the database so far, see ``database_figures``.
            processors: of all instances; 0: not known.
            at: seconds of the monotonic clock.
        """
        looks = kind_looks(map(_session, rows))
        found = self._population.total(sessions_of(looks), transactions=counted["transactions"], at=at)
        found |= self._kinds.total(looks, self._population.idle, {**counted, **found})
        if processors:
            if at > self._counted_at:
                self._processors_seconds += (at - self._counted_at) * processors
            self._counted_at = at
            found |= {
                "processor_seconds": counted["processor_seconds"], "processors_seconds": self._processors_seconds,
            }  # fmt: skip
        return found


def _session(row: Row) -> SessionLook:
    """A row of ``sql/sessions.sql``. Who is in no call has waited for its client ever since."""
    user, program, working, reading, transaction, seconds, waiting = row
    since = float(seconds or 0)
    paused = since if working or waiting is None else float(waiting) * MICROSECONDS
    return SessionLook(
        kind=f"{user}/{program}", working=bool(working), reading=bool(reading), transaction=bool(transaction),
        began=since, changed=paused,
    )  # fmt: skip


class SegmentSampler:
    """Samples of all instances. Remembers the entries of this epoch that vanished, so that none comes back as news."""

    def __init__(
        self,
        instances: Instances,
        clock: Clock,
        server: Callable[[], Server],
        *,
        by_place: bool = False,
        asked: Callable[[], CountedSegments] = lambda: NO_SEGMENTS,
        share: float = SHARE,
    ) -> None:
        """Asks nothing yet.

        Args:
            instances: answers for all of them.
            clock: time.
            server: what it is, read at most once.
            by_place: figures of files go to the places that the files are in, not to tablespaces.
            asked: segments of the catalog; while there are none, what takes too long is read less often.
            share: of the time that reading counters may take.
        """
        self._instances = instances
        self._clock = clock
        self._server = server
        self._by_place = by_place
        self._sessions = Sessions()
        self._asked = asked
        source = CounterSource(
            read_all=self._read_all, read_some=self._read_some, units=self._objects, names=COUNTERS,
            waits={"requests": 1.0}, marks=(SEGMENT,), at_once=CHUNK // 2,
        )  # fmt: skip
        self._counters = CounterReader(source, clock, "reading the counters of all segments", share=share)
        self._epoch = ""
        self._ids: I64 = np.empty(0, dtype=np.int64)
        self._values: I64 = np.empty((len(COUNTERS), 0), dtype=np.int64)

    def sample(self) -> Sample:
        """Seven queries, whatever the number of segments; of each instance, where GV$ views cannot be asked.

        Raises:
            TimedOut: the counters took longer than their share of the time, and the time of rest is not over.
            ConnectorError: another subclass that says what may be done; also when an instance came or went meanwhile.
        """
        taken_at, monotonic = self._clock.now(), self._clock.monotonic()
        epoch = self._read_epoch()
        self._counters.note_epoch(epoch)
        found = self._counters.read(monotonic)
        spaces = space_figures(self._instances.rows("files", doing="sampling files"), by_place=self._by_place)
        system = "system_container" if self._server().in_cdb else "system"
        figures = database_figures(self._instances.rows(system, doing="sampling the database"))
        roles = self._roles()
        figures |= self._in_use(figures, instances=epoch.count(";") + 1, at=monotonic)
        # Read before and after: with one look only, an instance that starts between two queries would mix counters
        # from zero with older ones, and the mixture would pass for a valid sample.
        if self._read_epoch() != epoch:
            raise ConnectorError(
                "an instance or the container was started while its counters were read",
                advice="The next sample starts a new series.",
            )
        counters = found.counters
        if found.unread is None:
            counters = self._with_remembered(epoch, counters)
        return Sample(
            taken_at=taken_at,
            monotonic_seconds=monotonic,
            epoch=epoch + found.suffix,
            physical_id=counters.ids,
            counters=counters.by_name,
            database=figures,
            server_seconds=self._clock.monotonic() - monotonic,  # an upper bound: the wire is in it
            spaces=spaces,
            roles=roles,
            unread=found.unread,
            coverage=found.coverage,
        )

    def _read_all(self, limit: float | None) -> Counters:
        return _counters_of(self._instances.rows("sample", doing="sampling counters", limit=limit))

    def _read_some(self, objects: Sequence[int], limit: float | None) -> Counters:
        """Of some units, each with the index of its LOB."""
        rows: list[Row] = []
        for ids, segments in zip(*map(of_ids, self._asked().of(objects)), strict=True):
            values = ids | {name.replace("i", "d"): segment for name, segment in segments.items()}
            doing = "sampling counters of some segments"
            rows += self._instances.rows("sample_some", values, doing=doing, limit=limit)
        return _counters_of(rows)

    def _objects(self) -> tuple[I64, I64]:
        """Segments of the catalog, and the unit that each is asked for with."""
        asked = self._asked()
        order = np.argsort(asked.ids, kind="stable")
        return asked.ids[order], asked.objects[order]

    def _in_use(self, figures: Mapping[str, float], *, instances: int, at: float) -> dict[str, float]:
        """None where a grant is missing."""
        try:
            rows = self._instances.rows("sessions", doing="sampling sessions")
        except PrivilegeMissing:
            # Forecasts become wider without it; ranking and moves need none of it.
            return {}
        return self._sessions.figures(rows, figures, processors=self._server().processors * instances, at=at)

    def _roles(self) -> tuple[RoleFigures, ...]:
        """None where a grant is missing; the doctor names it."""
        name = "roles_container" if self._server().in_cdb else "roles"
        try:
            rows = self._instances.rows(name, doing="sampling log, temporary and undo files")
        except PrivilegeMissing:
            return ()
        return role_figures(rows, timed=self._server().timed)

    def _read_epoch(self) -> str:
        """Identity of the container, and of every instance that counts with the start of its counters."""
        server = self._server()
        name = "epoch_container" if server.number >= CONTAINERS_SINCE else "epoch"
        rows = self._instances.rows(name, doing="reading the start of the counters")
        instances = "; ".join(" ".join(str(value) for value in row) for row in rows)
        return f"{server.dbid}-{server.container_uid}: {instances}"

    def _with_remembered(self, epoch: str, counters: Counters) -> Counters:
        """Add what this epoch had before and does not list now, at its last values.

        An entry that leaves the view and comes back brings all that it ever counted: remembered at its last values,
        its return is a difference and no burst.
        """
        ids, values = counters.ids, np.stack([counters.by_name[name] for name in COUNTERS]).astype(np.int64)
        if epoch == self._epoch:
            gone = ~np.isin(self._ids, ids, assume_unique=True)
            if bool(gone.any()):
                ids = np.concatenate([ids, self._ids[gone]])
                values = np.concatenate([values, self._values[:, gone]], axis=1)
                order = np.argsort(ids)
                ids, values = ids[order], values[:, order]
        self._epoch, self._ids, self._values = epoch, ids, values
        return _by_name(ids, values)


def _counters_of(rows: list[Row]) -> Counters:
    return _by_name(*by_object(rows))


def _by_name(ids: I64, values: I64) -> Counters:
    return Counters(ids, dict(zip(COUNTERS, values, strict=True)))


def by_object(rows: list[Row]) -> tuple[I64, I64]:
    """Fold the segments of each object.

    A moved object has a new row that starts from zero, and its old one may stay: their sum only rises while both are
    there. ``segment_ids`` tells that something happened: each DATAOBJ# times its rank in the object, so that a second
    segment never looks like the first one of an object that had none.

    Args:
        rows: OBJ#, DATAOBJ#, then the counters without ``segment_ids``; a pair of the first two may come once for each
            instance.

    Returns:
        Object ids, ascending; values of shape ``(len(COUNTERS), objects)``.
    """
    obj, segment, *counters = np.array(rows, dtype=np.int64).reshape(len(rows), len(COUNTERS) + 1).T
    segments = GroupBy(obj, segment)  # what several instances counted is added up
    objects = GroupBy(segments.keys[0])
    columns = (segments.keys[1] * objects.ranks(), *map(segments.aggregate, counters))
    ids, values = objects.keys[0], np.stack([objects.aggregate(column) for column in columns])
    worked = values[1:].any(axis=0)
    return ids[worked], values[:, worked]


def space_figures(rows: list[Row], *, by_place: bool = False) -> SpaceFigures:
    """Reads and times by tablespace or place.

    V$IOSTAT_FILE counts exactly what sessions waited for, synchronous reads of one block, in thousandths of a second;
    V$FILESTAT, in hundredths, stands in where the server keeps none of that.

    Args:
        rows: of ``sql/files.sql``; a file may come once for each instance.
        by_place: fold by the place of the path.
    """
    if not rows:
        return SpaceFigures(name=(), reads=_NONE, read_seconds=_NONE, writes=_NONE, write_seconds=_NONE)
    names = [place_of(str(row[1])) if by_place else str(row[0]) for row in rows]
    found = sorted(set(names))
    row_of = {name: row for row, name in enumerate(found)}
    figures = np.zeros((len(found), 6))
    np.add.at(figures, [row_of[name] for name in names], np.array([row[2:] for row in rows], dtype=np.float64))
    single, single_time, writes, write_time, sync, sync_time = figures.T
    timed = bool(sync.any())
    return SpaceFigures(
        name=tuple(found),
        reads=sync if timed else single,
        read_seconds=sync_time * MILLISECONDS if timed else single_time * CENTISECONDS,
        writes=writes,
        write_seconds=write_time * CENTISECONDS,
    )


def database_figures(rows: list[tuple[Any, ...]]) -> dict[str, float]:
    """Cumulative figures by the names that ``demand`` knows; a wait that never happened has no row and is zero."""
    total: defaultdict[str, float] = defaultdict(float)
    for name, value in rows:  # once for each instance, where each was queried separately
        total[name] += float(value)
    times = {kind: _sum(total, events) * MICROSECONDS for kind, events in _READ_WAITS.items()}
    return {
        "reads": total.get("physical reads", 0.0),
        "transactions": total.get("user commits", 0.0) + total.get("user rollbacks", 0.0),
        "active_seconds": total.get("DB time", 0.0) * CENTISECONDS,
        "processor_seconds": total.get("CPU used by this session", 0.0) * CENTISECONDS,
        "read_seconds": sum(times.values()),
        "write_seconds": sum(total.get(event, 0.0) for event in _WRITE_WAITS) * MICROSECONDS,
        **{timed(kind): seconds for kind, seconds in times.items()},
        **{counted(kind): _sum(total, [f"waits: {event}" for event in of]) for kind, of in _READ_WAITS.items()},
    }


def _sum(total: Mapping[str, float], names: Iterable[str]) -> float:
    return sum(total.get(name, 0.0) for name in names)


def read_statements(instances: Instances, clock: Clock, most: int) -> StatementCounters:
    """See ``ReadsStatements``. USER_IO_WAIT_TIME is what sessions waited for reads, and for little else.

    Counters have no epoch: a text that was aged out, or a restart, shows by counters that are smaller than before.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    taken_at, began = clock.now(), clock.monotonic()
    rows = instances.rows("statements", doing="reading statements")
    return sum_by_id(
        rows, most, taken_at=taken_at, epoch="", seconds_per_unit=MICROSECONDS,
        server_seconds=clock.monotonic() - began,
    )  # fmt: skip


def read_texts(session: ReadSession, ids: Collection[str]) -> Mapping[str, str]:
    """See ``ReadsStatements``.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    return read_all(ids, lambda id_: session.rows(query("statement_texts"), {"id": id_}, doing=READING_TEXT))
