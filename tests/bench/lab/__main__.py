"""One experiment, or several: ``python -m tests.bench.lab NAME ... [--quick] [--major 15]``."""

from __future__ import annotations

import argparse
import importlib
import json
import sys

from tests.bench.lab.pace import FULL, QUICK

MINUTES = {  # of a full and of a quick run on two quiet cores, in the order of their worth
    "disks": (1, 0.3),
    "headline": (7, 1),
    "rules": (11, 3),
    "demo": (7, 1.5),
    "forecast": (55, 20),
    "kindness": (4, 1),
    "faults": (3, 1.5),
    "groups": (1.5, 0.7),
    "shifting": (5, 3.5),
    "curves": (9, 3),
    "copy_time": (2.5, 1),
    "copy_intervals": (6, 2.5),
    "third_party": (30, 28),
    "tpcc": (28, 26),
    "inside": (12, 5),
    "split": (6.5, 5),
    "standby": (3.5, 2.5),
    "takeover": (6, 1.5),
    "verdicts": (5, 3),
}
EXPERIMENTS = tuple(MINUTES)
IN_PARTS = frozenset({"rules", "forecast", "inside"})
OF_LOADS = frozenset({"forecast", "third_party"})


def _part(text: str) -> tuple[int, int]:
    """``2/4`` as two numbers.

    Raises:
        ValueError: it is something else.
    """
    number, of = (int(word) for word in text.split("/"))
    if not 1 <= number <= of:
        raise ValueError(f"{text!r} is no part; write 2/4 for the second of four")
    return number, of


def main() -> int:
    """Run them in order; figures as JSON lines on standard output, tables on standard error."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.lab", description=__doc__)
    parser.add_argument("experiment", nargs="+", choices=EXPERIMENTS)
    parser.add_argument("--quick", action="store_true", help="small data, short runs")
    parser.add_argument("--major", type=int, help="PostgreSQL of this version, where the experiment can choose")
    parser.add_argument(
        "--part",
        type=_part,
        metavar="N/OF",
        help="rules, forecast, inside: only this part of its placements or loads, 2/3",
    )
    parser.add_argument(
        "--only", action="append", metavar="LOAD", help="forecast, third_party: only this load; again for another"
    )
    given = parser.parse_args()
    chosen = {"major": given.major} if given.major else {}
    if given.only and not set(given.experiment) <= OF_LOADS:
        parser.error(f"--only is about {' and '.join(sorted(OF_LOADS))} alone")
    if given.only:
        chosen["only"] = given.only
    if given.part and not set(given.experiment) <= IN_PARTS:
        parser.error(f"--part is about {' and '.join(sorted(IN_PARTS))} alone")
    if given.part:
        chosen["part"] = given.part
    for name in given.experiment:
        print(f"{name}: about {MINUTES[name][given.quick]:g} minutes", file=sys.stderr, flush=True)
        module = importlib.import_module(f"tests.bench.lab.{name}")
        for line in module.measurements(QUICK if given.quick else FULL, **chosen):
            print(json.dumps(line))
    return 0


if __name__ == "__main__":
    sys.exit(main())
