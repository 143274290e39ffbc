"""Pages that are opened when something is wrong, played from their own text: each line in order, as it is typed.

A part of ``make soak``: it takes servers and a minute.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.cli.site import Finished, Site, run_here, simulated
from tests.docs.text import command_lines, page
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


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    """Two databases, one of them called as on the pages."""
    monkeypatch.chdir(tmp_path)
    made = Site(tmp_path, {**simulated(tmp_path), "name": "sales"})
    made.values["databases"].append({**simulated(tmp_path), "name": "crm"})
    made.write()
    return made


def propose(site: Site) -> int:
    """A proposal for the database of the pages."""
    done = site.good("--database", "sales", "plan", "--observe", "0.3", "--propose", "--json").document
    number: int = done["proposal"]["id"]
    return number


def play(site: Site, words: list[str], **blanks: str) -> Finished:
    """Type one line, with what a reader fills in."""
    done = site.run(*(blanks.get(word, word) for word in words))
    assert done.code == 0, (words, done)
    return done


def test_emergency(site: Site) -> None:
    """Stopped, looked at, let go on, given up."""
    number = propose(site)
    said = {" ".join(words[:3]): play(site, words, **{"12": str(number)}) for words in typed("emergency")}
    assert "no agent sends anything" in said["stop --all --reason"].out
    assert "nothing is sent" in said["status"].out
    assert "agents send again" in said["stop --lift --all"].out
    assert "rejected" in said["reject 12 --reason"].out


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


def test_failover(site: Site) -> None:
    """An older copy is named by the first verification, and accepted once its anchors are moved away."""
    ledger = site.ledger_path
    site.good("--database", "sales", "pin", "public.x", "must", "--reason", "before")
    older = ledger.read_bytes()
    site.good("--database", "sales", "pin", "public.y", "must", "--reason", "after")
    ledger.write_bytes(older)
    for name in ("ledger.db-wal", "ledger.db-shm"):
        (site.folder / name).unlink(missing_ok=True)
    codes = []
    for line in lines("failover"):
        if line.startswith("mv "):
            _, before, after = line.replace("/var/lib/hotplace", str(site.folder)).split()
            Path(before).rename(after)
        codes += [site.run(*words).code for words in command_lines(f"    {line}") if words[0] == "audit"]
    assert codes == [10, 0]


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

        def done() -> bool:
            with cluster.session() as dba:
                for name in most:
                    found = sorted(str(row[0]) for row in dba.execute(f"{query}'{name}'".encode()).fetchall())
                    most[name] = max(most[name], found, key=len)
            return len(fleet.moved()) == 2

        with fleet.agent("one"):
            wait_until(done, "both moves", PATIENCE)
    (said,) = re.findall(r"at most (\w+) sessions", page("how-to/cost.md"))
    assert len(most[dbname]) <= NUMBERS.index(said), most
    (said,) = re.findall(r"up to (\w+) sessions", page("how-to/cost.md"))
    assert len(most["ledger_of_costs"]) <= NUMBERS.index(said), most
