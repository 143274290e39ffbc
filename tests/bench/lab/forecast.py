"""Is what hotplace forecasts what comes? Ten loads on a real server, the demo, a simulated shop, and twelve mixes.

Each load runs with everything on the hdd while hotplace watches. It is then asked, as users ask it, what a placement
would bring (``plan --mode preference`` with everything pinned), the placement is made by hand, and the same load is
counted again by the server's own counters, with hotplace sampling on.

Two loads are those that the model was made with (``CALIBRATED``): they are printed and not judged. The others are
judged: clients that think, writes, the processors, the log, scans, an array of disks, everything on the SSD, two kinds
of sessions, and a load that arrives by itself. With them go the demo with clients that pause for 4, 60 and 200 ms, and
the simulated shop.

A load that arrives by itself is judged by the line that is printed for it ("if work arrives by itself").

``classes``: sessions of two kinds, by twelve mixes. How wide an interval is after one outcome is printed besides: the
same placement is forecast again by what was known before, and that one outcome.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from agent.demo import story
from agent.demo.load import LoadSettings
from agent.demo.slow_disk import DeviceModel
from agent.demo.stage import company, stage
from agent.model.answers.setup import DemoRun
from agent.terminal.output import Output
from policies.model.confidence import Foretold, PastForecast
from policies.model.plan import Situation
from policies.model.settings import PolicySettings
from policies.placement.forecast import forecast
from tests.bench.lab import headline, mixed
from tests.bench.lab.asking import Answer, ask
from tests.bench.lab.figures import say, table
from tests.bench.lab.hotplace import USUAL_POLICY, Hotplace, watching
from tests.bench.lab.load import Group, Script, Workload, start
from tests.bench.lab.pace import FULL, Pace
from tests.bench.lab.rig import MAJOR, Rig, hdd_of, running_rig
from tests.bench.lab.schema import Table
from tests.bench.measurement import Measurement
from tests.simulation.site import Site

SCALE = 0.5  # of the pace's
WARM = 0.5  # of the pace's time to warm up: the buffer pool is small
# Times the pace's time to warm up, before hotplace begins to watch: the hdd takes that long to fill the buffer pool
# with what is asked for most. What only a cold pool misses would be forecast to be missed for ever.
WARM_BEFORE = 2.5
COMMAND = "python -m tests.bench.lab forecast"
GOAL_ERROR, GOAL_COVERAGE, GOAL_WIDTH = 0.15, 0.9, 2.0
HOT = frozenset({"public.t0", "public.t0_pkey"})
HOT_OF_MIXED = frozenset({"public.orders", "public.orders_pkey", "public.stock", "public.stock_pkey"})
LOG = DeviceModel(name="log", channels=1, access_seconds=0.003, bytes_per_second=160e6)
TIMED_LOG = {"fsync": "on", "wal_sync_method": "fsync", "track_wal_io_timing": "on"}
Make = Callable[[tuple[Table, ...]], Workload]


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What one rig does, and the placement that is asked about."""

    name: str
    work: Make
    up: Collection[str] | None = HOT  # units that go to the SSD; None: all
    tables: Callable[[Pace], tuple[Table, ...]] = headline.tables
    settings: dict[str, str] = field(default_factory=dict)
    disks: int = 1
    slow_log: bool = False
    arrives: bool = False  # by itself: judged by what is said for such a load
    judged: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """A forecast next to what came."""

    name: str
    before: float  # transactions a second
    said: float
    low: float
    high: float
    came: float
    judged: bool = True
    again: float = float("nan")  # upper over lower end after this outcome

    @property
    def error(self) -> float:
        """Said over came, less 1."""
        return self.said / self.came - 1

    @property
    def inside(self) -> bool:
        """Whether the interval holds what came."""
        return self.low <= self.came <= self.high


def scripts(made: tuple[Table, ...], text: Callable[[Table], str]) -> tuple[Script, ...]:
    """One for each table, 85 % of them of the first."""
    others = len(made) - 1
    weights = [headline.HOT_PERCENT * others] + [100 - headline.HOT_PERCENT] * others
    return tuple(Script(name=t.name, text=text(t), weight=w) for t, w in zip(made, weights, strict=True))


def look_up(at: Table) -> str:
    """One row by its key."""
    return f"\\set id random(1, {at.rows})\nSELECT n FROM {at.name} WHERE id = :id;\n"


def thinking(milliseconds: int, clients: int = headline.CLIENTS) -> Make:
    """Look-ups, and a pause after each."""
    return lambda made: Workload(
        groups=(Group(scripts=scripts(made, lambda t: f"{look_up(t)}\\sleep {milliseconds} ms\n"), clients=clients),)
    )


def writing(made: tuple[Table, ...]) -> Workload:
    """Half of the transactions change their row."""
    change = tuple(
        Script(name=f"{t.name}w", text=f"\\set id random(1, {t.rows})\nUPDATE {t.name} SET n = n + 1 WHERE id = :id;\n",
               weight=each.weight)
        for t, each in zip(made, scripts(made, look_up), strict=True)
    )  # fmt: skip
    return Workload(groups=(Group(scripts=(*scripts(made, look_up), *change), clients=headline.CLIENTS),))


def computing(made: tuple[Table, ...]) -> Workload:
    """Each transaction counts to 60,000 beside its look-up: two processors are busy long before the SSD."""
    text = "SELECT count(*) FROM generate_series(1, 60000);\n"
    return Workload(groups=(Group(scripts=scripts(made, lambda t: look_up(t) + text), clients=headline.CLIENTS),))


JOURNAL = "journal"  # without a key


def with_journal(pace: Pace) -> tuple[Table, ...]:
    """The usual tables, and one that is appended to."""
    return (*headline.tables(pace), Table(name=JOURNAL, rows=1000, keyed=False))


def logging(made: tuple[Table, ...]) -> Workload:
    """Each transaction looks a row up and commits one."""
    text = f"INSERT INTO {JOURNAL} VALUES (1, 1, 'x');\n"
    keyed = tuple(each for each in made if each.keyed)
    transaction = scripts(keyed, lambda t: f"BEGIN;\n{look_up(t)}{text}COMMIT;\n")
    return Workload(groups=(Group(scripts=transaction, clients=headline.CLIENTS),))


def scanning(made: tuple[Table, ...]) -> Workload:
    """Beside the look-ups two clients read a table from end to end, over and over."""
    scan = Script(name="scan", text=f"SELECT sum(n) FROM {made[0].name};\n\\sleep 500 ms\n")
    return Workload(groups=(*thinking(1)(made).groups, Group(scripts=(scan,), clients=2)))


# What others ask. Since version 15 a session adds its commits to pg_stat_database only when it has counters of
# relations to add as well: commits of SELECT 1 would be counted when the session ends.
CHECK = "SELECT relpages FROM pg_class WHERE oid = 1259;\n"


def two_kinds(made: tuple[Table, ...]) -> Workload:
    """Beside the look-ups a monitor that looks at one row that is always cached, a hundred times a second."""
    monitor = Script(name="monitor", text=f"{CHECK}\\sleep 40 ms\n")
    return Workload(groups=(*thinking(20)(made).groups, Group(scripts=(monitor,), clients=4, foreground=False)))


def arriving(made: tuple[Table, ...]) -> Workload:
    """As many look-ups a second as the disk serves with ease, whatever they take."""
    return Workload(groups=(Group(scripts=scripts(made, look_up), clients=32, rate=60.0),))


LOADS = (
    Load(name="look-ups", work=headline.workload, judged=False),
    Load(name="mixed", work=lambda _: mixed.workload(FULL.smaller(SCALE)), tables=mixed.tables, up=HOT_OF_MIXED,
         judged=False),
    Load(name="thinking 60 ms", work=thinking(60)),
    Load(name="writes", work=writing),
    Load(name="processors", work=computing),
    Load(name="log", work=logging, tables=with_journal, settings=TIMED_LOG, slow_log=True),
    Load(name="scans", work=scanning),
    Load(name="four disks", work=thinking(4, clients=24), disks=4),
    Load(name="all on ssd", work=thinking(4), up=None),
    Load(name="two kinds", work=two_kinds),
    Load(name="arrives", work=arriving, arrives=True),
)  # fmt: skip
CALIBRATED = tuple(load.name for load in LOADS if not load.judged)
THINKS = (0.004, 0.060, 0.200)  # seconds, of the demo's clients
SHOPS = ("", "maximum_moves: 2", "maximum_moves: 4")  # policies of the simulated shop

# Sessions that read (clients, pause in ms, look-ups in a transaction), and others beside them.
READERS = ((4, 1, 10), (1, 1, 100), (8, 300, 10), (8, 4, 1))
OTHERS = ((8, 50), (1, 5), (40, 1000))


def mix(readers: tuple[int, int, int], others: tuple[int, int]) -> Make:
    """Sessions of two applications."""
    count, pause, reads = readers
    many, rest = others

    def made(tables: tuple[Table, ...]) -> Workload:
        several = scripts(tables, lambda t: f"BEGIN;\n{look_up(t) * reads}COMMIT;\n\\sleep {pause} ms\n")
        idle = Script(name="idle", text=f"{CHECK}\\sleep {rest} ms\n")
        return Workload(groups=(Group(scripts=several, clients=count),
                                Group(scripts=(idle,), clients=many, foreground=False)))  # fmt: skip

    return made


MIXES = tuple(
    Load(name=f"{readers[0]} read {readers[2]}, {others[0]} pause {others[1]} ms", work=mix(readers, others),
         settings={"max_connections": "80"})
    for readers in READERS for others in OTHERS
)  # fmt: skip

_COUNTED = "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()"


def run(load: Load, pace: Pace, major: int = MAJOR) -> Checked:
    """One load, watched, asked about, placed and counted again."""
    small = pace.smaller(SCALE)
    hdd = replace(hdd_of(small), channels=load.disks)
    with running_rig(small, major=major, hdd=hdd, settings=load.settings) as rig:
        made = load.tables(small)
        rig.fill(made)
        if load.slow_log:
            rig.disk.place(LOG, rig.server.data / "pg_wal")
        units = [relation.key for relation in rig.relations()]
        up = frozenset(units if load.up is None else load.up)
        clients = start(rig.server, rig.folder, load.work(made), _seconds(small), seed=98)
        try:
            clients.sleep_until(WARM_BEFORE * small.warm_seconds)
            with watching(rig, policy=USUAL_POLICY + "head_room: 0") as agent:
                before, said, situation = _watched(rig, agent, up, units)
                clients.stop()
                rig.place(up)
                came = statistics.median(
                    _counted(rig, load.work(made), pace, seed) for seed in range(1, pace.runs + 1)
                )  # fmt: skip
        finally:
            clients.stop()
    low, high = said.low, said.high
    if load.arrives:
        said, low, high = replace(said, per_second=before), before / 1.15, before * 1.15
    found = Checked(name=load.name, before=before, said=said.per_second, low=low, high=high, came=came,
                    judged=load.judged)  # fmt: skip
    return found if load.arrives else replace(found, again=width_after(situation, up, found))


def _seconds(pace: Pace) -> float:
    """That the load runs for at most until all that is asked has been answered."""
    return WARM_BEFORE * pace.warm_seconds + 2 * pace.observe_seconds + 90.0


def _watched(
    rig: Rig, agent: Hotplace, up: frozenset[str], units: Sequence[str]
) -> tuple[float, Answer, Situation]:  # fmt: skip
    """Present throughput, what was said of the placement, and what that was computed from.

    The load has run for a while: where it begins within an interval, sessions that are counted at the end of it would
    count for all of it, and seem to have paused.
    """
    pace = rig.pace
    agent.observe(pace.observe_seconds)  # sessions and their kinds, before anything is counted
    first, began = _transactions(rig), time.monotonic()
    agent.observe(pace.observe_seconds)
    before = (_transactions(rig) - first) / (time.monotonic() - began)
    situation = agent.plan().situation
    agent.watch.sampler.save()
    return before, ask(agent.config_path, up, units), situation


def _counted(rig: Rig, work: Workload, pace: Pace, seed: int) -> float:
    """Transactions a second by the server's own counter, those of hotplace's samples among them as before."""
    begin = pace.warm_seconds * WARM
    clients = start(rig.server, rig.folder, work, begin + pace.run_seconds + 5.0, seed)
    try:
        clients.sleep_until(begin)
        first = _transactions(rig)
        clients.sleep_until(begin + pace.run_seconds)
        return (_transactions(rig) - first) / pace.run_seconds
    finally:
        clients.stop()


def _transactions(rig: Rig) -> float:
    with rig.session() as session:  # a new one: who stays would be taken for a session of the load
        row = session.execute(_COUNTED).fetchone()
    assert row is not None
    return float(row[0])


def width_after(situation: Situation, up: Collection[str], found: Checked) -> float:
    """Upper over lower end of the same forecast once this outcome is known, of a load that is known to be closed."""
    tier = np.array([0 if key in up else 1 for key in situation.units.key], dtype=np.int64)
    rate = Foretold(before=found.before, said=found.said, came=found.came)
    unknown = Foretold(before=float("nan"), said=float("nan"), came=float("nan"))
    known = replace(situation, load="closed", past_forecasts=(PastForecast(rate=rate, latency=unknown),))
    again = forecast(known, PolicySettings(), tier)
    return again.interval.high / again.interval.low


def demonstrated(think: float) -> Iterator[Checked]:
    """``hotplace demo`` with clients that pause for so long: its own forecast and its own measurement."""
    output = Output(as_json=True, no_color=True)
    settings = LoadSettings(think_seconds=think)
    with stage(slow_disk=True) as built, company(built, lambda _event: None, settings) as players:
        told = story.DemoStory(built, players, output, approve=lambda _question: True, who="the bench").tell()
    assert isinstance(told.found, DemoRun)
    for outcome in told.found.outcomes:
        low, high = outcome.predicted_transactions_per_second_low, outcome.predicted_transactions_per_second_high
        said, before = outcome.predicted_transactions_per_second, outcome.transactions_per_second_before
        came = outcome.transactions_per_second_after
        assert None not in (low, high, said, before, came), "the demo's disks are modelled"
        yield Checked(name=f"demo, {1000 * think:.0f} ms", before=before, said=said, low=low, high=high, came=came)


def shop(policy: str) -> Checked:
    """The simulated shop, under a virtual clock."""
    with tempfile.TemporaryDirectory() as folder:
        site = Site(Path(folder), policy=policy)
        with site.agent() as (watch, ledger):
            before = site.world.rates().transactions
            number = site.approved(watch, ledger)
            said = ledger.proposals.row(number).proposal.forecast
            watch.act()
            site.observe(watch)
        came = site.world.rates().transactions
    assert said is not None
    assert said.per_second is not None
    assert said.per_second_low is not None
    assert said.per_second_high is not None
    return Checked(name=f"oltp, {policy or 'all moves'}", before=before, said=said.per_second,
                   low=said.per_second_low, high=said.per_second_high, came=came)  # fmt: skip


Task = tuple[str, str, Callable[[], list[Checked]]]


def tasks(pace: Pace, major: int) -> list[Task]:
    """All of them by group and name, in order."""

    def of(load: Load) -> Callable[[], list[Checked]]:
        return lambda: [run(load, pace, major)]

    def demo(think: float) -> Callable[[], list[Checked]]:
        return lambda: list(demonstrated(think))

    def simulated(policy: str) -> Callable[[], list[Checked]]:
        return lambda: [shop(policy)]

    return [
        *(("loads", load.name, of(load)) for load in LOADS),
        *(("loads", f"demo, {1000 * think:.0f} ms", demo(think)) for think in THINKS),
        *(("loads", f"oltp, {policy or 'all moves'}", simulated(policy)) for policy in SHOPS),
        *(("classes", load.name, of(load)) for load in MIXES),
    ]  # fmt: skip


def measurements(
    pace: Pace, major: int = MAJOR, part: tuple[int, int] = (1, 1), only: Collection[str] = ()
) -> list[Measurement]:
    """Run and report; a part is judged by itself.

    Args:
        pace: of all loads.
        major: version of the server.
        part: which, of how many.
        only: names of loads; (): all.

    Raises:
        ValueError: no load has that name.
    """
    known = tasks(pace, major)
    if unknown := set(only) - {name for _, name, _ in known}:
        raise ValueError(f"no load is named {', '.join(sorted(unknown))}; there are "
                         f"{'; '.join(name for _, name, _ in known)}")  # fmt: skip
    found: dict[str, list[Checked]] = {"loads": [], "classes": []}
    chosen = [(group, task) for group, name, task in known if not only or name in only]
    for group, task in chosen[part[0] - 1 :: part[1]]:
        for each in task():
            found[group].append(each)
            say(f"  {each.name}: {each.before:,.1f}/s, {each.said:,.1f} said, {each.came:,.1f} came, "
                f"{each.low:,.1f} to {each.high:,.1f}")  # fmt: skip
    for group, checked in found.items():
        columns = ("load", "before", "forecast", "interval", "came", "error", "inside", "width after")
        table(f"forecast, {group}, PostgreSQL {major} (transactions/s)", columns, [_row(each) for each in checked])
    which = "" if part == (1, 1) and not only else f"; {len(chosen[part[0] - 1 :: part[1]])} of {len(known)} loads"
    return list(_lines(found["loads"], found["classes"], which))


def _lines(loads: Sequence[Checked], mixes: Sequence[Checked], which: str) -> Iterator[Measurement]:
    """The figures with goals, of those that are judged; ``which``: what was run, where it is not all."""
    judged = [each for each in loads if each.judged]
    busy = f"load of the machine {os.getloadavg()[1]:.1f} on {os.cpu_count()} processors{which}"
    if judged:
        worst = max(judged, key=lambda each: abs(each.error))
        missed = ", ".join(each.name for each in judged if not each.inside) or "none"
        yield Measurement(
            name="lab.forecast.error_max", value=abs(worst.error), unit="of the throughput that came", better="lower",
            command=COMMAND, note=f"goal {GOAL_ERROR}; {len(judged)} judged, worst {worst.name} ({worst.error:+.1%}), "
            f"mean {statistics.fmean(abs(each.error) for each in judged):.1%}; not judged: "
            f"{', '.join(CALIBRATED)}; {busy}",
        )  # fmt: skip
        yield Measurement(
            name="lab.forecast.coverage", value=sum(each.inside for each in judged) / len(judged), unit="share",
            better="higher", command=COMMAND, note=f"goal {GOAL_COVERAGE} of 90 % intervals; outside: {missed}; {busy}",
        )  # fmt: skip
    widths = [each.again for each in judged if each.again == each.again]
    if widths:
        yield Measurement(
            name="lab.forecast.width_after_outcome", value=statistics.median(widths), unit="upper over lower end",
            better="lower", command=COMMAND, note=f"goal {GOAL_WIDTH}; median of {len(widths)} closed loads; {busy}",
        )  # fmt: skip
    if mixes:
        missed = ", ".join(each.name for each in mixes if not each.inside) or "none"
        yield Measurement(
            name="lab.classes.forecast_coverage", value=sum(each.inside for each in mixes) / len(mixes), unit="share",
            better="higher", command=COMMAND, note=f"goal {GOAL_COVERAGE} of {len(MIXES)} mixes of two kinds of "
            f"sessions, {len(mixes)} run; outside: {missed}; {busy}",
        )  # fmt: skip


def _row(each: Checked) -> tuple[str, ...]:
    return (
        each.name if each.judged else f"{each.name} (not judged)",
        f"{each.before:,.1f}",
        f"{each.said:,.1f}",
        f"{each.low:,.1f} to {each.high:,.1f}",
        f"{each.came:,.1f}",
        f"{each.error:+.1%}",
        "yes" if each.inside else "no",
        f"{each.again:.2f}" if each.again == each.again else "-",
    )
