"""The agent killed with -9 and the server stopped at once in each statement of a split, while rows come and go.

Agent, proposal and approval are the program itself. A statement that takes a moment is held in its middle by a session
that has read the table; the one that reads the table takes seconds on the modelled disk. Afterwards the split is done,
ledger and catalog agree, no constraint is left, and every row that was ever written is there once.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Self

import psycopg

from agent.demo.load import SSD_SPACE
from agent.ledger.ledger import Ledger
from agent.ledger.rows import MoveRow
from agent.model.clock import SystemClock
from agent.model.states import MoveState
from tests.bench.lab.asking import hotplace
from tests.bench.lab.figures import say
from tests.bench.lab.hotplace import FULL_POLICY, write_config
from tests.bench.lab.pace import Pace
from tests.bench.lab.rig import Rig, hdd_of, running_rig
from tests.bench.lab.split.cases import CLEAR, KEY, TABLE, Case, cases
from tests.bench.lab.split.rows import newest, next_values, rows_lost
from tests.e2e.program import Shop, wait_until

ROWS, ROW_BYTES = 20_000, 240
SCALE = 0.05  # whatever the pace says: the buffer pool is far smaller than the table, so that reading it takes its time
READING_SECONDS = 4.0  # that the statement takes which reads the table once
PATIENT = "lock_timeout: 4min"  # a session that has held its lock for seconds is no obstacle
FAR = 1_000_000  # values ahead of the newest row: no row reaches it
PATIENCE_SECONDS = 120.0  # a split that was interrupted rests before it is tried again
DONE = frozenset({MoveState.PLACED, MoveState.SETTLING, MoveState.KEPT})
_RUNNING = """
SELECT count(*) FROM pg_stat_activity
 WHERE state = 'active' AND query LIKE '/* hotplace move%' AND query LIKE '%step ' || {step} || ' */%'
"""
_LEFT = "SELECT count(*) FROM pg_constraint WHERE conname LIKE 'hotplace%'"
_KIND = "SELECT relkind::text FROM pg_class WHERE oid = to_regclass('orders')"


class Step(StrEnum):
    """A statement of a split, by what it does."""

    CHECK = "refuses rows beyond the border"
    VALIDATE = "reads the table"
    SWITCH = "puts the partitioned table in its place"
    MOVE = "moves rows that are there"  # the only statement where the border lies among the rows

    @property
    def number(self) -> int:
        """Its place in the split."""
        return {Step.CHECK: 1, Step.VALIDATE: 2, Step.SWITCH: 3, Step.MOVE: 1}[self]


class Fault(StrEnum):
    """What happens in the middle of a statement."""

    AGENT_KILLED = "agent killed"
    SERVER_STOPPED = "server stopped"


@dataclass(frozen=True, slots=True, kw_only=True)
class Survived:
    """What one fault did."""

    fault: Fault
    step: Step
    lost: int  # rows
    agrees: bool  # ledger and catalog say that it is split, and no constraint is left
    written: int  # rows, meanwhile
    says: str  # the ledger's last word

    @property
    def good(self) -> bool:
        """Nothing lost and nothing wrong; rows were written."""
        return not self.lost and self.agrees and self.written > 0


class Writer:
    """Reads and writes rows in a thread of its own until it is stopped; comes back after the server was away."""

    def __init__(self, rig: Rig, case: Case) -> None:
        self._rig, self._case = rig, case
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._work, name="writer", daemon=True)
        self.written = 0  # rows that the server has confirmed

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ending.set()
        self._thread.join()

    def _work(self) -> None:
        while not self._ending.is_set():
            with suppress(psycopg.OperationalError), self._rig.session() as session:
                while not self._ending.wait(0.02):
                    (value,) = next_values(session, 1)
                    session.execute(self._case.insert.format(first=value, last=value).encode())
                    self.written += 1
                    session.execute(f"SELECT n FROM {TABLE} WHERE id = {random.randint(1, value)}".encode())
            self._ending.wait(0.2)


def run(pace: Pace, major: int, faults: tuple[tuple[Fault, Step], ...] = ()) -> list[Survived]:
    """Each fault in each statement, or those that are named."""
    case = cases(ROWS)["without growth"]  # rows are written here by ``Writer``
    pace = replace(pace, scale=SCALE)
    hdd = replace(hdd_of(pace), bytes_per_second=ROWS * ROW_BYTES / READING_SECONDS)
    with running_rig(pace, major=major, hdd=hdd) as rig:
        return [
            _survive(rig, case, fault, step) for fault, step in faults or [(f, step) for step in Step for f in Fault]
        ]


def _survive(rig: Rig, case: Case, fault: Fault, step: Step) -> Survived:
    rig.build((*CLEAR, *case.statements))
    name = f"{fault}_{step.name}".replace(" ", "_").lower()
    path = write_config(
        rig, name, FULL_POLICY, None, PATIENT, more="metrics: {enabled: false}",
        sample_seconds=1.0, plan_seconds=4.0,
    )  # fmt: skip
    shop = Shop(rig.server, path)
    with ExitStack() as stack:
        ledger = stack.enter_context(Ledger.open(path.with_suffix(".db"), SystemClock()))
        with rig.session() as session:
            border = newest(session) + (-ROWS // 10 if step is Step.MOVE else FAR)
        writer = stack.enter_context(Writer(rig, case))
        stored = hotplace(
            path, "split", KEY, "--column", case.column, "--border", str(border), "--to", SSD_SPACE, "--propose"
        )["proposal"]
        done = shop.hotplace("approve", str(stored["id"]), "--digest", stored["digest"])
        assert done.returncode == 0, done.stderr

        def move() -> MoveRow:
            (row,) = ledger.moves.rows(proposal_id=stored["id"])
            return row

        with shop.daemon() as daemon:
            with _held_in_its_middle(rig, step):
                if fault is Fault.AGENT_KILLED:
                    daemon.kill()
                    daemon.wait()
                else:
                    rig.server.stop("immediate")
                    rig.server.start()
            with shop.daemon() if fault is Fault.AGENT_KILLED else ExitStack():
                wait_until("the split", lambda: move().state in DONE, seconds=PATIENCE_SECONDS)
    found = Survived(
        fault=fault, step=step, lost=rows_lost(rig, case), agrees=_is_split(rig), written=writer.written,
        says=f"{move().state}: {move().reason}",
    )  # fmt: skip
    say(f"  {fault} while a statement {step}: {found.lost} rows lost, {found.written} written; {found.says}")
    return found


@contextmanager
def _held_in_its_middle(rig: Rig, step: Step) -> Iterator[None]:
    """Inside, that statement runs and cannot end, unless it is the one that reads the table: it takes its time."""
    holder = None
    try:
        if step is Step.SWITCH:
            _wait_for(rig, Step.VALIDATE)
        if step is not Step.VALIDATE:
            holder = _holder(rig)
        _wait_for(rig, step)
        yield
    finally:
        if holder is not None:
            holder.close()


def _holder(rig: Rig) -> psycopg.Connection:
    """A session that has read the table and whose transaction goes on."""
    session = psycopg.connect(rig.server.conninfo)
    session.execute(f"LOCK TABLE {TABLE} IN ACCESS SHARE MODE".encode())
    return session


def _wait_for(rig: Rig, step: Step) -> None:
    """Until that statement of the split runs."""
    with rig.session() as session:
        until, query = time.monotonic() + 60.0, _RUNNING.format(step=step.number).encode()
        while session.execute(query).fetchone() == (0,):
            assert time.monotonic() < until, f"no statement that {step} began within a minute"
            time.sleep(0.02)


def _is_split(rig: Rig) -> bool:
    with rig.session() as session:
        return (session.execute(_KIND).fetchone(), session.execute(_LEFT).fetchone()) == (("p",), (0,))
