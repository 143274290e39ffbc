"""Takes a sample: counters of relations, figures of roles, sessions of the load and their waits.

``role_figures`` covers the write-ahead log, and what sorts and temporary tables do. PostgreSQL has no undo space.
Nothing times the temporary files of sorts and hashes, not even ``track_io_timing``, and no view breaks them down by
table.

``Population`` counts the sessions that take part in the load, from looks at what each session does.
``pg_stat_database`` adds up the time of every connected session: unused sessions of a pool, a monitor that asks once a
minute and the agent's own session count as much as one that asks a thousand times a second. Here a session counts if it
is at work, or idle for no longer than sessions of this load pause between transactions. By Little's law, ``N`` sessions
with ``X`` transactions a second come round every ``N / X`` seconds; a session idle for several rounds does not take
part (Denning and Buzen, "The operational analysis of queueing network models", ACM Computing Surveys 10, 1978).

``SessionKinds`` estimates which sessions wait for reads, and their part of the work. Sessions of one role under one
application name are of one kind. The server counts neither transactions nor waits by kind, so looks estimate both. A
kind is one of readers if a fair part of the sessions seen waiting for a read were its own. How often its sessions come
round follows from how long ago they began what they are doing. A look finds a pause or a transaction half over on
average, and more than half if lengths vary; that factor cancels as far as the lengths of both kinds vary alike.

``StatisticsSampler`` takes the sample. The counters of TOAST are added to its table.

``read_foreground`` tells how long sessions wait for their reads, apart from the reads of moves.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from connectors.kit.contract import Clock, ConnectorError, ForegroundReads, NotRecorded
from connectors.model.observation import I64, Counts, Role, RoleFigures, Sample
from connectors.postgresql.rows import bigint_rows, narrow
from connectors.postgresql.sessions import ReadSession, Row, query

LOG_BY_OBJECT, TEMPORARY_TABLES = 180000, 160000  # versions whose pg_stat_io knows the log, and temporary tables
_TIMES = ("read_seconds", "write_seconds", "waited_seconds")
_COLUMNS = ("reads", "read_seconds", "writes", "write_seconds", "waited_seconds", "written_bytes", "active_seconds")
_UNTIMED = {
    "pg_wal": "its I/O is not timed; ALTER SYSTEM SET track_wal_io_timing = on, then SELECT pg_reload_conf(), times it",
    "temporary tables": "track_io_timing is off",
    "temporary files": "PostgreSQL does not time the files of sorts and hashes; more work_mem keeps them in memory, "
    "and temp_tablespaces puts them on other storage",
}
_OF_ALL_PROCESSES = (
    "times of all processes that write it; sessions wait for most of them, unless commits are asynchronous"
)


def query_for(version: int) -> str:
    """Name of the query of roles for a server of that version."""
    if version >= LOG_BY_OBJECT:
        return "roles"
    return "roles_16" if version >= TEMPORARY_TABLES else "roles_14"


def role_figures(rows: Sequence[Row]) -> tuple[RoleFigures, ...]:
    """Rows of ``sql/roles.sql``: what is NULL, or a time while timing is off, is unknown."""
    return tuple(_figures(row) for row in rows)


def _figures(row: Row) -> RoleFigures:
    role, name, *values, timed = row
    known = {
        column: float(value)
        for column, value in zip(_COLUMNS, values, strict=True)
        if value is not None and (timed or column not in _TIMES)
    }
    note = _UNTIMED[name] if not timed else "" if "waited_seconds" in known else _OF_ALL_PROCESSES
    return RoleFigures(role=Role(role), name=name, note=note, **known)


IDLE_SECONDS = (1.0, 10.0, 60.0)  # idle for less than: columns of ``sql/database.sql``
ROUNDS = 5.0  # that a session of the load may be idle for: of a pause of exponential length 0.7 % are longer


def longest_idle(working: float, idle: Sequence[float], per_second: float) -> int:
    """Which of ``IDLE_SECONDS`` a session of the load may be idle for, at the moment of one look.

    Args:
        working: sessions that execute a statement.
        idle: sessions that do not, idle for less than each of ``IDLE_SECONDS``; rising.
        per_second: transactions.

    Returns:
        The shortest that holds ``ROUNDS`` rounds; where none does, the longest.
    """
    for at, (longest, count) in enumerate(zip(IDLE_SECONDS, idle, strict=True)):
        if per_second * longest >= ROUNDS * (working + count):
            return at
    return len(IDLE_SECONDS) - 1


def sessions_in_use(working: float, idle: Sequence[float], per_second: float) -> float:
    """Sessions that take part in the load: those at work, and those idle for no longer; arguments as above."""
    return working + idle[longest_idle(working, idle, per_second)]


class Population:
    """Adds the sessions in use up over time, so that two samples tell their mean like any other counter."""

    def __init__(self) -> None:
        self._total = 0.0
        self._before: tuple[float, float] | None = None  # transactions and time of the last look
        self._sessions = 0.0  # in use then
        self.idle = len(IDLE_SECONDS) - 1  # which of IDLE_SECONDS they may have been idle for

    def total(self, sessions: Sequence[float | None], *, transactions: float, at: float) -> dict[str, float]:
        """The figure of one sample by its name in ``Sample.database``; none where the server does not tell.

        Args:
            sessions: working, idle for less than each of ``IDLE_SECONDS``, and hidden; empty: not asked.
            transactions: so far.
            at: seconds of the monotonic clock.
        """
        known = [float(each) for each in sessions if each is not None]
        before, self._before = self._before, (transactions, at)
        if len(known) != len(IDLE_SECONDS) + 2 or known[-1]:
            return {}
        if before is not None and at > before[1]:
            seconds = at - before[1]
            rate = max(0.0, transactions - before[0]) / seconds
            now = sessions_in_use(known[0], known[1:-1], rate)
            self.idle = longest_idle(known[0], known[1:-1], rate)
            self._total += (now + self._sessions if self._sessions else 2 * now) / 2 * seconds
            self._sessions = now
        return {"population_seconds": self._total}


LEAST_SEEN = 20.0  # sessions waiting for reads: before that many, who reads is chance
LEAST_SHARE = 0.05  # of them, to be a kind of readers
LOOKS = 1000  # after which what was seen counts half
GONE = 0.01  # of a session seen: a kind with so little left is forgotten


@dataclass(frozen=True, slots=True, kw_only=True)
class KindLook:
    """One kind of sessions at one moment. Seconds are sums over its sessions."""

    kind: str
    working: float
    reading: float  # of these
    inside: float  # in a transaction
    inside_seconds: float  # since it began
    between: tuple[float, ...]  # two transactions, for less than each of ``IDLE_SECONDS`` of ``population``
    between_seconds: tuple[float, ...]  # since the last

    @classmethod
    def of_row(cls, row: Sequence[float | str]) -> KindLook:
        """A row of ``sql/session_kinds.sql``."""
        kind, *figures = row
        working, reading, inside, inside_seconds, *rest = map(float, figures)
        return cls(
            kind=str(kind), working=working, reading=reading, inside=inside, inside_seconds=inside_seconds,
            between=tuple(rest[0::2]), between_seconds=tuple(rest[1::2]),
        )  # fmt: skip


@dataclass(slots=True)
class _Seen:
    """Sums over looks, older ones fading."""

    reading: float = 0.0
    inside: float = 0.0
    inside_seconds: float = 0.0
    between: float = 0.0
    between_seconds: float = 0.0

    def fade(self, share: float) -> None:
        """Count less than what is seen from now on."""
        self.reading *= share
        self.inside *= share
        self.inside_seconds *= share
        self.between *= share
        self.between_seconds *= share

    def per_second(self) -> float:
        """How often its sessions came round, up to a factor that all kinds have in common; 0 where none was seen."""
        seconds = _mean(self.inside_seconds, self.inside) + _mean(self.between_seconds, self.between)
        return (self.inside + self.between) / seconds if seconds > 0 else 0.0


class SessionKinds:
    """Adds up what readers have of sessions, of their time at work and of transactions, like any other counter."""

    def __init__(self) -> None:
        self._seen: dict[str, _Seen] = {}
        self._before: Mapping[str, float] = {}
        self._totals = {"readers_seconds": 0.0, "readers_active_seconds": 0.0, "readers_transactions": 0.0}

    def total(self, looks: Sequence[KindLook], idle: int, counted: Mapping[str, float]) -> dict[str, float]:
        """The figures of one sample by their names in ``Sample.database``; none where it is not known who reads.

        Args:
            looks: each kind that is there.
            idle: which of ``IDLE_SECONDS`` a session that is in use may be between two transactions for.
            counted: of all sessions, so far: ``population_seconds``, ``active_seconds``, ``transactions``, and others.
        """
        if not looks or "population_seconds" not in counted:
            return {}
        self._see(looks, idle)
        passed = {name: max(0.0, total - self._before.get(name, total)) for name, total in counted.items()}
        self._before = dict(counted)
        seen = sum(each.reading for each in self._seen.values())
        if seen < LEAST_SEEN:
            return {}
        readers = {kind for kind, each in self._seen.items() if each.reading >= LEAST_SHARE * seen}
        shares = {
            "readers_seconds": ("population_seconds", [(each.kind, _in_use(each, idle)) for each in looks]),
            "readers_active_seconds": ("active_seconds", [(each.kind, each.working) for each in looks]),
            "readers_transactions": (
                "transactions", [(kind, each.per_second()) for kind, each in self._seen.items()],
            ),
        }  # fmt: skip
        for name, (whole, parts) in shares.items():
            self._totals[name] += passed[whole] * _share(parts, readers)
        return dict(self._totals)

    def _see(self, looks: Iterable[KindLook], idle: int) -> None:
        for each in self._seen.values():
            each.fade(0.5 ** (1 / LOOKS))
        for look in looks:
            seen = self._seen.setdefault(look.kind, _Seen())
            seen.reading += look.reading
            seen.inside += look.inside
            seen.inside_seconds += look.inside_seconds
            seen.between += look.between[idle]
            seen.between_seconds += look.between_seconds[idle]
        # Names of applications may be made up for each session.
        self._seen = {kind: each for kind, each in self._seen.items() if each.inside + each.between > GONE}


def _in_use(look: KindLook, idle: int) -> float:
    return look.inside + look.between[idle]


def _share(parts: Iterable[tuple[str, float]], readers: set[str]) -> float:
    """Of the readers in a sum; all of it where there is none: no one else did anything either."""
    known = list(parts)
    total = sum(part for _, part in known)
    return sum(part for kind, part in known if kind in readers) / total if total > 0 else 1.0


def _mean(total: float, count: float) -> float:
    return total / count if count > 0 else 0.0


COUNTERS = (
    "blocks_fetched",
    "blocks_hit",
    "scans",  # sequential scans begun; of an index: all of its scans
    "rows_scanned",  # rows that sequential scans returned; of an index: entries
    "rows_fetched",  # rows that bitmap scans took; of an index: rows that were looked up through it one by one
    "rows_inserted",
    "rows_changed",  # updated and deleted
    "maintenance",  # passes over the table by VACUUM (two) and ANALYZE (one), automatic ones included
    "toast_maintenance",  # the same passes over its TOAST table, which is vacuumed on its own
    "toast_chunks",  # TOAST rows inserted and deleted, about four to a block
)
_OWN = 8  # counters that are read, oid and role before them; those of TOAST are worked out
_WIRE = 2 + _OWN
_UNIT, _TOAST_TABLE = 0, 1  # roles
_OF_TOAST_TOO = frozenset({"blocks_fetched", "blocks_hit"})  # those of a TOAST relation are added to its table's
_CHUNKS = frozenset({"rows_inserted", "rows_changed"})  # of a TOAST table, they are its chunks
DATABASE_FIGURES = ("reads", "read_seconds", "write_seconds", "transactions", "active_seconds")
_NEED_IO_TIMING = frozenset({"read_seconds", "write_seconds"})
_FIGURES = len(DATABASE_FIGURES)
_OWN_ROW = _FIGURES + 3  # what follows are the sessions; exports and recordings of earlier versions end there
_TRANSACTIONS = DATABASE_FIGURES.index("transactions")


class StatisticsSampler:
    """Samples over one session. Knows which table each TOAST relation belongs to, and asks when it meets a new one."""

    def __init__(self, session: ReadSession, clock: Clock) -> None:
        self._session = session
        self._clock = clock
        self._population = Population()
        self._kinds = SessionKinds()
        self._processors_seconds, self._counted_at = 0.0, math.nan  # processors times seconds, until then
        self._ids: I64 = np.empty(0, dtype=np.int64)  # of the last sample, or of a catalog read since
        self._toast_id: I64 = np.empty(0, dtype=np.int64)  # TOAST tables and their indexes, ascending
        self._toast_owner: I64 = np.empty(0, dtype=np.int64)

    def sample(self) -> Sample:
        """Four queries, and a fifth when TOAST tables have come or changed since the last time.

        Raises:
            ConnectorError: a subclass that says what may be done.
        """
        taken_at, monotonic = self._clock.now(), self._clock.monotonic()
        wire = self._session.copy(query("sample"), partial(bigint_rows, columns=_WIRE), doing="sampling counters")
        row = self._database_row()
        roles = self._session.rows(query(query_for(self._session.version)), doing="sampling log and temporary files")
        kinds = self._kinds_of_sessions()
        answered = self._clock.monotonic()
        self._ids, counters = self._by_unit(wire)
        figures, (timing, counting, epoch), sessions = row[:_FIGURES], row[_FIGURES:_OWN_ROW], row[_OWN_ROW:]
        if not counting:  # what stands still is not idle
            raise ConnectorError(
                "track_counts is off: the server counts nothing, and everything would look idle",
                advice="ALTER SYSTEM SET track_counts = on; SELECT pg_reload_conf();",
            )
        database = {
            **{
                name: float(value)
                for name, value in zip(DATABASE_FIGURES, figures, strict=True)
                if timing or name not in _NEED_IO_TIMING
            },
            **self._processors(monotonic),
            **self._population.total(sessions, transactions=float(figures[_TRANSACTIONS]), at=monotonic),
        }
        return Sample(
            taken_at=taken_at,
            monotonic_seconds=monotonic,
            epoch=epoch,
            physical_id=self._ids,  # one column for all samples with the same units
            counters=counters,
            database={**database, **self._kinds.total(kinds, self._population.idle, database)},
            server_seconds=answered - monotonic,  # an upper bound: the wire and taking it apart are in it
            roles=role_figures(roles),
        )

    def _kinds_of_sessions(self) -> list[KindLook]:
        """What sessions of each kind do; none where a person exported the rest, or an earlier version recorded it."""
        try:
            rows = self._session.rows(query("session_kinds"), doing="sampling kinds of sessions")
        except NotRecorded:
            return []
        return [KindLook.of_row(row) for row in rows]

    def _processors(self, monotonic: float) -> dict[str, float]:
        """What processors do for the server, where this machine tells."""
        try:
            seconds, count = self._session.processors()
        except NotRecorded:  # by an earlier version
            return {}
        if seconds is None or count is None:
            return {}
        # Added up, since the server may be given more of them, or fewer.
        passed, self._counted_at = monotonic - self._counted_at, monotonic
        self._processors_seconds += 0.0 if math.isnan(passed) else float(count) * passed
        return {"processor_seconds": float(seconds), "processors_seconds": self._processors_seconds}

    def _database_row(self) -> Row:
        rows = self._session.rows(query("database"), doing="sampling the database")
        if not rows:
            raise ConnectorError("pg_stat_database has no row of this database", advice="Set track_counts = on.")
        return rows[0]

    def _by_unit(self, wire: list[Counts]) -> tuple[I64, dict[str, Counts]]:
        """Fold relations into units: ids ascending, the counters aligned with them. Takes the columns off ``wire``."""
        oid, role = wire.pop(0), wire.pop(0)
        toast = np.flatnonzero(role != _UNIT)
        own = np.argsort(oid, kind="stable")
        if len(toast):
            own = own[role[own] == _UNIT]
        ids = self._known_as(oid[own])
        owner, known = self._owners(oid[toast].astype(np.int64))
        toast, owner = toast[known], owner[known]
        chunks = role[toast] == _TOAST_TABLE
        at: I64 | None = None  # where the units' own rows belong; None: there are no others
        # A table whose TOAST table alone was read has no row of its own in the sample, and its demand would be
        # lost.
        if not np.isin(owner, ids).all():
            at, ids = ids, self._known_as(np.union1d(ids, owner))
            at = np.searchsorted(ids, at)
        place = np.searchsorted(ids, owner)
        folded: dict[str, Counts] = {}
        toast_passes, toast_chunks = (np.zeros(len(ids), dtype=np.int64) for _ in range(2))
        for name in COUNTERS[:_OWN]:
            values = wire.pop(0)  # one counter at a time, gone when it is folded: all at once would be twice the memory
            column = values[own] if at is None else _spread(values[own], at, len(ids))
            if name in _OF_TOAST_TOO and len(toast):  # scans, rows and runs are the table's own
                column = column.astype(np.int64)
                np.add.at(column, place, values[toast].astype(np.int64))
            folded[name] = narrow(column)  # one sample is kept until the next has come
            if name in _CHUNKS:
                np.add.at(toast_chunks, place[chunks], values[toast[chunks]].astype(np.int64))
            if name == "maintenance":
                np.add.at(toast_passes, place[chunks], values[toast[chunks]].astype(np.int64))
        return ids, {**folded, "toast_maintenance": narrow(toast_passes), "toast_chunks": narrow(toast_chunks)}

    def share(self, ids: I64) -> None:
        """Give samples the catalog's own column of ids for as long as they hold the very units of the catalog."""
        self._ids = ids

    def _known_as(self, ids: Counts) -> I64:
        """The ids, as the column that there is already where they are those of the same units."""
        return self._ids if np.array_equal(ids, self._ids) else ids.astype(np.int64)

    def _owners(self, toast: I64) -> tuple[I64, np.ndarray[tuple[int], np.dtype[np.bool_]]]:
        """The table of each TOAST relation, and whether it is known; what is not was dropped a moment ago."""
        at = np.searchsorted(self._toast_id, toast)
        if not self._all_known(toast, at):
            self._read_owners()
            at = np.searchsorted(self._toast_id, toast)
        if not len(self._toast_id):
            return toast, np.zeros(len(toast), dtype=np.bool_)
        at = np.minimum(at, len(self._toast_id) - 1)
        return self._toast_owner[at], self._toast_id[at] == toast

    def _all_known(self, toast: I64, at: np.ndarray[tuple[int], np.dtype[np.int64]]) -> bool:
        if not len(self._toast_id):
            return not len(toast)
        return bool((self._toast_id[np.minimum(at, len(self._toast_id) - 1)] == toast).all())

    def _read_owners(self) -> None:
        take = partial(bigint_rows, columns=3)
        owner, table, index = self._session.copy(query("toast"), take, doing="reading TOAST tables")
        ids, owners = np.concatenate([table, index]), np.concatenate([owner, owner])
        order = np.argsort(ids)
        self._toast_id, self._toast_owner = (column[order].astype(np.int64) for column in (ids, owners))


def _spread(values: Counts, at: I64, count: int) -> Counts:
    """Values at their places among so many, 0 elsewhere."""
    column = np.zeros(count, dtype=values.dtype)
    column[at] = values
    return column


KNOWS_CONTEXTS = 160000  # versions whose pg_stat_io tells large scans from other reads


def read_foreground(session: ReadSession) -> ForegroundReads | None:
    """Counters of client sessions' reads; None where the server does not time them (track_io_timing).

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    name = "foreground" if session.version >= KNOWS_CONTEXTS else "foreground_14"
    reads, seconds, timed = session.rows(query(name), doing="looking at how long reads take")[0]
    return ForegroundReads(reads, seconds) if timed else None
