"""hotplace against strong simple rules where hot spots move; shapes, seeds and sizes are frozen, see ``wandering``.

Every play is 28 days of hours from an empty fast tier; what counts is the foreground wait saved minus what copying
takes from the foreground. hotplace is played without an approval delay, with two of the seeds also with eight hours;
the rules act at once.

``--shapes A,B`` and ``--seeds 1,2`` play a part, or the shapes that are held out. ``--policy JSON`` plays hotplace with
other settings (keys of the configuration file), ``--samples N`` with N samples an hour. ``--at-once`` leaves out the
play with the delay, ``--quick`` plays four days with one seed. ``--table`` prints a page for people and each play when
it ends. ``--keep FOLDER`` keeps each play in a file and does not repeat those that are there: the table may be played
in parts, by ``--workers N`` at a time. ``--caches`` plays caches of pages only (``page_caches``), next to what hotplace
won on the same loads when these were published; otherwise they are played with the others, but for ``--quick``, and the
rows about them are those of what was played. ``--write`` publishes what was played, with the command that plays it
again: the rows, and the gains from which ``tests.bench.policies.wandering.figure`` draws the picture of the
documentation and ``tests.docs.reference`` its table; ``--days FILE`` writes only the gains, to a file.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path

from tests.bench.measurement import Measurement, in_process
from tests.bench.policies.wandering import days, frozen
from tests.bench.policies.wandering.bound import most_with_copies
from tests.bench.policies.wandering.fixed import BestFixed, most_by_hour
from tests.bench.policies.wandering.held_out import held_out_world
from tests.bench.policies.wandering.kept import keep, read
from tests.bench.policies.wandering.page_caches import ROWS as CACHE_ROWS
from tests.bench.policies.wandering.page_caches import cache_rows, play_caches
from tests.bench.policies.wandering.product import Hotplace
from tests.bench.policies.wandering.rules import play_lru_of_equal_pages, play_rules
from tests.bench.policies.wandering.shapes import world
from tests.bench.policies.wandering.stage import Score, Stage, by_day
from tests.bench.policies.wandering.table import COMMAND, Play, figures, is_row, page
from tests.bench.policies.wandering.world import World
from tests.bench.published import write_rows

WORKERS = 2  # the figures do not depend on it
LONGEST_SECONDS = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One world for one worker."""

    shape: str
    seed: int
    hours: int = frozen.HOURS
    delayed: bool = True
    caches: bool = True
    samples_an_hour: int = 1
    policy: str = "{}"  # JSON


def play(task: Task) -> Play:
    """Every contestant on one world."""
    here = world_of(task)
    at_once = Hotplace(here, policy=json.loads(task.policy), samples_an_hour=task.samples_an_hour)
    return Play(
        shape=task.shape,
        seed=task.seed,
        fixed=Stage(here).play(BestFixed(here)),
        product=Stage(here).play(at_once),
        delayed=play_delayed(task, here) if task.delayed else None,
        rules=tuple(play_rules(here)),
        equal_pages=play_lru_of_equal_pages(here),
        most=by_day(most_by_hour(here)[0]),
        most_paid=most_with_copies(here),
        caches=tuple(play_caches(here)) if task.caches else (),
    )


def play_delayed(task: Task, here: World) -> Score:
    """The product, whose proposals wait for their approval."""
    policy = json.loads(task.policy)
    return Stage(here).play(Hotplace(here, policy=policy, delay_hours=frozen.DELAY_HOURS))


def world_of(task: Task) -> World:
    """What is played."""
    drawn = held_out_world if task.shape in frozen.HELD_OUT else world
    return drawn(task.shape, task.seed, hours=task.hours)


def play_once(task: Task, folder: Path | None) -> Play:
    """As it is kept in the folder, or played now and kept there; the delay or caches that it lacks are played."""
    path = folder / f"{task.shape}-{task.seed}.json" if folder else None
    kept = read(path) if path else None
    played = kept or play(task)
    if task.delayed and played.delayed is None:
        played = replace(played, delayed=play_delayed(task, world_of(task)))
    if task.caches and not played.caches:
        played = replace(played, caches=tuple(play_caches(world_of(task))))
    if path and played != kept:
        keep(played, path)
    return played


def plays(tasks: Sequence[Task], folder: Path | None = None, workers: int = WORKERS) -> Iterator[Play]:
    """The worlds, several at a time, in the order asked for."""
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        yield from pool.map(play_once, tasks, [folder] * len(tasks))


def measurements(*, quick: bool = False) -> list[Measurement]:
    """The figures of the whole bench or of its small version, from a fresh process."""
    arguments = ["--quick"] if quick else ["--days", str(days.PATH)]
    return in_process("tests.bench.policy_wandering", *arguments, timeout_seconds=LONGEST_SECONDS)


def tasks_of(given: argparse.Namespace) -> list[Task]:
    """What was asked for, shape by shape."""
    seeds = frozen.QUICK_SEEDS if given.quick else [int(seed) for seed in given.seeds.split(",")]
    hours = frozen.QUICK_HOURS if given.quick else frozen.HOURS
    return [
        Task(
            shape=shape, seed=seed, hours=hours, policy=given.policy, samples_an_hour=given.samples,
            delayed=not given.at_once and seed in frozen.DELAYED_SEEDS, caches=not given.quick,
        )
        for seed in seeds
        for shape in given.shapes.split(",")
    ]  # fmt: skip


def main(arguments: list[str]) -> int:
    """Print the figures as one line of JSON, or the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.policy_wandering", description=__doc__)
    parser.add_argument("--shapes", default=",".join(frozen.SHAPES))
    parser.add_argument("--seeds", default=",".join(map(str, frozen.SEEDS)))
    parser.add_argument("--policy", default="{}", metavar="JSON")
    parser.add_argument("--samples", type=int, default=1, metavar="N")
    parser.add_argument("--workers", type=int, default=WORKERS, metavar="N")
    parser.add_argument("--keep", type=Path, metavar="FOLDER")
    parser.add_argument("--days", type=Path, metavar="FILE")
    for flag in ("--at-once", "--quick", "--table", "--write", "--caches"):
        parser.add_argument(flag, action="store_true")
    given = parser.parse_args(arguments)
    names = (*frozen.SHAPES, *frozen.HELD_OUT)
    unknown = sorted(set(given.shapes.split(",")) - set(names))
    if unknown:
        parser.error(f"no shape is named {', '.join(unknown)}; there are {', '.join(names)}")
    if given.write and given.quick:
        parser.error("four days are not published: --write goes without --quick")
    if given.caches:
        published = with_caches(days.read(days.PATH), tasks_of(given), given.workers)
        rows = list(cache_rows(published, command_of(given).replace(COMMAND, f"{COMMAND} --caches", 1)))
        if given.write:
            write_rows(rows, outdated=lambda name: name.startswith(CACHE_ROWS))
            days.write(published, days.PATH)
        print(json.dumps(rows))
        return 0
    played = []
    for one in plays(tasks_of(given), given.keep, given.workers):
        played.append(one)
        if given.table:
            print(one.sentence, file=sys.stderr, flush=True)
    command = command_of(given)
    rows = [*figures(played, command), *cache_rows(days.days_of(played), command)]
    if given.write:
        write_rows(rows, outdated=lambda name: is_row(name) or name.startswith(CACHE_ROWS))
    if given.days or given.write:
        days.write(days.days_of(played), given.days or days.PATH)
    print(page(played) if given.table else json.dumps(rows))
    return 0


def with_caches(published: dict[str, days.Days], tasks: Sequence[Task], workers: int) -> dict[str, days.Days]:
    """What was published of the loads, and what each cache wins on those that are played."""
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        for task, gains in zip(tasks, pool.map(play_caches_of, tasks), strict=True):
            totals = {name: {task.seed: gain} for name, gain in gains.items()}
            published[task.shape] = days.with_totals(published[task.shape], totals)
    return published


def play_caches_of(task: Task) -> dict[str, int]:
    """What each cache wins on one load, in whole seconds."""
    return {score.policy: round(score.gain) for score in play_caches(world_of(task))}


def command_of(given: argparse.Namespace) -> str:
    """What plays the same again: whatever is not as it would be by default."""
    options = [
        *(["--at-once"] if given.at_once else []),
        *(f"--{name} {value}" for name, value, usual in _asked(given) if value != usual),
    ]
    return " ".join([COMMAND, *options])


def _asked(given: argparse.Namespace) -> list[tuple[str, str, str]]:
    """Options that change figures, as they were given and as they are when they are not."""
    return [
        ("shapes", given.shapes, ",".join(frozen.SHAPES)),
        ("seeds", given.seeds, ",".join(map(str, frozen.SEEDS))),
        ("policy", f"'{given.policy}'", "'{}'"),
        ("samples", str(given.samples), "1"),
    ]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
