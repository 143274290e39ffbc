"""``make fault-simulation ARGS="--seeds N"``: runs many seeds, shrinks those that fail, and says how to repeat them."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor

from tests.fault_simulation.oracles import ORACLES
from tests.fault_simulation.runs import repeat_command, run, run_seed, shrunk
from tests.fault_simulation.script import draw
from tests.fault_simulation.site import Report


def main() -> int:
    """Run what was asked; 1 where a promise was broken."""
    asked = _arguments()
    if asked.seed is not None:
        return _one(asked.seed, asked.keep)
    started, total, failed = time.perf_counter(), _Total(), 0
    seeds = range(asked.first, asked.first + asked.seeds)
    with ProcessPoolExecutor(asked.jobs, max_tasks_per_child=200 if asked.jobs > 1 else None) as pool:
        runs = map(run_seed, seeds) if asked.jobs == 1 else pool.map(run_seed, seeds, chunksize=4)
        for report in runs:
            total.add(report)
            if report.violations:
                failed += 1
                _explain(report)
            if asked.progress and total.seeds % asked.progress == 0:
                print(f"{total.seeds} seeds, {failed} failed", file=sys.stderr)
    print(json.dumps(total.figures(failed, time.perf_counter() - started), indent=2))
    return int(failed > 0)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make fault-simulation", description=__doc__)
    parser.add_argument("--seeds", type=int, default=100, help="how many")
    parser.add_argument("--first", type=int, default=0, help="the first of them")
    parser.add_argument("--seed", type=int, help="tell the story of this one")
    parser.add_argument("--keep", help="with --seed: the numbers of the events that happen, or none")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--progress", type=int, default=0, help="say so often how far it is")
    return parser.parse_args()


def _one(seed: int, keep: str | None) -> int:
    script = draw(seed)
    if keep is not None:
        script = script.keep([] if keep == "none" else [int(number) for number in keep.split(",")])
    report = run(script)
    print(script.site, *report.story, *report.violations, sep="\n")
    return int(bool(report.violations))


def _explain(report: Report) -> None:
    numbers, smallest = shrunk(report)
    for each in smallest.violations:
        print(f"seed {report.script.seed}: {each.oracle}: {each.sentence}")
    print(f"  repeat it: {repeat_command(report.script.seed, numbers)}", flush=True)


class _Total:
    """Sums over runs."""

    def __init__(self) -> None:
        self.seeds, self.hours = 0, 0.0
        self.struck: Counter[str] = Counter()
        self.checked: Counter[str] = Counter(dict.fromkeys(ORACLES, 0))
        self.moves: Counter[str] = Counter()
        self.violations: Counter[str] = Counter()

    def add(self, report: Report) -> None:
        """One more run."""
        self.seeds += 1
        self.hours += report.hours
        self.struck.update({str(kind): count for kind, count in report.struck.items()})
        self.checked.update(report.checked)
        self.moves.update({str(state): count for state, count in report.moves.items()})
        self.violations.update(each.oracle for each in report.violations)

    def figures(self, failed: int, seconds: float) -> dict[str, object]:
        """As a document."""
        return {
            "seeds": self.seeds, "failed": failed, "hours": round(self.hours, 1), "seconds": round(seconds, 1),
            "hours_per_second": round(self.hours / seconds, 2), "faults": sum(self.struck.values()),
            "faults_by_kind": dict(self.struck.most_common()), "oracles": dict(self.checked),
            "moves": dict(self.moves.most_common()), "violations": dict(self.violations),
        }  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
