"""Migrations and tables say the same, and instants are exact."""

from __future__ import annotations

import ast
import re
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from hypothesis import given
from hypothesis import strategies as st

from agent.ledger import migrations
from agent.ledger.file.database import FileDatabase
from agent.ledger.file.opening import prepare_file
from agent.ledger.ledger import Ledger
from agent.ledger.server.roles import TEAMS
from agent.ledger.store.schema import (
    APPLICATION_ID,
    EPOCH,
    HEAD,
    REVISIONS,
    MomentType,
    alembic_version,
    metadata,
    microseconds,
)
from agent.ledger.store.tables import migrate
from tests.ledger.conftest import file_under


def _definitions(connection: sqlite3.Connection) -> dict[str, str]:
    """Name -> DDL of each table and index, white space and quotes evened out; tables' columns in their order."""
    rows = connection.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL")
    return {name: " ".join(sql.replace('"', "").split()) for name, sql in rows if not name.startswith("sqlite_")}


def test_migrations_make_exactly_the_tables_of_a_new_ledger(ledger: Ledger, path: Path) -> None:
    """Made at once or by every migration in turn, a ledger is the same to the letter: columns, types, keys, indexes."""
    other = path.with_name("migrated.db")
    prepare_file(other, create=True)
    with closing(FileDatabase(other)) as database, database.write() as transaction:
        migrate(transaction)
    with closing(sqlite3.connect(other)) as migrated, closing(sqlite3.connect(path)) as made_at_once:
        assert _definitions(migrated) == _definitions(made_at_once)
        versions = f"SELECT version_num FROM {alembic_version.name}"
        assert migrated.execute(versions).fetchall() == made_at_once.execute(versions).fetchall() == [(HEAD,)]


def test_alembic_sees_nothing_left_to_migrate(ledger: Ledger) -> None:
    """Alembic's own comparison agrees."""
    with ledger._database.write() as transaction, transaction.core() as connection:
        context = MigrationContext.configure(connection, opts={"include_name": _is_migrated})
        assert compare_metadata(context, metadata) == []


def _is_migrated(name: str | None, kind: str, _: object) -> bool:
    """Whether migrations make it: weeks come and go, and the script of grants makes the table of teams."""
    return kind != "table" or not str(name).startswith(("history_", "work_", TEAMS))


def test_columns_of_instants_are_read_as_instants() -> None:
    """Whatever is as wide as an instant is one, but for the token of a lease."""
    columns = [column for table in metadata.tables.values() for column in table.columns]
    wide = [column for column in columns if isinstance(column.type, sa.BigInteger | MomentType)]
    assert [column for column in wide if not isinstance(column.type, MomentType)] == [metadata.tables["leases"].c.token]
    assert {column.name for column in wide} >= {"at", "until"} | {
        column.name for column in columns if column.name.endswith("_at")
    }


def test_every_revision_is_named() -> None:
    """The list that tells a newer ledger from an older one is the list of the files."""
    config = Config()
    config.set_main_option("script_location", "agent.ledger:migrations")
    scripts = ScriptDirectory.from_config(config)
    assert tuple(script.revision for script in reversed(list(scripts.walk_revisions()))) == REVISIONS
    assert scripts.get_current_head() == HEAD


def test_migrations_are_frozen() -> None:
    """They import nothing of ours: what is changed in the product changes no ledger that has been."""
    folder = Path(migrations.__file__).parent
    imported = {
        name.partition(".")[0]
        for path in folder.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        for name in _imported(node)
    }
    assert imported == {"__future__", "alembic", "sqlalchemy"}


def _imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.ImportFrom):
        return [f"{'.' * node.level}{node.module or ''}"]
    return [each.name for each in node.names] if isinstance(node, ast.Import) else []


STATEMENT = re.compile(r"\s*(SELECT|INSERT INTO|UPDATE \w+ SET|DELETE FROM|WITH|FROM|WHERE|ORDER BY) ")
IN_WORDS_OF_ITS_OWN = {
    "file/database.py",  # pages of a file whose schema may be what is damaged
    "server/database.py",  # the server's locks and settings, which begin transactions
}  # fmt: skip


def test_statements_are_core_s() -> None:
    """No module has texts of SQL besides what is no statement about the ledger's tables."""
    rooms = Path(migrations.__file__).parent.parent
    found = {
        str(path.relative_to(rooms))
        for path in rooms.rglob("*.py")
        if Path(migrations.__file__).parent not in path.parents
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and STATEMENT.match(node.value)
    }
    assert found == IN_WORDS_OF_ITS_OWN


def test_the_file_says_what_it_is(ledger: Ledger, path: Path) -> None:
    """WAL, foreign keys and our application id are on."""
    assert file_under(ledger).pragma("journal_mode") == "wal"
    assert file_under(ledger).pragma("foreign_keys") == 1
    assert file_under(ledger).pragma("application_id") == APPLICATION_ID


@pytest.mark.parametrize(("durable", "level"), [(True, 2), (False, 1)])
def test_decisions_are_synced_and_samples_are_not(ledger: Ledger, path: Path, durable: bool, level: int) -> None:
    """FULL for what must survive a power cut, NORMAL for samples, on the same pooled connection."""
    for _ in range(2):
        with ledger._database.write(durable=durable) as transaction:
            assert transaction.scalar(sa.text("PRAGMA synchronous")) == level


@given(st.datetimes(min_value=datetime(1960, 1, 1), max_value=datetime(2300, 1, 1)), st.integers(-14, 14))  # noqa: DTZ001  # bounds have no zone
def test_instants_come_back_exactly(naive: datetime, hours: int) -> None:
    """To the microsecond, whatever zone they came in."""
    at = naive.replace(tzinfo=timezone(timedelta(hours=hours)))
    moment, dialect = MomentType(), sa.create_engine("sqlite://").dialect
    number = moment.process_bind_param(at, dialect)
    assert number == microseconds(at)
    assert moment.process_result_value(number, dialect) == at
    assert EPOCH.tzinfo is UTC


def test_a_time_without_zone_is_refused() -> None:
    """Nobody guesses which zone was meant."""
    with pytest.raises(ValueError, match="names no zone"):
        microseconds(datetime(2026, 1, 1))  # noqa: DTZ001  # the very thing that is refused
