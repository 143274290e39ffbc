"""What the doctor finds in a simulated database: that it is simulated, first of all."""

from __future__ import annotations

from collections.abc import Iterator

from connectors.blocks import BLOCK_HEAT
from connectors.findings import Capability, Finding
from connectors.simulated.server.world import World

FULL = 0.9  # share of a space from which it is worth a word
NO_POOL = "a simulated world has no pool of blocks"
REAL_ENGINE = "Name a real engine to see real figures."
MAY_MOVE = "Set `may_move: true` for the login that moves."


def findings(world: World, *, may_move: bool) -> tuple[Finding, ...]:
    """Everything worth knowing, what is fine included."""
    return (*_nature(world), *_rights(may_move=may_move), *_spaces(world))


def _nature(world: World) -> Iterator[Finding]:
    yield Finding.ok("connected", f"The simulated scenario {world.scenario.name} answers.")
    yield Finding.info(
        "model",
        "All waits and gains are those of a model; no storage is measured.",
        REAL_ENGINE,
    )
    yield Finding.info("block_looks", f"Large tables are not looked into: {NO_POOL}.", REAL_ENGINE)
    if world.store is None:
        yield Finding.info(
            "in_memory", "The world is forgotten at the end of the process.", "Name a file in `state` to keep it."
        )
    if world.settings.faults:
        kinds = sorted({fault.kind.value for fault in world.settings.faults})
        yield Finding.warning("faults", f"Faults are configured: {', '.join(kinds)}.", "Remove `faults` to have none.")


def _rights(*, may_move: bool) -> Iterator[Finding]:
    if not may_move:
        yield Finding.error("may_not_move", "This login may look and not move.", MAY_MOVE, about_moving=True)


def _spaces(world: World) -> Iterator[Finding]:
    with world.turn():
        free = world.placement.free_bytes()
    for row, space in enumerate(world.placement.spaces):
        share = 1.0 - float(free[row]) / space.capacity_bytes
        if share >= FULL:
            yield Finding.warning(
                "space_nearly_full",
                f"{space.name} is {share:.0%} full.",
                f"Move something cold out of {space.name}.",
                values={"space": space.name},
            )
    if len({space.device.name for space in world.placement.spaces}) == 1:
        yield Finding.warning(
            "one_device",
            "All spaces are on one device, so no move can gain anything.",
            "Add a space on another device.",
        )


def capabilities(*, may_move: bool) -> tuple[Capability, ...]:
    """Capabilities of this login."""
    return (
        Capability(name="object_counters", available=True, because="the simulator counts pages of every unit"),
        Capability(name="sync_reads_measured", available=True, because="it tells waited-for reads from read-ahead"),
        Capability(
            name="move",
            available=may_move,
            because="this login may move" if may_move else "`may_move` is false",
            advice="" if may_move else MAY_MOVE,
        ),
        Capability(
            name="move_online",
            available=may_move,
            because="MOVE ... ONLINE copies while sessions go on" if may_move else "`may_move` is false",
            advice="" if may_move else MAY_MOVE,
        ),
        Capability(name=BLOCK_HEAT, available=False, because=NO_POOL, advice=REAL_ENGINE),
    )
