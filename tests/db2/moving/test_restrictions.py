"""What keeps ADMIN_MOVE_TABLE from a table, what has to be looked after, and what a move has lost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, cast

import pytest

from connectors.db2.doctor import SCRIPT
from connectors.db2.names import Part
from connectors.db2.restrictions import belongings, changes, refusal, remarks
from connectors.db2.sessions import ReadSession
from connectors.db2.sizes import CopyRoom, homes_after, rebuilt_in_place, with_condition
from connectors.db2.table_move import table_route
from connectors.db2.tables import find_table
from connectors.kit.contract import PrivilegeMissing, SpaceFull, StatementFailed
from connectors.model.moves import Kept, NoRoute, Route, UnitKind
from connectors.model.observation import Home
from tests.contract.asking import bundle_of, route_to, run
from tests.db2.conftest import Connect, names_asked
from tests.db2.facts import FAST_SPACE, INDEX, PLAIN_INDEX, SETTINGS, SPACE, TABLE, bundle, table
from tests.labs.db2.client import Db2, running_db2
from tests.labs.db2.server import FAST, LOOKER, NARROW, TS_FAST, TS_SLOW

pytestmark = [pytest.mark.db2, pytest.mark.xdist_group("db2")]
KEY = "APP.ORDERS"
SURROUNDED = {
    "triggers": {"NOTE": "Y", "Check It": "Y"}, "dependents": {"OPEN_ORDERS": "V", "LATE": "V"}, "checks": 2,
    "generated": 1, "capture": "Y", "grants": {"READERS": "SELECT=Y INSERT=G"},
    "column_grants": {"CLERKS": "C0=U C1=RG"},
}  # fmt: skip


@pytest.fixture(scope="module")
def db2() -> Iterator[Db2]:
    """One emulated server."""
    with running_db2("11.5") as running:
        yield running


@pytest.fixture
def lab(db2: Db2) -> Iterator[Any]:
    """The lab with one table of two indexes on the slow table space, which is gone when the test has ended."""
    db2.lab.create_table("APP", "ORDERS", "ORDERS_PK", TS_SLOW, 500)
    db2.lab.add_index("APP", "ORDERS", "BY_DAY", "-DAY +ID")
    yield db2.lab
    db2.lab.behave(swap_loses=())
    db2.lab.drop_table("APP", "ORDERS")


# -- without a server


def test_what_hangs_on_a_table_is_no_refusal_and_is_said() -> None:
    """Triggers and views are counted and named, the first five of them."""
    names = tuple(f"APP.V{number}" for number in range(7))
    told = " | ".join(remarks(table(triggers=(("APP.T", "Y"),), views=names, checks=1, captured=True)))
    assert "1 trigger (APP.T) on it" in told
    assert "7 views (APP.V0, APP.V1, APP.V2, APP.V3, APP.V4, ...)" in told
    assert "1 check constraint(s) and 0 generated" in told
    assert "DATA CAPTURE" in told
    assert list(remarks(TABLE)) == []
    assert [note for note in remarks(table(indexes=())) if "no unique index" in note]


def test_labels_on_columns_alone_hide_no_row() -> None:
    """Column labels are no obstacle, says IBM: such a table moves."""
    assert refusal(table(label_protection="C")) is None


@pytest.mark.parametrize(
    ("state", "told"),
    [
        ({"reorg_pending": True}, "waits for a reorganization since it was altered; REORG TABLE APP.ORDERS first"),
        ({"load_status": "PENDING"}, "unfinished LOAD (PENDING); LOAD ... RESTART, or LOAD ... TERMINATE, first"),
        ({"load_status": "IN_PROGRESS", "reorg_pending": True}, "is being loaded; wait until that LOAD has ended"),
        ({"available": False}, "is not available"),
    ],
)
def test_a_state_that_forbids_a_copy_is_told_with_what_ends_it(state: dict[str, Any], told: str) -> None:
    """The table is named, and what to do first."""
    found = refusal(table(**state))
    assert found is not None
    assert found[1].startswith("APP.ORDERS ")
    assert told in found[1]


class Partitions:
    """A session that has one answer for each query."""

    def __init__(self, *rows: tuple[str | None, ...]) -> None:
        self._rows = list(rows)

    def rows(self, name: str, _values: object, *, doing: str) -> list[tuple[str | None, ...]]:
        """Of the one query that may be asked."""
        assert name == "table_state"
        return self._rows

    def optional_rows(self, name: str, *, doing: str) -> list[tuple[str | None, ...]]:
        """No utility runs."""
        assert name == "utilities"
        return []


@pytest.mark.parametrize(
    ("rows", "found"),
    [
        ([("Y", "N", None), ("Y", "N", "")], (True, False, "")),
        ([("Y", "N", None), ("Y", "Y", None)], (True, True, "")),
        ([("Y", "N", "PENDING"), ("Y", "N", "IN_PROGRESS")], (True, False, "IN_PROGRESS")),
        ([("Y", "N", None), ("N", None, None)], (False, False, "")),
        ([], (True, False, "")),
    ],
)
def test_one_partition_that_is_not_fit_is_enough(
    rows: list[tuple[str | None, ...]], found: tuple[bool, bool, str]
) -> None:
    """Of all data and database partitions the worst counts; a LOAD that runs is told before one that failed."""
    seen = with_condition(cast(ReadSession, Partitions(*rows)), TABLE)
    assert (seen.available, seen.reorg_pending, seen.load_status) == found


def test_belongings_by_hand() -> None:
    """Each index with its rule, its columns and its kind; statistics; the owner."""
    kept = {one.what: one.how for one in belongings(table(indexes=(INDEX, PLAIN_INDEX), triggers=(("APP.T", "X"),)))}
    assert kept == {
        "index APP.ORDERS_PK": "primary key, on +ID, REG",
        "index APP.BY_DAY": "duplicates allowed, on -DAY include NAME, REG",
        "statistics of index APP.ORDERS_PK": "collected",
        "statistics of index APP.BY_DAY": "collected",
        "trigger APP.T": "inoperative",
        "statistics of APP.ORDERS": "collected",
        "owner of APP.ORDERS": "SALES",
    }


UNTIL_USED = "was valid and is invalid until it is used, or at once CALL SYSPROC.ADMIN_REVALIDATE_DB_OBJECTS"
BEFORE = table(indexes=(INDEX, PLAIN_INDEX), triggers=(("APP.T", "Y"),), views=('APP."it\'s"',), checks=3)


@pytest.mark.parametrize(
    ("now", "told"),
    [
        ({}, ()),
        ({"indexes": (INDEX, PLAIN_INDEX, replace(INDEX, name="APP.MORE", rule="U"))}, ()),
        ({"indexes": (INDEX,)}, ("index APP.BY_DAY (duplicates allowed, on -DAY include NAME, REG) is gone",)),
        (
            {"indexes": (INDEX, replace(PLAIN_INDEX, name="APP.SQL1"))},
            ("index APP.BY_DAY has another name now",),
        ),
        (
            {"indexes": (replace(INDEX, rule="U"), PLAIN_INDEX)},
            ("index APP.ORDERS_PK was primary key, on +ID, REG and is unique, on +ID, REG",),
        ),
        ({"triggers": ()}, ("trigger APP.T (valid) is gone",)),
        ({"triggers": (("APP.T", "X"),)}, ("trigger APP.T was valid and is inoperative",)),
        (
            {"triggers": (("APP.T", "N"),)},
            (f"trigger APP.T {UNTIL_USED}('TRIGGER', 'APP', 'T')",),
        ),
        (
            {"invalid_views": frozenset({'APP."it\'s"'})},
            (f"view APP.\"it's\" {UNTIL_USED}('VIEW', 'APP', 'it''s')",),
        ),
        ({"views": ()}, ('view APP."it\'s" (valid) is gone',)),
        ({"checks": 2}, ("number of check constraints of APP.ORDERS was 3 and is 2",)),
        ({"owner": "MOVER"}, ("owner of APP.ORDERS was SALES and is MOVER",)),
        (
            {"analysed": False},
            ("statistics of APP.ORDERS are gone: RUNSTATS ON TABLE APP.ORDERS AND INDEXES ALL",),
        ),
    ],
)
def test_losses_are_told(now: dict[str, Any], told: tuple[str, ...]) -> None:
    """Each that is gone or another than it was, once; what has come in addition is no loss."""
    assert changes(belongings(BEFORE), replace(BEFORE, **now)) == told


def test_what_was_not_noted_is_not_compared() -> None:
    """A route that was stored before routes kept anything says nothing of losses."""
    assert changes((), replace(BEFORE, indexes=(), triggers=())) == ()


def test_parts_that_stay_are_made_anew_too() -> None:
    """Of 6 MB of rows, 2 of indexes and 1 of LOBs: moving the indexes needs 7 MB more where the rest stays."""
    sizes = {Part.TABLE: 6_000_000, Part.INDEX: 2_000_000, Part.LOB: 1_000_000}
    indexes = bundle("index APP.ORDERS_PK", UnitKind.INDEX)
    with_lobs = table(lobs=True)
    in_place = rebuilt_in_place(with_lobs, homes_after(with_lobs, indexes, "TS_FAST"), sizes)
    assert in_place == {"TS_SLOW": 7_000_000}
    assert rebuilt_in_place(with_lobs, homes_after(with_lobs, bundle(), "TS_FAST"), sizes) == {"TS_SLOW": 2_000_000}
    for free, told in ((6_999_999, 1), (7_000_000, 0), (None, 0)):
        room = CopyRoom(rebuilt_in_place=in_place, free={"TS_SLOW": free})
        route = table_route(TABLE, indexes, SPACE, FAST_SPACE, SETTINGS, room)
        assert isinstance(route, Route)
        assert sum("6.7 MiB of APP.ORDERS are rebuilt in TS_SLOW" in note for note in route.notes) == told
        assert route.log_bytes == round(1.1 * 7_400_000)  # all of it is inserted anew, not the indexes alone


# -- over the wire


def test_emulated_server_reads_what_hangs_on_a_table(lab: Any, connect: Connect) -> None:
    """Indexes with their columns, triggers, views and what else there is; not the view of a routine of that name."""
    lab.alter_table("APP", "ORDERS", **SURROUNDED, invalid={"LATE"})
    connector = connect()
    connector.identify()
    found = find_table(connector._session, "APP", "ORDERS")
    assert found is not None
    assert [(index.name, index.rule, index.columns) for index in found.indexes] == [
        ("APP.BY_DAY", "D", ("-DAY", "+ID")),
        ("APP.ORDERS_PK", "U", ("+C0",)),
    ]
    assert found.triggers == (('APP."Check It"', "Y"), ("APP.NOTE", "Y"))
    assert (found.views, found.invalid_views) == (("APP.LATE", "APP.OPEN_ORDERS"), frozenset({"APP.LATE"}))
    assert found.grants == (
        "CONTROL to USER DB2INST1", "INSERT to ROLE READERS", "INSERT to ROLE READERS with grant option",
        "REFERENCES of C1 to ROLE CLERKS", "REFERENCES of C1 to ROLE CLERKS with grant option",
        "SELECT to ROLE READERS", "UPDATE of C0 to ROLE CLERKS",
    )  # fmt: skip
    assert (found.checks, found.generated, found.captured, found.owner) == (2, 1, True, "DB2INST1")
    notes = " | ".join(route_to(connector, KEY, TS_FAST).notes)
    assert '2 triggers (APP."Check It", APP.NOTE) on it' in notes
    assert "2 views (APP.LATE, APP.OPEN_ORDERS) of it" in notes


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"dependents": {"SUMS": "S"}}, "materialized"),
        ({"staging": True}, "staging_table"),
        ({"history_of": "NOW"}, "history_table"),
        ({"monitors": ["LOCKS"]}, "event_monitor"),
        ({"xml_schemas": ["BILL"]}, "xml_schema"),
        ({"control": "R"}, "access_control"),
        ({"protection": "R"}, "label_protected"),
        ({"reorg_pending": True}, "reorg_pending"),
        ({"load_status": "PENDING"}, "load_pending"),
        ({"load_status": "IN_PROGRESS"}, "load_running"),
        ({"available": False}, "unavailable"),
        ({"kind": "RCT"}, "range_clustered"),
        ({"kind": "TEXT"}, "text_index"),
        ({"on_expression": True}, "expression_index"),
    ],
)
def test_emulated_server_restrictions_are_known_beforehand(
    lab: Any, connect: Connect, change: dict[str, Any], code: str
) -> None:
    """No route while it is so; one that was planned before calls nothing, and says why."""
    connector = connect()
    route = route_to(connector, KEY, TS_FAST)
    (lab.alter_index if change.keys() & {"kind", "on_expression"} else lab.alter_table)("APP", "ORDERS", **change)
    found = connector.routes(bundle_of(connector.catalog(), KEY), TS_FAST)
    assert isinstance(found, NoRoute)
    assert found.code == code
    before = len(lab.sent())
    with pytest.raises(StatementFailed) as caught:
        run(connector, route)
    assert found.sentence in str(caught.value)
    assert not [text for text in lab.sent()[before:] if "ADMIN_MOVE_TABLE" in text]


def test_emulated_server_a_table_that_is_loaded_is_refused_and_not_asked(lab: Any, connect: Connect) -> None:
    """ADMIN_GET_TAB_INFO would wait for the LOAD: MON_GET_UTILITY tells of it, and no other state is asked for."""
    connector = connect()
    lab.alter_table("APP", "ORDERS", reorg_pending=True)
    lab.utility("LOAD", "APP", "ORDERS")
    try:
        asked = names_asked(connector)
        found = connector.routes(bundle_of(connector.catalog(), KEY), TS_FAST)
        assert (found.code, "table_state" in asked) == ("load_running", False)
    finally:
        lab.utility("")
    assert connector.routes(bundle_of(connector.catalog(), KEY), TS_FAST).code == "reorg_pending"
    assert "table_state" in asked


@pytest.mark.parametrize(
    ("state", "code", "advice"),
    [
        ({"reorg_pending": True}, "SQL0668N", "reason 7 asks for REORG TABLE"),
        ({"load_status": "PENDING"}, "SQL0668N", "3 for LOAD ... TERMINATE"),
        ({"available": False}, "SQL1477N", "restore it"),
    ],
)
def test_emulated_server_refuses_a_table_whose_state_forbids_it(
    lab: Any, connect: Connect, state: dict[str, Any], code: str, advice: str
) -> None:
    """Where it came about after the last look, INIT fails with a code that says what to do, and nothing is begun."""
    connector = connect()
    route = route_to(connector, KEY, TS_FAST)
    lab.alter_table("APP", "ORDERS", **state)
    with connector.open_mover() as mover, pytest.raises(StatementFailed, match=code) as caught:
        mover._send(route.steps[0].sql, "trying")
    assert advice in caught.value.advice
    assert lab.status("APP", "ORDERS") == ""


def test_emulated_server_a_refusal_of_its_own_says_what_to_do(lab: Any, db2: Db2, connect: Connect) -> None:
    """SQL2103N, whatever its reason: the table space can move instead."""
    connector = connect()
    route = route_to(connector, KEY, TS_FAST)
    lab.alter_table("APP", "ORDERS", monitors=["LOCKS"])
    with connector.open_mover() as mover, pytest.raises(StatementFailed, match="SQL2103N") as caught:
        mover._send(route.steps[0].sql, "trying")
    assert "move its table space instead" in caught.value.advice


@pytest.mark.parametrize(
    ("loses", "told"),
    [
        ((), ""),
        (("index",), "index APP.BY_DAY (duplicates allowed, on -DAY +ID, REG) is gone"),
        (("order",), "index APP.BY_DAY was duplicates allowed, on -DAY +ID, REG and is "),
        (("trigger", "view", "statistics"), "trigger APP.NOTE (valid) is gone; "),
        (("grant",), "INSERT to ROLE READERS (granted) is gone; INSERT to ROLE READERS with grant option"),
        (("column_grant",), "UPDATE of C0 to ROLE CLERKS (granted) is gone"),
    ],
)
def test_emulated_server_losses_of_a_move_are_told(
    lab: Any, connect: Connect, loses: tuple[str, ...], told: str
) -> None:
    """After the move everything is read again and compared with what was there when it was planned."""
    lab.alter_table("APP", "ORDERS", **SURROUNDED)
    connector = connect()
    route = route_to(connector, KEY, TS_FAST)
    assert Kept(what="index APP.ORDERS_PK", how="unique, on +C0, REG") in route.keeps
    lab.behave(swap_loses=loses)
    run(connector, route)
    seen = connector.inspect(route)
    assert seen.home is Home.TARGET
    assert told in seen.sentence
    assert ("not as it was" in seen.sentence) is bool(loses)
    gone = {"index": 1, "trigger": 3, "grant": 3, "column_grant": 3}
    assert seen.sentence.count("gone") == gone.get("".join(loses[:1]), 0)
    assert seen.sentence.count("view APP.LATE was valid and is invalid") == ("view" in loses)


def test_emulated_server_an_index_that_was_dropped_since_is_no_loss_of_the_move(lab: Any, connect: Connect) -> None:
    """Dropped between plan and move: what was approved is not what there is, so it is planned again."""
    connector = connect()
    route = route_to(connector, KEY, TS_FAST)
    lab.add_index("APP", "ORDERS", "LATER", "+C0")
    assert connector.inspect(route).home is Home.SOURCE
    lab.drop_index("APP", "ORDERS", "BY_DAY")
    seen = connector.inspect(route)
    assert seen.home is Home.ELSEWHERE
    assert "since this was planned index APP.BY_DAY (duplicates allowed, on -DAY +ID, REG) is gone" in seen.sentence


def test_emulated_server_triggers_of_an_open_move_are_nobodys(lab: Any, connect: Connect) -> None:
    """While a move is open some of the triggers are its own: they are not expected afterwards."""
    connector = connect()
    route = route_to(connector, KEY, TS_FAST)
    with connector.open_mover() as mover:
        mover.prepare(route)
        mover.execute(route.steps[0])
        lab.alter_table("APP", "ORDERS", triggers={"ORDERSAAAAAAxi": "Y"})
        again = route_to(connector, KEY, TS_FAST)
        assert not [kept for kept in again.keeps if kept.what.startswith("trigger")]
        mover.execute(route.tidy_steps[0])


def test_emulated_server_what_stays_needs_room(lab: Any, connect: Connect) -> None:
    """The indexes alone leave a storage group without room for a second self of the rows: told, and never begun."""
    lab.create_table("APP", "ORDERS", "ORDERS_PK", TS_FAST, 500)
    connector = connect()
    key = "index APP.ORDERS_PK"
    route = route_to(connector, key, TS_SLOW)
    assert (route.log_bytes, route.transient_bytes) == (round(1.1 * 550 * 4096), round(0.05 * 50 * 4096))
    lab.create_space("TS_BESIDE", FAST)  # of the same storage group: there the rows take room meanwhile
    try:
        assert route_to(connect(), key, "TS_BESIDE").transient_bytes == round(0.05 * 50 * 4096) + 500 * 4096
    finally:
        lab.drop_space("TS_BESIDE")
    before = len(lab.sent())
    lab.fill(FAST, True)
    try:
        assert any("rebuilt in TS_FAST meanwhile" in note for note in route_to(connector, key, TS_SLOW).notes)
        with pytest.raises(SpaceFull, match=r"rebuilt in TS_FAST meanwhile, which has 0 B left"):
            run(connector, route)
        assert not [text for text in lab.sent()[before:] if "ADMIN_MOVE_TABLE" in text]
    finally:
        lab.fill(FAST, False)


def test_emulated_server_views_that_may_not_be_read_are_named(lab: Any, connect: Connect) -> None:
    """In a restrictive database: each view of the catalog with its GRANT, by doctor, and by what needs it."""
    connector = connect(NARROW)
    missing = {f.values["view"]: f.remedy for f in connector.doctor() if f.code == "select_missing"}
    assert missing == {
        "SYSCAT.TRIGGERS": 'GRANT SELECT ON SYSCAT.TRIGGERS TO USER "NARROW"',
        "SYSCAT.STOGROUPS": 'GRANT SELECT ON SYSCAT.STOGROUPS TO USER "NARROW"',
    }
    with pytest.raises(PrivilegeMissing) as caught:
        route_to(connector, KEY, TS_FAST)
    assert caught.value.advice == missing["SYSCAT.TRIGGERS"]
    assert [f.code for f in connect().doctor() if f.code in {"catalog_views", "select_missing"}] == ["catalog_views"]


@pytest.mark.parametrize(
    ("rights", "missing"),
    [
        (
            (),
            {"may_not_move": f'GRANT SQLADM ON DATABASE TO USER "LOOKER"; {SCRIPT}'},
        ),
        (("DBADM",), {}),
        (("SQLADM", "CREATETAB", f"USE {TS_FAST}", f"USE {TS_SLOW}"), {}),
        (
            ("SQLADM", f"USE {TS_SLOW}"),
            {
                "createtab_missing": 'GRANT CREATETAB ON DATABASE TO USER "LOOKER"',
                "use_missing": f'GRANT USE OF TABLESPACE "{TS_FAST}" TO USER "LOOKER"',
            },
        ),
    ],
)
def test_emulated_server_rights_to_move_are_named(
    lab: Any, connect: Connect, rights: tuple[str, ...], missing: dict[str, str]
) -> None:
    """Each right that the moving account lacks, with its GRANT; DBADM needs no other."""
    lab.grant("LOOKER", *rights)
    try:
        found = {f.code: f for f in connect(LOOKER).doctor() if f.about_moving and f.code != "auto_reval_off"}
        assert {code: f.remedy for code, f in found.items()} == missing
        if "use_missing" in missing:
            lab.grant("PUBLIC", "CREATETAB", f"USE {TS_FAST}")
            assert not [f for f in connect(LOOKER).doctor() if f.about_moving]
    finally:
        lab.grant("LOOKER")
        lab.grant("PUBLIC")


def test_emulated_server_auto_reval_is_looked_at(lab: Any, connect: Connect) -> None:
    """DISABLED lets SWAP fail where a function uses a view: doctor says so, with what mends it."""
    before = lab.behave(auto_reval="DISABLED")
    try:
        (finding,) = (f for f in connect().doctor() if f.code == "auto_reval_off")
        assert finding.remedy == "UPDATE DB CFG FOR SAMPLE USING AUTO_REVAL DEFERRED"
    finally:
        lab.behave(**before)


@pytest.mark.parametrize("changed", [{"hadr_role": "PRIMARY"}, {"blocknonlogged": "YES"}])
def test_emulated_server_a_database_that_forbids_a_load_since_the_plan(
    lab: Any, connect: Connect, changed: dict[str, str]
) -> None:
    """Looked at once more before INIT: what is no longer recoverable is not begun."""
    lab.alter_table("APP", "ORDERS", organized="C")
    connector = connect()
    route = route_to(connector, KEY, TS_FAST)
    before = lab.behave(**changed)
    try:
        with pytest.raises(StatementFailed, match="LOAD without a copy"):
            run(connector, route)
        assert lab.unrecoverable() == []
        assert lab.status("APP", "ORDERS") == ""
    finally:
        lab.behave(**before)


def test_emulated_server_a_limit_since_the_plan(lab: Any, connect: Connect) -> None:
    """A MAXSIZE that leaves too little is met before INIT, not in the middle of COPY."""
    lab.create_space("TS_SMALL", FAST)
    try:
        connector = connect()
        route = route_to(connector, KEY, "TS_SMALL")
        lab.alter_space("TS_SMALL", max_pages=400)
        with pytest.raises(SpaceFull, match="MAXSIZE"):
            run(connector, route)
        assert lab.status("APP", "ORDERS") == ""
    finally:
        lab.drop_space("TS_SMALL")
