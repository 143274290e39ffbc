"""Write docs/pages/proof/ENGINE.json again from a whole proof: ``python -m tests.prove postgresql``; some minutes."""

from __future__ import annotations

import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import yaml

from agent.terminal.exit_codes import ExitCode
from tests.cli.site import run_here
from tests.docs.reference.claims import PROOFS
from tests.labs.postgresql import installations, running_cluster
from tests.prove.conftest import OWNER

NOTES = {"postgresql": "An embedded server started for this run, its tablespaces in two folders of one disk."}


def postgresql(stack: ExitStack) -> dict[str, Any]:
    """The newest PostgreSQL of this machine with an empty scratch schema; the database as configured."""
    cluster = stack.enter_context(running_cluster(max(installations())))
    dbname = stack.enter_context(cluster.database())
    with cluster.session(dbname) as dba:
        dba.execute(OWNER)
    return {
        "name": "real",
        "engine": "postgresql",
        "connection": {"host": str(cluster.server.folder), "dbname": dbname, "user": "prover"},
        "tiers": [
            {"name": "ssd", "spaces": [{"name": "fast", "capacity": "1 GiB"}]},
            {"name": "hdd", "spaces": [{"name": "slow", "capacity": "1 GiB"}]},
        ],
    }


def main(engine: str) -> int:
    """Run ``hotplace prove`` on that engine's server and write its page; how the command ended."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        config = {"level": "propose", "dry_run": False, "ledger": {"path": str(folder / "ledger.db")}}
        path = folder / "hotplace.yaml"
        path.write_text(yaml.safe_dump({**config, "databases": [postgresql(stack)]}), encoding="utf-8")
        path.chmod(0o600)
        done = run_here(
            "prove", "--config", str(path), "--engine", engine, "--schema", "scratch", "--slow", "slow",
            "--fast", "fast", "--yes", "--note", NOTES[engine], "--output", str(PROOFS / f"{engine}.json"),
        )  # fmt: skip
    sys.stdout.write(done.out[-2000:])
    sys.stderr.write(done.err if done.code not in (ExitCode.OK, ExitCode.CONTRADICTED) else "")
    return done.code


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
