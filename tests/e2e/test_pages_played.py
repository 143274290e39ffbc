"""Pages that are opened when something is wrong, played from their own text: each line in order, as it is typed.

A part of ``make soak``: it takes servers and minutes. Lines of root and of the service's user are typed as such.
"""

from __future__ import annotations

import os
import pwd
import re
import shlex
import shutil
import sqlite3
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg
import pytest
import yaml

from agent.ledger.ledger import Ledger
from agent.ledger.store.schema import APPLICATION_ID, HEAD
from agent.model.clock import SystemClock
from tests.cli.site import Finished, Site, run_here, simulated
from tests.docs.text import ROOT, command_lines, page
from tests.keys import Person
from tests.labs.fleet import Fleet
from tests.labs.postgresql import Cluster, wait_until
from tests.ledger.conftest import servers as servers  # a fixture
from tests.ledger.divided import divided_ledger
from tests.ledger.servers import LedgerServers

pytestmark = [pytest.mark.slow, pytest.mark.soak]
PATIENCE = 60.0
NUMBERS = ["zero", "one", "two", "three", "four", "five", "six"]


def lines(name: str) -> Iterator[str]:
    """Every line of a page's blocks, without the remark behind it."""
    for line in page(f"how-to/{name}.md").splitlines():
        if line.startswith("    ") and line.strip() and not line.strip().startswith("#"):
            yield re.sub(r"\s{2,}# .*", "", line.strip())


def typed(name: str) -> Iterator[list[str]]:
    """The calls of hotplace among them."""
    for line in lines(name):
        yield from command_lines(f"    {line}")


PROGRAM = ("-c", "from agent.cli.main import main; main()")
INTERPRETER = shutil.which(f"python3.{sys.version_info.minor}", path="/usr/bin:/usr/local/bin")  # for every user
SERVICE_USER = "hotplace_pages"
DATABASES = ("sales", "crm")
IS_POSSIBLE = os.geteuid() == 0 and INTERPRETER is not None and shutil.which("useradd") and shutil.which("runuser")


@dataclass(frozen=True, slots=True)
class Machine:
    """One as the pages have it: root types, the service has a user of its own, and its folder is the user's alone."""

    folder: Path  # in place of /var/lib/hotplace
    config: Path

    @property
    def ledger(self) -> Path:
        """Its file."""
        return self.folder / "ledger.db"

    def command(self, *words: str, as_service: bool) -> list[str]:
        """How a command is run by root, or with ``sudo -u hotplace``."""
        path = os.pathsep.join([str(ROOT), sysconfig.get_paths()["purelib"]])
        environment = ["env", f"PYTHONPATH={path}", "PYTHONDONTWRITEBYTECODE=1"]
        user = ["runuser", "-u", SERVICE_USER, "--"] if as_service else []
        return [*user, *environment, str(INTERPRETER), *PROGRAM, "--config", str(self.config), *words]

    def run(self, *words: str, as_service: bool = True) -> Finished:
        """Run it to its end."""
        done = subprocess.run(
            self.command(*words, as_service=as_service), cwd="/", capture_output=True, text=True,
            timeout=3 * PATIENCE, check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        return Finished(done.returncode, done.stdout, done.stderr)

    def play(self, line: str, **blanks: str) -> list[tuple[str, Finished]]:
        """Type one line of a page; what it calls of hotplace, and how that ended."""
        found = []
        for words in command_lines(f"    {line}"):
            filled = [blanks.get(word, word) for word in words]
            found.append((" ".join(words), self.run(*filled, as_service=line.startswith("sudo "))))
        return found

    def shell(self, line: str) -> None:
        """Any other line, with the paths of this machine."""
        subprocess.run(shlex.split(line.replace("/var/lib/hotplace", str(self.folder))), check=True)

    def revision(self) -> str:
        """Of the tables, asked without hotplace."""
        with closing(sqlite3.connect(f"file:{self.ledger}?mode=ro", uri=True)) as connection:
            (found,) = connection.execute("SELECT version_num FROM alembic_version").fetchone()
        return str(found)

    def strangers_files(self) -> list[str]:
        """What does not belong to the service's user, or may be read by others."""
        user = pwd.getpwnam(SERVICE_USER).pw_uid
        every = {path: path.stat() for path in self.folder.rglob("*")}
        return [str(path) for path, stat in every.items() if stat.st_uid != user or stat.st_mode & 0o077]


@pytest.fixture
def machine() -> Iterator[Machine]:
    """Its user and its folder are gone at the end."""
    if not IS_POSSIBLE:
        pytest.skip("root, useradd, runuser and an interpreter that all users may run")
    subprocess.run(["useradd", "--system", "--no-create-home", SERVICE_USER], check=True)
    try:
        with TemporaryDirectory(prefix="hotplace-pages-") as made:
            home = Path(made)
            home.chmod(0o755)
            for name in ("lib", *DATABASES):  # these play the servers of the databases
                (home / name).mkdir(mode=0o700)
                shutil.chown(home / name, SERVICE_USER, SERVICE_USER)
            config = {
                "level": "propose", "dry_run": False, "ledger": {"path": str(home / "lib" / "ledger.db")},
                "metrics": {"enabled": False},
                "databases": [{**simulated(home / name), "name": name} for name in DATABASES],
            }  # fmt: skip
            (home / "hotplace.yaml").write_text(yaml.safe_dump(config))
            yield Machine(home / "lib", home / "hotplace.yaml")
    finally:
        subprocess.run(["userdel", SERVICE_USER], check=True)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    """Two databases, one of them called as on the pages."""
    monkeypatch.chdir(tmp_path)
    made = Site(tmp_path, {**simulated(tmp_path), "name": "sales"})
    made.values["databases"].append({**simulated(tmp_path), "name": "crm"})
    made.write()
    return made


def play(site: Site, words: list[str], **blanks: str) -> Finished:
    """Type one line, with what a reader fills in."""
    done = site.run(*(blanks.get(word, word) for word in words))
    assert done.code == 0, (words, done)
    return done


def test_emergency(machine: Machine) -> None:
    """Stopped, looked at, let go on, given up: by root, while the ledger stays the service's."""
    done = machine.run("--database", "sales", "plan", "--observe", "0.3", "--propose", "--json")
    number = str(done.document["proposal"]["id"])
    said: dict[str, Finished] = {}
    for line in lines("emergency"):
        said |= {" ".join(words.split()[:3]): ended for words, ended in machine.play(line, **{"12": number})}
    assert {words: ended.code for words, ended in said.items() if ended.code} == {}
    assert "no agent sends anything" in said["stop --all --reason"].out
    assert "nothing is sent" in said["status"].out
    assert "agents send again" in said["stop --lift --all"].out
    assert "rejected" in said["reject 12 --reason"].out
    assert machine.strangers_files() == []


@pytest.mark.postgresql
def test_uninstall(site: Site, cluster: Cluster, dbname: str, cleanup: ExitStack, tmp_path: Path) -> None:
    """Nothing is left of the logins; the retired database is listed no more."""
    site.good("--database", "crm", "plan", "--observe", "0.3")
    site.good("--database", "crm", "run", "--once")
    program = cluster.server.installation / "bin" / "psql"
    if not program.exists():
        pytest.skip("this installation has no psql")
    dba = cleanup.enter_context(cluster.session(dbname))
    dba.execute("CREATE ROLE app_owner")
    cleanup.callback(dba.execute, b"DROP OWNED BY app_owner; DROP ROLE app_owner")

    def psql(line: str) -> None:
        words = line.replace("-d app ", f"-X -h {cluster.server.folder} -U postgres -d {dbname} ").split()[1:]
        done = subprocess.run([str(program), *words], capture_output=True, text=True, check=False, cwd=tmp_path)
        assert done.returncode == 0, done.stderr

    site.good("deploy", "privileges", "--output", str(tmp_path / "privileges"))
    psql("psql -d app -v login=hotplace -f privileges/postgresql-observe.sql")
    psql("psql -d app -v login=hotplace_move -v owner=app_owner -v space=fast -f privileges/postgresql-move.sql")
    for line in lines("uninstall"):
        if line.startswith("psql "):
            psql(line)
        for words in command_lines(f"    {line}"):
            play(site, words)
    assert dba.execute("SELECT rolname FROM pg_roles WHERE rolname LIKE 'hotplace%'").fetchall() == []
    assert "crm" not in site.good("status", "--all").out


def test_failover(machine: Machine) -> None:
    """An older copy is named by the first verification, and accepted once its anchors are moved away."""
    assert machine.run("--database", "sales", "pin", "public.x", "must", "--reason", "before").code == 0
    older = machine.ledger.read_bytes()
    assert machine.run("--database", "sales", "pin", "public.y", "must", "--reason", "after").code == 0
    machine.ledger.write_bytes(older)
    for name in ("ledger.db-wal", "ledger.db-shm"):
        (machine.folder / name).unlink(missing_ok=True)
    ends: list[tuple[str, Finished]] = []
    for line in lines("failover"):
        ends += machine.play(line)
        if line.startswith("mv "):
            machine.shell(line)
    assert [ended.code for words, ended in ends if words == "audit verify"] == [10, 0]
    (status,) = [ended for words, ended in ends if words == "status"]
    assert "nothing is sent: the ledger cannot be trusted" in status.out
    assert machine.strangers_files() == []


def test_upgrade(machine: Machine) -> None:
    """An older ledger: looking changes nothing, the start migrates it, root's look makes no file of root's."""
    with closing(sqlite3.connect(machine.ledger)) as connection:
        connection.executescript((ROOT / "tests/ledger/earlier/v0002.sql").read_text(encoding="utf-8"))
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        (head,) = connection.execute("SELECT hash FROM audit ORDER BY id DESC LIMIT 1").fetchone()
    shutil.chown(machine.ledger, SERVICE_USER, SERVICE_USER)
    machine.ledger.chmod(0o600)
    typed_before, *after = [line for line in lines("upgrade") if "pip install" not in line]
    assert typed_before == "sudo -u hotplace hotplace audit verify"  # is the older version's, which wrote that head
    with ExitStack() as ending:
        for line in after:
            if line == "systemctl start hotplace":
                assert machine.revision() == "v0002", "what was typed so far only looks"
                _start(machine, ending)
                assert machine.run("status", as_service=False).code == 0, "typed by root, as people do"
            elif line.startswith("cp "):
                machine.shell(line)
            for words, ended in machine.play(line, HASH=head):
                assert ended.code == 0, (words, ended)
                assert words != "doctor" or "of an earlier hotplace (v0002" in ended.out
    assert machine.strangers_files() == []
    with closing(sqlite3.connect(machine.folder.with_name("lib.before") / "ledger.db")) as connection:
        assert connection.execute("SELECT version_num FROM alembic_version").fetchone() == ("v0002",)


def _start(machine: Machine, ending: ExitStack) -> None:
    """The service, until it has brought the ledger up to date; it ends by SIGTERM."""
    process = subprocess.Popen(machine.command("run", as_service=True), cwd="/", stdin=subprocess.DEVNULL)

    def end() -> None:
        process.terminate()
        process.wait(PATIENCE)

    ending.callback(end)
    wait_until(lambda: machine.revision() == HEAD, "the migration", PATIENCE)
    heard = "running as pid"
    wait_until(lambda: heard in machine.run("--database", "sales", "status").out, "its first sample", PATIENCE)


@pytest.mark.postgresql
def test_an_approvers_machine(servers: LedgerServers, tmp_path: Path) -> None:
    """The login of the page, made by the page's own SQL, sees and decides for its team."""
    with divided_ledger(servers, tmp_path, Person.new(tmp_path, "anna")) as divided:
        with divided.session() as dba:
            for line in lines("approver"):
                if line.startswith(("CREATE ROLE", "GRANT")):
                    dba.execute(line.encode())
        try:
            path = tmp_path / "approver.yaml"
            path.write_text(f"ledger: {divided.config('anna')}\n")
            codes = {}
            for words in typed("approver"):
                done = run_here("--config", str(path), *words)
                codes[" ".join(words)] = (done.code, done.err)
            assert codes["doctor"][0] == 0, codes
            assert codes["proposals --all"][0] == 0, codes
            assert "no proposal" in codes["approve --all 12"][1], codes
        finally:
            with divided.session() as dba:
                dba.execute("DROP OWNED BY anna; DROP ROLE anna")


@pytest.mark.postgresql
def test_a_ledger_is_divided_among_roles(servers: LedgerServers, tmp_path: Path) -> None:
    """The page's lines in its order: logins and memberships come before the script, and an agent works after it."""
    section = page("how-to/ledger-on-postgresql.md").partition("## Roles and teams")[2].partition("## ")[0]
    shown = [line.strip() for line in section.splitlines() if line.startswith("        ")]
    logins = [number for number, line in enumerate(shown) if line.startswith(("CREATE ROLE", "GRANT"))]
    order = [shown.index(line) for line in ("systemctl stop hotplace", "psql -d hotplace -f grants.sql")]
    assert [0, *logins, *order] == sorted([0, *logins, *order]), "what stops agents comes last"
    with servers.database() as place, ExitStack() as ending:
        dba = ending.enter_context(servers.session(place.dbname))
        ending.callback(dba.execute, b"DROP OWNED BY agent1, anna; DROP ROLE agent1, anna")
        (grants,) = (
            words for line in shown for words in command_lines(f"    {line}") if words[:2] == ["ledger", "grants"]
        )
        path = tmp_path / "shared.yaml"
        path.write_text(
            f"ledger: {{postgresql: {place.model_dump_json(include={'host', 'dbname', 'user'})}, anchors: a}}\n"
        )
        script = run_here("--config", str(path), *takewhile(lambda word: word != ">", grants)).out
        for line in shown:
            if line.startswith(("CREATE ROLE", "GRANT")):
                for statement in filter(None, map(str.strip, line.split(";"))):
                    with suppress(psycopg.errors.DuplicateObject):  # other tests of this server have made some
                        dba.execute(statement.encode())
            elif line.startswith("psql"):
                dba.execute(script.encode())
        agent = place.model_copy(update={"user": "agent1"})
        with Ledger.open(agent, SystemClock(), anchors=tmp_path / "anchors", create=False) as ledger:
            assert ledger.owned_databases() == frozenset({"shop", "crm"})
            assert ledger.audit.verify().ok
            ledger.leases.take("shop")


@pytest.mark.postgresql
def test_what_it_costs(cluster: Cluster, tmp_path: Path) -> None:
    """As many sessions as the page counts: on the watched database, and on the server of the ledger."""
    ledger = cluster.server
    ledger.run("createdb", "-h", str(ledger.folder), "-U", "postgres", "ledger_of_costs")
    query = "SELECT application_name FROM pg_stat_activity WHERE application_name LIKE 'hotplace%' AND datname = "
    with cluster.database() as dbname:
        fleet = Fleet(cluster=cluster, dbname=dbname, ledger=ledger, ledger_database="ledger_of_costs", folder=tmp_path)
        fleet.build(seconds=1.0)
        fleet.approve_moves()
        most: dict[str, list[str]] = {"ledger_of_costs": [], dbname: []}
        last = dict(most)

        def done() -> bool:
            with cluster.session() as dba:
                for name in most:
                    found = sorted(str(row[0]) for row in dba.execute(f"{query}'{name}'".encode()).fetchall())
                    most[name], last[name] = max(most[name], found, key=len), found
            return len(fleet.moved()) == 2

        with fleet.agent("one"):
            wait_until(done, "both moves", PATIENCE)
    (said,) = re.findall(r"at most (\w+) sessions", page("how-to/cost.md"))
    assert len(most[dbname]) <= NUMBERS.index(said), most
    (kept,) = re.findall(r"keeps up to (\w+) sessions", page("how-to/cost.md"))
    (more,) = re.findall(r"opens more, at most (\w+) for each", page("how-to/cost.md"))
    assert len(last["ledger_of_costs"]) <= NUMBERS.index(kept), last
    assert len(most["ledger_of_costs"]) <= NUMBERS.index(kept) + NUMBERS.index(more), most
