"""``fleet metrics``: figures of all databases for Prometheus, from one machine."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, generate_latest

from agent.cli.fleet.pages import selection_of
from agent.cli.session import Session
from agent.fleet.metrics import FleetCollector
from agent.fleet.reading import read_standings


def show_metrics(session: Session) -> None:
    """Print what Prometheus's text format says, or the document."""
    registry = CollectorRegistry()
    selection, now = selection_of(session, ""), session.clock.now()
    registry.register(FleetCollector(lambda: read_standings(session.ledger, selection, now)))
    if not session.out.as_json:
        session.out.verbatim(generate_latest(registry).decode())
        return
    samples = [sample for family in registry.collect() for sample in family.samples]
    session.out.document(
        {"metrics": [{"name": each.name, "labels": each.labels, "value": each.value} for each in samples]}
    )
