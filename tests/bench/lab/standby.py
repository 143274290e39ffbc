"""Experiment 10: what sessions that use nothing that moves feel of moves, and how far a standby falls behind.

Sessions read a table that stays, at a steady rate; others keep the same hdd busy until a few seconds after the
approval. What moves is a large table that somebody has pinned, so nothing of it relieves the hdd. A standby streams all
the time. The moves are approved in the busy hour without limits and with them: with ``read_time_limit`` they begin once
reads of sessions take less.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from agent.demo.server import PrivateServer
from connectors.model.formatting import format_seconds
from tests.bench.lab.figures import say, table
from tests.bench.lab.headline import CLIENTS, look_up
from tests.bench.lab.hotplace import FULL_POLICY, watching
from tests.bench.lab.load import Figures, Group, Workload, start
from tests.bench.lab.pace import Pace
from tests.bench.lab.rig import MAJOR, LabUnavailable, Rig, running_rig
from tests.bench.lab.schema import Table
from tests.bench.measurement import Measurement

ROWS = 500_000  # of each table, at scale 1: a heap of 64 MB and an index of 11 MB
STEADY_PER_SECOND, BUSY_PER_SECOND = 15.0, 80.0  # look-ups: of those who are asked, and of others; the hdd can 184
BUSY_AFTER_SECONDS = 12.0  # the approval
CARRY_OUT_SECONDS = 90.0
READ_LIMIT, READ_ABORT, QUEUE_MIB = "15ms", "60ms", 64
LAG_LIMIT_SECONDS = 5.0
GOAL_RATIO = 1.5
COMMAND = "python -m tests.bench.lab standby"
STREAMS = {"wal_level": "replica", "max_wal_senders": "4", "wal_keep_size": "2GB"}
PINNED = {"large": "must", "stays": "never", "busy": "never"}
PINS = ", ".join(f"{{unit: 'public.{name}*', pin: {pin}}}" for name, pin in PINNED.items())
LAG = """
SELECT coalesce(max(extract(epoch FROM replay_lag)), 0)::float8,
       coalesce(max(pg_wal_lsn_diff(pg_current_wal_lsn(), replay_lsn)), 0)::float8
  FROM pg_stat_replication
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Felt:
    """What sessions that read the table that stays have felt, and the standby."""

    name: str
    before: Figures
    during: Figures  # from the approval until all is placed
    lag_seconds: float  # the longest that the standby told
    lag_bytes: float
    waited_seconds: float  # from the approval to the first statement
    moved_bytes: int
    placed: bool

    @property
    def p99_ratio(self) -> float:
        """The slowest hundredth of transactions during the moves, over that before them."""
        return self.during.p99 / self.before.p99


@contextmanager
def following(rig: Rig) -> Iterator[None]:
    """A standby that streams from the server of a rig, on the machine's own disk."""
    server = rig.server
    standby = PrivateServer(server.make_folder("standby"), server.installation)
    with rig.session() as dba:
        places = dba.execute(
            "SELECT pg_tablespace_location(oid) FROM pg_tablespace WHERE spcname ~ '_space$'"
        ).fetchall()
    mapped = [f"--tablespace-mapping={path}={standby.make_folder(path.rpartition('/')[2])}" for (path,) in places]
    rig.disk.switch(False)
    server.run(
        "pg_basebackup", "-D", str(standby.data), "-d", f"{server.conninfo} application_name=standby",
        "--write-recovery-conf", "--checkpoint=fast", "--no-sync", *mapped,
    )  # fmt: skip
    rig.disk.switch(True)
    with (standby.data / "postgresql.conf").open("a", encoding="utf-8") as settings:
        settings.write(f"unix_socket_directories = '{standby.folder}'\n")
    standby.start()
    try:
        yield
        if not _streams(rig):
            raise LabUnavailable(f"the standby has stopped streaming: {standby.last_words()}")
    finally:
        standby.stop("immediate")


def _streams(rig: Rig) -> bool:
    with rig.session() as dba:
        return dba.execute("SELECT 1 FROM pg_stat_replication WHERE state = 'streaming'").fetchone() is not None


class LagWatch:
    """Asks the primary ten times a second how far the standby is behind."""

    def __init__(self, rig: Rig) -> None:
        self._session = rig.session()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look, name="lag")
        self.seconds, self.bytes = 0.0, 0.0

    def __enter__(self) -> LagWatch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        self._session.close()

    def _look(self) -> None:
        while not self._ended.wait(0.1):
            row = self._session.execute(LAG).fetchone()
            if row is not None:
                self.seconds, self.bytes = max(self.seconds, row[0]), max(self.bytes, row[1])


def felt(rig: Rig, name: str, made: Sequence[Table], *, limited: bool) -> Felt:
    """Everything starts on the hdd; the moves are approved while it is busy."""
    rig.place(frozenset())
    pace, (busy_table, stays, _) = rig.pace, made
    until = pace.warm_seconds + pace.observe_seconds
    steady = Workload(groups=(Group(scripts=(look_up(stays, 1),), clients=2, rate=STEADY_PER_SECOND),))
    busy = Workload(
        groups=(Group(scripts=(look_up(busy_table, 1),), clients=CLIENTS, rate=BUSY_PER_SECOND, foreground=False),)
    )
    clients = start(rig.server, rig.folder, steady, until + CARRY_OUT_SECONDS + 10.0, seed=7)
    others = start(rig.server, rig.folder, busy, until + BUSY_AFTER_SECONDS, seed=8)
    limits = [f"read_time_limit: {READ_LIMIT}", f"read_time_abort: {READ_ABORT}"] if limited else []
    more = "\n    ".join([f"pins: [{PINS}]", *limits])
    queue = f"replica_queue_mib: {QUEUE_MIB}" if limited else ""
    try:
        with watching(rig, name=name, policy=FULL_POLICY, connection=queue, of_database=more) as agent:
            agent.observe(until)
            begin = clients.elapsed()
            with LagWatch(rig) as lag:
                _, rows = agent.decide(seconds=CARRY_OUT_SECONDS)
            end = clients.elapsed()
            steps = [step for row in rows for step in agent.ledger.moves.steps(row.id)]
            first = min((step.intended_at.timestamp() for step in steps), default=time.time())
            clients.sleep_until(end + 1.0)
            found = clients.read()
            return Felt(
                name=name, before=found.between(pace.warm_seconds, begin), during=found.between(begin, end),
                lag_seconds=lag.seconds, lag_bytes=lag.bytes, waited_seconds=first - clients.started - begin,
                moved_bytes=sum(row.move.size_bytes for row in rows), placed=bool(rows),
            )  # fmt: skip
    finally:
        others.stop()
        clients.stop()


def run(pace: Pace, *, major: int = MAJOR) -> tuple[Felt, Felt]:
    """Without limits, and with them."""
    rows = round(ROWS * pace.scale)
    made = [Table(name=name, rows=times * rows) for name, times in (("busy", 1), ("stays", 1), ("large", 3))]
    with running_rig(pace, major=major, settings=STREAMS) as rig:
        rig.fill(made)
        rig.give_ssd(rig.total_bytes())
        with following(rig):
            free = felt(rig, "free", made, limited=False)
            return free, felt(rig, "limited", made, limited=True)


def measurements(pace: Pace, major: int = MAJOR) -> list[Measurement]:
    """Run and report."""
    pace = replace(pace, observe_seconds=min(pace.observe_seconds, 15.0))
    free, limited = run(pace, major=major)
    columns = ("limits", "p99 before", "p99 during", "ratio", "waited", "standby behind", "placed")
    table(f"standby, PostgreSQL {major} (sessions that use nothing that moves)", columns, [_row(free), _row(limited)])
    say(f"  p99 {limited.p99_ratio:.2f} times that before (goal {GOAL_RATIO}), {free.p99_ratio:.2f} without limits")
    said = (
        f"sessions on a table that stays, PostgreSQL {major}; approved while the hdd is busy, which ends "
        f"{BUSY_AFTER_SECONDS:g} s later; read_time_limit {READ_LIMIT}, read_time_abort {READ_ABORT}"
    )
    return [
        Measurement(
            name="lab.postgresql.p99_during_moves_ratio", value=limited.p99_ratio, unit="ratio", better="lower",
            command=COMMAND,
            note=f"goal {GOAL_RATIO}; {free.p99_ratio:.2f} without limits; begun {limited.waited_seconds:.0f} s after "
                 f"the approval, {free.waited_seconds:.0f} s without limits; {said}",
        ),
        Measurement(
            name="lab.postgresql.replica_lag_seconds_max", value=limited.lag_seconds, unit="s", better="lower",
            command=COMMAND,
            note=f"limit {LAG_LIMIT_SECONDS:g} s; {free.lag_seconds:.2f} s without limits; most bytes behind "
                 f"{limited.lag_bytes / 2**20:.0f} MiB of {limited.moved_bytes / 2**20:.0f} MiB moved; "
                 f"replica_queue_mib {QUEUE_MIB}",
        ),
    ]  # fmt: skip


def _row(each: Felt) -> tuple[str, ...]:
    return (
        each.name, format_seconds(each.before.p99), format_seconds(each.during.p99), f"{each.p99_ratio:.2f}",
        format_seconds(each.waited_seconds), format_seconds(each.lag_seconds), str(each.placed),
    )  # fmt: skip
