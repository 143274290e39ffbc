"""Statements and refusals for each release and edition; the texts were written down from the manual's forms."""

from __future__ import annotations

import re
from typing import Any

import pytest

from connectors.kit.contract import StatementFailed
from connectors.model.moves import NoRoute, Route, UnitKind
from connectors.oracle.facts import LobFacts, SegmentFacts
from connectors.oracle.names import quote
from connectors.oracle.operations import action_of
from connectors.oracle.routes import routes_of
from connectors.oracle.settings import OracleSettings
from tests.oracle.made import MIB, SETTINGS, bundle, entry, facts, index, server, space, standard, table
from tests.over import over

_TAG = re.compile(r"/\* hotplace move [0-9a-f]{8} (step|undo|tidy) \d+ \*/ ")
TABLE = 'ALTER TABLE "APP"."ORDERS" MOVE'
PART = {"lead": entry(part="P1", type="TABLE PARTITION")}
INDEX = {"lead": entry(name="ORDERS_PK", type="INDEX"), "index_type": "NORMAL"}


LOBS_ONLINE = SETTINGS.model_copy(update={"online_lobs": True})


def _routes(changes: dict[str, Any], key: str = "APP.ORDERS", settings: OracleSettings = SETTINGS, **of: Any) -> Any:
    return routes_of(facts(**changes), bundle(key), "FAST", server(**of), settings)


def _texts(route: Route) -> list[str]:
    assert all(_TAG.match(step.sql) for step in (*route.steps, *route.undo_steps, *route.tidy_steps))
    return [_TAG.sub("", step.sql) for step in route.steps]


def test_a_table_moves_online_since_12_2() -> None:
    """The kind way first, the blocking one second; both keep the indexes usable (oracle.md f17)."""
    online, offline = _routes({})
    assert _texts(online) == [f'{TABLE} ONLINE TABLESPACE "FAST"']
    assert _texts(offline) == [f'{TABLE} TABLESPACE "FAST" UPDATE INDEXES']
    assert _TAG.sub("", online.undo_steps[0].sql) == f'{TABLE} ONLINE TABLESPACE "SLOW"'
    assert (online.online, offline.online) == (True, False)


@pytest.mark.parametrize("number", [(11, 2), (12, 1)])
def test_a_table_before_12_2_has_its_indexes_rebuilt(number: tuple[int, int]) -> None:
    """MOVE leaves them unusable and has no clause against it: they are rebuilt by the same move and by its undo."""
    (only,) = _routes({}, number=number)
    rebuilt = 'ALTER INDEX "APP"."ORDERS_PK" REBUILD'
    assert _texts(only) == [f'{TABLE} TABLESPACE "FAST"', rebuilt]
    assert [_TAG.sub("", step.sql) for step in only.undo_steps] == [f'{TABLE} TABLESPACE "SLOW"', rebuilt]
    assert [_TAG.sub("", step.sql) for step in only.tidy_steps] == [rebuilt]


ONE_CALL = (
    "BEGIN DBMS_REDEFINITION.REDEF_TABLE(uname => 'APP', tname => 'ORDERS', table_part_tablespace => 'FAST', "
    "lob_tablespace => 'FAST', dml_lock_timeout => 5); END;"
)
BOTH = "uname => 'APP', orig_table => 'ORDERS', int_table => 'HP$500'"
CHAIN = (
    "BEGIN DBMS_REDEFINITION.CAN_REDEF_TABLE('APP', 'ORDERS'); END; "
    "without a primary key (ORA-12089): this and START_REDEF_TABLE with options_flag => 2; "
    'CREATE TABLE "APP"."HP$500" TABLESPACE "FAST" LOB ("DOC") STORE AS (TABLESPACE "FAST") '
    'AS SELECT * FROM "APP"."ORDERS" WHERE 1 = 0; '
    f"BEGIN DBMS_REDEFINITION.START_REDEF_TABLE({BOTH}); END; "
    f"DECLARE errors PLS_INTEGER; BEGIN DBMS_REDEFINITION.COPY_TABLE_DEPENDENTS({BOTH}, "
    "copy_indexes => DBMS_REDEFINITION.CONS_ORIG_PARAMS, ignore_errors => TRUE, num_errors => errors); END; "
    "SELECT OBJECT_NAME, DDL_TXT FROM SYS.DBA_REDEFINITION_ERRORS, of which only NOT NULL may be there; "
    f"BEGIN DBMS_REDEFINITION.SYNC_INTERIM_TABLE({BOTH}); END; "
    f"BEGIN DBMS_REDEFINITION.FINISH_REDEF_TABLE({BOTH}); END; "
    'SELECT (SELECT COUNT(*) FROM "APP"."ORDERS") - (SELECT COUNT(*) FROM "APP"."HP$500") FROM DUAL; '
    "once that is what was written since, counted by a user whom no policy filters: "
    'DROP TABLE "APP"."HP$500" PURGE; '
    f"after any error instead: BEGIN DBMS_REDEFINITION.ABORT_REDEF_TABLE({BOTH}); END and the DROP;"
)


@pytest.mark.parametrize(
    ("number", "plan"), [((11, 2), CHAIN), ((12, 1), ONE_CALL), ((19, 0), ONE_CALL)], ids=["11.2", "12.1", "19"]
)
def test_redefinition_is_written_down(number: tuple[int, int], plan: str) -> None:
    """What does not move online by a route does so by hand: in a note, in no statement that is ever sent."""
    (only,) = _routes({"lobs": (LobFacts("DOC", "SLOW"),), "table_facts": table(lobs=1)}, number=number)
    assert f"online by hand, watched by a person: {plan}" in only.notes
    assert not any("REDEFINITION" in step.sql for step in (*only.steps, *only.undo_steps, *only.tidy_steps))


def test_redefinition_is_of_enterprise_edition_and_of_tables() -> None:
    """Not where the option is missing, not of a partition, not where the online route exists."""
    for found in (_routes({}, **standard()), _routes(PART, number=(11, 2)), _routes({})):
        assert not any("REDEFINITION" in note for route in found for note in route.notes)


def test_a_parallel_rebuild_restores_the_degree() -> None:
    """REBUILD stores its PARALLEL: the next statement restores what was there, also after a crash (oracle.md f18)."""
    four = SETTINGS.model_copy(update={"parallel": 4})
    for degree, restored in (("1", "NOPARALLEL"), ("8  ", "PARALLEL 8"), ("DEFAULT", "PARALLEL")):
        online, _ = _routes({**INDEX, "indexes": (index(degree=degree),)}, "APP.ORDERS_PK INDEX", four)
        own = 'ALTER INDEX "APP"."ORDERS_PK"'
        assert _texts(online) == [f'{own} REBUILD TABLESPACE "FAST" ONLINE PARALLEL 4', f"{own} {restored}"]
        assert _TAG.sub("", online.undo_steps[1].sql) == f"{own} {restored}"
        assert _TAG.sub("", online.tidy_steps[1].sql) == f"{own} {restored}"
    (only,) = _routes(INDEX, "APP.ORDERS_PK INDEX", four, **standard())
    assert not any("PARALLEL" in text for text in _texts(only))


def test_lobs_that_move_online_come_with_a_warning() -> None:
    """Sessions in DBMS_LOB would fail: never by default, and told where it is configured (oracle.md f23)."""
    changes = {**PART, "lobs": (LobFacts("DOC", "SLOW"),), "table_facts": table(lobs=1)}
    assert [route.online for route in _routes(changes)] == [False]
    online = _routes(changes, settings=SETTINGS.model_copy(update={"online_lobs": True}))[0]
    assert online.online
    assert any("ORA-14812" in note for note in online.notes)


def test_where_redo_goes_is_told() -> None:
    """A standby gets all of it, or loses what is not logged; forced logging overrides NOLOGGING (oracle.md f33)."""
    bare = " ".join(_routes({"logging": "NO"}, standbys=2)[0].notes)
    assert "it is NOLOGGING" in bare
    assert "2 standby destination(s) receive all of it" in bare
    assert f"about {round(1.05 * 100 * MIB)} bytes of redo, and little undo" in bare
    forced = " ".join(_routes({"logging": "NO"}, force_logging=True)[0].notes)
    assert ("it is NOLOGGING" in forced, "logging is forced" in forced) == (False, True)
    target = {"SLOW": space("SLOW"), "FAST": space("FAST", force_logging="YES")}
    assert not any("it is NOLOGGING" in note for note in _routes({"logging": "NO", "spaces": target})[0].notes)


def test_an_index_that_is_not_logged_is_told() -> None:
    """Its own attribute counts when it moves, and when a table's move builds it anew."""
    unlogged = index(logging="NO", bytes=MIB, space="IX")
    for changes in ({**INDEX, "indexes": (unlogged,)}, {"indexes": (unlogged,)}):
        assert any("it is NOLOGGING" in note for note in _routes(changes)[0].notes)
    assert not any("it is NOLOGGING" in note for note in _routes({**INDEX, "logging": "NO"})[0].notes)


def test_a_full_recovery_area_is_told() -> None:
    """Archiving that cannot go on stops a database."""
    assert any("the recovery area has room for 5 bytes" in note for note in _routes({}, recovery_bytes=5)[0].notes)
    assert not any("recovery area" in note for note in _routes({}, recovery_bytes=1 << 40)[0].notes)


def test_redo_counts_the_indexes_that_are_built_anew() -> None:
    """100 MiB of table and 20 of index: 105 % of 120; of a partition only its local pieces and the global ones."""
    pieces = (
        index(bytes=20 * MIB, space="IX"),
        index(name="L", piece="PARTITION", part="P1", bytes=5 * MIB, space="IX"),
        index(name="L", piece="PARTITION", part="P2", bytes=7 * MIB, space="IX2"),
    )
    whole = _routes({"indexes": pieces[:1]})[0]
    assert whole.log_bytes == round(1.05 * 120 * MIB)
    assert f"1 index segment(s) are rebuilt where they are: {20 * MIB} bytes more, in IX" in whole.notes
    assert _routes({**PART, "indexes": pieces})[0].log_bytes == round(1.05 * 125 * MIB)


def test_standard_edition_moves_offline() -> None:
    """Nothing is online there."""
    assert [route.name for route in _routes({}, **standard())] == ["move"]
    assert [route.name for route in _routes(INDEX, "APP.ORDERS_PK INDEX", **standard())] == ["rebuild"]


def test_lobs_are_named_because_a_move_leaves_them() -> None:
    """Each goes to the target, and back to where it was (oracle.md f19); online only if the site says so (f23)."""
    changes = {"lobs": (LobFacts("DOC", "BLOBS"),), "table_facts": table(lobs=1)}
    (only,) = _routes(changes)
    assert _texts(only) == [f'{TABLE} TABLESPACE "FAST" LOB ("DOC") STORE AS (TABLESPACE "FAST") UPDATE INDEXES']
    assert 'STORE AS (TABLESPACE "BLOBS")' in only.undo_steps[0].sql
    allowed = SETTINGS.model_copy(update={"online_lobs": True})
    assert [route.online for route in _routes(changes, settings=allowed)] == [True, False]


def test_a_partition_moves_online_since_12_1() -> None:
    """ONLINE stands at the end there."""
    online, offline = _routes(PART, "APP.ORDERS PARTITION P1", number=(12, 1))
    assert _texts(online) == [f'{TABLE} PARTITION "P1" TABLESPACE "FAST" UPDATE INDEXES ONLINE']
    assert _texts(offline) == [f'{TABLE} PARTITION "P1" TABLESPACE "FAST" UPDATE INDEXES']
    assert any("defaults of the table" in note for note in online.notes)  # oracle.md f41
    assert [route.online for route in _routes(PART, "APP.ORDERS PARTITION P1", number=(11, 2))] == [False]


def test_a_subpartition_is_called_one() -> None:
    """MOVE PARTITION of a composite table raises ORA-14257."""
    found = _routes({"lead": entry(part="S1", type="TABLE SUBPARTITION")}, "APP.ORDERS SUBPARTITION S1")
    assert 'MOVE SUBPARTITION "S1"' in found[0].steps[0].sql


def test_a_compressed_partition_brings_no_licence_into_use() -> None:
    """Online it would be recorded as use of Advanced Compression (oracle.md f21)."""
    changes = {**PART, "compress_for": "BASIC"}
    assert [route.online for route in _routes(changes, "APP.ORDERS PARTITION P1")] == [False]
    owned = SETTINGS.model_copy(update={"licensed": ("advanced_compression",)})
    assert _routes(changes, "APP.ORDERS PARTITION P1", owned)[0].online


def test_a_compressed_table_is_no_different_from_a_partition() -> None:
    """BASIC and HCC of a whole table: offline, with a note that says why; online where the option is licensed."""
    for how in ("BASIC", "QUERY HIGH", "ARCHIVE LOW"):
        (route,) = _routes({"compress_for": how})
        assert not route.online
        assert any(f"({how})" in note and "licensed" in note for note in route.notes)
        owned = SETTINGS.model_copy(update={"licensed": ("advanced_compression",)})
        assert _routes({"compress_for": how}, settings=owned)[0].online
    assert not any("Advanced Compression" in note for route in _routes({}) for note in route.notes)


def test_rows_that_are_sorted_anew_are_said_to_be() -> None:
    """By attribute clustering, in every form of MOVE; and not of an index."""
    said = [any("attribute clustering" in note for note in route.notes) for route in _routes({"sorts_rows": True})]
    assert said == [True, True]
    assert not any("attribute clustering" in note for route in _routes({}) for note in route.notes)


def test_room_is_kept_for_lobs_that_may_go_along() -> None:
    """Of XML columns, 7 MiB elsewhere and 2 MiB in the target already: a journal of 5 % and the 7 MiB."""
    elsewhere, there = SegmentFacts("SLOW", 7 * MIB), SegmentFacts("FAST", 2 * MIB)
    online, offline = _routes({"table_facts": table(lobs=2), "hidden_lobs": (elsewhere, there)}, settings=LOBS_ONLINE)
    assert online.transient_bytes == 5 * MIB + 7 * MIB
    assert offline.transient_bytes == 7 * MIB
    assert any("11.2.0.1" in note for note in offline.notes)


def test_an_index_is_rebuilt() -> None:
    """Online first, with a repair that needs no target."""
    online, offline = _routes(INDEX, "APP.ORDERS_PK INDEX")
    assert _texts(online) == ['ALTER INDEX "APP"."ORDERS_PK" REBUILD TABLESPACE "FAST" ONLINE']
    assert _texts(offline) == ['ALTER INDEX "APP"."ORDERS_PK" REBUILD TABLESPACE "FAST"']
    assert _TAG.sub("", online.tidy_steps[0].sql) == 'ALTER INDEX "APP"."ORDERS_PK" REBUILD'


def test_an_index_partition_is_rebuilt_alone() -> None:
    """The whole of a partitioned index raises ORA-14086."""
    lead = entry(name="ORDERS_IX", part="P1", type="INDEX PARTITION")
    piece = index(name="ORDERS_IX", piece="PARTITION", part="P1", status="USABLE")
    found = _routes({"lead": lead, "index_type": "NORMAL", "indexes": (piece,)}, "APP.ORDERS_IX INDEX PARTITION P1")
    assert _texts(found[0]) == ['ALTER INDEX "APP"."ORDERS_IX" REBUILD PARTITION "P1" TABLESPACE "FAST" ONLINE']


def test_a_bitmap_index_is_not_rebuilt_online() -> None:
    """Rules differ between releases, so it is not offered."""
    changes = {"lead": entry(name="ORDERS_PK", type="INDEX"), "index_type": "BITMAP"}
    found = _routes({**changes, "indexes": (index(index_type="BITMAP"),)}, "APP.ORDERS_PK INDEX")
    assert [route.online for route in found] == [False]


def test_an_index_organised_table_moves_as_a_table() -> None:
    """Its segment is an index that cannot be rebuilt; its overflow goes along."""
    lead = entry(name="SYS_IOT_TOP_500", type="INDEX")
    changes = {"lead": lead, "index_type": "IOT - TOP", "overflow_space": "SLOW"}
    found = _routes(changes, number=(11, 2))
    assert _texts(found[0]) == [f'{TABLE} ONLINE TABLESPACE "FAST" OVERFLOW TABLESPACE "FAST"']


@over(
    ("changes", "code"),
    [
        ({"spaces": {"SLOW": space("SLOW")}}, "no_space"),
        ({"lead": entry(space="FAST")}, "already_there"),
        ({"spaces": {"SLOW": space("SLOW"), "FAST": space("FAST", contents="UNDO")}}, "not_permanent"),
        ({"spaces": {"SLOW": space("SLOW"), "FAST": space("FAST", status="READ ONLY")}}, "space_not_online"),
        ({"spaces": {"SLOW": space("SLOW"), "FAST": space("FAST", block_size=16384)}}, "block_size"),
        ({"spaces": {"SLOW": space("SLOW", encrypted="YES"), "FAST": space("FAST")}}, "encryption"),
        ({"table_owner": "SYS"}, "system"),
        ({"table": "MLOG$_ORDERS"}, "own_table"),
        ({"table": "BIN$x"}, "own_table"),
        ({"table_facts": None}, "gone"),
        ({"table_facts": table(cluster="C")}, "cluster"),
        ({"table_facts": table(temporary="Y")}, "temporary"),
        ({"table_facts": table(externals=1)}, "external"),
        ({"table_facts": table(queues=1)}, "queue"),
        ({"table_facts": table(is_log=1)}, "mview_log"),
        ({"table_facts": table(nested="YES")}, "nested_table"),
        ({"table_facts": table(secondary="Y")}, "secondary"),
        ({"table_facts": table(iot_type="IOT_MAPPING")}, "iot_part"),
        ({"table_facts": table(archives=1)}, "flashback_archive"),
        ({"table": "MDRT_1F89F$"}, "own_table"),
        ({"table_facts": table(longs=1)}, "long_column"),
        ({"table_facts": table(rowid_logs=1)}, "rowid_log"),
        ({"table_facts": table(domain_indexes=1)}, "domain_index"),
        ({"table_facts": table(bitmap_joins=1)}, "bitmap_join"),
        ({"indexes": (index(index_type="VECTOR"),)}, "unknown_index"),  # ORA-51947
        ({**PART, "indexes": (index(index_type="VECTOR"),)}, "unknown_index"),  # ORA-51881
        ({"indexes": (index(index_type="NEW IN 30ai"),)}, "unknown_index"),
        ({"table": "VECTOR$ORDERS_V$71_72_0$IVF_FLAT_CENTROIDS"}, "own_table"),  # ORA-51965
        ({"compress_for": "NEW IN 30ai"}, "unknown_compression"),
        ({"table_facts": table(iot_type="NEW IN 30ai")}, "unknown_table"),
        (
            {
                "lobs": (LobFacts("DOC", "SLOW", securefile=True),),
                "spaces": {"SLOW": space("SLOW"), "FAST": space("FAST", management="MANUAL")},
            },
            "securefile",
        ),
        ({"indexes": (index(bytes=MIB, space="IDX"),), "room": {"IDX": MIB - 1}}, "index_room"),
        ({"lobs": (LobFacts("SYS_NC00004$", "SLOW"),)}, "lob_hidden"),
        ({"lobs": (LobFacts('"DOC"."BODY"', "SLOW"),)}, "lob_hidden"),
        ({"quota_left": 99 * MIB}, "quota"),
        ({"quota_left": 101 * MIB, "lobs": (LobFacts("DOC", "SLOW", 2 * MIB),)}, "quota"),
        ({"ado_policies": 1}, "ado"),  # oracle.md f35
        ({**INDEX, "indexes": (index(index_type="DOMAIN"),)}, "index_kind"),
        ({**INDEX, "indexes": (index(function_status="DISABLED"),)}, "function_disabled"),
        ({**INDEX, "indexes": ()}, "gone"),
    ],
)
def test_refusals_have_a_reason(changes: dict[str, Any], code: str) -> None:
    """What cannot move, or must not, is refused before any statement."""
    found = _routes(changes)
    assert isinstance(found, NoRoute)
    assert found.code == code
    assert found.sentence


def test_no_ddl_where_it_is_impossible() -> None:
    """A standby and the root of a CDB are watched only; an object that is gone has no route."""
    assert _routes({}, role="PHYSICAL STANDBY").code == "standby"
    assert _routes({}, container="CDB$ROOT").code == "root_container"
    assert routes_of(None, bundle(), "FAST", server(), SETTINGS).code == "gone"  # type: ignore[union-attr]  # a refusal


def test_nothing_dangerous_is_ever_generated() -> None:
    """No NOLOGGING, by default no PARALLEL, no row filter; no suspended DDL (oracle.md f18, f24, f26, f33)."""
    partition = bundle("APP.ORDERS PARTITION P1", UnitKind.TABLE_PARTITION)
    for number in ((11, 2), (12, 1), (12, 2), (19, 0), (23, 0)):
        for made in (facts(), facts(**PART), facts(**INDEX)):
            found = routes_of(made, partition, "FAST", server(number=number), SETTINGS)
            assert isinstance(found, tuple)
            for route in found:
                text = " ".join(step.sql for step in (*route.steps, *route.undo_steps, *route.tidy_steps))
                assert not re.search("NOLOGGING|PARALLEL|INCLUDING", text)
                patience = 30 if route.online else 5
                assert route.prologue == (
                    f"ALTER SESSION SET DDL_LOCK_TIMEOUT = {patience}",
                    "ALTER SESSION DISABLE RESUMABLE",
                )


def test_the_same_move_has_the_same_tag() -> None:
    """A plan made twice is the same plan; the session is named after the tag."""
    first, again = _routes({})[0], _routes({})[0]
    assert first == again
    assert re.fullmatch("move [0-9a-f]{8}", action_of(first))


def test_names_are_always_quoted() -> None:
    """Case, spaces, semicolons and words of the language are safe; what no Oracle name can hold is refused (f29)."""
    assert quote("App", "a;b --") == '"App"."a;b --"'
    for wrong in ('x"y', "", "a\0b"):
        with pytest.raises(StatementFailed):
            quote("APP", wrong)
