"""What was learned of a database, as the ledger keeps it between runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from agent.ledger import Ledger
from agent.ledger.state_names import (
    ACTIVE_SESSIONS,
    DATABASE_WORK,
    GROWTH,
    HEAT,
    HORIZONS,
    KNOWN_UNITS,
    ROLES,
    SEASONS,
    TIER_SPEED,
)
from agent.sampling.learned import Learned
from agent.sampling.role_figures import roles_document, roles_from_document
from connectors.model import F64, DatabaseDemand
from policies.benefit import device
from policies.benefit.device import DeviceState
from policies.demand import growth, heat, horizons, renamed_units, seasons
from policies.demand.workload import RecentWork, recall_work
from policies.model.plan import TierSpeed

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
    written += state.save_arrays(database, GROWTH, now, growth.growth_arrays(learned.growth))
    if learned.units is not None:
        written += state.save_arrays(database, KNOWN_UNITS, now, renamed_units.known_arrays(learned.units))
    return written


def load_learned(ledger: Ledger, database: str) -> Learned:
    """What is stored, but for the tiers (``load_devices``): their speeds are known once a catalog was read."""
    return Learned(
        heat=_load(ledger, database, HEAT, heat.state_from_arrays, heat.empty_heat),
        seasons=_load(ledger, database, SEASONS, seasons.seasons_from_arrays, seasons.empty_seasons),
        horizons=_load(ledger, database, HORIZONS, horizons.horizons_from_arrays, horizons.HorizonState),
        growth=_load(ledger, database, GROWTH, growth.growth_from_arrays, growth.empty_growth),
        units=_load(ledger, database, KNOWN_UNITS, renamed_units.known_from_arrays, lambda: None),
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
