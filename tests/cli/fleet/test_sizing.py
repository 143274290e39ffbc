"""``hotplace sizing --all``: pools shared where they save most."""

from __future__ import annotations

import pytest

from agent.ledger.ledger import Ledger
from agent.ledger.state_names import SIZING_CURVE
from tests.cli.site import Site
from tests.ledger.clock import StillClock

GIB = 2**30


@pytest.fixture
def site(site: Site) -> Site:
    """Its ledger knows the curves of three databases: one steep, one flat, and one that is content."""
    curves = {
        "steep": [[0, 0.0], [10, 5000.0], [20, 5500.0]],
        "flat": [[0, 0.0], [10, 300.0], [40, 1100.0]],
        "content": [[0, 0.0], [10, 900.0]],
    }
    with Ledger.open(site.ledger_path, StillClock(), actor="another machine") as ledger:
        for name, points in curves.items():
            present = 10 * GIB if name == "content" else 0
            sized = [[size * GIB, saved] for size, saved in points]
            document = {"tier": "ssd", "present_bytes": present, "present_known": True, "points": sized}
            ledger.state.save_document(name, SIZING_CURVE, document)
        ledger.state.save_document("one tier", SIZING_CURVE, None)
    return site


def test_a_pool_is_shared_where_it_saves_most(site: Site) -> None:
    """Its budget goes to the steep curve first; a pattern says who belongs to it; its price is the next step's."""
    site.values["pools"] = [{"name": "array", "budget": "30 GiB", "databases": ["steep", "c*", "flat"]}]
    site.write()
    (pool,) = site.good("sizing", "--all", "--json").document["pools"]
    assert {each["database"]: each["bytes"] // GIB for each in pool["databases"]} == {
        "steep": 20, "content": 10, "flat": 0,
    }  # fmt: skip
    assert (pool["exact"], pool["gained_per_hour_seconds"]) == (True, 5500.0)
    assert pool["next_gib_saves_per_hour_seconds"] == pytest.approx(30.0)
    shown = site.good("sizing", "--all", "--pool", "array").out
    assert shown.startswith("array: 30.0 GiB for 3 databases")
    assert "2 more keep their present sizes" in shown
    assert "--limit" not in shown, "no length shows what does not change"
    assert site.run("sizing", "--all", "--pool", "other").code == 2


def test_what_comes_on_top(site: Site) -> None:
    """Each keeps what it has; without pools all databases share what --more says."""
    (pool,) = site.good("sizing", "--all", "--more", "10 GiB", "--json").document["pools"]
    assert pool["pool"] is None
    assert pool["databases"][0]["database"] == "steep"
    assert {each["database"]: each["bytes"] // GIB for each in pool["databases"]} == {
        "steep": 10, "content": 10, "flat": 0,
    }  # fmt: skip
    assert "another GiB saves" in site.good("sizing", "--all").out
    assert "no curve is known" in site.good("sizing", "--all", "--database", "nobody").out


def test_a_pool_that_does_not_hold_what_is_pinned(site: Site) -> None:
    """It is refused, with what to do."""
    with Ledger.open(site.ledger_path, StillClock(), actor="another machine") as ledger:
        pinned = {"tier": "ssd", "present_bytes": 0, "present_known": True, "points": [[GIB, 1.0]]}
        ledger.state.save_document("pinned", SIZING_CURVE, pinned)
    site.values["pools"] = [{"name": "small", "budget": "1 MiB", "databases": ["pinned"]}]
    site.write()
    refused = site.run("sizing", "--all")
    assert (refused.code, "hotplace pin --list" in refused.err) == (6, True)


def test_a_daemon_stores_its_curve(site: Site) -> None:
    """With each plan, so that a pool can be shared without asking any database."""
    site.good("run", "--once")
    (pool,) = site.good("sizing", "--all", "--database", "shop", "--more", "1GB", "--json").document["pools"]
    (shop,) = pool["databases"]
    assert (shop["tier"], shop["present_bytes"] > 0) == ("ssd", True)
