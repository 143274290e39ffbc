"""Statements that the connector generates, read by a T-SQL parser that is neither the connector's nor the lab's.

sqlfluff 4.5 reads CREATE INDEX and partition schemes and functions; it does not know CREATE COLUMNSTORE
INDEX ... WITH, DROP INDEX ... MOVE TO, DROP PARTITION and names with ]], which only the lab's own parser has read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlfluff.core import Linter

from connectors.kit.contract import Connector
from connectors.model.moves import Route
from tests.contract.asking import bundle_of
from tests.labs.sqlserver.harness import SqlserverHarness
from tests.labs.sqlserver.lab import Lab
from tests.labs.sqlserver.world import FAST, MOVER, SLOW, add_scheme, add_table
from tests.labs.tds.certificate import make_certificate, tls_context
from tests.labs.tds.drivers import drivers
from tests.labs.tds.login import Encryption
from tests.labs.tds.server import running_server

LINTER = Linter(dialect="tsql")
KNOWN = re.compile(r"CREATE (UNIQUE )?(CLUSTERED |NONCLUSTERED )?INDEX|CREATE PARTITION (SCHEME|FUNCTION)")
BREAKS = (
    (" WITH (", " WITH ", 1),
    (" ON [dbo]", " [dbo]", 1),
    ("DROP_EXISTING = ON", "DROP_EXISTING = = ON", 1),
    (" AS PARTITION ", " PARTITION ", 1),
    (" FOR VALUES ", " VALUES ", 1),
)


def accepted(sql: str) -> bool:
    """Whether sqlfluff reads all of it as T-SQL."""
    parsed = LINTER.parse_string(sql + "\n")
    tree = parsed.tree
    return not parsed.violations and tree is not None and "unparsable" not in tree.type_set()


def twins(sql: str) -> list[str]:
    """The same statement, broken in one place each."""
    return [sql.replace(right, wrong, times) for right, wrong, times in BREAKS if right in sql]


@pytest.fixture
def connector(lab: Lab, tmp_path: Path) -> Iterator[Connector]:
    """Over whichever driver there is."""
    driver = next((d for d in drivers() if not d.missing), None)
    if driver is None:
        pytest.skip(" and ".join(d.missing for d in drivers()))
    tls = tls_context(make_certificate(tmp_path))
    with running_server(lab.server._backend, encryption=Encryption.FULL, tls=tls) as server:
        encrypted = Lab(lab.instance, lab.shop, server)
        harness = SqlserverHarness(encrypted, driver, tmp_path)
        connected = harness._connector(harness.settings(MOVER))
        yield connected
        connected.close()


def generated(lab: Lab, connector: Connector) -> list[str]:
    """Every statement of every route of a table with large objects, a filtered index, a heap and a partition."""
    add_scheme(lab.shop, "by year", [1, 2], [SLOW, SLOW, SLOW])
    table = add_table(lab.shop, "two words", lob_pages=10, pages=10)
    index = table.indexes[2]
    index.where, index.included, index.keys = "([id]>(1))", ("filler",), (("id", True),)
    index.options.fill_factor, index.options.ignore_dup_key = 70, True
    add_table(lab.shop, "pile", heap=True, pages=10)
    add_table(lab.shop, "facts", space="by year", column="id", pages=10)
    catalog = connector.catalog()
    routes: list[Route] = []
    for key in catalog.units.key:
        found = connector.routes(bundle_of(catalog, key), FAST)
        routes += found if isinstance(found, tuple) else ()
    steps = [step for route in routes for step in (*route.steps, *route.undo_steps, *route.tidy_steps)]
    return list({_shape(step.sql): step.sql for step in steps}.values())


def _shape(sql: str) -> str:
    """The statement without its tag, numbers of moves and filegroups: one of each shape is enough."""
    return re.sub(r"/\*.*?\*/ |hotplace_\w+|\[(hdd|ssd)\]", "", sql)


def test_another_parser_reads_what_is_generated(lab: Lab, connector: Connector) -> None:
    """Each statement of a kind that the parser knows is accepted, and each broken twin of it is rejected."""
    known = [sql for sql in generated(lab, connector) if KNOWN.search(sql)]
    kinds = {match[0] for sql in known if (match := KNOWN.search(sql))}
    assert kinds == {
        "CREATE UNIQUE CLUSTERED INDEX",
        "CREATE NONCLUSTERED INDEX",
        "CREATE CLUSTERED INDEX",
        "CREATE PARTITION SCHEME",
        "CREATE PARTITION FUNCTION",
    }
    for sql in known:
        assert accepted(sql), sql
        assert twins(sql), sql
        assert not [twin for twin in twins(sql) if accepted(twin)], sql
