"""Every metric as Prometheus sees it."""

from __future__ import annotations

from collections.abc import Iterator

from agent.service.fleet_metrics import FleetCollector
from agent.service.metrics import AgentCollector
from agent.service.snapshot import Snapshot
from tests.docs.reference.blocks import table


def every_metric() -> Iterator[tuple[str, str, tuple[str, ...], str]]:
    """Name, type, labels and help of each family, in the order of the exposition."""
    of_agent = AgentCollector(lambda: [Snapshot(database="d", engine="e")], top_units=1).collect()
    for family in (*of_agent, *FleetCollector(list).collect()):
        name = f"{family.name}_total" if family.type == "counter" else family.name
        yield name, family.type, tuple(family._labelnames), family.documentation  # type: ignore[attr-defined]  # has no public name


def blocks() -> dict[str, str]:
    """One table."""
    rows = [
        (f"`{name}`", kind, ", ".join(f"`{label}`" for label in labels), text)
        for name, kind, labels, text in every_metric()
    ]
    return {"metrics": table(("metric", "type", "labels", "meaning"), rows)}
