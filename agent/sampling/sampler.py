"""The sampler of one database: sample, interval, demand, learning, history. It never writes to the database.

The sampler of one database: sample, interval, demand, learning, history. It never writes to the database.

One call of ``cycle()`` takes one sample. If a single sample goes wrong (time-out, reset, clock jump, one of our own
moves in between), that interval is lost and nothing else: without evidence no unit becomes hot or cold. What an
interval teaches is computed in ``learned``, without I/O; the sampler reads and stores.

Reads what single statements did, a few times within the settle time, so that outcomes can compare them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np

from agent.config.models import DatabaseConfig, Statements
from agent.config.tiers import Storage
from agent.ledger.errors import AWAY
from agent.ledger.ledger import Ledger
from agent.ledger.measured.codec import narrow
from agent.model.outcomes import StatementInterval
from agent.sampling.experience import record_disturbed
from agent.sampling.learned import (
    Inventory,
    growth_of,
    learn,
    with_catalog,
    with_new_partitions,
    with_renamed_units,
    with_slots,
)
from agent.sampling.learned_state import load_devices, load_learned, note_gone_units, save_learned
from agent.sampling.picture import Picture, UnitHomes, calibrated, view_heat
from agent.sampling.trace import Tracer, traced_heat
from connectors.kit.contract import Clock, Connector, ConnectorError, NotRecorded, Retry
from connectors.kit.statements import ReadsStatements, StatementCounters
from connectors.model.formatting import format_seconds
from connectors.model.observation import F64, I64, Catalog, Coverage, Demand, Interval, RoleFigures, Sample, Signal
from policies.evidence.capacity import GrowthState
from policies.evidence.counter_deltas import Gap, contradiction, difference, in_measured_waits
from policies.evidence.device import DeviceState
from policies.evidence.horizons import are_in_series, dearest_copy, earned_seconds
from policies.evidence.prices import wait_weights
from policies.evidence.seasons import lasting_demand
from policies.evidence.workload import RecentWork, with_background
from policies.model.plan import HeatView

CATALOG_EVERY_SECONDS = 600.0
SAVE_EVERY_SECONDS = 300.0  # at the latest, however much is known
SAVED_BYTES_PER_SECOND = 16_384.0  # on average, by saving more often than that; 1.4 GB a day
LONGEST_INTERVAL_SAMPLES = 10  # a longer silence is a gap: how the work was spread over it is not known
LONGEST_INTERVAL_SECONDS = 3600.0
HISTORY_SIGNALS = (Signal.SYNC_READ, Signal.PREFETCHED_READ, Signal.ASYNC_WRITE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cycle:
    """What one cycle did, for the log line and the metrics."""

    taken_at: datetime
    units: int
    unread_units: int  # of them, whose counters were too many to be read this time
    coverage: Coverage | None  # how much was read, where all were too many; None: all were read
    server_seconds: float
    seconds: float  # the whole cycle by the agent's clock
    sentence: str
    evidence: bool  # the interval counted
    figures: IntervalFigures | None = None  # of that interval


@dataclass(frozen=True, slots=True, kw_only=True)
class IntervalFigures:
    """What counters of waits grow by with an interval; rates are per second."""

    seconds: float
    waiting_sessions: float  # for reads, as the engine measures it; NaN where it does not
    roles: tuple[RoleFigures, ...]
    sync_reads: Mapping[str, float]  # by tier


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplerMemory:
    """What a sampler holds in memory only, for the next sampler of the same database to continue from."""

    before: Sample | None
    known_ids: I64
    disturbed: bool
    work: RecentWork
    growth: GrowthState


def always() -> bool:
    """May store: what is learned is kept."""
    return True


class Sampler:
    """Samples one database. Use from one thread at a time."""

    def __init__(
        self,
        database: DatabaseConfig,
        connector: Connector,
        ledger: Ledger,
        clock: Clock,
        *,
        memory: SamplerMemory | None = None,
        may_store: Callable[[], bool] = always,
    ) -> None:
        """Begin with what the ledger knows.

        Args:
            database: its configuration.
            connector: asked for catalog and samples.
            ledger: the durable record.
            clock: time.
            memory: what another sampler of the same database had in memory.
            may_store: asked before anything that was learned goes into the ledger; False: another process watches this
                database and knows more.
        """
        self._database = database
        self._connector = connector
        self._ledger = ledger
        self._clock = clock
        self._settings = database.policy_settings()
        self._may_store = may_store
        self._tracer = Tracer(database.name, ledger)
        self._learned = load_learned(ledger, database.name)
        self._has_learned_work = False  # from an interval, since the start
        self._save_at = -float("inf")  # the first interval is saved at once: commands read it
        self.catalog_reads = 0
        self._catalog: Catalog | None = None
        self._storage: Storage | None = None  # with the configured speeds
        self._calibrated: tuple[Storage, DeviceState, Storage] | None = None  # the last, with what it was made from
        self._slots: I64 = np.empty(0, dtype=np.int64)  # of the units of the catalog
        self._catalog_at = -float("inf")  # from when on its age counts
        self._catalog_read_at = -float("inf")
        self._before: Sample | None = None
        self._known_ids: I64 = np.empty(0, dtype=np.int64)  # that the catalog held as settled at the last sample
        self._unknown_ids: I64 = np.empty(0, dtype=np.int64)  # of the last interval: the catalog does not have them
        # Counted, and compared with what was counted before a read began: a move that ends while the catalog or a
        # sample is on its way may or may not be in what is read.
        self._marks = 0  # moves of ours that began or ended
        self._marks_sampled = 0  # by the beginning of the last sample
        self._homes = 0  # reasons to read the catalog again: marks, and moves whose end was only found out later
        self._is_forgotten = False
        self._homes_in_catalog = 0  # by the beginning of the last read of the catalog
        self._copying = False  # now; not remembered: a reload waits for the end of a statement
        if memory is not None:
            self._before, self._known_ids = memory.before, memory.known_ids
            self._marks += memory.disturbed
            # From memory, not from the ledger: that counts half after a restart, and a reload interrupts nothing.
            self._learned = replace(self._learned, work=memory.work, growth=memory.growth)

    @property
    def memory(self) -> SamplerMemory:
        """For the next sampler of this database."""
        return SamplerMemory(
            before=self._before,
            known_ids=self._known_ids,
            disturbed=self._is_disturbed(),
            work=self._learned.work,
            growth=self._learned.growth,
        )

    def cycle(self) -> Cycle:
        """Take one sample and learn from it.

        Raises:
            ConnectorError: the catalog or the sample could not be read; what was learned before stays.
        """
        started = self._clock.monotonic()
        with self._without_ledger():  # new units have no numbers until it answers; the others are sampled as they are
            self._refresh_catalog()
        marks = self._marks
        disturbed = self._copying
        sample = self._connector.sample()
        disturbed |= self._is_disturbed()
        self._marks_sampled = marks
        sentence, demand = self._learn_from(sample, disturbed=disturbed)
        if demand is not None and self._clock.monotonic() >= self._save_at:
            with self._without_ledger():
                self.save()
        unread = 0 if sample.unread is None else len(sample.unread)
        if sample.unread_sentence:
            sentence = f"{sentence}; {sample.unread_sentence}"
        return Cycle(
            taken_at=sample.taken_at,
            units=len(self.catalog.units),
            unread_units=unread,
            coverage=sample.coverage,
            server_seconds=sample.server_seconds,
            seconds=self._clock.monotonic() - started,
            sentence=sentence,
            evidence=demand is not None,
            figures=None if demand is None else self._figures(demand),
        )

    def _figures(self, demand: Demand) -> IntervalFigures:
        """Of an interval that was learned from."""
        storage = self._storage
        assert storage is not None, "cycle() reads the catalog first"
        units = self.catalog.units
        row = units.rows_of(demand.physical_id)
        known = row >= 0
        tier, rates = storage.tier_of_space[units.space[row[known]]], demand.rates[Signal.SYNC_READ][known]
        reads = np.bincount(tier[tier >= 0], weights=rates[tier >= 0], minlength=len(storage.tiers))
        return IntervalFigures(
            seconds=demand.seconds,
            waiting_sessions=demand.database.read_wait,
            roles=demand.roles,
            sync_reads={each.name: float(rate) for each, rate in zip(storage.tiers, reads, strict=True)},
        )

    def disturb(self) -> None:
        """Note that one of our moves runs: the current interval is no evidence, and units have changed their homes."""
        self._marks += 1
        self.note_new_homes()

    def note_new_homes(self) -> None:
        """Note that moves of ours have come to an end, perhaps long ago: the catalog is read before it is used."""
        self._homes += 1

    def refresh_homes(self) -> None:
        """Read the catalog again if moves of ours have ended since, or another database answers.

        Raises:
            ConnectorError: it could not be read.
        """
        if self._catalog is not None and (self._homes != self._homes_in_catalog or self._is_forgotten):
            with self._without_ledger():
                self._refresh_catalog()

    def forget_catalog(self) -> None:
        """Read it before it is used again, however young it is: another database answers by now."""
        self._is_forgotten = True

    def _is_disturbed(self) -> bool:
        """Whether a copy of ours ran since the last sample began."""
        return self._copying or self._marks != self._marks_sampled

    def begin_copy(self) -> None:
        """Note that a statement of ours runs until ``end_copy``: no interval that it touches is evidence.

        Intervals that lie wholly within a long copy hold its reads as well, so one mark at each end does not do.
        """
        self._copying = True
        self.disturb()

    def end_copy(self) -> None:
        """Note that the statement has ended: the interval in which it did is the last that is no evidence."""
        self._copying = False
        self.disturb()

    def picture(self) -> Picture | None:
        """What is known now; None before the first sample."""
        storage = self.storage()
        if self._before is None or self._catalog is None or storage is None:
            return None
        units, work = self._catalog.units, self._learned.work
        resident = storage.tier_of_space[units.space] == 0
        now, hours = self._clock.now().astimezone(self._database.time_zone), self._settings.horizon_seconds / 3600
        return Picture(
            catalog=self._catalog,
            storage=storage,
            heat=view_heat(self._learned, self._slots, resident, now, hours),
            work=work.mean(),
            sampled_at=self._before.taken_at,
            roles=self.roles(),
            sessions=work.mean_sessions(),
            growth=growth_of(self._learned, self._slots),
            earned=earned_seconds(self._learned.horizons, self._slots, resident),
            in_series=are_in_series(self._learned.horizons, self._slots),
            between_births=self._learned.horizons.between_births,
            dearest=dearest_copy(self._learned.horizons, self._learned.seasons, now),
            lasting_demand=lasting_demand(self._learned.seasons, self._slots) * work.pace(),
            lasting_seconds=self._learned.horizons.lasting_seconds,
        )

    def places(self) -> dict[str, str] | None:
        """The space of each unit by the last catalog, by key; None before the first sample."""
        if self._catalog is None:
            return None
        units, spaces = self._catalog.units, self._catalog.spaces
        return {key: spaces[at].name for key, at in zip(units.key, units.space.tolist(), strict=True)}

    def homes(self) -> UnitHomes | None:
        """Where units are by the last catalog; None before the first sample."""
        storage = self.storage()
        if self._catalog is None or storage is None or not storage.tiers:
            return None
        prices = wait_weights([tier.speed for tier in storage.tiers], self._settings)
        return UnitHomes(
            slots=self._slots,
            physical_id=self._catalog.units.physical_id,
            table=self._catalog.units.table_of(),
            tier=np.asarray(storage.tier_of_space[self._catalog.units.space], dtype=np.int64),
            tiers=tuple(tier.name for tier in storage.tiers),
            read_seconds=prices[:, [Signal.SYNC_READ, Signal.PREFETCHED_READ]],
        )

    @property
    def catalog(self) -> Catalog:
        """As last read; there is one once a sample was taken."""
        assert self._catalog is not None, "cycle() reads the catalog first"
        return self._catalog

    def storage(self) -> Storage | None:
        """Spaces and tiers, the speeds calibrated by what was measured; None before the first sample."""
        storage, devices = self._storage, self._learned.devices
        if storage is None:
            return None
        last = self._calibrated  # a plan asks several times between two samples
        if last is None or last[0] is not storage or last[1] is not devices:
            last = self._calibrated = (storage, devices, calibrated(storage, self._learned))
        return last[2]

    def roles(self) -> tuple[RoleFigures, ...]:
        """Logs, temporary and undo spaces, averaged over the half-life."""
        return self._learned.work.mean_roles()

    def traced_heat(self) -> HeatView | None:
        """What the trace has collected, aligned with the units of the picture; None if it has nothing."""
        return traced_heat(self._ledger, self._database.name, self._slots)

    def save(self) -> None:
        """Store what was learned, so that a restart continues from it and commands can read it.

        The less there was to write, the sooner the next save.
        """
        if not self._may_store():
            return
        speeds = None if self._storage is None else [tier.speed for tier in self._storage.tiers]
        written = save_learned(
            self._ledger, self._database.name, self._clock.now(), self._learned, speeds,
            with_work=self._has_learned_work,
        )  # fmt: skip
        self._save_at = self._clock.monotonic() + min(SAVE_EVERY_SECONDS, written / SAVED_BYTES_PER_SECOND)

    @contextmanager
    def _without_ledger(self) -> Iterator[None]:
        """Within, what a server's ledger cannot take now is left out, and the sample counts all the same."""
        try:
            yield
        except AWAY:  # the caller stores more after a sample, and says so
            # A file is on this machine: where it cannot be written, a person has to know before anything is learned.
            if not self._ledger.is_shared or self._catalog is None:
                raise

    def _inventory(self) -> Inventory:
        """What an interval is read against."""
        assert self._storage is not None, "cycle() reads the catalog first"
        return Inventory(
            units=self.catalog.units,
            slots=self._slots,
            spaces=self._storage.spaces,
            tier_of_space=self._storage.tier_of_space,
            speeds=tuple(tier.speed for tier in self._storage.tiers),
        )

    def _refresh_catalog(self) -> None:
        """Read the catalog when it is due, and give every unit its slot."""
        young = self._clock.monotonic() - self._catalog_at < CATALOG_EVERY_SECONDS
        is_known = self._catalog is not None and not self._is_forgotten
        if is_known and young and self._homes == self._homes_in_catalog:
            return
        homes = self._homes
        catalog = self._connector.catalog()
        storage = self._database.resolve_spaces(catalog)
        # Only now: stored evidence holds for the tier speeds it was gathered against, and those need a catalog.
        if self._storage is None:
            devices = load_devices(self._ledger, self._database.name, [tier.speed for tier in storage.tiers])
            self._learned = replace(self._learned, devices=devices)
        slots = self._slots
        if self._catalog is None or catalog.units.key is not self._catalog.units.key:
            slots = self._ledger.slots.of(self._database.name, catalog.units.key)
            if self._may_store():
                note_gone_units(self._ledger, self._database.name, slots)
        # All at once, and only now: where the ledger gives no numbers, the old catalog and its spaces stay together.
        self._storage, self._slots, self._catalog = storage, slots, catalog
        self._catalog_at = self._catalog_read_at = self._clock.monotonic()
        self._homes_in_catalog, self._is_forgotten = homes, False
        self.catalog_reads += 1
        self._learn_catalog()

    def _learn_catalog(self) -> None:
        """Give every unit a place for its heat, renamed and new ones a heat to begin with."""
        units, slots = self.catalog.units, self._slots
        self._learned = with_slots(self._learned, slots)
        # Renamed units before new partitions: a renamed partition is not new, and would else get a share of the heat of
        # the one before it. The catalog itself last: the others compare it with the one that was learned before.
        self._learned = with_renamed_units(self._learned, units, slots)
        self._learned = with_new_partitions(self._learned, units, slots)
        self._learned = with_catalog(self._learned, units, slots, self._catalog_read_at)

    def _learn_from(self, sample: Sample, *, disturbed: bool) -> tuple[str, Demand | None]:
        """Learn from the interval that the sample ends; a sentence about it, and the demand if the interval counted.

        Args:
            sample: the end of the interval.
            disturbed: a copy of ours ran in it.
        """
        # The new sample is the next base even where this interval is lost: the loss ends with it.
        before, self._before = self._before, sample
        known, self._known_ids = self._known_ids, self.catalog.settled
        units = self.catalog.units.physical_id
        if before is None:
            return "first sample: the next one shows what happens in between", None
        longest = max(LONGEST_INTERVAL_SECONDS, LONGEST_INTERVAL_SAMPLES * self._database.sample_seconds)
        interval = difference(before, sample, longest_seconds=longest, known=known, units=units)
        del before  # its counters are as many as the new ones, and heat is worked on next
        # The copy of a move reads and writes the very units that it moves: to the counters that looks like demand.
        if disturbed:
            if not isinstance(interval, Gap) and self._may_store():
                with self._without_ledger():
                    self._learn_cost(interval)
            return "a move of ours ran in this interval: it is no evidence", None
        if isinstance(interval, Gap):
            return interval.sentence, None
        return self._absorb(interval)

    def _learn_cost(self, interval: Interval) -> None:
        """Store how much work was done while moves ran, compared with calm times."""
        during = self._connector.classify(interval, self.catalog).database.transactions
        calm = self._learned.work.mean().transactions
        if during >= 0 and calm > 0:
            record_disturbed(self._ledger, self._database.name, interval, during=during, calm=calm)

    def _absorb(self, interval: Interval) -> tuple[str, Demand | None]:
        """Learn from an interval in which no move of ours ran, and store its demand; None if it contradicts itself."""
        demand = with_background(self._connector.classify(interval, self.catalog))
        refused = contradiction(demand)
        if refused is not None:
            return refused.sentence, None
        if demand.waited is not None:
            demand = in_measured_waits(demand, self.catalog, self._believed_read_seconds())
        inventory = self._inventory()
        located = inventory.locate(demand)
        unknown = demand.physical_id[located.row < 0]
        if not np.isin(unknown, self._unknown_ids).all():
            self._catalog_at = -float("inf")  # new unknown units: read the catalog before the next sample
        self._unknown_ids = unknown
        if self._may_store():
            # A trace counts whenever it is on, in measured hours or not.
            with self._without_ledger():
                self._tracer.record_interval(demand, located.slot, self._slots)
        measured = self._is_measured(interval)
        self._learned = learn(
            self._learned, located, inventory, self._settings, zone=self._database.time_zone, measured=measured
        )
        self._has_learned_work = True
        if self._may_store():
            self._append_history(demand, located.slot)
        active = int(np.count_nonzero(demand.rates.any(axis=0)))
        sentence = f"{active} of {len(inventory.units)} units had demand in {format_seconds(demand.seconds)}"
        return sentence if measured else f"{sentence}; outside the measured hours, heat stays as it is", demand

    def _believed_read_seconds(self) -> F64:
        """Of the tier of each space of the catalog, 0 for those that belong to none."""
        storage = self.storage()
        assert storage is not None, "cycle() reads the catalog first"
        of_tier = np.array([*(tier.speed.random_read_seconds for tier in storage.tiers), 0.0])
        return np.asarray(of_tier[storage.tier_of_space], dtype=np.float64)  # -1, no tier: the last one

    def _is_measured(self, interval: Interval) -> bool:
        """Whether the whole interval lies in the hours whose demand counts."""
        since, until = interval.started_at, interval.ended_at
        calendar = self._database.measuring
        # All of it or nothing: how much of an interval's work was done on either side of the edge is not known.
        return calendar.always or calendar.open_seconds(since, until) >= (until - since).total_seconds()

    def _append_history(self, demand: Demand, slots: I64) -> None:
        """Append the interval to the history: counts of the units that had any."""
        # Back to whole counts, which pack far better than rates: their high bytes are nearly all zero.
        counts = np.rint(demand.rates[list(HISTORY_SIGNALS)] * demand.seconds)
        kept = (slots >= 0) & counts.any(axis=0)
        self._ledger.history.append(
            self._database.name, demand.ended_at, demand.seconds, slots[kept], narrow(counts[:, kept])
        )
        self._ledger.work.append(self._database.name, demand.ended_at, demand.seconds, demand.database)
        self._ledger.samples.hand_over(self._database.name, demand.ended_at)


MOST_READ = 1000  # statements, those with most time so far
MOST_KEPT = 100  # of an interval, those with most time in it
READINGS_A_SETTLE = 6  # the first look at an outcome takes as long as settling, and wants some intervals
LONGEST_SILENCE = 3  # readings; how the work of a longer one was spread over it is not known
REST_SECONDS = 3600.0  # after a refusal that only a person can end


class StatementReader:
    """Reads the statements of one database when it is time, and stores what changed. One thread at a time."""

    def __init__(self, database: DatabaseConfig, ledger: Ledger, clock: Clock) -> None:
        """Nothing is read yet.

        Args:
            database: its configuration.
            ledger: keeps the intervals.
            clock: time.
        """
        self._database = database
        self._ledger = ledger
        self._clock = clock
        self._every = max(database.sample_seconds, database.settle_seconds / READINGS_A_SETTLE)
        self._due = -float("inf")  # on the monotonic clock
        self._before: StatementCounters | None = None

    def read_if_due(self, connector: Connector, *, may_store: bool) -> float:
        """Read them, if it is time and the engine has them; returns the seconds that the server took at most.

        Raises:
            ConnectorError: they could not be read; the next try comes in its turn, or an hour later.
        """
        now = self._clock.monotonic()
        wanted = self._database.statements is not Statements.NONE
        if not wanted or now < self._due or not isinstance(connector, ReadsStatements):
            return 0.0
        self._due = now + self._every
        try:
            found = connector.read_statements(MOST_READ)
        except NotRecorded:
            # A recording without statements is replayed: that is no failure, and nothing to wait for.
            found = None
        except ConnectorError as error:
            self._before = None
            self._due = now + (REST_SECONDS if error.retry is Retry.NEVER else self._every)
            raise
        before, self._before = self._before, found
        if found is None:
            self._due = now + REST_SECONDS  # the server keeps none, and no recording has any
            return 0.0
        interval = None if before is None else statement_difference(before, found)
        if interval is not None and may_store and interval.length <= LONGEST_SILENCE * self._every:
            self._ledger.statements.append(self._database.name, interval)
        return found.server_seconds


def statement_difference(before: StatementCounters, after: StatementCounters) -> StatementInterval | None:
    """What statements did between two readings; None where counters restarted or time went backwards.

    A statement counts where it is in both: an engine forgets those that it needs no longer, so one that was not there
    before may have run before all the same. One whose counters fell was forgotten in between.
    """
    if before.epoch != after.epoch or after.taken_at <= before.taken_at:
        return None
    row_before = {id_: row for row, id_ in enumerate(before.ids)}
    both = [(row_before[id_], row) for row, id_ in enumerate(after.ids) if id_ in row_before]
    was, now = np.array(both, dtype=np.int64).reshape(len(both), 2).T
    deltas = {name: getattr(after, name)[now] - getattr(before, name)[was] for name in _COUNTERS}
    valid = deltas["executions"] > 0
    for values in deltas.values():
        valid &= ~(values < 0)  # NaN: not counted
    kept = np.flatnonzero(valid)
    kept = kept[np.argsort(-deltas["seconds"][kept], kind="stable")][:MOST_KEPT]
    return StatementInterval(
        started_at=before.taken_at,
        ended_at=after.taken_at,
        ids=tuple(after.ids[row] for row in now[kept]),
        executions=deltas["executions"][kept],
        seconds=deltas["seconds"][kept],
        read_wait=deltas["read_wait"][kept],
        reads=deltas["reads"][kept],
    )


_COUNTERS = ("executions", "seconds", "read_wait", "reads")
