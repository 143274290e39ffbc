"""What a person exports by the printed queries is read to the very demand that the connector itself sees."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agent.config.tiers import KINDS
from agent.studies.assessment import assess, observe_exports
from agent.studies.assessment_files import read_export
from connectors.kit.assessment import Export, FromFiles, UnusableFile
from connectors.kit.contract import Connector, HotplaceError
from connectors.kit.registry import find_engine
from connectors.model.observation import Demand, Interval, Signal, UnitTable
from policies.evidence.counter_deltas import difference
from policies.model.settings import PolicySettings
from tests.contract.harness import EngineHarness, PlayTable
from tests.examples import by_turns

READS = 300
# Of these only what the release and the kind of database have is read.
VARIANTS = {
    "container", "epoch", "epoch_container", "system", "system_container", "units", "units_11", "disk_groups",
    "database", "storage_groups", "purescale", "utilities",  # which Db2 10.1 does not have
    "clock",  # labs of Db2 have no CURRENT TIMESTAMP
}  # fmt: skip


def by_hand_of(connector: Connector) -> tuple[str, FromFiles]:
    """The engine's way; a simulated database has no queries that a person could run."""
    engine = connector.identify().engine
    found = find_engine(engine).by_hand
    if found is None:
        pytest.skip(f"{engine} has no queries")
    return engine, found


def export(connector: Any, engine: str, queries: Mapping[str, str], at: Path) -> Path:
    """Run the printed queries: of PostgreSQL as psql would, into CSV; of the others into one JSON file."""
    if engine == "postgresql":
        at.mkdir()
        for name, text in queries.items():
            (at / f"{name}.csv").write_bytes(as_csv(connector._session._open(), text))
        return at
    results = {}
    for name, text in queries.items():
        try:
            results[name] = [[plain(cell) for cell in row] for row in asked(connector._session, engine, name, text)]
        except Exception:  # noqa: BLE001  # a person cannot run it either: another release, no ASM
            assert name in VARIANTS, name
    file = at.with_suffix(".json")
    file.write_text(json.dumps({"taken_at": "2026-01-31T12:00:00Z", "results": results}), encoding="utf-8")
    return file


def asked(session: Any, engine: str, name: str, text: str) -> list[tuple[Any, ...]]:
    """Rows of a printed query."""
    if engine == "oracle":
        return list(session.rows("\n".join(line for line in text.splitlines() if line[:2] != "--"), doing="by hand"))
    if engine == "sqlserver":
        return list(session._fetch(text, (), "by hand"))
    from connectors.db2.sessions import query

    assert text == query(name).text.strip()
    return list(session.rows(name, doing="by hand"))


def plain(cell: object) -> object:
    """As an export writes it."""
    if isinstance(cell, Decimal):
        return int(cell) if cell == int(cell) else float(cell)
    return cell.isoformat() if isinstance(cell, date) else cell


def as_csv(connection: Any, text: str) -> bytes:
    """What psql --csv writes."""
    with connection.cursor() as cursor:
        if text.rstrip().endswith("(FORMAT csv, HEADER)"):
            with cursor.copy(text) as copy:
                return b"".join(bytes(part) for part in copy)
        cursor.execute(text)
        out = io.StringIO()
        writer = csv.writer(out)
        writer.writerow([column.name for column in cursor.description])
        for row in cursor.fetchall():
            writer.writerow(["t" if c is True else "f" if c is False else "" if c is None else c for c in row])
        return out.getvalue().encode()


class Noting(dict[str, Any]):
    """Results that note which of them were read."""

    def __init__(self, results: Mapping[str, Any]) -> None:
        super().__init__(results)
        self.read: set[str] = set()

    def __getitem__(self, name: str) -> Any:
        self.read.add(name)
        return super().__getitem__(name)


def reads(demand: Demand, units: UnitTable, signal: Signal, key: str) -> float:
    """How many of that signal."""
    number = units.physical_id[list(units.key).index(key)]
    at = np.flatnonzero(demand.physical_id == number)
    return float(demand.rates[signal, at[0]] * demand.seconds) if len(at) else 0.0


@pytest.fixture
def exports(harness: EngineHarness, connector: Connector, table: PlayTable, tmp_path: Path) -> Any:
    """Engine, its way, live interval with catalog, and two exports around it."""
    engine, hand = by_hand_of(connector)
    connector.catalog()
    first = export(connector, engine, hand.queries(), tmp_path / "before")
    live_before = connector.sample()
    harness.read_randomly(table, READS)
    live_after = connector.sample()
    second = export(connector, engine, hand.queries(), tmp_path / "after")
    interval = difference(live_before, live_after, longest_seconds=3600)
    assert isinstance(interval, Interval)
    before, after = (read_export(path, hand.queries()) for path in (first, second))
    return engine, hand, interval, before, after


def test_exports_say_what_the_connector_sees(connector: Connector, table: PlayTable, exports: Any) -> None:
    """Look-ups counted by the connector and by two exports agree for the table and its index, sizes too."""
    engine, hand, interval, before, after = exports
    catalog = connector.catalog()
    live = connector.classify(interval, catalog)
    found = observe_exports(engine, hand, before, after, interval.seconds)
    assert set(found.catalog.units.key) == set(catalog.units.key)
    for key in (table.key, table.index_key):
        for signal in (Signal.SYNC_READ, Signal.LOGICAL_READ):
            expected = reads(live, catalog.units, signal, key)
            assert reads(found.demand, found.catalog.units, signal, key) == pytest.approx(expected, rel=0.03, abs=3)
        sizes = [units.size_bytes[list(units.key).index(key)] for units in (catalog.units, found.catalog.units)]
        assert sizes[0] == pytest.approx(sizes[1], rel=0.05)
    assert reads(found.demand, found.catalog.units, Signal.SYNC_READ, table.key) > READS / 10


def test_every_printed_query_is_read_and_needed(exports: Any) -> None:
    """The reading asks for each result that is printed, and misses none; without one it says which."""
    engine, hand, interval, before, after = exports
    noted = Noting(before.results), Noting(after.results)
    moved = replace(after, taken_at=before.taken_at)
    observe_exports(engine, hand, replace(before, results=noted[0]), replace(moved, results=noted[1]), interval.seconds)
    assert set(hand.queries()) - (noted[0].read | noted[1].read) <= VARIANTS
    fewer = Export(path="x", taken_at=before.taken_at, results={})
    with pytest.raises(UnusableFile, match="x: has no result of identify"):
        observe_exports(engine, hand, fewer, after, interval.seconds)


HOSTILE = (None, True, -1, 0, 2**70, -(2**70), 1e300, "", "x", "9" * 400)


def test_no_cell_of_an_export_makes_it_crash(exports: Any) -> None:
    """Each column in turn holds what no server says there: it is judged, or refused by a sentence."""
    engine, hand, interval, before, after = exports
    for name, rows in after.results.items():
        for column in range(len(rows[0]) if rows else 0):
            for hostile in by_turns(HOSTILE, column):
                spoilt = [[*row[:column], hostile, *row[column + 1 :]] for row in map(list, rows)]
                results = {**after.results, name: [tuple(row) for row in spoilt]}
                try:
                    found = observe_exports(engine, hand, before, replace(after, results=results), interval.seconds)
                    assess(found, KINDS["ssd"], KINDS["hdd"], PolicySettings(), offered=2**30)
                except HotplaceError:  # of the file, or what the engine says of such a server
                    continue
                except Exception as error:
                    raise AssertionError(f"{name}, column {column}: {hostile!r:.40}: {error!r}") from error
