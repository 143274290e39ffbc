"""Db2 for i and z/OS as the rest of hotplace sees them: everything that looks, nothing that acts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from connectors.db2.plan_only import new_space
from connectors.db2.plan_only.ibm_i import Asp, traced_balance
from connectors.db2.plan_only.look import (
    NOWHERE,
    UNCOUNTED,
    Counted,
    Look,
    Seen,
    counted,
    look_at_i,
    look_at_zos,
    waited_for,
)
from connectors.db2.plan_only.session import PlanSession
from connectors.db2.sessions import TITLES, Platform
from connectors.db2.settings import Db2Settings
from connectors.kit.contract import Clock, Mover, StatementFailed
from connectors.kit.findings import Capability, Finding
from connectors.model.moves import BY_HAND, Bundle, Locked, NoRoute, Route
from connectors.model.new_space import SpaceAnswer, WantedSpace, makes_or_drops_space
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
ADVICE = (
    "Moves are by hand: `hotplace plan --propose --script FILE` writes them to one file; what is approved before it is "
    "run is measured."
)
LOCKS = {
    Platform.I: "the file for a moment; on releases without the newest PTFs for as long as it is moved",
    Platform.ZOS: "all use for a moment, from -STOP to -START; then writes while REORG copies, and all use at its end",
}
NOTES = {
    Platform.I: (),
    Platform.ZOS: (
        "the catalog shows the new storage group from the ALTER on; whether REORG has moved it is not seen",
    ),
}
LOCK_SECONDS = 5.0  # IBM says "seconds" of IBM i with newer PTFs; of z/OS, what -STOP waits is not known
NOT_SHOWN = {
    of: f"No such view, or this login may not read it; see {script} (hotplace deploy privileges --engine db2)."
    for of, script in ((Platform.I, "db2-i-observe.sql"), (Platform.ZOS, "db2-zos-observe.sql"))
}
FEW = 5  # names in a sentence that would be long
LOCKED = {Platform.I: Locked.BRIEFLY, Platform.ZOS: Locked.WRITES}


class NoLease:
    """Nothing acts, so nothing has to be kept from acting at once."""

    def is_held(self) -> bool:
        """Always."""
        return True

    def release(self) -> None:
        """Nothing to give up."""


class PlanOnlyConnector:
    """Reads; its routes are by hand."""

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
        counted_units = self._counted().totals.keys()
        self._unplaced = frozenset(counted_units - {unit.number for unit in units})
        ids = np.array([unit.number for unit in units], dtype=np.int64)
        table = UnitTable(
            physical_id=ids,
            key=tuple(str(unit.key) for unit in units),
            kind=np.array([unit.kind for unit in units], dtype=np.int8),
            size_bytes=np.array([unit.size_bytes for unit in units], dtype=np.int64),
            space=np.array([rows[unit.space] for unit in units], dtype=np.int32),
            bundle=_bundles(units),
            parent=np.full(len(units), NO_PARENT, dtype=np.int64),
            uncounted=np.array([unit.number not in counted_units for unit in units], dtype=np.bool_),
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
        """What a person runs, or why there is nothing."""
        unit = self._units_seen().get(bundle.key)
        if unit is None:
            return NoRoute(code="gone", sentence=f"{bundle.key} no longer exists")
        if to_space == NOWHERE:
            return NoRoute(code="no_space", sentence=f"{to_space} says that a storage group is not known; it is none")
        unmanaged = "has no storage group that is known here: its user may manage its data sets"
        by_hand = unmanaged if unit.space == NOWHERE else unit.script(to_space)
        if isinstance(by_hand, str):
            return NoRoute(code="no_script", sentence=f"{bundle.key} {by_hand}")
        locked = LOCKED[self._platform]
        route = Route(
            name=BY_HAND, bundle=bundle, to_space=to_space, prologue=(), steps=(), undo_steps=(),
            online=locked is Locked.BRIEFLY, locks=LOCKS[self._platform], log_bytes=0, transient_bytes=0, locked=locked,
            lock_seconds=LOCK_SECONDS, notes=NOTES[self._platform], by_hand=by_hand,
        )  # fmt: skip
        return (route,)

    def routes_new_space(self, wanted: WantedSpace, *, moves: bool) -> SpaceAnswer:  # noqa: ARG002 (as the protocol)
        """See ``new_space``; nothing acts here, so ``moves`` says nothing."""
        made = new_space.new_units if self._platform is Platform.I else new_space.new_storage_group
        return made(wanted, self._session)

    def inspect(self, route: Route) -> Inspection:
        """Where the unit is now, or whether the space is there."""
        if makes_or_drops_space(route):
            look = new_space.inspect_units if self._platform is Platform.I else new_space.inspect_storage_group
            return look(route, self._session)
        self._fresh()
        unit = self._units.get(route.bundle.key)
        if unit is None:
            return Inspection(
                home=Home.GONE, sentence=f"{route.bundle.key} no longer exists", size_bytes=0, on_disk=None
            )
        units = [each for key in route.bundle.unit_keys if (each := self._units.get(key)) is not None] or [unit]
        spaces = {each.space for each in units}
        home = {route.to_space: Home.TARGET, route.bundle.space: Home.SOURCE}.get(unit.space, Home.ELSEWHERE)
        return Inspection(
            home=home if len(spaces) == 1 else Home.ELSEWHERE,
            sentence=f"{unit.key} is in {', '.join(sorted(spaces))}",
            size_bytes=sum(each.size_bytes for each in units),
            on_disk=None,
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
        if look.unlisted:
            found.append(
                Finding.warning(
                    "no_statistics",
                    f"SYSIBM.SYSTABLESPACESTATS has no row of {len(look.unlisted)} table space(s); no list shows "
                    "them: "
                    f"{', '.join(look.unlisted[:FEW])}{', ...' if len(look.unlisted) > FEW else ''}",
                    "Use them once, or run RUNSTATS or REORG: then Db2 writes the row of their size.",
                )
            )
        found += [
            Finding.warning("source_missing", f"{name}: {error}", NOT_SHOWN[self._platform])
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

    def _units_seen(self) -> Mapping[str, Seen]:
        if self._look is None:
            self._fresh()
        return self._units

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
            statement for asp in asps for statement in traced_balance(Asp(asp, look.devices.get(asp, "")))
        )


def _bundles(units: Sequence[Seen]) -> I64:
    """Number of what each unit moves with: of itself, or of the first of those that one script moves."""
    first: dict[str, int] = {}
    return np.array(
        [first.setdefault(unit.together, unit.number) if unit.together else unit.number for unit in units],
        dtype=np.int64,
    )
