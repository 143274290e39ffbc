"""Db2 for i and z/OS as the rest of hotplace sees them: everything that looks, nothing that acts."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from connectors.db2.plan_only.look import (
    NOWHERE,
    UNCOUNTED,
    Counted,
    Look,
    Seen,
    counted,
    look_at_i,
    look_at_zos,
    script,
    trace_and_balance,
    waited_for,
)
from connectors.db2.plan_only.session import PlanSession
from connectors.db2.sessions import TITLES, Platform
from connectors.db2.settings import Db2Settings
from connectors.kit.contract import Clock, Mover, StatementFailed
from connectors.kit.findings import Capability, Finding
from connectors.model.moves import Bundle, NoRoute, Route
from connectors.model.observation import (
    I64,
    NO_PARENT,
    SIGNALS,
    Catalog,
    DatabaseDemand,
    Demand,
    Home,
    Identity,
    Inspection,
    Interval,
    Sample,
    Signal,
    UnitTable,
)

ESTIMATED = frozenset({Signal.SYNC_READ, Signal.PREFETCHED_READ})
ADVICE = "A plan for it is a script: `hotplace plan` prints it, a person runs it."
TRACE_MINUTES = 1440


class NoLease:
    """Nothing acts, so nothing has to be kept from acting at once."""

    def is_held(self) -> bool:
        """Always."""
        return True

    def release(self) -> None:
        """Nothing to give up."""


class PlanOnlyConnector:
    """Reads; its routes are reasons with a script in them."""

    def __init__(self, settings: Db2Settings, clock: Clock, session: PlanSession | None = None) -> None:
        """Nothing is opened yet: the first call connects."""
        self._settings = settings
        self._clock = clock
        self._platform = Platform(settings.platform)
        self._session = session or PlanSession(settings, self._platform)
        self._samples = 0
        self._unplaced: frozenset[int] = frozenset()  # counted, and on no disk: to look for them again would be in vain
        self._look: Look | None = None
        self._units: Mapping[str, Seen] = {}  # of that look, by key

    def identify(self) -> Identity:
        """The version is what the driver says of the server."""
        version = self._session.open()
        numbers = tuple(int(part) for part in version.split(".") if part.isdigit())
        return Identity(
            engine="db2",
            version=f"{TITLES[self._platform]} {version}",
            version_number=numbers,
            edition="",
            database=self._settings.dbname,
            fingerprint=f"{self._platform}:{self._settings.host}/{self._settings.dbname}",
            topology="single",
            writable=False,
        )

    def capabilities(self) -> tuple[Capability, ...]:
        """Plans only."""
        return (
            Capability(name="moves", available=False, because=f"{TITLES[self._platform]} is plan-only", advice=ADVICE),
            Capability(
                name="object_counters",
                available=bool(self._counted().totals),
                because="physical reads of each partition, where a probe finds that column",
            ),
        )

    def catalog(self) -> Catalog:
        """Media of each ASP, or storage groups; table partitions and indexes with their sizes."""
        look = self._fresh()
        rows = {space.name: at for at, space in enumerate(look.spaces)}
        units = look.units
        self._unplaced = frozenset(self._counted().totals.keys() - {unit.number for unit in units})
        ids = np.array([unit.number for unit in units], dtype=np.int64)
        table = UnitTable(
            physical_id=ids,
            key=tuple(str(unit.key) for unit in units),
            kind=np.array([unit.kind for unit in units], dtype=np.int8),
            size_bytes=np.array([unit.size_bytes for unit in units], dtype=np.int64),
            space=np.array([rows[unit.space] for unit in units], dtype=np.int32),
            bundle=ids,
            parent=np.full(len(units), NO_PARENT, dtype=np.int64),
        )
        return Catalog(taken_at=self._clock.now(), spaces=look.spaces, units=table)

    def sample(self) -> Sample:
        """Reads of each unit, where the system tells them; of the others, that it does not.

        Views of disk units, which are slow, are read by ``catalog`` alone.
        """
        taken_at, monotonic = self._clock.now(), self._clock.monotonic()
        look = self._look or self._fresh()
        self._samples += 1
        ids, counters = (
            self._counted().without(self._unplaced).columns([unit.number for unit in look.units], self._samples)
        )
        return Sample(
            taken_at=taken_at,
            monotonic_seconds=monotonic,
            epoch="",
            physical_id=ids,
            counters=counters,
            database={},
            server_seconds=self._clock.monotonic() - monotonic,
        )

    def classify(self, interval: Interval, catalog: Catalog) -> Demand:  # noqa: ARG002  # the contract's
        """Random reads are those a session waited for; a unit without a count of physical reads is not observed."""
        deltas = interval.deltas
        waited = waited_for(deltas)
        rates = np.zeros((SIGNALS, len(interval.physical_id)))
        rates[Signal.LOGICAL_READ] = deltas["logical_reads"] / interval.seconds
        rates[Signal.SYNC_READ] = waited / interval.seconds
        rates[Signal.PREFETCHED_READ] = (deltas["physical_reads"] - waited) / interval.seconds
        return Demand(
            ended_at=interval.ended_at,
            seconds=interval.seconds,
            physical_id=interval.physical_id,
            rates=rates,
            observed=~interval.restarted & (deltas[UNCOUNTED] == 0),
            estimated=ESTIMATED,
            database=DatabaseDemand(),
        )

    def exact_sizes(self, physical_ids: I64) -> I64:
        """Sizes from the catalog; there is no more exact source."""
        sizes = {unit.number: unit.size_bytes for unit in self._fresh().units}
        return np.array([sizes.get(int(number), -1) for number in physical_ids], dtype=np.int64)

    def routes(self, bundle: Bundle, to_space: str) -> tuple[Route, ...] | NoRoute:
        """Never one: the script is in the reason, marked as what it is."""
        look = self._look or self._fresh()
        unit = self._units.get(bundle.key)
        if unit is None:
            return NoRoute(code="gone", sentence=f"{bundle.key} no longer exists")
        if to_space == NOWHERE:
            return NoRoute(code="no_space", sentence=f"{to_space} says that a storage group is not known; it is none")
        statements = unit.script(to_space)
        if not statements:
            why = unit.why_no_script or "has no name here by which a statement may call it"
            return NoRoute(code="no_name", sentence=f"{bundle.key} {why}")
        title = f"{bundle.key} from {bundle.space} to {to_space}; back: {look.undo}"
        return NoRoute(code="plan_only", sentence=script(title, statements))

    def inspect(self, route: Route) -> Inspection:
        """Where the unit is now."""
        self._fresh()
        unit = self._units.get(route.bundle.key)
        if unit is None:
            return Inspection(
                home=Home.GONE, sentence=f"{route.bundle.key} no longer exists", size_bytes=0, on_disk=None
            )
        home = {route.to_space: Home.TARGET, route.bundle.space: Home.SOURCE}.get(unit.space, Home.ELSEWHERE)
        return Inspection(
            home=home, sentence=f"{unit.key} is in {unit.space}", size_bytes=unit.size_bytes, on_disk=None
        )

    def doctor(self) -> tuple[Finding, ...]:
        """Findings on missing rights, and on the scripts that replace moves."""
        look = self._fresh()
        found = [
            Finding.info(
                "plan_only",
                f"{TITLES[self._platform]} {self._session.version}: plans are scripts, nothing is changed",
                ADVICE,
            )
        ]
        counts = self._counted()
        if counts.bounded:
            found.append(
                Finding.info(
                    "index_reads_bounded",
                    "reads of indexes are operations, also those that memory answers: sessions wait less than is shown",
                    "Judge a move of an index by what a trace of the system shows: " + self._instead(look),
                )
            )
        if not counts.totals:
            found.append(
                Finding.warning(
                    "no_physical_reads",
                    "no column here counts physical reads of objects: nothing is ranked, and nothing is cold",
                    self._instead(look),
                )
            )
        found += [
            Finding.warning("source_missing", f"{name}: {error}", error.advice)
            for name, error in self._session.missing.items()
        ]
        return tuple(found)

    def open_mover(self) -> Mover:
        """Never.

        Raises:
            StatementFailed: always.
        """
        raise StatementFailed(f"{TITLES[self._platform]} is plan-only: hotplace changes nothing there", advice=ADVICE)

    def acquire_lease(self, holder: str) -> NoLease:  # noqa: ARG002  # the contract's
        """Nothing to lease: nothing acts."""
        return NoLease()

    def close(self) -> None:
        """End the session."""
        self._session.close()

    def _fresh(self) -> Look:
        if self._platform is Platform.I:
            self._look = look_at_i(self._session)
        else:
            self._look = look_at_zos(self._session, self._settings.storage_groups)
        self._units = {str(unit.key): unit for unit in self._look.units}
        return self._look

    def _counted(self) -> Counted:
        if self._platform is not Platform.I:
            return counted((), ())
        tables = [(*row[:3], row[7], row[8], row[9], row[10]) for row in self._session.rows("i_reads")]
        return counted(tables, self._session.rows("i_index_reads"))

    def _instead(self, look: Look) -> str:
        if self._platform is not Platform.I:
            return "Pin what you know to be hot: LSTATS and IFCID 199 would tell, and reset what the site itself reads."
        asps = sorted({int(space.name[3:].split()[0]) for space in look.spaces})
        return "The system's own balancer can tell: " + "; ".join(
            statement
            for asp in asps
            for statement in trace_and_balance(asp, TRACE_MINUTES, device=look.devices.get(asp, ""))
        )
