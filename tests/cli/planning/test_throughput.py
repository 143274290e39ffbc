"""Throughput and latency, as forecast and as measured, wherever moves are shown and looked back at."""

from __future__ import annotations

import re
from typing import Any

from tests.cli.site import Site


def _checked(forecast: dict[str, Any]) -> dict[str, Any]:
    """The forecast, once its figures hold together."""
    assert forecast["work"] == "transactions"
    assert forecast["why_not"] is None
    assert forecast["per_second_low"] <= forecast["per_second"] <= forecast["per_second_high"]
    assert forecast["latency_low_seconds"] <= forecast["latency_seconds"] <= forecast["latency_high_seconds"]
    now, then = (forecast[f"per_second{at}"] * forecast[f"latency{at}_seconds"] for at in ("_now", ""))
    assert then < 1.05 * now  # by Little's law, sessions at work; a twentieth of all of them thinks now
    assert 0 < forecast["latency_open_seconds"] <= forecast["latency_now_seconds"] * (1 + 1e-9)
    assert 0 <= forecast["read_wait_per_transaction_seconds"] <= forecast["latency_seconds"]
    return forecast


def test_plan_show_and_proposals_forecast_throughput(site: Site) -> None:
    """More gets done once the hot tables are moved; text and JSON say how much, with its interval and latency."""
    plan = site.good("plan", "--observe", "0.3")
    assert "transactions/s" in plan.out
    assert re.search(r"gain +transactions/s \S+ -> \S+ \(\S+ to \S+\)", plan.out)
    assert re.search(r"latency \S+ \S+ -> \S+ \S+ \(.+ to .+\)", plan.out)
    number, _ = site.propose()
    shown = site.good("show", str(number), "--json").document
    forecast = _checked(shown["forecast"])
    assert forecast["per_second"] > 1.5 * forecast["per_second_now"]
    listed = site.good("proposals", "--json").document["proposals"][0]
    assert listed["forecast"] == forecast
    text = site.good("show", str(number)).out
    assert f" -> {forecast['per_second']:,.0f} (" in text


def test_where_nothing_is_moved_throughput_is_forecast_to_stay(site: Site) -> None:
    """A plan without moves says what sessions get done now."""
    site.database["policy"]["minimum_history"] = "10d"
    site.write()
    document = site.good("plan", "--observe", "0.3", "--json").document
    assert document["moves"] == []
    forecast = _checked(document["forecast"])
    assert abs(forecast["per_second"] / forecast["per_second_now"] - 1) < 0.011
    assert "transactions/s" in site.good("plan").out


def test_an_array_is_forecast_by_its_disks(site: Site) -> None:
    """Where the configuration says how many there are, the read times say so, and less is gained than on one disk."""
    found = {}
    for disks in (1, 20):
        site.database["tiers"][1]["disks"] = disks
        site.write()
        assert f", {disks} disks (configured)" in site.good("plan", "--observe", "0.3").out
        document = site.good("plan", "--json").document
        assert document["tiers"][1]["servers"] == disks
        found[disks] = _checked(document["forecast"])["per_second"] / document["forecast"]["per_second_now"]
    assert found[20] < found[1]


def test_outcomes_and_report_set_it_against_what_was_measured(site: Site) -> None:
    """The figure of the proposal is the one that the outcome names; JSON says whether it came true."""
    number, digest = site.propose()
    forecast = site.good("show", str(number), "--json").document["forecast"]
    site.good("approve", str(number), "--digest", digest)
    for _ in range(10):
        site.good("run", "--once")
        if found := site.good("outcomes", "--json").document["outcomes"]:
            break
    (outcome,) = found
    assert outcome["predicted_transactions_per_second"] == forecast["per_second"]
    assert outcome["predicted_latency"] == forecast["latency_seconds"]
    assert outcome["work"] == "transactions"
    assert isinstance(outcome["throughput_as_predicted"], bool | None)
    page = site.folder / "r.md"
    site.good("report", "--markdown", str(page))
    document = site.good("report", "--json").document["proposals"][0]
    assert document["forecast"] == forecast
    assert "gain: transactions/s " in page.read_text(encoding="utf-8")
    assert "transactions/s " in site.good("report").out


def test_a_struck_move_is_not_counted_on(site: Site) -> None:
    """The outcome names the forecast of what ran: less than all moves, more than none."""
    number, digest = site.propose()
    shown = site.good("show", str(number), "--json").document
    best = max(shown["moves"], key=lambda move: move["wait_saved_per_hour_seconds"])
    site.good("strike", str(number), str(best["ordinal"]), "--reason", "not now")
    site.good("approve", str(number), "--digest", digest)
    for _ in range(10):
        site.good("run", "--once")
        if found := site.good("outcomes", "--json").document["outcomes"]:
            break
    forecast = shown["forecast"]
    assert forecast["per_second_now"] < found[0]["predicted_transactions_per_second"] < 0.98 * forecast["per_second"]
