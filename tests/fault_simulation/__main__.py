"""``make fault-simulation ARGS="--seeds N"``: runs many seeds, shrinks those that fail, and says how to repeat them."""

from __future__ import annotations

import argparse
import gc
import json
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from tests.fault_simulation.fleet.script import draw_fleet
from tests.fault_simulation.records import Record, figures, keep, load, record_fleet, record_forged, record_seed
from tests.fault_simulation.runs import run
from tests.fault_simulation.script import draw

GARBAGE_AFTER = 200_000  # objects: searching for garbage after 700, as usual, takes a tenth of the time


def main() -> int:
    """Run what was asked; 1 where a promise was broken."""
    asked = _arguments()
    gc.set_threshold(GARBAGE_AFTER)
    if asked.seed is not None:
        return _one(asked.seed, asked.keep, fleet=asked.fleet, forgers=asked.forgers)
    seeds = range(asked.first, asked.first + asked.seeds)
    known = load(asked.records) if asked.records else {}
    records = [known[seed] for seed in seeds if seed in known]
    left = [seed for seed in seeds if seed not in known]
    record_one = record_fleet if asked.fleet else record_forged if asked.forgers else record_seed
    for record in _run(left, asked.jobs, record_one):
        records.append(record)
        if asked.records:
            keep(asked.records, record)
        if record.violations:
            print(f"seed {record.seed}", *record.violations, f"repeat it: {record.repeat}", sep="\n  ", flush=True)
        if asked.progress and len(records) % asked.progress == 0:
            print(json.dumps(figures(records)), flush=True)
    print(json.dumps(figures(records), indent=2))
    return int(any(record.violations for record in records))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make fault-simulation", description=__doc__)
    parser.add_argument("--seeds", type=int, default=100, help="how many")
    parser.add_argument("--first", type=int, default=0, help="the first of them")
    parser.add_argument("--seed", type=int, help="tell the story of this one")
    parser.add_argument("--fleet", action="store_true", help="several agents over one ledger on PostgreSQL")
    parser.add_argument("--forgers", action="store_true", help="forgers among the actors: people sign, others forge")
    parser.add_argument("--keep", help="with --seed: the numbers of the events that happen, or none")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--records", type=Path, help="a file that keeps what was found; seeds in it are not run again")
    parser.add_argument("--progress", type=int, default=0, help="tell the figures so far after so many seeds")
    return parser.parse_args()


def _run(seeds: list[int], jobs: int, record: Callable[[int], Record]) -> Iterable[Record]:
    if jobs == 1:
        yield from map(record, seeds)
        return
    with ProcessPoolExecutor(jobs, max_tasks_per_child=200) as pool:
        yield from pool.map(record, seeds, chunksize=4)


def _one(seed: int, events: str | None, *, fleet: bool, forgers: bool) -> int:
    script = draw_fleet(seed) if fleet else draw(seed, forgers=forgers)
    if events is not None:
        script = script.keep([] if events == "none" else [int(number) for number in events.split(",")])
    report = run(script)
    print(script.fleet or script.site, *report.story, *report.violations, sep="\n")
    return int(bool(report.violations))


if __name__ == "__main__":
    sys.exit(main())
