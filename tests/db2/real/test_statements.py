"""Counters of single statements (emulated server): the package cache of all members, over IBM's real driver."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from connectors.kit.contract import PrivilegeMissing
from connectors.kit.findings import Severity
from connectors.kit.statements import ReadsStatements
from tests.db2.conftest import Connect
from tests.labs.db2.client import Db2, running_db2
from tests.labs.db2.conftest import connect as connect_driver
from tests.labs.db2.conftest import end, rows
from tests.labs.db2.server import BLIND

pytestmark = [pytest.mark.db2, pytest.mark.xdist_group("db2")]
LOOK = "SELECT * FROM APP.ORDERS WHERE ID = 17 AND NAME = 'Mrs Robinson'"
ONCE = {
    "NUM_EXECUTIONS": 100, "STMT_EXEC_TIME": 1_605, "POOL_READ_TIME": 1_500, "PREFETCH_WAIT_TIME": 60,
    "DIRECT_READ_TIME": 40, "POOL_DATA_P_READS": 150, "POOL_INDEX_P_READS": 50,
}  # fmt: skip


@pytest.fixture(scope="module")
def server() -> Iterator[Db2]:
    """One for all."""
    with running_db2("11.5") as running:
        yield running


@pytest.fixture
def db2(server: Db2) -> Iterator[Db2]:
    """Of two members, which have both executed the statement; afterwards neither knows it."""
    server.lab.behave(members=2)
    for member in (0, 1):
        server.lab.run(LOOK, ONCE, member)
    yield server
    server.lab.evict()
    server.lab.behave(members=1)


def figures(connector: Any) -> tuple[float, ...]:
    """Of the one look-up: executions, seconds, wait, reads."""
    found = connector.read_statements(1000)
    texts = connector.statement_texts(found.ids)
    (row,) = [at for at, id_ in enumerate(found.ids) if texts.get(id_, "").startswith("SELECT * FROM APP")]
    return tuple(float(each[row]) for each in (found.executions, found.seconds, found.read_wait, found.reads))


def test_emulated_server_rule_16_what_a_statement_took(db2: Db2, connect: Connect) -> None:
    """Two sections of one statement are one; waits are those for pages, for prefetchers and for direct reads."""
    connector = connect()
    assert isinstance(connector, ReadsStatements)
    assert figures(connector) == pytest.approx((200, 3.21, 3.2, 400))
    db2.lab.run(LOOK, {"NUM_EXECUTIONS": 100, "STMT_EXEC_TIME": 45}, 1)
    assert figures(connector) == pytest.approx((300, 3.255, 3.2, 400))


def test_emulated_server_rule_16_no_text_holds_what_a_user_entered(connect: Connect) -> None:
    """Literals are part of Db2's texts, and gone from ours."""
    connector = connect()
    texts = connector.statement_texts([*connector.read_statements(1000).ids, "4711"])
    assert list(texts.values()) == ["SELECT * FROM APP.ORDERS WHERE ID = ? AND NAME = ?"]


def test_emulated_server_rule_16_a_login_without_the_grant(db2: Db2, connect: Connect) -> None:
    """The doctor gives the GRANT, as something worth knowing; executed as it stands, it is enough."""
    connector = connect(BLIND)
    with pytest.raises(PrivilegeMissing):
        connector.read_statements(10)
    (finding,) = [each for each in connector.doctor() if each.code == "statements_unseen"]
    assert finding.severity is Severity.INFO
    administrator = connect_driver(db2)
    rows(administrator, finding.remedy.partition(";")[0])
    end(administrator)
    assert connect(BLIND).read_statements(10).executions.sum() == 200
