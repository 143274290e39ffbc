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
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg

from agent.demo.server import PrivateServer
from tests.cli.site import run_here
from tests.e2e.program import PROGRAM
from tests.labs.postgresql import Cluster

BEGINS = "a statement begins"  # what the server of the database logs as each of them does
TABLES = ("first_table", "second_table")
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
    lease: str = "2s"
    _agents: list[subprocess.Popen[bytes]] = field(default_factory=list)

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
            server = {"host": str(self.ledger.folder), "dbname": self.ledger_database, "user": "postgres",
                      "lease": self.lease, "connect_timeout": "2s"}  # fmt: skip
            anchors = str(self.folder / f"{name}.anchors")
            path.write_text(json.dumps({
                "level": "propose", "dry_run": False,
                "ledger": {"postgresql": server, "anchors": anchors},
                "metrics": {"port": free_port()},
                "databases": [self._database()],
            }))  # fmt: skip
        return path

    def _database(self) -> dict[str, Any]:
        return {
            "name": "real", "engine": "postgresql",
            "connection": {"host": str(self.cluster.server.folder), "dbname": self.dbname, "user": "postgres"},
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
        number, digest = "1", self.answer("plan", "--observe", "0.3", "--propose")["proposal"]["digest"]
        self.answer("approve", number, "--digest", digest)

    def answer(self, *arguments: str) -> Any:
        """The document of a command that must succeed."""
        done = run_here("--config", str(self.config("people")), *arguments, "--json")
        assert done.code == 0, done.err
        return done.document

    def states(self) -> list[str]:
        """The states of both moves."""
        return [move["state"] for move in self.answer("history")["moves"]]

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
