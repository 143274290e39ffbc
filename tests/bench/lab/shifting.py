"""Experiment 5: the hot table changes, and nobody says so. Time is compressed: a day of hotplace lasts four seconds.

Every time constant of the product is its default divided by ``COMPRESSION``, so a phase of a minute and a half stands
for 24 days. What cannot be compressed: samples come every 0.25 s (an hour and a half) and plans every second (six
hours) instead of every minute and hour. Sessions report what they read after each transaction; once a second, as they
do by themselves, would be longer than the shorter half-life. Copies take as long as they take, so tables are small: a
copy of one with its key takes a second under load, which stands for six hours.

Sessions do nothing but wait and ask again, so their time over all phases is the same for every strategy, and the
wait integrated over the run is compared by how many transactions it bought. Each strategy starts with the first phase's
hot table on the SSD, which has room for one. In the middle of each phase another table is hot for a day: whoever runs
after it pays twice. Moves are PostgreSQL's own, on the modelled disks, under the load, indexes by copy as well.

- static: nothing moves any more;
- hasty: hotplace planning on the last hour alone, with every guard off;
- hotplace: as it is;
- hindsight: knows the next phase and swaps as it begins.

All four run at the same time, each on a server and disks of its own: they are bound by the modelled disks.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from psycopg import sql

from agent.demo.load import HDD_SPACE, SSD_SPACE
from agent.model.states import MoveState
from policies.model.settings import PolicySettings
from tests.bench.lab.figures import say, table
from tests.bench.lab.headline import HOT_PERCENT, look_up
from tests.bench.lab.hotplace import Hotplace, NotPlaced, watching
from tests.bench.lab.load import Group, Workload, start
from tests.bench.lab.pace import FULL, Pace
from tests.bench.lab.rig import MAJOR, Rig, running_rig
from tests.bench.lab.schema import Table
from tests.bench.measurement import Measurement

TABLES, ROWS = 6, 500_000
SCALE = 0.125  # whatever the pace says
DAY_SECONDS = 4.0
COMPRESSION = 86400.0 / DAY_SECONDS
SAMPLE_SECONDS, PLAN_SECONDS = 0.25, 1.0
PHASE_SECONDS = 24 * DAY_SECONDS
PHASES = {True: (0, 1, 2), False: (0, 1)}  # full; quick: hot tables
FLASH_TABLE, FLASH_SECONDS = 5, DAY_SECONDS
SOON_SECONDS = 2 * DAY_SECONDS  # a unit that moves again within it goes back and forth
CLIENTS = 8
FAST_INDEXES = "index_route: fast"  # as hindsight does it
TELL_AT_ONCE = "SELECT pg_stat_force_next_flush();\n"
STRATEGIES = ("static", "hasty", "hotplace", "hindsight")
COMMAND = "python -m tests.bench.lab shifting"


def _guarded() -> str:
    """The product's own time constants, compressed. A ratio stays."""
    usual = PolicySettings()
    times = {
        "half_life": usual.half_life_seconds,
        "long_half_life": usual.long_half_life_seconds,
        "minimum_history": usual.minimum_history_seconds,
        "cool_down": usual.cool_down_seconds,
        "payback": usual.payback_limit_seconds,
        "horizon": usual.horizon_seconds,
    }
    words = [f"{name}: {seconds / COMPRESSION * 1000:.0f}ms" for name, seconds in times.items()]
    return ", ".join([*words, "head_room: 0"])


HASTY = (
    f"half_life: {3600 / COMPRESSION * 1000:.0f}ms, long_half_life: {3600 / COMPRESSION * 1000:.0f}ms, "
    "minimum_history: 1ms, cool_down: 1ms, payback: 24h, horizon: 24h, resident_bonus: 1, regret: 0, certainty: 0.01, "
    "minimum_gain: 1ms, head_room: 0"
)
POLICIES = {"hasty": HASTY, "hotplace": _guarded()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """So many seconds with one hot table."""

    hot: int
    seconds: float
    begins: int | None  # the phase that begins with it; None: none does


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One strategy over all phases."""

    name: str
    wait: float  # session seconds a transaction, over all phases
    by_phase: tuple[float, ...]  # transactions a second
    moved_bytes: int
    moves: int
    back_and_forth: int  # moves of a unit within ``SOON_SECONDS`` of its last


Moves = list[tuple[float, str, int]]  # when, unit, bytes


def tables() -> tuple[Table, ...]:
    """All of one size."""
    return tuple(Table(name=f"s{number}", rows=round(ROWS * SCALE)) for number in range(TABLES))


def workload(made: tuple[Table, ...], hot: int) -> Workload:
    """Look-ups by key; most on one table."""
    others = len(made) - 1
    scripts = (
        look_up(t, HOT_PERCENT * others if number == hot else 100 - HOT_PERCENT) for number, t in enumerate(made)
    )
    telling = tuple(replace(script, text=script.text + TELL_AT_ONCE) for script in scripts)
    return Workload(groups=(Group(scripts=telling, clients=CLIENTS),))


def stretches(hot: tuple[int, ...]) -> list[Stretch]:
    """The phases, each with a flash of another table in its middle."""
    half = (PHASE_SECONDS - FLASH_SECONDS) / 2
    return [
        stretch
        for phase, number in enumerate(hot)
        for stretch in (
            Stretch(hot=number, seconds=half, begins=phase),
            Stretch(hot=FLASH_TABLE, seconds=FLASH_SECONDS, begins=None),
            Stretch(hot=number, seconds=half, begins=None),
        )
    ]


def run(pace: Pace, major: int = MAJOR) -> list[Outcome]:
    """Every strategy at the same time, on the same tables."""
    hot, small = PHASES[pace is FULL], replace(pace, scale=SCALE)
    with ThreadPoolExecutor(len(STRATEGIES)) as side_by_side:
        return list(side_by_side.map(lambda name: _on_its_own(small, major, name, hot), STRATEGIES))


def _on_its_own(pace: Pace, major: int, name: str, hot: tuple[int, ...]) -> Outcome:
    made = tables()
    with running_rig(pace, major=major) as rig:
        rig.fill(made)
        rig.give_ssd(int(rig.total_bytes() / TABLES * 1.02))
        rig.place(set(made[hot[0]].units))
        return _strategy(rig, made, name, hot)


def _strategy(rig: Rig, made: tuple[Table, ...], name: str, hot: tuple[int, ...]) -> Outcome:
    """From the first phase's best placement through all phases."""
    moved: Moves = []
    if name == "static":
        return _outcome(name, _phases(rig, made, hot, lambda _: None), moved)
    if name == "hindsight":
        return _outcome(name, _phases(rig, made, hot, lambda phase: _swap(rig, made, hot, phase, moved)), moved)
    with watching(
        rig, name=name, policy=POLICIES[name], connection=FAST_INDEXES, sample_seconds=SAMPLE_SECONDS
    ) as agent:
        stop = threading.Event()
        planner = threading.Thread(target=_plan_often, args=(agent, stop), name=name, daemon=True)
        planner.start()
        try:
            rates = _phases(rig, made, hot, lambda _: None)
        finally:
            stop.set()
            planner.join()
        done = {MoveState.PLACED, MoveState.SETTLING, MoveState.KEPT}
        rows = [row for row in agent.ledger.moves.rows(database=name) if row.state in done]
        moved = sorted((row.updated_at.timestamp(), row.move.key, row.move.size_bytes) for row in rows)
    return _outcome(name, rates, moved)


def _phases(rig: Rig, made: tuple[Table, ...], hot: tuple[int, ...], begin: Callable[[int], None]) -> tuple[float, ...]:
    """Transactions a second of each phase; ``begin`` is told as one starts."""
    transactions = [0.0] * len(hot)
    phase = 0
    for seed, stretch in enumerate(stretches(hot), start=1):
        clients = start(rig.server, rig.folder, workload(made, stretch.hot), stretch.seconds, seed)
        if stretch.begins is not None:
            phase = stretch.begins
            begin(phase)
        # A second more: at its end pgbench lets every client finish the transaction that it is in.
        transactions[phase] += clients.finish().between(0.0, stretch.seconds + 1).transactions
    return tuple(count / PHASE_SECONDS for count in transactions)


def _plan_often(agent: Hotplace, stop: threading.Event) -> None:
    while not stop.wait(PLAN_SECONDS):
        try:
            agent.decide()
        except NotPlaced as error:  # busy: it comes back at the next turn
            say(f"  not placed: {error}")


def _swap(rig: Rig, made: tuple[Table, ...], hot: tuple[int, ...], phase: int, moved: Moves) -> None:
    """Down with the last hot table, up with the next: at the disks' speed, under the load, without waiting for it."""
    if phase == 0:
        return
    relations = {relation.key: relation for relation in rig.relations()}
    with rig.session() as session:
        for number, space in ((hot[phase - 1], HDD_SPACE), (hot[phase], SSD_SPACE)):
            for unit in made[number].units:
                relation = relations[unit]
                words = "ALTER INDEX {} SET TABLESPACE {}" if relation.index else "ALTER TABLE {} SET TABLESPACE {}"
                session.execute(sql.SQL(words).format(sql.Identifier(relation.name), sql.Identifier(space)))
                moved.append((0.0, unit, relation.size_bytes))


def _outcome(name: str, rates: tuple[float, ...], moved: Moves) -> Outcome:
    last: dict[str, float] = {}
    back = 0
    for at, key, _ in moved:
        # Hindsight's moves carry no time, and it moves each unit once a phase.
        back += name != "hindsight" and at - last.get(key, float("-inf")) < SOON_SECONDS
        last[key] = at
    wait = CLIENTS * len(rates) / sum(rates)
    by_phase = " ".join(f"{rate:.0f}" for rate in rates)
    say(f"  {name}: {wait * 1000:.1f} ms a transaction, {len(moved)} moves; {by_phase} a second by phase")
    return Outcome(
        name=name, wait=wait, by_phase=rates, moved_bytes=sum(size for _, _, size in moved), moves=len(moved),
        back_and_forth=back,
    )  # fmt: skip


def measurements(pace: Pace, major: int = MAJOR) -> list[Measurement]:
    """Run and report."""
    found = {outcome.name: outcome for outcome in run(pace, major)}
    best, columns = found["hindsight"].wait, ("strategy", "mean wait", "over hindsight", "by phase", "moves", "moved",
                                              "back and forth")  # fmt: skip
    table(f"shifting hot set, PostgreSQL {major}", columns, [_row(outcome, best) for outcome in found.values()])
    ours, hasty = found["hotplace"], found["hasty"]
    note = ", ".join(f"{o.name} {o.wait * 1000:.1f} ms, {_mib(o)}" for o in found.values())
    how = (
        f"time constants of the product all divided by {COMPRESSION:,.0f} (a phase of {PHASE_SECONDS:g} s stands for "
        f"{PHASE_SECONDS / DAY_SECONDS:.0f} days), copies not; moved bytes with each"
    )
    return [
        Measurement(name="lab.postgresql.shifting_wait_over_hindsight", value=ours.wait / best, unit="times",
                    better="lower", command=COMMAND, note=f"{note}; {how}"),
        Measurement(name="lab.postgresql.shifting_wait_over_static", value=ours.wait / found["static"].wait,
                    unit="times", better="lower", command=COMMAND,
                    note=f"hindsight {best / found['static'].wait:.2f}, hasty {hasty.wait / found['static'].wait:.2f}"),
        Measurement(name="lab.postgresql.shifting_back_and_forth", value=ours.back_and_forth, unit="moves",
                    better="lower", command=COMMAND,
                    note=f"of a unit within {SOON_SECONDS / DAY_SECONDS:.0f} days of its last; without guards "
                         f"{hasty.back_and_forth} of {hasty.moves}"),
    ]  # fmt: skip


def _row(outcome: Outcome, best: float) -> tuple[str, ...]:
    rates = " ".join(f"{rate:.0f}" for rate in outcome.by_phase)
    return (
        outcome.name, f"{outcome.wait * 1000:.1f} ms", f"{outcome.wait / best:.2f}", rates, str(outcome.moves),
        _mib(outcome), str(outcome.back_and_forth),
    )  # fmt: skip


def _mib(outcome: Outcome) -> str:
    return f"{outcome.moved_bytes / 2**20:,.0f} MiB"
