"""Audit chain, proposals and story of each seed of ``tests/fault_simulation``."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tests.fault_simulation.runs import run_seed
from tests.fault_simulation.site import Report
from tests.frozen.kept import Frozen
from tests.frozen.ledgers import DIGEST

PLACE = re.compile(r"(?:/[\w.-]+)+/(?=hotplace\.yaml)")  # the folder of a run
SEEDS = 100  # in ``make soak``; fewer in ``make test``


def faults() -> Frozen:
    """Of every seed; some minutes."""
    return Frozen({}, {item: text for seed in range(SEEDS) for item, text in items_of(seed, run_seed(seed))})


def items_of(seed: int, report: Report) -> Iterator[tuple[str, str]]:
    """What is kept of one run."""
    yield f"{seed:03} story", PLACE.sub("", DIGEST.sub("#", "\n".join(report.story)))
    yield from ((f"{seed:03} {name}", text) for name, text in report.recorded.items())
