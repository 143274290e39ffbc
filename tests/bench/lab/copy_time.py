"""How long copies take against what the product said they would: tables and indexes of three sizes, there and back.

Pins make hotplace propose the moves; nothing else is arranged. What a move was predicted to take is what its stored
proposal says; what it took is the ledger's journal, statement by statement. Once on idle disks and once while eight
sessions read at random from two other tables on the hdd, each with a new ledger. Then a table that all of these
sessions read is moved under its exclusive lock: the stall that was announced is held against the longest time in which
no transaction ended.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from agent.ledger.rows import MoveRow
from agent.model.states import MoveState
from connectors.model.formatting import format_bytes, format_seconds
from policies.model.settings import Pin
from tests.bench.lab.figures import say, table
from tests.bench.lab.headline import look_up
from tests.bench.lab.hotplace import ORIGIN, USUAL_POLICY, WHO, Hotplace, watching
from tests.bench.lab.load import Clients, Group, Workload, start
from tests.bench.lab.pace import Pace
from tests.bench.lab.rig import MAJOR, Rig, running_rig
from tests.bench.lab.schema import Table
from tests.bench.measurement import Measurement

GOAL = 2.0
CLIENTS = 8
LOAD_SECONDS = 150.0  # at most; it is stopped before
PLANS = 3  # at most for one direction: what comes after a move that stayed behind is planned again
IDLE_SECONDS = 3.0  # of samples before anything is moved on idle disks
POLICY = USUAL_POLICY.replace("cool_down: 10min", "cool_down: 0s") + "head_room: 0"
COMMAND = "python -m tests.bench.lab copy_time"


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed:
    """One move: said and measured."""

    when: str
    move: MoveRow
    seconds: float  # of its statements, by the journal

    @property
    def factor(self) -> float:
        """How many times too long or too short the prediction was, 1 or more."""
        said = max(self.move.move.copy_seconds, 1e-9)
        return max(said / self.seconds, self.seconds / said)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stalled:
    """The locked move of the table that all sessions read."""

    said: float
    held: float  # by the journal
    felt: float  # the longest in which no transaction ended


def tables(pace: Pace) -> tuple[Table, ...]:
    """Two that are read, and three that are moved."""
    sizes = {"hot": 300_000, "warm": 150_000, "large": 600_000, "medium": 150_000, "small": 40_000}
    return tuple(Table(name=name, rows=round(rows * pace.scale)) for name, rows in sizes.items())


def run(pace: Pace, *, major: int = MAJOR) -> tuple[list[Timed], Stalled]:
    """Both rounds, and the stall."""
    made = tables(pace)
    (hot, warm), moved = made[:2], made[2:]
    units = [unit for each in moved for unit in each.units]
    with running_rig(pace, major=major) as rig:
        rig.fill(made)
        with watching(rig, name="idle", policy=POLICY) as agent:
            agent.observe(IDLE_SECONDS)
            timed = there_and_back(agent, "idle", units)
        work = Workload(groups=(Group(scripts=(look_up(hot, 2), look_up(warm, 1)), clients=CLIENTS),))
        with watching(rig, name="busy", policy=POLICY) as agent, load(rig, work) as clients:
            # Held on the hdd: hot as they are, plans would bring them along.
            pin(agent, (*hot.units, *warm.units), Pin.NEVER)
            agent.observe(pace.observe_seconds)
            timed += there_and_back(agent, "busy", units)
            stalled = _stall(agent, clients, hot)
        return timed, stalled


@contextmanager
def load(rig: Rig, work: Workload, seconds: float = LOAD_SECONDS) -> Iterator[Clients]:
    """Run it for so long at most."""
    clients = start(rig.server, rig.folder, work, seconds, seed=11)
    try:
        yield clients
    finally:
        clients.stop()


def there_and_back(agent: Hotplace, when: str, units: Iterable[str]) -> list[Timed]:
    """Up by one plan, down by another."""
    listed = list(units)
    timed = []
    for where, name in ((Pin.MUST, "to ssd"), (Pin.NEVER, "to hdd")):
        pin(agent, listed, where)
        for _ in range(PLANS):
            rows = _moved(agent)
            timed += [_timed(agent, f"{when}, {name}", row) for row in rows if row.state is MoveState.PLACED]
            if not rows:
                break
    return timed


def _moved(agent: Hotplace) -> tuple[MoveRow, ...]:
    return agent.decide(strict=False)[1]


def _timed(agent: Hotplace, when: str, row: MoveRow) -> Timed:
    steps = agent.ledger.moves.steps(row.id)
    took = sum(((step.ended_at or step.intended_at) - step.intended_at).total_seconds() for step in steps)
    return Timed(when=when, move=row, seconds=took)


def _stall(agent: Hotplace, clients: Clients, hot: Table) -> Stalled:
    pin(agent, hot.units[:1], Pin.MUST)
    begin = clients.elapsed()
    row = next(row for row in _moved(agent) if row.move.key == hot.units[0])
    end = clients.elapsed()
    clients.sleep_until(end + 2.0)
    held = _timed(agent, "stall", row)
    return Stalled(said=row.move.copy_seconds, held=held.seconds, felt=clients.read().between(begin, end + 1.0).stall)


def pin(agent: Hotplace, units: Iterable[str], where: Pin) -> None:
    """Let the next plan take them there."""
    for unit in units:
        name = agent.config.database().name
        agent.ledger.pins.pin(name, unit, where, who=WHO, reason=ORIGIN)


def measurements(pace: Pace, major: int = MAJOR) -> list[Measurement]:
    """Run and report."""
    timed, stalled = run(pace, major=major)
    columns = ("when", "unit", "size", "route", "said", "measured", "factor")
    table(f"time of copies, PostgreSQL {major}", columns, [_row(each) for each in timed])
    worst = max(timed, key=lambda each: each.factor)
    say(f"  stall: said {stalled.said:.2f} s, lock held {stalled.held:.2f} s, felt {stalled.felt:.2f} s")
    by_round = {when: max(each.factor for each in timed if each.when.startswith(when)) for when in ("idle", "busy")}
    stall = max(stalled.said / stalled.felt, stalled.felt / stalled.said)
    return [
        Measurement(
            name="lab.postgresql.copy_time_factor_max", value=max(worst.factor, stall), unit="times", better="lower",
            command=COMMAND,
            note=f"goal {GOAL:g}; {len(timed)} moves; worst idle {by_round['idle']:.2f}, busy {by_round['busy']:.2f} "
                 f"({worst.move.move.key} by {worst.move.move.route.name}), stall {stall:.2f}; PostgreSQL {major}",
        ),
        Measurement(
            name="lab.postgresql.stall_said_seconds", value=stalled.said, unit="s", better="lower", command=COMMAND,
            note=f"lock held {stalled.held:.2f} s, no transaction ended for {stalled.felt:.2f} s",
        ),
    ]  # fmt: skip


def _row(each: Timed) -> tuple[str, ...]:
    move = each.move.move
    return (
        each.when, move.key, format_bytes(move.size_bytes), move.route.name, format_seconds(move.copy_seconds),
        format_seconds(each.seconds), f"{each.factor:.2f}",
    )  # fmt: skip
