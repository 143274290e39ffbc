"""Takes a sample: counters of partitions, filegroups, the instance and roles.

The log of a database and tempdb as figures of roles. SQL Server has no undo space: tempdb holds row versions.

Waits for logs (WRITELOG) are counted for the whole server, and stalls of tempdb are of all its databases and of
background writes too: both are upper bounds of what sessions here wait for. Nothing tells the use of tempdb by table.

Takes one sample: counters of every partition, reads of every filegroup, figures of the instance.

``Sessions`` counts who takes part in the load. The server adds up how long batches took for all databases together;
this one has the part of it that its own sessions have of all that were seen at work.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import isnan

import numpy as np

from connectors.kit.contract import Clock, ConnectorError, PrivilegeMissing
from connectors.kit.counters import GroupBy, busy
from connectors.kit.population import Population, SessionKinds, SessionLook, ShareOfServer, kind_looks, sessions_of
from connectors.kit.rotation import SHARE, CounterReader, Counters, CounterSource
from connectors.model.observation import F64, I64, Role, RoleFigures, Sample, SpaceFigures
from connectors.sqlserver.keys import object_ids, unit_ids
from connectors.sqlserver.sessions import ReadSession, Row

MILLISECONDS = 1e-3
LOG, TEMP, WAIT = "log", "temp", "wait"
_OF_ALL_LOGS = "WRITELOG waits of all databases of the server, an upper bound"
_OF_ALL_STALLS = "stalls of all reads and writes of tempdb by all databases, an upper bound"


def role_figures(rows: Sequence[Row]) -> tuple[RoleFigures, ...]:
    """Rows of ``sql/roles.sql``; a database in the cloud shows no tempdb, whose sums are then NULL."""
    waited = next((float(row[5]) * MILLISECONDS for row in rows if row[0] == WAIT), float("nan"))
    files = [row for row in rows if row[0] in {LOG, TEMP} and row[2] is not None]
    return tuple(_role_figures(row, waited) for row in files)


def _role_figures(row: Row, log_waits: float) -> RoleFigures:
    role, name, reads, read_ms, writes, write_ms, written = row
    read_seconds, write_seconds = float(read_ms) * MILLISECONDS, float(write_ms) * MILLISECONDS
    return RoleFigures(
        role=Role(role),
        name=str(name),
        reads=float(reads),
        read_seconds=read_seconds,
        writes=float(writes),
        write_seconds=write_seconds,
        waited_seconds=log_waits if role == LOG else read_seconds + write_seconds,
        written_bytes=float(written),
        note=_OF_ALL_LOGS if role == LOG else _OF_ALL_STALLS,
    )


COUNTERS = (
    "io_waits",  # a session waited for a page to come from storage
    "io_wait_ms",
    "tree_io_waits",  # those on the upper levels of an index
    "lookups",  # single rows sought
    "scans",  # range and full scans begun
    "forwarded",  # rows of a heap that have moved, each one more random read
    "lob_pages",
    "overflow_pages",
    "inserted",
    "changed",  # updated and deleted
)
_KEYS = 3  # object, index, partition come before the counters
BYTES_FIGURE = "read_bytes/"  # with the name of the filegroup
BACKUP, SWEEP = "backups_seen", "sweeps_seen"  # an interval in which they rise is not like others
# The names end in "/sec", but the counters only rise, like all others here.
_FIGURES = {
    "Page lookups/sec": "page_lookups",
    "Page reads/sec": "page_reads",
    "Readahead pages/sec": "readahead_pages",
    "Extension page reads/sec": "extension_reads",
    "Transactions/sec": "transactions",
}


@dataclass(slots=True)
class _Seen:
    """How often something was running, in samples; an interval is touched when it ran at either end of it."""

    total: int = 0
    before: bool = False

    def update(self, now: bool) -> int:
        # Either end counts: a backup that ended a moment after the last sample has still filled most of this interval.
        self.total += now or self.before
        self.before = now
        return self.total


class Sessions:
    """Sessions in use and their time, of this database, added up from looks at all of the server's."""

    def __init__(self) -> None:
        self._population, self._kinds, self._share = Population(), SessionKinds(), ShareOfServer()
        self._processors_seconds, self._counted_at = 0.0, float("nan")  # processors times seconds, until then

    def figures(
        self, rows: Sequence[Row], batches: Sequence[Row], counted: Mapping[str, float], at: float
    ) -> dict[str, float]:
        """By their names in ``Sample.database``; none where this login may not see the sessions of others.

        Args:
            rows: of ``sql/sessions.sql``.
            batches: of ``sql/batches.sql``.
            counted: of the database so far, among others ``transactions``.
            at: seconds of the monotonic clock.
        """
        if not batches or batches[0][0] is None or "transactions" not in counted:
            return {}
        looks = kind_looks(_session(row) for row in rows if row[1])
        others = [_session(row) for row in rows if not row[1]]
        elapsed, processor, processors = (float(each) * MILLISECONDS for each in batches[0])
        if at > self._counted_at:
            self._processors_seconds += (at - self._counted_at) * processors / MILLISECONDS
        self._counted_at = at
        found = {"processor_seconds": processor, "processors_seconds": self._processors_seconds}
        working = sum(each.working for each in looks)
        active = self._share.total(elapsed, working, sum(each.working for each in others), alone=not others)
        if not isnan(active):
            found["active_seconds"] = active
        found |= self._population.total(sessions_of(looks), transactions=counted["transactions"], at=at)
        if not isnan(active):
            found |= self._kinds.total(looks, self._population.idle, {**found, "transactions": counted["transactions"]})
        return found


def _session(row: Row) -> SessionLook:
    """A row of ``sql/sessions.sql``."""
    _, _, login, program, running, reading, transactions, began, ended = row
    return SessionLook(
        kind=f"{login}/{program}",
        working=bool(running),
        reading=bool(reading),
        transaction=bool(transactions),
        began=float(began) * MILLISECONDS,
        changed=float(ended) * MILLISECONDS,
    )


def no_units() -> I64:
    """Physical ids of units before any catalog was read."""
    return np.empty(0, dtype=np.int64)


class DmvSampler:
    """Samples over one session with a fixed number of statements."""

    def __init__(
        self,
        session: ReadSession,
        clock: Clock,
        *,
        budget_seconds: float,
        home_of: Callable[[str], str] = str,
        units: Callable[[], I64] = no_units,
        share: float = SHARE,
    ) -> None:
        """Wire it up.

        Args:
            session: to read with.
            clock: time.
            budget_seconds: counters that take longer are read object by object.
            units: physical ids of the units of the catalog, ascending; while there are none, what takes too long is
                read less often.
            share: of the time that reading counters may take.
            home_of: the space of a filegroup, where that is not the filegroup itself.
        """
        self._session = session
        self._clock = clock
        self._units = units
        source = CounterSource(
            read_all=self._read_all, read_some=self._read_some, units=self._objects, names=COUNTERS,
            waits={"io_wait_ms": 1.0},
        )  # fmt: skip
        self._counters = CounterReader(
            source, clock, "reading all counters", budget_seconds=budget_seconds, share=share, slow_answers=1
        )
        self._home_of = home_of
        self._backup, self._sweep = _Seen(), _Seen()
        self._sessions = Sessions()

    def sample(self) -> Sample:
        """Eight queries; those that this login may not ask are left out, and their figures with them.

        Raises:
            TimedOut: the last sample took longer than its share of the time, and its time of rest is not over.
            ConnectorError: another subclass that says what may be done.
        """
        taken_at, monotonic = self._clock.now(), self._clock.monotonic()
        found = self._counters.read(monotonic)
        answered = self._clock.monotonic()
        files = _by_home(self._optional("files"), self._home_of)
        epoch = self._optional("server")
        figures = self._maintenance() | _figures(self._optional("counters")) | _by_space(files)
        sessions = self._optional("sessions"), self._optional("batches")
        figures |= self._sessions.figures(*sessions, figures, monotonic)
        started = str(epoch[0][0]) if epoch else "unknown"
        self._counters.note_epoch(started)
        return Sample(
            taken_at=taken_at,
            monotonic_seconds=monotonic,
            epoch=started + found.suffix,
            physical_id=found.counters.ids,
            counters=found.counters.by_name,
            database=figures,
            server_seconds=answered - monotonic,  # an upper bound: the wire is in it
            spaces=_space_figures(files) if files else None,
            roles=role_figures(self._optional("roles")),
            unread=found.unread,
            coverage=found.coverage,
        )

    def _read_all(self, limit: float | None) -> Counters:
        return _counters_of(self._session.rows("sample", doing="sampling counters", limit=limit))

    def _read_some(self, objects: Sequence[int], limit: float | None) -> Counters:
        """Of one object: the function takes no more."""
        (object_id,) = objects
        doing = "sampling counters of one table"
        return _counters_of(self._session.rows("sample_object", object_id, doing=doing, limit=limit))

    def _objects(self) -> tuple[I64, I64]:
        """Units of the catalog, and the object of each."""
        units = self._units()
        return units, object_ids(units)

    def _optional(self, name: str) -> list[Row]:
        """Rows of a query, none where this login lacks the right; the doctor tells."""
        try:
            return self._session.rows(name, doing=f"sampling {name}")
        except PrivilegeMissing:
            return []

    def _maintenance(self) -> dict[str, float]:
        commands = [str(row[0]) for row in self._optional("maintenance")]
        backup = any(command.startswith(("BACKUP", "RESTORE")) for command in commands)
        sweep = any(not command.startswith(("BACKUP", "RESTORE")) for command in commands)
        return {BACKUP: float(self._backup.update(backup)), SWEEP: float(self._sweep.update(sweep))}


def _counters_of(rows: list[Row]) -> Counters:
    ids, counters = by_unit(rows)
    return Counters(ids, dict(zip(COUNTERS, counters, strict=True)))


def by_unit(rows: list[Row]) -> tuple[I64, I64]:
    """Physical ids ascending, and counters of shape ``(len(COUNTERS), units)``.

    Raises:
        ConnectorError: the rows have another shape.
    """
    width = _KEYS + len(COUNTERS)
    if rows and len(rows[0]) != width:
        raise ConnectorError(f"sampling counters: rows of {len(rows[0])} columns, expected {width}")
    numbers = np.array(rows, dtype=np.int64).reshape(-1, width).T
    zero = np.zeros(numbers.shape[1], dtype=np.int64)
    units = GroupBy(unit_ids(numbers[0], numbers[1], numbers[2], zero))
    return busy(units.keys[0], np.stack([units.aggregate(counter) for counter in numbers[_KEYS:]]))


def _by_home(files: list[Row], home_of: Callable[[str], str]) -> list[Row]:
    """Rows of ``sql/files.sql`` added up by the space that each filegroup lies in."""
    totals: dict[str, list[int]] = {}
    for name, *values in files:
        home = home_of(str(name))
        totals[home] = [a + int(b) for a, b in zip(totals.get(home, [0] * len(values)), values, strict=True)]
    return [(home, *values) for home, values in totals.items()]


def _figures(rows: list[Row]) -> dict[str, float]:
    return {_FIGURES[name]: float(value) for name, value in rows if name in _FIGURES}


def _by_space(files: list[Row]) -> dict[str, float]:
    found: dict[str, float] = {}
    for name, reads, read_bytes, *_ in files:
        found[f"{BYTES_FIGURE}{name}"] = float(read_bytes)
        found["file_reads"] = found.get("file_reads", 0.0) + float(reads)
    return found


def _space_figures(files: list[Row]) -> SpaceFigures:
    """Totals of all reads; ``demand`` takes the sequential ones out. Throttling by the server is not the device's."""

    def column(values: list[float]) -> F64:
        return np.array(values, dtype=np.float64)

    return SpaceFigures(
        name=tuple(str(row[0]) for row in files),
        reads=column([row[1] for row in files]),
        read_seconds=column([max(0, row[3] - row[4]) / 1000.0 for row in files]),
        writes=column([row[5] for row in files]),
        write_seconds=column([max(0, row[6] - row[7]) / 1000.0 for row in files]),
    )
