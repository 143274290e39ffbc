"""One scrape of a real registry, with a row in every family."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from agent.moving.progress import RunningMove
from agent.service.daemon import Daemon
from agent.service.fleet_metrics import FleetCollector
from agent.service.notifier import Waiting
from tests.deploy.promql import Labels
from tests.simulation.site import MINUTE, Site

NOW = datetime(2026, 1, 5, tzinfo=UTC)
RUNNING = RunningMove(
    move=1, proposal=1, unit="u", to_space="ssd", started_at=NOW, at=NOW.replace(minute=1), sentence="",
    total_bytes=100, done_bytes=40, done_before=0,
)  # fmt: skip


@pytest.fixture(scope="session")
def exposed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Labels]:
    """Labels of every metric, of the daemon's registry after moves of a simulated site, and of all databases."""
    site = Site(tmp_path_factory.mktemp("site"))
    with site.agent() as (watch, ledger):
        site.approved(watch, ledger)
        watch.act()
        for _ in range(15):
            site.clock.sleep(MINUTE)
            watch.sample()
            watch.verify()
        watch.plan()
        watch.snapshot.running = RUNNING
        watch.snapshot.note_success("act", NOW)
        watch.snapshot.hottest_tenths = {"u": 0.7}
        watch.snapshot.foreground_read_seconds = 0.01
        watch.snapshot.waiting = (
            Waiting(
                number=1, digest="0" * 12, moves=1, size_bytes=1, saves_per_hour=1.0,
                created_at=site.clock.now(), expires_at=site.clock.now() + timedelta(days=365 * 100),
            ),
        )  # fmt: skip
        daemon = Daemon(site.config, None, ledger, site.clock)
        daemon._watches = {"sim": watch}
        registry = daemon._registry()
        registry.register(FleetCollector(list))  # which one machine exposes for all
        text = generate_latest(registry).decode()
    found: dict[str, Labels] = {"up": frozenset()}  # of the target, which Prometheus makes
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            found[sample.name] = found.get(sample.name, frozenset()) | set(sample.labels)
    return found
