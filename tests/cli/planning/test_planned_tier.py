"""``sizing``, ``plan``, ``doctor`` and ``status`` where there is one class of storage, and none that is faster yet."""

from __future__ import annotations

from typing import Any

import pytest

from agent.config.errors import ConfigError
from agent.config.files import load
from agent.planning.first_tier import how_to_use
from tests.cli.site import Site

HDD: dict[str, Any] = {"name": "hdd", "spaces": ["hdd"]}


def configure(site: Site, *tiers: dict[str, Any]) -> None:
    """Let the database have these tiers."""
    site.database["tiers"] = list(tiers)
    site.write()


@pytest.fixture
def one(site: Site) -> Site:
    """A site with one tier, whose heat is known."""
    configure(site, HDD)
    site.good("plan", "--observe", "0.3")
    return site


def test_a_tier_by_name_speed_size_and_price(one: Site) -> None:
    """What is asked before anything is bought: what does so much of that storage save, and what does it cost?"""
    asked = [
        *("sizing", "--tier", "array", "--random-read", "0.3ms", "--size", "4GiB"),
        *("--price", "array=1.8", "--price", "hdd=0.3"),
    ]
    found = one.good(*asked, "--json").document
    assert found["planned_tier"] == {
        "tier": "array", "random_read_seconds": 0.0003, "speed_source": "as given", "capacity_bytes": 4 * 2**30,
    }  # fmt: skip
    assert found["present"]["bytes"] == 4 * 2**30 - -(-4 * 2**30 // 10), "head-room stays free"
    assert 0 < found["present"]["wait_saved_per_hour_seconds"] < found["all_fast_wait_saved_per_hour_seconds"]
    assert found["wait_saved_now_per_hour_seconds"] == 0, "it holds nothing yet"
    assert found["present"]["cost_per_year"] > 0
    assert found["without_buying"]["plan_moves"] is None
    text = one.good(*asked).out
    for words in ("what array saves over hdd", "not there yet: 300 µs a random read, as given", "planned ", "P planned",
                  "4.0 GiB of array would save ", "head-room included, reach it: ", "cost/year"):  # fmt: skip
        assert words in text, words
    assert "without buying" not in text, "there is nothing of it to use"


def test_without_a_name_it_is_an_ssd(one: Site) -> None:
    """The bare command answers: an SSD of usual speed, whose size is not said."""
    found = one.good("sizing", "--json").document
    assert found["planned_tier"]["tier"] == "ssd"
    assert found["planned_tier"]["random_read_seconds"] == 0.0002
    assert found["planned_tier"]["speed_source"] == "usual for an ssd"
    assert found["knee"] is not None
    text = one.good("sizing").out
    assert "planned size not said (--size)" in " ".join(text.split())
    assert "present" not in text
    assert one.good("sizing", "--tier", "nvme", "--json").document["planned_tier"]["random_read_seconds"] == 0.0001


def test_a_planned_tier_of_the_configuration(site: Site) -> None:
    """A tier without a space: its figures stand in the configuration, and options win over them."""
    configure(site, {"name": "ssd", "size": "4 GiB", "price": 2.4, "random_read": "0.4ms"}, {**HDD, "price": 0.3})
    site.good("plan", "--observe", "0.3")
    found = site.good("sizing", "--json").document
    assert found["planned_tier"] == {
        "tier": "ssd", "random_read_seconds": 0.0004, "speed_source": "as configured", "capacity_bytes": 4 * 2**30,
    }  # fmt: skip
    assert found["prices"]["ssd"]["per_gib_year"] == 2.4
    assert site.good("sizing", "--size", "2GiB", "--json").document["planned_tier"]["capacity_bytes"] == 2 * 2**30


def test_a_third_tier(site: Site) -> None:
    """Next to two that are there a faster one can be asked for; without a name these two are compared, as ever."""
    site.good("plan", "--observe", "0.3")
    found = site.good("sizing", "--tier", "nvme", "--size", "8GiB", "--json").document
    assert (found["fastest_tier"], found["slowest_tier"]) == ("nvme", "hdd")
    assert [tier["name"] for tier in found["tiers"]] == ["nvme", "ssd", "hdd"]
    assert site.good("sizing", "--json").document["planned_tier"] is None


def test_the_five_minute_rule_with_a_planned_tier(one: Site) -> None:
    """Its prices come from options; units are on the tier that is there, and belong where the prices say."""
    given = ("--price", "ram=30", "--price", "ssd=2.4", "--price", "hdd=0.3", "--drive-size", "hdd=4TB",
             "--drive-iops", "hdd=180", "--drive-size", "ssd=1TB", "--drive-iops", "ssd=50000")  # fmt: skip
    found = one.good("sizing", "--break-even", "--tier", "ssd", *given, "--json").document["intervals"]
    assert [(each["above"], each["below"]) for each in found] == [("ram", "ssd"), ("ram", "hdd"), ("ssd", "hdd")]
    assert {unit["on"] for each in found for unit in each["wrong_side"]} <= {"hdd"}


def test_a_tier_that_is_not_faster(one: Site) -> None:
    """It would save nothing, which is an answer: both times are shown."""
    done = one.good("sizing", "--tier", "tape", "--random-read", "2s")
    assert "tape is not faster: a random read takes 2 s on it, as given, and " in done.out
    assert "(measured) on hdd" in done.out


@pytest.mark.parametrize(
    "wrong",
    [("--tier", "hdd"), ("--tier", "ssd", "--size", "much"), ("--tier", "ssd", "--random-read", "0s"),
     ("--tier", "ssd", "--price", "nvme=1"), ("--all", "--tier", "ssd"), ("--break-even", "--size", "1GiB")],
    ids=" ".join,
)  # fmt: skip
def test_wrong_use(site: Site, wrong: tuple[str, ...]) -> None:
    """A tier that is there already, amounts that are none, prices of others, and options in the wrong place."""
    configure(site, HDD)
    assert site.run("sizing", *wrong).code == 2


def test_figures_without_a_tier_to_have_them(site: Site) -> None:
    """With two tiers that are there a size belongs to neither."""
    done = site.run("sizing", "--size", "1GiB")
    assert done.code == 2
    assert "--tier NAME" in done.err


def test_what_the_commands_say_of_one_tier(one: Site) -> None:
    """Nothing is wrong, nothing can be moved, and each of them names the next step; none speaks of a hotter unit."""
    plan = one.good("plan").out
    assert plan.startswith("hdd is the only tier that has a space, so there is no faster or slower one")
    assert "next: what faster storage would save: hotplace sizing --tier ssd --size 500GiB" in plan
    assert "no hotter unit" not in plan
    doctor = one.good("doctor").out
    assert "one_tier: Next: what faster storage would save: hotplace sizing" in doctor
    assert "ERROR" not in doctor
    status = one.good("status", "--json").document["databases"][0]
    assert status["next_step"].startswith("what faster storage would save: hotplace sizing")
    assert "next: what faster storage would save" in one.good("status").out
    assert one.good("plan", "--json").document["moves"] == []
    unit = one.good("explain", '"shop"."products"').out
    assert "is on hdd, the only tier that has a space" in unit


def test_what_they_say_of_a_planned_tier(site: Site) -> None:
    """Doctor names it; plan and status send to sizing without options; the daemon runs; two real tiers need no word."""
    configure(site, {"name": "ssd", "size": "4 GiB"}, HDD)
    assert (
        "the tier ssd has no space yet: hotplace sizing --tier ssd says what it would save" in site.good("doctor").out
    )
    site.good("run", "--once")
    assert "what faster storage would save: hotplace sizing;" in site.good("status").out
    configure(site, {"name": "ssd", "spaces": ["ssd"]}, HDD)
    assert "one_tier" not in site.good("doctor").out
    site.good("run", "--once")
    assert site.good("status", "--json").document["databases"][0]["next_step"] is None


def test_no_tier_has_a_space(site: Site) -> None:
    """Every command still answers, and says which space to name."""
    configure(site, {"name": "ssd"}, {"name": "hdd"})
    named = "name the space where the tables lie below the spaces of hdd"
    for command in (("plan", "--observe", "0.3"), ("run", "--once"), ("status",), ("doctor",), ("units",)):
        text = site.good(*command).out
        assert command[0] in {"run", "units"} or named in text, command
    assert "next: name the space where the tables lie below the spaces of hdd" in site.good("sizing").out
    assert "--capacity" not in site.good("sizing").out


def test_size_is_for_a_tier_without_a_space(site: Site) -> None:
    """A size next to spaces would be a second limit for them, and is refused with what to write in its place."""
    configure(site, {**HDD, "size": "4 GiB"})
    with pytest.raises(ConfigError, match="limit a space by its capacity"):
        load(site.path)


@pytest.mark.parametrize(("platform", "words"), [("i", "resource names"), ("zos", "VOLSER"), ("luw", "FOLDER")])
def test_what_is_next_in_the_words_of_the_engine(platform: str, words: str, one: Site) -> None:
    """Disk units of IBM i and volumes of z/OS are no folders that are mounted."""
    connection = {"host": "h", "dbname": "APP", "user": "U", "platform": platform}
    one.database.update(engine="db2", connection=connection)
    one.write()
    (database,) = load(one.path).databases
    assert words in how_to_use(database, "ssd")
