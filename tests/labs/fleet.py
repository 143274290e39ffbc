"""Agents as processes, a database whose statements take their time, and a ledger on a server of its own."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg

from agent.demo.server import PrivateServer
from tests.cli.site import run_here
from tests.e2e.program import PROGRAM
from tests.labs.postgresql import Cluster

BEGINS = "a statement begins"  # what the server of the database logs as each of them does
TABLES = ("first_table", "second_table")
SOCKET = ".s.PGSQL.5432"
LEDGER, DATABASE = "ledger", "database"
_END_IDLE = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
 WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name LIKE 'hotplace%' AND state = 'idle'
"""
_SLOW = """
CREATE FUNCTION public.take_time() RETURNS event_trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE LOG '{begins} in {database}';
  PERFORM pg_catalog.pg_sleep({seconds});
END $$;
CREATE EVENT TRIGGER take_time ON ddl_command_start WHEN TAG IN ('ALTER TABLE') EXECUTE FUNCTION public.take_time();
"""


@dataclass(slots=True)
class Fleet:
    """One database, one ledger, and the agents of a test."""

    cluster: Cluster
    dbname: str
    ledger: PrivateServer
    ledger_database: str
    folder: Path
    lease_seconds: float = 4.0
    replica: PrivateServer | None = None  # of the ledger's server: agents know both

    def build(self, seconds: float) -> None:
        """Two tables, each of whose moves takes so long."""
        with self.cluster.session(self.dbname) as dba:
            for name in TABLES:
                dba.execute(f"CREATE TABLE {name} AS SELECT g AS id FROM generate_series(1, 5000) AS g".encode())
            slow = _SLOW.format(begins=BEGINS, database=self.dbname, seconds=seconds)
            dba.execute(slow.encode())

    def config(self, name: str) -> Path:
        """The configuration of an agent of that name; its metrics are on a free port."""
        path = self.folder / f"{name}.json"  # JSON is YAML
        if not path.exists():
            way = str(self._way(name, LEDGER, self.ledger))
            hosts = way if self.replica is None else f"{way},{self.replica.folder}"
            server = {"host": hosts, "dbname": self.ledger_database, "user": "postgres",
                      "lease": f"{self.lease_seconds}s", "connect_timeout": "2s"}  # fmt: skip
            anchors = str(self.folder / f"{name}.anchors")
            path.write_text(json.dumps({
                "level": "propose", "dry_run": False,
                "ledger": {"postgresql": server, "anchors": anchors},
                "metrics": {"port": free_port()},
                "databases": [self._database(name)],
            }))  # fmt: skip
        return path

    def _way(self, name: str, to: str, server: PrivateServer) -> Path:
        """A folder with a link to the socket of a server: an agent's own network, which can be cut."""
        folder = self.folder / f"{name}-{to}"
        folder.mkdir()
        (folder / SOCKET).symlink_to(server.folder / SOCKET)
        return folder

    def cut(self, name: str, to: str) -> None:
        """An agent no longer reaches a server; idle sessions there end, and those of others come back at once."""
        (self.folder / f"{name}-{to}" / SOCKET).unlink()
        where = f"host={self.ledger.folder} user=postgres dbname={self.ledger_database}"
        with psycopg.connect(where) if to == LEDGER else self.cluster.session(self.dbname) as dba:
            dba.execute(_END_IDLE)

    def mend(self, name: str, to: str) -> None:
        """It does again."""
        server = self.ledger if to == LEDGER else self.cluster.server
        (self.folder / f"{name}-{to}" / SOCKET).symlink_to(server.folder / SOCKET)

    def _database(self, name: str) -> dict[str, Any]:
        way = str(self._way(name, DATABASE, self.cluster.server))
        return {
            "name": "real", "engine": "postgresql",
            "connection": {"host": way, "dbname": self.dbname, "user": "postgres"},
            "tiers": [
                {"name": "ssd", "spaces": ["fast"]},
                {"name": "hdd", "spaces": [{"name": "slow", "capacity": "1 GiB"}]},
            ],
            "sample_every": "0.3s", "plan_every": "1h", "settle": "1h",
            "pins": [{"unit": f"public.{name}", "pin": "must"} for name in TABLES],
            "policy": {"minimum_history": "0s"},
        }  # fmt: skip

    def approve_moves(self) -> None:
        """Have both tables moved."""
        proposal = self.answer("plan", "--observe", "0.3", "--propose")["proposal"]
        self.answer("approve", str(proposal["id"]), "--digest", proposal["digest"])

    def answer(self, *arguments: str) -> Any:
        """The document of a command that must succeed."""
        done = run_here("--config", str(self.config("people")), *arguments, "--json")
        assert done.code == 0, done.err
        return done.document

    def is_done(self) -> bool:
        """Whether the ledger says of both moves that they are where they should be."""
        states = [move["state"] for move in self.answer("history")["moves"]]
        return sum(state in {"placed", "settling"} for state in states) == len(TABLES)

    @contextmanager
    def agent(self, name: str, *options: str) -> Iterator[subprocess.Popen[bytes]]:
        """``hotplace run`` in the background; killed at the end if it still runs."""
        with (self.folder / f"{name}.log").open("ab") as sink:
            process = subprocess.Popen(
                [str(PROGRAM), "--config", str(self.config(name)), "run", *options],
                stdout=sink, stderr=sink, stdin=subprocess.DEVNULL,
            )  # fmt: skip
        try:
            yield process
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
            process.wait()

    def log(self, name: str) -> str:
        """What an agent has said."""
        return (self.folder / f"{name}.log").read_text()

    def begun(self) -> int:
        """How many statements that move have begun, by the server's own log."""
        log = (self.cluster.server.folder / "log").read_text(errors="replace")
        return log.count(f"{BEGINS} in {self.dbname}\n")

    def moved(self) -> list[str]:
        """Tables on the fast tablespace, by the catalog."""
        query = "SELECT relname FROM pg_class JOIN pg_tablespace AS t ON t.oid = reltablespace WHERE spcname = 'fast'"
        with self.cluster.session(self.dbname) as dba:
            return sorted(name for (name,) in dba.execute(query).fetchall() if name in TABLES)

    def token(self) -> int:
        """Of the lease; 0 before there was one."""
        found = self.in_ledger("SELECT token FROM hotplace.leases")
        return int(found[0][0]) if found else 0

    def scrape(self, name: str, path: str = "/metrics") -> str:
        """What an agent serves; "" where it does not listen yet."""
        port = json.loads(self.config(name).read_text())["metrics"]["port"]
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as answer:
                body: bytes = answer.read()
        except urllib.error.HTTPError as error:
            with error:
                body = error.read()
        except OSError:
            return ""
        return body.decode()

    def in_ledger(self, query: str) -> list[tuple[Any, ...]]:
        """Ask the ledger's server itself."""
        with psycopg.connect(f"host={self.ledger.folder} user=postgres dbname={self.ledger_database}") as session:
            return session.execute(query.encode()).fetchall()


def free_port() -> int:
    """A port of the loopback address that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        number: int = probe.getsockname()[1]
        return number
