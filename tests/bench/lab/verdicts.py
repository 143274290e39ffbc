"""Experiment 12: moves with the load changed in their middle: is the verdict right where a plain comparison is wrong?

Three servers at the same time, each with one move that pins ask for, under a load of so many transactions a second that
goes up and down before the move. At the first statement of the move the load changes for good:

- helped: a hot table goes to the SSD, and transactions begin to read three times as much of the other tables;
- nothing: a table that is not read goes to the SSD, and the load doubles;
- hurt: a table that is read goes from the SSD to the disk, and the load falls.

The truth is measured, not assumed: after the verdict the tables are put back by hand, and the same load as after the
move goes on. The wait per transaction with the move over the wait without is what the move did.
"""

from __future__ import annotations

import itertools
import math
import threading
import time
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace

from agent.model.outcomes import Outcome, OutcomeVerdict
from agent.moving.effect import LEAST_CHANGE
from tests.bench.lab.figures import measure, table
from tests.bench.lab.hotplace import Hotplace, watching
from tests.bench.lab.load import Group, Script, Workload, start
from tests.bench.lab.pace import FULL, Pace
from tests.bench.lab.rig import MAJOR, Rig, hdd_of, running_rig
from tests.bench.lab.schema import Table
from tests.bench.measurement import Measurement

SCALE, ROWS = 0.125, 500_000  # whatever the pace says
NAMES = ("hot", "other", "unread")
HDD_ACCESS_SECONDS = 0.0081  # slower than usual: the disk is busy at rates that the processor does not feel
CLIENTS, STEP_SECONDS, SAMPLE_SECONDS = 12, 5.0, 1.0
BEFORE_STEPS, QUICK_STEPS = 16, 8
PATIENCE_SECONDS = 200.0  # until a verdict
POLICY = "half_life: 10min, minimum_history: 5s, cool_down: 1s, head_room: 0"
READ_AT_ONCE = "SELECT pg_stat_force_next_flush();\n"
COMMAND = "python -m tests.bench.lab verdicts"


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """So many transactions a second, each with look-ups in one of two tables."""

    rate: float
    hot_percent: int = 50
    reads_of_other: int = 1  # look-ups of a transaction that reads the other table


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One move, and what the load does meanwhile."""

    name: str
    placed: frozenset[str]  # tables that are on the SSD before the move
    wanted: frozenset[str]  # and that the pins want there
    before: tuple[Load, ...]  # in turn
    after: Load
    right: frozenset[OutcomeVerdict]


CASES = (
    Case(
        name="helped", placed=frozenset(), wanted=frozenset({"hot"}),
        before=(Load(rate=20), Load(rate=40), Load(rate=20), Load(rate=30)), after=Load(rate=23, reads_of_other=3),
        right=frozenset({OutcomeVerdict.HELPED}),
    ),
    Case(
        name="nothing", placed=frozenset(), wanted=frozenset({"unread"}),
        before=(Load(rate=18), Load(rate=18), Load(rate=18), Load(rate=45)), after=Load(rate=45),
        right=frozenset({OutcomeVerdict.NEUTRAL, OutcomeVerdict.CANNOT_TELL}),
    ),
    Case(
        name="hurt", placed=frozenset({"hot"}), wanted=frozenset(),
        before=tuple(Load(rate=rate, hot_percent=30) for rate in (100, 100, 35, 100)),
        after=Load(rate=35, hot_percent=30),
        right=frozenset({OutcomeVerdict.HURT}),
    ),
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A verdict next to the plain comparison and to the truth."""

    case: Case
    outcome: Outcome
    true_change: float  # of the wait per transaction, by the move alone

    @property
    def plain_change(self) -> float:
        """Of the wait per transaction from before to after."""
        return self.outcome.wait_per_transaction_after / self.outcome.wait_per_transaction_before - 1

    @property
    def plain_verdict(self) -> OutcomeVerdict:
        """What the plain figure says by the same margin."""
        if abs(self.plain_change) < LEAST_CHANGE:
            return OutcomeVerdict.NEUTRAL
        return OutcomeVerdict.HURT if self.plain_change > 0 else OutcomeVerdict.HELPED

    @property
    def right(self) -> bool:
        """Whether the verdict is."""
        return self.outcome.verdict in self.case.right

    @property
    def plain_right(self) -> bool:
        """Whether the plain one is."""
        return self.plain_verdict in self.case.right


def tables() -> tuple[Table, ...]:
    """All of one size."""
    return tuple(Table(name=name, rows=round(ROWS * SCALE)) for name in NAMES)


def workload(load: Load, made: Sequence[Table]) -> Workload:
    """Look-ups by key; what was read is reported after each transaction."""
    hot, other = made[:2]
    scripts = (
        _look_ups(hot, 1, load.hot_percent),
        _look_ups(other, load.reads_of_other, 100 - load.hot_percent),
    )
    return Workload(groups=(Group(scripts=scripts, clients=CLIENTS, rate=load.rate),))


def _look_ups(at: Table, count: int, weight: int) -> Script:
    one = f"\\set id random(1, {at.rows})\nSELECT n FROM {at.name} WHERE id = :id;\n"
    return Script(name=at.name, text=f"BEGIN;\n{one * count}END;\n{READ_AT_ONCE}", weight=weight)


def run(pace: Pace, cases: Sequence[Case] = CASES, *, major: int = MAJOR) -> list[Found]:
    """Every case at the same time, on a server and disks of its own: they are bound by the modelled disks."""
    small = replace(pace, scale=SCALE)
    steps = BEFORE_STEPS if pace is FULL else QUICK_STEPS
    with ThreadPoolExecutor(len(cases)) as side_by_side:
        return list(side_by_side.map(lambda case: _on_its_own(small, major, case, steps), cases))


def _on_its_own(pace: Pace, major: int, case: Case, steps: int) -> Found:
    made = tables()
    with running_rig(pace, major=major, hdd=replace(hdd_of(pace), access_seconds=HDD_ACCESS_SECONDS)) as rig:
        rig.fill(made)
        rig.place(_units(case.placed, made))
        outcome = _moved(rig, made, case, steps)
        with_move = _wait_of(rig, made, case.after, pace)
        rig.place(_units(case.placed, made))
        without = _wait_of(rig, made, case.after, pace)
    return Found(case=case, outcome=outcome, true_change=with_move / without - 1)


def _moved(rig: Rig, made: Sequence[Table], case: Case, steps: int) -> Outcome:
    """Watch, move and judge; the load changes with the first statement of the move."""
    on, off = _units(case.wanted, made), _units(frozenset(NAMES) - case.wanted, made)
    pins = [f"{{unit: {key}, pin: {pin}}}" for keys, pin in ((on, "must"), (off, "never")) for key in sorted(keys)]
    with (
        watching(
            rig, name=case.name, policy=POLICY, sample_seconds=SAMPLE_SECONDS, of_database=f"pins: [{', '.join(pins)}]"
        ) as agent,
        _clients(rig, made, case, agent),
    ):
        agent.observe(steps * STEP_SECONDS)
        agent.decide()
        return _verdict(agent)


def _verdict(agent: Hotplace) -> Outcome:
    """Look as the daemon does, until it can tell.

    Raises:
        AssertionError: there was no outcome within the time.
    """
    until = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < until:
        agent.observe(SAMPLE_SECONDS)
        if outcomes := agent.watch.verify():
            return outcomes[0]
    raise AssertionError("no outcome within the time")


@contextmanager
def _clients(rig: Rig, made: Sequence[Table], case: Case, agent: Hotplace) -> Iterator[None]:
    """The load in steps, until the end of the block: those before the move in turn, then that after it."""
    stop = threading.Event()

    def drive() -> None:
        loads = itertools.cycle(case.before)
        for seed in itertools.count(1):
            moving = bool(agent.events)
            clients = start(rig.server, rig.folder, workload(case.after if moving else next(loads), made), 600, seed)
            end = math.inf if moving else STEP_SECONDS
            while clients.elapsed() < end and bool(agent.events) == moving and not stop.wait(0.05):
                pass
            clients.stop()
            if stop.is_set():
                return

    driver = threading.Thread(target=drive, name=case.name)
    driver.start()
    try:
        yield
    finally:
        stop.set()
        driver.join()


def _wait_of(rig: Rig, made: Sequence[Table], load: Load, pace: Pace) -> float:
    """Seconds that a transaction waits for reads under that load on the present placement."""
    return measure(rig, f"{load.rate:g} a second", workload(load, made), pace, runs=1).runs[0].read_wait


def _units(names: Collection[str], made: Sequence[Table]) -> frozenset[str]:
    return frozenset(unit for each in made if each.name in names for unit in each.units)


def measurements(pace: Pace, major: int = MAJOR) -> list[Measurement]:
    """Run and report."""
    found = run(pace, major=major)
    columns = ("move", "truly", "measured", "90 % interval", "verdict", "plainly", "plain verdict", "after")
    table(f"verdicts, PostgreSQL {major} (wait for the same work, the load changed in mid-move)", columns,
          [_row(each) for each in found])  # fmt: skip
    said = "; ".join(
        f"{each.case.name}: truly {each.true_change:+.0%}, {each.outcome.verdict} {each.outcome.change:+.0%}, "
        f"plainly {each.plain_change:+.0%}"
        for each in found
    )
    errors = [abs(math.log1p(each.outcome.change) - math.log1p(each.true_change)) for each in found]
    return [
        Measurement(
            name="lab.verify.right", value=sum(each.right for each in found), unit=f"of {len(found)}", better="higher",
            command=COMMAND, note=f"verdicts on moves with the load changed in mid-move: {said}; PostgreSQL {major}",
        ),
        Measurement(
            name="lab.verify.plain_right", value=sum(each.plain_right for each in found), unit=f"of {len(found)}",
            better="higher", command=COMMAND,
            note=f"of the same moves, by wait per transaction before and after with the margin of {LEAST_CHANGE:.0%}",
        ),
        Measurement(
            name="lab.verify.error_max", value=max(errors), unit="of the logarithm", better="lower", command=COMMAND,
            note="of the change that was measured against the true one: the same load with the tables put back by hand",
        ),
    ]  # fmt: skip


def _row(each: Found) -> tuple[str, ...]:
    found = each.outcome
    return (
        each.case.name, f"{each.true_change:+.0%}", f"{found.change:+.0%}",
        f"{found.change_low:+.0%} to {found.change_high:+.0%}", str(found.verdict), f"{each.plain_change:+.0%}",
        str(each.plain_verdict), f"{found.window_seconds:.0f} s",
    )  # fmt: skip
