"""Sessions that take part in the load of an Oracle database, their kinds, and its processors. Emulated server."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from connectors.model.observation import Sample
from connectors.oracle.connector import OracleConnector
from connectors.oracle.driver import load_driver
from tests.labs.oracle.harness import AGENT, PASSWORD, OracleHarness, running_harness
from tests.labs.oracle.model import LoadSession, Quirks
from tests.virtual_clock import VirtualClock

READING = "db file sequential read"
TILLS = [
    *(LoadSession(active=True, event=READING) for _ in range(3)),
    LoadSession(active=True, event="log file sync", transaction=True),
    *(LoadSession(seconds=0.03) for _ in range(4)),
    LoadSession(seconds=4000.0),  # of a pool, and not used
    LoadSession(seconds=4000.0, transaction=True),  # forgotten
    LoadSession(user="WATCH", program="monitor", module="checks", seconds=0.5),
    *(LoadSession(active=True, event=READING, program="oracle@host (P00A)") for _ in range(8)),  # for one of the tills
]


def of(lab: OracleHarness, clock: VirtualClock, user: str = AGENT) -> OracleConnector:
    """A connector by that clock."""
    settings = lab.settings(user)
    return OracleConnector(settings, clock, load_driver(settings))


def look(lab: OracleHarness, connector: OracleConnector, clock: VirtualClock, instances: int = 1) -> Sample:
    """One more sample, ten seconds and so much work of every instance later."""
    with lab.database.lock:
        for counted in lab.database.statistics[:instances]:
            counted["user commits"] += 1000
            counted["DB time"] += 4000
            counted["CPU used by this session"] += 200
        lab.database.touch()
    clock.sleep(10.0)
    return connector.sample()


@pytest.mark.parametrize(("version", "instances"), [((19, 22, 0, 0, 0), 1), ((12, 1, 0, 2, 0), 2), ((11, 2, 0, 4), 1)])
def test_sessions_in_use_are_counted(version: tuple[int, ...], instances: int) -> None:
    """Eight tills and a monitor take part; pools, forgotten transactions and parallel servers are left out."""
    clock = VirtualClock()
    with running_harness("oracle sessions (emulated server)", version, Quirks(instances=instances)) as lab:
        lab.database.load_sessions = list(TILLS)
        connector = of(lab, clock)
        samples = [look(lab, connector, clock, instances) for _ in range(14)]
        connector.close()
    first, last = samples[7].database, samples[13].database

    def rate(name: str) -> float:
        return (last[name] - first[name]) / 60.0

    assert rate("active_seconds") == pytest.approx(4.0 * instances)
    assert rate("population_seconds") == pytest.approx(9.0)
    assert rate("readers_seconds") == pytest.approx(8.0)
    assert rate("readers_active_seconds") == pytest.approx(4.0 * instances)
    assert "readers_transactions" not in last, "time in a call is told in whole seconds"
    assert rate("processor_seconds") == pytest.approx(0.2 * instances)
    assert rate("processors_seconds") == pytest.approx(4.0 * instances)


def test_a_missing_grant_leaves_the_rest_of_the_sample() -> None:
    """Without GV$SESSION nothing is said of sessions, and their time is sampled as ever; doctor names the GRANT."""
    script = (Path(__file__).parents[2] / "deploy" / "privileges" / "oracle-observe.sql").read_text(encoding="utf-8")
    granted = {("SELECT", f"SYS.{view}") for view in re.findall(r"^GRANT SELECT ON SYS\.(\S+)", script, re.M)}
    with running_harness("oracle sessions (emulated server)") as lab:
        lab.database.add_user("WHOLE", PASSWORD).grants |= granted
        lab.database.add_user("HALF", PASSWORD).grants |= granted - {("SELECT", "SYS.GV_$SESSION")}
        whole, half = (of(lab, VirtualClock(), user) for user in ("WHOLE", "HALF"))
        try:
            assert "population_seconds" in whole.sample().database
            found = half.sample().database
            codes = {finding.code: finding for finding in half.doctor()}
        finally:
            whole.close()
            half.close()
    assert "active_seconds" in found
    assert "population_seconds" not in found
    assert codes["not_granted_GV$SESSION"].remedy == "GRANT SELECT ON SYS.GV_$SESSION TO HALF;"
