"""Makes the recordings in ``made/`` again: ``python -m tests.recordings.make``, which starts servers and labs.

``python -m tests.recordings.make --expected`` only replays them and writes what comes of it: after a change of demand
or of decisions that is meant.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from agent.studies.simulation import Replayed, play_recording
from connectors.kit.recorded_columns import PlainNames
from connectors.model.observation import Signal

MADE = Path(__file__).parent / "made"
HARNESSES = {  # by engine; the first that there is
    "postgresql": ("postgresql 18", "postgresql 17", "postgresql 16"),
    "db2": ("db2 12.1 emulated server, table spaces",),
    "oracle": ("oracle 19 (emulated server)",),
    "sqlserver": ("sqlserver emulated server, ODBC Driver 18",),
}
SECONDS = 0.4


def figures_of(again: Replayed) -> dict[str, Any]:
    """What a recording comes to: units by their reads, and the plan."""
    planning, proposal = again.last.planning, again.last.proposal
    assert planning is not None
    situation = planning.situation
    rates = situation.heat.rates[[Signal.SYNC_READ, Signal.PREFETCHED_READ]].sum(axis=0).tolist()
    order = sorted((row for row, rate in enumerate(rates) if rate > 0), key=lambda row: -rates[row])
    return {
        "samples": again.last.samples,
        "reads_per_second": {situation.units.key[row]: rates[row] for row in order},
        "wait_per_hour_seconds": planning.plan.wait_per_hour,
        "moves": [
            {"unit": move.key, "to_space": move.to_space, "statements": [step.sql for step in move.route.steps]}
            for move in (proposal.moves if proposal is not None else ())
        ],
        "refused": [*situation.no_route.values(), *situation.no_wide.values()],
    }


def make(engine: str) -> None:
    """Record one engine: two tables, of which one is read."""
    from tests.contract.conftest import FACTORIES  # all labs, which who only replays does not need
    from tests.recordings.scene import scene_of

    name = next(name for name in HARNESSES[engine] if name in FACTORIES)
    path = MADE / f"{engine}.recording"
    path.unlink(missing_ok=True)
    with FACTORIES[name]() as harness:
        read, quiet, connector = harness.create("orders"), harness.create("archive"), harness.connect()
        with scene_of(harness, connector, read) as scene:
            recorded = scene.record(path, PlainNames(), SECONDS)
        connector.close()
        for table in (read, quiet):
            harness.drop(table)
    print(f"{path.name}: {recorded.bytes:,} bytes, {recorded.last.samples} samples, of {name}")  # noqa: T201 (for who runs it)


def expect(engine: str) -> None:
    """Write what a recording comes to now."""
    with play_recording(MADE / f"{engine}.recording") as again:
        text = json.dumps(figures_of(again), indent=1)
    (MADE / f"{engine}.json").write_text(text + "\n", encoding="utf-8")


def main(arguments: Sequence[str]) -> None:
    """Make all of them."""
    MADE.mkdir(exist_ok=True)
    for engine in HARNESSES:
        if "--expected" not in arguments:
            make(engine)
        expect(engine)


if __name__ == "__main__":
    main(sys.argv[1:])
