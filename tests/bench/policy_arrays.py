"""Forecast and sizing on arrays of 1 to 96 servers and 1 to 80 sessions, against exact networks.

``tests.workloads.arrays`` has the cases, ``tests.workloads.exact_network`` their solution: disks with a queue each and
servers with one queue. Three things may be known of the array: its servers and how they queue (``disks`` or ``servers``
of its tier), its servers only, or what latency taught over a day of light and heavy load.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from policies.evidence.device import PRIOR_ERROR, add_points, fit_servers, no_points
from policies.model.settings import PolicySettings, Servers
from policies.placement.forecast import forecast
from policies.placement.sizing import sizing
from tests.bench.measurement import Measurement
from tests.workloads.arrays import SESSIONS, ArrayCase, cases
from tests.workloads.exact_network import ExactStation, solve

COMMAND = "python -m tests.bench policy_arrays"
SETTINGS = PolicySettings()
INTERVALS = 20  # of each load
THIRD = tuple(cases())[::3]
ALMOST = 0.95  # share of the cases that a row about most of them speaks of


@dataclass(frozen=True, slots=True)
class Compared:
    """One case: how far off the forecast is, whether its interval holds the truth, how far off sizing is."""

    case: ArrayCase
    forecast_error: float  # of the throughput
    held: bool
    sizing_error: float  # points of the saving; NaN where what goes is not what the curve takes first


def measurements() -> list[Measurement]:
    """All cases with servers and queues known and with servers only, a third of them with what latencies taught."""
    found: list[Measurement] = []
    known: dict[str, Callable[[ArrayCase], Servers]] = {
        "": lambda case: case.servers_known,
        ".queues_unknown": lambda case: replace(case.servers_known, striped=None),
    }
    for suffix, servers in known.items():
        found += _lines(suffix, [compare(case, servers(case)) for case in cases()])
    return found + _lines(".learnt", [compare(case, learnt(case.servers, striped=case.striped)) for case in THIRD])


@cache
def learnt(servers: int, *, striped: bool) -> Servers:
    """What latencies teach of an array over a day of light and heavy load, each of its intervals off by a tenth."""
    draw = np.random.default_rng(servers)
    points = no_points(1)
    for count in SESSIONS:
        solved = solve([ExactStation(seconds=1.0, servers=servers, striped=striped)], 0.5, count)
        found = solved.waiting * (count - 1) / count
        for _ in range(INTERVALS):
            ratio = solved.wait() * draw.lognormal(0.0, 0.1, 1)
            points = add_points(points, found, ratio, np.array([True]), 60.0)
    return fit_servers(points[0], PRIOR_ERROR)


def compare(case: ArrayCase, servers: Servers) -> Compared:
    """One case, with that known of its servers."""
    situation = case.situation(servers)
    found = forecast(situation, SETTINGS, case.tiers_after)
    truth = case.gain() * found.present_transactions
    points = sizing(situation, SETTINGS)
    off = float("nan")
    if case.left < 0.5:
        first = next(point for point in points.points if point.units == 1)
        off = points.share(first) - case.saved_share()
    return Compared(
        case=case,
        forecast_error=found.transactions / truth - 1,
        held=found.interval.low <= truth <= found.interval.high,
        sizing_error=off,
    )


def _lines(suffix: str, compared: list[Compared]) -> list[Measurement]:
    errors = np.abs([each.forecast_error for each in compared])
    sizing_errors = np.abs([each.sizing_error for each in compared if np.isfinite(each.sizing_error)])
    worst = compared[int(np.argmax(errors))].case
    about = f"{len(compared)} networks, 1 to 96 servers, 1 to 80 sessions"
    return [
        Measurement(
            name=f"policy.arrays.forecast_error_max{suffix}", value=float(errors.max()), unit="of the exact throughput",
            better="lower", command=COMMAND,
            note=f"goal 0.1; {about}; mean {errors.mean():.1%}, 95 % of them {np.quantile(errors, ALMOST):.1%}; "
            f"worst: {worst.servers} {'disks' if worst.striped else 'servers'}, {worst.sessions} sessions, "
            f"{worst.left:.0%} of the reads left",
        ),
        Measurement(
            name=f"policy.arrays.interval_coverage{suffix}", value=float(np.mean([each.held for each in compared])),
            unit="of the networks", better="higher", command=COMMAND, note="goal 0.9",
        ),
        Measurement(
            name=f"policy.arrays.sizing_error_max{suffix}", value=float(sizing_errors.max()),
            unit="share of the saving", better="lower", command=COMMAND,
            note=f"goal 0.05; mean {sizing_errors.mean():.3f}",
        ),
    ]  # fmt: skip


if __name__ == "__main__":
    for line in measurements():
        print(f"{line['name']}: {line['value']:.4g} ({line.get('note', '')})")
