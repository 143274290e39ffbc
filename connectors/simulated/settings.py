"""The ``connection:`` part of a simulated database, and what can go wrong in it.

What can go wrong, declared as data and decided by the seed, so that a run can be repeated exactly.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from enum import StrEnum
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from connectors.kit.settings import ConfigPath


class FaultKind(StrEnum):
    """One way to fail; ``WHY`` says why a correct agent lives through it."""

    LOST_SAMPLE = "lost_sample"
    COUNTER_RESET = "counter_reset"
    UNIT_RESET = "unit_reset"
    SLOW_CATALOG = "slow_catalog"
    LOCK_NOT_OBTAINED = "lock_not_obtained"
    SPACE_FULL = "space_full"
    BROKEN_BEFORE = "broken_before"
    BROKEN_AFTER = "broken_after"


WHY = {
    FaultKind.LOST_SAMPLE: "a busy server misses the time limit; the next sample spans the gap and nothing looks cold",
    FaultKind.COUNTER_RESET: "statistics are reset or the server restarts; a counter that fell is no heat",
    FaultKind.UNIT_RESET: "an object is rebuilt or reset on its own, the epoch stays; only that unit is not observed",
    FaultKind.SLOW_CATALOG: "a catalog with many objects answers late; sampling and moves must not wait for it",
    FaultKind.LOCK_NOT_OBTAINED: "a long transaction holds the table; nothing changed, trying later may succeed",
    FaultKind.SPACE_FULL: "the target was filled since the plan; nothing changed, a retry does not help",
    FaultKind.BROKEN_BEFORE: "the session died and the statement was rolled back; only the catalog can tell",
    FaultKind.BROKEN_AFTER: "the session died after the commit; repeating it blindly would be wrong",
}


class Fault(BaseModel):
    """When one kind of fault strikes: at exact opportunities, or by chance.

    An opportunity is one call of ``sample()``, ``catalog()`` or ``execute()``, whichever the kind can strike.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    kind: FaultKind
    at: tuple[int, ...] = ()  # opportunities, counted from 1
    probability: float = Field(default=0.0, ge=0.0, le=1.0)  # of every other opportunity, decided by the seed
    unit: str = ""  # unit_reset: key of the unit; "": the one with the most waited-for reads
    seconds: float = Field(default=30.0, ge=0.0)  # slow_catalog: how late it answers

    @model_validator(mode="after")
    def _strikes_at_all(self) -> Self:
        if not self.at and not self.probability:
            raise ValueError("a fault needs `at` or `probability`")
        return self


class FaultPlan:
    """Decides which opportunity is struck. ``seen`` counts opportunities and is part of the world's state."""

    def __init__(self, faults: Sequence[Fault], seed: int) -> None:
        self._faults = tuple(faults)
        self._seed = seed
        self._armed: Counter[FaultKind] = Counter()
        self.seen: dict[str, int] = {}

    def arm(self, kind: FaultKind) -> None:
        """Strike at the next opportunity, once."""
        self._armed[kind] += 1

    def strikes(self, kind: FaultKind) -> Fault | None:
        """Count one opportunity and return the fault that strikes it, if any."""
        self.seen[kind] = count = self.seen.get(kind, 0) + 1
        if self._armed[kind]:
            self._armed[kind] -= 1
            return Fault(kind=kind, at=(count,))
        for fault in self._faults:
            if fault.kind is kind and (count in fault.at or self._chance(kind, count) < fault.probability):
                return fault
        return None

    def _chance(self, kind: FaultKind, count: int) -> float:
        """A number in [0, 1) that depends on seed, kind and count only."""
        # A hash of the opportunity and no generator: with a generator one more sample would shift every later fault of
        # every kind, and a world taken up again from its file would need the generator's state in it.
        text = f"{self._seed}/{kind}/{count}".encode()
        return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big") / 2.0**64


MOST_UNITS = 1_000_000


class SimulatedSettings(BaseModel):
    """Which world, at which speed, with which faults.

    Connections made in one process with equal settings (``may_move`` aside) and the same clock see one world. With
    ``state`` so do different processes.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    scenario: Literal["oltp", "synthetic", "eight_tables"] = "oltp"
    seed: int = Field(default=1, ge=0)
    units: int = Field(default=1000, ge=1, le=MOST_UNITS)  # of the synthetic scenario
    state: ConfigPath | None = None  # JSON file; None: the world lives and dies with the process
    speed: float = Field(default=1.0, gt=0.0, le=1e6)  # virtual seconds per second of the clock
    may_move: bool = True  # whether this login has the right to move anything
    faults: tuple[Fault, ...] = ()


SAMPLE_SETTINGS = """\
scenario: oltp      # oltp, synthetic (as many `units` as you like, Zipf heat) or eight_tables
seed: 1             # the same seed gives the same world
# units: 1000       # synthetic only, up to 1000000
state: simulated-world.json   # without it the world is forgotten at the end of each command
# speed: 1          # virtual seconds per second; rates are per second of your clock, so more looks busier
# faults:           # what shall go wrong, e.g. a lost sample and a lock that is not obtained
#   - {kind: lost_sample, probability: 0.05}
#   - {kind: lock_not_obtained, at: [1]}
"""
