"""What a simulated server holds: placement, buffer pool, workload and counters.

``SimulatedPlacement`` knows where units lie and which moves are under way. It is what statements change.

``hit_ratios`` says how much of each unit's working set the buffer pool holds.

``Workload`` says how fast the sessions of a scenario get on with a given placement.

``WorldState`` keeps the units, their counters and the totals of the database at one time.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields

import numpy as np

from connectors.kit.contract import Clock, LockNotObtained, ObjectGone, SpaceFull, StatementFailed
from connectors.model.moves import UnitKind
from connectors.model.observation import F64, I64
from connectors.simulated.language import Move
from connectors.simulated.scenarios import (
    COUNTERS,
    FIRST_ID,
    SCENARIOS,
    Scenario,
    SpaceSpec,
    Units,
    UnitSpec,
    build,
    with_background,
)
from connectors.simulated.settings import FaultPlan, SimulatedSettings

ONLINE_ROOM = 0.1  # an online move keeps the changes made meanwhile: this share of the bundle more
WORD = {
    UnitKind.TABLE: "TABLE",
    UnitKind.TABLE_PARTITION: "TABLE",
    UnitKind.INDEX: "INDEX",
    UnitKind.INDEX_PARTITION: "INDEX",
}  # kinds that a statement can name; a LOB moves with its table


@dataclass(slots=True)
class RunningCopy:
    """A move that is being executed. Its room in the target is reserved until it ends."""

    token: int
    key: str  # what the statement names
    rows: list[int]
    to_space: int
    online: bool
    total_bytes: int
    reserved_bytes: int
    done_bytes: int
    process: int  # pid: when that is dead, the move is rolled back
    paused: bool = False  # held: it keeps its room and what it copied, whatever becomes of the process


class SimulatedPlacement:
    """Homes of all units, room in all spaces, moves under way."""

    def __init__(self, units: Units, spaces: Sequence[SpaceSpec]) -> None:
        self.units = units
        self.spaces = tuple(spaces)
        self.running: dict[int, RunningCopy] = {}
        self.last_token = 0
        self.index()

    def index(self) -> None:
        """Rebuild the map from names to rows."""
        self._rows = {key: row for row, key in enumerate(self.units.keys) if self.units.alive[row]}

    def space_row(self, name: str) -> int:
        """Row of a space.

        Raises:
            ObjectGone: there is none of that name.
        """
        for row, space in enumerate(self.spaces):
            if space.name == name:
                return row
        raise ObjectGone(f'space "{name}" does not exist', advice="Name one that the catalog holds.")

    def row(self, key: str) -> int | None:
        """Row of the unit of that key, None where there is none."""
        return self._rows.get(key)

    def bundle_rows(self, row: int) -> list[int]:
        """Rows of all units that move with it."""
        together = (self.units.bundle == self.units.bundle[row]) & self.units.alive
        return [int(r) for r in np.flatnonzero(together)]

    def used_bytes(self) -> I64:
        """Bytes in each space, without what is reserved; shape ``(spaces,)``."""
        used = np.zeros(len(self.spaces), dtype=np.int64)
        np.add.at(used, self.units.space, np.where(self.units.alive, self.units.size_bytes, 0))
        return used

    def free_bytes(self) -> I64:
        """Room in each space, with the reservations of running moves taken off; shape ``(spaces,)``."""
        free = np.array([space.capacity_bytes for space in self.spaces], dtype=np.int64) - self.used_bytes()
        for move in self.running.values():
            # Reserved while the copy runs: otherwise two moves that start together both find room that is enough for
            # one.
            free[move.to_space] -= move.reserved_bytes
        return free

    def being_moved(self, rows: Sequence[int]) -> bool:
        """Whether a running move holds one of them."""
        wanted = set(rows)
        return any(wanted.intersection(move.rows) for move in self.running.values())

    def move_of(self, key: str) -> RunningCopy | None:
        """The move of that very object that runs or is held."""
        return next((move for move in self.running.values() if move.key == key), None)

    def resolve(self, move: Move) -> tuple[list[int], int]:
        """Rows and target space that the statement speaks of.

        Raises:
            ObjectGone: one of them is not there.
            StatementFailed: the object is of another kind.
        """
        row = self.row(move.key)
        if row is None:
            raise ObjectGone(f"{move.key} does not exist", advice="It was dropped or renamed; make a new plan.")
        if WORD.get(UnitKind(self.units.kind[row])) != move.word:
            raise StatementFailed(f"{move.key} is no {move.word}", native_code="WRONG_KIND")
        return self.bundle_rows(row), self.space_row(move.space)

    def begin(self, move: Move, process: int) -> RunningCopy:
        """Reserve the room and start.

        Raises:
            SpaceFull: the target has not that much room.
            LockNotObtained: another move has the bundle.
            ObjectGone: as ``resolve``.
            StatementFailed: as ``resolve``.
        """
        rows, to_space = self.resolve(move)
        if self.being_moved(rows):
            raise LockNotObtained(f"{move.key} is being moved already", advice="Wait until that move has ended.")
        coming = [row for row in rows if self.units.space[row] != to_space]
        total = int(self.units.size_bytes[coming].sum())
        need = total + (int(total * ONLINE_ROOM) if move.online else 0)
        free = int(self.free_bytes()[to_space])
        if coming and need > free:
            raise SpaceFull(
                f'space "{move.space}" has {free} bytes free, {move.key} needs {need}',
                advice="Move something cold out of it first, or add capacity.",
            )
        self.last_token += 1
        running = RunningCopy(self.last_token, move.key, rows, to_space, move.online, total, need, 0, process)
        self.running[running.token] = running
        return running

    def finish(self, token: int) -> None:
        """Switch over: all units of the bundle are in the target now.

        An index moved online was rebuilt, so the engine gives it another physical id; its counters go along.

        Raises:
            ObjectGone: the bundle was dropped meanwhile.
        """
        move = self.running.pop(token, None)
        if move is None or not bool(self.units.alive[move.rows].all()):
            raise ObjectGone("the object was dropped while it was moved", advice="Nothing is left to do.")
        self.units.space[move.rows] = move.to_space
        if move.online and self.units.kind[move.rows[0]] in (UnitKind.INDEX, UnitKind.INDEX_PARTITION):
            self.units.physical_id[move.rows[0]] = self.next_id()

    def abandon(self, token: int) -> None:
        """Roll back; harmless when it has ended."""
        self.running.pop(token, None)

    def end_statement(self, token: int) -> None:
        """The statement is over: what it has not switched over is rolled back, unless it is held."""
        move = self.running.get(token)
        if move is not None and not move.paused:
            self.abandon(token)

    def next_id(self) -> int:
        """A physical id that no unit ever had."""
        return int(self.units.physical_id.max(initial=FIRST_ID - 1)) + 1

    def check_room(self, more: Units) -> None:
        """Whether these new units may be.

        Raises:
            SpaceFull: they do not fit.
            StatementFailed: a key is taken.
        """
        for key in more.keys:
            if self.row(key) is not None:
                raise StatementFailed(f"{key} exists already", native_code="DUPLICATE")
        coming = np.bincount(more.space, weights=more.size_bytes, minlength=len(self.spaces))
        if bool(np.any(coming > self.free_bytes())):
            raise SpaceFull("no room for the new object", advice="Choose another space.")

    def drop(self, key: str) -> None:
        """Remove a unit and everything that belongs to it; harmless when it is gone."""
        row = self.row(key)
        if row is None:
            return
        units = self.units
        units.alive[(units.parent == units.physical_id[row]) & (units.parent >= FIRST_ID)] = False
        units.alive[row] = False
        for move in list(self.running.values()):
            if move.paused and not bool(units.alive[move.rows].all()):
                self.abandon(move.token)  # no session waits for it any more
        self.index()


PAGE_BYTES = 8192
LONGEST = 1e30  # transactions; a page referenced more rarely than once in that many is never cached


def hit_ratios(random_reads: F64, working_bytes: F64, pool_bytes: float) -> F64:
    """Share of random reads that find their page, by Che's approximation of LRU (Che, Tung, Wang 2002).

    A page referenced at rate r is in the pool with probability ``1 - exp(-r * T)``; the characteristic time T is the
    one at which the expected content fills the pool. Reads within a working set are taken as uniform.

    Args:
        random_reads: page references per transaction of each unit, shape ``(n,)``.
        working_bytes: what they go to, shape ``(n,)``.
        pool_bytes: size of the pool.

    Returns:
        Hit ratio of each unit, 0 to 1, shape ``(n,)``; 1 for all when everything referenced fits.
    """
    referenced = (random_reads > 0) & (working_bytes > 0)
    pages = np.where(referenced, np.maximum(working_bytes / PAGE_BYTES, 1.0), 1.0)
    rate = np.where(referenced, random_reads / pages, 0.0)
    if float(working_bytes[referenced].sum()) <= pool_bytes:
        return np.ones_like(rate)
    size = np.where(referenced, pages * PAGE_BYTES, 0.0)
    low, high = 0.0, 1.0
    while high < LONGEST and float(size @ -np.expm1(-rate * high)) < pool_bytes:
        high *= 4.0
    for _ in range(50):
        middle = (low + high) / 2.0
        low, high = (middle, high) if float(size @ -np.expm1(-rate * middle)) < pool_bytes else (low, middle)
    return np.asarray(-np.expm1(-rate * high), dtype=np.float64)


COPY_SHARE = 0.5  # of a device that a running copy takes


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """Per second of virtual time; the names are those of ``Sample.database``."""

    transactions: float
    reads: float
    read_seconds: float
    write_seconds: float
    active_seconds: float
    population_seconds: float
    processor_seconds: float
    processors_seconds: float

    def plain(self) -> dict[str, float]:
        """By name."""
        return asdict(self)


def pages_per_transaction(units: Units, pool_bytes: float) -> F64:
    """What one transaction adds to each counter of each unit, shape ``(len(COUNTERS), n)``, rows as in COUNTERS."""
    # Scans take no part in it: they go past the buffer pool (UnitSpec), and would else evict what lookups keep there.
    misses = units.random_reads * (1.0 - hit_ratios(units.random_reads, units.working_bytes, pool_bytes))
    logical = units.random_reads + units.sequential_reads
    return np.vstack([logical, misses, units.sequential_reads, units.writes])


def copy_seconds(placement: SimulatedPlacement, move: RunningCopy) -> float:
    """Virtual seconds the copy takes: that of the slower device of the two, at the share that the copy gets."""
    sources = {int(placement.units.space[row]) for row in move.rows}
    devices = [placement.spaces[row].device for row in sources | {move.to_space}]
    return move.total_bytes / (COPY_SHARE * min(device.bytes_per_second for device in devices))


class Workload:
    """The sessions of a scenario, running against a placement."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.devices = tuple({space.device.name: space.device for space in scenario.spaces}.values())
        at = {device.name: row for row, device in enumerate(self.devices)}
        self._device_of_space = np.array([at[space.device.name] for space in scenario.spaces], dtype=np.int64)

    def rates(self, placement: SimulatedPlacement, pages: F64) -> Rates:
        """Throughput and waits while nothing changes."""
        scenario = self.scenario
        if self._is_blocked(placement.running.values(), pages):
            stuck = float(scenario.sessions)
            return self._rates(0.0, reads=0.0, read_seconds=0.0, active_seconds=stuck)
        demand, background, reads = self._demands(placement, pages)
        throughput, residence = with_background(
            np.append(demand, scenario.cpu_seconds),
            np.append(background, 0.0),
            np.append(self._copy_share(placement), 0.0),
            np.array([*(device.channels for device in self.devices), scenario.cores], dtype=np.float64),
            scenario.sessions,
            scenario.think_seconds + scenario.commit_seconds,
        )
        return self._rates(
            throughput,
            reads=throughput * reads,
            read_seconds=throughput * float(residence[:-1].sum()),
            active_seconds=throughput * (float(residence.sum()) + scenario.commit_seconds),
        )

    def _rates(self, throughput: float, *, reads: float, read_seconds: float, active_seconds: float) -> Rates:
        """With what follows from the scenario and the throughput alone."""
        scenario = self.scenario
        return Rates(
            transactions=throughput,
            reads=reads,
            read_seconds=read_seconds,
            write_seconds=throughput * scenario.commit_seconds,
            active_seconds=active_seconds,
            population_seconds=float(scenario.sessions),
            processor_seconds=throughput * scenario.cpu_seconds,
            processors_seconds=float(scenario.cores),
        )

    def _demands(self, placement: SimulatedPlacement, pages: F64) -> tuple[F64, F64, float]:
        """Foreground and background seconds of each device per transaction, and pages read."""
        units = placement.units
        home = self._device_of_space[units.space]
        _, sync, ahead, writes = (
            np.bincount(home, weights=np.where(units.alive, row, 0.0), minlength=len(self.devices)) for row in pages
        )
        random_seconds = np.array([device.random_seconds for device in self.devices])
        sequential_seconds = np.array([device.sequential_seconds for device in self.devices])
        write_seconds = np.array([device.write_seconds for device in self.devices])
        demand = sync * random_seconds + ahead * sequential_seconds
        return demand, writes * write_seconds, float(sync.sum() + ahead.sum())

    def _copy_share(self, placement: SimulatedPlacement) -> F64:
        """Share of each device that copies take."""
        taken = np.zeros(len(self.devices))
        for move in placement.running.values():
            if move.paused:
                continue
            spaces = {int(placement.units.space[row]) for row in move.rows} | {move.to_space}
            taken[list({int(self._device_of_space[space]) for space in spaces})] = COPY_SHARE
        return taken

    @staticmethod
    def _is_blocked(running: Iterable[RunningCopy], pages: F64) -> bool:
        """Whether an offline move locks out a unit that the transactions need: then all sessions queue behind it."""
        needed = (COUNTERS.index("logical_reads"), COUNTERS.index("async_writes"))
        return any(not move.online and bool(pages[np.ix_(needed, move.rows)].any()) for move in running)


TOTALS = tuple(each.name for each in fields(Rates))


class WorldState:
    """Units, counters and totals; ``World`` shares them among connections and keeps them in a file.

    Counters of units are never stepped: a unit has ``extra + pages * (work - since)`` pages, where ``work`` counts
    transactions. So a sample costs the same however long ago the last one was.
    """

    def __init__(self, settings: SimulatedSettings, clock: Clock, scenario: Scenario | None = None) -> None:
        """The state as the scenario declares it.

        Args:
            settings: name the scenario, its seed and size, and the faults.
            clock: passes the time.
            scenario: use this instead of the one that settings name.
        """
        self.settings = settings
        self.clock = clock
        self.scenario = scenario or SCENARIOS[settings.scenario](settings.seed, settings.units)
        self.faults = FaultPlan(settings.faults, settings.seed)
        self._workload = Workload(self.scenario)
        # Once: where units lie changes how long their reads take, not how many of them miss the buffer pool.
        self._initial_pages = pages_per_transaction(self.scenario.units, self.scenario.pool_bytes)
        self.start_over()

    def start_over(self) -> None:
        """Everything as the scenario declares it, at time zero."""
        start = self.scenario.units
        units = copy.copy(start)
        units.keys = list(start.keys)
        for column in ("physical_id", "space", "alive"):
            setattr(units, column, getattr(start, column).copy())
        self.placement = SimulatedPlacement(units, self.scenario.spaces)
        self.pages = self._initial_pages
        self.extra = np.zeros((len(COUNTERS), len(units)), dtype=np.float64)
        self.since = np.zeros(len(units), dtype=np.float64)
        self.created: list[tuple[int, list[UnitSpec]]] = []  # first physical id and units of each create()
        self.work = 0.0  # transactions since the beginning
        self.reset_at = 0.0  # work when all counters were last reset
        self.resets = 0
        self.totals = dict.fromkeys(TOTALS, 0.0)
        self.virtual_seconds = 0.0
        self.anchor = self.clock.monotonic()
        self._rates: Rates | None = None

    def advance(self) -> None:
        """Let the sessions work for the time that has passed."""
        now = self.clock.monotonic()
        seconds = max(0.0, now - self.anchor) * self.settings.speed  # below 0: the machine was restarted
        self.anchor = now
        if not seconds:
            return
        per_second = self.rates().plain()
        self.virtual_seconds += seconds
        self.work += per_second["transactions"] * seconds
        for name in TOTALS:
            self.totals[name] += per_second[name] * seconds

    def rates(self) -> Rates:
        """What happens per virtual second as long as nothing changes."""
        if self._rates is None:
            self._rates = self._workload.rates(self.placement, self.pages)
        return self._rates

    def mark_changed(self) -> None:
        """Placement or running moves are no longer what they were."""
        self._rates = None

    def counters(self) -> I64:
        """Pages by counter and unit, shape ``(len(COUNTERS), n)``."""
        return np.floor(self.extra + self.pages * (self.work - self.since)).astype(np.int64)

    def reset_counters(self) -> None:
        """As after a restart or by a DBA: another epoch, everything from zero."""
        self.resets += 1
        self.reset_at = self.work
        self.since[:] = self.work
        self.extra[:] = 0.0
        self.totals = dict.fromkeys(TOTALS, 0.0)

    def reset_unit(self, key: str) -> None:
        """The counters of one unit start from zero and the epoch does not tell."""
        row = self.placement.row(key)
        if row is None:
            row = int(np.argmax(np.where(self.placement.units.alive, self.pages[COUNTERS.index("sync_reads")], -1.0)))
        self.since[row] = self.work
        self.extra[:, row] = 0.0

    def create(self, specs: list[UnitSpec]) -> None:
        """New units without a workload of their own; read them with ``touch``.

        Raises:
            SpaceFull: no room.
            StatementFailed: a key is taken.
        """
        first_id = self.placement.next_id()
        self.placement.check_room(self._build_units(first_id, specs))
        self.append(first_id, specs)

    def append(self, first_id: int, specs: list[UnitSpec]) -> None:
        """As ``create``, without asking whether it may be."""
        more = self._build_units(first_id, specs)
        self.placement.units.append(more)
        self.placement.index()
        self.created.append((first_id, specs))
        self.pages = np.hstack([self.pages, pages_per_transaction(more, 0.0)])
        self.extra = np.hstack([self.extra, np.zeros((len(COUNTERS), len(more)))])
        self.since = np.append(self.since, np.full(len(more), self.work))
        self.mark_changed()

    def _build_units(self, first_id: int, specs: list[UnitSpec]) -> Units:
        units = self.placement.units
        known = dict(zip(units.keys, units.physical_id.tolist(), strict=True))
        return build(specs, [space.name for space in self.scenario.spaces], first_id, known)

    def drop(self, key: str) -> None:
        """Remove a table with all that belongs to it, or an index; harmless when it is gone."""
        self.placement.drop(key)
        self.mark_changed()

    def touch(self, key: str, *, random_pages: int = 0, scanned_pages: int = 0) -> None:
        """Read pages of a unit from storage, as a session would.

        Raises:
            KeyError: there is no such unit.
        """
        row = self.placement.row(key)
        if row is None:
            raise KeyError(key)
        device = self.scenario.spaces[int(self.placement.units.space[row])].device
        pages: F64 = np.array([random_pages + scanned_pages, random_pages, scanned_pages, 0.0])
        self.extra[:, row] += pages
        waited = random_pages * device.random_seconds + scanned_pages * device.sequential_seconds
        for name, value in (("reads", random_pages + scanned_pages), ("read_seconds", waited)):
            self.totals[name] += value
        self.totals["active_seconds"] += waited
