"""Emulated server over the plain driver: rules of DDL that the README numbers, without any connector."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import oracledb
import pytest

from tests.labs.oracle.harness import AGENT, OWNER, OracleHarness, running_harness
from tests.labs.oracle.model import Quirks

MB = 2**20
LOCK = "LOCK TABLE APP.EVENTS {}IN ROW EXCLUSIVE MODE"


@contextmanager
def furnished(version: tuple[int, ...] = (19, 22, 0, 0, 0), **quirks: bool) -> Iterator[OracleHarness]:
    """A lab with a table, and one of two partitions with a local and a global index."""
    with running_harness("rules", version, replace(Quirks(), **quirks)) as lab:  # type: ignore[arg-type]  # fields by name
        orders = lab.database.add_table(OWNER, "ORDERS", "SLOW", MB)
        lab.database.add_index(orders, "ORDERS_PK", "SLOW", MB, unique=True)
        events = lab.database.add_table(OWNER, "EVENTS", "SLOW", MB, partitions=("P1", "P2"))
        lab.database.add_index(events, "EVENTS_LOCAL", "SLOW", MB, local=True)
        lab.database.add_index(events, "EVENTS_GLOBAL", "SLOW", MB)
        yield lab


@pytest.fixture
def lab() -> Iterator[OracleHarness]:
    """Enterprise Edition of 19c."""
    with furnished() as running:
        yield running


def run(lab: OracleHarness, *statements: str) -> None:
    """Over one session of the agent's."""
    with lab.session(AGENT) as session:
        for statement in statements:
            session.cursor().execute(statement)


def refused(lab: OracleHarness, *statements: str) -> int:
    """The number of the error that they end with."""
    with pytest.raises(oracledb.DatabaseError) as caught:
        run(lab, *statements)
    return int(caught.value.args[0].code)


def answer(lab: OracleHarness, query: str) -> list[tuple[object, ...]]:
    """Rows of a query of the agent's."""
    with lab.session(AGENT) as session:
        return list(session.cursor().execute(query))


PIECES = "SELECT index_name, partition_name, status, segment_created FROM dba_ind_partitions ORDER BY partition_name"


@pytest.mark.parametrize("clause", ["", "UPDATE INDEXES", "UPDATE INDEXES ONLINE"])
def test_what_was_unusable_stays_so(lab: OracleHarness, clause: str) -> None:
    """Rule 1: a piece that was UNUSABLE before has no segment, and no move of its table builds it."""
    run(lab, "ALTER INDEX APP.EVENTS_LOCAL MODIFY PARTITION P1 UNUSABLE")
    run(lab, f"ALTER TABLE APP.EVENTS MOVE PARTITION P1 TABLESPACE FAST {clause}")
    gone, kept = answer(lab, PIECES)
    assert gone == ("EVENTS_LOCAL", "P1", "UNUSABLE", "NO")
    assert kept == ("EVENTS_LOCAL", "P2", "USABLE", "YES")
    assert answer(lab, "SELECT COUNT(*) FROM dba_segments WHERE segment_name = 'EVENTS_LOCAL'") == [(1,)]


def test_a_rebuild_builds_what_was_unusable(lab: OracleHarness) -> None:
    """Rule 1: what sends it makes an index that its owner had put out of use: with a segment, kept by each change."""
    run(lab, "ALTER INDEX APP.EVENTS_LOCAL MODIFY PARTITION P1 UNUSABLE")
    run(lab, "ALTER INDEX APP.EVENTS_LOCAL REBUILD PARTITION P1")
    assert answer(lab, PIECES)[0] == ("EVENTS_LOCAL", "P1", "USABLE", "YES")


def test_a_partial_index_leaves_partitions_out(lab: OracleHarness) -> None:
    """Rule 1: INDEXING OFF of a partition shows in the table, PARTIAL in the index, UNUSABLE in the piece."""
    events = lab.database.table(OWNER, "EVENTS")
    lab.database.exclude_from_indexing(events, "P1")
    assert answer(lab, "SELECT indexing FROM dba_tab_partitions ORDER BY partition_name") == [("OFF",), ("ON",)]
    indexing = "SELECT index_name, indexing FROM dba_indexes WHERE table_name = 'EVENTS' ORDER BY 1"
    assert answer(lab, indexing) == [("EVENTS_GLOBAL", "FULL"), ("EVENTS_LOCAL", "PARTIAL")]
    assert answer(lab, PIECES)[0] == ("EVENTS_LOCAL", "P1", "UNUSABLE", "NO")


def test_a_move_of_spatial_s_own_table_breaks_its_index(lab: OracleHarness) -> None:
    """Rule 2: nothing refuses it, and the domain index cannot be used from then on."""
    lab.database.add_domain_index(lab.database.table(OWNER, "ORDERS"), "PLACES", "MDRT_1F89F$", "SLOW", MB)
    state = "SELECT domidx_opstatus FROM dba_indexes WHERE index_name = 'PLACES'"
    assert answer(lab, state) == [("VALID",)]
    run(lab, "ALTER TABLE APP.MDRT_1F89F$ MOVE TABLESPACE FAST")
    assert answer(lab, state) == [("FAILED",)]
    shown = "SELECT secondary FROM dba_objects WHERE object_name = 'MDRT_1F89F$'"
    assert answer(lab, shown) == [("Y",)]
    assert answer(lab, "SELECT index_name, secondary_object_name FROM dba_secondary_objects") == [
        ("PLACES", "MDRT_1F89F$")
    ]


def test_a_vector_index_keeps_its_table(lab: OracleHarness) -> None:
    """Rule 2: whole ORA-51947, a partition ORA-51881, the index's own table ORA-51965."""
    lab.database.add_index(lab.database.table(OWNER, "ORDERS"), "ORDERS_V", "SLOW", MB, kind="VECTOR")
    lab.database.add_index(lab.database.table(OWNER, "EVENTS"), "EVENTS_V", "SLOW", MB, kind="VECTOR")
    lab.database.add_table(OWNER, "VECTOR$ORDERS_V$CENTROIDS", "SLOW", MB)
    for what, number in (
        ("ORDERS MOVE", 51947),
        ("EVENTS MOVE PARTITION P1", 51881),
        ("VECTOR$ORDERS_V$CENTROIDS MOVE", 51965),
    ):
        assert refused(lab, f"ALTER TABLE APP.{what} TABLESPACE FAST") == number


def test_parts_of_an_index_organised_table_are_not_named(lab: OracleHarness) -> None:
    """Rule 2: its mapping table is ORA-28668, its overflow ORA-25191."""
    iot = lab.database.add_table(OWNER, "IOT", "SLOW", MB, iot=True)
    for part, number in (
        (lab.database.add_mapping(iot, "SLOW", MB), 28668),
        (lab.database.add_overflow(iot, "SLOW", MB), 25191),
    ):
        assert refused(lab, f"ALTER TABLE APP.{part.name} MOVE TABLESPACE FAST") == number
    kinds = "SELECT iot_type FROM dba_tables WHERE iot_name = 'IOT' ORDER BY 1"
    assert answer(lab, kinds) == [("IOT_MAPPING",), ("IOT_OVERFLOW",)]


def test_a_flashback_archive_keeps_its_history(lab: OracleHarness) -> None:
    """Rule 2: the history table is never altered; a partition of a tracked table does not move, a whole table does."""
    events, orders = (lab.database.table(OWNER, name) for name in ("EVENTS", "ORDERS"))
    history = lab.database.archive(events, "SLOW", MB)
    lab.database.archive(orders, "SLOW", MB)
    assert refused(lab, f"ALTER TABLE APP.{history.name} MOVE TABLESPACE FAST") == 55622
    assert refused(lab, "ALTER TABLE APP.EVENTS MOVE PARTITION P1 TABLESPACE FAST UPDATE INDEXES") == 55610
    run(lab, "ALTER TABLE APP.ORDERS MOVE ONLINE TABLESPACE FAST")
    tracked = "SELECT archive_table_name FROM dba_flashback_archive_tables WHERE table_name = 'EVENTS'"
    assert answer(lab, tracked) == [(history.name,)]


def _moving(lab: OracleHarness, statement: str) -> tuple[threading.Thread, list[BaseException]]:
    failed: list[BaseException] = []

    def move() -> None:
        try:
            run(lab, statement)
        except oracledb.DatabaseError as error:
            failed.append(error)

    thread = threading.Thread(target=move)
    thread.start()
    return thread, failed


def _waiting(lab: OracleHarness) -> bool:
    """Whether a session waits for transactions."""
    return any(session.blocked_by is not None for session in list(lab.database.sessions.values()))  # type: ignore[attr-defined]  # looks inside


def _until_waiting(lab: OracleHarness) -> None:
    until = time.monotonic() + 10
    while not _waiting(lab):
        assert time.monotonic() < until
        time.sleep(0.005)


def test_online_ddl_waits_for_those_who_were_there(lab: OracleHarness) -> None:
    """Rule 3: a transaction that began later does not hold it up, so it needs no moment without any lock."""
    with lab.session() as first, lab.session() as second:
        first.cursor().execute(LOCK.format(""))
        thread, failed = _moving(lab, "ALTER TABLE APP.EVENTS MOVE PARTITION P1 TABLESPACE FAST ONLINE")
        _until_waiting(lab)
        second.cursor().execute(LOCK.format(""))
        first.commit()
        until = time.monotonic() + 10
        while lab.database.table(OWNER, "EVENTS").segments[0].tablespace != "FAST" and time.monotonic() < until:
            if _waiting(lab):  # for the second, which was there when the copy ended
                second.commit()
                second.cursor().execute(LOCK.format(""))
            time.sleep(0.005)
        thread.join()
    assert failed == []
    assert lab.database.table(OWNER, "EVENTS").segments[0].tablespace == "FAST"


def test_locks_on_other_partitions_do_not_count(lab: OracleHarness) -> None:
    """Rule 3: neither for an online nor for an offline move of one partition."""
    with lab.session() as writer:
        writer.cursor().execute(LOCK.format("PARTITION (P2) "))
        run(lab, "ALTER TABLE APP.EVENTS MOVE PARTITION P1 TABLESPACE FAST ONLINE")
        run(lab, "ALTER TABLE APP.EVENTS MOVE PARTITION P1 TABLESPACE SLOW UPDATE INDEXES")
        assert refused(lab, "ALTER TABLE APP.EVENTS MOVE PARTITION P2 TABLESPACE FAST") == 54
        held = "SELECT COUNT(*) FROM v$locked_object l JOIN dba_objects o ON o.object_id = l.object_id WHERE o.{}"
        assert answer(lab, held.format("subobject_name = 'P2'")) == [(1,)]
        assert answer(lab, held.format("subobject_name = 'P1'")) == [(0,)]


@pytest.mark.parametrize(("heeds", "number"), [(True, 54), (False, None)])
def test_whether_the_time_out_ends_an_online_wait_is_not_known(heeds: bool, number: int | None) -> None:
    """Rule 3: a lab for each: ORA-00054 after DDL_LOCK_TIMEOUT, or a wait until the transaction ends."""
    with furnished(online_ddl_times_out=heeds) as lab, lab.session() as writer:
        writer.cursor().execute(LOCK.format(""))
        waits = ("ALTER SESSION SET DDL_LOCK_TIMEOUT = 1", "ALTER INDEX APP.EVENTS_GLOBAL REBUILD ONLINE")
        if number is None:
            timer = threading.Timer(1.5, writer.rollback)
            timer.start()
            run(lab, *waits)
            timer.join()
        else:
            assert refused(lab, *waits) == number


def test_a_transaction_tells_since_when(lab: OracleHarness) -> None:
    """Rule 3: V$TRANSACTION.START_DATE, by the session that V$LOCKED_OBJECT names."""
    query = (
        "SELECT COUNT(*) FROM v$locked_object l JOIN v$session s ON s.sid = l.session_id "
        "JOIN v$transaction t ON t.addr = s.taddr WHERE t.start_date > SYSDATE - 1 AND l.xidsqn = t.xidsqn"
    )
    assert answer(lab, query) == [(0,)]
    with lab.session() as writer:
        writer.cursor().execute("LOCK TABLE APP.ORDERS IN ROW EXCLUSIVE MODE")
        assert answer(lab, query) == [(1,)]


@pytest.mark.parametrize(
    ("compatible", "statement"),
    [
        ("12.1.0", "ALTER TABLE APP.ORDERS MOVE ONLINE TABLESPACE FAST"),
        ("11.2.0.4", "ALTER TABLE APP.EVENTS MOVE PARTITION P1 TABLESPACE FAST ONLINE"),
        ("11.2.0.4", "ALTER DATABASE MOVE DATAFILE '/hdd/oradata/slow01.dbf' TO '/ssd/oradata/slow01.dbf'"),
    ],
)
def test_compatible_holds_a_release_back(lab: OracleHarness, compatible: str, statement: str) -> None:
    """Rule 7: ORA-00406, whatever the release is; with the release's own value the statement runs."""
    lab.database.users[AGENT].privileges.add("ALTER DATABASE")
    own = lab.database.parameters["compatible"]
    lab.database.parameters["compatible"] = compatible
    assert refused(lab, statement) == 406
    lab.database.parameters["compatible"] = own
    run(lab, statement)


@pytest.mark.parametrize(
    "statement", ["ALTER TABLE APP.ORDERS MOVE TABLESPACE FAST", "ALTER INDEX APP.ORDERS_PK REBUILD ONLINE"]
)
def test_compatible_leaves_older_forms(lab: OracleHarness, statement: str) -> None:
    """Rule 7: what releases before could do is not refused."""
    lab.database.parameters["compatible"] = "11.2.0.4"
    run(lab, statement)


def test_a_lob_moves_without_its_table(lab: OracleHarness) -> None:
    """Rule 4: each alone; MOVE LOB writes the table again where it is, so its indexes break like those of a table."""
    orders = lab.database.table(OWNER, "ORDERS")
    lob = lab.database.add_lob(orders, "DOC", "SLOW", MB)
    before = orders.segments[0].data_object_id
    run(lab, "ALTER TABLE APP.ORDERS MOVE LOB (DOC) STORE AS (TABLESPACE FAST)")
    assert (orders.segments[0].tablespace, lob.segments[0].tablespace) == ("SLOW", "FAST")
    assert orders.segments[0].data_object_id > before
    assert orders.indexes[0].unusable == {""}
    run(lab, "ALTER TABLE APP.ORDERS MOVE TABLESPACE FAST UPDATE INDEXES")
    run(lab, "ALTER TABLE APP.ORDERS MOVE LOB (DOC) STORE AS (TABLESPACE SLOW) UPDATE INDEXES")
    assert (orders.segments[0].tablespace, lob.segments[0].tablespace) == ("FAST", "SLOW")


@pytest.mark.parametrize("online", ["", "ONLINE "])
def test_a_move_places_indexes_without_brackets_of_their_own(lab: OracleHarness, online: str) -> None:
    """Rule 9e: the index is built once, where it is to be; before 12.2 and with other brackets it is no statement."""
    index = lab.database.table(OWNER, "ORDERS").indexes[0]
    before = index.segments[0].data_object_id
    move = f"ALTER TABLE APP.ORDERS MOVE {online}TABLESPACE FAST UPDATE INDEXES"
    assert refused(lab, f"{move} (ORDERS_PK (TABLESPACE FAST))")
    assert refused(lab, f"{move} (NO_SUCH TABLESPACE FAST)") == 1418
    run(lab, f"{move} (ORDERS_PK TABLESPACE FAST)")
    assert (index.segments[0].tablespace, index.unusable) == ("FAST", set())
    assert index.segments[0].data_object_id > before
    with furnished((12, 1, 0, 2, 0)) as older:
        assert refused(older, "ALTER TABLE APP.ORDERS MOVE TABLESPACE FAST UPDATE INDEXES (ORDERS_PK TABLESPACE FAST)")


@pytest.mark.parametrize("clause", ["UPDATE INDEXES", "ONLINE", "UPDATE INDEXES ONLINE"])
def test_a_partition_of_an_iot_has_no_update_clause(lab: OracleHarness, clause: str) -> None:
    """Rule 6: refused; without it the partition moves, and secondary indexes stay usable by their primary keys."""
    iot = lab.database.add_table(OWNER, "IOT", "SLOW", MB, partitions=("P1", "P2"), iot=True)
    lab.database.add_index(iot, "IOT_IX", "SLOW", MB)
    move = "ALTER TABLE APP.IOT MOVE PARTITION P1 TABLESPACE FAST"
    assert refused(lab, f"{move} {clause}") == 933
    run(lab, move)
    assert [segment.tablespace for segment in iot.indexes[0].segments] == ["FAST", "SLOW"]
    assert answer(lab, "SELECT status FROM dba_indexes WHERE index_name = 'IOT_IX'") == [("VALID",)]
    assert refused(lab, "ALTER TABLE APP.IOT MOVE TABLESPACE FAST") == 28660


@pytest.mark.parametrize(("version", "number"), [((11, 2, 0, 4, 0), 1031), ((12, 1, 0, 2, 0), 0)])
def test_an_online_rebuild_of_another_s_index(version: tuple[int, ...], number: int) -> None:
    """Rule 9a: in 11.2 it makes a journal there, which needs CREATE ANY TABLE and CREATE ANY INDEX."""
    with furnished(version) as lab:
        online = "ALTER INDEX APP.ORDERS_PK REBUILD ONLINE"
        if number:
            assert refused(lab, online) == number
        lab.database.users[AGENT].privileges.update(("CREATE ANY TABLE", "CREATE ANY INDEX"))
        run(lab, online, "ALTER INDEX APP.ORDERS_PK REBUILD")
        with lab.session() as owner:
            owner.cursor().execute(online)


def test_a_database_without_xml_db() -> None:
    """Rule 9b: DBA_XML_TABLES does not exist there."""
    with furnished(xml=False) as lab:
        assert refused(lab, "SELECT COUNT(*) FROM dba_xml_tables") == 942


@pytest.mark.parametrize(("secure", "number"), [(True, 43853), (False, 0)])
def test_securefiles_want_automatic_space_management(lab: OracleHarness, secure: bool, number: int) -> None:
    """Rule 9d: a SecureFiles LOB does not go where segment space is managed by hand; a BasicFiles LOB does."""
    lob = lab.database.add_lob(lab.database.table(OWNER, "ORDERS"), "DOC", "SLOW", MB)
    lob.securefile, lab.database.tablespaces["FAST"].automatic = secure, False
    move = "ALTER TABLE APP.ORDERS MOVE LOB (DOC) STORE AS (TABLESPACE FAST)"
    if number:
        assert refused(lab, move) == number
    else:
        run(lab, move)
    managed = "SELECT segment_space_management FROM dba_tablespaces WHERE tablespace_name = 'FAST'"
    assert answer(lab, managed) == [("MANUAL",)]


def test_a_dropped_table_keeps_its_segments(lab: OracleHarness) -> None:
    """Rule 9g: under a name that begins with BIN$, in every view, until it is purged."""
    with lab.session() as owner:
        owner.cursor().execute("DROP TABLE APP.ORDERS")
    names = {row[0] for row in answer(lab, "SELECT segment_name FROM dba_segments WHERE owner = 'APP'")}
    assert len([name for name in names if str(name).startswith("BIN$")]) == 2
    assert "ORDERS" not in names
    dropped = answer(lab, "SELECT table_name, dropped FROM dba_tables WHERE dropped = 'YES'")
    assert dropped == answer(lab, "SELECT object_name, 'YES' FROM dba_recyclebin")


def test_default_attributes_say_where_new_partitions_go(lab: OracleHarness) -> None:
    """Rule 10a: MOVE PARTITION leaves them; those of a local index follow the table's until it has its own."""
    events = lab.database.table(OWNER, "EVENTS")
    placed = "UPDATE INDEXES (EVENTS_LOCAL (PARTITION P1 TABLESPACE FAST))"
    run(lab, f"ALTER TABLE APP.EVENTS MOVE PARTITION P1 TABLESPACE FAST {placed}")
    assert lab.database.add_partition(events, "P3", MB).tablespace == "SLOW"
    run(
        lab,
        "ALTER TABLE APP.EVENTS MODIFY DEFAULT ATTRIBUTES TABLESPACE FAST",
        "ALTER INDEX APP.EVENTS_LOCAL MODIFY DEFAULT ATTRIBUTES TABLESPACE SLOW",
    )
    assert lab.database.add_partition(events, "P4", MB).tablespace == "FAST"
    assert [segment.tablespace for segment in events.indexes[0].segments] == ["FAST", "SLOW", "SLOW", "SLOW"]
    assert answer(lab, "SELECT def_tablespace_name FROM dba_part_tables") == [("FAST",)]
    assert answer(lab, "SELECT def_tablespace_name FROM dba_part_indexes") == [("SLOW",)]


def test_indexes_that_are_kept_need_room_where_they_are(lab: OracleHarness) -> None:
    """Rule 10b: ORA-01652 of the index's tablespace, with the target empty."""
    space = lab.database.add_tablespace("IDX", "/hdd/oradata/idx01.dbf", 8 * MB)
    orders = lab.database.table(OWNER, "ORDERS")
    orders.indexes[0].segments[0].tablespace = "IDX"
    lab.database.users[OWNER].quotas["IDX"] = -1
    space.ballast = int(6.5 * MB)
    assert refused(lab, "ALTER TABLE APP.ORDERS MOVE TABLESPACE FAST UPDATE INDEXES") == 1652
    space.ballast = 6 * MB
    run(lab, "ALTER TABLE APP.ORDERS MOVE TABLESPACE FAST UPDATE INDEXES")


@pytest.mark.parametrize("service", ["", "OLTP"])
def test_an_autonomous_database_says_so(service: str) -> None:
    """Rule 10c: by CLOUD_SERVICE of USERENV, which is empty elsewhere."""
    with running_harness("cloud", quirks=Quirks(cloud_service=service)) as lab:
        assert answer(lab, "SELECT SYS_CONTEXT('USERENV', 'CLOUD_SERVICE') FROM dual") == [(service or None,)]
