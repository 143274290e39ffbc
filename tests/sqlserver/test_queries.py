"""Every query against the documented columns of every version, and what is gated by version."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import sqlglot
from sqlglot import exp
from sqlglot.optimizer.scope import Scope, traverse_scope

from connectors.sqlserver.sessions import NEWEST, query, query_names
from connectors.sqlserver.stored import QUERIES, queries
from tests.over import over

ROOT = Path(__file__).parents[2]
PLACES = (ROOT.parent / "shared" / "catalog" / "sqlserver.json", ROOT / "tests/labs/sqlserver/catalog.json")
DOCUMENTED = next((place for place in PLACES if place.exists()), None)
MAJOR_OF = {"2008": 10, "2012": 11, "2014": 12, "2016": 13, "2017": 14, "2019": 15, "2022": 16, "2025": 17}
SINCE = {
    "resumable": 14,
    "paused_builds": 14,
    "query_store": 14,
    "statements_state": 13,
    "statements": 13,
    "statement_texts": 13,
    "statement_waits": 14,
    "pool_extension": 12,
    "query_profiles": 12,
}  # queries that are asked from this version on; all others from 2012
VERSIONS = (11, 12, 13, 14, 15, 16, 17, NEWEST)
PROCEDURES = frozenset({"lease_take", "lease_release"})  # calls of documented procedures, which read no view
CASES = [
    (name, major) for name in sorted(query_names() - PROCEDURES) for major in VERSIONS if major >= SINCE.get(name, 11)
]


@pytest.fixture(scope="module")
def views() -> dict[str, Any]:
    """Documented views by their name in lower case."""
    if DOCUMENTED is None:
        pytest.skip("the catalog of documented columns is not here: neither ../shared nor the lab's copy")
    # The lab's copy adds what the shared page does not list yet; where both list a view, the shared page counts.
    found: dict[str, Any] = {}
    for place in reversed([each for each in PLACES if each.exists()]):
        found |= json.loads(place.read_text(encoding="utf-8"))["views"]
    return {name.lower(): view for name, view in found.items()}


def columns_of(view: dict[str, Any], major: int) -> set[str]:
    """Those that this version has; one of no stated version is there since the view is."""
    gates = view.get("column_since") or {}
    return {column for column in view["columns"] if since(gates.get(column, "2008")) <= major}


def since(words: str) -> int:
    """The major version in words such as ``2016 SP1+``; never, where there is none."""
    year = re.match(r"(\d{4})", words)
    return MAJOR_OF[year[1]] if year else 1000


def used_columns(text: str) -> list[tuple[str, str]]:
    """Every ``(view, column)`` of a query, each column by the table that its alias stands for."""
    scopes = traverse_scope(sqlglot.parse_one(text.replace("?", "1"), read="tsql"))
    return [(name_of(source_of(scope, column)), column.name) for scope in scopes for column in scope.columns]


def source_of(scope: Scope | None, column: exp.Column) -> exp.Expr:
    """What the alias of a column stands for, in its own query or one around it."""
    while scope is not None:
        if column.table in scope.sources:
            source = scope.sources[column.table]
            return source.expression if isinstance(source, Scope) else source
        scope = scope.parent
    raise AssertionError(f"{column.sql()} is not qualified by a view's alias")


def name_of(source: exp.Expr) -> str:
    """``sys.view``, of a view or of a function that returns a table."""
    found = re.search(r"sys\.\w+", source.sql("tsql"))
    assert found is not None, f"{source.sql('tsql')} is no view of the system"
    return found[0].lower()


@over(("name", "major"), CASES)
def test_every_column_is_documented(views: dict[str, Any], name: str, major: int) -> None:
    """Each column exists in the view it is taken from in that version, and each view in its documentation."""
    for view, column in used_columns(query(name, major)):
        assert view in views, f"{name}: {view} is not documented"
        assert column in columns_of(views[view], major), f"{name}: {view}.{column} in version {major}"


def test_the_check_sees_a_wrong_column(views: dict[str, Any]) -> None:
    """A column that the view does not have, or not yet, would be found."""
    used = used_columns("SELECT i.optimize_for_sequential_key, i.hot FROM sys.indexes AS i")
    assert used == [("sys.indexes", "optimize_for_sequential_key"), ("sys.indexes", "hot")]
    assert "optimize_for_sequential_key" in columns_of(views["sys.indexes"], 15)
    assert "optimize_for_sequential_key" not in columns_of(views["sys.indexes"], 14)
    assert "hot" not in columns_of(views["sys.indexes"], NEWEST)


@over("name", sorted(query_names()))
def test_pitfall_10_no_query_takes_every_column(name: str) -> None:
    """Pitfall 10: columns are appended in any release, so none is taken without its name."""
    assert not re.search(r"SELECT\s+(\w+\.)?\*", query(name))


@over("name", sorted(query_names()))
def test_pitfall_4_ids_that_may_be_null_are_not_looked_up_by_name(name: str) -> None:
    """Pitfall 4: DB_ID('typo') is NULL, which means every database; only DB_ID() is used."""
    text = query(name)
    assert not re.search(r"\bDB_ID\s*\(\s*[^)\s]", text)
    assert "OBJECT_ID(" not in text


def test_pitfall_3_counters_are_asked_once_for_the_whole_database() -> None:
    """Pitfall 3: one call with NULL for object, index and partition, and none for each row."""
    assert "sys.dm_db_index_operational_stats(DB_ID(), NULL, NULL, NULL)" in query("sample")
    assert "APPLY" not in query("sample")


def test_pitfall_7_the_buffer_pool_is_scanned_by_queries_with_a_budget_only() -> None:
    """Pitfall 7: a row for each cached page is too many to look at, so no sample and no catalog does."""
    scanning = sorted(name for name in query_names() if "dm_os_buffer_descriptors" in query(name))
    assert scanning == ["blocks", "residency"]


def test_pitfall_21_the_view_says_last_max_dop_used() -> None:
    """Pitfall 21: the documentation's last_max_dop does not exist."""
    assert not re.search(r"\blast_max_dop\b", query("resumable"))


@pytest.mark.parametrize(("major", "expected"), [(14, "0 AS optimize_for_sequential_key"), (15, "CONVERT(int,")])
def test_gated_columns_are_replaced_before_their_version(major: int, expected: str) -> None:
    """What a version does not have is selected as a constant under the same name, and the query keeps its shape."""
    line = next(line for line in query("indexes", major).splitlines() if "optimize_for_sequential_key" in line)
    assert expected in line
    assert "--@" not in query("indexes", major)


@pytest.mark.parametrize("name", QUERIES)
def test_a_printed_query_says_what_earlier_releases_need(name: str) -> None:
    """By the comments in its lines a person writes the query of 2012, and that of the newest release runs as it is."""
    printed = queries()[name]
    by_comments = re.sub(r"(?m)^( *(?:SELECT )?).+? AS (\w+,?) -- before \d{4}: (.+)$", r"\1\3 AS \2", printed)
    assert by_comments == query(name, 11)
    assert re.sub(r" -- before .*", "", printed) == query(name)


@over("name", sorted(query_names() - PROCEDURES))
def test_every_version_gets_the_same_columns_in_the_same_order(name: str) -> None:
    """Rows have one shape whatever the version, so that they can be taken by position."""
    shapes = {_selected(query(name, major)) for major in VERSIONS}
    assert len(shapes) == 1


def _selected(text: str) -> tuple[str, ...]:
    parsed = sqlglot.parse_one(text.replace("?", "1"), read="tsql")
    assert isinstance(parsed, exp.Query)
    return tuple(parsed.named_selects)


@over("name", sorted(query_names()))
def test_every_query_says_what_it_reads_and_needs(name: str) -> None:
    """The head of each file names its views, its first version, its privilege and its cost."""
    path = ROOT / "connectors/sqlserver/sql" / f"{name}.sql"
    head = " ".join(line for line in path.read_text(encoding="utf-8").splitlines() if line.startswith("--"))
    assert all(word in head for word in ("Reads: ", "Since: ", "Privilege: ", "Cost: "))


@pytest.mark.parametrize(
    ("pitfall", "word"),
    [
        (5, "hit ratio"),  # covers the last few thousand accesses only
        (8, "dm_db_index_usage_stats"),  # counts executions, and forgets at a restart
        (39, "sample_ms"),  # the machine's uptime, which wraps
    ],
)
def test_what_nothing_is_decided_by(pitfall: int, word: str) -> None:
    """Pitfalls 5, 8 and 39: figures that do not say what they seem to say are not asked for."""
    assert not [name for name in query_names() if word.lower() in query(name).lower()], pitfall


def test_pitfall_6_per_second_counters_are_totals() -> None:
    """Pitfall 6: only those of the type that is cumulative are taken, as totals."""
    assert "c.cntr_type = 272696576" in query("counters")
