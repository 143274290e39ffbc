"""What sizes of the fastest tier would save, as the ledger keeps it for pools that databases of many machines share."""

from __future__ import annotations

from typing import Any

from agent.planning.planner import Planning
from policies.sizing.curve import sizing


def curve_document(planning: Planning) -> dict[str, Any] | None:
    """The sizing curve of a plan's situation as JSON values; None where there is one tier only.

    Sizes that would not hold what is pinned to the fastest tier are left out.
    """
    if len(planning.situation.tiers) < 2:
        return None
    found = sizing(planning.situation, planning.settings)
    return {
        "tier": planning.situation.tiers[0].name,
        "present_bytes": found.present.size_bytes,
        "present_known": found.present_known,
        "points": [
            [point.size_bytes, point.saved_per_hour]
            for point in found.points
            if point.size_bytes >= min(found.pinned_bytes, found.points[-1].size_bytes)
        ],
    }
