"""The grants of deploy/privileges against the views that the queries read, and on the emulated server."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from connectors.kit.contract import PrivilegeMissing, StatementFailed
from connectors.kit.findings import Severity
from connectors.model.moves import NoRoute
from connectors.model.observation import Home
from tests.contract.asking import bundle_of, route_to, run
from tests.labs.oracle.harness import OWNER, PASSWORD, OracleHarness, running_harness
from tests.oracle.test_columns import LICENSED, ONE_INSTANCE, SQL, _used

SCRIPTS = Path(__file__).parents[2] / "deploy" / "privileges"
RIGHTS = {"ALTER ANY TABLE", "ALTER ANY INDEX", "SELECT ANY DICTIONARY"}
WORSE = {Severity.WARNING, Severity.ERROR}
PUBLIC = {"SESSION_PRIVS", "SESSION_ROLES", "PRODUCT_COMPONENT_VERSION", "DUAL"}
MOVING = {"blockers", "own_session", "progress", "waiting", "lease_holder", "lock_grant", "alter_grant"}


def _grants(script: str) -> set[tuple[str, str]]:
    """Object grants of a script: privilege and what it is on."""
    text = (SCRIPTS / script).read_text(encoding="utf-8")
    return set(re.findall(r"^GRANT (\w+) ON (SYS\.[\w$]+) TO", text, re.MULTILINE))


def _needed(names: set[str]) -> set[tuple[str, str]]:
    views = {source for name in names for source in _used(name).values()} - PUBLIC
    views |= {source.replace("GV$", "V$") for name in names & ONE_INSTANCE for source in _used(name).values()}
    return {("SELECT", "SYS." + re.sub(r"^(G?V)\$", r"\1_$", view)) for view in views}


def test_observing_has_exactly_the_grants_it_needs() -> None:
    """No view too few, none too many."""
    assert _grants("oracle-observe.sql") == _needed(set(SQL) - MOVING - LICENSED.keys())


def test_moving_adds_exactly_what_it_needs() -> None:
    """The views of a running move, and the lock of the lease."""
    added = _needed(MOVING) - _grants("oracle-observe.sql") | {("EXECUTE", "SYS.DBMS_LOCK")}
    assert _grants("oracle-move.sql") == added


@pytest.fixture(scope="module")
def lab() -> Iterator[OracleHarness]:
    """A 19c lab with a login that has the grants of each script and nothing else."""
    with running_harness("oracle scripts (emulated server)") as running:
        running.database.add_user("OBSERVER", PASSWORD).grants |= _grants("oracle-observe.sql")
        mover = running.database.add_user("MOVER", PASSWORD, privileges={"ALTER ANY TABLE", "ALTER ANY INDEX"})
        mover.grants |= _grants("oracle-observe.sql") | _grants("oracle-move.sql")
        running.database.add_user("NOBODY", PASSWORD)
        yield running


def test_an_observer_can_do_all_but_move(lab: OracleHarness) -> None:
    """Emulated server: catalog, sample, routes, inspect and doctor work with the grants of the script alone."""
    table = lab.create("observed")
    connector = lab.connector(user="OBSERVER")
    try:
        assert connector.sample().epoch
        route = route_to(connector, table.key, lab.target_space)
        assert connector.inspect(route).sentence == f"{table.key} is in SLOW"
        assert {f.code for f in connector.doctor() if f.severity in WORSE and not f.about_moving} == set()
    finally:
        connector.close()
        lab.drop(table)


def test_a_mover_can_move(lab: OracleHarness) -> None:
    """Emulated server: a move, its undo and the lease work with the grants of both scripts."""
    table = lab.create("moved")
    connector = lab.connector(user="MOVER")
    try:
        lease = connector.acquire_lease("test")
        route = route_to(connector, table.key, lab.target_space)
        run(connector, route)
        run(connector, route, undo=True)
        assert lease.is_held()
        lease.release()
        assert not [f for f in connector.doctor() if f.severity in WORSE]
    finally:
        connector.close()
        lab.drop(table)


def test_a_dba_moves_nothing_by_mistake(lab: OracleHarness) -> None:
    """Emulated server: a login with the DBA role is refused before it has a session that may write, unless told."""
    lab.database.add_user("BOSS", PASSWORD, privileges=RIGHTS, roles={"DBA"})
    table = lab.create("guarded")
    careful, bold = lab.connector(user="BOSS"), lab.connector(user="BOSS", strong_login=True)
    try:
        route = route_to(careful, table.key, lab.target_space)
        with pytest.raises(StatementFailed) as caught:
            careful.open_mover()
        assert "strong_login" in caught.value.advice
        assert not [s for s in lab.database.sessions.values() if s.client.action == "move"]
        run(bold, route)
        assert bold.inspect(route).home is Home.TARGET
    finally:
        careful.close()
        bold.close()
        lab.drop(table)


def test_statements_are_worth_a_grant_and_no_more(lab: OracleHarness) -> None:
    """Emulated server: without V$SQLSTATS outcomes say less, and nothing else is lost; the doctor gives the GRANT."""
    user = lab.database.add_user("NARROW", PASSWORD)
    user.grants |= {grant for grant in _grants("oracle-observe.sql") if "SQLSTATS" not in grant[1]}
    connector = lab.connector(user="NARROW")
    try:
        connector.sample()
        with pytest.raises(PrivilegeMissing):
            connector.read_statements(10)
        (finding,) = [each for each in connector.doctor() if each.severity is not Severity.OK and "STAT" in each.code]
        assert (finding.code, finding.severity) == ("not_granted_GV$SQLSTATS", Severity.INFO)
        assert finding.remedy == "GRANT SELECT ON SYS.GV_$SQLSTATS TO NARROW;"
    finally:
        connector.close()


def test_a_login_without_grants_hears_which(lab: OracleHarness) -> None:
    """Emulated server: a view that is not granted is a missing privilege with advice, not a missing object."""
    connector = lab.connector(user="NOBODY")
    try:
        with pytest.raises(PrivilegeMissing) as caught:
            connector.identify()
        assert "doctor" in caught.value.advice
    finally:
        connector.close()


def test_an_owner_without_quota_is_told_before_the_move(lab: OracleHarness) -> None:
    """Emulated server: the quota of the owner counts, not that of the agent (oracle.md f25)."""
    table = lab.create("poor")
    connector = lab.connector()
    quotas = lab.database.users[OWNER].quotas
    kept, quotas["FAST"] = quotas["FAST"], 1 << 20
    lab.database.generation += 1
    try:
        found = connector.routes(bundle_of(connector.catalog(), table.key), lab.target_space)
        assert isinstance(found, NoRoute)
        assert (found.code, "ORA-01536" in found.sentence) == ("quota", True)
    finally:
        quotas["FAST"] = kept
        lab.database.generation += 1
        connector.close()
        lab.drop(table)
