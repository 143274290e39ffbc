"""The sizing curve beside a sweep that was measured: TPC-C-like, PostgreSQL 18 on modelled disks (tests/bench/lab).

One run of the laboratory, kept: what hotplace had seen with everything on the hdd, and the response times (thinking
left out) with an SSD of so much of the bytes. Share of the response time that everything on the SSD saves:

    =====================  ====  ====  ====  ====  ====
    SSD                     1 %   5 %  10 %  25 %  50 %
    =====================  ====  ====  ====  ====  ====
    measured                .22   .51   .66   .83   .88
    hotplace                .16   .41   .58   .79   .90
    at today's latencies    .14   .35   .50   .68   .78
    =====================  ====  ====  ====  ====  ====
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from connectors.model.observation import DatabaseDemand
from policies.placement.sizing import Sizing, sizing
from tests.unit.policies.situations import BARE, MIB, SSD, Site, Unit

HDD_READ, HDD_SEQUENTIAL, HDD_IDLE = 0.0726, 0.00066, 0.0055  # seconds, fitted; a queue of twelve
DATABASE = DatabaseDemand(reads=1897.7, read_wait=12.01, transactions=11.42, active=14.31)
SEEN = (  # MiB, synchronous reads and reads ahead a second
    ("item", 10.5, 19.7, 0.0),
    ("item_pkey", 2.2, 18.5, 0.0),
    ("customer", 50.7, 16.0, 0.0),
    ("customer_pkey", 4.0, 8.8, 0.0),
    ("customer_name", 1.7, 4.3, 0.0),
    ("history", 7.5, 1.3, 0.0),
    ("stock", 97.7, 28.1, 1587.3),
    ("stock_pkey", 6.4, 26.0, 95.8),
    ("orders", 5.4, 4.6, 0.0),
    ("orders_pkey", 2.9, 5.3, 0.0),
    ("orders_customer", 2.7, 5.5, 0.0),
    ("new_order", 1.4, 4.0, 0.0),
    ("new_order_pkey", 1.1, 4.6, 0.0),
    ("order_line", 43.4, 4.7, 0.0),
    ("order_line_pkey", 18.4, 7.4, 0.0),
)
ALL_HDD, ALL_SSD = 1.605, 0.122  # seconds a transaction
RESPONSE = {1: 1.281, 5: 0.848, 10: 0.622, 25: 0.377, 50: 0.301}


@pytest.fixture(scope="module")
def curve() -> Sizing:
    """What sizing said before anything moved."""
    hdd = replace(SSD, random_read_seconds=HDD_READ, sequential_read_seconds=HDD_SEQUENTIAL, idle_read_seconds=HDD_IDLE)
    site = Site(database=DATABASE, tiers=(("ssd", SSD, ("fast",)), ("hdd", hdd, ("slow",))))
    units = [Unit(key=key, size=int(mib * MIB), sync=sync, prefetched=ahead) for key, mib, sync, ahead in SEEN]
    return sizing(site.situation(units), BARE)


def errors(shares: dict[int, float]) -> list[float]:
    """How far predicted shares are from those measured."""
    return [abs(shares[at] - (ALL_HDD - seconds) / (ALL_HDD - ALL_SSD)) for at, seconds in RESPONSE.items()]


def test_it_comes_near_what_was_measured(curve: Sizing) -> None:
    """Within a tenth of the saving at every size."""
    assert max(errors({at: curve.share(curve.at(at)) for at in RESPONSE})) < 0.11


def test_queues_are_part_of_it(curve: Sizing) -> None:
    """As if queues stayed as long as they are, it would be half again as far off; the measured lies within the ends."""
    latencies = {at: curve.at(at).today_per_hour / curve.at(100).today_per_hour for at in RESPONSE}
    most = {at: curve.at(at).most_per_hour / curve.at(100).most_per_hour for at in RESPONSE}
    assert max(errors(latencies)) > 1.5 * max(errors({at: curve.share(curve.at(at)) for at in RESPONSE}))
    for at, seconds in RESPONSE.items():
        assert latencies[at] <= (ALL_HDD - seconds) / (ALL_HDD - ALL_SSD) <= most[at]
