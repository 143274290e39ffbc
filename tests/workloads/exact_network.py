"""The exact solution of a closed network of load-dependent stations, for what approximations are compared with.

A station serves ``rate(n) / S`` requests a second while ``n`` are there: ``min(n, m)`` of ``m`` servers with one queue,
``n m / (n + m - 1)`` of ``m`` disks with a queue each that are used equally (the flow-equivalent server of Chandy,
Herzog and Woo, 1975). Normalising constants by convolution (Buzen 1973), as exact as the mean value analysis of such
stations (Reiser and Lavenberg 1980) and without its subtractions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import lgamma

import numpy as np

from connectors.model.observation import F64


@dataclass(frozen=True, slots=True, kw_only=True)
class ExactStation:
    """One tier; ``seconds`` of service that a transaction needs there."""

    seconds: float
    servers: int
    striped: bool = False

    def speeds(self, most: int) -> F64:
        """Requests served at a time with 1, 2 ... ``most`` there. Shape ``(most,)``."""
        there = np.arange(1, most + 1, dtype=np.float64)
        return there * self.servers / (there + self.servers - 1) if self.striped else np.minimum(there, self.servers)


@dataclass(frozen=True, slots=True, kw_only=True)
class Solved:
    """Transactions a second, and sessions at each station on average."""

    rate: float
    waiting: F64

    def wait(self) -> float:
        """Seconds that a transaction spends at all stations."""
        return float(self.waiting.sum()) / self.rate


def solve(stations: Sequence[ExactStation], elsewhere: float, sessions: int) -> Solved:
    """The network of so many sessions that spend ``elsewhere`` seconds a transaction at no station."""
    count = np.arange(sessions + 1)
    logs = [count * np.log(max(elsewhere, 1e-12)) - np.array([lgamma(n + 1) for n in count])]
    for station in stations:
        served = np.concatenate(([0.0], np.cumsum(np.log(station.speeds(sessions)))))
        logs.append(count * np.log(max(station.seconds, 1e-12)) - served)
    # Scaled by a rate near the one that is looked for, so that no term is beyond what floating point holds.
    near = min(
        [
            sessions / (elsewhere + sum(s.seconds for s in stations)),
            *(s.servers / max(s.seconds, 1e-12) for s in stations),
        ]
    )
    terms = [np.exp((scaled := each + count * np.log(near)) - scaled.max()) for each in logs]
    whole = _product(terms, sessions)
    at = [
        _product([terms[other] for other in range(len(terms)) if other != row], sessions) for row in range(len(terms))
    ]
    means = [float((count * terms[row] * at[row][::-1]).sum() / whole[-1]) for row in range(1, len(terms))]
    return Solved(rate=float(near * whole[-2] / whole[-1]), waiting=np.array(means))


def _product(terms: Sequence[F64], sessions: int) -> F64:
    found = np.zeros(sessions + 1)
    found[0] = 1.0
    for term in terms:
        found = np.convolve(found, term)[: sessions + 1]
    return found
