"""Clusters whose query servers cannot start: each instance is asked by itself (emulated server)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from connectors.kit.contract import CannotConnect
from connectors.model.observation import Signal
from connectors.oracle.connector import OracleConnector
from tests.contract.asking import demand_of, reads_of
from tests.labs.oracle.harness import OracleHarness, running_harness
from tests.labs.oracle.model import Quirks
from tests.labs.tns.backend import OracleError
from tests.labs.tns.faults import Faults

NO_SERVERS = Faults(fail={r"\bGV_\$": OracleError(12850, "Could not allocate slaves on all specified instances")})


@pytest.fixture(params=[((19, 22, 0, 0, 0), Quirks(instances=2)), ((11, 2, 0, 4, 0), Quirks(instances=2))], ids=str)
def cluster(request: pytest.FixtureRequest) -> Iterator[OracleHarness]:
    """Two instances that do not let query servers start."""
    version, quirks = request.param
    with running_harness("oracle cluster (emulated server)", version, quirks) as running:
        yield running


@pytest.fixture
def connector(cluster: OracleHarness) -> Iterator[OracleConnector]:
    """Of the agent."""
    connected = cluster.connector()
    yield connected
    connected.close()


def test_each_instance_is_asked_by_itself(cluster: OracleHarness, connector: OracleConnector) -> None:
    """Counters of two instances, 100 and 25 reads: 125 of one segment, over a session to each (oracle.md f10)."""
    table = cluster.create("spread")
    segment = cluster.table(table).segments[0]

    def load() -> None:
        cluster.database.read_randomly(segment, 100, instance=1)
        cluster.database.read_randomly(segment, 25, instance=2)

    load()
    together = connector.sample()
    cluster.server.faults = NO_SERVERS
    apart = connector.sample()
    assert together.epoch == apart.epoch
    assert (together.physical_id == apart.physical_id).all()
    assert {name: list(values) for name, values in together.counters.items()} == {
        name: list(values) for name, values in apart.counters.items()
    }
    by_time = {"population_seconds", "processors_seconds"}  # counted from look to look
    assert {name: together.database[name] for name in together.database.keys() - by_time} == {
        name: apart.database[name] for name in apart.database.keys() - by_time
    }
    assert apart.database["population_seconds"] == 0.0, "sessions to each instance are no load"
    demand, catalog = demand_of(cluster, connector, load)
    assert reads_of(demand, catalog, Signal.SYNC_READ) == {table.key: pytest.approx(125)}
    actions = {session.client.action for session in cluster.database.sessions.values()}
    assert {"watch orcl1", "watch orcl2"} <= actions


def test_an_instance_that_restarts_is_noticed(cluster: OracleHarness, connector: OracleConnector) -> None:
    """Its counters begin anew: another epoch, whoever was asked."""
    cluster.server.faults = NO_SERVERS
    before = connector.sample()
    cluster.database.restart(instance=2)
    assert connector.sample().epoch != before.epoch


def test_an_instance_that_does_not_answer_is_not_zero(cluster: OracleHarness, connector: OracleConnector) -> None:
    """No sample at all is better than one that lacks an instance."""
    cluster.server.faults = NO_SERVERS
    connector.sample()
    cluster.database.unreachable.add("orcl2")
    for session in [s for s in cluster.database.sessions.values() if s.client.instance == "orcl2"]:
        cluster.kill(session.session_id)
    with pytest.raises(CannotConnect):
        connector.sample()


def test_a_dsn_does_not_tell_where_instances_are(cluster: OracleHarness) -> None:
    """The advice says what to configure."""
    where = f"127.0.0.1:{cluster.server.port}/orclpdb1"
    connector = cluster.connector(host="localhost", port=1, service="", dsn=where)
    try:
        connector.sample()
        cluster.server.faults = NO_SERVERS
        with pytest.raises(CannotConnect, match="ORA-12850") as caught:
            connector.sample()
        assert "host, port and service" in caught.value.advice
    finally:
        connector.close()


def test_the_doctor_says_so_once(cluster: OracleHarness, connector: OracleConnector) -> None:
    """One finding for sampling, one for moving, whichever queries it was."""
    cluster.server.faults = NO_SERVERS
    found = [finding for finding in connector.doctor() if finding.code.startswith("no_query_servers")]
    assert [(finding.code, finding.about_moving) for finding in found] == [
        ("no_query_servers", False), ("no_query_servers_moving", True),
    ]  # fmt: skip
    assert "ORA-12850" in found[0].sentence
