"""Takes a sample: counters of units, table spaces, the log and statements.

``log_figures`` counts waits for the log where sessions wait (LOG_DISK_WAIT_TIME), so a flush that delays several
sessions counts for each of them. Db2 has no undo space: it reads the log back. ``temporary_figures`` knows a temporary
table space by the pages that sessions read and wrote themselves, and by direct I/O; no function breaks its use down by
table.

``UsualDirectReads`` keeps a backup out of the time of direct reads. A backup reads a whole table space past the buffer
pool, and the counters of the space hold its reads and those of sessions. The number of requests for tables is known,
but not their time, because a backup's requests are larger and wait for other devices. So each request for a table is
taken to last as long as in the last interval without a backup.

``CountedProcessors`` says what processors do for the database: TOTAL_CPU_TIME of its requests (without prefetchers and
page cleaners), and the processors that are online on the hosts of its members.

``MonitorSampler`` takes the sample: every table, LOB object and index over all members, and every table space.

``read_statements`` and ``read_texts`` read single statements from the package cache of every member.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from connectors.db2.counters import (
    COUNTERS,
    MARKS,
    MILLISECONDS,
    Counted,
    SpaceTotals,
    by_unit,
    columns_of,
    of_indexes,
    of_tables,
    reads_by_kind,
    space_totals,
)
from connectors.db2.errors import EXECUTE_GIVES
from connectors.db2.names import NO_TABLES, Tables
from connectors.db2.sessions import ReadSession, Row, query
from connectors.kit.checks import Facts, unseen_statements
from connectors.kit.contract import Clock, ConnectorError, PrivilegeMissing
from connectors.kit.counters import sum_by_id
from connectors.kit.findings import Remedy
from connectors.kit.population import CountedSessions, SessionCounters
from connectors.kit.rotation import SHARE, CounterReader, Counters, CounterSource
from connectors.kit.statements import READING_TEXT, StatementCounters, read_all
from connectors.model.observation import F64, I64, Role, RoleFigures, Sample, SpaceFigures

_USED = 7  # place of TOTAL_CPU_TIME in ``sql/database.sql``
TEMPORARY = frozenset({"SYSTEMP", "USRTEMP"})
LOG = "transaction log"


def log_figures(members: Sequence[Row]) -> tuple[RoleFigures, ...]:
    """Of all members by rows of ``sql/database.sql``; none where the version does not tell."""
    if not members:
        return ()
    waited = sum(int(row[5] or 0) for row in members) / MILLISECONDS
    flushes = float(sum(int(row[4] or 0) for row in members))
    return (RoleFigures(role=Role.LOG, name=LOG, writes=flushes, write_seconds=waited, waited_seconds=waited),)


def temporary_figures(
    names: Sequence[str], contents: Sequence[str], totals: SpaceTotals, columns: Mapping[str, F64]
) -> tuple[RoleFigures, ...]:
    """Of each temporary table space over all members.

    Args:
        names: of the table space of each row of ``sql/sample_spaces.sql``.
        contents: TBSP_CONTENT_TYPE of each.
        totals: figures of each row.
        columns: the numbers of each row by name.
    """
    reads = totals.sync + columns["DIRECT_READ_REQS"]
    read_seconds = totals.sync_read_seconds + columns["DIRECT_READ_TIME"] / MILLISECONDS
    writes = totals.sync_writes + columns["DIRECT_WRITE_REQS"]
    write_seconds = totals.sync_write_seconds + columns["DIRECT_WRITE_TIME"] / MILLISECONDS
    rows_of: dict[str, list[int]] = {}
    for row, (name, content) in enumerate(zip(names, contents, strict=True)):
        if content in TEMPORARY:
            rows_of.setdefault(name, []).append(row)
    return tuple(
        RoleFigures(
            role=Role.TEMP,
            name=name,
            reads=float(reads[rows].sum()),
            read_seconds=float(read_seconds[rows].sum()),
            writes=float(writes[rows].sum()),
            write_seconds=float(write_seconds[rows].sum()),
            waited_seconds=float((read_seconds + write_seconds)[rows].sum()),
        )
        for name, rows in rows_of.items()
    )


USUAL = "usual_direct_seconds"
_SPACE = re.compile(r"direct_requests of table space (\d+)")


def space_key(word: str, number: int) -> str:
    """Under which name a figure of the table space with that number is kept in ``Sample.database``."""
    return f"{word} of table space {number}"


@dataclass(slots=True)
class UsualDirectReads:
    """Cumulative seconds of direct reads by table space, as if a backup's requests took what requests usually take."""

    _seconds_each: dict[int, float] = field(default_factory=dict)
    _before: dict[int, tuple[float, float]] = field(default_factory=dict)  # requests and seconds of the last sample
    _totals: dict[int, float] = field(default_factory=dict)

    def totals(self, counters: Mapping[str, float], *, backup: bool) -> dict[str, float]:
        """The totals after one more sample.

        Args:
            counters: of the sample; ``direct_requests`` and ``direct_seconds`` of each table space are read.
            backup: one ran since the last sample.
        """
        for name in counters:
            if (found := _SPACE.fullmatch(name)) is not None:
                self._add(int(found[1]), counters, backup=backup)
        return {space_key(USUAL, number): total for number, total in self._totals.items()}

    def _add(self, number: int, counters: Mapping[str, float], *, backup: bool) -> None:
        now = counters[space_key("direct_requests", number)], counters[space_key("direct_seconds", number)]
        requests, seconds = (new - old for new, old in zip(now, self._before.get(number, now), strict=True))
        self._before[number] = now
        if requests > 0 and seconds >= 0:
            if not backup:
                self._seconds_each[number] = seconds / requests
            elif number in self._seconds_each:
                seconds = requests * self._seconds_each[number]
        self._totals[number] = self._totals.get(number, 0.0) + max(0.0, seconds)


MICROSECONDS = 1e6


@dataclass(slots=True)
class CountedProcessors:
    """Processor seconds of requests, and processors times seconds, both cumulative."""

    _online: float = 0.0  # over all hosts; 0: not known yet
    _seconds: float = 0.0
    _until: float = math.nan  # of the monotonic clock

    def total(self, session: ReadSession, members: Sequence[Row], at: float) -> dict[str, float]:
        """By their names in ``Sample.database``; none where this server, or login, does not tell.

        Args:
            session: asked for the processors until it has told.
            members: rows of ``sql/database.sql``.
            at: seconds of the monotonic clock.

        Raises:
            ConnectorError: a subclass that says what may be done.
        """
        used = [row[_USED] for row in members if len(row) > _USED and row[_USED] is not None]
        if not used or len(used) < len(members):
            return {}
        if not self._online:
            rows = session.optional_rows("processors", doing="counting processors") or []
            self._online = float(sum({host: int(online or 0) for _, host, online in rows}.values()))
        if not self._online:
            return {}
        passed, self._until = at - self._until, at
        self._seconds += 0.0 if math.isnan(passed) else self._online * passed
        return {"processor_seconds": sum(map(int, used)) / MICROSECONDS, "processors_seconds": self._seconds}


DISTURBING = frozenset({"RESTORE", "LOAD", "REORG", "RUNSTATS", "REDISTRIBUTE"})  # BACKUP reads past the pool
DISTURBED_ALL = "samples_with_a_utility_on_everything"
BACKUPS = "samples_with_a_backup"
BACKUP = "BACKUP"
UNCOUNTED = "samples_without_object_counters"
PERMANENT = frozenset({"ANY", "LARGE"})
_COLUMN = re.compile(r"^\s*(?:SELECT )?\s*\w+\.(\w+)", re.MULTILINE)


def column_names(name: str) -> tuple[str, ...]:
    """Names of the columns of a query, in its order."""
    return tuple(_COLUMN.findall(query(name).text.partition("  FROM ")[0]))


class MonitorSampler:
    """Samples over one session; remembers which tables a utility was seen at, since a sample only sees the moment."""

    def __init__(
        self,
        session: ReadSession,
        clock: Clock,
        *,
        by_group: bool,
        tables: Callable[[], Tables] = lambda: NO_TABLES,
        share: float = SHARE,
    ) -> None:
        """Asks nothing yet.

        Args:
            session: to read with.
            clock: time.
            by_group: storage groups are the spaces (``move_by: table_space``).
            tables: of the units of the last catalog; while there are none, what takes too long is read less often.
            share: of the time that reading counters may take.
        """
        self._tables = tables
        source = CounterSource(
            read_all=self._read_all, read_some=self._read_some, units=self._units, names=COUNTERS,
            waits={"physical_reads": 1.0, "direct_read_requests": 1.0}, marks=MARKS,
        )  # fmt: skip
        self._counters = CounterReader(source, clock, "reading the counters of all tables and indexes", share=share)
        self._session = session
        self._clock = clock
        self._by_group = by_group
        self._seen: dict[tuple[str, str], int] = {}
        self._before: set[tuple[str, str]] = set()
        self._disturbed_all, self._all_before = 0, False
        self._backups, self._backup_before = 0, False
        self._last_backup: str | None = None  # None: not asked yet; "": none was ever taken
        self._usual = UsualDirectReads()
        self._sessions = CountedSessions()
        self._processors = CountedProcessors()
        self._uncounted = 0

    def sample(self, *, objects: bool = True) -> Sample:
        """Six queries, whatever the number of objects, and one more at first.

        Args:
            objects: whether the server counts reads of each at all.

        Raises:
            TimedOut: the counters took longer than their share of the time, and the time of rest is not over.
            ConnectorError: another subclass that says what may be done.
        """
        taken_at, monotonic = self._clock.now(), self._clock.monotonic()
        backups_before = self._backups
        # First: a utility that ends during the queries is still noted for the interval that it disturbed.
        self._watch_utilities()
        found = self._counters.read(monotonic)
        spaces = self._session.rows("sample_spaces", doing="sampling table spaces")
        members = self._session.optional_rows("database", doing="sampling the database") or []
        figures, database, temporary = space_figures(spaces, by_group=self._by_group)
        database |= database_totals(members)
        connections = self._session.optional_rows("connections", doing="sampling connections")
        if connections is not None and members:
            database |= self._sessions.total(session_counters(connections), database, monotonic)
        database |= self._processors.total(self._session, members, monotonic)
        self._watch_backups(members)
        database |= self._usual.totals(database, backup=self._backups > backups_before)
        # A rising counter instead of a flag: intervals are differences, and a flag that stays on would have none.
        self._uncounted += not objects
        database[DISTURBED_ALL], database[UNCOUNTED] = float(self._disturbed_all), float(self._uncounted)
        database[BACKUPS] = float(self._backups)
        epoch = epoch_of(members)
        self._counters.note_epoch(epoch)
        return Sample(
            taken_at=taken_at,
            monotonic_seconds=monotonic,
            epoch=epoch + found.suffix,
            physical_id=found.counters.ids,
            counters=found.counters.by_name,
            database=database,
            server_seconds=self._clock.monotonic() - monotonic,  # an upper bound: the wire is in it
            spaces=figures,
            roles=(*log_figures(members), *temporary),
            unread=found.unread,
            coverage=found.coverage,
        )

    def _read_all(self, limit: float | None) -> Counters:
        tables = self._session.parts(
            "sample_tables", partial(of_tables, disturbed=self._seen), doing="sampling tables", limit=limit
        )
        indexes = self._session.parts(
            "sample_indexes", partial(of_indexes, disturbed=self._seen), doing="sampling indexes", limit=limit
        )
        return _counters_of(tables + indexes)

    def _read_some(self, tables: Sequence[int], limit: float | None) -> Counters:
        """Of one table with its partitions, LOB objects and indexes: the functions take no more."""
        (row,) = tables
        name = self._tables().names[row]
        doing = "sampling one table"
        own = self._session.rows("sample_tables_of", name, doing=doing, limit=limit)
        of_it = self._session.rows("sample_indexes_of", name, doing=doing, limit=limit)
        return _counters_of(
            [
                *([of_tables(own, self._seen)] if own else []),
                *([of_indexes(of_it, self._seen)] if of_it else []),
            ]
        )

    def _units(self) -> tuple[I64, I64]:
        """Units of the catalog, and the row of the table of each."""
        known = self._tables()
        return known.physical_id, known.row

    def _watch_backups(self, members: Sequence[Row]) -> None:
        """Count a backup that began and ended between two samples: no utility shows it, its time of day does."""
        last = max((str(row[6] or "") for row in members if len(row) > 6), default="")
        self._backups += self._last_backup is not None and last > self._last_backup
        self._last_backup = last

    def _watch_utilities(self) -> None:
        """Count, for each table and for all at once, the samples that had a utility at their begin or end."""
        rows = self._session.optional_rows("utilities", doing="looking for utilities") or []
        now, everything = disturbed_tables(rows)
        backup = any(str(row[2]).upper() == BACKUP for row in rows)
        # Counted at both ends, since a sample sees the moment only: what began or ended within an interval shows at one
        # of them.
        for table in now | self._before:
            self._seen[table] = self._seen.get(table, 0) + 1
        self._disturbed_all += everything or self._all_before
        self._backups += backup or self._backup_before
        self._before, self._all_before, self._backup_before = now, everything, backup


def _counters_of(parts: Sequence[Counted]) -> Counters:
    ids, columns = by_unit(parts)
    return Counters(ids, dict(zip(COUNTERS, columns, strict=True)))


def disturbed_tables(rows: Sequence[Row]) -> tuple[set[tuple[str, str]], bool]:
    """Tables that a utility works on, and whether one works on the whole database or a table space."""
    tables: set[tuple[str, str]] = set()
    everything = False
    for _, _, kind, _, schema, name in rows:
        if str(kind).upper() not in DISTURBING:
            continue
        if schema and name:
            tables.add((schema, name))
        else:
            everything = True
    return tables, everything


def epoch_of(members: Sequence[Row]) -> str:
    """When each member was activated; "" where the version does not tell, and only falling counters show a restart."""
    return ";".join(f"{row[0]}@{row[1]}" for row in sorted(members, key=lambda row: int(row[0])))


def database_totals(members: Sequence[Row]) -> dict[str, float]:
    """Activities stand for transactions; request time is what sessions spent in the server."""
    if not members:
        return {}
    return {
        "transactions": float(sum(int(row[2] or 0) for row in members)),
        "active_seconds": sum(int(row[3] or 0) for row in members) / MILLISECONDS,
    }


def session_counters(rows: Sequence[Row]) -> list[SessionCounters]:
    """Rows of ``sql/connections.sql``, those of one connection on several members added up."""
    found: dict[str, SessionCounters] = {}
    for handle, began, user, application, *figures in rows:
        idle, working, done, *reading = (float(each or 0) for each in figures)
        name = f"{handle}@{began}"
        before = found.get(name)
        found[name] = SessionCounters(
            name=name,
            kind=f"{user}/{application}",
            thinking=idle / MILLISECONDS + (before.thinking if before else 0.0),
            working=working / MILLISECONDS + (before.working if before else 0.0),
            reading=sum(reading) / MILLISECONDS + (before.reading if before else 0.0),
            done=done + (before.done if before else 0.0),
        )
    return list(found.values())


def space_figures(
    rows: Sequence[Row], *, by_group: bool
) -> tuple[SpaceFigures, dict[str, float], tuple[RoleFigures, ...]]:
    """Figures per space over all members, what ``demand`` needs of each table space and of all, temporary ones."""
    names = column_names("sample_spaces")
    at = {name: position for position, name in enumerate(names)}
    numeric = [name for name in names if name not in {"TBSP_NAME", "TBSP_CONTENT_TYPE", "STORAGE_GROUP_NAME"}]
    c = columns_of(numeric, [[row[at[name]] for name in numeric] for row in rows])
    totals = space_totals(c)
    waits = {
        "sync_seconds": totals.sync_read_seconds,
        "prefetch_seconds": c["PREFETCH_WAIT_TIME"] / MILLISECONDS,
        "direct_seconds": c["DIRECT_READ_TIME"] / MILLISECONDS,
    }
    figures_of = waits | {"direct_requests": c["DIRECT_READ_REQS"], "direct_sectors": c["DIRECT_READS"]}
    figures_of |= {"written": totals.async_writes, **reads_by_kind(c)}
    database = {
        "reads": float(totals.physical.sum()),
        "read_seconds": float(sum(seconds.sum() for seconds in waits.values())),
        "write_seconds": float(totals.sync_write_seconds.sum() + c["DIRECT_WRITE_TIME"].sum() / MILLISECONDS),
    }
    own = (totals.sync, totals.sync_read_seconds, totals.sync_writes, totals.sync_write_seconds)
    spaces: dict[str, list[float]] = {}
    for row_number, row in enumerate(rows):
        number = int(row[at["TBSP_ID"]])
        for word, column in figures_of.items():
            key = space_key(word, number)
            database[key] = database.get(key, 0.0) + float(column[row_number])
        if row[at["TBSP_CONTENT_TYPE"]] in PERMANENT:
            group = row[at["STORAGE_GROUP_NAME"]] if by_group else None
            sums = spaces.setdefault(group or row[at["TBSP_NAME"]], [0.0] * 4)
            _accumulate(sums, row_number, *own)
    matrix = np.array(list(spaces.values()), dtype=np.float64).reshape(len(spaces), 4)
    figures = SpaceFigures(
        name=tuple(spaces),
        reads=matrix[:, 0],
        read_seconds=matrix[:, 1],
        writes=matrix[:, 2],
        write_seconds=matrix[:, 3],
    )
    words = [[row[at[column]] for row in rows] for column in ("TBSP_NAME", "TBSP_CONTENT_TYPE")]
    return figures, database, temporary_figures(words[0], words[1], totals, c)


def _accumulate(sums: list[float], row: int, *columns: F64) -> None:
    for at, column in enumerate(columns):
        sums[at] += float(column[row])


MILLISECOND = 1e-3
SINCE = (11, 1)  # before, only sections have numbers, which change whenever a statement comes into the cache again


def read_statements(session: ReadSession, clock: Clock, most: int) -> StatementCounters:
    """See ``ReadsStatements``; of ``SINCE``. Counters have no epoch: what was evicted shows by smaller ones.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    taken_at, began = clock.now(), clock.monotonic()
    rows = session.rows("statements", doing="reading statements")
    return sum_by_id(
        _count_of(rows), most, taken_at=taken_at, epoch="", seconds_per_unit=MILLISECOND,
        server_seconds=clock.monotonic() - began,
    )  # fmt: skip


def read_texts(session: ReadSession, ids: Collection[str]) -> Mapping[str, str]:
    """See ``ReadsStatements``.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    return read_all(ids, lambda id_: session.rows("statement_texts", (int(id_),), doing=READING_TEXT))


def statement_facts(session: ReadSession, version: tuple[int, ...]) -> Facts:
    """Whether outcomes can say which statements a move made slower, for ``STATEMENTS``."""
    if version < SINCE:
        why = "statements have numbers of their own since Db2 11.1"
        return unseen_statements(why, "Nothing can be done on this release.")
    try:
        session.rows("statements", doing="trying the package cache")
    except PrivilegeMissing as error:
        grant = "GRANT EXECUTE ON FUNCTION SYSPROC.MON_GET_PKG_CACHE_STMT TO the login that watches."
        remedy = error.advice or Remedy(grant, EXECUTE_GIVES.format("MON_GET_PKG_CACHE_STMT"))
        return unseen_statements("this login may not read the package cache", remedy)
    except ConnectorError as error:
        return unseen_statements(f"the package cache cannot be read ({error})", error.advice)
    return unseen_statements("", "")


def _count_of(rows: list[Row]) -> Iterator[tuple[object, ...]]:
    """Rows for ``sum_by_id``; a wait that a version does not tell is none."""
    for number, executions, took, pool, direct, prefetch, data, index in rows:
        waited = sum(int(each or 0) for each in (pool, direct, prefetch))
        yield number, executions, took, waited, int(data) + int(index)
