"""Recorded history played again under other settings.

``play`` shows what would have been done with the recorded history under other settings. It asks no database. The
history of the ledger is played interval by interval: heat grows from it as it did, and a plan is made as often as asked
for. Its moves take the time that their bytes need within the windows, and from then on reads cost what they cost on the
unit's new tier. Everything starts from the placement of the last plan. Waits are the model's: reads by class times the
read time of the tier, without what a shorter queue spares others and without what copying costs sessions.

``play_recording`` plays a recording through the real connector, sampler and planner. It asks no server. Heat, speeds,
history and plans come about as they did during the recording: from the same answers, at the same times.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ValidationError

from agent.config.mistakes import GONE
from agent.config.models import DatabaseConfig, Level
from agent.ledger.errors import NotFound
from agent.ledger.ledger import Ledger
from agent.ledger.rows import HistoryRow
from agent.planning.allowance import Limits, budget_of
from agent.planning.decisions import replay_decision
from agent.sampling.learned import Inventory, site_of
from agent.sampling.sampler import HISTORY_SIGNALS
from agent.service.watch import Watch
from agent.studies.recordings import LastPlan
from connectors.kit.contract import Clock
from connectors.kit.recorded_columns import table_of
from connectors.kit.recording_file import BadRecording, Moment, RecordingReader, Work
from connectors.kit.taps import ReplayTap, wall_time
from connectors.model.observation import F64, I32, I64, SIGNALS, Demand, Space
from policies.evidence import heat, horizons, seasons
from policies.evidence.capacity import turned_over
from policies.evidence.heat import index_of
from policies.evidence.horizons import Site
from policies.evidence.prices import Prices, cool_down_left, copies_caused, may_return, owed_seconds
from policies.model.moves import MoveReason
from policies.model.plan import PlanMove, Situation
from policies.model.settings import PolicySettings
from policies.placement.dispatch import plan_mode
from policies.placement.plan_draft import fastest_bytes


class NothingRecorded(NotFound):
    """There is no plan or no history to play again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedMove:
    """One move that would have been made."""

    at: datetime  # when it would have ended
    key: str
    from_space: str
    to_space: str
    size_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """What came of it."""

    since: datetime
    until: datetime
    observed_seconds: float
    intervals: int
    plans: int
    wait_as_it_is: float  # seconds that sessions waited by the model, had nothing been moved
    wait_simulated: float
    wait_all_fast: float  # had everything been on the fastest tier: no placement does better
    moves: tuple[SimulatedMove, ...]

    @property
    def saved_ratio(self) -> float:
        """Share of the wait that the simulated moves save; NaN where nothing waited."""
        return 1.0 - self.wait_simulated / self.wait_as_it_is if self.wait_as_it_is else float("nan")

    @property
    def bytes_moved(self) -> int:
        """Of all moves."""
        return sum(move.size_bytes for move in self.moves)

    @property
    def moved_more_than_once(self) -> int:
        """Units that came back or went on."""
        return sum(count > 1 for count in Counter(move.key for move in self.moves).values())


@dataclass(slots=True)
class _World:
    """The database as the simulation has it."""

    situation: Situation
    settings: PolicySettings
    limits: Limits
    safety: float
    space: I32  # row of the space of each unit
    slots: I64
    state: heat.HeatState = field(default_factory=heat.empty_heat)
    seasons: seasons.SeasonState = field(default_factory=seasons.empty_seasons)
    horizons: horizons.HorizonState = field(default_factory=horizons.HorizonState)
    moved_at: dict[int, datetime] = field(default_factory=dict)  # row of a unit -> when
    made_room: set[int] = field(default_factory=set)  # rows of units whose last move was that
    under_way: list[tuple[datetime, PlanMove]] = field(default_factory=list)
    moves: list[SimulatedMove] = field(default_factory=list)
    gave_way: list[tuple[datetime, int]] = field(default_factory=list)  # when, and bytes that left the fastest tier

    def learn(self, row: HistoryRow) -> F64:
        """Let one interval pass; its counts by signal and unit, shape ``(SIGNALS, n)``."""
        rates = np.zeros((SIGNALS, len(row.slots)))
        rates[list(HISTORY_SIGNALS)[: len(row.values)]] = row.values / row.seconds
        demand = Demand(
            ended_at=row.ended_at, seconds=row.seconds, physical_id=row.slots, rates=rates,
            observed=np.ones(len(row.slots), dtype=np.bool_), estimated=frozenset(), database=self.situation.database,
        )  # fmt: skip
        self.state = heat.update(self.state, demand, row.slots, self.slots, self.settings)
        seen = np.ones(len(self.state), dtype=np.bool_)
        index, middle = index_of(rates), row.started_at + (row.ended_at - row.started_at) / 2
        self.seasons = seasons.learnt(self.seasons, middle, row.seconds, row.slots, index, seen)
        self.horizons = horizons.watch_interval(
            self.horizons, self.seasons, middle, row.seconds, row.slots, index, seen
        )
        site = self._site() if self.horizons.due else None
        if site is not None:
            self.horizons = horizons.judge_forecasts(self.horizons, self.seasons, row.ended_at, site)
        at = np.full(max(int(self.slots.max(initial=-1)), int(row.slots.max(initial=-1))) + 1, -1, dtype=np.int64)
        at[self.slots] = np.arange(len(self.slots))
        known = at[row.slots] >= 0  # units that were dropped since are left out
        counts = np.zeros((SIGNALS, len(self.slots)))
        counts[:, at[row.slots[known]]] = rates[:, known] * row.seconds
        return counts

    def now(self, at: datetime) -> Situation:
        """Everything that a plan depends on, as it would have been."""
        units = replace(self.situation.units, space=self.space.copy())
        resident = self.situation.tier_of_space[self.space] == 0
        since = np.full(len(units), np.inf)
        for row, moved in self.moved_at.items():
            since[row] = (at - moved).total_seconds()
        expected = horizons.expected_demand(self.horizons, self.seasons, at)
        both = horizons.with_expected_demand(heat.view(self.state, self.slots), self.slots, *expected)
        earned = horizons.earned_seconds(self.horizons, self.slots, resident)
        dearest = horizons.dearest_copy(self.horizons, self.seasons, at)
        series = horizons.are_in_series(self.horizons, self.slots)
        free = may_return(np.isin(np.arange(len(units)), list(self.made_room)), series)
        return replace(
            self.situation,
            units=units,
            spaces=self._spaces(),
            heat=heat.decision_heat(both, resident),
            cooling_seconds=cool_down_left(
                since, earned, resident, free, units.size_bytes, self.situation.database, self.settings, dearest
            ),
            owed_seconds=owed_seconds(
                earned,
                resident,
                series,
                units.size_bytes,
                self.situation.database,
                self.settings,
            ),
            copies_caused=copies_caused(series, resident, units.size_bytes, self.horizons.between_births),
            turned_over_ratio=self._turned_over(at),
        )

    def _spaces(self) -> tuple[Space, ...]:
        """The spaces with what has moved since the start."""
        size, spaces = self.situation.units.size_bytes, self.situation.spaces
        gone = np.bincount(self.situation.units.space, size, len(spaces))
        more = (np.bincount(self.space, size, len(spaces)) - gone).astype(np.int64)
        return tuple(
            replace(
                space,
                used_bytes=max(0, space.used_bytes + int(grown)),
                free_bytes=None if space.free_bytes is None else space.free_bytes - int(grown),
            )
            for space, grown in zip(spaces, more, strict=True)
        )

    def _site(self) -> Site | None:
        """What a placement is limited by now."""
        return site_of(
            Inventory(
                units=replace(self.situation.units, space=self.space), slots=self.slots, spaces=self._spaces(),
                tier_of_space=self.situation.tier_of_space, speeds=(),
            ),
            self.situation.database,
            self.settings,
        )  # fmt: skip

    def _turned_over(self, at: datetime) -> float:
        """As ``experience.turnover_ratio_of``, by the moves of the simulation."""
        capacity, budget = fastest_bytes(self.situation), self.settings.turnover_per_week
        if not capacity or budget is None:
            return 0.0
        return turned_over((((at - when).total_seconds(), size / capacity) for when, size in self.gave_way), budget)

    def plan(self, at: datetime) -> None:
        """Make a plan and begin it, unless an earlier one is still under way."""
        if self.under_way:
            # As the daemon, which proposes nothing while approved moves are still to be done.
            return
        budget = budget_of(self.limits, at, self.safety)
        settings = replace(self.settings, maximum_bytes=budget.bytes, maximum_copy_seconds=budget.seconds)
        ready = at
        lasting = min(settings.horizon_seconds, self.horizons.lasting_seconds)
        for move in plan_mode(self.now(at), replace(settings, horizon_seconds=lasting)).moves:
            end = self._end(ready, move.copy_seconds)
            if end is None:
                continue
            self.under_way.append((end, move))
            ready = end

    def _end(self, at: datetime, seconds: float) -> datetime | None:
        """When a copy that is ready to begin would have ended, within one window; None: in none of the next ones."""
        reckoned = timedelta(seconds=seconds * self.safety)
        for _ in range(20):
            begins = self.limits.calendar.opens_at(at)
            closes = None if begins is None else self.limits.calendar.closes_at(begins)
            if begins is None:
                return None
            if closes is None or begins + reckoned <= closes:
                return begins + timedelta(seconds=seconds)
            at = closes
        return None

    def arrive(self, until: datetime) -> None:
        """Bring to their new homes what has been copied by then."""
        names = [space.name for space in self.situation.spaces]
        while self.under_way and self.under_way[0][0] <= until:
            end, move = self.under_way.pop(0)
            rows = list(move.rows)
            self.space[rows] = names.index(move.to_space)
            self.moved_at |= dict.fromkeys(rows, end)
            made_room = move.reason is MoveReason.MAKE_ROOM
            self.made_room = self.made_room.union(rows) if made_room else self.made_room.difference(rows)
            if move.reason is MoveReason.MAKE_ROOM and move.from_tier == self.situation.tiers[0].name:
                self.gave_way.append((end, move.size_bytes))
            self.moves.append(
                SimulatedMove(
                    at=end, key=move.key, from_space=move.from_space, to_space=move.to_space,
                    size_bytes=move.size_bytes,
                )
            )  # fmt: skip


def play(
    situation: Situation,
    settings: PolicySettings,
    slots: I64,
    rows: Iterable[HistoryRow],
    limits: Limits,
    *,
    safety: float,
    plan_every: timedelta,
) -> Played:
    """Play intervals again.

    Args:
        situation: units, spaces and tiers to start from; its heat is not used.
        settings: of the plans.
        slots: slot of each unit.
        rows: recorded intervals, the oldest first.
        limits: windows and caps; the bytes of a window limit each plan.
        safety: a copy is reckoned to take that much longer.
        plan_every: time between two plans.

    Raises:
        NothingRecorded: there is no interval.
    """
    world = _World(
        situation=situation, settings=settings, limits=limits, safety=safety,
        space=situation.units.space.copy(), slots=slots,
    )  # fmt: skip
    prices = Prices.of(situation, settings)
    slowest = len(situation.tiers) - 1
    home = np.where(situation.tier_of_space >= 0, situation.tier_of_space, slowest)  # what is not managed never moves
    waits, seconds, count, plans = np.zeros(3), 0.0, 0, 0
    first = last = None
    next_plan = None
    for row in rows:
        world.arrive(row.started_at)
        counts = world.learn(row)
        for at, tiers in enumerate((home[situation.units.space], home[world.space], np.zeros_like(world.space))):
            waits[at] += float(prices.by_tier(counts, tiers).sum())
        first, last = first or row.started_at, row.ended_at
        seconds, count = seconds + row.seconds, count + 1
        next_plan = next_plan or row.started_at + plan_every
        if row.ended_at >= next_plan:
            world.plan(row.ended_at)
            plans, next_plan = plans + 1, row.ended_at + plan_every
    if first is None or last is None:
        raise NothingRecorded(
            "no history is recorded of that time", advice="hotplace run records it, minute by minute."
        )
    world.arrive(last)
    return Played(
        since=first, until=last, observed_seconds=seconds, intervals=count, plans=plans,
        wait_as_it_is=waits[0], wait_simulated=waits[1], wait_all_fast=waits[2], moves=tuple(world.moves),
    )  # fmt: skip


def start_of(ledger: Ledger, database: str) -> tuple[Situation, I64]:
    """Units, spaces and tiers as the last plan saw them, and the slots of the units.

    Raises:
        NothingRecorded: there was no plan.
    """
    decision = replay_decision(ledger, database)
    if decision is None:
        raise NothingRecorded(
            f"no plan of {database} is stored to start from", advice="hotplace run, or hotplace plan, makes one."
        )
    return decision.situation, ledger.slots.of(database, decision.situation.units.key)


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """A recording after it was played, with the ledger that came of it."""

    database: DatabaseConfig
    ledger: Ledger
    clock: Clock  # stands at the end of the recording
    names: str  # "plain" or "hashed"
    version: str  # of hotplace that recorded it
    since: datetime
    ended: str  # why the recording ended; "": it is damaged
    damage: str  # where, "" where it is not
    last: LastPlan


@contextmanager
def play_recording(
    path: Path, *, policy: Mapping[str, Any] | None = None, until_damage: bool = False
) -> Iterator[Replayed]:
    """Play a recording from its beginning to its end.

    Args:
        path: of the file.
        policy: values of the policy part, by key as they are written, in place of the recorded ones.
        until_damage: play what is before the damage of a damaged file.

    Raises:
        BadRecording: the file is no recording, or it is damaged and ``until_damage`` was not given.
        ConnectorError: the driver of its engine is missing.
    """
    reader = RecordingReader(path)
    with ExitStack() as ending:
        try:
            database = _database_of(reader.head, policy or {})
            began, columns = Moment(*reader.head["began"]), dict(reader.head["columns"])
            table = table_of(database.engine)
        except (KeyError, TypeError, ValidationError) as error:
            raise BadRecording(
                f"the head of {path} cannot be used: {error}", advice="Read it with the version that wrote it."
            ) from error
        connect = database.engine_record.tapped
        if table is None or connect is None:
            raise BadRecording(f"{path} is of {database.engine}, which cannot be replayed", advice="")
        tap = ReplayTap(reader.events(), began, table, columns)
        # A ledger on disk and not in memory: what is played is the daemon's own path, its transactions included.
        folder = Path(ending.enter_context(tempfile.TemporaryDirectory(prefix="hotplace-")))
        ledger = Ledger.open(folder / "ledger.db", tap.clock)
        ending.callback(ledger.close)
        connector = connect(database.connection, tap.clock, tap)
        watch = Watch(database, ledger, tap.clock, level=Level.PROPOSE, dry_run=True, connector=connector)
        ending.callback(watch.close, save=False)
        last, damage = LastPlan(watch), ""
        try:
            for work in tap.works():
                last.do(work)
        except BadRecording as error:
            if not until_damage:
                raise
            damage = str(error)
        if last.planning is None and last.samples:
            last.do(Work.PLAN)  # it ended before one was made: no move has a route, but the history can be played
        yield Replayed(
            database=database, ledger=ledger, clock=tap.clock, names=reader.head["names"],
            version=reader.head["hotplace"], since=wall_time(began), ended=tap.ended, damage=damage, last=last,
        )  # fmt: skip


def _database_of(head: Mapping[str, Any], policy: Mapping[str, Any]) -> DatabaseConfig:
    entry = {key: _without_gone_keys(value) for key, value in head["database"].items()}
    return DatabaseConfig.model_validate({**entry, "policy": {**entry.get("policy", {}), **policy}})


def _without_gone_keys(part: Any) -> Any:  # noqa: ANN401  # whatever a recording holds
    """A recorded part without what an earlier version let people configure: it can be played all the same."""
    if isinstance(part, list):
        return [_without_gone_keys(each) for each in part]
    return {key: value for key, value in part.items() if key not in GONE} if isinstance(part, Mapping) else part
