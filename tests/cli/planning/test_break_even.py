"""``hotplace sizing --break-even`` on a simulated database."""

from __future__ import annotations

import pytest

from agent.terminal.errors import ExitCode
from tests.cli.site import Site

RAM, SSD, HDD = ("--price", "ram=30"), ("--price", "ssd=2.4"), ("--price", "hdd=0.3")
DRIVES = (
    "--drive-size", "ssd=1 TiB", "--drive-iops", "ssd=40960", "--drive-size", "hdd=4 TiB", "--drive-iops", "hdd=180",
)  # fmt: skip
PAGES_A_GIB = 2**30 / 8192


@pytest.fixture
def watched(site: Site) -> Site:
    """A site whose heat is known."""
    site.good("plan", "--observe", "0.3")
    return site


def test_three_intervals_by_the_sites_own_prices(watched: Site) -> None:
    """Price of an access over price of a page, worked out by hand."""
    document = watched.good("sizing", "--break-even", *RAM, *SSD, *HDD, *DRIVES, "--json").document
    found = {(each["above"], each["below"]): each["break_even_seconds"] for each in document["intervals"]}
    assert found == {
        ("ram", "ssd"): pytest.approx(2.4 * 1024 / 40960 / (30 / PAGES_A_GIB)),
        ("ram", "hdd"): pytest.approx(0.3 * 4096 / 180 / (30 / PAGES_A_GIB)),
        ("ssd", "hdd"): pytest.approx(0.3 * 4096 / 180 / (2.4 / PAGES_A_GIB)),
    }


def test_units_on_the_wrong_side_are_named(watched: Site) -> None:
    """The hot table and its index belong on the SSD, the idle archive on the disks; what is scanned and cached, not."""
    document = watched.good("sizing", "--break-even", *RAM, *SSD, *HDD, *DRIVES, "--json").document
    disks = {unit["unit"]: unit for unit in document["intervals"][2]["wrong_side"]}
    assert disks['"shop"."orders"']["belongs_on"] == "ssd"
    assert disks['"shop"."orders"']["seconds_between_reads"] < document["intervals"][2]["break_even_seconds"]
    assert '"shop"."history"' not in disks, "it is only written"
    text = watched.good("sizing", "--break-even", *RAM, *SSD, *HDD, *DRIVES).out
    for word in (
        "ram or ssd",
        "ram or hdd",
        "ssd or hdd",
        '"shop"."orders"',
        "belongs on",
        "more often than every",
    ):
        assert word in text


def test_what_is_idle_up_there_is_named_once_it_was_watched_for_so_long(site: Site) -> None:
    """With dear fast storage the interval is short, and the archive was not read within it."""
    site.good("plan", "--observe", "0.5")
    cheap = ("--price", "ssd=1e8", *HDD, *DRIVES)
    found = site.good("sizing", "--break-even", *cheap, "--json").document["intervals"][2]
    assert found["break_even_seconds"] < 1
    archive = next(unit for unit in found["wrong_side"] if unit["unit"] == '"shop"."archive_2019"')
    assert (archive["on"], archive["belongs_on"], archive["seconds_between_reads"]) == ("ssd", "hdd", None)


def test_prices_of_the_configuration_do(watched: Site) -> None:
    """ram_price, price and io_price of the tiers: nothing has to be said on the command line."""
    watched.database["policy"]["ram_price"] = 30
    watched.database["tiers"][0] |= {"price": 2.4, "io_price": 0.06}
    watched.database["tiers"][1] |= {"price": 0.3, "io_price": 6.8}
    watched.write()
    document = watched.good("sizing", "--break-even", "--json").document
    assert [round(each["break_even_seconds"], 1) for each in document["intervals"]] == [262.1, 29709.7, 371370.7]


def test_what_is_missing_is_named(watched: Site) -> None:
    """With no price at all it is an error; with some, the others are named with their interval."""
    done = watched.run("sizing", "--break-even")
    assert done.code == ExitCode.CONFIGURATION
    for missing in ("the price of a GiB of ram is not known", "the price of a GiB of ssd is not known", "--drive-iops"):
        assert missing in done.err
    done = watched.good("sizing", "--break-even", *SSD, *HDD, *DRIVES)
    assert done.out.count("not known: the price of a GiB of ram is not known") == 2
    assert "costs less on ssd than its reads cost on hdd" in done.out
    done = watched.good("sizing", "--break-even", *RAM, *SSD, *HDD, *DRIVES[:4])
    assert done.out.count("the price of an access per second of hdd is not known") == 2


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("--price", "tape=3"), "ram=NUMBER"),
        (("--price", "ram=much"), "is not a number"),
        (("--price", "ram=0"), "more than 0"),
        (("--drive-size", "hdd=4"), "is not a size"),
        (("--drive-iops", "ram=4"), "ssd=NUMBER"),
        (("--csv", "x.csv"), "does not take it"),
    ],
)
def test_mistakes_are_named(site: Site, arguments: tuple[str, ...], why: str) -> None:
    """What was written, and what should have been."""
    done = site.run("sizing", "--break-even", *arguments)
    assert done.code == ExitCode.USAGE
    assert why in done.err


def test_a_drives_size_is_for_break_even(site: Site) -> None:
    """The curve does not ask for it."""
    assert site.run("sizing", "--drive-size", "hdd=4TiB").code == ExitCode.USAGE
