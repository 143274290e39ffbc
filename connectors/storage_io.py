"""I/O that belongs to no unit: of whole spaces, and of logs, temporary and undo space."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

_F64 = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceFigures:
    """I/O per space, for engines that time it there: totals in a Sample, differences in an Interval, rates in a Demand.

    A figure that the engine does not keep is NaN.
    """

    name: tuple[str, ...]  # of Space
    reads: _F64  # random ones that sessions waited for
    read_seconds: _F64  # how long they waited for those
    writes: _F64
    write_seconds: _F64

    def __post_init__(self) -> None:
        lengths = {len(c) for c in (self.name, self.reads, self.read_seconds, self.writes, self.write_seconds)}
        if len(lengths) > 1:
            raise ValueError(f"columns of space figures differ in length: {sorted(lengths)}")


class Role(StrEnum):
    """What a device does for the database besides holding units."""

    LOG = "log"
    TEMP = "temp"  # sorts and temporary tables
    UNDO = "undo"


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleFigures:
    """I/O of a log, temporary or undo space: totals in a Sample, differences in an Interval, rates in a Demand.

    A figure that the engine does not keep is NaN.
    """

    role: Role
    name: str  # the engine's own word for it, or the space
    reads: float = float("nan")
    read_seconds: float = float("nan")
    writes: float = float("nan")
    write_seconds: float = float("nan")
    waited_seconds: float = float("nan")  # that sessions waited for it, of either kind
    written_bytes: float = float("nan")
    active_seconds: float = float("nan")  # that all sessions it serves spent executing; NaN: it serves this database
    note: str = ""  # what must be known of these figures: a bound, what is not timed and why

    def per_second(self, seconds: float) -> RoleFigures:
        """Differences as rates."""
        return replace(self, **{name: getattr(self, name) / seconds for name in ROLE_FIGURES})


ROLE_FIGURES = tuple(f.name for f in fields(RoleFigures) if f.name not in ("role", "name", "note"))
