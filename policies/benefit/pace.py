"""The pace of work: how much the same sessions would get done with everything on the slowest tier.

Sessions that wait less ask again the sooner. So what is read from fast storage is read oftener than it would be from
slow storage, by the same sessions for the same work, and reads a second say as much about where a unit was as about
what it is worth. Each interval's demand is therefore brought to one pace before it is remembered: that of the closed
network of its sessions (``storage.closed_network``) with every read on the slowest tier. This depends on the sessions,
on what they do between reads and on the reads of their work, none of which a move changes. More sessions still count
for more.

Reads that no unit is known for (of a unit that was dropped or rebuilt within the interval) are taken to be like the
others. They were waited for too: an interval without them would seem to be work of few reads, and were it left at its
own pace instead, it would outweigh its neighbours as often as those had waited less.

The reads are taken to be served in their idle time there, and to queue for it. Where that time is wrong, all units are
wrong by the same factor. Below one session at work who asks sets the pace, not what they wait for: nothing is changed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from connectors.model import F64, DatabaseDemand
from policies.benefit.device import READS
from policies.benefit.prices import wait_weights
from policies.model.plan import PolicySettings, Tier, TierSpeed
from policies.storage.closed_network import LEAST_ELSEWHERE, Network
from policies.storage.stations import stations_of

SLOWEST, FASTEST = 1e-3, 10.0  # ends of a pace that is believed


def slowest_pace(database: DatabaseDemand, reads: F64, slowest: TierSpeed, settings: PolicySettings) -> float:
    """Work that would get done in a second with everything on the slowest tier, over what did get done.

    Args:
        database: the interval's; 1 where it does not say how many sessions worked or how long they waited for reads.
        reads: of all units, shape ``(SIGNALS,)``, per second.
        slowest: as configured, with its servers.
        settings: wait shares.
    """
    sessions, waited = float(np.fmax(database.active, database.population)), database.read_wait
    weights = wait_weights([slowest], settings)[0]
    service = float(sum(weights[signal] * reads[signal] for signal in READS))
    counted = float(reads[list(READS)].sum())
    known = database.reads if database.reads == database.reads else counted
    if not (sessions > 1 and waited >= 0 and service > 0):
        return 1.0
    service *= max(1.0, known / counted)
    # One round of this network is what is done in one second now, so its rate is the pace.
    network = Network(
        sessions=sessions,
        elsewhere=max(LEAST_ELSEWHERE * sessions, sessions - waited),
        demand=np.array([[service]]),
        stations=stations_of([Tier(name="", speed=slowest, spaces=())]),
    )
    return float(np.clip(network.solve()[0][0], SLOWEST, FASTEST))


def interval_pace(database: DatabaseDemand, rates: F64, speeds: Sequence[TierSpeed], settings: PolicySettings) -> float:
    """The same of one interval's rates ``(SIGNALS, columns)``; 1 without a tier."""
    return slowest_pace(database, rates.sum(axis=1), speeds[-1], settings) if speeds else 1.0
