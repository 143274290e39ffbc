"""``hotplace status --all --metrics``: as many series however many databases there are."""

from __future__ import annotations

from datetime import UTC, datetime

from prometheus_client.parser import text_string_to_metric_families

from agent.ledger.ledger import Ledger
from tests.cli.site import Site
from tests.ledger.clock import StillClock
from tests.ledger.fleet import heard_of


def values(text: str) -> dict[tuple[str, ...], float]:
    """Each sample by its name and labels."""
    families = text_string_to_metric_families(text)
    return {(s.name, *s.labels.values()): s.value for family in families for s in family.samples}


def test_figures_of_all_databases(site: Site) -> None:
    """A silent agent counts, and what is not there has a 0; more databases make no more series."""
    none = values(site.good("status", "--all", "--metrics").out)
    assert none["hotplace_fleet_databases", "silent"] == 0
    clock = StillClock()  # long ago
    with Ledger.open(site.ledger_path, clock, actor="another machine") as ledger:
        heard_of(ledger, "old")
        clock.at = datetime.now(UTC)
        for number in range(3):
            heard_of(ledger, f"db-{number}", error="refused" if number else None)
    found = values(site.good("status", "--all", "--metrics").out)
    assert found.keys() == none.keys()
    assert (found["hotplace_fleet_databases", "silent"], found["hotplace_fleet_databases", "heard"]) == (1, 3)
    assert (found["hotplace_fleet_needs", "failing"], found["hotplace_fleet_needs", "nothing"]) == (2, 1)
    document = site.good("status", "--all", "--metrics", "--json").document
    assert len(document["metrics"]) == len(found)
