"""Takes a sample: counters of relations, figures of roles, sessions of the load and their waits.

``role_figures`` covers the write-ahead log, and what sorts and temporary tables do. PostgreSQL has no undo space.
Nothing times the temporary files of sorts and hashes, not even ``track_io_timing``, and no view breaks them down by
table.

``StatisticsSampler`` takes the sample. The counters of TOAST are added to its table.

``read_foreground`` tells how long sessions wait for their reads, apart from the reads of moves.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from connectors.kit.contract import Clock, ConnectorError, ForegroundReads, NotRecorded
from connectors.kit.population import KindLook, OpenAges, Population, SessionKinds
from connectors.kit.rotation import SHARE, CounterReader, Counters, CounterSource, no_units
from connectors.model.observation import I64, Bools, Counts, Role, RoleFigures, Sample
from connectors.postgresql.rows import bigint_rows, narrow
from connectors.postgresql.sessions import ReadSession, Row, query

LOG_BY_OBJECT, TEMPORARY_TABLES = 180000, 160000  # versions whose pg_stat_io knows the log, and temporary tables
KNOWS_CONTEXTS = 160000  # versions whose pg_stat_io tells large scans from other reads
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
MISSES = {"blocks_fetched": 1.0, "blocks_hit": -1.0}  # weights of the reads that sessions may have waited for
RELATIONS_AT_ONCE = 256  # that one call asks for at most, where all are too many
_OWN = 8  # counters that are read, oid and role before them; those of TOAST are worked out
_WIRE = 2 + _OWN
_UNIT, _TOAST_TABLE = 0, 1  # roles
_OF_TOAST_TOO = frozenset({"blocks_fetched", "blocks_hit"})  # those of a TOAST relation are added to its table's
_CHUNKS = frozenset({"rows_inserted", "rows_changed"})  # of a TOAST table, they are its chunks
SCANS_FIGURES = ("server_reads", "server_read_seconds", "scan_reads", "scan_seconds")  # of all databases
DATABASE_FIGURES = ("reads", "read_seconds", "write_seconds", "transactions", "active_seconds")
_NEED_IO_TIMING = frozenset({"read_seconds", "write_seconds", "server_read_seconds", "scan_seconds"})
_FIGURES = len(DATABASE_FIGURES)
_OWN_ROW = _FIGURES + 3  # what follows are the sessions; exports and recordings of earlier versions end there
_TRANSACTIONS = DATABASE_FIGURES.index("transactions")


class StatisticsSampler:
    """Samples over one session. Knows which table each TOAST relation belongs to, and asks when it meets a new one."""

    def __init__(
        self,
        session: ReadSession,
        clock: Clock,
        units: Callable[[], tuple[I64, I64]] = no_units,
        *,
        share: float = SHARE,
    ) -> None:
        """Asks nothing yet.

        Args:
            session: to read with.
            clock: time.
            units: oids of the units of the catalog, ascending, twice; while there are none, what takes too long is read
                less often.
            share: of the time that reading counters may take.
        """
        self._session = session
        self._clock = clock
        source = CounterSource(
            read_all=self._read_all, read_some=self._read_some, units=units, names=COUNTERS, waits=MISSES,
            at_once=RELATIONS_AT_ONCE,
        )  # fmt: skip
        self._counters = CounterReader(source, clock, "reading the counters of all relations", share=share)
        self._population = Population()
        self._kinds = SessionKinds()
        self._open_ages = OpenAges()
        self._processors_seconds, self._counted_at = 0.0, math.nan  # processors times seconds, until then
        self._others_seconds, self._others_at = 0.0, math.nan  # of processors that other programs used, and until then
        self._ids: I64 = np.empty(0, dtype=np.int64)  # of the last sample, or of a catalog read since
        self._toast_id: I64 = np.empty(0, dtype=np.int64)  # TOAST tables and their indexes, ascending
        self._toast_owner: I64 = np.empty(0, dtype=np.int64)

    def sample(self) -> Sample:
        """Five queries, four before version 16, and one more when TOAST tables have come or changed since.

        Raises:
            TimedOut: the counters took longer than their share of the time, and the time of rest is not over.
            ConnectorError: another subclass that says what may be done.
        """
        taken_at, monotonic = self._clock.now(), self._clock.monotonic()
        found = self._counters.read(monotonic)
        row, scans = self._database_row(), self._scans_row()
        roles = self._session.rows(query(query_for(self._session.version)), doing="sampling log and temporary files")
        kinds = self._kinds_of_sessions()
        answered = self._clock.monotonic()
        figures, (timing, counting, epoch), sessions = row[:_FIGURES], row[_FIGURES:_OWN_ROW], row[_OWN_ROW:]
        if not counting:  # what stands still is not idle
            raise ConnectorError(
                "track_counts is off: the server counts nothing, and everything would look idle",
                advice="ALTER SYSTEM SET track_counts = on; SELECT pg_reload_conf();",
            )
        database = {
            **{
                name: float(value)
                for name, value in zip(DATABASE_FIGURES + SCANS_FIGURES[: len(scans)], (*figures, *scans), strict=True)
                if timing or name not in _NEED_IO_TIMING
            },
            **self._processors(monotonic),
            **self._open_ages.total(kinds, monotonic),
            **self._population.total(sessions, transactions=float(figures[_TRANSACTIONS]), at=monotonic),
        }
        self._counters.note_epoch(epoch)
        return Sample(
            taken_at=taken_at,
            monotonic_seconds=monotonic,
            epoch=epoch + found.suffix,
            physical_id=found.counters.ids,  # one column for all samples with the same units
            counters=found.counters.by_name,
            database={**database, **self._kinds.total(kinds, self._population.idle, database)},
            server_seconds=answered - monotonic,  # an upper bound: the wire and taking it apart are in it
            roles=role_figures(roles),
            unread=found.unread,
            coverage=found.coverage,
        )

    def _read_all(self, limit: float | None) -> Counters:
        take = partial(bigint_rows, columns=_WIRE)
        wire = self._session.copy(query("sample"), take, doing="sampling counters", limit=limit)
        self._ids, counters = self._by_unit(wire)
        return Counters(self._ids, counters)

    def _read_some(self, relations: Sequence[int], limit: float | None) -> Counters:
        """Of some, TOAST within its table."""
        doing = "sampling counters of some relations"
        rows = self._session.rows(query("sample_some"), {"ids": list(relations)}, doing=doing, limit=limit)
        owner, role, *values = np.array(rows, dtype=np.int64).reshape(-1, _WIRE).T
        ids, row = np.unique(owner, return_inverse=True)
        chunks, own = role == _TOAST_TABLE, role == _UNIT

        def total(column: I64, of: Bools) -> I64:
            return np.bincount(row[of], weights=column[of], minlength=len(ids)).astype(np.int64)

        by_name = dict(zip(COUNTERS[:_OWN], values, strict=True))
        folded = {
            name: total(column, np.full(len(owner), name in _OF_TOAST_TOO) | own) for name, column in by_name.items()
        }
        folded["toast_maintenance"] = total(by_name["maintenance"], chunks)
        folded["toast_chunks"] = total(by_name["rows_inserted"] + by_name["rows_changed"], chunks)
        return Counters(ids, folded)

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
            seconds, count, used = self._session.processors()
        except NotRecorded:  # by an earlier version
            return {}
        if seconds is None or count is None:
            return {}
        # Added up, since the server may be given more of them, or fewer.
        passed, self._counted_at = monotonic - self._counted_at, monotonic
        self._processors_seconds += 0.0 if math.isnan(passed) else float(count) * passed
        found = {"processor_seconds": float(seconds), "processors_seconds": self._processors_seconds}
        if used is not None:
            others = float(used) - float(seconds)
            taken, self._others_at = others - self._others_at, others
            self._others_seconds += 0.0 if math.isnan(taken) else max(0.0, taken)
            found["others_processor_seconds"] = self._others_seconds
        return found

    def _database_row(self) -> Row:
        rows = self._session.rows(query("database"), doing="sampling the database")
        if not rows:
            raise ConnectorError("pg_stat_database has no row of this database", advice="Set track_counts = on.")
        return rows[0]

    def _scans_row(self) -> Row:
        """What scans read and how long that took; () of a version that does not tell, and of a person's exports."""
        if self._session.version < KNOWS_CONTEXTS:
            return ()
        try:
            rows = self._session.rows(query("scans"), doing="sampling the reads of scans")
        except NotRecorded:  # by an earlier version
            return ()
        return rows[0] if rows else ()

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


def foreground_for(version: int) -> str:
    """Name of the query of client sessions' reads for a server of that version."""
    return "foreground" if version >= KNOWS_CONTEXTS else "foreground_14"


def read_foreground(session: ReadSession) -> ForegroundReads | None:
    """Counters of client sessions' reads; None where the server does not time them (track_io_timing).

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    name = foreground_for(session.version)
    reads, seconds, timed = session.rows(query(name), doing="looking at how long reads take")[0]
    return ForegroundReads(reads, seconds) if timed else None
