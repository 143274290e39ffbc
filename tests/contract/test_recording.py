"""What is recorded of an engine and replayed through its connector comes to the same plan."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent.cli.planning.plan import plan_document
from agent.config import DatabaseConfig
from agent.model.clock import SystemClock
from agent.what_if.recorded_settings import head_of, names_of
from agent.what_if.recording import LastPlan, Recorded, record
from agent.what_if.replaying import replayed
from connectors.base import Connector
from connectors.recording.columns import table_of
from connectors.recording.events import End, Mark
from connectors.recording.names import Names
from connectors.recording.reading import Reader
from connectors.recording.writing import Writer
from tests.contract.harness import EngineHarness, PlayTable
from tests.labs.postgresql import PostgresqlHarness

READS = 100
POLICY = {  # decides at once, and whatever the gain
    "minimum_history": "0s", "minimum_gain": "0s", "regret": 0, "payback": "3000d", "horizon": "3000d", "slow_down": 0,
    "minimum_size": 0,
}  # fmt: skip
QUICK = {"name": "ssd", "random_read": "1us", "sequential_read": "0.1us", "write": "1us"}  # even next to page cache


class BusyClock(SystemClock):
    """Whoever waits by it works meanwhile."""

    def __init__(self, work: Callable[[], None]) -> None:
        self.work = work

    def sleep(self, seconds: float) -> None:
        """Do the work, then wait."""
        self.work()
        super().sleep(seconds)


class Scene:
    """A database that is recorded under load."""

    def __init__(self, harness: EngineHarness, connector: Any, table: PlayTable) -> None:
        engine, settings = connector.identify().engine, connector._settings
        listed = table_of(engine)
        if listed is None:
            pytest.skip(f"{engine} has no queries")
        given = {name: getattr(settings, name) for name in settings.model_fields_set}
        self.entry = {
            "name": "shop", "engine": engine, "sample_every": "50ms", "plan_every": "1d", "policy": POLICY,
            "connection": {name: f"{v:g}s" if "timeout" in name else v for name, v in given.items()},
            "tiers": [
                {**QUICK, "spaces": [{"name": harness.target_space, "capacity": "1 GiB"}]},
                {"name": "hdd", "spaces": [harness.source_space]},
            ],
        }  # fmt: skip
        self.database = DatabaseConfig.model_validate({**self.entry, "connection": settings})
        self.clock = BusyClock(lambda: harness.read_randomly(table, READS))

    def record(self, path: Path, names: Names) -> Recorded:
        """Two samples and a plan."""
        head = head_of(self.entry, names)
        return record(self.database, head, path, names, self.clock, seconds=0.05)


@pytest.fixture
def scene(harness: EngineHarness, connector: Connector, table: PlayTable) -> Iterator[Scene]:
    """A table that is read while it is recorded."""
    if not isinstance(harness, PostgresqlHarness):
        yield Scene(harness, connector, table)
        return
    # Its disk is the memory of this machine. Unless it is timed, the speeds that the configuration says count.
    timing = f"ALTER DATABASE {harness._dbname} {{}} track_io_timing"
    harness._dba.execute(f"{timing.format('SET')} = off")
    yield Scene(harness, connector, table)
    harness._dba.execute(timing.format("RESET"))


def document_of(last: LastPlan) -> str:
    """The plan with its moves and statements, and what it would be as it looks, to the letter."""
    assert last.planning is not None
    prospect = last.prospect.proposal if last.prospect is not None else None
    documents = [plan_document(last.planning, proposal) for proposal in (last.proposal, prospect)]
    return json.dumps(documents, indent=1, default=str)


def figures_of(last: LastPlan) -> list[object]:
    """Of the whole plan, of each move in its order, and of each unit in the catalog's: without a name."""
    assert last.planning is not None
    assert last.proposal is not None
    plan = plan_document(last.planning, None)
    moves = [
        (
            move.size_bytes,
            move.wait_saved_per_hour,
            move.copy_seconds,
            len(move.route.steps),
            len(move.route.bundle.unit_keys),
        )
        for move in last.proposal.moves
    ]
    sizes = last.planning.situation.units.size_bytes.tolist()
    return [plan["wait_per_hour_seconds"], plan["wait_saved_per_hour_seconds"], moves, sizes]


def hashed_copy(path: Path, entry: dict[str, Any], names: Names) -> Path:
    """The recording as it would have been made with those names: from the same rows, by the same table."""
    reader, copy, table = Reader(path), path.with_suffix(".hashed"), table_of(entry["engine"])
    assert table is not None
    writer = Writer(copy, {**head_of(entry, names), "began": reader.head["began"]})
    for event in reader.events():
        if isinstance(event, Mark):
            writer.mark(event)
        elif isinstance(event, End):
            writer.end(event)
        else:
            rows, dropped = table.rows(event.query, event.rows, names)
            assert not dropped
            values = table.values(event.query, event.values, names)
            writer.asked(replace(event, rows=tuple(rows), values=values))
    writer.close()
    return copy


def test_a_replay_comes_to_the_same_plan(scene: Scene, table: PlayTable, tmp_path: Path) -> None:
    """Plain names: the same to the letter, statements and times too. Hashed ones: the same moves, order and figures."""
    path, names = tmp_path / "shop.recording", names_of(scene.database, tmp_path / "names.key")
    recorded = scene.record(path, names_of(scene.database, None))
    assert not recorded.tally.dropped
    assert not recorded.tally.left_out
    assert recorded.last.samples >= 2
    with replayed(path) as again:
        assert again.last.samples == recorded.last.samples
        assert document_of(again.last) == document_of(recorded.last)
        assert '"statements"' in document_of(again.last)
    hashed = hashed_copy(path, scene.entry, names)
    with replayed(hashed) as again:
        assert figures_of(again.last) == figures_of(recorded.last)
        mine, theirs = recorded.last.proposal, again.last.proposal
        assert mine is not None
        assert theirs is not None
        target = mine.moves[0].to_space
        assert theirs.moves[0].to_space in {names.name(target), names.path(target)} - {target}
    assert table.name.upper().encode() not in gzip.decompress(hashed.read_bytes()).upper()
