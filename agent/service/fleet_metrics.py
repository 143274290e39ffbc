"""All databases of a ledger for Prometheus: as many series for a thousand databases as for one."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from agent.service.fleet import Attention, FleetStanding, Heartbeat, count_heartbeats
from policies.evidence.prices import HOUR


class FleetCollector(Collector):
    """Counts databases; has no series of a single one."""

    def __init__(self, standings: Callable[[], Sequence[FleetStanding]]) -> None:
        """Ask for the standings with each collection."""
        self._standings = standings

    def describe(self) -> Iterable[Metric]:
        """Nothing in advance: the registry then does not collect just to learn the names."""
        return ()

    def collect(self) -> Iterator[Metric]:
        """Every family, each of its labels with a row, so that nothing is missed where it is 0."""
        found = self._standings()
        beats, needs = count_heartbeats(found), Counter(each.needs for each in found)
        yield _by_label(
            "hotplace_fleet_databases", "Databases of the ledger, by whether their agent is heard of.", "agent",
            {beat.value: beats[beat] for beat in Heartbeat},
        )  # fmt: skip
        yield _by_label(
            "hotplace_fleet_needs", "Databases of the ledger, by what they need a person for.", "need",
            {need.name.lower(): needs[need] for need in Attention},
        )  # fmt: skip
        yield _by_label(
            "hotplace_fleet_moves", "Moves of all databases of the ledger.", "state",
            {
                "waiting": sum(each.waiting_moves for each in found),
                "running": sum(each.running_moves for each in found),
            },
        )  # fmt: skip
        yield _single(
            "hotplace_fleet_undecided_proposals", "Proposals of all databases that wait for a decision.",
            sum(each.undecided for each in found),
        )  # fmt: skip
        yield _single(
            "hotplace_fleet_undecided_saved_waiting_sessions", "Waiting sessions that they would save.",
            math.fsum(each.undecided_saved_per_hour for each in found) / HOUR,
        )  # fmt: skip


def _by_label(name: str, text: str, label: str, values: dict[str, int]) -> Metric:
    family = GaugeMetricFamily(name, text, labels=(label,))
    for key, value in values.items():
        family.add_metric([key], value)
    return family


def _single(name: str, text: str, value: float) -> Metric:
    family = GaugeMetricFamily(name, text, labels=())
    family.add_metric([], value)
    return family
