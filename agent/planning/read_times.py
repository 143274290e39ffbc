"""How fast each tier is taken to be, how many requests it serves at a time, and how that is known.

One sentence and one answer for every command.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from agent.model.answers.kind import keys_of
from agent.model.answers.units import TierShown
from connectors.model.formatting import format_seconds
from policies.model.settings import ONE_SERVER, Servers, Tier, TierSpeed


def read_times_text(tiers: Sequence[Tier]) -> str:
    """A random read on each tier: ``ssd 200 µs (configured; waits leave 2 µs to 250 µs), hdd 41 ms (measured)``."""
    return ", ".join(f"{tier.name} {read_time_text(tier.speed)}{servers_text(tier.speed)}" for tier in tiers)


def servers_text(speed: TierSpeed) -> str:
    """How many requests a tier serves at a time, and how that is known; "" of one that is too fast to queue."""
    servers = speed.servers
    ends = f"{servers.least:.0f} to {servers.most:.0f}"
    match servers.source:
        case "configured":
            return f", {servers.count:.0f} {'disks' if servers.striped else 'at a time'} (configured)"
        case "measured":
            return f", about {servers.count:.0f} at a time (measured; {ends})"
        case "interval":
            return f", {ends} at a time (latencies leave that much)"
    if not speed.is_queued:
        return ""
    left = f"; latencies leave {ends}" if servers.most > servers.least else ""
    return f", one at a time (assumed{left})"


def read_time_text(speed: TierSpeed) -> str:
    """One read time with its source, and where that is the configuration, with what measured waits leave possible."""
    ends = speed.least_read_seconds, speed.most_read_seconds
    left = f"; waits leave {format_seconds(ends[0])} to {format_seconds(ends[1])}" if ends[1] else ""
    return f"{format_seconds(speed.random_read_seconds)} ({speed.source}{left})"


def tiers_shown(tiers: Iterable[Tier]) -> tuple[TierShown, ...]:
    """The same as answers have it."""
    return tuple(
        TierShown(
            name=tier.name,
            random_read_seconds=tier.speed.random_read_seconds,
            measured=tier.speed.measured,
            source=tier.speed.source,
            least_read_seconds=tier.speed.least_read_seconds if tier.speed.most_read_seconds else None,
            most_read_seconds=tier.speed.most_read_seconds or None,
            servers=tier.speed.servers.count,
            servers_least=tier.speed.servers.least,
            servers_most=tier.speed.servers.most,
            servers_source=tier.speed.servers.source,
            striped=tier.speed.servers.striped,
        )
        for tier in tiers
    )


def stored_tier(document: Mapping[str, Any]) -> TierShown:
    """One of ``tiers_shown`` as the ledger keeps it.

    Versions that did not know how many requests a tier serves took it for one at a time, and did not write it.
    """
    one = {
        "servers": ONE_SERVER.count,
        "servers_least": ONE_SERVER.least,
        "servers_most": ONE_SERVER.most,
        "servers_source": ONE_SERVER.source,
        "striped": ONE_SERVER.striped,
    }
    return TierShown(**{name: {**one, **document}[key] for key, name in keys_of(TierShown).items()})


def read_times_of(tiers: Iterable[TierShown]) -> str:
    """The sentence of ``read_times_text`` for what ``tiers_shown`` made."""
    speeds = ((tier.name, _speed_of(tier)) for tier in tiers)
    return ", ".join(f"{name} {read_time_text(speed)}{servers_text(speed)}" for name, speed in speeds)


def _speed_of(shown: TierShown) -> TierSpeed:
    return TierSpeed(
        random_read_seconds=shown.random_read_seconds,
        sequential_read_seconds=0.0,
        write_seconds=0.0,
        measured=shown.measured,
        by_default=shown.source == "default",
        estimated=shown.source == "estimated",
        least_read_seconds=shown.least_read_seconds or 0.0,
        most_read_seconds=shown.most_read_seconds or 0.0,
        servers=Servers(
            count=shown.servers,
            least=shown.servers_least,
            most=shown.servers_most,
            source=shown.servers_source,
            striped=shown.striped,
        ),
    )
