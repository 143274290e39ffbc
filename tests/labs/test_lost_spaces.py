"""A tablespace whose storage has gone: nothing is proposed to go there, nothing is sent, and people are told."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import psycopg
import pytest
from psycopg import sql
from psycopg.pq import DiagnosticField

from agent.ledger.errors import LedgerFull
from agent.ledger.server.database import ServerDatabase
from connectors.kit.contract import SpaceFull, StatementFailed
from connectors.kit.findings import Severity
from connectors.postgresql import sessions
from connectors.postgresql.connector import PostgresqlConnector
from connectors.postgresql.errors import translate
from tests.contract.asking import route_to, run
from tests.labs.postgresql import Cluster


@pytest.fixture
def folder(cluster: Cluster, dba: psycopg.Connection) -> Iterator[Path]:
    """That of a tablespace of its own, with a table in it."""
    made = cluster.server.make_folder(f"lost_{dba.info.dbname}")
    dba.execute(sql.SQL("CREATE TABLESPACE lost LOCATION {}").format(sql.Literal(str(made))))
    dba.execute("CREATE TABLE held (id int) TABLESPACE lost")
    yield made
    dba.execute("DROP TABLE held")
    dba.execute("DROP TABLESPACE lost")


@contextmanager
def away(folder: Path) -> Iterator[None]:
    """Its file system is not mounted inside: at best an empty folder is there."""
    hidden = folder.with_name(f"{folder.name}_hidden")
    folder.rename(hidden)
    try:
        yield
    finally:
        hidden.rename(folder)


def lost(connector: PostgresqlConnector) -> str:
    """What is known against that space."""
    catalog = connector.catalog()
    spaces = {space.name: space for space in catalog.spaces}
    assert not [space.name for space in spaces.values() if space.lost and space.name != "lost"]
    room = {spaces["lost"].free_bytes, spaces["lost"].capacity_bytes}
    assert not spaces["lost"].lost or room == {None}  # what lies below its folder is no room of it
    return spaces["lost"].lost


@pytest.mark.parametrize("local", [True, False])
@pytest.mark.parametrize("empty", [True, False])
def test_a_folder_that_is_gone_is_told(cluster: Cluster, dbname: str, folder: Path, local: bool, empty: bool) -> None:
    """By the server itself, wherever it runs; with the empty folder on which it was mounted, too."""
    connector = cluster.connector(dbname, local=local)
    try:
        assert not lost(connector)
        assert "space_lost" not in {found.code for found in connector.doctor()}
        with away(folder):
            if empty:
                folder.mkdir()
                folder.chmod(0o755)  # as mount points are, whatever the umask
            assert "folder" in lost(connector)
            (found,) = [each for each in connector.doctor() if each.code == "space_lost"]
            assert found.severity is Severity.ERROR
            if empty:
                folder.rmdir()
        assert not lost(connector)
    finally:
        connector.close()


def test_another_device_or_one_that_can_only_be_read_is_told(
    connector: PostgresqlConnector, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was mounted there is not what is there now."""
    assert not lost(connector)
    monkeypatch.setattr(sessions, "_folder", lambda path: (True, path != str(folder), Path(path).stat().st_dev))
    assert "read-only" in lost(connector)
    other = {str(folder): 1}
    monkeypatch.setattr(sessions, "_folder", lambda path: (True, True, Path(path).stat().st_dev + other.get(path, 0)))
    assert "another device" in lost(connector)
    monkeypatch.undo()
    assert not lost(connector)


@pytest.mark.parametrize("where", ["folder", "version", "database"])
def test_a_folder_that_the_server_may_not_use_hides_no_other(
    connector: PostgresqlConnector, dba: psycopg.Connection, folder: Path, where: str
) -> None:
    """Whichever level of it: the space is told with the system's word, and all others and all objects are read."""
    dba.execute("CREATE TABLE elsewhere AS SELECT generate_series(1, 1000) AS id; ANALYZE elsewhere")
    dba.execute("CREATE TABLE other (id int PRIMARY KEY USING INDEX TABLESPACE lost)")
    before = connector.catalog()
    (version,) = folder.iterdir()
    (database,) = version.iterdir()
    shut, rights = {"folder": (folder, 0), "version": (version, 0o400), "database": (database, 0)}[where]
    was = shut.stat().st_mode
    shut.chmod(rights)
    try:
        assert "ermission denied" in lost(connector)
        catalog = connector.catalog()
        assert catalog.units.key == before.units.key
        assert connector.exact_sizes(catalog.units.physical_id).min() >= 0
        sizes = dict(zip(catalog.units.key, catalog.units.size_bytes.tolist(), strict=True))
        assert sizes["public.elsewhere"] > 0
        (found,) = [each for each in connector.doctor() if each.code == "space_lost"]
        assert found.severity is Severity.ERROR
        with pytest.raises(StatementFailed) as caught:
            run(connector, route_to(connector, "public.elsewhere", "lost"))
        assert "The operating system" in caught.value.advice
    finally:
        shut.chmod(was & 0o7777)
        dba.execute("DROP TABLE other")
    assert not lost(connector)


def test_a_link_that_leads_elsewhere_is_told(
    cluster: Cluster, connector: PostgresqlConnector, dba: psycopg.Connection, folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """The server follows the link in pg_tblspc, and finds a copy of the folder on another device."""
    assert not lost(connector)
    row = dba.execute("SELECT oid FROM pg_tablespace WHERE spcname = 'lost'").fetchone()
    assert row is not None
    link, copy = cluster.server.data / "pg_tblspc" / str(row[0]), folder.with_name(f"{folder.name}_copy")
    shutil.copytree(folder, copy)
    for each in (copy, *copy.rglob("*")):
        cluster.server.own(each)
    device = {str(copy): 1}
    monkeypatch.setattr(sessions, "_folder", lambda path: (True, True, Path(path).stat().st_dev + device.get(path, 0)))
    link.unlink()
    link.symlink_to(copy)
    try:
        assert "another device" in lost(connector)
        assert str(copy) in lost(connector)
    finally:
        link.unlink()
        link.symlink_to(folder)
    assert not lost(connector)


# As 15 and 18 have reported them from a file system with a quota.
OF_QUOTA = {
    "mdextend": 'could not extend file "pg_tblspc/16388/PG_15_202209061/5/16396": Disk quota exceeded',
    "mdcreate": 'could not create file "pg_tblspc/16388/PG_15_202209061/5/16397": Disk quota exceeded',
}


def reported(function: str, text: str) -> psycopg.Error:
    """An internal error that a function of the server has reported."""
    said = {DiagnosticField.SOURCE_FUNCTION: function, DiagnosticField.MESSAGE_PRIMARY: text}
    fields = {DiagnosticField.SQLSTATE: b"XX000", **{field: words.encode() for field, words in said.items()}}
    info: Any = SimpleNamespace(error_field=fields.get)
    return psycopg.errors.InternalError_(text, info=info)


@pytest.mark.parametrize("function", OF_QUOTA)
def test_a_quota_that_is_used_up_is_a_full_space(function: str) -> None:
    """The server has no state for it: nothing else goes there either, and a ledger that cannot grow says so."""
    error = reported(function, OF_QUOTA[function])
    assert type(translate(error, "moving")) is SpaceFull
    ledger = cast(ServerDatabase, SimpleNamespace(name="of the site"))
    assert type(ServerDatabase.translate(ledger, error)) is LedgerFull
    assert type(translate(reported("relation_open", "could not open relation 5"), "moving")) is StatementFailed
