"""No approval lets a move keep sessions out for longer than maximum_stall, unless it names the time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from agent.ledger.ledger import Ledger
from tests.cli.site import Site
from tests.ledger.clock import StillClock
from tests.unit.samples import a_move, a_proposal


def test_a_longer_stall_is_asked_for_by_name(site: Site) -> None:
    """Refused by the upper end of what is predicted, with the figures; approved once the time is named, and kept."""
    number, _ = site.propose()
    site.database["maximum_stall"] = "0.2s"
    site.write()
    refused = site.run("approve", str(number), "--yes")
    assert refused.code == 6
    assert "may hold up others for up to 500 ms, longer than maximum_stall (200 ms)" in refused.err
    assert "--stall" in refused.err
    short = site.run("approve", str(number), "--yes", "--stall", "0.4s")
    assert (short.code, "longer than --stall (400 ms)" in short.err) == (6, True)
    done = site.good("approve", str(number), "--yes", "--stall", "1s", "--json").document
    assert done["conditions"] == {"most_stall_seconds": 1.0}


def test_what_is_short_enough_is_not_asked_about(site: Site) -> None:
    """The default allows a few seconds."""
    number, _ = site.propose()
    assert site.good("approve", str(number), "--yes", "--json").document["conditions"] == {}


def test_a_named_time_stands_for_one_that_is_not_known(site: Site) -> None:
    """A move that may lock for nobody knows how long is refused, until a person names a time for it."""
    with Ledger.open(site.ledger_path, StillClock(datetime.now(UTC)), actor="agent") as ledger:
        end = datetime.now(UTC) + timedelta(days=1)
        number = ledger.proposals.store(a_proposal(a_move(), created_at=datetime.now(UTC), expires_at=end))
    refused = site.run("approve", str(number), "--yes")
    assert (refused.code, "for an unknown time" in refused.err) == (6, True)
    site.good("approve", str(number), "--yes", "--stall", "1min")
