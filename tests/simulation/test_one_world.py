"""Partitions take turns in a closed system: yesterday's, read faster from the SSD, neither stays nor returns."""

from __future__ import annotations

import copy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from agent.ledger.ledger import Ledger
from agent.service.watch import Watch
from connectors.simulated import scenarios
from connectors.simulated.scenarios import eight_tables
from connectors.simulated.world_state import pages_per_transaction
from tests.simulation.site import MINUTE, Site

STEP = 180 * MINUTE
STEPS = 8  # a day
HOT, REST = 0.9, 0.1 / 7
MB = 10**6
POOL = 16 * MB


def _small_ssd(seed: int, units: int) -> scenarios.Scenario:
    """Eight tables, and an SSD that takes one of them with its index."""
    known = eight_tables(seed, units)
    hdd, ssd = known.spaces
    return replace(known, spaces=(hdd, replace(ssd, capacity_bytes=100 * MB)))


def _turns_to(site: Site, hot: int) -> None:
    """From now on nine in ten look-ups go to that table and its index; what was counted stays."""
    world = site.world
    world.advance()
    world.extra += world.pages * (world.work - world.since)
    world.since[:] = world.work
    units = copy.copy(world.placement.units)
    units.random_reads = np.array([HOT if f'"t{hot}' in key else REST for key in units.keys])
    world.pages = pages_per_transaction(units, POOL)
    world.mark_changed()


def _three_hours(site: Site, watch: Watch, ledger: Ledger) -> None:
    """Sample, and carry out what is proposed."""
    site.clock.sleep(STEP)
    watch.sample()
    planning = watch.plan()
    number = None if planning is None else watch.propose(planning)
    if number is not None:
        ledger.proposals.approve(number, who="ann", origin="test", digest=ledger.proposals.row(number).digest)
        watch.act()


def test_todays_partition_takes_the_place_of_yesterdays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two days, a table each: the second is up within six hours of its turn, and the first does not come back."""
    monkeypatch.setitem(scenarios.SCENARIOS, "eight_tables", _small_ssd)
    site = Site(tmp_path, scenario="eight_tables", sample_every="3h")
    with site.agent() as (watch, ledger):
        watch.sample()
        up: list[set[str]] = []
        for day in range(2):
            _turns_to(site, day)
            for _ in range(STEPS):
                _three_hours(site, watch, ledger)
                up.append({key for key, space in site.homes().items() if space == "ssd"})
    first, second = ([key in each for each in up] for key in ('"lab"."t0"', '"lab"."t1"'))
    assert all(first[1:STEPS])
    assert all(second[STEPS + 1 :])  # by counted reads it takes nine hours
    assert not any(first[second.index(True) :])
