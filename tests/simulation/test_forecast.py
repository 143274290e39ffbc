"""What is forecast of the simulated shop, next to what its sessions then get done."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.simulation.site import Site


@pytest.mark.parametrize("policy", ["", "maximum_moves: 2", "maximum_moves: 4"])
def test_throughput_comes_as_it_was_forecast(tmp_path: Path, policy: str) -> None:
    """Sessions that think, writes and scans that come with the work: inside the interval, and off by half at most."""
    site = Site(tmp_path, policy=policy)
    with site.agent() as (watch, ledger):
        number = site.approved(watch, ledger)
        said = ledger.proposals.row(number).proposal.forecast
        watch.act()
        site.observe(watch)
    came = site.world.rates().transactions
    assert said is not None
    assert said.per_second is not None
    assert said.per_second_low is not None
    assert said.per_second_high is not None
    assert said.per_second / 1.5 <= came <= said.per_second * 1.5
    assert said.per_second_low <= came <= said.per_second_high
    assert said.busiest
