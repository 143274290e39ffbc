"""``status --all``: a line for each database that needs a person, one for all others together; ``--metrics``."""

from __future__ import annotations

import math
from collections.abc import Sequence

from agent.answers.fleet import (
    DatabaseStanding,
    FleetMetrics,
    FleetStatus,
    FleetTotals,
    MetricShown,
    TierFilled,
)
from agent.cli.fleet.pages import document_rows, first_rows, say_rest, selection_of
from agent.cli.session import Session
from agent.fleet.reading import read_standings
from agent.fleet.standing import Heartbeat, Need, Standing, count_heartbeats
from agent.model.units_of_measure import format_when
from agent.terminal.columns import Column
from connectors.formatting import format_bytes, format_sessions, format_wait

COLUMNS = (
    Column("database", name=True), Column("engine", leaves=3), Column("agent"), Column("heard of", leaves=4),
    Column("proposals", number=True, leaves=2), Column("save", number=True), Column("moves", number=True, leaves=1),
    Column("fastest tier free", number=True, leaves=5), Column("needs"),
)  # fmt: skip
NOTHING = Need.NOTHING.name.lower()


def show_status(session: Session, engine: str, state: Heartbeat | None, limit: int | None) -> None:
    """Print the list, or the document."""
    now = session.clock.now()
    found = read_standings(session.ledger, selection_of(session, engine), now)
    found = [each for each in found if state in {None, each.heartbeat}]
    databases = tuple(map(_database_standing, found))
    totals = _totals(found)
    _print(session, totals, databases, limit)
    session.out.document(FleetStatus(at=now, totals=totals, databases=tuple(document_rows(databases, limit))))


def _print(session: Session, totals: FleetTotals, databases: Sequence[DatabaseStanding], limit: int | None) -> None:
    if not databases:
        session.out.line("the ledger knows no such database; each is known once its agent has sampled it")
        return
    session.out.line(_headline(totals), style="bold")
    urgent = [each for each in databases if each.needs != NOTHING]
    rows = first_rows(databases if limit is not None else urgent, limit)
    if rows:
        session.out.table(COLUMNS, [_cells(each) for each in rows])
    if limit is None:
        say_rest(session, len(urgent), len(rows), "that need a person")
        if rest := len(databases) - len(urgent):
            session.out.line(f"{rest} need nothing; --limit {len(databases)} shows all")


def _headline(totals: FleetTotals) -> str:
    return (
        f"{totals.databases} databases: {totals.heard} heard of, {totals.silent} silent, "
        f"{totals.never} never watched; {totals.undecided_proposals} proposals wait, worth "
        f"{format_wait(totals.undecided_wait_saved_per_hour_seconds)}; {totals.running_moves} moves run"
    )


def _totals(found: Sequence[Standing]) -> FleetTotals:
    beats = count_heartbeats(found)
    return FleetTotals(
        databases=len(found),
        heard=beats[Heartbeat.HEARD],
        silent=beats[Heartbeat.SILENT],
        never=beats[Heartbeat.NEVER],
        need_a_person=sum(each.needs is not Need.NOTHING for each in found),
        undecided_proposals=sum(each.undecided for each in found),
        undecided_wait_saved_per_hour_seconds=math.fsum(each.undecided_saved_per_hour for each in found),
        waiting_moves=sum(each.waiting_moves for each in found),
        running_moves=sum(each.running_moves for each in found),
    )


def _cells(each: DatabaseStanding) -> tuple[str, ...]:
    undecided = each.undecided_proposals
    return (
        each.database, each.engine or "", str(each.agent),
        "" if each.heard_of_at is None else format_when(each.heard_of_at),
        str(undecided or ""), format_sessions(each.undecided_wait_saved_per_hour_seconds) if undecided else "",
        str(each.waiting_moves + each.running_moves or ""),
        format_bytes(each.tiers[0].free_bytes) if each.tiers else "", each.why or "",
    )  # fmt: skip


def _database_standing(each: Standing) -> DatabaseStanding:
    return DatabaseStanding(
        database=each.database,
        engine=each.engine or None,
        agent=each.heartbeat,
        heard_of_at=each.heard_at,
        needs=each.needs.name.lower(),
        why=each.why or None,
        undecided_proposals=each.undecided,
        undecided_wait_saved_per_hour_seconds=each.undecided_saved_per_hour,
        waiting_moves=each.waiting_moves,
        running_moves=each.running_moves,
        tiers=tuple(
            TierFilled(tier=name, used_bytes=used, free_bytes=free) for name, (used, free) in each.tiers.items()
        ),
    )


def show_metrics(session: Session) -> None:
    """Print what Prometheus's text format says, or the document."""
    from prometheus_client import CollectorRegistry, generate_latest  # a list of databases needs neither

    from agent.fleet.metrics import FleetCollector

    registry = CollectorRegistry()
    selection, now = selection_of(session, ""), session.clock.now()
    registry.register(FleetCollector(lambda: read_standings(session.ledger, selection, now)))
    if not session.out.as_json:
        session.out.verbatim(generate_latest(registry).decode())
        return
    samples = [sample for family in registry.collect() for sample in family.samples]
    session.out.document(
        FleetMetrics(
            metrics=tuple(MetricShown(name=each.name, labels=each.labels, value=each.value) for each in samples)
        )
    )
