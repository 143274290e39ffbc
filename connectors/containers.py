"""What is under a space: its containers, and how one of them can be taken out while the space keeps the others. Pure.

A container is a file, a device or a folder. What lies in it goes to the other containers of the same table space or
filegroup, so a unit never changes its space, and nothing here knows of units.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    """A file, device or folder under a space."""

    name: str  # as the engine's statements call it: a logical name, a number or the path
    path: str
    size_bytes: int  # allocated
    used_bytes: int | None  # None: the engine does not tell; where it stripes, this container's even share
    growth_bytes: int | None = 0  # how far it may still autoextend; None: unknown
    device: str = ""  # containers that grow into the same room have it in common
    holder: str = ""  # the table space or filegroup that it belongs to, where its space is a place that has several

    @property
    def free_bytes(self) -> int | None:
        """Bytes that still fit into it; None: unknown."""
        if self.used_bytes is None or self.growth_bytes is None:
            return None
        return max(0, self.size_bytes - self.used_bytes) + self.growth_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """Bytes in some containers."""

    used_bytes: int
    free_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ByHand:
    """Statements by which a person takes a container out where hotplace does not do it."""

    statements: tuple[str, ...]  # and comments among them (``connectors.scripts``)
    because: str  # why it is left to a person, one sentence without a full stop


def find_container(containers: Sequence[Container], name: str) -> Container | None:
    """The container of that name or path; None where there is none."""
    return next((c for c in containers if name in (c.name, c.path)), None)


def others(containers: Sequence[Container], name: str) -> tuple[Container, ...]:
    """The containers that can take the bytes of that one: the others of its holder. All, if it does not exist."""
    own = find_container(containers, name)
    return tuple(c for c in containers if own is None or (c is not own and c.holder == own.holder))


def room_in(containers: Sequence[Container]) -> Room | None:
    """What is in them and what can still go there; None where it is unknown.

    Containers on one device grow into the same bytes, which count once: as far as the one of them that may grow most.
    """
    growth: dict[str, int] = {}
    used = inside = 0
    for at, each in enumerate(containers):
        if each.used_bytes is None or each.growth_bytes is None:
            return None
        used += each.used_bytes
        inside += max(0, each.size_bytes - each.used_bytes)
        device = each.device or f"\0{at}"
        growth[device] = max(growth.get(device, 0), each.growth_bytes)
    return Room(used_bytes=used, free_bytes=inside + sum(growth.values()))
