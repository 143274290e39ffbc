"""Which mistakes are made: a sample by a seed of all that the rooms of acting, keeping, judging and planning allow."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from tests.mutants.operators import Change, changes

ROOT = Path(__file__).parents[2]
ROOMS = ("agent/moving", "agent/ledger", "agent/planning")
LEFT_OUT = "agent/ledger/migrations/"  # as they were, for ever
SEED, DRAWN = 23, 300
FIXED = Path(__file__).parent / "fixed.tsv"  # 60 that were drawn and noticed: what a quicker suite has to notice still


@dataclass(frozen=True, slots=True)
class Mutant:
    """One mistake in one module."""

    path: str  # within the project
    change: Change
    text: str  # of the module as it is
    number: int = 1  # among those of its module that read the same

    @property
    def name(self) -> str:
        """What it changes: the same whatever else of its module or of others becomes another text."""
        before, after = (" ".join(each.split()) for each in (self.change.before, self.change.after))
        return f"{self.path} {self.change.kind}: {before} -> {after} #{self.number}"

    @property
    def sentence(self) -> str:
        """For people."""
        before, after = (" ".join(each.split())[:90] for each in (self.change.before, self.change.after))
        return f"{self.path}:{self.change.line} {self.change.kind}: {before} -> {after}"


def draw(count: int = DRAWN, seed: int = SEED, rooms: tuple[str, ...] = ROOMS) -> list[Mutant]:
    """A sample in the order in which it was drawn: the first n of it are a sample too.

    Each mistake has its place in the order by its name and the seed alone, so that what is edited elsewhere leaves it
    in the sample, and what was said of it stays true.
    """
    every = (mutant for room in rooms for mutant in _of_room(room))
    return sorted(every, key=lambda mutant: _digest(f"{seed} {mutant.name}"))[:count]


def fixed() -> list[tuple[Mutant, str]]:
    """The mistakes of ``fixed.tsv``, each with the test that noticed it first.

    Raises:
        LookupError: the code that one of them changes is another by now.
    """
    every = {mutant.name: mutant for room in ROOMS for mutant in _of_room(room)}
    lines = (line.split("\t") for line in FIXED.read_text(encoding="utf-8").splitlines())
    found = [(every.get(name), name, test) for name, test in lines]
    if gone := [name for mutant, name, _ in found if mutant is None]:
        raise LookupError(f"no longer in the code, take others: {gone}")
    return [(mutant, test) for mutant, _, test in found if mutant is not None]


def _of_room(room: str) -> list[Mutant]:
    paths = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / room).rglob("*.py"))
    return [mutant for path in paths if not path.startswith(LEFT_OUT) for mutant in mutants_of(path)]


def mutants_of(path: str) -> list[Mutant]:
    """All mistakes of one module."""
    text = (ROOT / path).read_text(encoding="utf-8")
    seen: Counter[tuple[str, str, str]] = Counter()
    found = []
    for change in changes(text):
        alike = change.kind, change.before, change.after
        seen[alike] += 1
        found.append(Mutant(path, change, text, seen[alike]))
    return found


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
