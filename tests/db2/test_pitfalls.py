"""Pitfalls of Db2 that need no server, each with its number; that none is left without a test."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent.model.clock import SystemClock
from connectors.db2.doctor import pools_of, storage_findings
from connectors.db2.engine import connect
from connectors.db2.errors import cannot_connect, diagnose
from connectors.db2.sampler import column_names
from connectors.db2.sessions import query
from connectors.db2.sizes import CopyRoom
from connectors.db2.space_move import Instance, space_route
from connectors.db2.table_move import table_route
from connectors.kit.contract import CannotConnect, DriverMissing
from connectors.kit.registry import install_command
from connectors.model.moves import NoRoute, Route
from tests.db2.facts import FAST_SPACE, SETTINGS, SPACE, STORAGE, TABLE, bundle, space
from tests.db2.test_columns import KNOWN, NAMES

HERE = Path(__file__).parent
EVERY = range(1, 32)


def test_every_pitfall_has_a_test() -> None:
    """All thirty-one are numbers in names of tests here."""
    names = [
        name
        for folder in (HERE, HERE.parent / "labs" / "db2")
        for path in folder.rglob("test_*.py")
        for name in re.findall(r"^def (test_\w+)", path.read_text(encoding="utf-8"), re.MULTILINE)
    ]
    found = {int(number) for name in names for number in re.findall(r"pitfall_(\d\d)", name)}
    assert found == set(EVERY), f"without a test: {sorted(set(EVERY) - found)}"


def test_pitfall_11_the_largest_size_is_read_where_it_limits_room_and_nowhere_else() -> None:
    """Whether TBSP_MAX_SIZE is bytes or pages, sources disagree: see test_storage for what is made of it."""
    assert "TBSP_MAX_SIZE" in KNOWN["catalog"]["MON_GET_TABLESPACE"]
    assert [name for name in NAMES if "TBSP_MAX_SIZE" in query(name).text] == ["space_states"]


class Recorder:
    """A connection that notes what it is told; a statement that begins with FAIL does."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def cursor(self) -> Recorder:
        """Itself."""
        return self

    def execute(self, operation: str, *_: object) -> None:
        """Note it."""
        import ibm_db_dbi

        self.told.append(operation.split()[0])
        if operation.startswith("FAIL"):
            raise ibm_db_dbi.Error("SQL0911N SQLCODE=-911")

    def fetchmany(self, _: int) -> list[Any]:
        """No rows."""
        return []

    def commit(self) -> None:
        """Note it."""
        self.told.append("commit")

    def rollback(self) -> None:
        """Note it."""
        self.told.append("rollback")

    def close(self) -> None:
        """Of a cursor."""


def test_pitfall_13_a_statement_ends_with_its_commit() -> None:
    """Autocommit is off where something changes: without COMMIT nothing would begin; what failed is rolled back."""
    pytest.importorskip("ibm_db_dbi", reason="no IBM driver here: make setup")
    from connectors.db2.sessions import DriverError, send_once

    well: Any = Recorder()
    send_once(well, 'ALTER TABLESPACE "TS" REBALANCE')
    assert well.told == ["SELECT", "ALTER", "commit"]
    ill: Any = Recorder()
    with pytest.raises(DriverError):
        send_once(ill, "FAIL")
    assert ill.told == ["SELECT", "FAIL", "rollback"]


def test_pitfall_13_static_packages_are_listed() -> None:
    """They keep their old plans until somebody binds them again: the route holds the query that lists them."""
    route = space_route(STORAGE, SPACE, bundle(space="SLOW"), "FAST", SETTINGS, Instance())
    assert isinstance(route, Route)
    assert any("REBIND" in note and note.endswith("B.TBSPACE = 'TS_SLOW'") for note in route.notes)


def test_pitfall_24_hints_are_shown_as_what_they_are() -> None:
    """OVERHEAD was typed in by somebody: shown as such, never a tier; after a move the old one is to go."""
    finding = next(f for f in storage_findings(STORAGE) if f.code == "storage_group")
    assert "typed in, not measured" in finding.remedy
    slow = space(overhead=12.5, transfer_rate=0.1)
    route = space_route(STORAGE, slow, bundle(space="SLOW"), "FAST", SETTINGS, Instance())
    assert isinstance(route, Route)
    assert any("OVERHEAD INHERIT TRANSFERRATE INHERIT" in note for note in route.notes)
    inherits = space_route(STORAGE, SPACE, bundle(space="SLOW"), "FAST", SETTINGS, Instance())
    assert isinstance(inherits, Route)
    assert not any("INHERIT" in note for note in inherits.notes)


def test_pitfall_25_a_group_of_nodes_is_no_storage_group() -> None:
    """NGNAME is never read, SGNAME is; an index is placed by TBSPACEID, for SYSCAT.INDEXES has no TBSPACE."""
    assert not [name for name in NAMES if re.search(r"\bNGNAME\b", query(name).text)]
    assert "SGNAME" in column_names("spaces")
    assert "TBSPACEID" in column_names("indexes")
    assert "TBSPACE" not in column_names("indexes")


@pytest.mark.parametrize("module", ["ibm_db_dbi", "ibm_db"])
def test_pitfall_31_no_wheel_is_said(module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """On Linux for ARM64 and on Alpine there is no driver: said with what to do, and only when Db2 is asked for."""
    pytest.importorskip("ibm_db_dbi", reason="no IBM driver here: make setup")
    monkeypatch.delitem(sys.modules, "ibm_db_dbi", raising=False)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(DriverMissing) as caught:
        connect(SETTINGS, SystemClock())
    assert "ARM64 or Alpine" in caught.value.advice
    assert install_command("db2") in caught.value.advice


def test_pitfall_31_a_missing_licence_is_said() -> None:
    """SQL1598N is not a wrong host: Db2 for z/OS or i was reached, which wants a licence of its own."""
    error = cannot_connect(diagnose("SQL1598N x SQLSTATE=42968 SQLCODE=-1598"), "u@h:1/D")
    assert type(error) is CannotConnect
    assert "licence" in error.advice


def test_a_small_log_is_a_note_and_a_full_protocol_a_reason() -> None:
    """440,000 bytes of log into 300,000: said. No room in SYSTOOLSPACE: no route."""
    tight = table_route(TABLE, bundle(), SPACE, FAST_SPACE, SETTINGS, CopyRoom(log_bytes=300_000, tools_bytes=2**21))
    assert isinstance(tight, Route)
    assert any("raise LOGSECOND" in note for note in tight.notes)
    wide = table_route(TABLE, bundle(), SPACE, FAST_SPACE, SETTINGS, CopyRoom(log_bytes=500_000))
    assert isinstance(wide, Route)
    assert not any("LOGSECOND" in note for note in wide.notes)
    full = table_route(TABLE, bundle(), SPACE, FAST_SPACE, SETTINGS, CopyRoom(tools_bytes=1000))
    assert isinstance(full, NoRoute)
    assert full.code == "no_room_for_protocol"


def test_a_partition_has_no_statement_that_moves_it() -> None:
    """One partition by itself goes by hand (``test_partitions_by_hand.py``): no procedure takes it."""
    parted = replace(TABLE, partitions=2, space="")
    found = table_route(parted, bundle("APP.ORDERS partition P1"), SPACE, FAST_SPACE, SETTINGS)
    assert isinstance(found, NoRoute)
    assert found.code == "partitioned"
    assert found.sentence == "APP.ORDERS is partitioned: one partition moves with its table space"


def pool(member: int, **values: int) -> tuple[object, ...]:
    """A row of buffer_pools."""
    return tuple({"BP_NAME": "BP", "MEMBER": member, **values}.get(name, 0) for name in column_names("buffer_pools"))


def test_buffer_pools_by_hand() -> None:
    """Members summed: 300 of 400 found here, of 50 in the group pool 10 from disk, 40 of 200 for nothing."""
    one = pool(0, POOL_DATA_L_READS=300, POOL_DATA_LBP_PAGES_FOUND=250, POOL_ASYNC_DATA_LBP_PAGES_FOUND=10)
    two = pool(
        1, POOL_INDEX_L_READS=100, POOL_INDEX_LBP_PAGES_FOUND=60, POOL_DATA_GBP_L_READS=50, POOL_DATA_GBP_P_READS=10,
        POOL_ASYNC_DATA_READS=200, UNREAD_PREFETCH_PAGES=40, BP_CUR_BUFFSZ=1000,
    )  # fmt: skip
    (found,) = pools_of([one, two])
    assert [found.hits, found.group_hits] == pytest.approx([0.75, 0.8])
    assert (found.pages, found.ahead, found.unread) == (1000, 200, 40)
