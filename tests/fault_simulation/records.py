"""What is kept of each seed that was run: a line of JSON in a file, from which a run goes on and figures are made."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tests.fault_simulation.oracles import ORACLES
from tests.fault_simulation.runs import repeat_command, run_seed, shrunk
from tests.fault_simulation.site import Report


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One seed."""

    seed: int
    hours: float  # simulated
    seconds: float  # of one processor core
    struck: dict[str, int]  # faults and acts of people, by kind
    checked: dict[str, int]  # how often each oracle had something to say
    moves: dict[str, int]  # by the state in which they ended
    violations: list[str]
    forged: int = 0  # proposals that forgers wrote about
    repeat: str = ""  # where a promise was broken: the command, with no more events than it takes


def record_seed(seed: int, *, fleet: bool = False, forgers: bool = False) -> Record:
    """Run it; where it breaks a promise, find what it takes."""
    report = run_seed(seed, fleet=fleet, forgers=forgers)
    if not report.violations:
        return _record(report)
    numbers, smallest = shrunk(report)
    return _record(report, smallest, repeat_command(seed, numbers, fleet=fleet, forgers=forgers))


def record_fleet(seed: int) -> Record:
    """The same of a seed of a fleet."""
    return record_seed(seed, fleet=True)


def record_forged(seed: int) -> Record:
    """The same of a seed with forgers."""
    return record_seed(seed, forgers=True)


def _record(report: Report, smallest: Report | None = None, repeat: str = "") -> Record:
    return Record(
        seed=report.script.seed, hours=report.hours, seconds=round(report.seconds, 3),
        struck={str(kind): count for kind, count in report.struck.items()}, checked=dict(report.checked),
        moves={str(state): count for state, count in report.moves.items()},
        violations=[f"{each.oracle}: {each.sentence}" for each in (smallest or report).violations], repeat=repeat,
        forged=report.forged,
    )  # fmt: skip


def keep(path: Path, record: Record) -> None:
    """Add a line to the file."""
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(asdict(record)) + "\n")


def load(path: Path) -> dict[int, Record]:
    """By seed; none where the file is not there yet. A line that a kill has cut off does not count."""
    found: dict[int, Record] = {}
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        try:
            record = Record(**json.loads(line))
        except ValueError:
            continue
        found[record.seed] = record
    return found


def figures(records: Iterable[Record]) -> dict[str, Any]:
    """The sums over some seeds, as a document."""
    every = list(records)
    hours, seconds = sum(record.hours for record in every), sum(record.seconds for record in every)
    struck, checked, moves = Counter[str](), Counter[str](dict.fromkeys(ORACLES, 0)), Counter[str]()
    for record in every:
        struck.update(record.struck)
        checked.update(record.checked)
        moves.update(record.moves)
    return {
        "seeds": len(every), "failed": sum(bool(record.violations) for record in every),
        "violations": sum(len(record.violations) for record in every), "forged": sum(record.forged for record in every),
        "hours": round(hours, 1), "seconds": round(seconds, 1),
        "hours_per_second": round(hours / max(seconds, 1e-9), 2),
        "faults": struck.total(), "faults_by_kind": dict(struck.most_common()), "oracles": dict(checked),
        "moves": dict(moves.most_common()), "repeat": [record.repeat for record in every if record.violations],
    }  # fmt: skip
