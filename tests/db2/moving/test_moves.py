"""Routes and their statements: golden text, and every reason why there is none."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pydantic import ValidationError

from connectors.db2.mover import can_go_on
from connectors.db2.names import literal
from connectors.db2.operations import (
    PHASES,
    Phase,
    TableHomes,
    change_of,
    loads_without_copy,
    rebalance,
    reduce_space,
    swap_containers,
    to_automatic,
)
from connectors.db2.restrictions import load_refusal
from connectors.db2.sessions import Server
from connectors.db2.settings import Db2Settings
from connectors.db2.space_move import Instance, space_route
from connectors.db2.storage import ServerStorage, TableSpace
from connectors.db2.table_move import table_route
from connectors.db2.tables import ForeignKey, TableFacts
from connectors.kit.contract import LockNotObtained, StatementFailed
from connectors.model.moves import Locked, NoRoute, Route, UnitKind
from tests.db2.facts import FAST_SPACE, INDEX, PLAIN_INDEX, SETTINGS, SPACE, STORAGE, TABLE, bundle, space, table
from tests.over import over


def to_fast(facts: TableFacts | None = TABLE, settings: Db2Settings = SETTINGS) -> Route | NoRoute:
    """The table to the fast table space."""
    return table_route(facts, bundle(), SPACE, FAST_SPACE, settings)


def to_group(of: TableSpace | None = SPACE, group: str = "FAST", *, purescale: bool = False) -> Route | NoRoute:
    """The table space to a storage group."""
    whole = replace(bundle(), space="SLOW")
    return space_route(STORAGE, of, whole, group, SETTINGS, Instance(purescale=purescale))


def untagged(route: Route | NoRoute) -> list[str]:
    """Statements of the way there, without their tags."""
    assert isinstance(route, Route), route
    return [step.sql.partition(" /* hotplace ")[0] for step in route.steps]


def test_golden_phases() -> None:
    """INIT names all three table spaces, the later phases remember them."""
    rest = "'','','','','','','',''"
    assert untagged(to_fast()) == [
        "CALL SYSPROC.ADMIN_MOVE_TABLE('APP','ORDERS','TS_FAST','TS_SLOW','TS_FAST','','','','','','INIT')",
        *(f"CALL SYSPROC.ADMIN_MOVE_TABLE('APP','ORDERS',{rest},'{phase}')" for phase in PHASES[1:]),
    ]


def test_golden_undo_and_tidy() -> None:
    """Undoing is a move back; tidying is CANCEL before the swap and CLEANUP after it."""
    route = to_fast()
    assert isinstance(route, Route)
    assert route.undo_steps[0].sql.partition(" /* hotplace move ")[0] == (
        "CALL SYSPROC.ADMIN_MOVE_TABLE('APP','ORDERS','TS_SLOW','TS_SLOW','TS_SLOW','','','','','','INIT')"
    )
    assert [step.sql.partition(" /*")[0] for step in route.tidy_steps] == [
        "CALL SYSPROC.ADMIN_MOVE_TABLE('APP','ORDERS','','','','','','','','','CANCEL')",
        "CALL SYSPROC.ADMIN_MOVE_TABLE('APP','ORDERS','','','','','','','','','CLEANUP')",
    ]


def test_pitfall_15_indexes_move_alone() -> None:
    """The indexes go, data and LOBs stay where they are."""
    route = table_route(
        table(lob_space="TS_LOB"), bundle("index APP.ORDERS_PK", UnitKind.INDEX), SPACE, FAST_SPACE, SETTINGS
    )
    assert untagged(route)[0].startswith("CALL SYSPROC.ADMIN_MOVE_TABLE('APP','ORDERS','TS_SLOW','TS_FAST','TS_LOB',")


def test_pitfall_26_names_keep_their_case() -> None:
    """The procedure does not fold names, and a quote in one ends nothing."""
    assert untagged(to_fast(table(name="it's Mine")))[1].startswith("CALL SYSPROC.ADMIN_MOVE_TABLE('APP','it''s Mine',")


def test_the_original_is_kept_on_request() -> None:
    """KEEP is the tenth argument, and INIT takes it."""
    assert untagged(to_fast(settings=SETTINGS.model_copy(update={"keep_original": True})))[0].endswith(
        "'','KEEP','INIT')"
    )


def test_pitfall_19_load_only_where_it_loses_nothing() -> None:
    """COPY_USE_LOAD is not recoverable: column-organised tables by INSERT, unless no log is archived, and said so."""
    assert "LOAD" not in " ".join(untagged(to_fast()))
    by_insert = to_fast(table(column_organised=True))  # of a server that is not known
    assert untagged(by_insert)[0].endswith("'ALLOW_READ_ACCESS','INIT')")
    assert isinstance(by_insert, Route)
    assert (by_insert.online, by_insert.name) == (False, "admin_move_table, readers only")
    assert any("INSERT" in note for note in by_insert.notes)
    route = table_route(COLUMNS, bundle(), SPACE, FAST_SPACE, SETTINGS, server=CIRCULAR)
    assert untagged(route)[0].endswith("'ALLOW_READ_ACCESS,COPY_USE_LOAD','INIT')")
    assert isinstance(route, Route)
    assert not route.online
    assert any("backup" in note for note in route.notes)


KEYS = (
    ForeignKey(
        name="FK_ORDER", child=("APP", "ITEMS"), columns=("ORDER_ID",), parent=("APP", "ORDERS"),
        parent_columns=("ID",),
    ),
    ForeignKey(
        name="FK Client", child=("APP", "ORDERS"), columns=("CLIENT", "Branch"), parent=("CRM", "CLIENTS"),
        parent_columns=("ID", "BRANCH"), on_delete="C", on_update="R", enforced=False, optimized=False,
    ),
)  # fmt: skip


@over(
    ("facts", "code"),
    [
        (None, "gone"),
        (table(kind="U"), "typed_table"),
        (table(kind="S"), "not_a_table"),
        (table(temporal=True), "temporal_table"),
        (table(status="C"), "not_normal"),
        (table(access="N"), "no_full_access"),
        (table(referred_by=1), "referenced"),
        (table(refers_to=1), "references"),
        (table(materialized=("APP.SUMS",)), "materialized"),
        (table(lobs=True, indexes=(PLAIN_INDEX,)), "lobs_need_unique_index"),
        (table(kind="L"), "not_a_table"),
        (table(staging=True), "staging_table"),
        (table(history_of="APP.NOW"), "history_table"),
        (table(indexes=(replace(INDEX, kind="RCT"),)), "range_clustered"),
        (table(monitors=("LOCKS",)), "event_monitor"),
        (table(xml_schemas=("APP.BILL",)), "xml_schema"),
        (table(access_control="C"), "access_control"),
        (table(label_protection="B"), "label_protected"),
        (table(indexes=(INDEX, replace(PLAIN_INDEX, on_expression=True))), "expression_index"),
        (table(indexes=(INDEX, replace(PLAIN_INDEX, kind="TEXT"))), "text_index"),
        (table(partitions=2, space=""), "partitioned"),
    ],
)
def test_tables_that_do_not_move(facts: TableFacts | None, code: str) -> None:
    """Each restriction is known before the first statement."""
    found = to_fast(facts)
    assert isinstance(found, NoRoute)
    assert found.code == code
    assert found.sentence


def test_foreign_keys_by_hand() -> None:
    """What has to be dropped before a move and added after it is named, those of other tables too."""
    found = to_fast(table(referred_by=1, refers_to=1, foreign_keys=KEYS))
    assert isinstance(found, NoRoute)
    assert 'ALTER TABLE "APP"."ITEMS" DROP CONSTRAINT "FK_ORDER"' in found.sentence
    assert 'ALTER TABLE "APP"."ORDERS" DROP CONSTRAINT "FK Client"' in found.sentence
    assert "foreign_keys: drop_and_add" in found.sentence
    assert (
        'ALTER TABLE "APP"."ORDERS" ADD CONSTRAINT "FK Client" FOREIGN KEY ("CLIENT", "Branch") '
        'REFERENCES "CRM"."CLIENTS" ("ID", "BRANCH") ON DELETE CASCADE ON UPDATE RESTRICT '
        "NOT ENFORCED DISABLE QUERY OPTIMIZATION"
    ) in found.sentence


def test_a_person_moves_what_has_foreign_keys() -> None:
    """The whole file: keys dropped, every phase, keys added; no step of it is hotplace's to send."""
    found = table_route(
        table(referred_by=1, refers_to=1, foreign_keys=KEYS), bundle(), SPACE, FAST_SPACE,
        SETTINGS.model_copy(update={"foreign_keys": "by_hand"}),
    )  # fmt: skip
    assert isinstance(found, Route)
    assert found.by_hand is not None
    sent = found.by_hand.statements
    drops, adds = ([n for n, each in enumerate(sent) if word in each] for word in (" DROP ", " ADD "))
    phases = [n for n, each in enumerate(sent) if "ADMIN_MOVE_TABLE" in each]
    assert len(phases) == 5
    assert len(drops) == len(adds) == len(KEYS)
    assert max(drops) < min(phases)
    assert max(phases) < min(adds)
    plain = table_route(table(), bundle(), SPACE, FAST_SPACE, SETTINGS.model_copy(update={"foreign_keys": "by_hand"}))
    assert isinstance(plain, Route)
    assert plain.by_hand is None  # without keys it moves as ever


def test_foreign_keys_are_dropped_before_and_added_after() -> None:
    """Only where the configuration says so: first of all they go, last of all they come, there, back and to tidy up."""
    route = to_fast(
        table(referred_by=1, refers_to=1, foreign_keys=KEYS),
        settings=SETTINGS.model_copy(update={"foreign_keys": "drop_and_add"}),
    )
    assert isinstance(route, Route)
    drops, adds = [key.drop for key in KEYS], [key.add for key in KEYS]
    for steps in (untagged(route), [step.sql.partition(" /*")[0] for step in route.undo_steps]):
        assert (steps[:2], steps[-2:], len(steps)) == (drops, adds, 9)
    assert [step.sql.partition(" /*")[0] for step in route.tidy_steps][2:] == adds
    assert (route.online, route.locked) == (False, Locked.ALL)
    assert any("nobody checks FK_ORDER of APP.ITEMS, " in note for note in route.notes)
    assert {kept.what for kept in route.keeps} >= {"foreign key FK_ORDER of APP.ITEMS"}


@pytest.mark.parametrize(
    ("target", "code"),
    [
        (None, "no_space"),
        (SPACE, "already_there"),
        (space(name="SYSTOOLSPACE", number=1), "system_space"),
        (space(name="TEMP", number=1, permanent=False), "temporary_space"),
        (space(name="X", number=1, state="BACKUP_PENDING"), "not_normal"),
        (space(name="X", number=1, partition_group="PG_HISTORY"), "partition_group"),
        (space(name="X", number=1, managed="S"), "sms"),
        (space(name="X", number=1, max_bytes=399_999), "max_size"),
    ],
)
def test_spaces_that_take_no_table(target: TableSpace | None, code: str) -> None:
    """Nor does anything go where it cannot."""
    found = table_route(TABLE, bundle(), SPACE, target, SETTINGS)
    assert isinstance(found, NoRoute)
    assert found.code == code


def test_golden_storage_group() -> None:
    """The group is changed, and a rebalance asked for in case none begins; back likewise."""
    route = to_group()
    assert untagged(route) == [
        'ALTER TABLESPACE "TS_SLOW" USING STOGROUP "FAST"',
        'ALTER TABLESPACE "TS_SLOW" REBALANCE',
    ]
    assert isinstance(route, Route)
    assert route.undo_steps[0].sql.startswith('ALTER TABLESPACE "TS_SLOW" USING STOGROUP "SLOW" /* hotplace move ')
    assert route.transient_bytes == 1_600_000  # 2,000,000 are allocated and move, 400,000 of them are the bundle's
    assert route.online


@pytest.mark.parametrize(
    ("of", "group", "purescale", "code"),
    [
        (None, "FAST", False, "gone"),
        (SPACE, "NOWHERE", False, "no_space"),
        (SPACE, "SLOW", False, "already_there"),
        (space(name="SYSCATSPACE"), "FAST", False, "system_space"),
        (space(permanent=False), "FAST", False, "temporary_space"),
        (space(managed="S", automatic=False, group=""), "FAST", False, "sms"),
        (space(mode="REV_REBAL"), "FAST", False, "rebalancing"),
        (space(state="QUIESCED"), "FAST", False, "not_normal"),
        (space(containers=()), "FAST", False, "containers_hidden"),
        (SPACE, "FAST", True, "purescale"),
    ],
)
def test_pitfall_17_table_spaces_that_do_not_move(
    of: TableSpace | None, group: str, purescale: bool, code: str
) -> None:
    """PureScale never rebalances; the others have their reasons."""
    found = to_group(of, group, purescale=purescale)
    assert isinstance(found, NoRoute)
    assert found.code == code
    assert found.sentence


def test_hidden_paths_are_no_route() -> None:
    """Nobody could tell when such a move has ended."""
    groups = {**STORAGE.groups, "FAST": replace(STORAGE.groups["FAST"], paths=())}
    found = space_route(ServerStorage(STORAGE.spaces, groups), SPACE, bundle(), "FAST", SETTINGS, Instance())
    assert isinstance(found, NoRoute)
    assert found.code == "paths_hidden"


def test_pitfall_13_and_24_what_is_left_to_do_is_said() -> None:
    """Static packages are not bound again by themselves, and a fixed OVERHEAD stays what it was."""
    route = to_group(space(overhead=8.0))
    assert isinstance(route, Route)
    notes = " ".join(route.notes)
    assert "REBIND" in notes
    assert 'ALTER TABLESPACE "TS_SLOW" OVERHEAD INHERIT TRANSFERRATE INHERIT' in notes
    assert "HADR" in notes
    other = to_group()
    assert isinstance(other, Route)
    assert "INHERIT" not in " ".join(other.notes)


def test_a_plan_made_twice_is_the_same_plan() -> None:
    """The tag depends on the statements only, and differs with them."""
    first, again, other = to_fast(), to_fast(), to_fast(table(name="OTHER"))
    assert isinstance(first, Route)
    assert isinstance(other, Route)
    assert first == again
    assert first.steps[0].sql.rpartition("/*")[2] != other.steps[0].sql.rpartition("/*")[2]


def test_golden_pause_and_resume() -> None:
    """Every step of a table space can be held; what gives a held one up ends it, and goes back."""
    route = to_group()
    assert isinstance(route, Route)
    for step in (*route.steps, *route.undo_steps):
        assert step.pause_sql.startswith('ALTER TABLESPACE "TS_SLOW" REBALANCE SUSPEND /* hotplace move ')
        assert step.resume_sql.startswith('ALTER TABLESPACE "TS_SLOW" REBALANCE RESUME /* hotplace move ')
    assert [step.sql.partition(" /*")[0] for step in route.tidy_steps] == [
        'ALTER TABLESPACE "TS_SLOW" REBALANCE RESUME',
        'ALTER TABLESPACE "TS_SLOW" USING STOGROUP "SLOW"',
        'ALTER TABLESPACE "TS_SLOW" REBALANCE',
    ]
    resumes, *others = map(change_of, route.tidy_steps)
    assert resumes is not None
    assert resumes.resumes
    assert not any(other is None or other.resumes for other in others)


def test_golden_others() -> None:
    """The statements that a person may be given."""
    assert rebalance("TS", "SUSPEND") == 'ALTER TABLESPACE "TS" REBALANCE SUSPEND'
    assert rebalance("TS") == 'ALTER TABLESPACE "TS" REBALANCE'
    assert to_automatic("T", "G") == 'ALTER TABLESPACE "T" MANAGED BY AUTOMATIC STORAGE USING STOGROUP "G"'
    assert reduce_space("TS") == 'ALTER TABLESPACE "TS" REDUCE MAX'
    assert swap_containers("TS", [("/ssd/a", 100), ("/ssd/b", 50)], ["/hdd/it's"]) == (
        "ALTER TABLESPACE \"TS\" ADD (FILE '/ssd/a' 100, FILE '/ssd/b' 50) DROP (FILE '/hdd/it''s')"
    )
    assert literal("a'b") == "'a''b'"


COLUMNS = table(column_organised=True)
PRIMARY = Server(
    version=(11, 5, 9, 0), database="APP", created="", edition="", members=1, partitions=1, purescale=False,
    object_metrics=("EXTENDED",), request_metrics=("BASE",), hadr_role="PRIMARY",
)  # fmt: skip
CIRCULAR = replace(PRIMARY, hadr_role="STANDARD", archives=False)


@pytest.mark.parametrize(
    ("facts", "server", "loads"),
    [
        (COLUMNS, PRIMARY, False),
        (COLUMNS, replace(CIRCULAR, blocknonlogged="YES"), False),
        (COLUMNS, replace(CIRCULAR, archives=True), False),
        (COLUMNS, replace(CIRCULAR, archives=None), False),  # may not be read
        (COLUMNS, CIRCULAR, True),
        (TABLE, CIRCULAR, False),  # copied by rows, which are in the log
    ],
)
def test_rule_24_nothing_is_loaded_without_a_copy_where_it_would_be_lost(
    facts: TableFacts, server: Server, loads: bool
) -> None:
    """Neither with a standby, nor with blocknonlogged, nor with archived logs; with a folder for its copies it is."""
    found = table_route(facts, bundle(), SPACE, FAST_SPACE, SETTINGS, server=server)
    assert isinstance(found, Route)
    assert loads_without_copy(found.steps[0].sql) is loads
    assert (load_refusal(server) is None) is (server == CIRCULAR)
    copying = SETTINGS.model_copy(update={"load_copy_to": "/db2/copies"})
    route = table_route(facts, bundle(), SPACE, FAST_SPACE, copying, server=server)
    assert isinstance(route, Route)
    assert ("COPY YES TO /db2/copies" in route.steps[0].sql) is facts.column_organised


def test_golden_load_with_a_copy() -> None:
    """The option has what LOAD is told in double quotes; the note says who reads the copy."""
    route = to_fast(COLUMNS, SETTINGS.model_copy(update={"load_copy_to": "/db2/copies"}))
    assert untagged(route)[0].endswith("""'ALLOW_READ_ACCESS,COPY_USE_LOAD "COPY YES TO /db2/copies"','INIT')""")
    assert isinstance(route, Route)
    assert any("standby" in note for note in route.notes)
    assert not loads_without_copy(route.steps[0].sql)
    without = table_route(COLUMNS, bundle(), SPACE, FAST_SPACE, SETTINGS, server=CIRCULAR)
    assert loads_without_copy(untagged(without)[0])


@pytest.mark.parametrize("folder", ['/db2/"copies', "/db2/co pies", "/db2/it's", "/db2/a,KEEP"])
def test_a_folder_that_would_end_the_option_is_refused(folder: str) -> None:
    """It is part of a statement, within quotes within quotes."""
    with pytest.raises(ValidationError):
        Db2Settings(host="h", dbname="d", user="u", load_copy_to=folder)


@pytest.mark.parametrize("others", [False, True])
def test_out_of_sms_only_as_a_whole(others: bool) -> None:
    """A table leaves SMS with its indexes, for good; without them there is no route."""
    units = ("APP.ORDERS", "index APP.ORDERS_PK") if others else ("APP.ORDERS",)
    found = table_route(TABLE, replace(bundle(), unit_keys=units), space(managed="S"), FAST_SPACE, SETTINGS)
    if others:
        assert isinstance(found, Route)
        assert "'TS_FAST','TS_FAST','TS_FAST'" in found.steps[0].sql
        assert found.undo_steps == ()
    else:
        assert isinstance(found, NoRoute)
        assert found.code == "sms"


def test_an_open_move_of_a_lock_is_kept_and_of_anything_else_is_not() -> None:
    """Only where the phase can be repeated with what was copied."""
    homes = TableHomes("", "", "")
    locked, refused = LockNotObtained("locked"), StatementFailed("no")
    assert [phase for phase in PHASES if can_go_on(Phase("A", "T", homes, phase), locked)] == ["REPLAY", "SWAP"]
    assert not any(can_go_on(Phase("A", "T", homes, phase), refused) for phase in PHASES)
