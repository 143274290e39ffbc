"""Write docs/pages/proof/oracle.json again: ``python -m tests.prove.oracle``; some minutes, on an idle machine."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import yaml

from agent.terminal.exit_codes import ExitCode
from tests.cli.site import run_here
from tests.docs.reference.claims import PROOFS
from tests.labs.oracle.harness import PASSWORD, running_harness

NOTE = (
    "The emulated server of tests/labs/oracle: its rules were written from documentation, and cases and rules had one "
    "author. What is seen here is what that server does, not Oracle's."
)
COPY_SECONDS = 0.05  # long enough to be seen by another session
TIERS = (("ssd", "FAST"), ("hdd", "SLOW"))


def main() -> int:
    """Run ``hotplace prove`` on the emulated server, 19c Enterprise Edition; how the command ended."""
    with running_harness("prove") as lab, tempfile.TemporaryDirectory() as name:
        lab.add_owner("SCRATCH")
        lab.database.least_seconds = COPY_SECONDS
        config, password = Path(name) / "hotplace.yaml", Path(name) / "password"
        connection = {
            "host": "127.0.0.1", "port": lab.server.port, "service": "orclpdb1", "user": "SCRATCH",
            "password": {"file": str(password)}, "lock_timeout": "1s",
        }  # fmt: skip
        tiers = [{"name": tier, "spaces": [{"name": space, "capacity": "1 GiB"}]} for tier, space in TIERS]
        database = {"name": "emulated", "engine": "oracle", "connection": connection, "tiers": tiers}
        settings = {"level": "propose", "dry_run": False, "ledger": {"path": str(Path(name) / "ledger.db")}}
        for path, text in ((password, PASSWORD), (config, yaml.safe_dump({**settings, "databases": [database]}))):
            path.write_text(text, encoding="utf-8")
            path.chmod(0o600)
        done = run_here(
            "prove", "--config", str(config), "--engine", "oracle", "--schema", "SCRATCH", "--slow", "SLOW",
            "--fast", "FAST", "--yes", "--emulated", "--note", NOTE, "--output", str(PROOFS / "oracle.json"),
        )  # fmt: skip
    sys.stdout.write(done.out[-2000:])
    sys.stderr.write(done.err if done.code not in (ExitCode.OK, ExitCode.CONTRADICTED) else "")
    return done.code


if __name__ == "__main__":
    sys.exit(main())
