"""Takes one sample: counters of all segments by object, read times by tablespace, figures of the database."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from connectors.base import Clock, ConnectorError, PrivilegeMissing
from connectors.counters.grouping import GroupBy
from connectors.model import F64, I64, Sample
from connectors.oracle.reading.roles import role_figures
from connectors.oracle.reading.spaces import place_of
from connectors.oracle.reading.waits import BATCH, DIRECT, SEVERAL, SHARED, SINGLE, counted, timed
from connectors.oracle.session.instances import Instances
from connectors.oracle.session.server import CONTAINERS_SINCE, Server
from connectors.oracle.session.sessions import Row
from connectors.storage_io import RoleFigures, SpaceFigures

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


class SegmentSampler:
    """Samples of all instances. Remembers the entries of this epoch that vanished, so that none comes back as news."""

    def __init__(
        self, instances: Instances, clock: Clock, server: Callable[[], Server], *, by_place: bool = False
    ) -> None:
        """Asks nothing yet.

        Args:
            instances: answers for all of them.
            clock: time.
            server: what it is, read at most once.
            by_place: figures of files go to the places that the files are in, not to tablespaces.
        """
        self._instances = instances
        self._clock = clock
        self._server = server
        self._by_place = by_place
        self._epoch = ""
        self._ids: I64 = np.empty(0, dtype=np.int64)
        self._values: I64 = np.empty((len(COUNTERS), 0), dtype=np.int64)

    def sample(self) -> Sample:
        """Six queries, whatever the number of segments; of each instance, where GV$ views cannot be asked.

        Raises:
            ConnectorError: a subclass that says what may be done; also when an instance came or went meanwhile.
        """
        taken_at, monotonic = self._clock.now(), self._clock.monotonic()
        epoch = self._read_epoch()
        ids, values = by_object(self._instances.rows("sample", doing="sampling counters"))
        spaces = space_figures(self._instances.rows("files", doing="sampling files"), by_place=self._by_place)
        system = "system_container" if self._server().in_cdb else "system"
        figures = database_figures(self._instances.rows(system, doing="sampling the database"))
        roles = self._roles()
        # Read before and after: with one look only, an instance that starts between two queries would mix counters
        # from zero with older ones, and the mixture would pass for a valid sample.
        if self._read_epoch() != epoch:
            raise ConnectorError(
                "an instance or the container was started while its counters were read",
                advice="The next sample starts a new series.",
            )
        # An entry that leaves the view and comes back brings all that it ever counted: remembered at its last values,
        # its return is a difference and no burst.
        ids, values = self._with_remembered(epoch, ids, values)
        return Sample(
            taken_at=taken_at,
            monotonic_seconds=monotonic,
            epoch=epoch,
            physical_id=ids,
            counters=dict(zip(COUNTERS, values, strict=True)),
            database=figures,
            server_seconds=self._clock.monotonic() - monotonic,  # an upper bound: the wire is in it
            spaces=spaces,
            roles=roles,
        )

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

    def _with_remembered(self, epoch: str, ids: I64, values: I64) -> tuple[I64, I64]:
        """Add what this epoch had before and does not list now, at its last values."""
        if epoch == self._epoch:
            gone = ~np.isin(self._ids, ids, assume_unique=True)
            if bool(gone.any()):
                ids = np.concatenate([ids, self._ids[gone]])
                values = np.concatenate([values, self._values[:, gone]], axis=1)
                order = np.argsort(ids)
                ids, values = ids[order], values[:, order]
        self._epoch, self._ids, self._values = epoch, ids, values
        return ids, values


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
    times = {kind: _summed(total, events) * MICROSECONDS for kind, events in _READ_WAITS.items()}
    return {
        "reads": total.get("physical reads", 0.0),
        "transactions": total.get("user commits", 0.0) + total.get("user rollbacks", 0.0),
        "active_seconds": total.get("DB time", 0.0) * CENTISECONDS,
        "read_seconds": sum(times.values()),
        "write_seconds": sum(total.get(event, 0.0) for event in _WRITE_WAITS) * MICROSECONDS,
        **{timed(kind): seconds for kind, seconds in times.items()},
        **{counted(kind): _summed(total, [f"waits: {event}" for event in of]) for kind, of in _READ_WAITS.items()},
    }


def _summed(total: Mapping[str, float], names: Iterable[str]) -> float:
    return sum(total.get(name, 0.0) for name in names)
