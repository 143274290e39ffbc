"""Reading under rules of real servers: missing rights are told with a GRANT that works, a cut line is a cut line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from agent.model.clock import SystemClock
from connectors.kit.contract import CannotConnect, ConnectorError, PrivilegeMissing
from tests.contract.asking import demand_of
from tests.db2.conftest import Connect
from tests.db2.life import Life
from tests.labs.db2.client import Db2, running_db2
from tests.labs.db2.conftest import connect as connect_driver
from tests.labs.db2.conftest import end, rows
from tests.labs.db2.server import BLIND, FAST, SLOW

pytestmark = [pytest.mark.db2, pytest.mark.xdist_group("db2")]
PRIVILEGES = Path(__file__).parents[3] / "deploy/privileges"
_EXECUTE = re.compile(r"^GRANT EXECUTE ON [^;]+(?=;)", re.MULTILINE)


@pytest.fixture
def db2() -> Iterator[Db2]:
    """An emulated server, as new: what was granted is not taken back."""
    with running_db2("11.5") as running:
        yield running


def test_emulated_server_rule_05_a_missing_execute_is_told_as_such(connect: Connect) -> None:
    """A function that the catalog has is not missing from this version: the login may not execute it."""
    with pytest.raises(PrivilegeMissing) as caught:
        connect(BLIND).sample()
    assert "GRANT EXECUTE ON FUNCTION SYSPROC.MON_GET_TABLE" in f"{caught.value} {caught.value.advice}"


def test_emulated_server_rule_05_what_doctor_says_to_grant_is_enough(db2: Db2, connect: Connect) -> None:
    """The GRANTs of doctor's findings, executed as they stand, and the login can sample."""
    found = [f for f in connect(BLIND).doctor() if f.code == "execute_missing"]
    assert found
    administrator = connect_driver(db2)
    try:
        for finding in found:
            rows(administrator, finding.remedy)
    finally:
        end(administrator)
    connector = connect(BLIND)
    assert not [f for f in connector.doctor() if f.code == "execute_missing"]
    connector.sample()


def test_emulated_server_rule_05_the_shipped_grants_can_be_executed(db2: Db2) -> None:
    """Each GRANT EXECUTE of the privilege scripts is taken by the server as it stands."""
    grants = [
        g for name in ("db2-observe.sql", "db2-move.sql") for g in _EXECUTE.findall((PRIVILEGES / name).read_text())
    ]
    assert any("ADMIN_MOVE_TABLE" in grant for grant in grants)
    administrator = connect_driver(db2)
    try:
        for grant in grants:
            rows(administrator, grant)
    finally:
        end(administrator)


def test_emulated_server_doctor_looks_while_an_agent_holds_the_lease(connect: Connect) -> None:
    """The lease's table is locked exclusively: doctor reads uncommitted, and neither waits nor fails."""
    lease = connect().acquire_lease("another agent")
    try:
        assert [found.code for found in connect().doctor() if "lease" in found.code] == ["lease_table"]
        assert lease.is_held()
    finally:
        lease.release()


@pytest.mark.slow
def test_emulated_server_rule_07_a_space_of_small_tables_is_not_grown(db2: Db2, tmp_path: Path) -> None:
    """100 tables of a page: the space takes 64 times the pages of its units, and moves as it was planned."""
    db2.lab.create_space("TS_SMALLS", SLOW)
    db2.lab.create_many("APP", 100, "TS_SMALLS", 1)
    life = Life(db2, tmp_path, {"ssd": [FAST], "hdd": [SLOW]}, move_by="table_space")
    life.database["pins"] = [{"unit": "APP.T0", "pin": "must"}]
    life.site.write()
    life.approved()
    move = life.go_on()
    assert db2.lab.containers("TS_SMALLS") == ["/db2/fast"], move["reason"]


def test_emulated_server_rule_08_a_line_cut_between_blocks(db2: Db2, connect: Connect) -> None:
    """The server is gone in the middle of an answer: an error of the connection, not a fault of hotplace itself."""
    db2.lab.create_many("APP", 700, "TS_SLOW", 10)
    connector: Any = connect()
    connector.identify()
    db2.lab.behave(cut_between_blocks=True)
    try:
        with pytest.raises(ConnectorError) as caught:
            connector.sample()
    finally:
        db2.lab.behave(cut_between_blocks=False)
    assert isinstance(caught.value, CannotConnect)
    assert len(connector.sample().physical_id) >= 700


def test_emulated_server_rule_14_lobs_of_a_distinct_type_have_a_place(db2: Db2, connect: Connect) -> None:
    """A table with a column of a type made of CLOB has the units that one with a CLOB has."""
    for name in ("PLAIN", "MADE"):
        db2.lab.create_table("APP", name, f"{name}_PK", "TS_SLOW", 64, 640)
    db2.lab.create_type("APP.LETTER", "SYSIBM.CLOB")
    db2.lab.alter_table("APP", "MADE", lob_type="APP.LETTER")
    catalog = connect().catalog()
    found = [sorted(key.replace(name, "T") for key in catalog.units.key if name in key) for name in ("PLAIN", "MADE")]
    assert found[0] == found[1]
    assert len(found[0]) == 3


def test_emulated_server_rule_11_a_backup_that_came_and_went_is_no_demand(db2: Db2, connect: Connect) -> None:
    """It began and ended between two looks: what sessions waited for LOBs is measured, or told to be less certain."""
    db2.lab.create_table("APP", "DOCS", "DOCS_PK", "TS_SLOW", 64, 64_000)
    connector = connect()
    load = {"DIRECT_READ_REQS": 1_000, "DIRECT_READS": 1_000 * 2_048}

    def waited(*, back_up: bool) -> float:
        def sessions() -> None:
            db2.lab.count(load, table="DOCS")
            db2.lab.count({**load, "DIRECT_READ_TIME": 10_000}, space="TS_SLOW")
            if back_up:
                db2.lab.back_up()

        demand, _ = demand_of(SimpleNamespace(clock=SystemClock()), connector, sessions)
        assert demand.waited is not None
        return float(np.nansum(demand.waited) * demand.seconds)

    usual = waited(back_up=False)
    assert usual == pytest.approx(10.0, rel=0.15)
    assert waited(back_up=True) == pytest.approx(usual, rel=0.15)
