"""Experiment 6: what sessions feel while moves run, and who gives way to whom.

Two ways of moving the indexes are compared: ``online`` (the default: built anew while everybody works on) and ``fast``
(copied under a lock). PostgreSQL cannot slow a copy down once it runs, so the route is the only throttle there is.
Tables have one route, a copy under an exclusive lock: the stall that it causes is held against how long it took.

Then a session holds the hot table in an open transaction, and the same move is tried: the wait for its lock ends by
``lock_timeout``, so nobody queues behind it longer than that, and the move comes back later. If the transaction is
older than that by then, as on a machine that plans for longer, it is seen: nothing is sent, and nobody queues at all.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from agent.ledger.rows import MoveRow
from connectors.model.formatting import format_seconds
from tests.bench.lab.figures import say, table
from tests.bench.lab.headline import SSD_SHARE, tables, workload
from tests.bench.lab.hotplace import FULL_POLICY, Hotplace, watching
from tests.bench.lab.load import Figures, Run, Workload, start
from tests.bench.lab.pace import Pace
from tests.bench.lab.rig import MAJOR, Rig, running_rig
from tests.bench.measurement import Measurement

LOCK_TIMEOUT_SECONDS = 0.5
OBSERVE_SECONDS = 15.0  # at most
HOLD_SECONDS = 4.0  # the long transaction, from the moment when the move starts
AFTER_SECONDS = 8.0  # at most
MOVE_LIMIT_SECONDS = 90.0
GOAL_OVER_COPY = 0.5
COMMAND = "python -m tests.bench.lab kindness"


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """Foreground figures around one run of the moves."""

    name: str
    before: Figures
    during: Figures
    after: Figures
    held: Figures  # the first seconds of ``during``, in which a long transaction stood in the way, if one did
    copy_seconds: float  # the longest statement that holds an exclusive lock, by the ledger's journal
    moves_seconds: float  # all statements
    tries: int  # of statements, beyond one for each move
    placed: bool

    @property
    def stall(self) -> float:
        """The longest that one transaction took, or that none ended."""
        return max(self.during.longest, self.during.stall)

    @property
    def over_copy(self) -> float:
        """How much longer the stall was than the copy that explains it."""
        return self.stall - self.copy_seconds


def moved(rig: Rig, work: Workload, name: str, connection: str = "", hold: bool = False) -> Moved:
    """Everything starts on the hdd; hotplace watches the load, and moves while it goes on."""
    rig.place(frozenset())
    pace = rig.pace
    until = pace.warm_seconds + min(pace.observe_seconds, OBSERVE_SECONDS)
    clients = start(rig.server, rig.folder, work, until + MOVE_LIMIT_SECONDS, seed=7)
    settings = f"lock_timeout: {round(LOCK_TIMEOUT_SECONDS * 1000)}ms" + (f", {connection}" if connection else "")
    try:
        with watching(rig, name=name, policy=FULL_POLICY, connection=settings) as agent:
            agent.observe(until)
            with _long_transaction(rig) if hold else _nobody():
                begin = clients.elapsed()
                _, rows = agent.decide()
                end = clients.elapsed()
            last = end + min(AFTER_SECONDS, pace.run_seconds)
            clients.sleep_until(last)
            return _judged(name, clients.read(), (pace.warm_seconds, begin, end, last), agent, rows)
    finally:
        clients.stop()


def _judged(
    name: str, run: Run, marks: tuple[float, float, float, float], agent: Hotplace, rows: tuple[MoveRow, ...]
) -> Moved:
    steps = [(row, step) for row in rows for step in agent.ledger.moves.steps(row.id)]
    took = [((step.ended_at or step.intended_at) - step.intended_at).total_seconds() for _, step in steps]
    locking = [seconds for seconds, (row, _) in zip(took, steps, strict=True) if not row.move.route.online]
    warm, begin, end, last = marks
    return Moved(
        name=name,
        before=run.between(warm, begin),
        during=run.between(begin, min(end + 1.0, last)),
        after=run.between(end + 1.0, last - 0.5),
        held=run.between(begin, begin + HOLD_SECONDS - 0.5),
        copy_seconds=max(locking, default=0.0),
        moves_seconds=sum(took),
        tries=len(steps) - len(rows),
        placed=bool(rows),
    )


@contextmanager
def _long_transaction(rig: Rig) -> Iterator[None]:
    """A session that has read the hot table and does not end its transaction for a while."""
    held = threading.Event()

    def hold() -> None:
        with rig.session() as session, session.transaction():
            session.execute("LOCK TABLE t0 IN ACCESS SHARE MODE")
            held.set()
            time.sleep(HOLD_SECONDS)

    holder = threading.Thread(target=hold, name="long transaction")
    holder.start()
    held.wait(10)
    try:
        yield
    finally:
        holder.join()


@contextmanager
def _nobody() -> Iterator[None]:
    yield


VARIANTS = {"online": "", "fast": "index_route: fast", "held": ""}  # held: by a long transaction


def run(pace: Pace, variants: Sequence[str] = tuple(VARIANTS), *, major: int = MAJOR) -> list[Moved]:
    """Both routes of an index, and the long transaction."""
    made = tables(pace)
    with running_rig(pace, major=major) as rig:
        rig.fill(made)
        rig.give_ssd(int(rig.total_bytes() * SSD_SHARE))
        work = workload(made)
        return [moved(rig, work, name, VARIANTS[name], hold=name == "held") for name in variants]


def measurements(pace: Pace, major: int = MAJOR) -> list[Measurement]:
    """Run and report."""
    found = run(pace, major=major)
    columns = ("moves", "before", "during", "after", "longest stall", "copy", "all moves", "given way")
    table(f"kindness, PostgreSQL {major} (foreground transactions/s)", columns, [_row(each) for each in found])
    free, held = found[:2], found[2]
    over = max(each.over_copy for each in free)
    queue, usual = held.held.longest, held.before.longest
    say(f"  stall over copy {over:.2f} s (goal {GOAL_OVER_COPY}); longest behind a waiting move {queue:.2f} s")
    routes = ", ".join(f"{each.name} {each.stall:.2f} s of a copy of {each.copy_seconds:.2f} s" for each in free)
    return [
        Measurement(
            name="lab.postgresql.stall_seconds_over_copy", value=over, unit="s", better="lower", command=COMMAND,
            note=f"goal {GOAL_OVER_COPY}; longest foreground stall: {routes}; PostgreSQL {major}",
        ),
        Measurement(
            name="lab.postgresql.lock_queue_seconds", value=queue, unit="s", better="lower", command=COMMAND,
            note=f"longest transaction while a long one kept the move from its lock; goal lock_timeout "
                 f"{LOCK_TIMEOUT_SECONDS} s + {usual:.2f} s as the longest before; gave way {held.tries} times, placed "
                 "once the long transaction had ended",
        ),
    ]  # fmt: skip


def _row(each: Moved) -> tuple[str, ...]:
    return (
        each.name, f"{each.before.per_second:,.0f}", f"{each.during.per_second:,.0f}", f"{each.after.per_second:,.0f}",
        format_seconds(each.stall), format_seconds(each.copy_seconds), format_seconds(each.moves_seconds),
        str(each.tries),
    )  # fmt: skip
