"""No query finds an object of another user: names are qualified, functions the server's; over an emulated server."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from connectors import db2 as package
from tests.contract.asking import bundle_of, run
from tests.db2.conftest import Connect
from tests.labs.db2.client import Db2, running_db2
from tests.over import over

QUERIES = sorted(
    path for path in Path(package.__file__).parent.rglob("*.sql") if {"cases", "scripts"}.isdisjoint(path.parts)
)
SOURCE = re.compile(r"\b(?:FROM|JOIN|LOCK TABLE)\s+(?!TABLE\b|\()([\w.\"{}]+)", re.IGNORECASE)
pytestmark = [pytest.mark.db2, pytest.mark.xdist_group("db2")]
OF_THE_SERVER = frozenset({"SYSCAT", "SYSIBM", "SYSIBMADM", "SYSPROC", "SYSTOOLS", "SYSSTAT", "QSYS2", "HOTPLACE"})


@over("path", QUERIES)
def test_every_table_is_named_with_its_schema(path: Path) -> None:
    """One of the server, or that of the lease: CURRENT SCHEMA decides about none."""
    text = "\n".join(line.partition("--")[0] for line in path.read_text().splitlines())
    common = set(re.findall(r"\b(\w+)\s*(?:\([\w, ]*\))?\s+AS\s*\(", text))  # of the query itself
    for name in SOURCE.findall(text):
        assert name in common or name.partition(".")[0] in OF_THE_SERVER or name.startswith("{"), f"{name} in {path}"
    for function in re.findall(r"TABLE\(\s*([\w.]+)\(", text):
        assert function.startswith("SYSPROC."), function


@pytest.fixture
def db2() -> Iterator[Db2]:
    """An emulated server, as new."""
    with running_db2("11.5") as running:
        yield running


def test_functions_of_others_are_never_called(db2: Db2, connect: Connect) -> None:
    """Whoever may make a schema makes one of the agent's name; its functions fit better than the server's."""
    db2.lab.create_table("APP", "ORDERS", "ORDERS_PK", "TS_SLOW", 200)
    db2.lab.behave(hostile_functions=True)
    connector = connect()
    connector.identify()
    connector.capabilities()
    catalog = connector.catalog()
    connector.sample()
    assert connector.doctor()
    (route, *_) = connector.routes(bundle_of(catalog, "APP.ORDERS"), "TS_FAST")
    lease = connector.acquire_lease("one")
    run(connector, route)
    connector.inspect(route)
    lease.release()


def test_each_session_of_ours_has_the_path(db2: Db2, connect: Connect) -> None:
    """The one that is opened in place of a session that was lost, too."""
    db2.lab.behave(hostile_functions=True)
    connector = connect()
    connector.sample()
    connector._session._drop()
    connector.sample()
