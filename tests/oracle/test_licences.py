"""What needs a licence is read where the configuration names that licence, and nowhere else (emulated server)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest
from pydantic import ValidationError

from connectors.model.moves import NoRoute
from connectors.oracle.settings import OracleSettings
from tests.contract.asking import bundle_of, route_to, run
from tests.labs.oracle.harness import OWNER, OracleHarness, running_harness
from tests.labs.oracle.model import Quirks

NEEDS_A_LICENCE = re.compile(
    r"DBA_HIST|ACTIVE_SESSION|HEAT_MAP_|HEATMAP|DBA_ILM|DBMS_ILM|STATS\$|CONTROL_MANAGEMENT|SET\s+HEAT_MAP",
    re.IGNORECASE,
)


@pytest.fixture(params=[(11, 2, 0, 4, 0), (19, 22, 0, 0, 0)], ids=["11.2", "19"])
def lab(request: pytest.FixtureRequest) -> Iterator[OracleHarness]:
    """With a table that stood out in two of three snapshots of AWR, and one that ADO looks after."""
    quirks = Quirks(container="ORCLPDB1" if request.param >= (12, 1) else "")
    with running_harness("oracle licences (emulated server)", request.param, quirks) as running:
        of = running.database
        hot = of.add_table(OWNER, "HOT", "SLOW", 1 << 20).segments[0]
        of.add_table(OWNER, "COLD", "SLOW", 1 << 20)
        of.add_table(OWNER, "RULED", "SLOW", 1 << 20).ado = True
        now = datetime.now()  # noqa: DTZ005 - the database host's
        for age, reads in ((30, 9000), (3, 2000), (2, 10), (1, 1500)):
            of.read_randomly(hot, reads)
            of.take_snapshot(now - timedelta(days=age))
        yield running


def _life(lab: OracleHarness, **settings: Any) -> list[str]:
    """Everything that a connector sends over a whole life."""
    before = len(lab.server.statements)
    connector = lab.connector(**settings)
    try:
        connector.identify()
        connector.capabilities()
        connector.sample()
        connector.doctor()
        connector.acquire_lease("test").release()
        route = route_to(connector, f"{OWNER}.COLD", "FAST")
        run(connector, route)
        connector.inspect(route)
        run(connector, route, undo=True)
    finally:
        connector.close()
    return lab.server.statements[before:]


def test_nothing_that_needs_a_licence_is_ever_sent(lab: OracleHarness) -> None:
    """A whole life by default, though packs are installed and allowed: no AWR, ASH, Heat Map, ADO (f15, f16)."""
    assert lab.database.parameters["control_management_pack_access"] == "DIAGNOSTIC+TUNING"
    lab.database.parameters["heat_map"] = "ON"
    sent = _life(lab)
    assert len(sent) > 50
    assert [text for text in sent if NEEDS_A_LICENCE.search(text)] == []


def test_history_is_told_where_the_pack_is_licensed(lab: OracleHarness) -> None:
    """In two of the three snapshots of the last week: 3500 blocks in 3500 calls; of COLD there is none."""
    connector = lab.connector(licensed=("diagnostics_pack",))
    try:
        hot = " ".join(route_to(connector, f"{OWNER}.HOT", "FAST").notes)
        cold = " ".join(route_to(connector, f"{OWNER}.COLD", "FAST").notes)
    finally:
        connector.close()
    assert (
        "AWR: in 2 of 3 snapshots of the last 7 days among the segments that stood out, with 3500 blocks in 3500 calls"
    ) in hot
    assert "AWR: in none of 3 snapshots of the last 7 days" in cold
    assert all("ILM" not in text for text in lab.server.statements)


def test_objects_with_policies_are_left_alone(lab: OracleHarness) -> None:
    """Where the option is licensed they are looked for and refused, from 12.1 on (oracle.md f35)."""
    connector = lab.connector(licensed=("advanced_compression",))
    try:
        found = connector.routes(bundle_of(connector.catalog(), f"{OWNER}.RULED"), "FAST")
    finally:
        connector.close()
    if lab.database.version >= (12, 1):
        assert isinstance(found, NoRoute)
        assert found.code == "ado"
    else:
        assert not isinstance(found, NoRoute)


def test_only_known_licences_are_taken() -> None:
    """A licence that nobody knows is a mistake in the configuration."""
    with pytest.raises(ValidationError, match="licensed"):
        OracleSettings(service="x", user="y", licensed=("heat_map",))  # type: ignore[arg-type]  # as YAML has it
