"""Write docs/pages/proof/ENGINE.json again from a whole proof: ``python -m tests.prove postgresql``; some minutes."""

from __future__ import annotations

import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import yaml

from agent.terminal.errors import ExitCode
from tests.cli.site import Finished, run_here
from tests.docs.reference.claims import PROOFS
from tests.labs.db2.server import TS_FAST, TS_SLOW
from tests.prove import places


@dataclass(frozen=True, slots=True)
class Where:
    """Spaces of a server, and what a reader of its page has to know."""

    slow: str
    fast: str
    note: str
    emulated: bool = False
    schema: str = "scratch"
    throw_away: str = ""  # a space whose files move, too
    files_to: str = ""


WHERE = {
    "postgresql": Where(
        "slow", "fast", "An embedded server started for this run, its tablespaces in two folders of one disk."
    ),
    "sqlserver": Where(
        "hdd",
        "ssd",
        "The emulated server of tests/labs/sqlserver: its rules were written from documentation, its rows are numbers, "
        "its locks last as long as a test says. What is seen here is what that server does, not Microsoft's. Rule and "
        "claim had one author.",
        emulated=True,
        throw_away=places.SPARE,
        files_to="S:\\moved\\",
    ),
    "db2": Where(
        TS_SLOW,
        TS_FAST,
        "The emulated server of tests/labs/db2: rows, keys and checks are Apache Derby's; what ADMIN_MOVE_TABLE does, "
        "where tables lie and what is counted is played by rules from documentation. Cases and the rules of what makes "
        "them had one author.",
        emulated=True,
        schema="SCRATCH",
    ),
    "oracle": Where(
        "SLOW",
        "FAST",
        "The emulated server of tests/labs/oracle: its rules were written from documentation, and cases and rules had "
        "one author. What is seen here is what that server does, not Oracle's.",
        emulated=True,
        schema="SCRATCH",
        throw_away=places.SPARE.upper(),
        files_to="/ssd/oradata",
    ),
}


def run(engine: str, output: Path, *, quick: bool = False) -> Finished:
    """Run ``hotplace lab prove`` on that engine's server and write its page there; how the command ended."""
    where = WHERE[engine]
    with tempfile.TemporaryDirectory() as name, getattr(places, engine)(Path(name)) as database:
        folder = Path(name)
        config = {"level": "propose", "dry_run": False, "ledger": {"path": str(folder / "ledger.db")}}
        path = folder / "hotplace.yaml"
        path.write_text(yaml.safe_dump({**config, "databases": [database]}), encoding="utf-8")
        path.chmod(0o600)
        return run_here(
            "lab", "prove", "--config", str(path), "--engine", engine, "--schema", where.schema, "--slow", where.slow,
            "--fast", where.fast, "--yes", "--note", where.note, "--output", str(output),
            *(["--throw-away", where.throw_away, "--files-to", where.files_to] if where.throw_away else []),
            *(["--emulated"] if where.emulated else []), *(["--quick"] if quick else []),
        )  # fmt: skip


def main(engine: str) -> int:
    """Write the page of an engine again; how the command ended."""
    done = run(engine, PROOFS / f"{engine}.json")
    sys.stdout.write(done.out[-6000:])
    sys.stderr.write(done.err if done.code not in (ExitCode.OK, ExitCode.CONTRADICTED) else "")
    return done.code


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
