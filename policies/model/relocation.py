"""What a plan moves, by the rows of its bundles and spaces: single relocations, and groups of them."""

from __future__ import annotations

from dataclasses import dataclass

from policies.model.moves import MoveReason


@dataclass(frozen=True, slots=True)
class Relocation:
    """One bundle from space to space, by row."""

    bundle: int
    source: int
    target: int
    reason: MoveReason


@dataclass(frozen=True, slots=True)
class Group:
    """Relocations that belong together: those that make room, then the one that uses it."""

    relocations: tuple[Relocation, ...]
    saved: float  # microseconds per hour, all relocations together
    cost: float  # session microseconds
    size: int  # bytes copied
    copying: float  # microseconds that it takes
