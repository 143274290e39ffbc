"""Takes one sample: counters of every table, LOB object and index over all members, and of every table space."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial

import numpy as np

from connectors.base import Clock
from connectors.db2.reading.backups import UsualDirectReads, space_key
from connectors.db2.reading.counters import COUNTERS, by_unit, of_indexes, of_tables
from connectors.db2.reading.roles import log_figures, temporary_figures
from connectors.db2.reading.space_counters import MILLISECONDS, columns_of, reads_by_kind, space_totals
from connectors.db2.session.queries import query
from connectors.db2.session.sessions import ReadSession, Row
from connectors.model import F64, Sample
from connectors.storage_io import RoleFigures, SpaceFigures

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

    def __init__(self, session: ReadSession, clock: Clock, *, by_group: bool) -> None:
        """Args: session, clock, and whether storage groups are the spaces (``move_by: table_space``)."""
        self._session = session
        self._clock = clock
        self._by_group = by_group
        self._seen: dict[tuple[str, str], int] = {}
        self._before: set[tuple[str, str]] = set()
        self._disturbed_all, self._all_before = 0, False
        self._backups, self._backup_before = 0, False
        self._last_backup: str | None = None  # None: not asked yet; "": none was ever taken
        self._usual = UsualDirectReads()
        self._uncounted = 0

    def sample(self, *, objects: bool = True) -> Sample:
        """Five queries, whatever the number of objects.

        Args:
            objects: whether the server counts reads of each at all.

        Raises:
            ConnectorError: a subclass that says what may be done.
        """
        taken_at, monotonic = self._clock.now(), self._clock.monotonic()
        backups_before = self._backups
        # First: a utility that ends during the queries is still noted for the interval that it disturbed.
        self._watch_utilities()
        tables = self._session.parts("sample_tables", partial(of_tables, disturbed=self._seen), doing="sampling tables")
        indexes = self._session.parts(
            "sample_indexes", partial(of_indexes, disturbed=self._seen), doing="sampling indexes"
        )
        spaces = self._session.rows("sample_spaces", doing="sampling table spaces")
        members = self._session.optional_rows("database", doing="sampling the database") or []
        ids, columns = by_unit(tables + indexes)
        figures, database, temporary = space_figures(spaces, by_group=self._by_group)
        database |= database_totals(members)
        self._watch_backups(members)
        database |= self._usual.totals(database, backup=self._backups > backups_before)
        # A rising counter instead of a flag: intervals are differences, and a flag that stays on would have none.
        self._uncounted += not objects
        database[DISTURBED_ALL], database[UNCOUNTED] = float(self._disturbed_all), float(self._uncounted)
        database[BACKUPS] = float(self._backups)
        return Sample(
            taken_at=taken_at,
            monotonic_seconds=monotonic,
            epoch=epoch_of(members),
            physical_id=ids,
            counters=dict(zip(COUNTERS, columns, strict=True)),
            database=database,
            server_seconds=self._clock.monotonic() - monotonic,  # an upper bound: the wire is in it
            spaces=figures,
            roles=(*log_figures(members), *temporary),
        )

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
