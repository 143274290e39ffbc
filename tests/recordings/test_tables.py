"""What a recording may hold is listed column by column, and the list is that of the queries."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.resources import files

import pytest
import sqlglot
from sqlglot import exp

from agent.config.models import DatabaseConfig
from agent.config.tiers import TierConfig
from agent.studies.recordings import FIGURES
from connectors.kit.recorded_columns import Kind, table_of
from connectors.kit.registry import find_engine
from tests.over import over

DIALECTS = {"postgresql": "postgres", "oracle": "oracle", "sqlserver": "tsql", "db2": "postgres"}
UNPARSED = {"oracle": {"probe"}, "postgresql": {"connection", "room", "folder", "processors"}}  # listed, and no query
SECRET = {"password", "wallet_password", "host", "port", "dbname", "database", "user", "service", "dsn", "sslrootcert"}


def queries() -> Iterator[tuple[str, str]]:
    """Every query of every engine; those of Db2 for i and z/OS are not recorded."""
    for engine in DIALECTS:
        folder = files(f"connectors.{engine}") / "sql"
        yield from ((engine, entry.name[:-4]) for entry in folder.iterdir() if entry.name.endswith(".sql"))


def selected(engine: str, name: str) -> list[tuple[str, bool]]:
    """Each column of a query, and whether its name is its own: not that of a function around it."""
    text = (files(f"connectors.{engine}") / "sql" / f"{name}.sql").read_text(encoding="utf-8")
    text = "\n".join(line for line in text.splitlines() if not line.startswith("--"))
    text = re.sub(r"^COPY \((.*)\) TO STDOUT.*", r"\1", text.strip(), flags=re.DOTALL)
    text = re.sub(r"%\(\w+\)s(::bigint\[\]::oid\[\])?|\?", "1", text).replace("%%", "%")
    if engine == "db2":  # its table functions and isolation clause are its own
        text = re.sub(r"\bFROM TABLE\(.*", "FROM T", text).replace("CURRENT SERVER", "CURRENT_SERVER")
        text = text.replace("WITH UR", "").replace("-- since", "--")
    found = sqlglot.parse_one(text, dialect=DIALECTS[engine])
    while isinstance(found, exp.Union):
        found = found.left
    assert isinstance(found, exp.Select), (engine, name)
    return [(each.alias_or_name, isinstance(each, exp.Column | exp.Alias)) for each in found.selects]


@over(("engine", "name"), sorted(queries()))
def test_every_column_of_every_query_is_listed_or_the_query_is_not_recorded(engine: str, name: str) -> None:
    """A column that a query is given slips into no recording: number, order and names are those of the list."""
    table = table_of(engine)
    assert table is not None
    assert (name in table.queries) != (name in table.not_recorded)
    if name in table.not_recorded:
        assert table.not_recorded[name]
        return
    listed = [column.name.lower() for column in table.queries[name]]
    columns = selected(engine, name)
    assert len(listed) == len(columns)
    for have, (own, is_own) in zip(listed, columns, strict=True):
        assert not is_own or have == own.lower()


@pytest.mark.parametrize("engine", DIALECTS)
def test_nothing_is_listed_that_is_no_query(engine: str) -> None:
    """A list outlives no query, and parameters are those of recorded queries."""
    table = table_of(engine)
    assert table is not None
    known = {name for of, name in queries() if of == engine} | UNPARSED.get(engine, set())
    assert table.queries.keys() | table.not_recorded.keys() == known
    assert table.parameters.keys() <= table.queries.keys()


@pytest.mark.parametrize("engine", DIALECTS)
def test_no_setting_that_leads_to_the_server_is_recorded(engine: str) -> None:
    """Hosts, logins, secrets and files of certificates are not among the settings; those that are exist."""
    table = table_of(engine)
    assert table is not None
    fields = find_engine(engine).settings.model_fields
    assert table.settings.keys() <= fields.keys()
    assert not table.settings.keys() & SECRET
    assert find_engine(engine).settings.model_validate(dict(table.stand_ins))


def test_of_the_configuration_only_figures_are_recorded() -> None:
    """What a database's part may hold besides is named here: a new key is not recorded before someone has judged it."""
    keys = {item.alias or name for name, item in DatabaseConfig.model_fields.items()}
    assert keys - FIGURES == {"name", "engine", "connection", "move_connection", "tiers", "pins", "statements"}
    texts = {name for name, item in TierConfig.model_fields.items() if item.annotation in {str, str | None}}
    assert texts == {"name", "kind"}


def test_values_of_user_data_are_never_more_than_there_is_one() -> None:
    """Borders of partitions, predicates of indexes, values of properties and statements have a kind that keeps none."""
    table = table_of("sqlserver")
    assert table is not None
    kinds = {f"{query}.{column.name}": column.kind for query, listed in table.queries.items() for column in listed}
    assert {name for name, kind in kinds.items() if kind is Kind.TEXT} == {
        "boundaries.boundary", "indexes.filter_definition", "index_properties.property_value", "resumable.sql_text",
    }  # fmt: skip
