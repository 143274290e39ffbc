"""Files with counters of an engine's own views: CSV of any tool, and the text of a Prometheus exporter.

A file holds one table, known by its columns; a folder holds several. The text of an exporter holds many metrics, which
are put together to the tables that they were read from.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from agent.studies.assessment_files import read_text
from agent.studies.exported_tables import titled_rows_of
from connectors.kit.assessment import CounterTable, FromFiles, Observation, UnusableFile, folded
from connectors.kit.counter_tables import NamedRow, Snapshot, observe_tables, table_of

SUFFIXES = (".csv", ".txt", ".prom", ".tsv", ".del")
_METRIC = re.compile(r"(pg_[a-z0-9_]{1,100})(?:\{([^{}\n]{0,2000})\})?[ \t]{1,20}([0-9.eE+-]{1,40})(?:[ \t]|$)")
_LABEL = re.compile(r'([a-zA-Z_]{1,60})="((?:[^"\\]|\\.){0,300})"')
# Metrics of postgres_exporter and others, by table and column; a suffix _total is the same.
_METRICS: Mapping[str, tuple[str, str]] = {
    "pg_stat_database_blks_read": ("pg_stat_database", "blksread"),
    "pg_stat_database_blk_read_time": ("pg_stat_database", "blkreadtime"),
    "pg_statio_user_tables_heap_blks_read": ("pg_statio_user_tables", "heapblksread"),
    "pg_statio_user_tables_heap_blocks_read": ("pg_statio_user_tables", "heapblksread"),
    "pg_statio_user_tables_idx_blks_read": ("pg_statio_user_tables", "idxblksread"),
    "pg_statio_user_tables_idx_blocks_read": ("pg_statio_user_tables", "idxblksread"),
    "pg_statio_user_tables_toast_blks_read": ("pg_statio_user_tables", "toastblksread"),
    "pg_statio_user_tables_toast_blocks_read": ("pg_statio_user_tables", "toastblksread"),
    "pg_statio_user_tables_tidx_blks_read": ("pg_statio_user_tables", "tidxblksread"),
    "pg_statio_user_tables_tidx_blocks_read": ("pg_statio_user_tables", "tidxblksread"),
}


@dataclass(frozen=True, slots=True)
class Read:
    """What a file or folder holds: one engine's tables."""

    engine: str
    tables: tuple[CounterTable, ...]
    snapshot: Snapshot


def read_counters(path: Path, engines: Mapping[str, FromFiles]) -> Read | None:
    """The tables in a file or folder; None where there is none that any engine knows.

    Raises:
        UnusableFile: a file cannot be read, is no table, or tables are of several engines.
    """
    files = sorted(each for each in path.iterdir() if each.suffix.lower() in SUFFIXES) if path.is_dir() else [path]
    found: dict[str, dict[str, list[NamedRow]]] = {}
    for file in files:
        for engine, title, rows in _tables(file, engines):
            found.setdefault(engine, {}).setdefault(title, []).extend(rows)
    if not found:
        return None
    if len(found) > 1:
        raise UnusableFile(str(path), f"holds tables of {' and '.join(sorted(found))}", advice="Name those of one.")
    ((engine, tables),) = found.items()
    return Read(engine, engines[engine].tables, Snapshot(path=str(path), tables=tables))


def observe_counters(before: Read | None, after: Read, elapsed: float | None) -> Observation:
    """See ``counter_tables.observe_tables``.

    Raises:
        UnusableFile: the two are of different engines, or see there.
    """
    if before is not None and before.engine != after.engine:
        raise UnusableFile(
            after.snapshot.path, f"is of {after.engine}, and not of {before.engine}", advice="Name one's."
        )
    earlier = None if before is None else before.snapshot
    return observe_tables(after.engine, after.tables, earlier, after.snapshot, elapsed)


def _tables(file: Path, engines: Mapping[str, FromFiles]) -> Iterator[tuple[str, str, list[NamedRow]]]:
    text = read_text(file)
    metrics = _metrics(text)
    if metrics:
        yield from (("postgresql", title, rows) for title, rows in metrics.items())
        return
    known = {title: engine for engine, hand in engines.items() for title in (table.title for table in hand.tables)}
    first = next((line for line in text.splitlines()[:20] if line.strip()), "")
    words = re.split(r"[,;|\t]|\s{2,20}", first[:20000])
    if table_of([table for hand in engines.values() for table in hand.tables], map(_bare, words)) is None:
        return
    titles, rows = titled_rows_of(str(file), text)
    table = table_of([table for hand in engines.values() for table in hand.tables], titles)
    if table is not None:
        names = [folded(title) for title in titles]
        yield known[table.title], table.title, [dict(zip(names, row, strict=True)) for row in rows]


def _bare(word: str) -> str:
    return word.strip().strip('"')


def _metrics(text: str) -> dict[str, list[NamedRow]]:
    """Tables that the metrics of an exporter come from, a row for each set of labels."""
    rows: dict[str, dict[tuple[tuple[str, str], ...], dict[str, object]]] = {}
    for line in text.splitlines():
        found = _METRIC.match(line) if line.startswith("pg_") else None
        place = None if found is None else _METRICS.get(found[1].removesuffix("_total"))
        if found is None or place is None:
            continue
        labels = {name: value for name, value in _LABEL.findall(found[2] or "") if name in _NAMES}
        row = rows.setdefault(place[0], {}).setdefault(tuple(sorted(labels.items())), dict(labels))
        row[place[1]] = _value(found[3])
    return {title: list(each.values()) for title, each in rows.items()}


_NAMES = ("datname", "schemaname", "relname")


def _value(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def columns_known(engines: Sequence[FromFiles]) -> list[str]:
    """Titles of the tables that are read, for messages."""
    return [table.title for hand in engines for table in hand.tables]
