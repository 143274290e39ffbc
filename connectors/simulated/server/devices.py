"""Devices as queues, and what a closed population of sessions gets out of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from connectors.model import F64

LARGEST_BACKGROUND = 0.95  # share of a device that background work can take from sessions


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """One device: service times in seconds, as many requests at a time as it has channels."""

    name: str
    random_seconds: float
    sequential_seconds: float  # per block, read ahead, seeks between interleaved streams included
    write_seconds: float  # per block, written sorted by a background process
    bytes_per_second: float
    channels: int


HDD = Device(  # 15k drive: 180 IOPS, 5.5 ms; a scan among random reads pays one seek each 128 KiB (6.2 ms / 16 blocks)
    name="hdd",
    random_seconds=1 / 180,
    sequential_seconds=0.39e-3,
    write_seconds=1e-3,
    bytes_per_second=160e6,
    channels=1,
)
SSD = Device(
    name="ssd",
    random_seconds=0.2e-3,
    sequential_seconds=0.02e-3,
    write_seconds=0.1e-3,
    bytes_per_second=500e6,
    channels=4,
)


def mean_value(demand: F64, channels: F64, sessions: int, think_seconds: float) -> tuple[float, F64]:
    """Exact mean value analysis of one closed class (Reiser and Lavenberg 1980).

    A station with m channels counts as a queue of demand/m and a delay of the rest (Seidmann 1987).

    Args:
        demand: seconds of service a transaction needs at each station, shape ``(k,)``.
        channels: servers of each station, shape ``(k,)``.
        sessions: how many there are.
        think_seconds: what a session pauses between transactions.

    Returns:
        Transactions per second, and seconds a transaction spends at each station, waiting included, shape ``(k,)``.
    """
    queueing = demand / channels
    delay = demand - queueing
    fixed = think_seconds + float(delay.sum())
    throughput, residence, waiting = 0.0, queueing, np.zeros_like(queueing)
    for population in range(1, sessions + 1):
        residence = queueing * (1.0 + waiting)
        throughput = population / (fixed + float(residence.sum()))
        waiting = throughput * residence
    return throughput, residence + delay


def with_background(
    demand: F64, background: F64, taken: F64, channels: F64, sessions: int, think_seconds: float
) -> tuple[float, F64]:
    """``mean_value`` where the stations also do work in the background.

    Args:
        demand: as in ``mean_value``.
        background: seconds of such work per transaction at each station (written pages).
        taken: share of each station that something else takes (a copy), 0 to 1.
        channels: as in ``mean_value``.
        sessions: as in ``mean_value``.
        think_seconds: as in ``mean_value``.

    Returns:
        As ``mean_value``: the fixed point where background work follows the throughput, found by bisection.
    """

    def answer(throughput: float) -> tuple[float, F64]:
        busy = np.minimum(throughput * background / channels + taken, LARGEST_BACKGROUND)
        return mean_value(demand / (1.0 - busy), channels, sessions, think_seconds)

    # Bisection and not iteration of the answer: where background work is large, more throughput slows reads so much
    # that an iteration jumps to and fro. The answer falls with the throughput asked for, so there is one crossing.
    low, high = 0.0, answer(0.0)[0]
    for _ in range(40):
        middle = (low + high) / 2.0
        low, high = (middle, high) if answer(middle)[0] > middle else (low, middle)
    return answer((low + high) / 2.0)
