"""A protocol of ADMIN_MOVE_TABLE that may not be read (rule 21): it is not "no move", and nothing begins blindly."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from connectors.kit.contract import PrivilegeMissing
from connectors.kit.findings import Finding
from connectors.model.moves import Route
from connectors.model.observation import Home
from tests.contract.asking import bundle_of, route_to, run
from tests.db2.conftest import Connect
from tests.db2.real.test_moves import phases
from tests.db2.test_command_line import site
from tests.labs.db2.client import Db2, running_db2
from tests.labs.db2.conftest import connect as open_session
from tests.labs.db2.conftest import end, rows
from tests.labs.db2.server import MOVER, TS_FAST, TS_SLOW

pytestmark = [pytest.mark.db2, pytest.mark.xdist_group("db2")]
KEY = "APP.ORDERS"
GRANT = 'GRANT SELECT ON SYSTOOLS.ADMIN_MOVE_TABLE TO USER "MOVER"'


@pytest.fixture
def db2() -> Iterator[Db2]:
    """An emulated server, as new: nobody has moved a table there yet."""
    with running_db2("11.5") as running:
        running.lab.create_table("APP", "ORDERS", "ORDERS_PK", TS_SLOW, 2000)
        running.lab.alter_table("APP", "ORDERS", grants={"MOVER": "SELECT=Y"})  # as db2-move.sql says
        running.lab.create_table("APP", "OTHER", "OTHER_PK", TS_SLOW, 20)
        yield running


def a_route(connector: Any, key: str = KEY) -> Route:
    """The one to the fast table space."""
    found = connector.routes(bundle_of(connector.catalog(), key), TS_FAST)
    assert not hasattr(found, "sentence"), found
    route: Route = found[0]
    return route


def about_protocol(connector: Any) -> list[Finding]:
    """Findings on the protocol."""
    return [finding for finding in connector.doctor() if finding.code.startswith("protocol_")]


def first_move(db2: Db2, connect: Connect) -> None:
    """Of another table, by an administrator: it makes the protocol."""
    connector = connect()
    run(connector, route_to(connector, "APP.OTHER", TS_FAST))


def test_emulated_server_rule_21_an_unreadable_protocol_stops_before_init(db2: Db2, connect: Connect) -> None:
    """No statement is sent, where things stand is not known, and error and doctor have the same GRANT."""
    first_move(db2, connect)
    connector = connect(MOVER)
    route = a_route(connector)
    since = len(db2.lab.sent())
    for attempt in (lambda: run(connector, route), lambda: connector.inspect(route)):
        with pytest.raises(PrivilegeMissing) as caught:
            attempt()
        assert GRANT in caught.value.advice
    assert phases(db2.lab, since) == []
    (finding,) = about_protocol(connector)
    assert (finding.code, finding.about_moving, finding.remedy.startswith(GRANT)) == ("protocol_unreadable", True, True)


def test_emulated_server_rule_21_what_doctor_says_to_grant_is_enough(db2: Db2, connect: Connect) -> None:
    """Executed as it stands, and the table moves to its end."""
    first_move(db2, connect)
    (finding,) = about_protocol(connect(MOVER))
    administrator = open_session(db2)
    try:
        rows(administrator, finding.remedy)
    finally:
        end(administrator)
    connector = connect(MOVER)
    route = a_route(connector)
    run(connector, route)
    assert connector.inspect(route).home is Home.TARGET
    assert about_protocol(connector) == []


def test_emulated_server_rule_21_a_first_move_that_is_not_seen_is_taken_back(db2: Db2, connect: Connect) -> None:
    """INIT makes the protocol, which cannot be read then: CANCEL at once, and no trigger stays."""
    connector = connect(MOVER)
    (finding,) = about_protocol(connector)
    assert (finding.code, "db2-move.sql" in finding.remedy) == ("protocol_absent", True)
    route = a_route(connector)
    since = len(db2.lab.sent())
    with pytest.raises(PrivilegeMissing) as caught:
        run(connector, route)
    assert GRANT in caught.value.advice
    assert phases(db2.lab, since) == ["INIT", "CANCEL"]
    assert db2.lab.status("APP", "ORDERS") == ""
    with pytest.raises(PrivilegeMissing):
        run(connector, route)
    assert phases(db2.lab, since) == ["INIT", "CANCEL"]


def test_emulated_server_rule_21_the_program_names_the_grant_and_sends_nothing(
    db2: Db2, connect: Connect, tmp_path: Path
) -> None:
    """An approved move of a login that may not read the protocol stays approved; the message ends in the GRANT."""
    first_move(db2, connect)
    real = site(db2, tmp_path, "table", TS_FAST, [TS_SLOW])
    (tmp_path / "mover").write_text(MOVER.password)
    watching = real.database["connection"]
    real.database["move_connection"] = watching | {"user": MOVER.name, "password": {"file": str(tmp_path / "mover")}}
    real.write()
    proposal = real.good("plan", "--observe", "0.3", "--propose", "--json").document["proposal"]
    real.good("approve", str(proposal["id"]), "--digest", proposal["digest"])
    since = len(db2.lab.sent())
    done = real.run("run", "--once", "--json")
    assert done.code != 0
    assert GRANT in done.document["error"]["next"]
    assert phases(db2.lab, since) == []
