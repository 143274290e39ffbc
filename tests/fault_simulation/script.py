"""What happens in one run, drawn from one seed: the site, and events with the call or the time of each."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from random import Random

MINUTE, HOUR = 60.0, 3600.0


class Trigger(StrEnum):
    """Where an event strikes, once its time has come: at once, or at a call of the agent."""

    TIME = "time"
    LEDGER_BEGIN = "ledger.begin"  # before a transaction
    LEDGER_COMMIT = "ledger.commit"  # before its commit
    LEDGER_DONE = "ledger.done"  # after its commit
    READ_BEGIN = "read.begin"  # before the engine is asked something
    READ_DONE = "read.done"  # before its answer arrives
    STATEMENT_BEGIN = "statement.begin"  # before a statement that changes something
    STATEMENT_DONE = "statement.done"  # before the news that it is done arrives
    COPYING = "copying"  # in the middle of a copy


class Kind(StrEnum):
    """One thing that happens."""

    # the machine of the agent
    KILL = "kill"
    POWER_CUT = "power cut"
    LEDGER_FULL = "ledger full"
    LEDGER_BUSY = "ledger busy"
    LEDGER_ERROR = "ledger error"
    CLOCK_JUMP = "clock jump"
    # the way to the server, and the server
    LOST = "connection lost"
    SILENT = "silence"
    DEADLOCK = "deadlock"
    LOCK_TIMEOUT = "lock time-out"
    SPACE_FULL = "space full"
    RESTART = "server restart"
    FAILOVER = "failover"
    OTHER_IDS = "failover with other ids"
    OTHER_DATABASE = "another database answers"
    COUNTER_RESET = "counter reset"
    LEASE_LOST = "lease lost"
    # other people at the database
    DROPPED = "dropped"
    RENAMED = "renamed"
    MOVED = "moved"
    REBUILT = "rebuilt"
    RECREATED = "recreated"
    GROWN = "grown"
    LOCKED = "locked"
    FILLED = "target filled"
    REVOKED = "privilege revoked"
    # the people of hotplace
    APPROVE = "approve"
    REJECT = "reject"
    STRIKE = "strike"
    PAUSE = "pause"
    RESUME = "resume"
    CANCEL = "cancel"
    UNDO = "undo"
    PIN = "pin"
    ASK = "ask for a plan"
    RELOAD = "reload"
    RELOAD_MISTAKE = "reload with a mistake"
    STOP = "stop"
    RIVAL = "rival agent"
    OPEN_RULE = "standing rule signed"
    CLOSE_RULE = "standing rule closed"
    FORGE = "forged approval"
    # what comes with weeks of running
    KILL_DONE = "kill with the statement done"
    RESTORED = "restored under the same name"
    REFUSED = "mover refused"
    SLOW_CATALOG = "slow catalog"
    RELOAD_COPYING = "reload during a copy"
    YEAR_AHEAD = "clock a year ahead"
    # where several agents share a ledger on a server: tests.fault_simulation.fleet
    FROZEN = "agent frozen"
    NO_LEDGER = "cut off from the ledger"
    NO_DATABASE = "cut off from the database"
    LEDGER_RESTART = "ledger restarted"
    LEDGER_FAILOVER = "ledger failed over"
    LEDGER_CONNECTIONS = "ledger out of connections"
    LEDGER_DISK = "disk of the ledger full"
    LEDGER_ANSWER = "answer of the ledger lost"
    LEDGER_CLOCK = "clock of the ledger set"
    APPROVE_LIST = "approve a list"
    STOP_LIST = "stop a list"


LEDGER = (Trigger.LEDGER_BEGIN, Trigger.LEDGER_COMMIT)
AT_ENGINE = (
    Trigger.READ_BEGIN, Trigger.READ_DONE, Trigger.STATEMENT_BEGIN, Trigger.STATEMENT_DONE, Trigger.COPYING
)  # fmt: skip
ON_THE_WAY = (Trigger.TIME, Trigger.READ_DONE, Trigger.STATEMENT_BEGIN, Trigger.COPYING, Trigger.LEDGER_DONE)
STATEMENT = (Trigger.STATEMENT_BEGIN, Trigger.COPYING)
ALL = tuple(Trigger)

# kind: how often it is drawn, and where it may strike
KINDS: dict[Kind, tuple[float, tuple[Trigger, ...]]] = {
    Kind.KILL: (3.0, ALL),
    Kind.POWER_CUT: (0.6, ALL),
    Kind.LEDGER_FULL: (1.0, LEDGER),
    Kind.LEDGER_BUSY: (0.7, (Trigger.LEDGER_BEGIN,)),
    Kind.LEDGER_ERROR: (0.7, LEDGER),
    Kind.CLOCK_JUMP: (0.5, ON_THE_WAY),
    Kind.LOST: (2.0, AT_ENGINE),
    Kind.SILENT: (1.0, AT_ENGINE),
    Kind.DEADLOCK: (0.7, STATEMENT),
    Kind.LOCK_TIMEOUT: (0.7, (Trigger.STATEMENT_BEGIN,)),
    Kind.SPACE_FULL: (0.7, STATEMENT),
    Kind.RESTART: (0.7, ON_THE_WAY),
    Kind.FAILOVER: (0.5, ON_THE_WAY),
    Kind.OTHER_IDS: (0.4, ON_THE_WAY),
    Kind.OTHER_DATABASE: (0.3, ON_THE_WAY),
    Kind.COUNTER_RESET: (0.5, (Trigger.TIME,)),
    Kind.LEASE_LOST: (0.7, ON_THE_WAY),
    Kind.DROPPED: (0.5, ON_THE_WAY),
    Kind.RENAMED: (0.5, ON_THE_WAY),
    Kind.MOVED: (0.6, ON_THE_WAY),
    Kind.REBUILT: (0.5, ON_THE_WAY),
    Kind.RECREATED: (0.5, ON_THE_WAY),
    Kind.GROWN: (0.6, ON_THE_WAY),
    Kind.LOCKED: (1.0, ON_THE_WAY),
    Kind.FILLED: (0.6, ON_THE_WAY),
    Kind.REVOKED: (0.6, ON_THE_WAY),
    Kind.APPROVE: (2.0, ON_THE_WAY),
    Kind.REJECT: (0.3, ON_THE_WAY),
    Kind.STRIKE: (0.5, ON_THE_WAY),
    Kind.PAUSE: (0.8, ON_THE_WAY),
    Kind.RESUME: (0.4, ON_THE_WAY),
    Kind.CANCEL: (0.7, ON_THE_WAY),
    Kind.UNDO: (1.2, ON_THE_WAY),
    Kind.PIN: (0.3, ON_THE_WAY),
    Kind.ASK: (0.5, ON_THE_WAY),
    Kind.RELOAD: (0.7, ON_THE_WAY),
    Kind.RELOAD_MISTAKE: (0.5, ON_THE_WAY),
    Kind.STOP: (0.7, ON_THE_WAY),
    Kind.RIVAL: (0.4, ON_THE_WAY),
    Kind.OPEN_RULE: (0.0, ON_THE_WAY),  # where the level is auto, and by numbers of its own
    Kind.CLOSE_RULE: (0.0, ON_THE_WAY),
    Kind.FORGE: (0.0, ON_THE_WAY),  # where there are forgers, by numbers of its own
}  # fmt: skip
# Of weeks of running: drawn by numbers of their own, so that every other thing that a seed draws stays what it was.
WEEKS: dict[Kind, tuple[float, tuple[Trigger, ...]]] = {
    Kind.KILL_DONE: (1.5, (Trigger.STATEMENT_DONE, Trigger.COPYING)),
    Kind.RESTORED: (0.5, ON_THE_WAY),
    Kind.REFUSED: (1.0, ON_THE_WAY),
    Kind.SLOW_CATALOG: (1.0, (Trigger.TIME,)),
    Kind.RELOAD_COPYING: (1.0, (Trigger.COPYING,)),
    Kind.YEAR_AHEAD: (0.5, ON_THE_WAY),
}
WEEKS_SHARE = 0.6  # of the seeds
MOST_PASSED = {
    Trigger.LEDGER_BEGIN: 60, Trigger.LEDGER_COMMIT: 60, Trigger.LEDGER_DONE: 60,
    Trigger.READ_BEGIN: 20, Trigger.READ_DONE: 20, Trigger.STATEMENT_BEGIN: 3, Trigger.STATEMENT_DONE: 3,
    Trigger.COPYING: 60,
}  # fmt: skip  # calls that are let pass before an event strikes
WINDOWS = ((), (), ("00:00-24:00",), ("01:00-03:30", "05:00-06:00"), ("00:30-01:00", "01:40-02:00", "03:00-07:00"))


AUTO_SHARE = 0.3  # of the seeds: the level is auto


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happens, and where. ``pick`` holds numbers in [0, 1) that choose among what is there then."""

    at: float  # seconds since the start, from which on it may strike
    kind: Kind
    trigger: Trigger
    passes: int  # calls of the trigger that are let pass
    pick: tuple[float, float]
    site: int = 0  # of a fleet

    def __str__(self) -> str:
        where = "" if self.trigger is Trigger.TIME else f" at {self.trigger} {self.passes + 1}"
        return f"{self.at / HOUR:5.2f} h{where}: {self.kind}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Of the standing rule that people sign where the level is auto."""

    most_bytes: int
    locks: str
    least_gain_per_hour: float
    most_a_day: int
    hours: float  # until it ends


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """How the site is set up."""

    world_seed: int
    hours: float
    sample_seconds: float
    windows: tuple[str, ...]
    window_bytes: int | None
    cool_down_hours: float
    expires_hours: float
    retries: int
    dry_run: bool
    maximum_moves: int
    auto: Limits | None = None  # None: the level is propose


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetSite:
    """Several databases with one ledger, and for each of them an agent and a standby."""

    sites: tuple[Site, ...]
    skews: tuple[tuple[float, float], ...]  # of each database: seconds that the clocks of its two agents are ahead
    ledger_skew: float  # of the ledger's server
    lease_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """Everything that is drawn."""

    seed: int
    site: Site
    events: tuple[Event, ...]
    fleet: FleetSite | None = None
    forgers: bool = False  # who write to the ledger what no person has decided

    def keep(self, numbers: Collection[int]) -> Script:
        """With those events only."""
        return replace(self, events=tuple(event for at, event in enumerate(self.events) if at in set(numbers)))


def draw(seed: int, *, forgers: bool = False) -> Script:
    """The script of a seed; with forgers people sign, and others write approvals that nobody gave."""
    random = Random(seed)  # a simulation, no secret
    site = draw_site(random)
    events = [*draw_approvals(random, site), *(_event(random, site) for _ in range(random.randint(3, 16)))]
    # By numbers of its own: every other thing that a seed draws stays what it was before there were rules.
    own = Random(f"standing rule of {seed}")  # a simulation, no secret
    if own.random() < AUTO_SHARE:
        site = replace(site, auto=_limits(own))
        events += _rule_events(own, site)
    weeks = Random(f"weeks of {seed}")  # likewise
    # Behind all others, whose numbers stay what they were too.
    late = [_event(weeks, site, WEEKS) for _ in range(weeks.randint(1, 3))] if weeks.random() < WEEKS_SHARE else []
    if forgers:
        site = site if site.auto is not None else replace(site, auto=_limits(own))
        events += [_on_the_way(own, site, Kind.FORGE) for _ in range(own.randint(2, 8))]
    in_order = (*sorted(events, key=lambda event: event.at), *sorted(late, key=lambda event: event.at))
    return Script(seed=seed, site=site, events=in_order, forgers=forgers)


def draw_site(random: Random) -> Site:
    """How a site is set up."""
    return Site(
        world_seed=random.randrange(10**6),
        hours=random.choice((2.0, 3.0, 3.0, 4.0)),
        sample_seconds=random.choice((15.0, 20.0, 30.0)) * MINUTE,
        windows=random.choice(WINDOWS),
        window_bytes=random.choice((None, None, None, 4 * 10**9)),
        cool_down_hours=random.choice((1.0, 24.0, 24.0)),
        expires_hours=random.choice((0.7, 2.0, 12.0)),
        retries=random.choice((2, 5)),
        dry_run=random.random() < 0.05,
        maximum_moves=random.choice((2, 4, 100)),
    )


def draw_approvals(random: Random, site: Site) -> list[Event]:
    """People look now and then at what waits and approve it; most of what follows needs something to go wrong in."""
    due, found = 0.7 * HOUR, []
    while due < site.hours * HOUR:
        found.append(Event(due, Kind.APPROVE, Trigger.TIME, 0, (random.random() * 0.2, random.random())))
        due += random.uniform(0.3, 1.2) * HOUR
    return found


def _limits(random: Random) -> Limits:
    return Limits(
        most_bytes=random.choice((10**9, 4 * 10**9, 10**12)), locks=random.choice(("none", "brief", "any")),
        least_gain_per_hour=random.choice((0.0, 0.0, 60.0)), most_a_day=random.choice((1, 2, 5)),
        hours=random.choice((1.2, 24.0, 24.0)),
    )  # fmt: skip


def _rule_events(random: Random, site: Site) -> list[Event]:
    """A rule is signed early; now and then it is closed, and signed again."""
    kinds = (Kind.OPEN_RULE, Kind.CLOSE_RULE)
    first = Event(0.2 * HOUR, Kind.OPEN_RULE, Trigger.TIME, 0, (0.0, 0.0))
    return [first, *(_on_the_way(random, site, random.choice(kinds)) for _ in range(random.randint(0, 3)))]


def _on_the_way(random: Random, site: Site, kind: Kind) -> Event:
    at, trigger = random.uniform(0.5, site.hours) * HOUR, random.choice(ON_THE_WAY)
    passes = int(MOST_PASSED.get(trigger, 0) * random.random() ** 2)
    return Event(at, kind, trigger, passes, (random.random(), random.random()))


def _event(random: Random, site: Site, drawn: Mapping[Kind, tuple[float, tuple[Trigger, ...]]] = KINDS) -> Event:
    kind = random.choices(list(drawn), [often for often, _ in drawn.values()])[0]
    trigger = random.choice(drawn[kind][1])
    passes = int(MOST_PASSED.get(trigger, 0) * random.random() ** 2)
    at = random.uniform(0.1, site.hours) * HOUR
    return Event(at, kind, trigger, passes, (random.random(), random.random()))
