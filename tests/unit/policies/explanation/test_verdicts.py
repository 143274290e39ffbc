"""Sentences for people, with the numbers in them."""

from __future__ import annotations

from dataclasses import replace

from policies.model.plan import Verdict
from policies.model.settings import Pin, PolicySettings
from policies.placement.balancer import make_plan
from policies.placement.modes import pin_view
from policies.placement.verdicts import explain_verdict, percent_text, verdict_sentence
from tests.over import over
from tests.unit.policies.situations import GIB, HDD, MIB, SSD, Site, Unit

SETTINGS = PolicySettings()


def sentence(unit: Unit, site: Site | None = None, *others: Unit, settings: PolicySettings = SETTINGS) -> str:
    """What is said about the first unit."""
    situation = (site or Site()).situation([unit, *others])
    return explain_verdict(situation, make_plan(situation, settings), 0, settings)


@over(
    ("said", "expected"),
    [
        (
            sentence(Unit(key="u", sync=0.02, logical=812)),
            (
                "u reads 812 blocks/s but more than 99.99% are answered from the buffer pool, "
                "so ssd would save 382 ms of wait per hour."
            ),
        ),
        (
            sentence(Unit(key="u", prefetched=500.0)),
            (
                "u is read sequentially (500 of 500 blocks/s by read-ahead), "
                "so ssd would save 0.0045 waiting sessions (16.2 s/h), little of it certain."
            ),
        ),
        (
            sentence(Unit(key="u", writes=80.0, sync=0.01)),
            (
                "u is written 80 blocks/s and read 0.01 blocks/s from storage; sessions do not wait for those writes, "
                "so ssd would save 191 ms of wait per hour."
            ),
        ),
        (sentence(Unit(key="u")), "u had less than one access an hour; there is nothing to save."),
        (
            sentence(Unit(key="u", sync=0.01)),
            (
                "u waits for 0.01 reads/s: ssd would save 191 ms of wait per hour, "
                "below the 1 s per hour that make a move worthwhile."
            ),
        ),
        (
            sentence(Unit(key="u", sync=50, observed=600.0)),
            "u has been observed for 10 min; at least 30 min are needed for a verdict.",
        ),
        (
            sentence(Unit(key="u", sync=50, cooling=7200.0)),
            "u was moved recently, or a move of it failed; it is not moved again for another 2 h.",
        ),
        (
            sentence(Unit(key="u", sync=50), Site(no_route={"u": "it is a system table"})),
            "u would save 0.265 waiting sessions (15 min 54 s/h), but it cannot be moved: it is a system table.",
        ),
        (
            sentence(Unit(key="u", sync=0.1, size=100 * GIB), Site(room={"fast": 200 * GIB, "slow": 10**15})),
            "u (100.0 GiB) would pay back in 46 d 22 h, longer than 1 d.",
        ),
        (
            sentence(Unit(key="u", sync=50, size=GIB)),
            "u would save 0.265 waiting sessions (15 min 54 s/h) with 1.0 GiB, but it is larger than any space of ssd.",
        ),
        (
            sentence(Unit(key="u", sync=50), Site(room={"fast": None, "slow": None})),
            (
                "u would save 0.265 waiting sessions (15 min 54 s/h) with 1.0 MiB, but the free space of ssd "
                "is not known; configure a capacity for its spaces."
            ),
        ),
        (
            sentence(Unit(key="u", sync=50, size=60 * MIB), None, Unit(key="v", sync=90, size=60 * MIB)),
            (
                "u would save 0.265 waiting sessions (15 min 54 s/h) with 60.0 MiB, but ssd has 30.0 MiB left, "
                "and the units that are there or are moved there save more per byte."
            ),
        ),
        (
            sentence(Unit(key="u", space="other"), Site(room={"fast": 1, "slow": 1, "other": 1})),
            "u is in other, for which no tier is configured.",
        ),
        (sentence(Unit(key="u", pin=Pin.NEVER)), "u is kept off ssd by its pin, whatever its heat."),
        (sentence(Unit(key="u", space="fast", pin=Pin.MUST)), "u is kept on ssd by its pin, whatever its heat."),
        (sentence(Unit(key="u", space="fast", sync=9)), "u stays on ssd: sessions wait for 9 of its reads per second."),
        (
            sentence(Unit(key="u", space="fast")),
            "u gains only 0 s of wait per hour from ssd, but no hotter unit needs its room.",
        ),
        (
            sentence(Unit(key="u", sync=50), None, Unit(key="v", sync=90), settings=PolicySettings(maximum_moves=1)),
            (
                "u would save 0.265 waiting sessions (15 min 54 s/h), but better moves fill this plan's limit of 1; "
                "it waits for the next plan."
            ),
        ),
        (
            sentence(Unit(key="u", size=MIB, space="fast", pin=Pin.NEVER), Site(room={"fast": 0, "slow": 0})),
            "u is pinned off ssd, but no slower tier has known room for 1.0 MiB.",
        ),
        (
            sentence(Unit(key="u", sync=50)),
            "u (1.0 MiB) on ssd saves 0.265 waiting sessions (15 min 54 s/h) and pays back in 79.1 ms.",
        ),
        (
            sentence(Unit(key="u", sync=50, pin=Pin.MUST)),
            "u (1.0 MiB) goes to ssd because it is pinned; that saves 0.265 waiting sessions (15 min 54 s/h).",
        ),
    ],
)
def test_every_verdict_is_explained_with_its_numbers(said: str, expected: str) -> None:
    """Each sentence stands alone and gives what the verdict rests on."""
    assert said == expected


def test_a_rate_is_a_number_that_people_write() -> None:
    """Tens of thousands of reads have no exponent."""
    said = sentence(Unit(key="u", space="fast", sync=22114.1))
    assert said == "u stays on ssd: sessions wait for 22,114 of its reads per second."


def test_what_gives_way_says_to_whom() -> None:
    """A demotion names the move that wants its room and what it loses."""
    room = Site(room={"fast": MIB, "slow": GIB})
    cold = Unit(key="cold", size=8 * MIB, space="fast", sync=0.01)
    assert sentence(cold, room, Unit(key="hot", sync=50, size=8 * MIB)) == (
        "cold (8.0 MiB) makes room for hot; on hdd it costs 191 ms of wait per hour."
    )


def test_a_unit_of_a_bundle_names_the_others() -> None:
    """Whoever moves together is told together."""
    said = sentence(Unit(key="u", bundle=3), None, Unit(key="v", bundle=3))
    assert said == "u had less than one access an hour; there is nothing to save. It moves together with v."


def test_every_verdict_has_a_general_sentence() -> None:
    """Lists may say what a verdict means without a unit."""
    assert len({verdict_sentence(verdict) for verdict in Verdict}) == len(Verdict)


def test_a_share_that_is_not_quite_all_never_reads_as_all() -> None:
    """Four figures, and words for what is nearer to all than they can tell."""
    assert [percent_text(s) for s in (0.998, 0.99999, 1.0)] == ["99.8%", "more than 99.99%", "100%"]


def test_a_space_that_cannot_take_data_is_the_reason() -> None:
    """Not that its room is unknown, which a configured capacity would mend, and not the size of the unit."""
    why = "fast cannot take data: the server does not find its folder"
    tiers = (("ssd", SSD, ("fast", "small")), ("hdd", HDD, ("slow",)))
    rooms: list[dict[str, int | None]] = [{"fast": None, "slow": GIB}, {"fast": None, "small": MIB, "slow": GIB}]
    for room, expected in zip(rooms, (f"but {why}.", f"larger than any other space of ssd, and {why}."), strict=True):
        for pin in (Pin.NONE, Pin.MUST):
            unit = Unit(key="u", sync=50, size=2 * MIB, pin=pin)
            situation = Site(room=room, tiers=tiers).situation([unit])
            lost = replace(situation.spaces[0], lost="the server does not find its folder")
            situation = replace(situation, spaces=(lost, *situation.spaces[1:]))
            plan = make_plan(situation, SETTINGS)
            if pin is Pin.NONE:
                assert explain_verdict(situation, plan, 0, SETTINGS).endswith(expected)
            else:
                assert why in pin_view(situation, plan, SETTINGS).sentence(0)
