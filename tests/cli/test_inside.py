"""What ``explain`` shows of the heat inside a unit."""

from __future__ import annotations

import numpy as np

from agent.block_heat.stored import save_block_heat
from agent.ledger import Ledger
from agent.model.clock import SystemClock
from policies.block_heat.range_heat import with_turnover
from policies.block_heat.turnover import compare_looks
from tests.cli.site import Site

BLOCKS, KEY = 12_800, '"shop"."orders"'


def test_explain_shows_where_the_reads_of_a_large_table_go(site: Site) -> None:
    """Sentence, what a split would save, shares and a picture; the same as JSON, and nothing for other units."""
    site.good("plan")
    heat, clock, random = None, SystemClock(), np.random.default_rng(1)
    hour = clock.now().timestamp() / 3600
    for pair in range(6):
        hot = random.choice(np.arange(BLOCKS * 9 // 10, BLOCKS), 400, replace=False)
        resident = np.unique(np.concatenate((hot, random.choice(BLOCKS, 150, replace=False))))
        found = compare_looks(np.arange(0), resident.astype(np.int64), blocks=BLOCKS, block_bytes=8192, seconds=1.0)
        heat = with_turnover(heat, found, float(len(resident)), hour - 6 + pair)
    assert heat is not None
    with Ledger.open(site.ledger_path, clock) as ledger:
        save_block_heat(ledger, "shop", clock.now(), {KEY: heat})
    shown = site.good("explain", "shop.orders").out
    assert "its newest 10.0 MiB (10% of it) take 7" in shown
    assert "split off and on ssd, that part would save" in shown
    assert shown.count(" |") >= 16
    inside = site.good("explain", "shop.orders", "--json").document["inside"]
    assert inside["shape"] == "newest"
    assert inside["part"]["of_reads"] > 0.7
    assert len(inside["hours"]) == 6
    assert inside["sentences"][0] in shown
    assert site.good("explain", "shop.products", "--json").document["inside"] is None
