"""Emulated server: what DDL does to the model, by the documentation (oracle reference, sections b2 and c)."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

from tests.labs.oracle.database import EmulatedDatabase
from tests.labs.oracle.model import Quirks, Table
from tests.labs.oracle.session import EmulatedSession
from tests.labs.tns.backend import Client, OracleError
from tests.over import over

MB = 2**20
RIGHTS = {"SELECT ANY DICTIONARY", "ALTER ANY TABLE", "ALTER ANY INDEX", "ALTER DATABASE"}


def database(version: tuple[int, ...] = (19, 22, 0, 0, 0), edition: str = "EE") -> EmulatedDatabase:
    """A slow and a fast tablespace; a table with index and LOB; a partitioned one with a local and a global index."""
    made = EmulatedDatabase(version, Quirks(edition=edition))
    made.add_tablespace("SLOW", "/hdd/slow01.dbf", 1024 * MB)
    made.add_tablespace("FAST", "/ssd/fast01.dbf", 64 * MB)
    made.add_user("APP", "app", quotas={"SLOW": -1, "FAST": -1})
    made.add_user("MOVER", "mover", privileges=RIGHTS)
    orders = made.add_table("APP", "ORDERS", "SLOW", 8 * MB)
    made.add_index(orders, "ORDERS_PK", "SLOW", MB, unique=True)
    made.add_lob(orders, "DOC", "SLOW", 4 * MB)
    events = made.add_table("APP", "EVENTS", "SLOW", 2 * MB, partitions=("P1", "P2"))
    made.add_index(events, "EVENTS_LOCAL", "SLOW", MB, local=True)
    made.add_index(events, "EVENTS_GLOBAL", "SLOW", MB)
    return made


def session(of: EmulatedDatabase, user: str = "MOVER") -> EmulatedSession:
    """A session without a wire."""
    opened = of.open(Client(user=user, service="orcl"))
    assert isinstance(opened, EmulatedSession)
    return opened


def run(of: EmulatedDatabase, sql: str, user: str = "MOVER") -> None:
    """One statement."""
    session(of, user).execute(sql, [], 1)


def refused(of: EmulatedDatabase, sql: str, user: str = "MOVER") -> int:
    """The number of the error it gives."""
    with pytest.raises(OracleError) as caught:
        run(of, sql, user)
    return caught.value.number


def homes(table: Table) -> dict[str, str]:
    """Tablespace of each segment."""
    return {f"{s.kind} {s.part}".strip(): s.tablespace for s in table.everything()}


def unusable(table: Table) -> dict[str, set[str]]:
    """Partitions that cannot be used, of each index that has any."""
    return {index.name: index.unusable for index in table.indexes if index.unusable}


def test_an_offline_move_leaves_indexes_unusable_and_lobs_behind() -> None:
    """ROWIDs change, so the index is UNUSABLE; the LOB stays; OBJECT_ID stays and DATA_OBJECT_ID does not."""
    of = database()
    table = of.tables["APP", "ORDERS"]
    before = (table.segments[0].object_id, table.segments[0].data_object_id)
    run(of, "ALTER TABLE APP.ORDERS MOVE TABLESPACE FAST")
    assert homes(table) == {"TABLE": "FAST", "INDEX": "SLOW", "LOBSEGMENT": "SLOW", "LOBINDEX": "SLOW"}
    assert unusable(table) == {"ORDERS_PK": {""}}
    assert table.segments[0].object_id == before[0]
    assert table.segments[0].data_object_id > before[1]


def test_a_move_with_lob_and_indexes() -> None:
    """LOBs that are named go along with their LOB index; UPDATE INDEXES keeps indexes usable where they are."""
    of = database()
    table = of.tables["APP", "ORDERS"]
    run(of, "ALTER TABLE APP.ORDERS MOVE TABLESPACE FAST LOB (DOC) STORE AS (TABLESPACE FAST) UPDATE INDEXES")
    assert homes(table) == {"TABLE": "FAST", "INDEX": "SLOW", "LOBSEGMENT": "FAST", "LOBINDEX": "FAST"}
    assert unusable(table) == {}


def test_update_indexes_may_place_them() -> None:
    """The list form moves the index along."""
    of = database()
    run(of, "ALTER TABLE APP.ORDERS MOVE TABLESPACE FAST UPDATE INDEXES (ORDERS_PK TABLESPACE FAST)")
    assert of.tables["APP", "ORDERS"].indexes[0].segments[0].tablespace == "FAST"


@pytest.mark.parametrize(
    ("clause", "dead"),
    [
        ("", {"EVENTS_LOCAL": {"P1"}, "EVENTS_GLOBAL": {""}}),
        ("UPDATE GLOBAL INDEXES", {"EVENTS_LOCAL": {"P1"}}),
        ("UPDATE INDEXES", {}),
        ("UPDATE INDEXES ONLINE", {}),
        ("ONLINE", {}),
    ],
)
def test_a_partition_moves_alone(clause: str, dead: dict[str, set[str]]) -> None:
    """Without an UPDATE clause its local index partition and every global index become UNUSABLE."""
    of = database()
    table = of.tables["APP", "EVENTS"]
    run(of, f"ALTER TABLE APP.EVENTS MOVE PARTITION P1 TABLESPACE FAST {clause}")
    assert [segment.tablespace for segment in table.segments] == ["FAST", "SLOW"]
    assert unusable(table) == dead


def test_a_rebuild_makes_an_index_usable_and_stores_its_degree() -> None:
    """PARALLEL of a rebuild stays as the index's degree until NOPARALLEL takes it back."""
    of = database()
    index = of.tables["APP", "ORDERS"].indexes[0]
    run(of, "ALTER TABLE APP.ORDERS MOVE TABLESPACE FAST")
    run(of, "ALTER INDEX APP.ORDERS_PK REBUILD TABLESPACE FAST ONLINE PARALLEL 4")
    assert (index.segments[0].tablespace, index.unusable, index.degree) == ("FAST", set(), "4")
    run(of, "ALTER INDEX APP.ORDERS_PK NOPARALLEL")
    assert index.degree == "1"


@over(
    ("version", "edition", "sql", "number"),
    [
        ((12, 1), "EE", "ALTER TABLE APP.ORDERS MOVE ONLINE TABLESPACE FAST", 25148),
        ((12, 1), "EE", "ALTER TABLE APP.ORDERS MOVE TABLESPACE FAST UPDATE INDEXES", 933),
        ((11, 2), "EE", "ALTER TABLE APP.EVENTS MOVE PARTITION P1 TABLESPACE FAST ONLINE", 933),
        ((11, 2), "EE", "ALTER DATABASE MOVE DATAFILE '/hdd/slow01.dbf' TO '/ssd/slow01.dbf'", 933),
        ((19, 0), "SE2", "ALTER TABLE APP.ORDERS MOVE ONLINE TABLESPACE FAST", 439),
        ((19, 0), "SE2", "ALTER INDEX APP.ORDERS_PK REBUILD ONLINE", 439),
        ((19, 0), "SE2", "ALTER TABLE APP.EVENTS MOVE PARTITION P1 TABLESPACE FAST", 439),
        ((19, 0), "EE", "ALTER TABLE APP.EVENTS MOVE TABLESPACE FAST", 14511),
        ((19, 0), "EE", "ALTER TABLE APP.EVENTS MOVE ONLINE TABLESPACE FAST", 14808),
        ((19, 0), "EE", "ALTER TABLE APP.EVENTS MOVE PARTITION P9 TABLESPACE FAST", 2149),
        ((19, 0), "EE", "ALTER TABLE APP.EVENTS MOVE SUBPARTITION P1 TABLESPACE FAST", 14257),
        ((19, 0), "EE", "ALTER INDEX APP.EVENTS_LOCAL REBUILD TABLESPACE FAST", 14086),
        ((19, 0), "EE", "ALTER INDEX APP.NONE REBUILD", 1418),
        ((19, 0), "EE", "ALTER TABLE APP.NONE MOVE TABLESPACE FAST", 942),
        ((19, 0), "EE", "ALTER TABLE APP.ORDERS MOVE TABLESPACE NOWHERE", 959),
        ((19, 0), "EE", "ALTER TABLE APP.ORDERS MOVE TABLESPACE FAST TABLESPACE FAST", 933),
        ((19, 0), "EE", "ALTER TABLE APP.ORDERS MOVE TABLESPACE FAST INCLUDING ROWS WHERE 1 = 1", 933),
        ((19, 0), "EE", "ALTER TABLE APP.ORDERS MOVE LOB (NODOC) STORE AS (TABLESPACE FAST)", 904),
    ],
)
def test_forms_that_are_refused(version: tuple[int, ...], edition: str, sql: str, number: int) -> None:
    """Release, edition and kind of object decide; nothing has moved."""
    of = database(version, edition)
    assert refused(of, sql) == number
    assert {segment.tablespace for segment in of.segments()} == {"SLOW"}


def test_an_iot_moves_as_a_table() -> None:
    """Its index cannot be rebuilt; moving the table moves it, and secondary indexes stay usable."""
    of = database()
    iot = of.add_table("APP", "IOT", "SLOW", MB, iot=True)
    assert refused(of, "ALTER INDEX APP.IOT_PK REBUILD TABLESPACE FAST") == 28650
    run(of, "ALTER TABLE APP.IOT MOVE ONLINE TABLESPACE FAST")
    assert homes(iot) == {"INDEX": "FAST"}


@pytest.mark.parametrize(("quota", "number"), [(None, 1950), (MB, 1536)])
def test_the_owner_needs_quota(quota: int | None, number: int) -> None:
    """It is the owner's that counts, whoever runs the statement."""
    of = database()
    of.users["APP"].quotas.pop("FAST")
    if quota is not None:
        of.users["APP"].quotas["FAST"] = quota
    assert refused(of, "ALTER TABLE APP.ORDERS MOVE TABLESPACE FAST") == number


def test_room_is_needed_for_old_and_new() -> None:
    """64 MB hold seven copies of 8 MB beside the first; a file that extends itself gives more."""
    of = database()
    of.tablespaces["FAST"].ballast = 60 * MB
    assert refused(of, "ALTER TABLE APP.ORDERS MOVE TABLESPACE FAST") == 1652
    of.tablespaces["FAST"].files[0].max_bytes = 128 * MB
    run(of, "ALTER TABLE APP.ORDERS MOVE TABLESPACE FAST")
    assert of.tablespaces["FAST"].bytes == 68 * MB


def test_full_tablespaces_have_three_numbers() -> None:
    """No initial extent, no room for a copy, no room for more rows: ORA-01658, 01652, 01653."""
    of = database()
    fast, slow = of.tablespaces["FAST"], of.tablespaces["SLOW"]
    fast.ballast = fast.bytes
    assert refused(of, "ALTER TABLE APP.ORDERS MOVE TABLESPACE FAST") == 1658
    fast.ballast = fast.bytes - MB
    assert refused(of, "ALTER TABLE APP.ORDERS MOVE TABLESPACE FAST") == 1652
    more = f"ALTER TABLE APP.ORDERS ALLOCATE EXTENT (SIZE {2 * MB})"
    run(of, more)
    slow.ballast = slow.bytes - of.used_bytes("SLOW") - MB
    assert refused(of, more) == 1653
    assert of.table("APP", "ORDERS").segments[0].bytes == 10 * MB


def test_rights_are_needed() -> None:
    """What one may not see does not exist; what one sees and may not alter is refused; owners may."""
    of = database()
    of.add_user("NOBODY", "x")
    of.add_user("LOOKER", "x", privileges={"SELECT ANY DICTIONARY"})
    sql = "ALTER TABLE APP.ORDERS MOVE TABLESPACE FAST"
    assert (refused(of, sql, "NOBODY"), refused(of, sql, "LOOKER")) == (942, 1031)
    run(of, sql, "APP")


def test_blocking_ddl_gives_up_at_once() -> None:
    """ORA-00054 while a transaction is open, and with DDL_LOCK_TIMEOUT after that time."""
    of = database()
    writer = session(of, "APP")
    writer.execute("LOCK TABLE ORDERS IN ROW EXCLUSIVE MODE", [], 1)
    sql = "ALTER TABLE APP.ORDERS MOVE TABLESPACE FAST"
    assert refused(of, sql) == 54
    mover = session(of)
    mover.execute("ALTER SESSION SET DDL_LOCK_TIMEOUT = 30", [], 1)

    def end() -> None:
        _until(lambda: mover.blocked_by == writer.session_id)
        writer.commit()

    thread = _in_background(end)
    mover.execute(sql, [], 1)
    thread.join()
    assert of.tables["APP", "ORDERS"].segments[0].tablespace == "FAST"


def _in_background(work: Callable[[], None]) -> threading.Thread:
    thread = threading.Thread(target=work)
    thread.start()
    return thread


def _until(true: Callable[[], bool]) -> None:
    until = time.monotonic() + 10
    while not true():
        assert time.monotonic() < until
        time.sleep(0.005)


def test_online_ddl_waits_for_every_transaction() -> None:
    """It ignores DDL_LOCK_TIMEOUT, shows whom it waits for, and a cancel ends it with ORA-01013."""
    of = database()
    writer, mover = session(of, "APP"), session(of)
    writer.execute("LOCK TABLE ORDERS IN ROW EXCLUSIVE MODE", [], 1)
    numbers: list[int] = []

    def move() -> None:
        with pytest.raises(OracleError) as caught:
            mover.execute("ALTER TABLE APP.ORDERS MOVE ONLINE TABLESPACE FAST", [], 1)
        numbers.append(caught.value.number)

    thread = _in_background(move)
    _until(lambda: mover.blocked_by == writer.session_id)
    mover.cancel()
    thread.join()
    assert numbers == [1013]
    assert of.tables["APP", "ORDERS"].segments[0].tablespace == "SLOW"


def test_a_copy_shows_its_progress_and_its_room() -> None:
    """While it copies, a long operation and the new segment's room are visible; a cancel gives the room back."""
    of = database()
    of.seconds_per_gb = 10_000.0
    mover = session(of)

    def move() -> None:
        with pytest.raises(OracleError, match="ORA-01013"):
            mover.execute("ALTER TABLE APP.ORDERS MOVE TABLESPACE FAST", [], 1)

    thread = _in_background(move)
    _until(lambda: bool(of.long_operations))
    assert of.used_bytes("FAST") == 8 * MB
    assert of.long_operations[0].total_blocks == 1024
    mover.cancel()
    thread.join()
    assert (of.used_bytes("FAST"), of.table_locks) == (0, {})


def test_a_moved_segment_counts_anew_and_its_old_entry_lingers() -> None:
    """Same OBJ#, new DATAOBJ#: the old row keeps its reads, the new one has only what the copy wrote."""
    of = database()
    segment = of.tables["APP", "ORDERS"].segments[0]
    of.read_randomly(segment, 500)
    run(of, "ALTER TABLE APP.ORDERS MOVE TABLESPACE FAST")
    sql = (
        f"SELECT dataobj#, value FROM v$segstat WHERE obj# = {segment.object_id} "
        "AND statistic_name = 'physical reads' ORDER BY 1"
    )
    rows = [tuple(row) for row in session(of).execute(sql, [], 1).rows]
    assert rows == [(segment.object_id, 500 + 1024), (segment.data_object_id, 0)]


def test_a_data_file_moves_without_its_segments_changing() -> None:
    """Only the path changes: tablespace, DATA_OBJECT_ID and counters stay."""
    of = database()
    before = [(s.tablespace, s.data_object_id) for s in of.segments()]
    run(of, "ALTER DATABASE MOVE DATAFILE '/hdd/slow01.dbf' TO '/ssd/slow01.dbf'")
    assert of.tablespaces["SLOW"].files[0].path == "/ssd/slow01.dbf"
    assert [(s.tablespace, s.data_object_id) for s in of.segments()] == before


def test_a_user_lock_ends_with_its_session() -> None:
    """DBMS_LOCK.REQUEST is granted once; another session gets it after the first is gone."""
    of = database()
    take = (
        "DECLARE a INTEGER; BEGIN a := SYS.DBMS_LOCK.REQUEST(id => 9, lockmode => 6, timeout => 0); "
        "IF a NOT IN (0, 4) THEN RAISE_APPLICATION_ERROR(-20054, 'held'); END IF; END;"
    )
    of.users["MOVER"].grants.add(("EXECUTE", "SYS.DBMS_LOCK"))
    first, second = session(of), session(of)
    first.execute(take, [], 1)
    first.execute(take, [], 1)
    with pytest.raises(OracleError, match="ORA-20054: held"):
        second.execute(take, [], 1)
    first.close(orderly=False)
    second.execute(take, [], 1)


def test_a_read_only_transaction_refuses_to_write() -> None:
    """ORA-01456 until it ends."""
    of = database()
    reader = session(of, "APP")
    reader.execute("SET TRANSACTION READ ONLY", [], 1)
    with pytest.raises(OracleError, match="ORA-01456"):
        reader.execute("LOCK TABLE ORDERS IN EXCLUSIVE MODE", [], 1)
    reader.rollback()
    reader.execute("LOCK TABLE ORDERS IN EXCLUSIVE MODE", [], 1)


def test_an_overflow_segment_moves_when_it_is_named() -> None:
    """A plain move leaves it; OVERFLOW TABLESPACE takes it along."""
    of = database()
    iot = of.add_table("APP", "IOT", "SLOW", MB, iot=True)
    of.add_overflow(iot, "SLOW", MB)
    run(of, "ALTER TABLE APP.IOT MOVE TABLESPACE FAST")
    assert homes(iot) == {"INDEX": "FAST", "TABLE": "SLOW"}
    run(of, "ALTER TABLE APP.IOT MOVE TABLESPACE FAST OVERFLOW TABLESPACE FAST")
    assert homes(iot) == {"INDEX": "FAST", "TABLE": "FAST"}


def test_a_composite_table_moves_by_subpartition() -> None:
    """MOVE PARTITION is refused there; the local index follows by its own subpartition."""
    of = database()
    table = of.add_composite("APP", "COMPOSITE", "SLOW", MB, ("P1", "P2"))
    index = of.add_index(table, "COMPOSITE_IX", "SLOW", MB, local=True)
    assert refused(of, "ALTER TABLE APP.COMPOSITE MOVE PARTITION P1 TABLESPACE FAST") == 14257
    run(of, "ALTER TABLE APP.COMPOSITE MOVE SUBPARTITION P1_S2 TABLESPACE FAST")
    assert [segment.tablespace for segment in table.segments] == ["SLOW", "FAST", "SLOW", "SLOW"]
    assert index.unusable == {"P1_S2"}
    run(of, "ALTER INDEX APP.COMPOSITE_IX REBUILD SUBPARTITION P1_S2 TABLESPACE FAST")
    assert (index.unusable, index.segments[1].tablespace) == (set(), "FAST")
