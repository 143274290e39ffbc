"""``make mutants``: mistakes with a name, a fixed list, and a sample of all, against the tests that pass by them."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tests.mutants.covering import WRITTEN_TO
from tests.mutants.drawing import DRAWN, ROOMS, ROOT, SEED, Mutant, draw, fixed
from tests.mutants.named import NAMED
from tests.mutants.running import KILLED, NOT_COVERED, TIMED_OUT, Verdict, in_order, prepare, run

FOLDER = ROOT / "build" / "mutants"  # what was found so far, and which test passes by which line
TESTS = (
    "tests/unit/agent/execution", "tests/unit/agent/planning", "tests/unit/agent/verification",
    "tests/unit/agent/model", "tests/unit/agent/budget", "tests/unit/agent/keys", "tests/ledger", "tests/simulation",
    "tests/property/test_stored_proposals.py",
)  # fmt: skip
MOST_SECONDS = 60.0  # of tests for one mistake, as they took when they were traced
FIXED_SECONDS = 300.0
DEAD = frozenset({KILLED, TIMED_OUT})


def main() -> int:
    """1 where a mistake with a name, or one of the fixed list, survived."""
    asked = _arguments()
    FOLDER.mkdir(parents=True, exist_ok=True)
    prepare()
    survived = 0 if asked.drawn or asked.fixed else _run_named()
    survived += 0 if asked.drawn or asked.named else _run_fixed(asked.jobs)
    if not (asked.named or asked.fixed):
        covered = _covered(again=asked.cover)
        mutants = draw(DRAWN, asked.seed, tuple(asked.rooms or ROOMS))[: asked.first]
        _run_drawn(mutants, covered, asked.most_seconds, asked.jobs, retry=asked.retry)
    return int(survived > 0)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make mutants", description=__doc__)
    parser.add_argument("--named", action="store_true", help="only those with a name")
    parser.add_argument("--fixed", action="store_true", help="only the fixed list: are they still noticed")
    parser.add_argument("--drawn", action="store_true", help="only those that are drawn")
    parser.add_argument("--seed", type=int, default=SEED, help="of the sample")
    parser.add_argument("--first", type=int, default=DRAWN, help="no more than so many of it")
    parser.add_argument("--rooms", nargs="*", help="other folders to draw from")
    parser.add_argument("--cover", action="store_true", help="see again which test passes by which line")
    parser.add_argument("--most-seconds", type=float, default=MOST_SECONDS, help="of tests for one mistake")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--retry", action="store_true", help="run again what survived")
    return parser.parse_args()


def _run_named() -> int:
    """How many of them survived."""
    survived = 0
    for each in NAMED:
        verdict = run(each.path, each.text(), each.tests, each.limit_seconds)
        survived += verdict.outcome not in DEAD
        print(f"{verdict.outcome:10} {each.what}: {verdict.by} ({verdict.seconds} s)", flush=True)
    return survived


def _run_fixed(jobs: int) -> int:
    """How many of the list survived the test that once noticed them."""
    survived = 0
    with ProcessPoolExecutor(jobs, initializer=prepare) as pool:
        running = {
            pool.submit(run, mutant.path, mutant.change.applied(mutant.text), [test], FIXED_SECONDS): mutant
            for mutant, test in fixed()
        }
        for future in as_completed(running):
            verdict = future.result()
            survived += verdict.outcome not in DEAD
            print(f"{verdict.outcome:10} {running[future].sentence}: {verdict.by} ({verdict.seconds} s)", flush=True)
    return survived


def _covered(*, again: bool) -> dict[str, dict[str, Any]]:
    """Which lines each test passes by; seen once and kept."""
    kept = FOLDER / "covered.json"
    if again or not kept.exists():
        command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.mutants.covering", "-p", "no:cacheprovider"]
        marks = ["-m", "not postgresql and not db2"]
        subprocess.run([*command, *marks, *TESTS], cwd=ROOT, env=os.environ | {WRITTEN_TO: str(kept)}, check=True)
    found: dict[str, dict[str, Any]] = json.loads(kept.read_text(encoding="utf-8"))
    return found


def _run_drawn(
    mutants: list[Mutant], covered: dict[str, dict[str, Any]], most_seconds: float, jobs: int, *, retry: bool
) -> None:
    results = FOLDER / "results.jsonl"
    known = _known(results)
    survivors = {name for name, before in known.items() if before["outcome"] not in DEAD}
    left = [each for each in mutants if each.name not in known or (retry and each.name in survivors)]
    for mutant, verdict in _judged(left, covered, most_seconds, jobs):
        known[mutant.name] = {"name": mutant.name, "sentence": mutant.sentence, **asdict(verdict)}
        with results.open("a", encoding="utf-8") as out:
            out.write(json.dumps(known[mutant.name]) + "\n")
        print(f"{verdict.outcome:11} {mutant.sentence}  {verdict.by} ({verdict.seconds} s)", flush=True)
    found = [known[mutant.name] for mutant in mutants]
    outcomes = Counter(each["outcome"] for each in found)
    for each in found:
        if each["outcome"] not in DEAD:
            print(f"{each['outcome']}: {each['sentence']}")
    dead = sum(outcomes[outcome] for outcome in DEAD)
    print(f"{dead} of {len(found)} noticed ({100 * dead / max(1, len(found)):.1f} %): {dict(outcomes)}")


def _known(results: Path) -> dict[str, dict[str, Any]]:
    """What was found so far, the last word on each."""
    lines = results.read_text(encoding="utf-8").splitlines() if results.exists() else []
    return {each["name"]: each for each in map(json.loads, lines)}


def _judged(
    mutants: list[Mutant], covered: dict[str, dict[str, Any]], most_seconds: float, jobs: int
) -> Iterator[tuple[Mutant, Verdict]]:
    """As they end. Each process imports the libraries once, and forks one of its own for each mistake."""
    with ProcessPoolExecutor(jobs, initializer=prepare) as pool:
        running = {}
        for mutant in mutants:
            tests = passing_by(mutant, covered)
            if not tests:
                yield mutant, Verdict(NOT_COVERED)
                continue
            chosen = list(in_order(tests, most_seconds))
            limit = 120.0 + 8 * sum(tests[test] for test in chosen)  # other processes may keep the machine busy
            text = mutant.change.applied(mutant.text)
            running[pool.submit(run, mutant.path, text, chosen, limit)] = mutant
        for future in as_completed(running):
            yield running[future], future.result()


def passing_by(mutant: Mutant, covered: dict[str, dict[str, Any]]) -> dict[str, float]:
    """Seconds of each test that passes by a mistake; of what runs on import, of each that passes by its module."""
    there = {test: set(seen["lines"].get(mutant.path, ())) for test, seen in covered.items()}
    wanted = None if mutant.change.on_import else set(mutant.change.lines)
    chosen = (test for test, lines in there.items() if (lines if wanted is None else lines & wanted))
    return {test: covered[test]["seconds"] for test in chosen}


if __name__ == "__main__":
    sys.exit(main())
