"""What a move costs beside copying, wherever moves are shown."""

from __future__ import annotations

from tests.cli.site import Site


def test_plans_tell_log_locks_and_follow_up(site: Site) -> None:
    """Each move of the simulated engine logs every byte and locks for a moment; text and JSON say what that costs."""
    number, _ = site.propose()
    document = site.good("show", str(number), "--json").document
    for move in document["moves"]:
        assert (move["locked"], move["lock_seconds"], move["log_volume"]) == ("briefly", 0.5, "full")
        assert move["log_bytes"] == move["bytes"]
        assert set(move["cost_seconds"]) == {"log_seconds", "blocked_seconds", "follow_up_seconds"}
    hot = next(move for move in document["moves"] if move["unit"] == '"shop"."orders"')
    assert hot["cost_seconds"]["blocked_seconds"] > 0
    assert {move["stall_seconds"] for move in document["moves"]} == {0.5}
    text = site.good("show", str(number)).out
    assert "objects for up to 500 ms each" in text
    assert "of log\n" in text
    assert "log: full" in text
    assert "for locks" in text
    assert "(estimated)" in text


def test_what_was_learnt_of_the_log_is_kept(site: Site) -> None:
    """A plan that takes no interval of its own judges the log by what an earlier run has measured."""
    first = site.good("plan", "--observe", "0.3", "--json").document["advice"]
    later = site.good("plan", "--json").document["advice"]
    assert [each["subject"] for each in later] == [each["subject"] for each in first] == ["log"]


def test_a_dear_log_is_weighed_and_explained(site: Site) -> None:
    """Behind a log that takes 10 kB/s moves pay back later; explain says which part of the cost that is."""
    cheap = site.good("plan", "--observe", "0.3", "--json").document
    site.database["policy"]["log_rate"] = "10 kB/s"
    site.write()
    dear = site.good("plan", "--observe", "0.3", "--json").document
    paid = {move["unit"]: move["payback_seconds"] for move in cheap["moves"]}
    later = {move["unit"]: move["payback_seconds"] for move in dear["moves"]}
    both = [unit for unit in paid.keys() & later.keys() if paid[unit] is not None]
    assert both
    assert all(later[unit] > 2 * paid[unit] for unit in both)
    told = site.good("explain", '"shop"."orders"').out
    assert "of that" in told
    assert " log" in told
    assert "(estimated)" in told
    numbers = site.good("explain", '"shop"."orders"', "--json").document["numbers"]
    assert numbers["log_seconds"] > 0.5 * numbers["cost_seconds"]
