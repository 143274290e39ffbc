"""Sessions that take part in the load of a SQL Server, their time and kinds: over the wire of the emulated one."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from connectors.model.observation import Sample
from connectors.sqlserver.connector import SqlserverConnector
from connectors.sqlserver.sampler import Sessions
from tests.labs.sqlserver.instance import Client
from tests.labs.sqlserver.lab import Lab
from tests.labs.tds.drivers import OdbcDriver
from tests.sqlserver.connected import connected
from tests.virtual_clock import VirtualClock

TILLS = [
    *(Client(running=True, wait_type="PAGEIOLATCH_SH", began=0.02, ended=0.05) for _ in range(3)),
    *(Client(running=True, began=0.02, ended=0.05) for _ in range(1)),
    *(Client(began=0.05, ended=0.03) for _ in range(4)),
    Client(began=400.0, ended=399.0),  # of a pool, and not used
    Client(began=400.0, ended=399.0, open_transactions=1),  # forgotten
    Client(began=40 * 86400.0, ended=40 * 86400.0),  # milliseconds since then are more than an int holds
    Client(began=40 * 86400.0, ended=None),
    Client(login="watch", program="monitor", began=0.6, ended=0.5),
]
pytestmark = pytest.mark.by_turns


def look(lab: Lab, connector: SqlserverConnector, clock: VirtualClock, transactions: int, batch_ms: int) -> Sample:
    """One more sample, ten seconds and so much work later."""
    lab.shop.transactions += transactions
    lab.instance.batch_ms["Elapsed Time:Total(ms)"] += batch_ms
    lab.instance.batch_ms["CPU Time:Total(ms)"] += batch_ms // 10
    lab.instance.processor_ms += 2_000
    clock.sleep(10.0)
    return connector.sample()


def test_emulated_server_sessions_in_use_are_counted(lab: Lab, driver: OdbcDriver, tmp_path: Path) -> None:
    """Eight tills come round ten times a second, a monitor now and then; what nobody uses is left out."""
    clock = VirtualClock()
    lab.instance.clients = list(TILLS)
    lab.instance.batch_ms["Elapsed Time:Total(ms)"] = 0
    with connected(lab, driver, tmp_path, clock=clock) as connector:
        samples = [look(lab, connector, clock, 1000, 40_000) for _ in range(14)]
    first, last = samples[7].database, samples[13].database

    def rate(name: str) -> float:
        return (last[name] - first[name]) / 60.0

    assert rate("transactions") == 100.0
    assert rate("active_seconds") == pytest.approx(4.0)
    assert rate("population_seconds") == pytest.approx(9.0)
    assert rate("processor_seconds") == pytest.approx(0.2)
    assert rate("processors_seconds") == pytest.approx(8.0)
    # 3 of 4 at work wait for pages, all of them tills.
    assert rate("readers_seconds") == pytest.approx(8.0)
    assert rate("readers_active_seconds") == pytest.approx(4.0)
    assert 90.0 < rate("readers_transactions") < 100.0


def test_emulated_server_time_of_other_databases_is_theirs(lab: Lab, driver: OdbcDriver, tmp_path: Path) -> None:
    """Batches are timed for the whole server: of 4 sessions at work here and 12 elsewhere a quarter is ours."""
    clock = VirtualClock()
    lab.instance.add_database("other")
    lab.instance.clients = [*TILLS, *(Client(database="other", running=True) for _ in range(12))]
    with connected(lab, driver, tmp_path, clock=clock) as connector:
        samples = [look(lab, connector, clock, 1000, 160_000) for _ in range(6)]
    assert "active_seconds" not in samples[0].database, "sixteen were seen at work: too few to tell"
    assert (samples[5].database["active_seconds"] - samples[3].database["active_seconds"]) / 20 == pytest.approx(4.0)
    assert (samples[5].database["population_seconds"] - samples[3].database["population_seconds"]) / 20 == 9.0


@pytest.mark.parametrize("shown", [True, False])
def test_emulated_server_counters_may_bear_the_physical_name(
    lab: Lab, driver: OdbcDriver, tmp_path: Path, *, shown: bool
) -> None:
    """Managed Instance counts transactions under a GUID; where no name fits, doctor says so."""
    lab.shop.physical_name = "1D2F8A0C-0000-4000-8000-000000000001"
    lab.shop.transactions = 77
    lab.shop.counted_as = "" if shown else "SOMETHING ELSE"
    with connected(lab, driver, tmp_path, clock=VirtualClock()) as connector:
        counted = connector.sample().database.get("transactions")
        found = [finding.code for finding in connector.doctor()]
    assert counted == (77.0 if shown else None)
    assert ("transactions_missing" in found) is not shown


def test_what_is_not_shown_is_not_made_up() -> None:
    """No right, no counter of batches, no transactions: no figure, and none that is NaN."""
    row = (51, 1, "shop", "till", 1, 0, 0, 20, 50)
    counted = {"transactions": 5.0}
    assert Sessions().figures([], [], counted, 1.0) == {}
    assert Sessions().figures([row], [(None, None, None)], counted, 1.0) == {}
    assert Sessions().figures([row], [(10.0, 5.0, 8.0)], {}, 1.0) == {}
    found = Sessions().figures([row], [(10.0, 5.0, 8.0)], counted, 1.0)
    assert not any(math.isnan(value) for value in found.values())
