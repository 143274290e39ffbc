"""Lists of all databases (``--all``) as a person and a program meet them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from agent.ledger.ledger import Ledger
from agent.model.outcomes import OutcomeVerdict
from tests.cli.site import Site
from tests.ledger.clock import StillClock
from tests.ledger.fleet import approve, heard_of, measured, proposed


@pytest.fixture
def ledger(site: Site) -> Iterator[Ledger]:
    """The ledger of the site, in which other machines' agents have written."""
    clock = StillClock(datetime.now(UTC))
    with Ledger.open(site.ledger_path, clock, actor="another machine") as opened:
        yield opened


def lately(ledger: Ledger, database: str, saves: float) -> int:
    """A proposal that was made just now."""
    now = datetime.now(UTC)
    return proposed(ledger, database, saves, created_at=now, expires_at=now.replace(year=now.year + 1))


def test_status_of_databases_of_other_machines(site: Site, ledger: Ledger) -> None:
    """What this configuration does not name is listed too; what needs a person is shown, the others are counted."""
    for number in range(5):
        heard_of(ledger, f"shop-{number}")
    lately(ledger, "shop-3", 7200.0)
    lately(ledger, "alone", 3600.0)
    shown = site.good("status", "--all")
    assert shown.out.startswith("6 databases: 5 heard of, 0 silent, 1 never watched; 2 proposals wait")
    lines = [line.split()[0] for line in shown.out.splitlines() if line]
    assert lines.index("alone") < lines.index("shop-3")
    assert "shop-1" not in shown.out
    assert "4 need nothing; --limit 6 shows all" in shown.out
    assert "shop-1" in site.good("status", "--all", "--limit", "6").out
    document = site.good("status", "--all", "--database", "shop-*", "--json").document
    assert document["databases"][0]["database"] == "shop-3"
    assert (document["totals"]["databases"], document["totals"]["need_a_person"]) == (5, 1)
    never = site.good("status", "--all", "--state", "never", "--json").document
    assert [each["database"] for each in never["databases"]] == ["alone"]


def test_a_screen_holds_it(site: Site, ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of three hundred databases that wait no more lines are printed than the terminal has, and the rest is counted."""
    monkeypatch.setenv("LINES", "24")
    for number in range(40):
        lately(ledger, f"db-{number:03}", float(number + 1))
    for arguments in (("status", "--all"), ("proposals", "--all")):
        out = site.good(*arguments).out
        assert len(out.splitlines()) <= 24
        assert "db-039" in out
        assert "and 24 more" in out
    assert len(site.good("proposals", "--all", "--json").document["proposals"]) == 40
    assert len(site.good("proposals", "--all", "--limit", "3", "--json").document["proposals"]) == 3


def test_proposals_outcomes_and_the_report(site: Site, ledger: Ledger) -> None:
    """Each has its list, its document, and a sentence where there is nothing."""
    assert "no such proposal" in site.good("proposals", "--all").out
    assert "nothing was measured" in site.good("outcomes", "--all").out
    first, second = lately(ledger, "a", 10.0), lately(ledger, "b", 900.0)
    approve(ledger, second)
    measured(ledger, second, OutcomeVerdict.HURT)
    listed = site.good("proposals", "--all", "--state", "proposed", "--json").document
    assert [each["id"] for each in listed["proposals"]] == [first]
    assert "hurt" in site.good("outcomes", "--all").out
    outcomes = site.good("outcomes", "--all", "--json").document["outcomes"]
    assert [(each["proposal"], each["verdict"]) for each in outcomes] == [(second, "hurt")]
    report = site.good("report", "--all", "--json").document
    assert (report["total"]["moves_carried_out"], report["total"]["outcomes_by_verdict"]["hurt"]) == (1, 1)
    assert report["databases"][0]["database"] == "b"
    assert "1 carried out, 0 not" in site.good("report", "--all").out
    assert site.run("report", "--all", "--since", "soon").code == 2


def test_nothing_is_known_yet(site: Site, tmp_path: Path) -> None:
    """A ledger without an agent says so."""
    assert tmp_path == site.folder
    assert "the ledger knows no such database" in site.good("status", "--all").out


@pytest.mark.parametrize(
    "arguments",
    [
        ("status", "--engine", "db2"), ("status", "--state", "never"), ("status", "--limit", "3"),
        ("status", "--metrics"), ("status", "--all", "--containers"), ("status", "--all", "--metrics", "--limit", "3"),
        ("proposals", "--engine", "db2"), ("proposals", "--all", "--columns", "id"),
        ("outcomes", "--since", "7d"), ("outcomes", "--all", "--calibration"),
        ("report", "--limit", "3"), ("report", "--all", "--html", "x.html"),
        ("demo", "--fleet", "--keep", "--yes"),
    ],
    ids=" ".join,
)  # fmt: skip
def test_options_of_all_databases_are_for_all(site: Site, arguments: tuple[str, ...]) -> None:
    """What says nothing without --all, or nothing with it, is wrong use."""
    assert site.run(*arguments).code == 2
