"""Experiment 7: what goes wrong in the middle of a move, for real, and whether anything is lost.

The SSD is full midway (ENOSPC), it breaks midway (EIO), the agent is killed with -9 midway, the server is, the backend
that copies is terminated, the server is stopped at once (rebuilds: ``tests/labs/test_crash_points.py``). Afterwards
every table holds what it held, the ledger agrees with the catalog, and the move is done at last where it can be.

Agent and approval are the program itself: ``hotplace run`` and ``hotplace approve``, as a site has them. The hdd is
slowed down so that a copy lasts a few seconds, or nothing could be killed in its middle.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from agent.demo.load import SSD_SPACE
from agent.ledger.ledger import Ledger
from agent.ledger.rows import MoveRow, ProposalRow
from agent.model.clock import SystemClock
from agent.model.states import ACTIONABLE, MoveState, ProposalState
from tests.bench.lab.figures import say, table
from tests.bench.lab.headline import tables, workload
from tests.bench.lab.hotplace import FULL_POLICY, write_config
from tests.bench.lab.load import start
from tests.bench.lab.pace import Pace
from tests.bench.lab.rig import MAJOR, Rig, hdd_of, running_rig
from tests.bench.measurement import Measurement
from tests.e2e.program import Shop, wait_until

HOT = "public.t0"
COPY_SECONDS = 2.0  # about, of the hot table
LOAD_LIMIT_SECONDS = 120.0
RETRIES = 5
PLAN_SECONDS = 4.0  # longer than it takes to read a proposal and approve it by the command, on a busy machine too
DONE = frozenset({MoveState.PLACED, MoveState.SETTLING, MoveState.KEPT})
FAILED = frozenset({MoveState.FAILED})
POLICY = FULL_POLICY.replace("minimum_history: 5s", "minimum_history: 2s")
POLICY = POLICY.replace("cool_down: 10min", "cool_down: 1s")  # for which a move that failed rests too
COMMAND = "python -m tests.bench.lab faults"
_CONTENTS = "SELECT count(*), sum(n), sum(hashtext(filler)) FROM {}"
_HELD = """
SELECT coalesce(sum(pg_relation_size(c.oid)), 0)
  FROM pg_class AS c JOIN pg_tablespace AS t ON t.oid = c.reltablespace WHERE t.spcname = %s
"""
_COPYING = "SELECT pid FROM pg_stat_activity WHERE query LIKE '%% SET TABLESPACE %%' AND pid <> pg_backend_pid()"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What one fault did.

    After a crash PostgreSQL leaves the file that it was writing, and names it to nobody: that is reported, and not held
    against the agent.
    """

    fault: str
    lost: bool  # a table does not hold what it held
    agrees: bool  # ledger and catalog say the same of the hot table
    reached: bool  # the hot table is on the SSD at last, or stays for the reason that the fault is
    left_behind: int  # bytes on the SSD that belong to no relation
    crashed: bool  # the server
    says: str  # the ledger's last word about the move

    @property
    def good(self) -> bool:
        """Nothing lost, nothing wrong, nothing left behind."""
        return not self.lost and self.agrees and self.reached and (self.crashed or not self.left_behind)


class Site:
    """One agent program on the rig, and the load that makes the table hot."""

    def __init__(self, rig: Rig, name: str, config_bytes: int | None, retries: int, stack: ExitStack) -> None:
        self.rig = rig
        path = write_config(
            rig, name, POLICY, config_bytes, "lock_timeout: 2s", more="metrics: {enabled: false}", sample_seconds=1.0,
            plan_seconds=PLAN_SECONDS, retries=retries,
        )  # fmt: skip
        self.name = name
        self.shop = Shop(rig.server, path)
        self.ledger = stack.enter_context(Ledger.open(path.with_suffix(".db"), SystemClock()))
        self.before = self.contents()
        made = tables(rig.pace)
        self.clients = start(rig.server, rig.folder, workload(made), LOAD_LIMIT_SECONDS, seed=5)
        stack.callback(self.clients.stop)

    def contents(self) -> list[tuple[object, ...]]:
        """A checksum of every table."""
        self.rig.disk.switch(False)
        try:
            with self.rig.session() as session:
                return [
                    session.execute(_CONTENTS.format(t.name).encode()).fetchone() or () for t in tables(self.rig.pace)
                ]
        finally:
            self.rig.disk.switch(True)

    def approve(self, newer_than: int = 0, *, last: bool = True) -> int:
        """Approve the hot table's move by its digest, once one is proposed; its number. The last ends the load.

        While its heat is young the table's key may be proposed alone.
        """

        def offered() -> ProposalRow | None:
            rows = self.ledger.proposals.rows(database=self.name, states={ProposalState.PROPOSED})
            hot = (row for row in rows if any(move.key == HOT for move in row.proposal.moves))
            return next((row for row in hot if row.id > newer_than), None)

        for _ in range(10):  # a newer one may take its place in between
            proposal = wait_until(f"a proposal that moves {HOT}", offered)
            done = self.shop.hotplace("approve", str(proposal.id), "--digest", proposal.digest)
            if done.returncode == 0:
                if last:
                    self.clients.stop()
                return int(proposal.id)
        raise AssertionError(f"no proposal could be approved: {done.stderr}")

    def wait_for_copy(self) -> int:
        """Until the hot table's copy is well under way; the backend that copies."""

        def copying() -> int:
            with self.rig.session() as session:
                row = session.execute(_COPYING).fetchone()
            return int(row[0]) if row and self.rig.disk.counters()["ssd"].write_bytes > written + 2**20 else 0

        written = self.rig.disk.counters()["ssd"].write_bytes
        return int(wait_until("a copy under way", copying))

    def hot_move(self) -> MoveRow | None:
        """The newest move of the hot table, by the ledger."""
        rows = [row for row in self.ledger.moves.rows(database=self.name) if row.move.key == HOT]
        return max(rows, key=lambda row: row.id, default=None)

    def wait_for(self, states: frozenset[MoveState]) -> MoveRow:
        """Until the hot table's newest move is in one of these states."""

        def there() -> MoveRow | None:
            row = self.hot_move()
            return row if row is not None and row.state in states else None

        row: MoveRow = wait_until(f"the move of {HOT} in {', '.join(sorted(states))}", there)
        return row

    def finding(self, fault: str, *, stays: bool = False, crashed: bool = False) -> Finding:
        """Once all approved moves are through, compare everything with everything."""
        wait_until("the end of all moves", lambda: not self.ledger.moves.rows(database=self.name, states=ACTIONABLE))
        move, home = self.hot_move(), HOT in self.rig.on_ssd()
        assert move is not None, "a fault is judged once there was a move"
        with self.rig.session() as session:
            session.execute("CHECKPOINT")  # unlinks what was left of moved files
        files = (path for path in (self.rig.server.folder / "ssd").rglob("*") if path.is_file())
        used = sum(path.stat().st_size for path in files if _main_file(path.name))
        with self.rig.session() as session:
            row = session.execute(_HELD, (SSD_SPACE,)).fetchone()
        held = int(row[0]) if row else 0
        return Finding(
            fault=fault, lost=self.contents() != self.before, agrees=(move.state in DONE) == home,
            reached=home is not stays, left_behind=used - held, crashed=crashed, says=f"{move.state}: {move.reason}",
        )  # fmt: skip


def _main_file(name: str) -> bool:
    """A relation's own file: not its map of free space or of what is visible, no folder, no version file."""
    return name.split(".")[0].isdigit() and not name.endswith("_fsm")


def full(rig: Rig) -> Finding:
    """The SSD has a third of the room that the configuration believes."""
    believed = rig.total_bytes() // 6
    rig.give_ssd(believed // 3)
    with ExitStack() as stack:
        site = Site(rig, "full", believed, 1, stack)
        stack.enter_context(site.shop.daemon())
        site.approve()
        site.wait_for(FAILED)
        return site.finding("SSD full midway", stays=True)


def broken(rig: Rig) -> Finding:
    """The SSD refuses to write midway; once it is mended, the next proposal succeeds."""
    with ExitStack() as stack:
        site = Site(rig, "broken", None, 1, stack)
        rig.disk.break_writes("ssd", after_bytes=2 * 2**20)
        stack.callback(rig.disk.mend, "ssd")
        stack.enter_context(site.shop.daemon())
        number = site.approve(last=False)
        first = site.wait_for(FAILED).reason
        lost = site.contents() != site.before
        rig.disk.mend("ssd")
        site.approve(newer_than=number)
        site.wait_for(DONE)
        found = site.finding("SSD breaks midway")
    return replace(found, lost=found.lost or lost, says=f"failed: {first}; then {found.says}")


def agent_killed(rig: Rig) -> Finding:
    """Kill -9 of the agent while the server copies; a new one finds out what became of it."""
    with ExitStack() as stack:
        site = Site(rig, "agent", None, RETRIES, stack)
        with site.shop.daemon() as daemon:
            site.approve()
            site.wait_for_copy()
            daemon.kill()
        stack.enter_context(site.shop.daemon())
        site.wait_for(DONE)
        return site.finding("agent killed midway")


def server_killed(rig: Rig) -> Finding:
    """Kill -9 of every process of the server while it copies; the agent lives through it and goes on."""
    with ExitStack() as stack:
        site = Site(rig, "server", None, RETRIES, stack)
        stack.enter_context(site.shop.daemon())
        site.approve()
        site.wait_for_copy()
        _kill_server(rig)
        rig.server.start()
        site.wait_for(DONE)
        return site.finding("server killed midway", crashed=True)


def backend_terminated(rig: Rig) -> Finding:
    """A DBA ends the backend that copies; the agent reads the catalog and tries again."""
    with ExitStack() as stack:
        site = Site(rig, "backend", None, RETRIES, stack)
        stack.enter_context(site.shop.daemon())
        site.approve()
        pid = site.wait_for_copy()
        with rig.session() as session:
            session.execute("SELECT pg_terminate_backend(%s)", (pid,))
        site.wait_for(DONE)
        return site.finding("backend terminated midway")


def server_stopped(rig: Rig) -> Finding:
    """The server is stopped at once while it copies, and started again; the agent lives through it and goes on."""
    with ExitStack() as stack:
        site = Site(rig, "stopped", None, RETRIES, stack)
        stack.enter_context(site.shop.daemon())
        site.approve()
        site.wait_for_copy()
        rig.server.stop("immediate")
        rig.server.start()
        site.wait_for(DONE)
        return site.finding("server stopped midway", crashed=True)


def _kill_server(rig: Rig) -> None:
    """The postmaster first, so that it tidies nothing, then its children; back when all are gone."""
    postmaster = int((rig.server.data / "postmaster.pid").read_text().split()[0])
    listed = subprocess.run(["ps", "-o", "pid=", "--ppid", str(postmaster)], capture_output=True, text=True, check=True)
    pids = [postmaster, *map(int, listed.stdout.split())]
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    wait_until("the end of the server's processes", lambda: not any(_alive(pid) for pid in pids))
    for lock in (rig.server.data / "postmaster.pid", *rig.server.folder.glob(".s.PGSQL.*")):
        lock.unlink(missing_ok=True)  # names a process that some systems never collect


def _alive(pid: int) -> bool:
    """Whether a process still holds anything: one that waits to be collected by its parent does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


Fault = Callable[[Rig], Finding]
FAULTS: tuple[Fault, ...] = (full, broken, agent_killed, server_killed, backend_terminated, server_stopped)


def run(pace: Pace, faults: Sequence[Fault] = FAULTS, *, major: int = MAJOR) -> list[Finding]:
    """Every fault, each from a fresh start on the same tables."""
    found = list[Finding]()
    crashed_bytes = 0  # that the server left in earlier faults, when it crashed: no later one is to blame for them
    made = tables(pace)
    bandwidth = made[0].rows * 128 / COPY_SECONDS
    with running_rig(pace, major=major, hdd=replace(hdd_of(pace), bytes_per_second=bandwidth)) as rig:
        rig.fill(made)
        for fault in faults:
            started = time.monotonic()
            rig.place(frozenset())
            rig.give_ssd(rig.total_bytes() // 6)
            seen = fault(rig)
            found.append(replace(seen, left_behind=seen.left_behind - crashed_bytes))
            crashed_bytes = seen.left_behind
            say(f"  {found[-1].fault}: {time.monotonic() - started:.0f} s; {found[-1].says}")
    return found


def measurements(pace: Pace, major: int = MAJOR) -> list[Measurement]:
    """Run and report."""
    found = run(pace, major=major)
    table(
        f"faults, PostgreSQL {major}", ("fault", "data lost", "ledger agrees", "ended well", "bytes left behind"),
        [(f.fault, *("yes" if x else "no" for x in (f.lost, f.agrees, f.reached)), str(f.left_behind)) for f in found],
    )  # fmt: skip
    bad = [f.fault for f in found if not f.good]
    return [
        Measurement(
            name="lab.postgresql.faults_survived", value=len(found) - len(bad), unit=f"of {len(found)}",
            better="higher", command=COMMAND,
            note=f"{', '.join(f.fault for f in found)}; not well: {', '.join(bad) or 'none'}",
        )
    ]  # fmt: skip
