"""Measured or configured: one word in every command, document and metric, with what the waits leave possible."""

from __future__ import annotations

from agent.model.answers.kind import mapping_of
from agent.planning.read_times import read_times_of, read_times_text, stored_tier, tiers_shown
from policies.model.settings import Tier, TierSpeed
from tests.cli.site import Site

MEASURED = TierSpeed(random_read_seconds=0.041, sequential_read_seconds=0.0, write_seconds=0.0, measured=True)
CONFIGURED = TierSpeed(
    random_read_seconds=0.0002, sequential_read_seconds=0.0, write_seconds=0.0,
    least_read_seconds=2e-6, most_read_seconds=0.00025,
)  # fmt: skip
SINCE = {"servers", "servers_least", "servers_most", "servers_source", "striped"}  # keys of newer versions
UNSEEN = TierSpeed(random_read_seconds=0.0001, sequential_read_seconds=0.0, write_seconds=0.0)


def test_the_sentence_and_the_document_say_the_same() -> None:
    """A configured time comes with what the waits leave, a measured one or one that nothing is known of without."""
    tiers = [
        Tier(name=name, speed=speed, spaces=(name,))
        for name, speed in (("nvme", UNSEEN), ("ssd", CONFIGURED), ("hdd", MEASURED))
    ]
    text = read_times_text(tiers)
    assert text == (
        "nvme 100 µs (configured), ssd 200 µs (configured; waits leave 2 µs to 250 µs), "
        "hdd 41 ms (measured), one at a time (assumed)"
    )
    assert read_times_of(stored_tier(mapping_of(each)) for each in tiers_shown(tiers)) == text
    assert [each.source for each in tiers_shown(tiers)] == ["configured", "configured", "measured"]
    assert [each.most_read_seconds for each in tiers_shown(tiers)] == [None, 0.00025, None]


def test_a_tier_that_an_older_version_stored() -> None:
    """It did not write how many requests the tier serves, since it took one at a time."""
    (shown,) = tiers_shown([Tier(name="hdd", speed=MEASURED, spaces=("hdd",))])
    older = {key: value for key, value in mapping_of(shown).items() if key not in SINCE}
    assert stored_tier(older) == shown


def test_every_command_says_the_same_word(site: Site) -> None:
    """Plan, units, sizing and status, in text and JSON: the hdd is measured, the ssd with few reads is not."""
    site.good("run", "--once")
    site.good("run", "--once")
    plan = site.good("plan", "--json").document
    words = {each["name"]: each["source"] for each in plan["tiers"]}
    assert words == {"ssd": "configured", "hdd": "measured"}
    for command in ("units", "sizing"):
        document = site.good(command, "--json").document
        assert {each["name"]: each["source"] for each in document["tiers"]} == words, command
    status = site.good("status", "--json").document["databases"][0]
    assert {each["name"]: each["source"] for each in status["tiers"]} == words
    for command in ("plan", "units", "sizing", "status"):
        text = site.good(command).out
        assert "(configured" in text, command
        assert "(measured)" in text, command
        assert "configured, not measured" not in text, command
