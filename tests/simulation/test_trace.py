"""A trace ranks by what happened while it was on, and by nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.ledger.ledger import Ledger
from agent.sampling.trace import NothingTraced
from agent.sampling.trace_marks import TraceMark, read_figures, write_mark
from agent.service.watch import Watch
from policies.placement.dispatch import Hsm
from tests.simulation.site import MINUTE, Site


def switch(site: Site, ledger: Ledger, *, on: bool, generation: int = 0) -> None:
    """Somebody types trace on or off."""
    write_mark(
        ledger, "sim", TraceMark(on=on, since=site.clock.now() if on else None, who="ann", generation=generation)
    )


def rank_of(watch: Watch, key: str, *, traced: bool) -> int:
    """Place of a unit by what fast storage would save it."""
    planning = watch.plan(Hsm(), traced=traced)
    assert planning is not None
    order = (-planning.plan.benefit_per_hour).argsort(kind="stable").tolist()
    return int(order.index(list(planning.situation.units.key).index(key)))


def coldest(watch: Watch) -> str:
    """The table that fast storage is worth least to."""
    planning = watch.plan(Hsm())
    assert planning is not None
    units = planning.situation.units
    idle = [key for key, worth in zip(units.key, planning.plan.benefit_per_hour, strict=True) if worth == 0]
    return idle[0]


def test_a_trace_knows_its_own_time_only(tmp_path: Path) -> None:
    """A table that is read for two minutes of hours is first by the trace of those minutes and not by heat."""
    site = Site(tmp_path)
    with site.agent() as (watch, ledger):
        site.observe(watch, 240)
        cold = coldest(watch)
        switch(site, ledger, on=True)
        for _ in range(2):
            with site.world.turn():
                site.world.touch(cold, random_pages=100_000)
            site.clock.sleep(MINUTE)
            watch.sample()
        switch(site, ledger, on=False)
        site.observe(watch, 3)
        assert rank_of(watch, cold, traced=True) == 0
        assert rank_of(watch, cold, traced=False) > 0
        figures = read_figures(ledger, "sim")
        assert figures.intervals == 2
        assert figures.seconds == pytest.approx(2 * MINUTE)


def test_a_trace_survives_a_restart_and_ends_with_clear(tmp_path: Path) -> None:
    """Another process goes on with it; after a clear there is nothing, and a plan by it is refused."""
    site = Site(tmp_path)
    with site.agent() as (watch, ledger):
        switch(site, ledger, on=True)
        site.observe(watch, 3)
    with site.agent() as (watch, ledger):
        site.observe(watch, 2)
        assert read_figures(ledger, "sim").intervals == 5
        switch(site, ledger, on=True, generation=1)
        assert read_figures(ledger, "sim").intervals == 0
        with pytest.raises(NothingTraced):
            watch.plan(Hsm(), traced=True)
        site.observe(watch, 1)
        assert read_figures(ledger, "sim").intervals == 1
