"""A benchmark of frozen loads and seeds from the command line: play some or all of them, print the plays or publish."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Generic, Protocol, TypeVar

from tests.bench.measurement import Measurement, in_process
from tests.bench.policies.wandering import frozen
from tests.bench.published import write_rows

WORKERS = 2  # the figures do not depend on it
LONGEST_SECONDS = 3600.0
MODULE = "python -m "


class Told(Protocol):
    """What a play gave."""

    @property
    def sentence(self) -> str:
        """It in one line."""


Play = TypeVar("Play", bound=Told)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench(Generic[Play]):
    """What is played, and what is published of it."""

    command: str
    rows: str  # how the names of its rows begin
    description: str | None
    shapes: Sequence[str]
    seeds: Sequence[int]
    play: Callable[[tuple[str, int, int]], Play]  # of a load's name, seed and hours
    figures: Callable[[Sequence[Play], str], list[Measurement]]  # of plays and the command that plays them again

    def measurements(self, *, quick: bool = False) -> list[Measurement]:
        """The figures of the whole bench or of its small version, from a fresh process."""
        arguments = ["--quick"] if quick else []
        return in_process(self.command.removeprefix(MODULE), *arguments, timeout_seconds=LONGEST_SECONDS)

    def main(self, arguments: list[str]) -> int:
        """Print the figures as one line of JSON, or the plays."""
        usual = {"shapes": ",".join(self.shapes), "seeds": ",".join(map(str, self.seeds))}
        parser = argparse.ArgumentParser(prog=self.command, description=self.description)
        for name, value in usual.items():
            parser.add_argument(f"--{name}", default=value)
        for flag in ("--quick", "--table", "--write"):
            parser.add_argument(flag, action="store_true")
        given = parser.parse_args(arguments)
        if given.write and given.quick:
            parser.error("four days are not published: --write goes without --quick")
        options = [f"--{name} {getattr(given, name)}" for name, value in usual.items() if getattr(given, name) != value]
        seeds = self.seeds[:1] if given.quick else [int(seed) for seed in given.seeds.split(",")]
        hours = frozen.QUICK_HOURS if given.quick else frozen.HOURS
        tasks = [(shape, seed, hours) for seed in seeds for shape in given.shapes.split(",")]
        played = []
        with ProcessPoolExecutor(WORKERS, mp_context=get_context("spawn")) as pool:
            for one in pool.map(self.play, tasks):
                played.append(one)
                if given.table:
                    print(one.sentence, file=sys.stderr, flush=True)
        found = self.figures(played, " ".join([self.command, *options]))
        if given.write:
            write_rows(found, outdated=lambda name: name.startswith(self.rows))
        if not given.table:
            print(json.dumps(found))
        return 0
