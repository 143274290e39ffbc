"""How fast each tier is taken to be, and how that is known: one sentence and one document for every command."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from connectors.formatting import format_seconds
from policies.model.settings import Tier, TierSpeed


def read_times_text(tiers: Sequence[Tier]) -> str:
    """A random read on each tier: ``ssd 200 µs (configured; waits leave 2 µs to 250 µs), hdd 41 ms (measured)``."""
    return ", ".join(f"{tier.name} {read_time_text(tier.speed)}" for tier in tiers)


def read_time_text(speed: TierSpeed) -> str:
    """One read time with its source, and where that is the configuration, with what measured waits leave possible."""
    ends = speed.least_read_seconds, speed.most_read_seconds
    left = f"; waits leave {format_seconds(ends[0])} to {format_seconds(ends[1])}" if ends[1] else ""
    return f"{format_seconds(speed.random_read_seconds)} ({speed.source}{left})"


def read_times_document(tiers: Iterable[Tier]) -> list[dict[str, Any]]:
    """The same as JSON values; the interval is None where waits say nothing, or where the time is measured."""
    return [
        {
            "name": tier.name,
            "random_read_seconds": tier.speed.random_read_seconds,
            "measured": tier.speed.measured,
            "source": tier.speed.source,
            "least_read_seconds": tier.speed.least_read_seconds if tier.speed.most_read_seconds else None,
            "most_read_seconds": tier.speed.most_read_seconds or None,
        }
        for tier in tiers
    ]


def read_times_of_document(documents: Iterable[Mapping[str, Any]]) -> str:
    """The sentence of ``read_times_text`` for what ``read_times_document`` wrote."""
    return ", ".join(f"{each['name']} {read_time_text(_speed(each))}" for each in documents)


def _speed(document: Mapping[str, Any]) -> TierSpeed:
    return TierSpeed(
        random_read_seconds=document["random_read_seconds"],
        sequential_read_seconds=0.0,
        write_seconds=0.0,
        measured=document["measured"],
        least_read_seconds=document["least_read_seconds"] or 0.0,
        most_read_seconds=document["most_read_seconds"] or 0.0,
    )
