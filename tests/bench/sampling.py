"""What reading counters costs a server whose call for all of them takes 70 s, in simulated time, and what is seen.

Each engine's sampler is asked for a sample a minute. Its server ends a call after 60 s; the counters of one object cost
their part of the 70 s. Hours two to five are measured: the first is spent on finding out.
"""

from __future__ import annotations

from tests.bench.measurement import Measurement
from tests.slow_counters import ENGINES, core_share, wait_seen, watch
from tests.virtual_clock import VirtualClock

COMMAND = "python -m tests.bench sampling"
NOTE = "simulated clock; a call for all counters takes 70 s, of one object its part; a sample is due each minute"


def measurements() -> list[Measurement]:
    """Share of a core by engine, and which part of the units that are waited for was read lately."""
    rows: list[Measurement] = []
    for engine, make in ENGINES.items():
        slow = make(VirtualClock())
        turns = watch(slow, 5.0)
        cost, seen = core_share(turns), wait_seen(slow, turns)
        rows += [
            {"name": f"sampling.core_share_at_70s_call.{engine}", "value": cost, "unit": "share of a core",
             "better": "lower", "command": COMMAND, "note": NOTE},
            {"name": f"sampling.wait_seen_at_70s_call.{engine}", "value": seen, "unit": "share of units",
             "better": "higher", "command": COMMAND, "note": NOTE},
        ]  # fmt: skip
    return rows
