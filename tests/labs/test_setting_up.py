"""``hotplace setup postgresql`` on a real server that asks for passwords."""

from __future__ import annotations

import getpass
import shutil
import stat
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest

from agent.config.files import load
from connectors.postgresql.settings import PostgresqlSettings
from tests.cli.site import Finished, run_here
from tests.labs.postgresql import Cluster

LOGINS = "set up, watches", "set up, moves"

pytestmark = pytest.mark.skipif(shutil.which("psql") is None, reason="there is no psql here")


@pytest.fixture
def asking(cluster: Cluster, dbname: str, cleanup: ExitStack, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    """A server that asks the two logins for passwords, as Debian's does over TCP."""
    rules = cluster.server.data / "pg_hba.conf"
    usual = rules.read_text()
    dba = cleanup.enter_context(cluster.session(dbname))
    dba.execute("CREATE ROLE set_up_owner; CREATE TABLE thing (id int); ALTER TABLE thing OWNER TO set_up_owner")
    rules.write_text("".join(f'local all "{login}" scram-sha-256\n' for login in LOGINS) + usual)
    dba.execute("SELECT pg_reload_conf()")
    monkeypatch.setenv("PGUSER", "postgres")
    yield cluster
    rules.write_text(usual)
    dba.execute("SELECT pg_reload_conf()")
    dba.execute("DROP OWNED BY set_up_owner CASCADE")
    for login in LOGINS:
        if dba.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (login,)).fetchone():
            dba.execute(f'DROP OWNED BY "{login}"; DROP ROLE "{login}"'.encode())
    dba.execute("DROP ROLE set_up_owner")


def set_up(cluster: Cluster, dbname: str, folder: Path, *more: str) -> Finished:
    """The command, for the logins of this module."""
    watcher, mover = LOGINS
    return run_here(
        "setup", "postgresql", dbname, "--host", str(cluster.server.folder), "--fast", "fast", "--slow", "slow",
        "--owner", "set_up_owner", "--login", watcher, "--mover", mover, "--as", getpass.getuser(),
        "--output", str(folder / "hotplace.yaml"), *more,
    )  # fmt: skip


def roles(cluster: Cluster) -> set[str]:
    """Those of the two logins that are there."""
    with cluster.session() as dba:
        found = dba.execute("SELECT rolname FROM pg_roles WHERE rolname = ANY(%s)", (list(LOGINS),)).fetchall()
    return {name for (name,) in found}


def test_one_command_makes_logins_that_get_in(asking: Cluster, dbname: str, tmp_path: Path) -> None:
    """Logins, files that only their owner may read, a short configuration, and doctor is content."""
    done = set_up(asking, dbname, tmp_path, "--run")
    assert done.code == 0, done
    for login in LOGINS:
        assert f"{login} gets in at {asking.server.folder}: password" in done.out
    assert "ready: hotplace run" in done.out
    assert "ownership_missing" not in done.out
    assert {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()} == dict.fromkeys(
        ("hotplace.yaml", "watch.password", "move.password"), 0o600
    )
    path = tmp_path / "hotplace.yaml"
    assert len(path.read_text().splitlines()) <= 25
    for secret in ("watch.password", "move.password"):
        assert (tmp_path / secret).read_text().strip() not in done.out + done.err + path.read_text()
    connection = load(path).database().connection
    assert isinstance(connection, PostgresqlSettings)
    with pytest.raises(psycopg.OperationalError, match="password"):
        psycopg.connect(**{**connection.connect_arguments(), "password": "another"})


def test_a_login_that_is_there_keeps_its_password(asking: Cluster, dbname: str, tmp_path: Path) -> None:
    """All of the script or nothing: no login is made where one exists, and no file is left behind."""
    with asking.session() as dba:
        dba.execute(f'CREATE ROLE "{LOGINS[1]}" LOGIN'.encode())
    refused = set_up(asking, dbname, tmp_path, "--run")
    assert refused.code == 5
    assert "exists already and keeps its password" in refused.err
    assert roles(asking) == {LOGINS[1]}
    assert list(tmp_path.iterdir()) == []
    assert set_up(asking, dbname, tmp_path, "--run", "--force").code == 0, "with --force it gets a new one"


def test_the_printed_script_does_the_same(asking: Cluster, dbname: str, tmp_path: Path) -> None:
    """Without a terminal it is written, with no password in it, next to the command line that runs it."""
    document = set_up(asking, dbname, tmp_path, "--json").document
    script = tmp_path / "setup.sql"
    assert document["doctor"] is None
    assert {login["admission"] for login in document["logins"]} == {"asked"}
    assert roles(asking) == set()
    for secret in ("watch.password", "move.password"):
        assert (tmp_path / secret).read_text().strip() not in script.read_text()
    subprocess.run(document["run_next"], shell=True, check=True, timeout=60)  # as a person pastes it
    assert roles(asking) == set(LOGINS)
    assert run_here("--config", str(tmp_path / "hotplace.yaml"), "doctor").code == 0
