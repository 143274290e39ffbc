"""What happens in one run of a fleet, drawn from one seed by numbers of its own."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from tests.fault_simulation.script import (
    HOUR,
    KINDS,
    MOST_PASSED,
    ON_THE_WAY,
    Event,
    FleetSite,
    Kind,
    Script,
    Site,
    Trigger,
    draw_approvals,
    draw_site,
)

DATABASES = (1, 2, 2, 3)
SKEWS = (0.0, 0.0, 0.4, -7.0, 90.0, -2400.0, 4 * HOUR, -10 * HOUR)  # seconds
LEASES = (90.0, 120.0, 300.0)  # seconds
ANYWHERE = (Trigger.TIME, Trigger.LEDGER_BEGIN, Trigger.LEDGER_DONE, Trigger.READ_DONE, Trigger.STATEMENT_BEGIN,
            Trigger.STATEMENT_DONE, Trigger.COPYING)  # fmt: skip
AT_LEDGER = (Trigger.LEDGER_BEGIN, Trigger.LEDGER_COMMIT, Trigger.LEDGER_DONE)

# kind: how often it is drawn, and where it may strike
OWN_KINDS: dict[Kind, tuple[float, tuple[Trigger, ...]]] = {
    Kind.KILL: (3.0, tuple(Trigger)),
    Kind.FROZEN: (5.0, ANYWHERE),  # not within a transaction: the server ends one that says nothing
    Kind.NO_LEDGER: (3.0, (*ANYWHERE, Trigger.LEDGER_COMMIT)),
    Kind.NO_DATABASE: (3.0, ANYWHERE),
    Kind.LEDGER_RESTART: (1.0, (*ANYWHERE, Trigger.LEDGER_COMMIT)),
    Kind.LEDGER_FAILOVER: (2.0, (*ANYWHERE, Trigger.LEDGER_COMMIT)),
    Kind.LEDGER_CONNECTIONS: (1.5, ANYWHERE),
    Kind.LEDGER_DISK: (1.5, (*ANYWHERE, Trigger.LEDGER_COMMIT)),
    Kind.LEDGER_ANSWER: (2.0, (Trigger.LEDGER_COMMIT,)),
    Kind.LEDGER_CLOCK: (0.7, ANYWHERE),
    Kind.STOP_LIST: (1.0, ON_THE_WAY),
}
NOT_HERE = {Kind.RIVAL, Kind.OPEN_RULE, Kind.CLOSE_RULE, Kind.POWER_CUT, Kind.KILL, Kind.FORGE}
FLEET_KINDS = {**{kind: drawn for kind, drawn in KINDS.items() if kind not in NOT_HERE}, **OWN_KINDS}
OWN_SHARE = 0.6  # of the events: of those that only a fleet has


def draw_fleet(seed: int) -> Script:
    """The script of a seed, of which a site alone (``draw``) says nothing."""
    random = Random(f"fleet {seed}")  # a simulation, no secret
    hours = random.choice((2.0, 2.0, 3.0))
    sites = tuple(_site(random, hours) for _ in range(random.choice(DATABASES)))
    fleet = FleetSite(
        sites=sites, skews=tuple((random.choice(SKEWS), random.choice(SKEWS)) for _ in sites),
        ledger_skew=random.choice(SKEWS), lease_seconds=random.choice(LEASES),
    )  # fmt: skip
    events = [event for number, site in enumerate(sites) for event in _events(random, number, site)]
    if len(sites) > 1:
        events += _lists(random, hours)
    return Script(seed=seed, site=sites[0], events=tuple(sorted(events, key=lambda event: event.at)), fleet=fleet)


def _site(random: Random, hours: float) -> Site:
    site = draw_site(random)
    return replace(site, hours=hours, dry_run=False, windows=random.choice((site.windows, (), ())))


def _events(random: Random, number: int, site: Site) -> list[Event]:
    found = [*draw_approvals(random, site), *(_event(random, site) for _ in range(random.randint(2, 8)))]
    return [replace(event, site=number) for event in found]


def _event(random: Random, site: Site) -> Event:
    kinds = OWN_KINDS if random.random() < OWN_SHARE else FLEET_KINDS
    kind = random.choices(list(kinds), [often for often, _ in kinds.values()])[0]
    trigger = random.choice(kinds[kind][1])
    passes = int(MOST_PASSED.get(trigger, 0) * random.random() ** 2)
    at = random.uniform(0.1, site.hours) * HOUR
    return Event(at, kind, trigger, passes, (random.random(), random.random()))


def _lists(random: Random, hours: float) -> list[Event]:
    """People look at what waits of all databases, early and once more."""
    times = (random.uniform(0.6, 0.75), random.uniform(0.9, hours))
    picks = ((random.random() * 0.1, random.random()) for _ in times)
    return [Event(at * HOUR, Kind.APPROVE_LIST, Trigger.TIME, 0, pick) for at, pick in zip(times, picks, strict=True)]
