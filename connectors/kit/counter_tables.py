"""Counters of an engine's own views as people export them, without the queries of hotplace: what they tell and lack.

A table is known by its columns, whatever the file is called. Two snapshots of it give the reads and waits between them.
Of one snapshot they are those since the server was started, so the length of that time has to be known. A row that only
the later snapshot has may have counted for years: it is left out and named, unless it began to count in between.

Such tables hold less than the connector reads, and what they lack is left open. Where waits are timed of spaces or of
the database alone, they are divided by reads; but a read ahead costs no session anything, so an object may have had
none of its space's wait, or all of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from connectors.kit.assessment import CounterTable, Observation, Of, UnusableFile, WaitKind, few_of, folded
from connectors.model.formatting import format_seconds
from connectors.model.moves import UnitKind
from connectors.model.observation import (
    F64,
    NO_PARENT,
    SIGNALS,
    Catalog,
    DatabaseDemand,
    Demand,
    Signal,
    Space,
    SpaceFigures,
    UnitTable,
)  # fmt: skip

NamedRow = Mapping[str, Any]  # a row by its column's names, in lower case, without blanks and underscores
ELSEWHERE = "(space not in the files)"
REST = "(all else)"
SOME_TIME = datetime(2000, 1, 1, tzinfo=UTC)
MILLISECONDS = 1e-3
TAKEN = "takenat", "now", "currenttimestamp"  # columns with the time at which a row was read


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """Tables of one moment."""

    path: str
    tables: Mapping[str, Sequence[NamedRow]] = field(default_factory=dict)  # by title


def table_of(known: Iterable[CounterTable], columns: Iterable[str]) -> CounterTable | None:
    """The table that has these columns; the one that needs most of them."""
    there = {folded(column) for column in columns}
    fitting = [table for table in known if table.needs <= there]
    return max(fitting, key=lambda table: len(table.needs), default=None)


@dataclass(slots=True)
class _Counted:
    """Counters of one name, of a snapshot or between two."""

    name: str
    space: str
    reads: float
    seconds: float  # NaN: the table times nothing
    size: int | None
    rows: int = 1  # that were added up
    since: datetime | None = None  # when it began to count; None: not said


def observe_tables(
    engine: str, known: Sequence[CounterTable], before: Snapshot | None, after: Snapshot, elapsed: float | None
) -> Observation:
    """What one snapshot of counters tells, or two.

    Args:
        engine: whose they are.
        known: its tables.
        before: the earlier one; None: the counters since the start of the server.
        after: the later one.
        elapsed: seconds between them, or since the start; None: as the tables say.

    Raises:
        UnusableFile: no table times reads, the period is not known, counters fell, nothing was read, or the two have no
            rows in common.
    """
    tables = [table for table in known if table.title in after.tables]
    _insist_on_times(known, tables, after)
    seconds = elapsed if elapsed is not None else _period(tables, before, after)
    counted, left_out = _period_counters(tables, before, after)
    objects, spaces, whole = (counted[of] for of in (Of.OBJECT, Of.SPACE, Of.DATABASE))
    notes = [f"{table.title}: {table.lacks}" for table in tables if table.lacks]
    if before is not None:
        notes += _notes_on_left_out(before, left_out)
        objects, homeless = _with_a_space(objects, {name for table, name in left_out if table.of is Of.SPACE})
        if homeless:
            notes.append(f"no wait of the space of {few_of(homeless)} is known: {_is(homeless)} left out too")
    else:
        notes.append(f"one snapshot: counters since the server was started, {format_seconds(seconds)} ago")
    if any(table.timed_ahead for table in tables) and not any(row.seconds == row.seconds for row in objects):
        notes.append("times of files hold reads ahead: sessions waited for them at most as long")
    return _make_observation(engine, after.path, seconds, objects, spaces, whole, notes, tables)


def _insist_on_times(known: Sequence[CounterTable], tables: Sequence[CounterTable], after: Snapshot) -> None:
    """See that a table says how long reads took, if only as a sum.

    Raises:
        UnusableFile: none does; more snapshots of the same would not either.
    """
    if not any(table.read_ms for table in tables):
        count = "counts" if len(tables) == 1 else "count"
        raise UnusableFile(
            after.path,
            f"times no read: {' and '.join(table.title for table in tables)} {count} reads alone",
            advice="Add the times of the same period: "
            f"{' or '.join(table.title for table in known if table.read_ms)}, in one folder with each snapshot.",
        )


def _period(tables: Sequence[CounterTable], before: Snapshot | None, after: Snapshot) -> float:
    for table in tables:
        if table.since_ms:
            ends = [
                max((_number(row.get(table.since_ms), table.since_ms, "the row", table, each)
                     for row in each.tables.get(table.title, ())), default=0.0)
                for each in (before, after) if each is not None
            ]  # fmt: skip
            seconds = (ends[-1] - (ends[0] if before is not None else 0.0)) * MILLISECONDS
            if seconds > 0:
                return seconds
    raise UnusableFile(
        after.path,
        "does not say how long its counters ran"
        if before is None
        else f"does not say how long after {before.path} it is",
        advice="Say it: --elapsed 1h; of one snapshot since the start of the server.",
    )


def _period_counters(
    tables: Sequence[CounterTable], before: Snapshot | None, after: Snapshot
) -> tuple[dict[Of, list[_Counted]], list[tuple[CounterTable, str]]]:
    """Counters of the period by what they are of, and the names in each table that are left out.

    Raises:
        UnusableFile: a counter fell, or none that is timed is left.
    """
    found: dict[Of, list[_Counted]] = {of: [] for of in Of}
    left_out: list[tuple[CounterTable, str]] = []
    for table in tables:
        rows, without = _differences(table, before, after)
        found[table.of] += rows
        left_out += ((table, name) for name in without)
    timed_before = any(table.read_ms for table, _ in left_out)
    if (
        before is not None
        and timed_before
        and not any(row.seconds == row.seconds for rows in found.values() for row in rows)
    ):
        names = [name for _, name in left_out]
        raise UnusableFile(
            after.path,
            f"has no counters that {before.path} has too: {few_of(names)} {_is(names)} left out",
            advice="Take two snapshots of one server, of the same databases and by the same query.",
        )
    return found, left_out


def _notes_on_left_out(before: Snapshot, left_out: Sequence[tuple[CounterTable, str]]) -> Iterable[str]:
    """A sentence for each table that has rows which the earlier snapshot lacks."""
    for title in dict.fromkeys(table.title for table, _ in left_out):
        names = [name for table, name in left_out if table.title == title]
        they = "it" if len(names) == 1 else "they"
        yield (
            f"{title}: {before.path} has no earlier counters of {few_of(names)}, which {_is(names)} left out: "
            f"what {they} read between the two is not known, not 0"
        )


def _is(names: Sequence[str]) -> str:
    return "is" if len(names) == 1 else "are"


def _with_a_space(objects: Sequence[_Counted], unknown: Set[str]) -> tuple[list[_Counted], list[str]]:
    """Objects but those whose only wait would be that of an unknown space, and the names of these."""
    homeless = [row.name for row in objects if row.seconds != row.seconds and row.space in unknown]
    return [row for row in objects if row.seconds == row.seconds or row.space not in unknown], homeless


def _differences(table: CounterTable, before: Snapshot | None, after: Snapshot) -> tuple[list[_Counted], list[str]]:
    """Rows of the later snapshot less those of the earlier, and names that have no earlier ones; one name is added up.

    Raises:
        UnusableFile: a counter fell.
    """
    first = {} if before is None else _by_name(table, before)
    found: list[_Counted] = []
    left_out: list[str] = []
    for name, now in _by_name(table, after).items():
        was = first.get(name)
        if before is not None and (
            not _began_between(now, table, before, after) if was is None else now.rows > was.rows
        ):
            left_out.append(name)
            continue
        reads = now.reads - (was.reads if was else 0.0)
        seconds = now.seconds - (was.seconds if was else 0.0)
        if reads < 0 or seconds < 0:
            raise UnusableFile(
                after.path,
                f"counters of {name} in {table.title} are lower than before",
                advice="Name the earlier snapshot first, and take both without a restart in between.",
            )
        found.append(_Counted(name, now.space, reads, seconds, now.size))
    return found, left_out


def _began_between(row: _Counted, table: CounterTable, before: Snapshot, after: Snapshot) -> bool:
    """Whether it surely began to count between two snapshots; times of files do not say when these were taken."""
    begin, end = _taken_at(table, before), _taken_at(table, after)
    if row.since is None or begin is None or end is None:
        return False
    zones = {each.tzinfo is None for each in (row.since, begin, end)}
    return len(zones) == 1 and begin <= row.since <= end


def _taken_at(table: CounterTable, snapshot: Snapshot) -> datetime | None:
    """When a table was read, by a column of its own."""
    rows = snapshot.tables.get(table.title, ())
    said = (_time(row[column]) for row in rows for column in TAKEN if column in row)
    return next((each for each in said if each is not None), None)


def _time(value: object) -> datetime | None:
    try:
        return datetime.fromisoformat(str(value).strip())
    except ValueError:
        return None


def _by_name(table: CounterTable, snapshot: Snapshot) -> dict[str, _Counted]:
    found: dict[str, _Counted] = {}
    for row in snapshot.tables.get(table.title, ()):
        parts = [
            next((str(row[each]) for each in choice if row.get(each) not in {None, ""}), "") for choice in table.name
        ]
        name = ".".join(part for part in parts if part)
        values = {each: _number(row.get(each), each, name, table, snapshot) for each in _columns(table, row)}
        if (least := min(values, key=values.__getitem__, default=None)) is not None and values[least] < 0:
            raise UnusableFile(
                snapshot.path,
                f"{least} of {name} in {table.title} is negative: {values[least]:g}",
                advice="No counter is: export the table again as it is.",
            )
        reads = max(0.0, _sum(values, table.reads) - _sum(values, table.ahead))
        timed = any(column in row for column in table.read_ms)
        waited_ms = max(0.0, _sum(values, table.read_ms) - _sum(values, table.ahead_ms)) if timed else np.nan
        seconds = waited_ms * MILLISECONDS
        sizes = [values[column] * unit for column, unit in table.sizes if row.get(column) is not None]
        size = int(sizes[0]) if sizes and 0 <= sizes[0] < 2**62 else None
        space = str(row.get(table.space) or "") if table.space else ""
        since = _time(row.get(table.since)) if table.since else None
        if name in found:
            same = found[name]
            same.rows, same.since = same.rows + 1, None  # of one of them it is not that of all
            same.reads, same.seconds = same.reads + reads, same.seconds + seconds
            same.size = None if same.size is None or size is None else same.size + size
        else:
            found[name] = _Counted(name, space, reads, seconds, size, since=since)
    return found


def _columns(table: CounterTable, row: NamedRow) -> list[str]:
    """Those of numbers that a row has."""
    wanted = (*table.reads, *table.ahead, *table.read_ms, *table.ahead_ms, *(column for column, _ in table.sizes))
    return [column for column in wanted if column in row]


def _sum(values: Mapping[str, float], columns: Iterable[str]) -> float:
    return sum(values.get(column, 0.0) for column in columns)


def _number(value: object, column: str, name: str, table: CounterTable, snapshot: Snapshot) -> float:
    """A counter, 0 where the cell is empty: a view has NULL where it does not count.

    Raises:
        UnusableFile: it is a text. Taken for 0, the row would have waits without reads.
    """
    if value is None or value != value:
        return 0.0
    try:
        return float(value)  # type: ignore[arg-type]  # a text, where any cell of the column is none
    except (TypeError, ValueError):
        raise UnusableFile(
            snapshot.path,
            f"{column} of {name} in {table.title} is no number: {str(value)!r:.60}",
            advice="Export numbers without thousands, with a decimal point; leave a cell empty that has none.",
        ) from None


def _make_observation(
    engine: str, path: str, seconds: float, objects: Sequence[_Counted], spaces: Sequence[_Counted],
    whole: Sequence[_Counted], notes: Sequence[str], tables: Sequence[CounterTable],
) -> Observation:  # fmt: skip
    """Objects with their own waits where they are timed, else with shares of what their space or database waited."""
    timed = [row for row in objects if row.seconds == row.seconds]
    by_name = {row.name for row in spaces}
    # Where an object does not say its space, or an unknown one, nothing tells which space's wait it has.
    placed = not timed and all(row.space in by_name for row in objects)
    names = [row.name for row in spaces] if placed else []
    rows = [(row, names.index(row.space) if row.space in names else len(names)) for row in timed or objects]
    waits = {at: row.seconds for at, row in enumerate(spaces)} if names else {}
    total = _total(timed, spaces, whole)
    elsewhere = len(names)
    if not timed:
        waits[elsewhere] = total if not names else 0.0
    units = list(rows)
    for at, row in enumerate(spaces if names else ()):
        there = [each for each, place in rows if place == at]
        left = row.reads - sum(each.reads for each in there)
        size = row.size if not there else None  # objects of these tables have none
        units.append((_Counted(f"{REST} in {row.name}", row.name, max(0.0, left), np.nan, size), at))
    if not names and not timed:
        left = sum(row.reads for row in spaces or whole) - sum(each.reads for each in objects)
        units.append((_Counted(REST, "", max(0.0, left), np.nan, None), elsewhere))
    if not units or not total > 0:
        raise UnusableFile(
            path, "says of no read that a session waited for it", advice="Take two snapshots around normal work."
        )
    waited, least, most = _waits(units, waits, timed=bool(timed))
    return _observation(engine, path, seconds, units, [*names, ELSEWHERE], (waited, least, most), notes, tables)


def _total(timed: Sequence[_Counted], spaces: Sequence[_Counted], whole: Sequence[_Counted]) -> float:
    rows = timed or spaces or whole
    return float(np.nansum([row.seconds for row in rows])) if rows else 0.0


def _waits(units: Sequence[tuple[_Counted, int]], waits: Mapping[int, float], *, timed: bool) -> tuple[F64, F64, F64]:
    """Wait of each unit in the period, likely, least and most."""
    if timed:
        own = np.array([row.seconds for row, _ in units], dtype=np.float64)
        return own, own, own
    reads: dict[int, float] = {}
    members: dict[int, int] = {}
    for row, place in units:
        reads[place] = reads.get(place, 0.0) + row.reads
        members[place] = members.get(place, 0) + 1
    likely = np.array(
        [waits.get(place, 0.0) * (row.reads / reads[place] if reads[place] > 0 else 1 / members[place])
         for row, place in units], dtype=np.float64,
    )  # fmt: skip
    alone = np.array([members[place] == 1 for _, place in units], dtype=np.bool_)
    most = np.array([waits.get(place, 0.0) if row.reads > 0 else 0.0 for row, place in units], dtype=np.float64)
    return likely, np.where(alone, likely, 0.0), np.maximum(most, likely)


def _observation(
    engine: str, path: str, seconds: float, units: Sequence[tuple[_Counted, int]], names: Sequence[str],
    waits: tuple[F64, F64, F64], notes: Sequence[str], tables: Sequence[CounterTable],
) -> Observation:  # fmt: skip
    count, (waited, least, most) = len(units), waits
    space = np.array([place for _, place in units], dtype=np.int64)
    reads = np.array([row.reads for row, _ in units], dtype=np.float64)
    by_space = np.bincount(space, weights=reads, minlength=len(names))
    time = np.bincount(space, weights=waited, minlength=len(names))
    each = np.divide(time, by_space, out=np.full(len(names), np.nan), where=by_space > 0)
    usual = float(waited.sum() / reads.sum()) if reads.sum() > 0 else 1.0
    each = np.where(np.isfinite(each) & (each > 0), each, usual if usual > 0 else 1.0)
    rates = np.zeros((SIGNALS, count))
    rates[Signal.SYNC_READ] = waited / each[space] / seconds
    ids = np.arange(1, count + 1, dtype=np.int64)
    ended = SOME_TIME + timedelta(seconds=min(seconds, 1e10))
    measured = not any(table.timed_ahead for table in tables) or any(
        table.of is Of.OBJECT and table.read_ms for table in tables
    )
    kind = WaitKind(
        name="reads", events=(), waits=float(reads.sum()), seconds=float(waited.sum()), by_unit=waited, least=least,
        most=most,
    )  # fmt: skip
    return Observation(
        engine=engine,
        database=path,
        source=f"{' and '.join(table.title for table in tables)}",
        catalog=Catalog(
            taken_at=ended,
            spaces=tuple(
                Space(name=name, path="", used_bytes=0, free_bytes=None, capacity_bytes=None) for name in names
            ),
            units=UnitTable(
                physical_id=ids, key=tuple(row.name for row, _ in units),
                kind=np.full(count, UnitKind.TABLE, dtype=np.int8),
                size_bytes=np.array([row.size or 0 for row, _ in units], dtype=np.int64),
                space=space.astype(np.int32), bundle=ids, parent=np.full(count, NO_PARENT, dtype=np.int64),
            ),
        ),
        demand=Demand(
            ended_at=ended, seconds=seconds, physical_id=ids, rates=rates, observed=np.ones(count, dtype=np.bool_),
            estimated=frozenset({Signal.SYNC_READ}),
            database=DatabaseDemand(read_wait=float(waited.sum()) / seconds if measured else np.nan),
            spaces=SpaceFigures(
                name=tuple(names), reads=by_space / seconds, read_seconds=by_space * each / seconds,
                writes=np.full(len(names), np.nan), write_seconds=np.full(len(names), np.nan),
            ),
            waited=waited / seconds,
        ),
        size_known=np.array([row.size is not None for row, _ in units], dtype=np.bool_),
        least=np.divide(least, waited, out=np.ones(count), where=waited > 0),
        most=np.divide(most, waited, out=np.ones(count), where=waited > 0),
        notes=tuple(notes),
        kinds=(kind,),
        space_reads={name: float(by_space[at]) / seconds for at, name in enumerate(names)},
        sections=dict.fromkeys(("waits", "spaces", "units"), tables[0].title),
    )  # fmt: skip
