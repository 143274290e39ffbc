"""How long a standby takes, and whether a statement is ever sent twice: agents that are killed, frozen and cut off.

Real processes, a real PostgreSQL under each of ledger and database. The agent that acts is lost in the middle of its
first statement, which takes two seconds; a lease lasts four.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from agent.demo.server import private_server
from connectors.model.formatting import format_seconds
from tests.bench.lab.figures import table
from tests.bench.lab.pace import QUICK, Pace
from tests.bench.measurement import Measurement
from tests.labs.fleet import Fleet
from tests.labs.postgresql import installations, running_cluster
from tests.labs.takeovers import Loss, TakeOver, cut_from_database, cut_from_ledger, freeze, kill, take_over

COMMAND = "python -m tests.bench.lab takeover"
STATEMENT_SECONDS = 2.0
LOSSES: tuple[Loss, ...] = (kill, freeze, cut_from_ledger, cut_from_database)
ROUNDS = 5  # of each loss; one when quick
LEDGER_SETTINGS = {"fsync": "off", "autovacuum": "off", "shared_buffers": "16MB"}


def run(pace: Pace, major: int) -> Iterator[tuple[str, TakeOver]]:
    """Lose an agent in every way."""
    with ExitStack() as stack:
        cluster = stack.enter_context(running_cluster(major))
        ledger = stack.enter_context(private_server(installations()[major], LEDGER_SETTINGS))
        for number, lose in enumerate(LOSSES * (1 if pace == QUICK else ROUNDS)):
            name = f"ledger_{number}"
            ledger.run("createdb", "-h", str(ledger.folder), "-U", "postgres", name)
            with cluster.database() as dbname, TemporaryDirectory(prefix="fleet-") as folder:
                fleet = Fleet(
                    cluster=cluster, dbname=dbname, ledger=ledger, ledger_database=name, folder=Path(folder)
                )  # fmt: skip
                fleet.build(STATEMENT_SECONDS)
                yield lose.__name__, take_over(fleet, lose)


def measurements(pace: Pace, major: int | None = None) -> list[Measurement]:
    """Run and report."""
    seen = list(run(pace, major or max(installations())))
    rows = [(name, format_seconds(each.seconds), str(each.double_actions)) for name, each in seen]
    table("takeover (lease 4 s)", ("lost by", "until the next agent had the lease", "sent twice"), rows)
    lost = f"{len(seen)} agents killed, frozen, cut from the ledger or from the database in mid-move; lease 4 s"
    return [
        Measurement(
            name="fleet.takeover_seconds_max", value=max(each.seconds for _, each in seen), unit="s", better="lower",
            command=COMMAND, note=f"goal 8 s, two leases; {lost}",
        ),
        Measurement(
            name="fleet.double_actions", value=sum(each.double_actions for _, each in seen), unit="statements",
            better="lower", command=COMMAND, note=f"goal 0; {lost}",
        ),
    ]  # fmt: skip
