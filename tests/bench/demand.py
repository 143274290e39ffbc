"""How far waits by unit are from the truth, over emulated servers: ``python -m tests.bench demand``.

Workloads with all their counters were worked out from the vendors' documentation, and with them what sessions waited
for each unit (``tests/*/demand``). The error is of a wait that these counters measure, as a share of it; for a unit
that waited for nothing, of all waits of its workload. Waits that the counters only bound are in no error: those have to
lie within. The counters are exactly as documented, each page and millisecond in its place: a real server's are not.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path

from agent.model.clock import SystemClock
from connectors.db2.connector import Db2Connector
from connectors.db2.settings import Db2Settings
from connectors.kit.settings import SecretSource
from tests.bench.measurement import Measurement
from tests.db2.demand import held_out as db2_held_out
from tests.db2.demand import runner as db2_runner
from tests.db2.demand import vectors as db2
from tests.demand_vectors import GOAL, faults, worst_error
from tests.labs.db2.client import running_db2
from tests.labs.db2.server import ADMIN
from tests.labs.db2.text import DATABASE
from tests.labs.oracle.harness import running_harness
from tests.labs.sqlserver.lab import running_lab
from tests.labs.sqlserver.world import READER
from tests.labs.tds.drivers import drivers
from tests.oracle.demand import vectors as oracle
from tests.sqlserver.connected import connected
from tests.sqlserver.demand import held_out as sqlserver_held_out
from tests.sqlserver.demand import runner as sqlserver_runner
from tests.sqlserver.demand import vectors as sqlserver

COMMAND = "python -m tests.bench demand"


def measurements() -> list[Measurement]:
    """For each engine the worst error of all workloads, and of those that were held out while demand was mended."""
    return [*_rows("db2", _db2()), *_rows("sqlserver", _sqlserver()), *_rows("oracle", _oracle())]


@dataclass(frozen=True, slots=True)
class Found:
    """What came of one workload."""

    name: str
    held_out: bool
    error: float  # of the worst unit
    wrong: bool  # beyond 15 % or the bounds, or ranked wrongly


def _db2() -> Iterator[Found]:
    with running_db2("11.5") as server, tempfile.TemporaryDirectory(prefix="hotplace-bench-") as folder:
        secret = Path(folder) / "password"
        secret.write_text(ADMIN.password)
        settings = Db2Settings(
            host="127.0.0.1", port=server.port, dbname=DATABASE, user=ADMIN.name, authentication="SERVER",
            password=SecretSource(file=secret), move_by="table",
        )  # fmt: skip
        for vector in (*db2.VECTORS, *db2_held_out.HELD_OUT):
            with closing(Db2Connector(settings, SystemClock())) as connector, db2_runner.played(server.lab, vector):
                seconds = db2_runner.observed(server.lab, connector, vector)
            yield Found(
                vector.name, vector in db2_held_out.HELD_OUT,
                worst_error(vector, seconds), bool(faults(vector, seconds)),
            )  # fmt: skip


def _sqlserver() -> Iterator[Found]:
    for vector in (*sqlserver.VECTORS, *sqlserver_held_out.HELD_OUT):
        with running_lab() as lab, tempfile.TemporaryDirectory(prefix="hotplace-bench-") as folder:
            sqlserver_runner.build(lab, vector)
            with connected(lab, drivers()[0], Path(folder), READER) as connector:
                seconds = sqlserver_runner.observed(lab, connector, vector)
        yield Found(
            vector.name, vector in sqlserver_held_out.HELD_OUT,
            worst_error(vector, seconds), bool(faults(vector, seconds, vector.together)),
        )  # fmt: skip


def _oracle() -> Iterator[Found]:
    for vector in oracle.VECTORS:
        with running_harness("oracle demand (emulated server)") as lab, closing(lab.connect()) as connector:
            units = oracle.judge(lab, connector, vector)
        yield Found(
            str(vector["name"]), bool(vector.get("held_out")), max(unit.error for unit in units),
            any(unit.error > GOAL for unit in units) or not _ranked(units),
        )  # fmt: skip


def _ranked(units: Sequence[oracle.Judged]) -> bool:
    """Whether who waits longer comes first, where the counters tell two units apart."""
    return not any(
        more.least > less.most * (1 + GOAL) and more.said <= less.said for more, less in permutations(units, 2)
    )


def _rows(engine: str, each: Iterable[Found]) -> list[Measurement]:
    found = list(each)
    held_out = [one for one in found if one.held_out]
    return [_worst(f"{engine}.demand_error_max", found), _worst(f"{engine}.demand_error_max.held_out", held_out)]


def _worst(name: str, found: Sequence[Found]) -> Measurement:
    worst = max(found, key=lambda one: one.error)
    return Measurement(
        name=name,
        value=worst.error,
        unit="of a wait",
        better="lower",
        command=COMMAND,
        note=f"emulated server; {len(found)} workloads, {sum(one.wrong for one in found)} beyond 15 % or their bounds, "
        f"or ranked wrongly; worst: {worst.name}",
    )
