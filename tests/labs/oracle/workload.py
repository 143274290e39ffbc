"""What is counted, and the levers that tests pull: work that shows in the counters of segments, files and instances."""

from __future__ import annotations

import threading
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from connectors.model.observation import I64
from tests.labs.oracle.cache.buffers import block_keys
from tests.labs.oracle.cached_work import CachedWork
from tests.labs.oracle.model import BEHIND, STARTED, LoadSession, Quirks, Segment, Tablespace
from tests.labs.oracle.redo import Destination, Redo
from tests.labs.oracle.statements import Statement
from tests.labs.oracle.views.licensed import Snapshot

READ_MICROSECONDS, SCAN_MICROSECONDS = 5000, 20_000  # of a block alone, and of a multiblock read
SCAN_BLOCKS = 128  # multiblock reads of 1 MB
LOOKUP_MICROSECONDS = 50  # of a processor, for a look-up
SWITCH_MICROSECONDS = 50  # from the end of a log write until its session runs again


class Workload(CachedWork):
    """The counters of all instances. Guarded by ``lock``: sessions are threads."""

    def __init__(self, quirks: Quirks) -> None:
        super().__init__(quirks)
        self.quirks = quirks
        self.lock = threading.RLock()
        self.changed = threading.Condition(self.lock)
        self.generation = 0  # rises with every change, so that answers may be kept
        self.started = [STARTED] * quirks.instances
        self.parameters: dict[str, str] = {}
        self.tablespaces: dict[str, Tablespace] = {}
        self.dead: list[tuple[int, Segment]] = []  # tablespace number and segment of entries that linger
        self.statistics = [Counter[str]() for _ in range(quirks.instances)]  # V$SYSSTAT
        self.load_sessions: list[LoadSession] = []  # whose SIDs begin at 5,000
        self.snapshots: list[Snapshot] = []
        self._last: list[dict[tuple[int, int], Counter[str]]] = [{} for _ in range(quirks.instances)]
        self.sorted = [Counter[str]() for _ in range(quirks.instances)]  # V$TEMPSTAT
        self.events = [Counter[str]() for _ in range(quirks.instances)]  # V$SYSTEM_EVENT: waits, and microseconds

        self.redo = Redo(destinations=[Destination(2 + number) for number in range(quirks.standbys)])
        self.flushed: set[int] = set()  # data objects; what statements have made lies in the cache until a flush
        self.remembered: list[dict[str, Statement]] = [{} for _ in range(quirks.instances)]  # V$SQLSTATS, by text

    def touch(self) -> None:
        """Say that something changed. The lock is held."""
        self.generation += 1
        self.changed.notify_all()

    def bury(self, segment: Segment) -> None:
        """Its entry in V$SEGSTAT lingers under the old DATAOBJ#."""
        if self.quirks.dead_entries and segment.touched and segment.tablespace in self.tablespaces:
            last = Segment(
                segment.object_id, segment.data_object_id, segment.owner, segment.name, segment.kind,
                segment.tablespace, segment.bytes, segment.part, counters=[Counter(c) for c in segment.counters],
            )  # fmt: skip
            self.dead.append((self.tablespaces[segment.tablespace].number, last))

    def read_randomly(
        self, segment: Segment, reads: int, *, instance: int = 1, microseconds: int = 5000, by: str = ""
    ) -> None:
        """Single-block reads that sessions waited for; ``by``: the statement that does one in each execution."""
        with self.changed:
            self.bring_in_any(segment, reads, instance)
            self._count_reads(segment, reads, instance, microseconds)
            if by:
                waited, work = reads * microseconds, reads * LOOKUP_MICROSECONDS
                self._remember(by, segment.owner, instance, {
                    "EXECUTIONS": reads, "ELAPSED_TIME": waited + work, "CPU_TIME": work, "USER_IO_WAIT_TIME": waited,
                    "DISK_READS": reads, "BUFFER_GETS": 3 * reads, "ROWS_PROCESSED": reads,
                    "PHYSICAL_READ_REQUESTS": reads,
                })  # fmt: skip
            self.touch()

    def _count_reads(self, segment: Segment, reads: int, instance: int, microseconds: int) -> None:
        self.count(segment, instance, {"logical reads": 3 * reads, "physical reads": reads})
        self.count(segment, instance, {"physical read requests": reads})
        self._wait(segment, instance, "db file sequential read", reads, reads, reads * microseconds)

    def look_up(self, segment: Segment, blocks: I64, *, instance: int = 1, microseconds: int = 5000) -> int:
        """Rows in these blocks, one after the other (numbers within the segment); how many blocks had to be read."""
        with self.changed:
            missed = self.bring_in(segment, blocks, instance)
            hits = len(blocks) - missed
            self._count_reads(segment, missed, instance, microseconds)
            self.count(segment, instance, {"logical reads": hits})
            self.statistics[instance - 1]["session logical reads"] += hits
            self.touch()
        return missed

    def flush_cache(self) -> None:
        """ALTER SYSTEM FLUSH BUFFER_CACHE, in every instance."""
        with self.changed:
            for cache in self.caches:
                cache.clear()
            self.flushed = {segment.data_object_id for segment in self.segments()}
            self.touch()

    def visit(self, segment: Segment, blocks: I64, own: Counter[str], *, scanned: bool, instance: int) -> None:
        """Blocks that a query needs: what a flush has left out of the cache is read, and waited for by its session.

        Args:
            segment: theirs; nothing happens where it was not flushed.
            blocks: in the order in which they are needed.
            own: what the session counts.
            scanned: up to SCAN_BLOCKS with one call, else one by one.
            instance: of the session.
        """
        missed = self.bring_in(segment, blocks, instance) if segment.data_object_id in self.flushed else 0
        if not missed:
            return
        calls = -(-missed // SCAN_BLOCKS) if scanned else missed
        event = "db file scattered read" if scanned else "db file sequential read"
        micro = calls * (SCAN_MICROSECONDS if scanned else READ_MICROSECONDS)
        self.count(segment, instance, {"physical reads": missed, "physical read requests": calls})
        self._wait(segment, instance, event, calls, missed, micro)
        own.update({"physical reads": missed, event: calls, f"{event}/us": micro})

    def change_blocks(self, segment: Segment, blocks: I64, *, instance: int = 1) -> None:
        """Rows in these blocks are changed; the database writer comes later."""
        with self.changed:
            self.look_up(segment, blocks, instance=instance)
            held = set(self.caches[instance - 1].contents()[3].tolist())
            changed = set(block_keys(segment.data_object_id, blocks).tolist())
            self.caches[instance - 1].dirty |= changed & held
            self.count(segment, instance, {"db block changes": len(blocks)})

    def make_copies(self, segment: Segment, blocks: I64, *, instance: int = 1) -> None:
        """Older versions of blocks in the cache, for queries that began before a change."""
        with self.changed:
            self.caches[instance - 1].copy(block_keys(segment.data_object_id, np.unique(blocks)).tolist())
            self.touch()

    def checkpoint(self) -> None:
        """ALTER SYSTEM CHECKPOINT: no block is dirty; what is written is counted by ``write``."""
        with self.changed:
            for cache in self.caches:
                cache.dirty.clear()
            self.touch()

    def run(self, text: str, counted: dict[str, int], *, owner: str = "APP", plan: int = 1, instance: int = 1) -> None:
        """Executions of a statement by some plan; ``counted`` by column of V$SQLSTATS. No segment counts anything."""
        with self.changed:
            self._remember(text, owner, instance, counted, plan)
            self.touch()

    def _remember(self, text: str, owner: str, instance: int, counted: dict[str, int], plan: int = 1) -> None:
        now = datetime.now(UTC).replace(tzinfo=None, microsecond=0)
        known = self.remembered[instance - 1]
        statement = known.setdefault(text, Statement(text, owner, plan, now, now))
        statement.plan, statement.last_active = plan, now
        statement.counters.update(counted)

    def set_redo(self, **changes: int | None) -> None:
        """Change fields of ``Redo``."""
        with self.changed:
            for field, value in changes.items():
                setattr(self.redo, field, value)
            self.touch()

    def set_destination(self, number: int, **changes: Any) -> None:
        """Change fields of a ``Destination``: of LOG_ARCHIVE_DEST_n."""
        with self.changed:
            (chosen,) = (to for to in self.redo.destinations if to.number == number)
            for field, value in changes.items():
                setattr(chosen, field, value)
            self.touch()

    def age_out(self, text: str = "") -> None:
        """A statement leaves every instance's memory with its counters, or all do: ALTER SYSTEM FLUSH SHARED_POOL."""
        with self.changed:
            for known in self.remembered:
                for each in [text] if text else list(known):
                    known.pop(each, None)
            self.touch()

    def read_cached(self, segment: Segment, reads: int, *, instance: int = 1) -> None:
        """Reads that the buffer cache answered."""
        with self.changed:
            self.count(segment, instance, {"logical reads": reads})
            self.statistics[instance - 1]["session logical reads"] += reads
            self.touch()

    def read_behind(self, tablespace: str, reads: int, *, instance: int = 1, microseconds: int = 5000) -> None:
        """Single-block reads of background processes: no session waits for them, and the file counts them."""
        with self.changed:
            at, micro = instance - 1, reads * microseconds
            event = f"db file sequential read{BEHIND}"
            self.events[at].update({event: reads, f"{event}/us": micro})
            self.statistics[at].update({"physical reads": reads, "physical reads cache": reads})
            file = self.tablespaces[tablespace].files[0].counters[at]
            file.update({"PHYRDS": reads, "PHYBLKRD": reads, "READTIM": micro // 10_000})
            self._count_single(file, reads, micro)
            self.touch()

    def read_lob(self, segment: Segment, reads: int, *, instance: int = 1, microseconds: int = 5000) -> None:
        """Out-of-line values of a LOB with NOCACHE: blocks read past the buffer cache, one by one."""
        with self.changed:
            counts = {"logical reads": reads, "physical reads": reads, "physical reads direct": reads}
            self.count(segment, instance, {**counts, "physical read requests": reads})
            self._wait(segment, instance, "direct path read", reads, reads, reads * microseconds)
            self.touch()

    def scan(self, segment: Segment, *, direct: bool = False, instance: int = 1, microseconds: int = 20_000) -> None:
        """A full scan in multiblock reads, through the buffer cache or past it."""
        with self.changed:
            blocks = segment.blocks
            requests = -(-blocks // SCAN_BLOCKS)
            counts = {"logical reads": blocks, "physical reads": blocks, "physical read requests": requests}
            if direct:
                counts["physical reads direct"] = blocks
            self.count(segment, instance, {**counts, "segment scans": 1})
            event = "direct path read" if direct else "db file scattered read"
            self._wait(segment, instance, event, requests, blocks, requests * microseconds)
            if not direct:
                self.bring_in_scan(segment, SCAN_BLOCKS, instance)
            self.touch()

    def write(self, segment: Segment, blocks: int, *, instance: int = 1) -> None:
        """Blocks changed and later written."""
        with self.changed:
            counts = {"db block changes": blocks, "physical writes": blocks, "physical write requests": blocks}
            self.count(segment, instance, counts)
            self.statistics[instance - 1]["physical writes"] += blocks
            self.tablespaces[segment.tablespace].files[0].counters[instance - 1]["PHYWRTS"] += blocks
            self.touch()

    def count(self, segment: Segment, instance: int, counts: dict[str, int]) -> None:
        """Add to the statistics of a segment. The lock is held."""
        if self.parameters["statistics_level"] != "BASIC":
            segment.counters[instance - 1].update(counts)

    def _wait(self, segment: Segment, instance: int, event: str, calls: int, blocks: int, micro: int) -> None:
        """The same I/O, as the instance and the file count it."""
        at = instance - 1
        self._held_up(at, event, calls, micro)
        direct = event == "direct path read"
        self.statistics[at].update({"physical reads": blocks, "physical read total IO requests": calls})
        self.statistics[at].update({"physical read IO requests": calls, "session logical reads": 3 * blocks})
        self.statistics[at].update({"physical reads direct" if direct else "physical reads cache": blocks})
        file = self.tablespaces[segment.tablespace].files[0].counters[at]
        file.update({"PHYRDS": calls, "PHYBLKRD": blocks, "READTIM": micro // 10_000})
        if event == "db file sequential read":
            self._count_single(file, calls, micro)
        else:
            file["LARGE_READ_REQS" if blocks > calls else "SMALL_READ_REQS"] += calls

    @staticmethod
    def _count_single(file: Counter[str], reads: int, micro: int) -> None:
        """Synchronous reads of one block, in V$FILESTAT and V$IOSTAT_FILE."""
        file.update({"SINGLEBLKRDS": reads, "SINGLEBLKRDTIM": micro // 10_000, "SMALL_READ_REQS": reads})
        file.update({"SMALL_SYNC_READ_REQS": reads, "SMALL_SYNC_READ_LATENCY": micro // 1000})

    def take_snapshot(self, taken_at: datetime, *, fewest_reads: int = 1000) -> None:
        """A snapshot of AWR: what each segment did since the one before, of those that read that much."""
        with self.changed:
            deltas: list[dict[tuple[int, int], Counter[str]]] = []
            for at in range(self.quirks.instances):
                now = {(s.object_id, s.data_object_id): Counter(s.counters[at]) for s in self.segments()}
                done = {key: counted - self._last[at].get(key, Counter()) for key, counted in now.items()}
                deltas.append(
                    {key: counted for key, counted in done.items() if counted["physical reads"] >= fewest_reads}
                )
                self._last[at] = now
            self.snapshots.append(Snapshot(len(self.snapshots) + 1, taken_at, deltas))
            self.touch()

    def commit_transactions(
        self, count: int, *, instance: int = 1, redo_bytes: int = 1024, microseconds: int = 2000
    ) -> None:
        """One after the other: the log writer writes the redo of each while its session waits."""
        with self.changed:
            at = instance - 1
            self.statistics[at].update({"user commits": count, "redo size": count * redo_bytes})
            self.redo.write(count * redo_bytes)
            self.events[at].update(
                {"log file parallel write": count, "log file parallel write/us": count * microseconds}
            )
            self._held_up(at, "log file sync", count, count * (microseconds + SWITCH_MICROSECONDS))
            self.touch()

    def sort(self, blocks: int, *, instance: int = 1, microseconds: int = 20_000) -> None:
        """A sort that does not fit: written to the temporary file in large calls and read back."""
        with self.changed:
            at, calls = instance - 1, -(-blocks // SCAN_BLOCKS)
            for event, count, time in (("write", "WRT", "WRITETIM"), ("read", "RD", "READTIM")):
                self._held_up(at, f"direct path {event} temp", calls, calls * microseconds)
                done = {f"PHY{count}S": calls, f"PHYBLK{count}": blocks, time: calls * microseconds // 10_000}
                self.sorted[at].update(done)
            self.touch()

    def read_undo(self, reads: int, *, instance: int = 1, microseconds: int = 5000) -> None:
        """Blocks of undo that consistent reads need and the buffer cache lacks."""
        with self.changed:
            at, micro = instance - 1, reads * microseconds
            self._held_up(at, "db file sequential read", reads, micro)
            self.bring_in_undo(reads, instance)
            undo = next(space for space in self.tablespaces.values() if space.contents == "UNDO")
            file = undo.files[0].counters[at]
            file.update({"PHYRDS": reads, "PHYBLKRD": reads, "READTIM": micro // 10_000})
            file.update({"SINGLEBLKRDS": reads, "SINGLEBLKRDTIM": micro // 10_000})
            self.touch()

    def _held_up(self, at: int, event: str, waits: int, micro: int) -> None:
        """Sessions waited, which is part of the time that they spent in the database."""
        self.events[at].update({event: waits, f"{event}/us": micro})
        self.statistics[at]["DB time"] += micro // 10_000

    def restart(self, instance: int = 1) -> None:
        """An instance restart: its counters start anew."""
        with self.changed:
            at = instance - 1
            self.started[at] += timedelta(hours=1)
            self.statistics[at].clear()
            self.events[at].clear()
            self.sorted[at].clear()
            self.remembered[at].clear()
            self.caches[at].clear()
            for segment in self.segments():
                segment.counters[at].clear()
            for space in self.tablespaces.values():
                for file in space.files:
                    file.counters[at].clear()
            self.dead.clear()
            self.touch()
