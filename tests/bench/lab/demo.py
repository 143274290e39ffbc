"""What ``make demo`` forecasts, next to what it then measures: the median of five runs, as users see it."""

from __future__ import annotations

import os
import statistics

from tests.bench.lab.figures import say
from tests.bench.lab.forecast import THINKS, demonstrated
from tests.bench.lab.pace import FULL, Pace
from tests.bench.measurement import Measurement

RUNS = {True: 5, False: 1}  # full; quick
GOAL = 0.20
COMMAND = "python -m tests.bench.lab demo"


def measurements(pace: Pace) -> list[Measurement]:
    """Run the demo as often, with the clients that it comes with."""
    found = [each for _ in range(RUNS[pace is FULL]) for each in demonstrated(THINKS[0])]
    for each in found:
        say(f"  {each.before:,.0f}/s, {each.said:,.0f} forecast ({each.low:,.0f} to {each.high:,.0f}), "
            f"{each.came:,.0f} measured")  # fmt: skip
    errors = [abs(each.error) for each in found]
    inside = sum(each.inside for each in found)
    runs = ", ".join(f"{each.said:,.0f} and {each.came:,.0f}" for each in found)
    return [
        Measurement(
            name="lab.demo.forecast_error", value=statistics.median(errors), unit="of the throughput that came",
            better="lower", command=COMMAND, spread=f"{min(errors):.1%} to {max(errors):.1%}, {len(errors)} runs",
            note=f"goal {GOAL}; forecast and measured, transactions/s: {runs}; {inside} of {len(found)} inside their "
            f"interval; load of the machine {os.getloadavg()[1]:.1f} on {os.cpu_count()} processors",
        ),
    ]  # fmt: skip
