"""An export is ranked as the daemon ranks what it samples: the same waits, and the same share of what is read ahead."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pytest

from agent.config.files import parse
from agent.config.sample import sample
from agent.config.tiers import KINDS
from agent.studies.assessment import assess
from connectors.kit.assessment import Observation
from connectors.model.moves import UnitKind
from connectors.model.observation import (
    NO_PARENT,
    SIGNALS,
    Catalog,
    DatabaseDemand,
    Demand,
    Signal,
    Space,
    SpaceFigures,
    UnitTable,
)
from policies.evidence.prices import HOUR
from policies.model.settings import PolicySettings

AT = datetime(2026, 3, 1, tzinfo=UTC)
UNITS = ("looked_up", "scanned", "direct", "waited_for")
WAITED = (0.9, 0.5, 0.6, 1.2)  # seconds a second; by the counts alone the last one would be the last
READ_SECONDS = 0.006


def observed(engine: str, waited: tuple[float, ...] | None) -> Observation:
    """Four units in one space: few or many reads of each kind, and how long sessions waited for them."""
    count = len(UNITS)
    rates = np.zeros((SIGNALS, count))
    rates[Signal.LOGICAL_READ] = 100_000.0
    rates[Signal.SYNC_READ] = [150.0, 5.0, 5.0, 40.0]
    rates[Signal.PREFETCHED_READ, 1] = 20_000.0
    rates[Signal.DIRECT_READ, 2] = 8_000.0
    ids = np.arange(1, count + 1, dtype=np.int64)
    catalog = Catalog(
        taken_at=AT,
        spaces=(Space(name="DATA", path="", used_bytes=0, free_bytes=None, capacity_bytes=None),),
        units=UnitTable(
            physical_id=ids, key=UNITS, kind=np.full(count, UnitKind.TABLE, dtype=np.int8),
            size_bytes=np.full(count, 1 << 30, dtype=np.int64), space=np.zeros(count, dtype=np.int32), bundle=ids,
            parent=np.full(count, NO_PARENT, dtype=np.int64),
        ),
    )  # fmt: skip
    demand = Demand(
        ended_at=AT, seconds=HOUR, physical_id=ids, rates=rates, observed=np.ones(count, dtype=np.bool_),
        estimated=frozenset(), database=DatabaseDemand(active=8.0, read_wait=4.0),
        spaces=SpaceFigures(
            name=("DATA",), reads=np.array([200.0]), read_seconds=np.array([200.0 * READ_SECONDS]),
            writes=np.array([0.0]), write_seconds=np.array([0.0]),
        ),
        waited=None if waited is None else np.array(waited),
    )  # fmt: skip
    return Observation(
        engine=engine, database="APP", source="two exports", catalog=catalog, demand=demand,
        size_known=np.ones(count, dtype=np.bool_), least=np.ones(count), most=np.ones(count),
    )  # fmt: skip


def ranked(observation: Observation) -> dict[str, float]:
    """Wait per second of each unit, those that cost most first."""
    found = assess(observation, KINDS["ssd"], KINDS["hdd"], PolicySettings())
    return {unit.key: unit.wait_per_hour / HOUR for unit in found.units}


@pytest.mark.parametrize("engine", ["db2", "oracle", "sqlserver"])
def test_measured_waits_rank(engine: str) -> None:
    """Each unit costs what its sessions were measured to wait; its reads ahead and direct reads are in that."""
    found = ranked(observed(engine, WAITED))
    assert list(found) == ["waited_for", "looked_up", "direct", "scanned"]
    assert found == pytest.approx(dict(zip(UNITS, WAITED, strict=True)), rel=1e-6)


@pytest.mark.parametrize("engine", ["db2", "oracle", "sqlserver", "postgresql"])
def test_the_share_is_that_of_the_daemon(engine: str) -> None:
    """What assess counts of reads ahead is what a configuration without that key gives the daemon."""
    daemon = parse(sample(engine)).database().policy_settings()
    ahead = ranked(observed(engine, None if engine == "postgresql" else (0.9, 0.0, 0.6, 1.2)))
    sequential = ahead.get("scanned", 0.0)
    assert (sequential > 0) == (daemon.prefetched_wait_share > 0)
