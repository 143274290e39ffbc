"""Looks at the buffer cache of an emulated server, through the real driver."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from agent.ledger.ledger import Ledger
from agent.sampling.block_heat import load_block_heat
from agent.sampling.block_looks import BlockLooker, LookedAt
from connectors.kit.contract import Connector, ConnectorError, PrivilegeMissing
from connectors.model.blocks import BLOCK_HEAT, BlockLook, BlockReader, ResidentBlocks
from connectors.model.observation import F64, I64
from connectors.oracle import blocks as looks
from connectors.oracle.connector import OracleConnector
from policies.evidence.range_heat import HeatShape, RangeHeat, concentrate
from tests.cli.site import Site
from tests.labs.oracle.harness import AGENT, OWNER, PASSWORD, OracleHarness, running_harness
from tests.labs.oracle.model import Quirks, Segment
from tests.virtual_clock import VirtualClock

MB = 1 << 20
BUFFERS = 512
BARE = "BARE"  # a login with nothing


@pytest.fixture(scope="module")
def lab() -> Iterator[OracleHarness]:
    """19c, emulated, with a small cache."""
    with running_harness("looks", quirks=Quirks(buffers=BUFFERS)) as running:
        yield running


@pytest.fixture
def cleanup() -> Iterator[ExitStack]:
    """What a test opens."""
    with ExitStack() as stack:
        yield stack


@pytest.fixture
def connector(lab: OracleHarness, cleanup: ExitStack) -> OracleConnector:
    """The agent's."""
    made = lab.connector()
    cleanup.callback(made.close)
    return made


@pytest.fixture
def reader(connector: OracleConnector, cleanup: ExitStack) -> BlockReader:
    """The agent's."""
    return cleanup.enter_context(connector.read_blocks())


@pytest.fixture
def segment(lab: OracleHarness) -> Iterator[Segment]:
    """64 MB of a table, sixteen times the cache."""
    table = lab.database.add_table(OWNER, "ORDERS", "SLOW", 64 * MB)
    yield table.segments[0]
    lab.database.drop_table(OWNER, "ORDERS")


def blocks(*numbers: int) -> I64:
    """Numbers of blocks."""
    return np.array(numbers, np.int64)


def look(reader: BlockReader, *segments: Segment) -> dict[int, ResidentBlocks]:
    """By object id."""
    return {each.physical_id: each for each in reader.look(blocks(*(each.object_id for each in segments))).units}


def test_a_look_lists_the_blocks_that_were_read(lab: OracleHarness, segment: Segment, reader: BlockReader) -> None:
    """By their numbers within the segment, each once although older versions lie in buffers of their own."""
    first = look(reader, segment)[segment.object_id]
    lab.database.look_up(segment, blocks(3, 700, 4000))
    lab.database.make_copies(segment, blocks(3, 700))
    second = look(reader, segment)[segment.object_id]
    assert (first.blocks, first.resident.tolist()) == (8192, [])
    assert second.resident.tolist() == [3, 700, 4000]
    assert second.reads - first.reads == 3


def test_reads_past_the_cache_are_not_counted(lab: OracleHarness, segment: Segment, reader: BlockReader) -> None:
    """Direct reads leave no block there."""
    before = look(reader, segment)[segment.object_id].reads
    lab.database.scan(segment, direct=True)
    after = look(reader, segment)[segment.object_id]
    assert (after.reads, after.resident.tolist()) == (before, [])


def test_indexes_partitions_and_what_is_gone(lab: OracleHarness, reader: BlockReader) -> None:
    """Each by its own segment; a table that was dropped is left out, and so is an id that there never was."""
    table = lab.database.add_table(OWNER, "PARTS", "SLOW", 2 * MB)
    index = lab.database.add_index(table, "PARTS_I", "SLOW", MB, unique=True).segments[0]
    lab.database.look_up(index, blocks(5))
    found = look(reader, table.segments[0], index)
    assert {number: each.resident.tolist() for number, each in found.items()} == {
        table.segments[0].object_id: [], index.object_id: [5],
    }  # fmt: skip
    lab.database.drop_table(OWNER, "PARTS")
    assert reader.look(blocks(index.object_id, 4_000_000)).units == ()


def test_a_segment_that_moved_is_looked_for_where_it_is_now(
    lab: OracleHarness, segment: Segment, reader: BlockReader
) -> None:
    """Under another data object, in other extents: nothing of the old one is taken for it."""
    lab.database.look_up(segment, blocks(3, 700))
    look(reader, segment)
    with lab.session() as session:
        session.cursor().execute(f"ALTER TABLE {OWNER}.ORDERS MOVE TABLESPACE FAST")
    assert look(reader, segment)[segment.object_id].resident.tolist() == []
    lab.database.look_up(segment, blocks(9))
    assert look(reader, segment)[segment.object_id].resident.tolist() == [9]


def test_of_many_blocks_some_are_listed_the_same_at_each_look(
    lab: OracleHarness, segment: Segment, reader: BlockReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    """About one in four, spread over the segment, by their numbers."""
    monkeypatch.setattr(looks, "MOST_LISTED", BUFFERS // 4)
    lab.database.look_up(segment, np.arange(0, 8192, 32, dtype=np.int64))
    first, second = (reader.look(blocks(segment.object_id)) for _ in range(2))
    listed = first.units[0].resident
    assert first.one_in == 4
    assert listed.tolist() == second.units[0].resident.tolist()
    assert 40 < len(listed) < 90
    assert np.histogram(listed, 4, (0, 8192))[0].min() > 4


def test_the_newest_rows_are_found_and_explained(
    lab: OracleHarness, segment: Segment, connector: OracleConnector, tmp_path: Path
) -> None:
    """Emulated server: by tenths of the table within five points of the true reads, and ``explain`` shows it."""
    site = Site(tmp_path, database(lab, tmp_path))
    site.good("plan", "--observe", "0.3")
    with Ledger.open(site.ledger_path, VirtualClock()) as ledger:
        heat, error = look_often(lab, segment, connector, ledger, share=0.8)
    assert error <= 0.05
    assert concentrate(heat).shape == HeatShape.NEWEST
    assert heat.coverage > 0.8
    assert "its newest" in site.good("explain", "APP.ORDERS").out
    inside = site.good("explain", "APP.ORDERS", "--json").document["inside"]
    assert inside["shape"] == "newest"
    assert inside["range_bytes"] == 64 * 8192


def test_a_table_that_is_read_evenly_is_said_to_be(
    lab: OracleHarness, segment: Segment, connector: OracleConnector, tmp_path: Path
) -> None:
    """Emulated server: no tenth is more than five points off, and none is worth more than another."""
    with Ledger.open(tmp_path / "ledger.db", VirtualClock()) as ledger:
        heat, error = look_often(lab, segment, connector, ledger, share=0.1)
    assert error <= 0.05
    assert concentrate(heat).shape == HeatShape.EVEN


def look_often(
    lab: OracleHarness, segment: Segment, connector: OracleConnector, ledger: Ledger, share: float
) -> tuple[RangeHeat, float]:
    """What the looker stores of 14 pairs, and by how much the share of the reads of a tenth is off."""
    clock, load = VirtualClock(), Load(lab, segment, share)
    load.run(6_000)
    before = lab.database.reads_of_blocks(segment).copy()
    looked = LoadedReader(connector.read_blocks(), load, clock)
    looker = BlockLooker("orders", 0.1, lambda: cast(Connector, Engine(looked)), ledger, clock)
    looker.choose((LookedAt(key="APP.ORDERS", physical_id=segment.object_id),))
    for _ in range(14):
        assert looker.take_turn()
        clock.sleep(1000.0)
    looker.close(save=True)
    heat = load_block_heat(ledger, "orders")["APP.ORDERS"]
    true = by_tenth((lab.database.reads_of_blocks(segment) - before).astype(np.float64))
    found = by_tenth(np.repeat(heat.reads.sum(axis=0) / heat.width, heat.width)[: heat.blocks])
    return heat, float(np.abs(found - true).max())


def database(lab: OracleHarness, folder: Path) -> dict[str, Any]:
    """The part of the configuration."""
    secret = folder / "password"
    secret.write_text(PASSWORD)
    return {
        "name": "orders",
        "engine": "oracle",
        "connection": {
            "host": "127.0.0.1", "port": lab.server.port, "service": "orclpdb1", "user": AGENT,
            "password": {"file": str(secret)},
        },
        "tiers": [{"name": "ssd", "spaces": ["FAST"]}, {"name": "hdd", "spaces": ["SLOW"]}],
        "policy": {"minimum_history": "0s"},
    }  # fmt: skip


def by_tenth(reads: F64) -> F64:
    """Shares of ten parts of the blocks, shape ``(10,)``."""
    parts = np.array([part.sum() for part in np.array_split(reads, 10)], dtype=np.float64)
    return np.asarray(parts / reads.sum(), dtype=np.float64)


class Load:
    """Look-ups of one row each: ``share`` of them among the newest tenth of the blocks, the others anywhere."""

    def __init__(self, lab: OracleHarness, segment: Segment, share: float) -> None:
        self._lab, self._segment, self._share = lab, segment, share
        self._random = np.random.default_rng(7)

    def run(self, times: int) -> None:
        """That many."""
        newest = self._random.random(times) < self._share
        low = np.where(newest, self._segment.blocks * 9 // 10, 3)
        self._lab.database.look_up(self._segment, self._random.integers(low, self._segment.blocks))


class LoadedReader(BlockReader):
    """A reader while whose looks the load goes on: 300 look-ups a second of the clock."""

    def __init__(self, reader: BlockReader, load: Load, clock: VirtualClock) -> None:
        self._reader, self._load, self._clock = reader, load, clock
        self._loaded = clock.monotonic()

    def look(self, physical_ids: I64) -> BlockLook:
        """After the load of the time since the last one, at most 2.5 seconds of it."""
        seconds = min(2.5, self._clock.monotonic() - self._loaded)
        self._load.run(round(300 * seconds))
        self._loaded = self._clock.monotonic()
        found = self._reader.look(physical_ids)
        return BlockLook(
            monotonic_seconds=self._loaded, server_seconds=found.server_seconds, block_bytes=found.block_bytes,
            one_in=found.one_in, units=found.units,
        )  # fmt: skip

    def close(self) -> None:
        """End the session."""
        self._reader.close()


class Engine:
    """The one part of a connector that is asked for."""

    def __init__(self, reader: LoadedReader) -> None:
        self._reader = reader

    def read_blocks(self) -> BlockReader:
        """The reader."""
        return self._reader


def test_a_login_without_the_right_is_told_the_grants(lab: OracleHarness, segment: Segment, cleanup: ExitStack) -> None:
    """Doctor and capability name views and cost; with these grants the same login may look."""
    connector = without_looks(lab, cleanup)
    (capability,) = (each for each in connector.capabilities() if each.name == BLOCK_HEAT)
    (finding,) = (each for each in connector.doctor() if each.code == "block_looks")
    missing = ("SYS.V_$BH", "SYS.DBA_EXTENTS", "SYS.V_$BUFFER_POOL")
    assert not capability.available
    assert {f"GRANT SELECT ON {view} TO {BARE};" in capability.advice for view in missing} == {True}
    assert finding.remedy == capability.advice
    reader = cleanup.enter_context(connector.read_blocks())
    with pytest.raises(PrivilegeMissing):
        reader.look(blocks(segment.object_id))
    lab.database.users[BARE].grants |= {("SELECT", view) for view in missing}
    (capability,) = (each for each in connector.capabilities() if each.name == BLOCK_HEAT)
    assert capability.available
    assert len(reader.look(blocks(segment.object_id)).units) == 1


def without_looks(lab: OracleHarness, cleanup: ExitStack) -> OracleConnector:
    """Of a login that may read what the script for watching lets it read, but for looks."""
    script = (Path(__file__).parents[2] / "deploy" / "privileges" / "oracle-observe.sql").read_text()
    granted = {line.split()[3] for line in script.splitlines() if line.startswith("GRANT SELECT ON")}
    granted -= {"SYS.V_$BH", "SYS.DBA_EXTENTS", "SYS.V_$BUFFER_POOL"}
    user = lab.database.add_user(BARE, PASSWORD)
    user.grants |= {("SELECT", view) for view in granted}
    made = lab.connector(user=BARE)
    cleanup.callback(made.close)
    return made


def test_the_doctor_says_what_a_look_costs(connector: OracleConnector) -> None:
    """A walk over all buffers, however few are asked for."""
    (finding,) = (each for each in connector.doctor() if each.code == "block_looks")
    assert f"walks the headers of {BUFFERS:,} buffers, each under its latch" in finding.sentence


def test_a_look_says_what_it_took_and_ends_in_time(
    lab: OracleHarness, segment: Segment, reader: BlockReader, cleanup: ExitStack
) -> None:
    """A walk over 512 buffers of a millisecond each; one that takes longer than a query may is given up."""
    lab.database.seconds_per_buffer = 0.001
    cleanup.callback(setattr, lab.database, "seconds_per_buffer", 0.0)
    assert reader.look(blocks(segment.object_id)).server_seconds >= 0.5
    hasty = lab.connector(statement_timeout=0.2)
    cleanup.callback(hasty.close)
    with hasty.read_blocks() as other, pytest.raises(ConnectorError):
        other.look(blocks(segment.object_id))


def test_of_a_cluster_the_own_instance_is_seen() -> None:
    """What another instance holds is not; and a session that comes to another one begins again."""
    with running_harness("looks of a cluster", quirks=Quirks(instances=2, buffers=BUFFERS)) as lab:
        segment = lab.database.add_table(OWNER, "ORDERS", "SLOW", 4 * MB).segments[0]
        connector = lab.connector()
        with connector.read_blocks() as reader:
            lab.database.look_up(segment, blocks(10, 20), instance=1)
            lab.database.look_up(segment, blocks(20, 30, 40), instance=2)
            found = look(reader, segment)[segment.object_id]
            assert found.resident.tolist() == [10, 20]
            assert found.reads == 2
            reader._instance = 2  # type: ignore[attr-defined]  # as if it had been there before
            with pytest.raises(ConnectorError, match="was on instance 2 and is on 1 now"):
                look(reader, segment)
            assert look(reader, segment)[segment.object_id].resident.tolist() == [10, 20]
        (finding,) = (each for each in connector.doctor() if each.code == "block_looks")
        connector.close()
    assert "of the cluster only instance 1's are seen" in finding.sentence
