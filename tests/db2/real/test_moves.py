"""Moves under rules of real servers: nothing lost on a standby, no copy thrown away, no statement that must fail."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent.ledger.ledger import Ledger
from agent.model.clock import SystemClock
from agent.moving.reconciler import half_done_of
from connectors.kit.contract import ConnectorError, LockNotObtained
from connectors.model.moves import NoRoute, Route
from connectors.model.observation import Home
from tests.contract.asking import bundle_of, route_to, run
from tests.db2.conftest import Connect
from tests.db2.life import Life
from tests.labs.db2.client import Db2, running_db2, wait_until
from tests.labs.db2.conftest import connect as open_session
from tests.labs.db2.conftest import end, rows
from tests.labs.db2.server import FAST, TS_FAST, TS_SLOW

pytestmark = [pytest.mark.db2, pytest.mark.xdist_group("db2")]
KEY = "APP.ORDERS"


@pytest.fixture(scope="module")
def db2() -> Iterator[Db2]:
    """One emulated server."""
    with running_db2("11.5") as running:
        yield running


@pytest.fixture
def lab(db2: Db2) -> Iterator[Any]:
    """The lab with one table on the slow table space, as it was before when the test has ended."""
    db2.lab.create_table("APP", "ORDERS", "ORDERS_PK", TS_SLOW, 2000)
    before = db2.lab.behave(hadr_role="STANDARD", blocknonlogged="NO", swap_deadlocks=False)
    yield db2.lab
    db2.lab.behave(**before)
    db2.lab.lock("APP", "ORDERS", False)
    db2.lab.drop_table("APP", "ORDERS")


def answer(connector: Any, space: str = TS_FAST) -> Route | NoRoute:
    """The kindest route of the table to that space, or why there is none."""
    found = connector.routes(bundle_of(connector.catalog(), KEY), space)
    return found if isinstance(found, NoRoute) else found[0]


def phases(lab: Any, since: int) -> list[str]:
    """Operations of ADMIN_MOVE_TABLE that reached the server."""
    return [text.rpartition(",")[2].strip(" ')") for text in lab.sent()[since:] if "ADMIN_MOVE_TABLE" in text]


def test_emulated_server_rule_02_nothing_is_lost_on_a_standby(lab: Any, connect: Connect) -> None:
    """A column-organised table of an HADR primary: there is no route, or what the route loads leaves a copy."""
    lab.alter_table("APP", "ORDERS", organized="C")
    lab.behave(hadr_role="PRIMARY")
    connector = connect()
    route = answer(connector)
    if isinstance(route, Route):
        run(connector, route)
    else:
        assert "standby" in route.sentence
    assert lab.unrecoverable() == []


def test_emulated_server_rule_02_blocknonlogged_is_asked_before(lab: Any, connect: Connect) -> None:
    """With blocknonlogged there is no route with a LOAD that must fail, or it leaves a copy and arrives."""
    lab.alter_table("APP", "ORDERS", organized="C")
    lab.behave(blocknonlogged="YES")
    connector = connect()
    route = answer(connector)
    if isinstance(route, Route):
        run(connector, route)
        assert connector.inspect(route).home is Home.TARGET
    else:
        assert "blocknonlogged" in route.sentence.lower()


@pytest.mark.parametrize("archive", ["OFF", "DISK:/db2/archive/", "VENDOR:/usr/lib/libtsm.so"])
def test_emulated_server_rule_24_with_archived_logs_rows_are_inserted(lab: Any, connect: Connect, archive: str) -> None:
    """A roll-forward has every row: what is loaded without a copy is loaded with circular logging only."""
    lab.alter_table("APP", "ORDERS", organized="C")
    before = lab.behave(logarchmeth1=archive)
    lost = lab.unrecoverable()
    try:
        connector = connect()
        route = answer(connector)
        assert isinstance(route, Route)
        assert ("COPY_USE_LOAD" in route.steps[0].sql) is (archive == "OFF")
        run(connector, route)
        assert connector.inspect(route).home is Home.TARGET
        assert (lab.unrecoverable() == lost) is (archive != "OFF")
    finally:
        lab.behave(**before)


def test_emulated_server_rule_24_archived_since_the_plan(lab: Any, connect: Connect) -> None:
    """A LOAD that was planned before logs were archived is refused before INIT."""
    lab.alter_table("APP", "ORDERS", organized="C")
    connector = connect()
    route = answer(connector)
    assert isinstance(route, Route)
    before, since = lab.behave(logarchmeth1="DISK:/db2/archive/"), len(lab.sent())
    try:
        with pytest.raises(ConnectorError, match="logs are archived"):
            run(connector, route)
        assert phases(lab, since) == []
    finally:
        lab.behave(**before)


@pytest.mark.parametrize("where", ["whole", "data"])
def test_emulated_server_rule_04_no_route_into_another_partition_group(lab: Any, connect: Connect, where: str) -> None:
    """A space of another database partition group is refused when the route is asked for, and nothing is sent."""
    lab.create_space("TS_OTHER", FAST)
    lab.alter_space("TS_OTHER", partition_group="PG_HISTORY")
    try:
        if where == "whole":
            lab.drop_index("APP", "ORDERS", "ORDERS_PK")
        at = len(lab.sent())
        route = answer(connect(), "TS_OTHER")
        assert isinstance(route, NoRoute)
        assert "partition group" in route.sentence
        assert lab.sent()[at:] == []
    finally:
        lab.drop_space("TS_OTHER")


def test_emulated_server_rule_06_a_table_leaves_sms_with_its_indexes(lab: Any, connect: Connect) -> None:
    """A table whose data, index and LOBs are in an SMS space: all of it arrives, or the reason is told before."""
    lab.create_sms("TS_SMS", "/db2/slow/sms")
    lab.drop_table("APP", "ORDERS")
    lab.create_table("APP", "ORDERS", "ORDERS_PK", "TS_SMS", 2000)
    try:
        connector = connect()
        route = answer(connector)
        if isinstance(route, NoRoute):
            assert "SMS" in route.sentence
        else:
            run(connector, route)
            assert lab.home("APP", "ORDERS") == [TS_FAST, TS_FAST]
    finally:
        lab.drop_table("APP", "ORDERS")
        lab.drop_space("TS_SMS")


def test_emulated_server_rule_06_the_index_home_of_a_table_without_index_follows(lab: Any, connect: Connect) -> None:
    """A table that has no index is moved whole: an index that is made later is not to be born in the space it left."""
    lab.drop_index("APP", "ORDERS", "ORDERS_PK")
    connector = connect()
    run(connector, route_to(connector, KEY, TS_FAST))
    assert lab.home("APP", "ORDERS") == [TS_FAST, TS_FAST]


@pytest.mark.parametrize("why", ["lock", "deadlock"])
def test_emulated_server_rule_09_a_failed_swap_keeps_the_copy(
    lab: Any, connect: Connect, why: str, request: pytest.FixtureRequest
) -> None:
    """Who fails at SWAP leaves the move in REPLAY: no CANCEL; the next try ends it with one COPY in all."""
    connector = connect()
    route = route_to(connector, KEY, TS_FAST)
    lab.create_space("TS_ELSE", FAST)
    request.addfinalizer(lambda: lab.drop_space("TS_ELSE"))
    elsewhere = route_to(connector, KEY, "TS_ELSE")
    at = len(lab.sent())
    lab.lock("APP", "ORDERS", why == "lock")
    lab.behave(swap_deadlocks=why == "deadlock")
    with pytest.raises(LockNotObtained):
        run(connector, route)
    assert lab.status("APP", "ORDERS") == "REPLAY"
    assert connector.inspect(route).unfinished == tuple(step for step in route.tidy_steps if "'CANCEL'" in step.sql)
    assert connector.inspect(elsewhere).unfinished == ()  # that move is not this one: its copy is somebody else's
    lab.lock("APP", "ORDERS", False)
    run(connector, route)
    assert connector.inspect(route).home is Home.TARGET
    assert phases(lab, at).count("COPY") == 1
    assert "CANCEL" not in phases(lab, at)


@pytest.mark.slow
def test_emulated_server_rule_09_the_program_swaps_when_the_lock_is_free(db2: Db2, lab: Any, tmp_path: Path) -> None:
    """The program meets a lock at SWAP that outlives its patience there; when it is free the same copy is swapped."""
    life = Life(db2, tmp_path, {"ssd": [TS_FAST], "hdd": [TS_SLOW]}, move_by="table", lock_timeout="0.2s")
    life.database["pins"] = [{"unit": KEY, "pin": "must"}]
    life.site.write()
    life.approved()
    at = len(lab.sent())
    lab.lock("APP", "ORDERS", True)
    free = threading.Thread(target=_freed_after_a_swap, args=(lab, at))
    free.start()
    try:
        life.go_on()
    finally:
        free.join()
    assert lab.home("APP", "ORDERS")[0] == TS_FAST
    assert phases(lab, at).count("COPY") == 1
    assert "CANCEL" not in phases(lab, at)


def _freed_after_a_swap(lab: Any, at: int) -> None:
    try:
        wait_until(lambda: len(_after_swap(phases(lab, at))) > 0, "something after a SWAP that failed")
    finally:
        lab.lock("APP", "ORDERS", False)


def _after_swap(sent: list[str]) -> list[str]:
    return sent[sent.index("SWAP") + 1 :] if "SWAP" in sent else []


def test_emulated_server_rule_11_the_limit_of_the_target_counts(lab: Any, connect: Connect) -> None:
    """A table of 8 MB and a space that may grow to 2: refused before a byte is copied."""
    lab.create_space("TS_SMALL", FAST)
    lab.alter_space("TS_SMALL", max_pages=512)
    try:
        at = len(lab.sent())
        connector = connect()
        route = answer(connector, "TS_SMALL")
        if isinstance(route, Route):
            with pytest.raises(ConnectorError):
                run(connector, route)
        assert phases(lab, at) == []
    finally:
        lab.drop_space("TS_SMALL")


def test_emulated_server_rule_09_what_waits_for_its_swap_ends_with_its_approval(
    db2: Db2, lab: Any, tmp_path: Path
) -> None:
    """Cancelled while it waits in REPLAY: the approved CANCEL is sent, once; its triggers slow no change any more."""
    life = Life(db2, tmp_path, {"ssd": [TS_FAST], "hdd": [TS_SLOW]}, move_by="table", lock_timeout="0.2s")
    life.database.update(pins=[{"unit": KEY, "pin": "must"}], retries=1)
    life.site.write()
    life.approved()
    at = len(lab.sent())
    lab.lock("APP", "ORDERS", True)
    try:
        life.run("run", "--once", "--json")
        (move,) = life.moves()
        assert lab.status("APP", "ORDERS") == "REPLAY"
        assert "CANCEL" not in phases(lab, at)
        if move["state"] == "approved":
            life.good("cancel", str(move["id"]))
    finally:
        lab.lock("APP", "ORDERS", False)
    life.run("run", "--once", "--json")
    assert lab.status("APP", "ORDERS") != "REPLAY"
    assert phases(lab, at).count("CANCEL") == 1
    assert phases(lab, at).count("COPY") == 1
    assert lab.home("APP", "ORDERS")[0] == TS_SLOW
    with Ledger.open(life.site.ledger_path, SystemClock()) as ledger:
        assert half_done_of(ledger, "real") == ()


KEYS_OF_LINES = (
    "SELECT R.CONSTNAME, R.REFTABNAME, R.REFKEYNAME, R.DELETERULE, R.UPDATERULE FROM SYSCAT.REFERENCES AS R "
    "WHERE R.TABNAME = 'LINES' WITH UR"
)
STATE_OF_LINES = (
    "SELECT K.CONSTNAME, K.ENFORCED, K.TRUSTED, K.CHECKEXISTINGDATA, K.ENABLEQUERYOPT, K.PERIODNAME, K.REMARKS "
    "FROM SYSCAT.TABCONST AS K WHERE K.TABNAME = 'LINES' AND K.TYPE = 'F' WITH UR"
)
STATES: dict[str, dict[str, Any]] = {
    "enforced": {},
    "believed": {"enforced": False},
    "not believed": {"enforced": False, "trusted": False, "optimized": False},
    "not believed, not left out by the optimizer": {"enforced": False, "trusted": False},
    "not used": {"optimized": False},
}


@pytest.mark.parametrize("moved", ["ORDERS", "LINES"])
def test_emulated_server_rule_12_a_table_with_foreign_keys_moves(
    db2: Db2, lab: Any, connect: Connect, moved: str
) -> None:
    """Parent or child: the keys go before the move and are there after it, the same as before, and checked."""
    lab.create_table("APP", "LINES", "LINES_PK", TS_SLOW, 64)
    lab.add_foreign_key("LINES", "ORDERS", "Of Order", on_delete="C", on_update="R")
    session = open_session(db2)
    try:
        before = rows(session, KEYS_OF_LINES)
        connector = connect(foreign_keys="drop_and_add")
        found = connector.routes(bundle_of(connector.catalog(), f"APP.{moved}"), TS_FAST)
        assert not isinstance(found, NoRoute), found.sentence
        run(connector, found[0])
        assert lab.home("APP", moved)[0] == TS_FAST
        assert rows(session, KEYS_OF_LINES) == before
    finally:
        end(session)
        lab.drop_table("APP", "LINES")


@pytest.mark.parametrize("state", STATES)
def test_emulated_server_rule_12_a_key_comes_back_with_all_it_was(
    db2: Db2, lab: Any, connect: Connect, state: str
) -> None:
    """One that was NOT TRUSTED and came back TRUSTED would make queries leave out rows, without an error."""
    lab.create_table("APP", "LINES", "LINES_PK", TS_SLOW, 64)
    lab.add_foreign_key("LINES", "ORDERS", "Of Order", **STATES[state])
    session = open_session(db2)
    try:
        before = rows(session, STATE_OF_LINES)
        connector = connect(foreign_keys="drop_and_add")
        route = without_keys(connector)
        run(connector, route)
        assert rows(session, STATE_OF_LINES) == before
        assert "not as it was" not in connector.inspect(route).sentence
    finally:
        end(session)
        lab.drop_table("APP", "LINES")


@pytest.mark.parametrize(
    ("columns", "named"),
    [
        ((("REMARKS", "for the auditors"),), "a comment"),
        ((("PERIODNAME", "BUSINESS_TIME"),), "the period BUSINESS_TIME"),
        ((("CHECKEXISTINGDATA", "N"),), "rows that it has not checked"),
    ],
)
def test_emulated_server_rule_12_what_would_not_come_back_is_refused(
    lab: Any, connect: Connect, columns: tuple[tuple[str, object], ...], named: str
) -> None:
    """By name, before a key is dropped for it."""
    lab.create_table("APP", "LINES", "LINES_PK", TS_SLOW, 64)
    lab.add_foreign_key("LINES", "ORDERS", "Of Order", columns_of_catalog=columns)
    try:
        found = answer(connect(foreign_keys="drop_and_add"))
        assert isinstance(found, NoRoute)
        assert (found.code, named in found.sentence) == ("key_attributes", True), found.sentence
    finally:
        lab.drop_table("APP", "LINES")


@pytest.mark.parametrize("made", ["blocks", "page map"])
def test_emulated_server_rule_13_indexes_of_the_system_are_no_loss(lab: Any, connect: Connect, made: str) -> None:
    """They have other names after a move, and nothing is missing for that."""
    lab.drop_table("APP", "ORDERS")
    if made == "blocks":
        lab.create_clustered("ORDERS", ["REGION", "MONTH_OF"], TS_SLOW, 2000)
    else:
        lab.create_columnar("ORDERS", TS_SLOW, 2000)
    connector = connect()
    route = answer(connector)
    assert isinstance(route, Route), route.sentence
    run(connector, route)
    seen = connector.inspect(route)
    assert seen.home is Home.TARGET
    assert "not as it was" not in seen.sentence


@pytest.fixture
def lines(lab: Any) -> Iterator[Any]:
    """The lab with a table that refers to the one that moves."""
    lab.create_table("APP", "LINES", "LINES_PK", TS_SLOW, 64)
    lab.add_foreign_key("LINES", "ORDERS", "Of Order", on_delete="C")
    before = lab.behave(moves_keys=False)
    yield lab
    lab.behave(**before)
    lab.lock("APP", "LINES", False)
    lab.drop_table("APP", "LINES")


def without_keys(connector: Any) -> Route:
    """The route that drops the key and adds it again."""
    route = answer(connector)
    assert isinstance(route, Route), route.sentence
    return route


def keys_of_lines(db2: Db2) -> list[Any]:
    """As the catalog has them now."""
    session = open_session(db2)
    try:
        return rows(session, KEYS_OF_LINES)
    finally:
        end(session)


def test_emulated_server_rule_12_refused_unless_it_is_wanted(db2: Db2, lines: Any, connect: Connect) -> None:
    """By default there is no route; the reason has the statements of a move by hand, and they can be executed."""
    route = answer(connect())
    assert isinstance(route, NoRoute)
    by_hand = route.sentence.partition("By hand: ")[2].partition(". Adding")[0].split("; ")
    session = open_session(db2)
    try:
        before = rows(session, KEYS_OF_LINES)
        for statement in by_hand[0], by_hand[2]:
            rows(session, statement)
        assert rows(session, KEYS_OF_LINES) == before
    finally:
        end(session)


def test_emulated_server_rule_12_nothing_goes_for_a_move_that_cannot_be(db2: Db2, lines: Any, connect: Connect) -> None:
    """What would be refused at INIT is known before the first key is dropped."""
    connector = connect(foreign_keys="drop_and_add")
    route = without_keys(connector)
    lines.alter_table("APP", "ORDERS", reorg_pending=True)
    before, at = keys_of_lines(db2), len(lines.sent())
    with pytest.raises(ConnectorError, match="REORG TABLE"):
        run(connector, route)
    assert (keys_of_lines(db2), lines.sent()[at + 1 :]) == (before, [])  # but for the lock timeout


@pytest.mark.parametrize("stops_in", ["INIT", "COPY", "SWAP"])
def test_emulated_server_rule_12_a_move_that_ends_early_brings_its_keys_back(
    db2: Db2, lines: Any, connect: Connect, stops_in: str
) -> None:
    """Whatever was dropped is among what tidies up; a SWAP that waits keeps it away until the move is given up."""
    connector = connect(foreign_keys="drop_and_add")
    route, before = without_keys(connector), keys_of_lines(db2)
    with connector.open_mover() as mover:
        mover.prepare(route)
        mover.execute(route.steps[0])
        if stops_in != "INIT":
            mover.execute(route.steps[1])
        if stops_in == "SWAP":
            for step in route.steps[2:4]:
                mover.execute(step)
    seen = connector.inspect(route)
    assert seen.home is Home.SOURCE
    ends = seen.unfinished if stops_in != "INIT" else seen.leftovers
    assert (seen.leftovers == ()) == (stops_in != "INIT")
    assert {step.sql for step in ends} <= {step.sql for step in route.tidy_steps}
    with connector.open_mover() as mover:
        mover.prepare(route)
        for step in ends:
            mover.execute(step)
    after = connector.inspect(route)
    assert (keys_of_lines(db2), after.leftovers, after.unfinished, after.home) == (before, (), (), Home.SOURCE)


def test_emulated_server_rule_12_rows_without_a_parent_are_told_until_the_key_is_back(
    db2: Db2, lines: Any, connect: Connect
) -> None:
    """SQL0667N at the last statement: the table has arrived, its key is among what is left, and comes once it can."""
    connector = connect(foreign_keys="drop_and_add")
    route, before = without_keys(connector), keys_of_lines(db2)
    lines.alter_table("APP", "LINES", orphans=1)
    with pytest.raises(ConnectorError, match="SQL0667N"):
        run(connector, route)
    seen = connector.inspect(route)
    assert (seen.home, len(seen.leftovers), keys_of_lines(db2)) == (Home.TARGET, 1, [])
    assert "1 foreign key(s) are to be added again" in seen.sentence
    lines.alter_table("APP", "LINES", orphans=0)
    with connector.open_mover() as mover:
        mover.prepare(route)
        for _ in range(2):  # the second time it is there
            mover.execute(seen.leftovers[0])
    after = connector.inspect(route)
    assert (after.home, after.leftovers, keys_of_lines(db2)) == (Home.TARGET, (), before)


def test_emulated_server_rule_12_another_key_since_is_told(db2: Db2, lines: Any, connect: Connect) -> None:
    """A key that somebody has made anew with other rules is not as it was."""
    connector = connect(foreign_keys="drop_and_add")
    route = without_keys(connector)
    run(connector, route)
    session = open_session(db2)
    try:
        rows(session, 'ALTER TABLE APP.LINES DROP CONSTRAINT "Of Order"')
        key = "FOREIGN KEY (PARENT_ID) REFERENCES APP.ORDERS (C0) NOT ENFORCED"
        rows(session, f'ALTER TABLE APP.LINES ADD CONSTRAINT "Of Order" {key}')
    finally:
        end(session)
    assert 'not as it was: foreign key "Of Order" of APP.LINES was FOREIGN KEY' in connector.inspect(route).sentence


def test_emulated_server_rule_15_what_is_kept_is_told_until_it_is_dropped(lab: Any, connect: Connect) -> None:
    """KEEP leaves the old table where it was: the move says by which statement its room comes back."""
    connector = connect(keep_original=True)
    route = without_keys(connector)
    run(connector, route)
    found = re.search(r'kept and takes its room, until DROP TABLE "APP"."(\w+)"', connector.inspect(route).sentence)
    assert found is not None
    assert lab.home("APP", found[1])[0] == TS_SLOW
    lab.drop_table("APP", found[1])
    assert "is kept" not in connector.inspect(route).sentence


@pytest.mark.parametrize("analysed", [True, False])
def test_emulated_server_rule_15_statistics_are_told(lab: Any, connect: Connect, analysed: bool) -> None:
    """A table that has any gets new ones by SWAP, the other is named with its RUNSTATS."""
    lab.alter_table("APP", "ORDERS", analysed=analysed)
    notes = "; ".join(without_keys(connect()).notes)
    assert ("SWAP collects its statistics again" in notes) == analysed
    assert ("RUNSTATS ON TABLE APP.ORDERS AND INDEXES ALL" in notes) != analysed
