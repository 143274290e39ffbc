"""What was learned of a database, as the ledger keeps it between runs.

Which units the last catalog no longer has: their slots stay, and nothing offers their names any more.

Figures of logs, temporary and undo spaces as the ledger keeps them between runs.

How full tiers were when plans were made: by the hour for a week, then by the day, for people who look back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from agent.ledger.ledger import Ledger
from agent.ledger.state_names import (
    ACTIVE_SESSIONS,
    DATABASE_WORK,
    GONE_UNITS,
    GROWTH,
    HEAT,
    HORIZONS,
    KNOWN_UNITS,
    ROLES,
    SEASONS,
    TIER_FILL,
    TIER_SPEED,
)
from agent.sampling.learned import Learned
from connectors.model.observation import F64, I64, ROLE_FIGURES, DatabaseDemand, Role, RoleFigures
from policies.evidence import capacity, device, heat, horizons, seasons
from policies.evidence.device import DeviceState
from policies.evidence.workload import RecentWork, recall_work
from policies.model.plan import Situation
from policies.model.settings import TierSpeed


def note_gone_units(ledger: Ledger, database: str, slots: I64) -> None:
    """Store which slots belong to no unit now; nothing is written where that has not changed.

    Args:
        ledger: the durable record.
        database: its name.
        slots: of the units that there are.
    """
    gone = np.setdiff1d(np.arange(ledger.slots.count(database)), slots).tolist()
    stored = ledger.state.load_document(database, GONE_UNITS)
    if gone != ([] if stored is None else stored[1]):
        ledger.state.save_document(database, GONE_UNITS, gone)


def roles_document(roles: Iterable[RoleFigures]) -> list[dict[str, Any]]:
    """Rates as JSON values; what is unknown is left out, since JSON knows no NaN."""
    return [
        {"role": figures.role.value, "name": figures.name, "note": figures.note, **_without_nan(figures)}
        for figures in roles
    ]


def roles_from_document(plain: Iterable[Mapping[str, Any]]) -> tuple[RoleFigures, ...]:
    """Inverse of ``roles_document``."""
    return tuple(RoleFigures(**{**figures, "role": Role(figures["role"])}) for figures in plain)


def _without_nan(figures: RoleFigures) -> dict[str, float]:
    values = {name: getattr(figures, name) for name in ROLE_FIGURES}
    return {name: value for name, value in values.items() if value == value}


State = TypeVar("State")


def save_learned(
    ledger: Ledger,
    database: str,
    now: datetime,
    learned: Learned,
    speeds: Sequence[TierSpeed] | None,
    *,
    with_work: bool,
) -> int:
    """Store it; returns the bytes of the arrays.

    Args:
        ledger: the durable record.
        database: name of the database.
        now: time of the arrays.
        learned: what to store.
        speeds: the configured speeds that the evidence about tiers was gathered against; None: no catalog was read yet,
            so that the stored evidence was not loaded and stays.
        with_work: store the work of the database too. Without an interval since the start it is what was loaded, with
            half its weight, and stays as it is stored.
    """
    state = ledger.state
    written = state.save_arrays(database, HEAT, now, heat.state_arrays(learned.heat))
    if speeds is not None:
        evidence = {**device.device_arrays(learned.devices), "configured": _speed_column(speeds)}
        written += state.save_arrays(database, TIER_SPEED, now, evidence)
    if with_work:
        _save_work(ledger, database, learned.work)
    written += state.save_arrays(database, SEASONS, now, seasons.season_arrays(learned.seasons))
    written += state.save_arrays(database, HORIZONS, now, horizons.horizon_arrays(learned.horizons))
    written += state.save_arrays(database, GROWTH, now, capacity.growth_arrays(learned.growth))
    if learned.units is not None:
        written += state.save_arrays(database, KNOWN_UNITS, now, heat.known_arrays(learned.units))
    return written


def load_learned(ledger: Ledger, database: str) -> Learned:
    """What is stored, but for the tiers (``load_devices``): their speeds are known once a catalog was read."""
    return Learned(
        heat=_load(ledger, database, HEAT, heat.state_from_arrays, heat.empty_heat),
        seasons=_load(ledger, database, SEASONS, seasons.seasons_from_arrays, seasons.empty_seasons),
        horizons=_load(ledger, database, HORIZONS, horizons.horizons_from_arrays, horizons.HorizonState),
        growth=_load(ledger, database, GROWTH, capacity.growth_from_arrays, capacity.empty_growth),
        units=_load(ledger, database, KNOWN_UNITS, heat.known_from_arrays, lambda: None),
        work=_load_work(ledger, database),
    )


def load_devices(ledger: Ledger, database: str, speeds: Sequence[TierSpeed]) -> DeviceState:
    """The stored evidence about tiers; none if other speeds were configured when it was gathered."""
    stored = ledger.state.load_arrays(database, TIER_SPEED)
    # Evidence is kept as factors of the configured speeds; applied to other ones they would mean read times that
    # nothing has measured.
    if stored is None or not np.array_equal(stored[1]["configured"], _speed_column(speeds)):
        return device.empty_devices(len(speeds))
    return device.devices_from_arrays(stored[1])


def _save_work(ledger: Ledger, database: str, work: RecentWork) -> None:
    mean, sessions = asdict(work.mean()), work.mean_sessions()
    known = {rate: value for rate, value in mean.items() if value == value}  # JSON knows no NaN
    ledger.state.save_document(database, DATABASE_WORK, known)
    ledger.state.save_document(database, ROLES, roles_document(work.mean_roles()))
    short, long = work.memory_shares()
    at_work = {"active": sessions, "pace": work.pace(), "remembered": short, "remembered_long": long}
    ledger.state.save_document(
        database, ACTIVE_SESSIONS, {name: each for name, each in at_work.items() if each == each}
    )


def _load_work(ledger: Ledger, database: str) -> RecentWork:
    """The work of the database before a restart, at half its weight at most: a move's costs depend on who is active."""
    work, roles, sessions = (
        ledger.state.load_document(database, name) for name in (DATABASE_WORK, ROLES, ACTIVE_SESSIONS)
    )
    at_work = sessions[1] if sessions else {}
    return recall_work(
        DatabaseDemand(**(work[1] if work else {})),
        roles_from_document(roles[1]) if roles else (),
        float(at_work.get("active", "nan")),
        float(at_work.get("pace", 1.0)),
        (float(at_work.get("remembered", 1.0)), float(at_work.get("remembered_long", 1.0))),
    )


def _load(
    ledger: Ledger,
    database: str,
    name: str,
    parse: Callable[[Mapping[str, NDArray[Any]]], State],
    default: Callable[[], State],
) -> State:
    """One set of arrays; its buffers are released before the next set is read."""
    stored = ledger.state.load_arrays(database, name)
    return default() if stored is None else parse(stored[1])


def _speed_column(speeds: Sequence[TierSpeed]) -> F64:
    """What calibration starts from, as numbers that can be compared."""
    return np.array([(speed.random_read_seconds, speed.sequential_read_seconds) for speed in speeds]).ravel()


BY_THE_HOUR = timedelta(days=7)
KEPT = timedelta(days=90)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fill:
    """One look at all tiers."""

    at: datetime
    used_bytes: dict[str, int]  # by tier, of the volumes of its spaces, whatever takes them
    capacity_bytes: dict[str, int | None]  # of those volumes; None: of a space of the tier it is not known


def fill_of(at: datetime, situation: Situation) -> Fill:
    """How full each tier is; spaces that no tier names are left out."""
    used: dict[str, int] = {}
    capacity: dict[str, int | None] = {}
    for row, tier in enumerate(situation.tiers):
        within = [situation.spaces[space] for space in np.flatnonzero(situation.tier_of_space == row)]
        volumes = [space.volume for space in within]
        known = [volume.capacity_bytes for volume in volumes if volume is not None]
        used[tier.name] = sum(
            space.used_bytes if volume is None else volume.used_bytes
            for space, volume in zip(within, volumes, strict=True)
        )
        capacity[tier.name] = sum(known) if len(known) == len(within) else None
    return Fill(at=at, used_bytes=used, capacity_bytes=capacity)


def record_fill(ledger: Ledger, database: str, fill: Fill) -> None:
    """Add a look to the stored ones; it replaces an earlier one of the same hour."""
    earlier = [each for each in recorded_fills(ledger, database) if each.at < fill.at and _hour(each) != _hour(fill)]
    ledger.state.save_document(database, TIER_FILL, [_document(each) for each in _thin_out([*earlier, fill])])


def recorded_fills(ledger: Ledger, database: str) -> list[Fill]:
    """All that is stored, the oldest first."""
    stored = ledger.state.load_document(database, TIER_FILL)
    return [] if stored is None else [_fill(plain) for plain in stored[1]]


def _hour(fill: Fill) -> datetime:
    return fill.at.replace(minute=0, second=0, microsecond=0)


def _thin_out(fills: Iterable[Fill]) -> list[Fill]:
    """By the hour in the last week, the last of each day before, and none older than ``KEPT``."""
    found = list(fills)
    now = found[-1].at
    of_day = {each.at.date(): each for each in found}
    return [
        each
        for each in found
        if now - each.at < BY_THE_HOUR or (now - each.at < KEPT and of_day[each.at.date()] is each)
    ]


def _document(fill: Fill) -> dict[str, Any]:
    return {"at": fill.at.isoformat(), "used_bytes": fill.used_bytes, "capacity_bytes": fill.capacity_bytes}


def _fill(plain: dict[str, Any]) -> Fill:
    at = datetime.fromisoformat(plain["at"])
    return Fill(at=at, used_bytes=plain["used_bytes"], capacity_bytes=plain["capacity_bytes"])
