"""The state file of a world: only what differs from the scenario is written."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from connectors.base import CannotConnect
from connectors.model import Bools, UnitKind
from connectors.simulated.server.placement import Running
from connectors.simulated.server.units import UnitSpec
from connectors.simulated.server.world_state import WorldState

FORMAT = 1
SCALARS = ("work", "reset_at", "resets", "virtual_seconds", "anchor")


def _identity(world: WorldState) -> dict[str, Any]:
    """What identifies the world that a file belongs to."""
    return {
        "format": FORMAT,
        "scenario": world.scenario.name,
        "seed": world.settings.seed,
        "units": len(world.scenario.units),
    }


def _differing(world: WorldState) -> Bools:
    """Units that are not as the scenario and the last reset left them; created ones always differ."""
    start, units = world.scenario.units, world.placement.units
    n = len(start)
    differs = (world.since != world.reset_at) | world.extra.any(axis=0) | ~units.alive
    differs[:n] |= (units.space[:n] != start.space) | (units.physical_id[:n] != start.physical_id)
    differs[n:] = True
    return np.asarray(differs, dtype=np.bool_)


def content_of(world: WorldState) -> dict[str, Any]:
    """The world as JSON values."""
    units = world.placement.units
    rows = [
        [
            int(row), int(units.physical_id[row]), int(units.space[row]), bool(units.alive[row]),
            float(world.since[row]), [float(value) for value in world.extra[:, row]],
        ]
        for row in np.flatnonzero(_differing(world))
    ]  # fmt: skip
    return {
        **_identity(world),
        **{name: getattr(world, name) for name in SCALARS},
        "totals": world.totals,
        "seen": world.faults.seen,
        "created": [[first_id, [spec.plain() for spec in specs]] for first_id, specs in world.created],
        "rows": rows,
        "running": [asdict(move) for move in world.placement.running.values()],
        "last_token": world.placement.last_token,
    }


def restore(world: WorldState, content: dict[str, Any]) -> None:
    """Bring the world to what a file holds.

    Raises:
        CannotConnect: the file is of another world or damaged.
    """
    wanted = _identity(world)
    found = {name: content.get(name) for name in wanted}
    if found != wanted:
        raise CannotConnect(
            f"the state file holds another world: {found}, configured is {wanted}",
            advice="Name another file in `state`, or configure the world that it holds.",
        )
    try:
        _fill(world, content)
    except (LookupError, TypeError, ValueError, OverflowError) as error:
        world.start_over()
        raise CannotConnect(
            f"the state file is damaged: {error!r}", advice="Restore it, or remove it to start over."
        ) from error


def _fill(world: WorldState, content: dict[str, Any]) -> None:
    world.start_over()
    _create_again(world, content["created"])
    for name in SCALARS:
        setattr(world, name, content[name])
    world.totals = {name: float(content["totals"].get(name, 0.0)) for name in world.totals}
    world.faults.seen = dict(content["seen"])
    world.since[:] = world.reset_at
    units = world.placement.units
    for row, physical_id, space, alive, since, extra in content["rows"]:
        units.physical_id[row], units.space[row], units.alive[row] = physical_id, space, alive
        world.since[row], world.extra[:, row] = since, extra
    world.placement.running = {move["token"]: Running(**move) for move in content["running"]}
    world.placement.last_token = content["last_token"]
    world.placement.index()
    world.mark_changed()


def _create_again(world: WorldState, created: list[tuple[int, list[dict[str, Any]]]]) -> None:
    """Append the rows of created units; which of them still live, and where, the rows of the file say."""
    for first_id, plain in created:
        world.append(first_id, [UnitSpec(**{**spec, "kind": UnitKind(spec["kind"])}) for spec in plain])
