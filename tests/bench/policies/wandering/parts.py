"""Worlds whose tables have a hot part, and hotplace in them with splits and without. Frozen as ``frozen`` is.

Each shape is one of ``frozen.SHAPES``. Of each table a fifth of the bytes takes four fifths of the reads, always the
same rows: the newest. Indexes have no such part. A world has two rows for each unit, the rest and behind all of them
the hot parts; a table that is not split is one unit to everybody, and its two rows move together.

What looks into the pool would show is drawn: every ``LOOK_HOURS`` hours the shares of reads of ``SEEN`` blocks, of the
tables that the product looks into. A split moves the hot part, reads the whole table twice, and locks the table for as
long: who works with it waits. A table that is split stays so. Where a play has a limit, the engine offers no more once
so many are made: left out of a plan by the stage, a split would have others make room for nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from itertools import repeat
from types import SimpleNamespace
from typing import cast

import numpy as np

from agent.ledger.ledger import Ledger
from agent.planning.planner import make_planning
from agent.sampling.block_heat import UnitBorders, save_block_heat, save_borders
from agent.sampling.block_looks import LookedAt, units_worth_looks
from agent.sampling.sampler import Sampler
from connectors.kit.contract import Connector
from connectors.model.moves import SPLIT, Border, Bundle, Locked, NoRoute, Route, Step, Transfer, UnitKind, held_seconds
from connectors.model.observation import F64, I64, NO_PARENT, Bools, Catalog, Sample, Signal, Space, UnitTable
from connectors.postgresql.split import limit_of
from policies.evidence.borders import BorderLook, FoundBorder, ValueBorder
from policies.evidence.range_heat import RangeHeat, compare_looks, with_turnover
from policies.model.moves import RouteCost
from tests.bench.policies.columns import Columns
from tests.bench.policies.memory import Memory
from tests.bench.policies.product import configuration
from tests.bench.policies.stage import COMPUTING, COPY_BYTES_PER_SECOND, SLOWED_BY_COPY, Hop, Past
from tests.bench.policies.wandering.shapes import world
from tests.bench.policies.wandering.stage import Moment, Stage
from tests.bench.policies.wandering.world import HOUR, World, wait_on_slow
from tests.virtual_clock import VirtualClock
from tests.workloads.catalogue import FIRST_ID, Catalogue

SHAPES = (
    "hot_spot_24h", "hot_spot_7d", "hot_for_4d", "hot_for_10d", "drifting", "weekly", "regime_change", "stationary",
)  # fmt: skip
SEEDS = (31, 32)
HOT_BYTES, HOT_READS = 0.2, 0.8
MOST_SPLITS = 10  # in a play with a limit; a plan of the product weighs ten at a time and has no other
LOOK_HOURS, SEEN = 6, 400  # hours, blocks of each table
MAXIMUM_STALL = 4 * HOUR  # given for a night without users; what it costs is counted all the same
_BLOCKS = 12_800
_PAID = RouteCost(log_seconds=0.0, blocked_seconds=0.0, follow_up_seconds=0.0, copying=())  # with its table
_TABLES = (UnitKind.TABLE, UnitKind.TABLE_PARTITION)


def parts_world(shape: str, seed: int, *, hours: int) -> World:
    """One shape with the parts of its tables as rows of their own, of all units behind all rests. ``2 n`` rows."""
    base = world(shape, seed, hours=hours)
    table = np.isin(base.catalogue.kind, _TABLES)
    of_bytes, of_reads = np.where(table, HOT_BYTES, 0.0), np.where(table, HOT_READS, 0.0)
    hot = (base.size * of_bytes).astype(np.int64)
    catalogue = base.catalogue
    return replace(
        base,
        catalogue=Catalogue(
            key=[*catalogue.key, *(f"{key}_p1" for key in catalogue.key)],
            kind=np.tile(catalogue.kind, 2),
            size_bytes=np.concatenate((catalogue.size_bytes - hot[0], hot[0])),
            parent=np.concatenate((catalogue.parent, np.full(len(table), NO_PARENT, dtype=np.int64))),
            rates=np.hstack((catalogue.rates * (1 - of_reads), catalogue.rates * of_reads)),
        ),
        factors=np.tile(base.factors, 2),
        spot=np.hstack((base.spot * (1 - of_reads), base.spot * of_reads)),
        size=np.hstack((base.size - hot, hot)),
        alive=np.hstack((base.alive, base.alive & table)),
    )


class PartedColumns(Columns):
    """A connector that lists a table as one unit until it is split."""

    def __init__(self, world: World, clock: VirtualClock, most: float) -> None:
        super().__init__(world.catalogue, world.capacity, clock)
        self._world, self._units, self._most = world, len(world.catalogue) // 2, most
        self.split: Bools = np.zeros(self._units, dtype=np.bool_)

    @property
    def hour(self) -> int:
        """That begins now or is under way."""
        return min(self._world.hours - 1, int(self._clock.monotonic() / HOUR + 1e-9))

    @property
    def rows(self) -> I64:
        """Of what is a unit now."""
        alive = self._world.alive[self.hour]
        return np.flatnonzero(alive & np.append(np.ones(self._units, dtype=np.bool_), self.split))

    def key(self, row: int) -> str:
        """As the catalog has it now."""
        rest = row < self._units and bool(self.split[row])
        return f"{self._catalogue.key[row]}_p0" if rest else self._catalogue.key[row]

    def _whole(self, column: F64 | I64, rows: I64) -> F64 | I64:
        """A column of units: of a table in one piece both rows together."""
        hot = column[..., self._units :]
        joined = column.copy()
        joined[..., : self._units] += np.where(self.split, 0, hot)
        return joined[..., rows]

    def catalog(self) -> Catalog:
        """Two spaces, and the units that exist."""
        rows, catalogue = self.rows, self._catalogue
        size = self._whole(self._world.size[self.hour], rows).astype(np.int64)
        held = int(size[self.fast[rows]].sum())
        fast = Space(
            name="fast", path="/fast", used_bytes=held, free_bytes=max(0, self._capacity - held),
            capacity_bytes=self._capacity,
        )  # fmt: skip
        slow = Space(name="slow", path="/slow", used_bytes=0, free_bytes=2**50, capacity_bytes=2**50)
        parent = catalogue.parent[rows]
        of_split = self.split[rows % self._units]
        # The parts are of a table that takes no room, and the rest has a new name.
        root = 2 * len(catalogue) + rows % self._units
        units = UnitTable(
            physical_id=rows + FIRST_ID, key=[self.key(row) for row in rows.tolist()],
            kind=np.where(of_split, UnitKind.TABLE_PARTITION, catalogue.kind[rows]).astype(np.int8),
            size_bytes=size, space=np.where(self.fast[rows], 0, 1).astype(np.int32), bundle=rows + FIRST_ID,
            parent=np.where(of_split, root + FIRST_ID, np.where(parent == NO_PARENT, NO_PARENT, parent + FIRST_ID)),
        )  # fmt: skip
        return Catalog(taken_at=self._clock.now(), spaces=(fast, slow), units=units)

    def sample(self) -> Sample:
        """Totals of the units that exist."""
        rows = self.rows
        counted = np.floor(self._whole(self._counters, rows)).astype(np.int64)
        return Sample(
            taken_at=self._clock.now(), monotonic_seconds=self._clock.monotonic(), epoch="1",
            physical_id=rows + FIRST_ID, counters={signal.name: counted[signal] for signal in Signal},
            database=dict(self._totals), server_seconds=0.0,
        )  # fmt: skip

    def exact_sizes(self, physical_ids: I64) -> I64:
        """As the catalog has them."""
        return np.asarray(self._whole(self._world.size[self.hour], physical_ids - FIRST_ID), dtype=np.int64)

    def routes_split(self, bundle: Bundle, border: Border, to_space: str) -> Route | NoRoute:
        """Rows of the hot part are written to the other space, after and before the table is read as a whole."""
        if self.split.sum() >= self._most:
            return NoRoute(code="enough", sentence="as many tables are split as may be")
        row = bundle.physical_ids[0] - FIRST_ID
        size = self._world.size[self.hour]
        hot, whole = int(size[row + self._units]), int(size[row] + size[row + self._units])
        read = Transfer(space=bundle.space, bytes=whole, unit=bundle.key)
        copies = (read, Transfer(space=to_space, bytes=hot, written=True), read)
        limit = limit_of(held_seconds(copies))
        return Route(
            name=SPLIT, bundle=replace(bundle, size_bytes=hot), to_space=to_space, prologue=(),
            steps=(Step(sql=f"split {bundle.key} at {border.value}", purpose="split", timeout_seconds=limit),),
            undo_steps=(), online=False, locks="all use of it", log_bytes=2 * hot, transient_bytes=0,
            locked=Locked.ALL, copies=copies,
        )  # fmt: skip


class WholeColumns(PartedColumns):
    """The same of an engine that splits no tables."""

    routes_split = None  # type: ignore[assignment]  # a protocol's member that is None is not there


class PartsHotplace:
    """The product with its defaults, proposals carried out at once."""

    def __init__(self, world: World, *, most: float = 0, known: bool = False) -> None:
        """Wire it up.

        Args:
            world: of ``parts_world``.
            most: splits in the play, ``math.inf`` for any number; 0: the engine offers none.
            known: splits cost nothing, and where heat lies is known from the start.
        """
        self.name = "hotplace with splits" if most else "hotplace"
        self._most = most
        self._costs: dict[str, RouteCost] = {}  # predicted of what is copied this hour, by key of each row
        self.stalls: list[tuple[int, float, RouteCost]] = []  # tables, seconds of their locks, predicted; of this hour
        self._world, self._units = world, len(world.catalogue) // 2
        self._clock = VirtualClock()
        self._columns = (PartedColumns if most else WholeColumns)(world, self._clock, most)
        if known:
            self._columns.split = np.isin(np.arange(self._units), _most_waited_for(world))
        self._memory = Memory(self._clock)
        row_of = {key: row for row, key in enumerate(world.catalogue.key)}
        row_of |= {f"{key}_p0": 2 * self._units + row for row, key in enumerate(world.catalogue.key[: self._units])}
        self._memory.slots = SimpleNamespace(
            of=lambda _database, keys: np.array([row_of[key] for key in keys], dtype=np.int64),
            count=lambda _database: 0,
        )
        self._database = configuration({}, sample_seconds=HOUR).model_copy(
            update={"maximum_stall_seconds": MAXIMUM_STALL}
        )
        self._connector, self._ledger = cast(Connector, self._columns), cast(Ledger, self._memory)
        self._sampler = Sampler(self._database, self._connector, self._ledger, self._clock)
        self._sampler.cycle()
        self._worth_looks: tuple[LookedAt, ...] = ()
        self._draw = np.random.default_rng([world.seed, 7])
        self._heat: dict[str, RangeHeat] = {}

    @property
    def splits(self) -> int:
        """Tables that are split."""
        return int(self._columns.split.sum())

    def decide(self, moment: Moment) -> list[Hop]:
        """The moves of a plan made now, of which those that would not end within the hour are left out whole."""
        picture = self._sampler.picture()
        assert picture is not None, "the first sample is taken at the start"
        planning = make_planning(picture, self._database, self._connector, self._ledger, self._clock.now())
        self._worth_looks = units_worth_looks(planning.situation, planning.plan)
        ids = picture.catalog.units.physical_id - FIRST_ID
        key = {each: int(row) for each, row in zip(picture.catalog.units.key, ids, strict=True)}
        hops: list[Hop] = []
        self.stalls, self._costs = [], {}
        left, room = HOUR, self._world.capacity - int(moment.size[moment.fast].sum())
        stopped: set[int] = set()
        for at, (move, cost) in enumerate(zip(planning.plan.moves, planning.costs, strict=True)):
            up = move.to_space == "fast"
            table = key[move.key]
            rows = [table + self._units] if move.part else [r for row in move.rows for r in self._pieces(int(ids[row]))]
            size = int(moment.size[rows].sum())
            splits = move.part is not None
            seconds = size / COPY_BYTES_PER_SECOND
            enough = splits and self.splits >= self._most
            if enough or seconds > left or (up and size > room) or (move.group or -1 - at) in stopped:
                stopped.add(move.group or -1 - at)
                continue
            left, room = left - seconds, room + (-size if up else size)
            if splits:
                self._columns.split[table] = True
                read = 2 * int(moment.size[table] + moment.size[table + self._units])
                self.stalls.append((table, (size + read) / COPY_BYTES_PER_SECOND, cost))
            else:
                of_rows = cost, *repeat(_PAID, len(rows) - 1)
                self._costs.update(zip(map(self._columns.key, rows), of_rows, strict=True))
            hops += [Hop(row, up=up) for row in rows]
        return hops

    def _pieces(self, row: int) -> list[int]:
        """The rows of a unit."""
        whole = row < self._units and not self._columns.split[row] and self._world.alive[-1, row + self._units]
        return [row, row + self._units] if whole else [row]

    def saw(self, past: Past) -> None:
        """Let the counters rise by the hour, with samples where copies ended, and look into tables now and then."""
        changed = np.flatnonzero(past.fast != self._columns.fast)
        if len(changed):
            started = self._clock.now()
            self._columns.work(past.copied_seconds, past.rates, past.wait, lost=SLOWED_BY_COPY)
            self._columns.fast = past.fast
            up, size, key = past.fast[changed], self._world.size[past.hour], self._columns.key
            down_units, up_units = ({key(row): int(size[row]) for row in changed[way].tolist()} for way in (~up, up))
            # Beside a split no copy has a time of its own.
            costs = None if self.stalls else self._costs
            self._memory.note(down_units, up_units, started, past.copied_seconds, costs)
            for table, seconds, cost in self.stalls:
                size = int(self._world.size[past.hour, table + self._units])
                self._memory.note_split(size, cost, started, seconds)
            self._sampler.disturb()
            self._sampler.cycle()
        self._columns.work(HOUR - past.copied_seconds, past.rates, past.wait)
        self._sampler.cycle()
        if past.hour % LOOK_HOURS == LOOK_HOURS - 1:
            self._look(past)

    def _look(self, past: Past) -> None:
        wait = wait_on_slow(past.rates)
        for each in self._worth_looks:
            row = each.physical_id - FIRST_ID
            if row < self._units and not self._columns.split[row] and wait[row + self._units] > 0:
                share = float(wait[row + self._units] / (wait[row] + wait[row + self._units]))
                self._heat[each.key] = self._seen(self._heat.get(each.key), past.hour, share)
        borders = {key: UnitBorders(looks=(_found(heat),)) for key, heat in self._heat.items()}
        save_block_heat(self._ledger, self._database.name, self._clock.now(), self._heat)
        save_borders(self._ledger, self._database.name, borders)

    def _seen(self, before: RangeHeat | None, hour: int, share: float) -> RangeHeat:
        """Blocks that came between two looks, so many of them of the hot part as its share of reads lets expect."""
        first = round(_BLOCKS * (1 - HOT_BYTES))
        hot = int(self._draw.binomial(SEEN, share))
        came = np.concatenate((
            self._draw.choice(first, SEEN - hot, replace=False),
            first + self._draw.choice(_BLOCKS - first, hot, replace=False),
        ))  # fmt: skip
        found = compare_looks(
            np.arange(0), np.sort(came).astype(np.int64), blocks=_BLOCKS, block_bytes=8192, seconds=1.0
        )  # fmt: skip
        return with_turnover(before, found, float(SEEN), float(hour))


def _found(heat: RangeHeat) -> BorderLook:
    """The border of the hot part, with the share of reads that looks have shown behind it."""
    reads = heat.reads.sum(axis=0)
    behind = np.arange(heat.ranges) * heat.width >= _BLOCKS * (1 - HOT_BYTES)
    border = ValueBorder(
        column="id", type_name="bigint", least="1", below=None, fit=1.0, of_rows=HOT_BYTES,
        of_reads=float(reads[behind].sum() / reads.sum()),
    )  # fmt: skip
    return BorderLook(
        at_hour=heat.at_hour, found=FoundBorder(border=border, is_time=False, least=1.0, below=None, newest=2.0)
    )  # fmt: skip


def _most_waited_for(world: World) -> I64:
    """The tables that sessions wait for most over the whole play."""
    units = len(world.catalogue) // 2
    saved = world.saving.sum(axis=0)
    together = np.where(world.alive[:, units:].any(axis=0), saved[:units] + saved[units:], 0.0)
    return np.argsort(-together, kind="stable")[:MOST_SPLITS]


class PartsStage(Stage):
    """The simulator, in which who works with a table that is being split waits for its lock."""

    def __init__(self, world: World, player: PartsHotplace) -> None:
        super().__init__(world)
        self._player = player

    def _hour(self, moment: Moment, hops: list[Hop]) -> Past:  # type: ignore[override]  # what PartsHotplace decides
        past = super()._hour(moment, hops)
        units, rates = len(self.world.catalogue) // 2, self.world.rates(moment.hour)
        wait = wait_on_slow(rates) / HOUR
        reads = rates[Signal.SYNC_READ]
        for table, seconds, _cost in self._player.stalls:
            rows = [table, table + units]
            at_work = float(wait[rows].sum()) + COMPUTING * float(reads[rows].sum() / max(1e-9, reads.sum()))
            read = seconds - float(moment.size[table + units]) / COPY_BYTES_PER_SECOND
            self._cost += seconds * at_work + read * SLOWED_BY_COPY * (COMPUTING + past.wait)
        return past


def policies(world: World) -> Mapping[str, PartsHotplace]:
    """Who plays, by name."""
    return {
        "whole": PartsHotplace(world),
        "ranges": PartsHotplace(world, most=MOST_SPLITS),
        "unlimited": PartsHotplace(world, most=math.inf),
        "free": PartsHotplace(world, known=True),
    }
