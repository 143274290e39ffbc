"""Statements of the connector, read by two parsers of Oracle's DDL that others have made (Debezium, ShardingSphere).

``python -m tests.components`` brings the parsers; without Maven and a JDK these tests skip.
A statement is good when either parser accepts it; its broken twins must be rejected by both.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from connectors.kit.clients import SQLPLUS
from connectors.kit.rolling import Range
from connectors.kit.templates import StatementTemplate
from connectors.model.moves import Border, Bundle, ByHand, NoRoute, Route
from connectors.oracle import file_moves, manual_scripts, partitions
from connectors.oracle.catalog import DataFile
from connectors.oracle.connector import OracleConnector
from connectors.oracle.names import quote
from connectors.oracle.partitions import DATE, PartitionedTable
from connectors.oracle.routes import routes_of
from tests.components import ORACLE_GRAMMARS
from tests.contract.asking import bundle_of
from tests.labs import clients
from tests.labs.oracle.harness import OWNER, OracleHarness, running_harness
from tests.labs.oracle.model import Quirks
from tests.oracle import made
from tests.unit.test_clients import file_of

pytestmark = [
    pytest.mark.skipif(shutil.which("javac") is None, reason="needs a JDK"),
    pytest.mark.skipif(not ORACLE_GRAMMARS.exists(), reason="no parsers, see tests/components.py"),
    pytest.mark.xdist_group("oracle grammars"),  # one start of the parsers for all
]
SHORT_LIVED = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")  # the best compiler takes longer than it saves
MB = 2**20
HERE = Path(__file__).parent / "grammars"
SITES = {
    "11.2 EE": ((11, 2, 0, 4), Quirks()),
    "12.1 SE2": ((12, 1, 0, 2), Quirks(edition="SE2")),
    "12.1 EE": ((12, 1, 0, 2), Quirks()),
    "19 EE": ((19, 22, 0), Quirks()),
}


@pytest.fixture(scope="module")
def checker(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The command that reads statements and says what the parsers think."""
    classes = tmp_path_factory.mktemp("classes")
    path = f"{ORACLE_GRAMMARS}/*"
    subprocess.run(
        ["javac", "-cp", path, "-d", str(classes), str(HERE / "Check.java")],
        check=True,
        timeout=120,
        capture_output=True,
    )
    return ["java", *SHORT_LIVED, "-cp", f"{classes}:{path}", "Check"]


@pytest.fixture(scope="module")
def accepted(checker: list[str], statements: list[str]) -> dict[str, bool]:
    """Whether either parser accepts each statement and each of its broken twins; one start of them for all."""
    return _ask(checker, [*statements, *(twin for statement in statements for twin in twins(statement))])


def _ask(checker: list[str], texts: list[str]) -> dict[str, bool]:
    asked = list(dict.fromkeys(texts))
    lines = "".join(" ".join(each.split()) + "\n" for each in asked)
    done = subprocess.run(checker, input=lines, capture_output=True, text=True, timeout=240, check=True)
    return dict(zip(asked, ("yes" in line for line in done.stdout.splitlines()), strict=True))


@pytest.fixture(scope="module")
def statements() -> list[str]:
    """Statements of every route of every unit, there and back, on each emulated server; one of each form."""
    shapes: dict[str, str] = {}
    for name, (version, quirks) in SITES.items():
        with running_harness(name, version, quirks) as lab:
            _furnish(lab)
            for how in ({}, {"parallel": 4}, {"move_by": "tablespace"}):
                connector = lab.connector(**how)
                for statement in _statements(connector, "/ssd/oradata" if "move_by" in how else "FAST"):
                    shapes[re.sub(r'/\*.*?\*/|"[^"]*"|\d+', "", statement)] = statement
                connector.close()
    shapes["split"] = _split()
    shapes["next"] = _next()
    return [shapes[shape] for shape in sorted(shapes)]


def _furnish(lab: OracleHarness) -> None:
    """One of each kind that can move, with names that need their quotes."""
    of = lab.database
    plain = of.add_table(OWNER, "PLAIN", "SLOW", MB)
    of.add_index(plain, "PLAIN_PK", "SLOW", MB)
    lobs = of.add_table(OWNER, "with LOB", "SLOW", MB)
    of.add_index(lobs, "with LOB pk", "SLOW", MB)
    of.add_lob(lobs, "the doc", "SLOW", MB)
    parts = of.add_table(OWNER, "PARTS", "SLOW", MB, partitions=("P1", "P2"))
    of.add_index(parts, "PARTS_LOCAL", "SLOW", MB, local=True)
    of.add_index(parts, "PARTS_GLOBAL", "SLOW", MB)
    both = of.add_table(OWNER, "PARTS_LOB", "SLOW", MB, partitions=("P1",))
    of.add_lob(both, "DOC", "SLOW", MB)
    composite = of.add_composite(OWNER, "COMPOSITE", "SLOW", MB, ("P1",))
    of.add_index(composite, "COMPOSITE_IX", "SLOW", MB, local=True)
    of.add_overflow(of.add_table(OWNER, "IOT", "SLOW", MB, iot=True), "SLOW", MB)


def _split() -> str:
    """The parts that a person splits a table into, in CREATE TABLE.

    Both parsers are older than MODIFY PARTITION BY: they refuse the manual's own example of it.
    """
    border = Border(column="MADE AT", value="2030-02-01")
    found = manual_scripts.by_hand(made.facts(), made.bundle(), border, "FAST", made.server())
    assert isinstance(found, ByHand)
    clause = found.statements[-1].partition(" MODIFY ")[2].partition(" ONLINE UPDATE INDEXES")[0]
    return f'CREATE TABLE "APP"."ORDERS" ("MADE AT" DATE) {clause}'


def _next() -> str:
    """What makes the next partition of a table."""
    days = [datetime(2026, 2, number, tzinfo=UTC) for number in (1, 2, 3)]
    common: dict[str, Any] = {"id": 1, "schema": "APP", "space": "FAST", "size_bytes": 1}
    ranges = tuple(
        Range(name=f"P_{low:%Y_%m_%d}", key=f"APP.LOG PARTITION P_{low:%Y_%m_%d}", low=low, high=high, **common)
        for low, high in pairwise(days)
    )
    table = PartitionedTable(
        key="APP.LOG", schema="APP", name="LOG", time_format="%F %T", ranges=ranges, why_not="", why_no_more="",
        bound=DATE, elsewhere=(),
    )  # fmt: skip
    found = partitions.next_template(table, "FAST", 86400, made.SETTINGS)
    assert isinstance(found, StatementTemplate), found
    (route,) = partitions.next_routes(table, found, days[1], made.SETTINGS)
    return route.steps[0].sql


def _bundles(connector: OracleConnector) -> Iterator[Bundle]:
    catalog = connector.catalog()
    seen: set[int] = set()
    for row, key in enumerate(catalog.units.key):
        if int(catalog.units.bundle[row]) not in seen:
            seen.add(int(catalog.units.bundle[row]))
            yield bundle_of(catalog, key)


def _statements(connector: OracleConnector, target: str) -> Iterator[str]:
    for bundle in _bundles(connector):
        found = connector.routes(bundle, target)
        for route in () if isinstance(found, NoRoute) else found:
            yield from route.prologue
            yield from (step.sql for step in (*route.steps, *route.undo_steps, *route.tidy_steps))
            yield from _written(route)


def _written(route: Route) -> Iterator[str]:
    """What is written down for a person, statement by statement."""
    for note in route.notes:
        _, marked, plan = note.partition("watched by a person: ")
        if marked:
            plan = plan.partition("; after any error")[0]
            yield from re.findall(r"(?:DECLARE|BEGIN) .*?END;|(?:CREATE|DROP) [^;]*", plan)


def twins(statement: str) -> list[str]:
    """The statement with something wrong: a name missing, a word too many, a keyword misspelt."""
    if statement.lstrip().startswith("ALTER SESSION"):
        return [statement.replace("SESSION", "SESSION SESSION")]
    broken = [re.sub(r'TABLESPACE "[^"]*"', "TABLESPACE ,", statement, count=1), statement + " , NOW"]
    for word in ("MOVE", "REBUILD", "PARTITION", "INDEXES", "STORE", "ONLINE", "DATAFILE", "NOPARALLEL", "BEGIN"):
        broken += [re.sub(rf"\b{word}\b", f"{word} , {word}", statement, count=1)]
        broken += [re.sub(rf"\b{word}\b", f"{word}X", statement, count=1)]
    return [twin for twin in broken if twin != statement]


def test_every_statement_is_one(accepted: dict[str, bool], statements: list[str]) -> None:
    """Emulated server: whatever a route would send, somebody else's parser knows it."""
    assert len(statements) >= 8
    assert [statement for statement in statements if not accepted[statement]] == []


def test_broken_twins_are_rejected(accepted: dict[str, bool], statements: list[str]) -> None:
    """The parsers do notice: a statement with one thing wrong is accepted by neither."""
    broken = {twin for statement in statements for twin in twins(statement)} - set(statements)
    assert len(broken) > len(statements)
    assert [twin for twin in sorted(broken) if accepted[twin]] == []


def _files_of_names(name: str) -> Iterator[str]:
    """Files for SQL*Plus in which all bears that name: a table with its index, and the files of a tablespace."""
    slow, fast = f"{name} slow", f"{name} fast"
    own = {"owner": name, "name": name}
    facts = made.facts(
        lead=made.entry(**own, space=slow), table_owner=name, table=name,
        spaces={each: made.space(each) for each in (slow, fast)},
        indexes=(made.index(owner=name, name=f"{name} pk", space=slow),),
    )  # fmt: skip
    key = f"{quote(name)}.{quote(name)}"
    for number in ((11, 2), (19, 0)):
        found = routes_of(facts, made.bundle(key), fast, made.server(number=number), made.SETTINGS)
        assert not isinstance(found, NoRoute), found
        yield from (file_of(route, SQLPLUS) for route in found)
    files = [DataFile(7, slow, f"/hdd/{name}.dbf", MB, "ONLINE", "ONLINE")]
    moved = file_moves.routes_of(files, made.bundle(key), "/ssd", ("/ssd",), made.server(), made.SETTINGS)
    assert not isinstance(moved, NoRoute), moved
    yield from (file_of(route, SQLPLUS) for route in moved)


def test_every_statement_of_a_file_is_one(checker: list[str]) -> None:
    """What SQL*Plus makes of a file by hand, whatever its names hold, is a statement; with a word more it is none."""
    sent = [sql for name in clients.NAMES for text in _files_of_names(name) for sql in clients.sqlplus(text)]
    assert len(sent) > 5 * len(clients.NAMES)
    found = _ask(checker, [*sent, *(f"{sql} , NOW" for sql in sent)])
    assert [sql for sql in sent if not found[sql]] == []
    assert [sql for sql in sent if found[f"{sql} , NOW"]] == []
