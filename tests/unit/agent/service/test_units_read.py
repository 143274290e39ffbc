"""How much of the catalog was read, as the daemon's status, doctor, and the metrics say it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from agent.sampling.sampler import Cycle
from agent.service.doctor import reading_findings
from agent.service.heard import DaemonState, daemon_status_of
from agent.service.metrics import AgentCollector
from agent.service.snapshot import Snapshot, status_document
from connectors.kit.findings import Severity
from connectors.model.observation import Coverage

NOON = datetime(2026, 1, 5, 12, 0, tzinfo=UTC)
SOME = Coverage(units=500, read=20, never=0, oldest_seconds=5400.0)


def snapshot_with(coverage: Coverage | None) -> Snapshot:
    """One whose last sample read so much."""
    unread = 0 if coverage is None else coverage.units - coverage.read
    cycle = Cycle(
        taken_at=NOON, units=500, unread_units=unread, coverage=coverage, server_seconds=2.0, seconds=3.0, sentence="",
        evidence=True,
    )  # fmt: skip
    return Snapshot(database="shop", engine="oracle", cycle=cycle, sample_seconds=60.0)


def daemon_with(coverage: Coverage | None, *, alive: bool = True) -> DaemonState:
    """What another process hears of that daemon."""
    status = daemon_status_of(status_document(snapshot_with(coverage), NOON, 1))
    return DaemonState(word="running" if alive else "stopped", alive=alive, age_seconds=1.0, at=NOON, status=status)


def test_status_and_doctor_say_how_much_was_read_and_how_old_the_rest_is() -> None:
    """In one sentence; doctor adds that nothing has to be done, and what would help."""
    daemon = daemon_with(SOME)
    assert daemon.status is not None
    assert daemon.status.units_read is not None
    said = daemon.status.units_read.sentence
    assert said == (
        "reading all counters takes too long: counters of 20 of 500 units were read with this sample, "
        "the others up to 1 h 30 min earlier"
    )
    (finding,) = reading_findings(daemon)
    assert (finding.code, finding.severity, finding.sentence) == ("units_unread", Severity.INFO, said)
    assert "not taken for cold" in str(finding.remedy)
    assert finding.values == {"units": "500", "read": "20", "never": "0", "oldest_seconds": "5400"}


def test_units_that_were_never_read_are_a_warning() -> None:
    """As long as there are any; the sentence counts them."""
    (finding,) = reading_findings(daemon_with(replace(SOME, never=30)))
    assert finding.severity is Severity.WARNING
    assert finding.sentence.endswith("30 have not been read yet")


@pytest.mark.parametrize("daemon", [daemon_with(None), daemon_with(SOME, alive=False)])
def test_where_all_is_read_or_nobody_reads_nothing_is_said(daemon: DaemonState) -> None:
    """No finding."""
    assert list(reading_findings(daemon)) == []


@pytest.mark.parametrize(
    ("coverage", "figures"),
    [(None, (0.0, 0.0, 0.0)), (replace(SOME, never=30), (480.0, 30.0, 5400.0))],
)
def test_metrics_have_all_three(coverage: Coverage | None, figures: tuple[float, float, float]) -> None:
    """Units not read by the last sample, units never read, and the age of the oldest reading."""
    registry = CollectorRegistry()
    registry.register(AgentCollector(lambda: [snapshot_with(coverage)], top_units=1))
    text = generate_latest(registry).decode()
    names = "hotplace_units_unread", "hotplace_units_never_read", "hotplace_oldest_reading_seconds"
    for name, figure in zip(names, figures, strict=True):
        assert f'{name}{{database="shop",engine="oracle"}} {figure}\n' in text
