"""Experiment 5: the hot table changes, and nobody says so. Time is compressed.

Eight sessions do nothing but wait and ask again, so their time over all phases is the same for every strategy, and the
wait integrated over the run is compared by how many transactions it bought. Each strategy starts with the first phase's
hot table on the SSD, which has room for one. Moves are PostgreSQL's own, on the modelled disks, under the load; copies
are not compressed.

- static: nothing moves any more;
- hasty: hotplace with every guard off, which plans on what it saw last;
- hotplace: its guards as they are; half-lives of 4 s and 8 s, cool-down, pay-back and horizon 15 s;
- hindsight: knows the next phase and swaps as it begins.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

from psycopg import sql

from agent.demo.schema import HDD_SPACE, SSD_SPACE
from agent.states import MoveState
from tests.bench.lab.figures import say, table
from tests.bench.lab.headline import HOT_PERCENT, look_up
from tests.bench.lab.hotplace import Hotplace, NotPlaced, watching
from tests.bench.lab.load import Group, Workload, start
from tests.bench.lab.pace import FULL, Pace
from tests.bench.lab.rig import MAJOR, Rig, running_rig
from tests.bench.lab.schema import Table
from tests.bench.measurement import Measurement

TABLES, ROWS = 6, 500_000
HALF_LIFE_SECONDS = 4.0  # as many samples as would be in some hours, or no figure would be certain
PLAN_EVERY_SECONDS = 2.0
PHASE_SECONDS = 60.0
COOL_DOWN_SECONDS = 15.0  # of pay-back and horizon too: copies are not compressed
PHASES = {True: (0, 1, 2, 0), False: (0, 1)}  # full; quick: hot tables
CLIENTS = 8
GUARDED = (
    f"half_life: {HALF_LIFE_SECONDS:g}s, long_half_life: {2 * HALF_LIFE_SECONDS:g}s, minimum_history: 1s, "
    f"cool_down: {COOL_DOWN_SECONDS:g}s, payback: {COOL_DOWN_SECONDS:g}s, horizon: {COOL_DOWN_SECONDS:g}s, "
    "minimum_gain: 1s, head_room: 0"
)
HASTY = (
    f"half_life: {PLAN_EVERY_SECONDS / 2:g}s, long_half_life: {PLAN_EVERY_SECONDS / 2:g}s, minimum_history: 1s, "
    "cool_down: 1ms, payback: 24h, horizon: 24h, resident_bonus: 1, regret: 0, certainty: 0.01, minimum_gain: 1ms, "
    "head_room: 0"
)
STRATEGIES = ("static", "hasty", "hotplace", "hindsight")
COMMAND = "python -m tests.bench.lab shifting"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One strategy over all phases."""

    name: str
    wait: float  # session seconds a transaction, over all phases
    moved_bytes: int
    moves: int
    back_and_forth: int  # moves of a unit within a cool-down of its last


def tables(pace: Pace) -> tuple[Table, ...]:
    """All of one size."""
    return tuple(Table(name=f"s{number}", rows=round(ROWS * pace.scale)) for number in range(TABLES))


def workload(made: tuple[Table, ...], hot: int) -> Workload:
    """Look-ups by key; most on one table."""
    others = len(made) - 1
    scripts = tuple(
        look_up(t, HOT_PERCENT * others if number == hot else 100 - HOT_PERCENT) for number, t in enumerate(made)
    )
    return Workload(groups=(Group(scripts=scripts, clients=CLIENTS),))


def run(pace: Pace, major: int = MAJOR) -> list[Outcome]:
    """Every strategy on the same tables, one after the other."""
    made = tables(pace)
    with running_rig(pace, major=major) as rig:
        rig.fill(made)
        rig.give_ssd(int(rig.total_bytes() / TABLES * 1.02))
        return [_strategy(rig, made, name) for name in STRATEGIES]


def _strategy(rig: Rig, made: tuple[Table, ...], name: str) -> Outcome:
    """From the first phase's best placement through all phases."""
    hot = PHASES[rig.pace is FULL]
    rig.place(set(made[hot[0]].units))
    if name == "static":
        return _outcome(name, _phases(rig, made, lambda _: None), [])
    if name == "hindsight":
        moved: list[tuple[float, str, int]] = []
        wait = _phases(rig, made, lambda phase: _swap(rig, made, hot, phase, moved))
        return _outcome(name, wait, moved)
    policy = HASTY if name == "hasty" else GUARDED
    with watching(rig, name=name, policy=policy, sample_seconds=PLAN_EVERY_SECONDS / 4) as agent:
        stop = threading.Event()
        planner = threading.Thread(target=_plan_often, args=(agent, stop), name=name, daemon=True)
        planner.start()
        try:
            wait = _phases(rig, made, lambda _: None)
        finally:
            stop.set()
            planner.join()
        rows = agent.ledger.moves(database=name)
        done = {MoveState.PLACED, MoveState.SETTLING, MoveState.KEPT}
        moved = [(r.updated_at.timestamp(), r.move.key, r.move.size_bytes) for r in rows if r.state in done]
    return _outcome(name, wait, sorted(moved))


def _phases(rig: Rig, made: tuple[Table, ...], begin: Callable[[int], None]) -> float:
    """Run every phase; ``begin`` is told as each starts. Session seconds a transaction over all phases."""
    hot = PHASES[rig.pace is FULL]
    transactions, spent = 0, 0.0
    for phase, number in enumerate(hot):
        seconds = PHASE_SECONDS
        clients = start(rig.server, rig.folder, workload(made, number), seconds, seed=phase + 1)
        begin(phase)
        transactions += clients.finish().between(0.0, seconds).transactions
        spent += seconds * CLIENTS
    return spent / max(1, transactions)


def _plan_often(agent: Hotplace, stop: threading.Event) -> None:
    while not stop.wait(PLAN_EVERY_SECONDS):
        try:
            agent.decide()
        except NotPlaced as error:  # busy: it comes back at the next turn
            say(f"  not placed: {error}")


def _swap(
    rig: Rig, made: tuple[Table, ...], hot: tuple[int, ...], phase: int, moved: list[tuple[float, str, int]]
) -> None:
    """Down with the last hot table, up with the next: at the disks' speed, under the load, without waiting for it."""
    if phase == 0 or hot[phase] == hot[phase - 1]:
        return
    sizes = {relation.key: relation for relation in rig.relations()}
    with rig.session() as session:
        for number, space in ((hot[phase - 1], HDD_SPACE), (hot[phase], SSD_SPACE)):
            for unit in made[number].units:
                relation = sizes[unit]
                words = "ALTER INDEX {} SET TABLESPACE {}" if relation.index else "ALTER TABLE {} SET TABLESPACE {}"
                session.execute(sql.SQL(words).format(sql.Identifier(relation.name), sql.Identifier(space)))
                moved.append((0.0, unit, relation.size_bytes))


def _outcome(name: str, wait: float, moved: list[tuple[float, str, int]]) -> Outcome:
    last: dict[str, float] = {}
    back = 0
    for at, key, _ in moved:
        back += name != "hindsight" and at - last.get(key, float("-inf")) < COOL_DOWN_SECONDS
        last[key] = at
    say(f"  {name}: {wait * 1000:.1f} ms a transaction, {len(moved)} moves")
    return Outcome(
        name=name, wait=wait, moved_bytes=sum(size for _, _, size in moved), moves=len(moved), back_and_forth=back
    )


def measurements(pace: Pace, major: int = MAJOR) -> list[Measurement]:
    """Run and report."""
    found = {outcome.name: outcome for outcome in run(pace, major)}
    best = found["hindsight"].wait
    table(
        f"shifting hot set, PostgreSQL {major}",
        ("strategy", "mean wait", "over hindsight", "moves", "moved", "within a cool-down"),
        [
            (o.name, f"{o.wait * 1000:.1f} ms", f"{o.wait / best:.2f}", str(o.moves), _mib(o), str(o.back_and_forth))
            for o in found.values()
        ],
    )  # fmt: skip
    ours = found["hotplace"]
    note = ", ".join(f"{o.name} {o.wait * 1000:.1f} ms, {_mib(o)}" for o in found.values())
    return [
        Measurement(name="lab.postgresql.shifting_wait_over_hindsight", value=ours.wait / best, unit="times",
                    better="lower", command=COMMAND, note=note),
        Measurement(name="lab.postgresql.shifting_back_and_forth", value=ours.back_and_forth, unit="moves",
                    better="lower", command=COMMAND,
                    note=f"within a cool-down; without guards {found['hasty'].back_and_forth}"),
    ]  # fmt: skip


def _mib(outcome: Outcome) -> str:
    return f"{outcome.moved_bytes / 2**20:,.0f} MiB"
