"""Watches one database: sample, interval, demand, heat, history. Never writes to the database.

One call of ``cycle()`` takes one sample. Whatever goes wrong with a single sample - time-out, reset, clock jump, a move
of our own in between - costs that interval and nothing else: without evidence nothing becomes hot or cold.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta

import numpy as np

from agent.budget.experience import disturbed_document, disturbed_of, newest
from agent.config import DatabaseConfig, Storage
from agent.ledger import Ledger, narrow
from agent.ledger.state_names import (
    ACTIVE_SESSIONS,
    DATABASE_WORK,
    DISTURBED_INTERVALS,
    DRIFT,
    HEAT,
    KNOWN_UNITS,
    ROLES,
    SEASONS,
    TIER_SPEED,
)
from agent.sampling.role_figures import roles_document, roles_from_document
from agent.sampling.trace import Tracer, traced_heat
from connectors.base import Clock, Connector
from connectors.formatting import format_seconds
from connectors.model import F64, I64, Bools, Catalog, DatabaseDemand, Demand, Interval, Sample, Signal
from connectors.storage_io import RoleFigures
from policies.benefit import device
from policies.benefit.costs import Disturbed
from policies.demand import drift, growth, heat, renamed_units, seasons
from policies.demand.counter_deltas import Gap, difference
from policies.demand.growth import SizesSeen
from policies.demand.variance import index_of
from policies.demand.workload import RecentWork, WorkInterval, recall_work
from policies.model.plan import HeatView, Tier

CATALOG_EVERY_SECONDS = 600.0
SAVE_EVERY_SECONDS = 300.0  # at the latest, however much is known
SAVED_BYTES_PER_SECOND = 16_384.0  # on average, by saving more often than that; 1.4 GB a day
LONGEST_INTERVAL_SAMPLES = 10  # a longer silence is a gap: nobody knows how the work was spread over it
LONGEST_INTERVAL_SECONDS = 3600.0
VIEWED_AT_ONCE = 2048  # units, a hundred figures of work for each
HISTORY_SIGNALS = (Signal.SYNC_READ, Signal.PREFETCHED_READ, Signal.ASYNC_WRITE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cycle:
    """What one cycle did, for the log line and the metrics."""

    taken_at: datetime
    units: int
    server_seconds: float
    seconds: float  # the whole cycle, as the agent's clock saw it
    sentence: str
    evidence: bool  # the interval counted


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """All that is known of a database now; what planning and reports start from."""

    catalog: Catalog
    storage: Storage  # tiers carry calibrated speeds
    heat: HeatView  # that decisions are made on
    work: DatabaseDemand  # averaged over the half-life
    sampled_at: datetime
    roles: tuple[RoleFigures, ...] = ()  # logs, temporary and undo spaces, averaged likewise
    sessions: float = float("nan")  # at work on average over the long half-life; NaN: not known
    growth: F64 | None = None  # (n,) bytes per second; None: not known


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What a sampler holds in memory only, for another one of the same database to go on from."""

    before: Sample | None
    met: I64
    disturbed: bool
    recent: RecentWork
    sizes: SizesSeen | None


def always() -> bool:
    """That what is learnt is kept."""
    return True


class Sampler:
    """The eyes on one database. Use from one thread at a time."""

    def __init__(
        self,
        database: DatabaseConfig,
        connector: Connector,
        ledger: Ledger,
        clock: Clock,
        *,
        seen: Seen | None = None,
        keeps: Callable[[], bool] = always,
    ) -> None:
        """Begin with what the ledger knows.

        Args:
            database: its configuration.
            connector: asked for catalog and samples.
            ledger: the durable record.
            clock: time.
            seen: what another sampler of the same database had in memory.
            keeps: asked before anything that was learnt goes into the ledger; False: someone else watches this
                database and knows more.
        """
        self._database = database
        self._connector = connector
        self._ledger = ledger
        self._clock = clock
        self._settings = database.policy_settings()
        self._before: Sample | None = None
        self._catalog: Catalog | None = None
        self._catalog_at = -float("inf")  # when it is due again counts from then
        self._catalog_read_at = -float("inf")
        self._sizes = None if seen is None else seen.sizes
        self._storage: Storage | None = None
        self._slots: I64 = np.empty(0, dtype=np.int64)
        self._met: I64 = np.empty(0, dtype=np.int64)  # physical ids that the catalog held at the last sample
        self._disturbed = False
        self._keeps = keeps
        self._save_at = -float("inf")  # what is seen first is saved at once: commands go by it
        self._learnt = False  # from an interval, by this very sampler
        self._recent = self._load_work()
        self._tracer = Tracer(database.name, ledger)
        self._heat = self._load_heat()
        self._seasons = self._load_seasons()
        self._drift = self._load_drift()
        self._units = self._load_units()
        self._devices = device.empty_devices(len(database.tiers))
        if seen is not None:
            self._before, self._met, self._disturbed, self._recent = (
                seen.before, seen.met, seen.disturbed, seen.recent,
            )  # fmt: skip

    @property
    def seen(self) -> Seen:
        """For the sampler that comes after this one."""
        return Seen(
            before=self._before, met=self._met, disturbed=self._disturbed, recent=self._recent, sizes=self._sizes
        )

    def cycle(self) -> Cycle:
        """Take one sample and learn from it.

        Raises:
            ConnectorError: the catalog or the sample could not be read; what was learnt before stays.
        """
        started = self._clock.monotonic()
        self._refresh_catalog()
        sample = self._connector.sample()
        sentence, demand = self._learn(sample)
        if demand is not None and self._clock.monotonic() >= self._save_at:
            self.save()
        return Cycle(
            taken_at=sample.taken_at,
            units=len(self.catalog.units),
            server_seconds=sample.server_seconds,
            seconds=self._clock.monotonic() - started,
            sentence=sentence,
            evidence=demand is not None,
        )

    def disturb(self) -> None:
        """A move of ours reads and writes now: the current interval is no evidence, and homes have changed."""
        self._disturbed = True
        self._catalog_at = -float("inf")

    def picture(self) -> Picture | None:
        """What is known now; None before the first sample."""
        storage = self.storage()
        if self._before is None or self._catalog is None or storage is None:
            return None
        resident = storage.tier_of_space[self._catalog.units.space] == 0
        return Picture(
            catalog=self._catalog,
            storage=storage,
            heat=self._view(resident),
            work=self._recent.mean(),
            sampled_at=self._before.taken_at,
            roles=self.roles(),
            sessions=self._recent.mean_sessions(),
            growth=None if self._sizes is None else self._growing(self._sizes),
        )

    def _growing(self, sizes: SizesSeen) -> F64:
        """Bytes per second by which each unit has grown lately."""
        return growth.bytes_per_second(sizes, self.catalog.units, self._catalog_read_at)

    @property
    def catalog(self) -> Catalog:
        """As last read; there is one once a sample was taken."""
        assert self._catalog is not None, "cycle() reads the catalog first"
        return self._catalog

    def storage(self) -> Storage | None:
        """Spaces and tiers, the speeds calibrated by what was measured; None before the first sample."""
        if self._storage is None:
            return None
        configured = self._storage.tiers
        speeds = device.calibrate([tier.speed for tier in configured], self._devices)
        tiers = tuple(replace(tier, speed=speed) for tier, speed in zip(configured, speeds, strict=True))
        return replace(self._storage, tiers=tiers)

    def roles(self) -> tuple[RoleFigures, ...]:
        """Logs, temporary and undo spaces, averaged over the half-life."""
        return self._recent.mean_roles()

    def _view(self, resident: Bools) -> HeatView:
        """Heat by unit that decisions are made on, with what seasons promise for the time in which a move is to pay.

        Worked out for some thousands of units at a time: both horizons of all of them were the most that a plan held.
        """
        hours = self._settings.horizon_seconds / 3600
        ahead = seasons.promised_demand(self._seasons, self._slots, self._local(self._clock.now()), hours)

        def decided(first: int) -> HeatView:
            some = slice(first, first + VIEWED_AT_ONCE)
            both = drift.leaning(heat.view(self._heat, self._slots[some]), self._drift.share)
            return heat.decision_heat(replace(both, expected=None if ahead is None else ahead[some]), resident[some])

        count = len(self._slots)
        return heat.join_views(map(decided, range(0, max(count, 1), VIEWED_AT_ONCE)), count)

    def traced_heat(self) -> HeatView | None:
        """What the trace has collected, aligned with the units of the picture; None where nothing was."""
        return traced_heat(self._ledger, self._database.name, self._slots)

    def save(self) -> None:
        """Store heat and tier speeds, so that a restart goes on where this left off, and commands know what this knows.

        The next time is the sooner the less there was to write.
        """
        if not self._keeps():
            return
        name, now, state = self._database.name, self._clock.now(), self._ledger.state
        written = state.save_arrays(name, HEAT, now, heat.state_arrays(self._heat))
        written += state.save_arrays(name, TIER_SPEED, now, self._speed_arrays())
        if self._learnt:
            work = asdict(self._recent.mean())
            known = {rate: value for rate, value in work.items() if value == value}  # JSON knows no NaN
            state.save_document(name, DATABASE_WORK, known)
            state.save_document(name, ROLES, roles_document(self.roles()))
            sessions = self._recent.mean_sessions()
            state.save_document(name, ACTIVE_SESSIONS, {} if sessions != sessions else {"active": sessions})
        written += state.save_arrays(name, SEASONS, now, seasons.season_arrays(self._seasons))
        written += state.save_arrays(name, DRIFT, now, drift.drift_arrays(self._drift))
        if self._units is not None:
            written += state.save_arrays(name, KNOWN_UNITS, now, renamed_units.known_arrays(self._units))
        self._save_at = self._clock.monotonic() + min(SAVE_EVERY_SECONDS, written / SAVED_BYTES_PER_SECOND)

    def _refresh_catalog(self) -> None:
        """Read the catalog when it is due, and give every unit its slot."""
        if self._catalog is not None and self._clock.monotonic() - self._catalog_at < CATALOG_EVERY_SECONDS:
            return
        catalog = self._connector.catalog()
        storage = self._database.resolve_spaces(catalog)
        if self._storage is None:
            self._devices = self._load_devices(storage.tiers)
        self._storage = storage
        if self._catalog is None or catalog.units.key is not self._catalog.units.key:
            self._slots = self._ledger.slots.of(self._database.name, catalog.units.key)
        self._heat = heat.with_slots(self._heat, int(self._slots.max(initial=-1)) + 1)
        self._hand_on(catalog)
        self._catalog = catalog
        self._catalog_at = self._catalog_read_at = self._clock.monotonic()
        self._sizes = growth.seen(self._sizes, catalog.units, self._catalog_read_at)

    def _hand_on(self, catalog: Catalog) -> None:
        """Give the heat of renamed units to their new names, and some of it to new partitions."""
        units, slots = catalog.units, self._slots
        if self._units is not None:
            blank = self._heat.observed_seconds[slots] == 0
            self._heat = heat.handed_on(self._heat, *renamed_units.find_renames(self._units, units, slots, blank))
        blank = self._heat.observed_seconds[slots] == 0
        if not blank.all():
            self._heat = heat.handed_on(
                self._heat, *renamed_units.successors(units, slots, blank), share=renamed_units.LENT
            )
        self._units = renamed_units.known_units(units, slots)

    def _learn(self, sample: Sample) -> tuple[str, Demand | None]:
        """Turn the sample into heat; a sentence about it, and the demand if the interval counted."""
        before, self._before = self._before, sample
        met, self._met = self._met, self.catalog.units.physical_id
        if before is None:
            return "first sample: the next one shows what happens in between", None
        longest = max(LONGEST_INTERVAL_SECONDS, LONGEST_INTERVAL_SAMPLES * self._database.sample_seconds)
        interval = difference(before, sample, longest_seconds=longest, known=met)
        del before  # its counters are as many as the new ones, and heat is worked on next
        if self._disturbed:
            self._disturbed = False
            if not isinstance(interval, Gap) and self._keeps():
                self._learn_cost(interval)
            return "a move of ours ran in this interval: it is no evidence", None
        if isinstance(interval, Gap):
            return interval.sentence, None
        return self._absorb(interval)

    def _learn_cost(self, interval: Interval) -> None:
        """Note how much work was done while moves ran, beside what is done in calm times."""
        during = self._connector.classify(interval, self.catalog).database.transactions
        calm = self._recent.mean().transactions
        if during >= 0 and calm > 0:
            seen = Disturbed(
                started_at=interval.started_at,
                ended_at=interval.ended_at,
                transactions=during,
                calm_transactions=calm,
            )
            name = self._database.name
            known = newest(disturbed_of(self._ledger, name), seen)
            self._ledger.state.save_document(name, DISTURBED_INTERVALS, disturbed_document(known))

    def _absorb(self, interval: Interval) -> tuple[str, Demand | None]:
        catalog = self.catalog
        demand = self._connector.classify(interval, catalog)
        rows = catalog.units.rows_of(demand.physical_id)
        slots = np.where(rows >= 0, self._slots[rows], -1)
        if bool((rows < 0).any()):
            self._catalog_at = -float("inf")  # units we have not met: read the catalog before the next sample
        if self._keeps():
            self._tracer.see(demand, slots, self._slots)  # a trace counts whenever it is on, measuring window or not
        counts = self._is_measured(interval)
        if counts:
            self._heat = heat.update(self._heat, demand, slots, self._slots, self._settings)
            self._learn_habits(demand, slots)
        work = WorkInterval(seconds=demand.seconds, demand=demand.database, roles=demand.roles)
        self._learnt = True
        horizons = self._settings.half_life_seconds, self._settings.long_half_life_seconds
        self._recent = self._recent.then(work, *horizons, counts=counts)
        self._calibrate(demand, rows)
        if self._keeps():
            self._remember(demand, slots)
        active = int(np.count_nonzero(demand.rates.any(axis=0)))
        told = f"{active} of {len(catalog.units)} units had demand in {format_seconds(demand.seconds)}"
        return told if counts else f"{told}; outside the measured hours, heat stays as it is", demand

    def _is_measured(self, interval: Interval) -> bool:
        """Whether the whole interval lies in the hours whose demand counts."""
        since, until = interval.started_at, interval.ended_at
        calendar = self._database.measuring
        return calendar.always or calendar.open_seconds(since, until) >= (until - since).total_seconds()

    def _learn_habits(self, demand: Demand, slots: I64) -> None:
        """Note when the units that matter were busy, and which horizon foretold it."""
        used, first = np.unique(np.where(demand.observed, slots, -1), return_inverse=True)
        index = np.bincount(first, weights=index_of(demand.rates), minlength=len(used)).astype(np.float64)
        seen = np.zeros(len(self._heat), dtype=np.bool_)
        seen[self._slots] = True
        seen[slots[(slots >= 0) & ~demand.observed]] = False
        middle = self._local(demand.ended_at - timedelta(seconds=demand.seconds / 2))
        self._seasons = seasons.learnt(self._seasons, middle, demand.seconds, used, index, seen)
        self._drift = drift.watch_interval(self._drift, self._heat, demand.seconds, used, index, seen)

    def _local(self, at: datetime) -> datetime:
        """By the wall clock of the place: habits go by that."""
        return at.astimezone(self._database.time_zone)

    def _remember(self, demand: Demand, slots: I64) -> None:
        """Append the interval to the history: counts, of the units that had any."""
        counts = np.rint(demand.rates[list(HISTORY_SIGNALS)] * demand.seconds)
        kept = (slots >= 0) & counts.any(axis=0)
        self._ledger.history.append(
            self._database.name, demand.ended_at, demand.seconds, slots[kept], narrow(counts[:, kept])
        )
        self._ledger.work.append(self._database.name, demand.ended_at, demand.seconds, demand.database)

    def _calibrate(self, demand: Demand, rows: I64) -> None:
        """Let measured read times correct the configured speed of each tier."""
        assert self._storage is not None
        space = self.catalog.units.space[rows]
        tier = np.where(rows >= 0, self._storage.tier_of_space[space], -1).astype(np.int64)
        configured = [each.speed for each in self._storage.tiers]
        if demand.spaces is not None:
            tier_of = {
                space.name: int(row)
                for space, row in zip(self._storage.spaces, self._storage.tier_of_space, strict=True)
                if row >= 0
            }
            self._devices = device.observe_spaces(self._devices, configured, demand, tier_of, self._settings)
            return
        self._devices = device.observe(self._devices, configured, demand, tier, self._settings)

    def _load_heat(self) -> heat.HeatState:
        stored = self._ledger.state.load_arrays(self._database.name, HEAT)
        return heat.empty_heat() if stored is None else heat.state_from_arrays(stored[1])

    def _load_work(self) -> RecentWork:
        """What the database did before a restart, worth half a memory: what a move costs depends on who is active."""
        stored = self._ledger.state.load_document(self._database.name, DATABASE_WORK)
        sessions = self._ledger.state.load_document(self._database.name, ACTIVE_SESSIONS)
        active = float(sessions[1].get("active", "nan")) if sessions else float("nan")
        return recall_work(DatabaseDemand(**(stored[1] if stored else {})), self._load_roles(), active)

    def _load_roles(self) -> tuple[RoleFigures, ...]:
        stored = self._ledger.state.load_document(self._database.name, ROLES)
        return () if stored is None else roles_from_document(stored[1])

    def _load_seasons(self) -> seasons.SeasonState:
        stored = self._ledger.state.load_arrays(self._database.name, SEASONS)
        return seasons.empty_seasons() if stored is None else seasons.seasons_from_arrays(stored[1])

    def _load_drift(self) -> drift.DriftState:
        stored = self._ledger.state.load_arrays(self._database.name, DRIFT)
        return drift.no_drift() if stored is None else drift.drift_from_arrays(stored[1])

    def _load_units(self) -> renamed_units.KnownUnits | None:
        stored = self._ledger.state.load_arrays(self._database.name, KNOWN_UNITS)
        return None if stored is None else renamed_units.known_from_arrays(stored[1])

    def _load_devices(self, tiers: tuple[Tier, ...]) -> device.DeviceState:
        """Stored evidence, if it was gathered against the speeds that are configured now."""
        stored = self._ledger.state.load_arrays(self._database.name, TIER_SPEED)
        configured = _speed_column(tiers)
        if stored is None or not np.array_equal(stored[1]["configured"], configured):
            return device.empty_devices(len(tiers))
        return device.devices_from_arrays(stored[1])

    def _speed_arrays(self) -> dict[str, F64]:
        tiers = () if self._storage is None else self._storage.tiers
        return {**device.device_arrays(self._devices), "configured": _speed_column(tiers)}


def _speed_column(tiers: tuple[Tier, ...]) -> F64:
    """What calibration starts from, as numbers that can be compared."""
    return np.array([(tier.speed.random_read_seconds, tier.speed.sequential_read_seconds) for tier in tiers]).ravel()
