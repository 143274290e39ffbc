"""A site of one emulated Db2 that is only ever touched through the commands of ``hotplace``."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from subprocess import Popen
from typing import Any

import yaml

from tests.cli.site import Finished, Site, finish
from tests.labs.db2.client import Db2, wait_until
from tests.labs.db2.server import ADMIN, LOOKER
from tests.labs.db2.text import DATABASE

SCHEMA, TABLE = "APP", "ORDERS"
KEY = f"{SCHEMA}.{TABLE}"
ENDED = {"placed", "settling", "kept", "undone", "failed", "skipped", "approved"}


class Life:
    """The configuration that ``hotplace init`` wrote, pointed at the emulated server, and the program over it."""

    def __init__(self, db2: Db2, folder: Path, tiers: Mapping[str, list[str]], **connection: Any) -> None:
        self.db2 = db2
        self.site = Site(folder)
        self.site.path.unlink()
        self.good("init", "--engine", "db2", "--output", str(self.site.path))
        self.site.values = yaml.safe_load(self.site.path.read_text(encoding="utf-8"))
        secret = folder / "password"
        secret.write_text(ADMIN.password)
        database = self.site.values["databases"][0]
        database["name"] = "real"
        database["connection"] |= {
            "host": "127.0.0.1", "port": db2.port, "dbname": DATABASE, "user": ADMIN.name, "authentication": "SERVER",
            "password": {"file": str(secret)}, "poll_every": "50ms", "rebalance_begins_within": "500ms", **connection,
        }  # fmt: skip
        database["tiers"] = [{"name": name, "spaces": spaces} for name, spaces in tiers.items()]
        database |= {"sample_every": "0.2s", "settle": "0.2s", "policy": {"minimum_history": "0s"}}
        looking = folder / "looking"
        looking.write_text(LOOKER.password)
        database["move_connection"] = dict(database["connection"])  # two logins, as a site should have
        database["connection"] |= {"user": LOOKER.name, "password": {"file": str(looking)}}
        self.site.values |= {
            "level": "propose", "dry_run": False, "ledger": {"path": "ledger.db"}, "metrics": {"enabled": False},
        }  # fmt: skip
        self.site.write()

    @property
    def database(self) -> dict[str, Any]:
        """Its configuration; ``site.write()`` stores what was changed."""
        return self.site.database

    def run(self, *arguments: str) -> Finished:
        """One command to its end, in this process."""
        return self.site.run(*arguments)

    def good(self, *arguments: str) -> Finished:
        """One that has to end well."""
        return self.site.good(*arguments)

    def apart(self, *arguments: str) -> Finished:
        """One that has to end well in a process of its own, which has loaded the driver and lets go of it."""
        done = finish(self.site.start(*arguments))
        assert done.code == 0, (arguments, done)
        return done

    def approved(self, observe: str = "0.3") -> dict[str, Any]:
        """The only move of a fresh proposal, after it was shown and approved by its digest."""
        document = self.good("plan", "--observe", observe, "--propose", "--json").document
        (move,) = document["moves"]
        number, digest = str(document["proposal"]["id"]), document["proposal"]["digest"]
        assert move["statements"][0]["sql"] in self.good("show", number, "--sql").out
        self.good("approve", number, "--digest", digest)
        return dict(move)

    def moves(self) -> list[dict[str, Any]]:
        """As the ledger has them, the oldest first."""
        found: list[dict[str, Any]] = self.good("history", "--json").document["moves"]
        return sorted(found, key=lambda move: int(move["id"]))

    def kill_when(self, what: str, true: Any) -> None:
        """``hotplace run --once``, killed with SIGKILL as soon as something is so in the server."""
        agent: Popen[str] = self.site.start("run", "--once")
        try:
            wait_until(true, what)
        finally:
            agent.kill()
            agent.communicate()

    def go_on(self) -> dict[str, Any]:
        """``hotplace run --once`` until the only move has ended, and that move."""
        for _ in range(4):
            self.run("run", "--once", "--json")
            (move,) = self.moves()
            if move["state"] in ENDED - {"approved"}:
                return move
        raise AssertionError(f"the move has not ended: {move}")

    def undo(self) -> None:
        """``hotplace undo`` of the last move, approved and carried out."""
        before = self.moves()
        done = self.good("undo", str(before[-1]["id"]), "--json").document
        self.good("approve", str(done["proposal"]), "--yes")
        self.good("run", "--once")

    def sent(self, since: int) -> list[str]:
        """What has reached the server: phases of ADMIN_MOVE_TABLE, clauses of ALTER TABLESPACE."""
        found = []
        for text in self.db2.lab.sent()[since:]:
            if "ADMIN_MOVE_TABLE" in text:
                found.append(text.rpartition(",")[2].strip(" ')"))
            elif text.startswith("ALTER"):
                found.append(text.partition(" /*")[0].split(" ", 3)[3])
        return found


@contextmanager
def load(db2: Db2, *tables: str) -> Iterator[None]:
    """Sessions that look up rows of the table, or of those, by their indexes, and wait for each."""
    done = threading.Event()

    def read() -> None:
        while not done.wait(0.05):
            for table in tables or (TABLE,):
                db2.lab.read_randomly(SCHEMA, table, 50)

    reader = threading.Thread(target=read)
    reader.start()
    try:
        yield
    finally:
        done.set()
        reader.join()
