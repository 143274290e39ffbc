"""Which mistakes are made: a sample by a seed of all that the rooms of acting, keeping, judging and planning allow."""

from __future__ import annotations

import hashlib
import random
from dataclasses import dataclass
from pathlib import Path

from tests.mutants.operators import Change, changes

ROOT = Path(__file__).parents[2]
ROOMS = ("agent/execution", "agent/ledger", "agent/verification", "agent/planning")
LEFT_OUT = "agent/ledger/migrations/"  # as they were, for ever
SEED, DRAWN = 23, 300


@dataclass(frozen=True, slots=True)
class Mutant:
    """One mistake in one module."""

    path: str  # within the project
    change: Change
    text: str  # of the module as it is

    @property
    def name(self) -> str:
        """Where and what, and of which text."""
        return f"{self.path}:{self.change.line}:{self.change.start} {self.change.kind} [{_digest(self.text)}]"

    @property
    def sentence(self) -> str:
        """For people."""
        before, after = (" ".join(each.split())[:90] for each in (self.change.before, self.change.after))
        return f"{self.path}:{self.change.line} {self.change.kind}: {before} -> {after}"


def draw(count: int = DRAWN, seed: int = SEED, rooms: tuple[str, ...] = ROOMS) -> list[Mutant]:
    """A sample in the order in which it was drawn: the first n of it are a sample too."""
    every = [mutant for room in rooms for mutant in _of_room(room)]
    return random.Random(seed).sample(every, min(count, len(every)))


def _of_room(room: str) -> list[Mutant]:
    paths = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / room).rglob("*.py"))
    return [mutant for path in paths if not path.startswith(LEFT_OUT) for mutant in mutants_of(path)]


def mutants_of(path: str) -> list[Mutant]:
    """All mistakes of one module."""
    text = (ROOT / path).read_text(encoding="utf-8")
    return [Mutant(path, change, text) for change in changes(text)]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]
