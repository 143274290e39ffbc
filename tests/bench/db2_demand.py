"""How far Db2's waits by unit are from the truth, over an emulated server: ``python -m tests.bench db2_demand``.

Workloads with all their counters were worked out from IBM's documentation, and what sessions waited for each unit with
them (``tests.db2.demand``). The error is of a wait that these counters measure, as a share of it; for a unit that
waited for nothing, of all waits of its workload. Waits that the counters only bound are in no error: those have to lie
within. The counters are exactly as documented, each page and millisecond in its place: a real server's are not.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from agent.model.clock import SystemClock
from connectors.db2.connector import Db2Connector
from connectors.db2.settings import Db2Settings
from connectors.settings import SecretSource
from tests.bench.measurement import Measurement
from tests.db2.demand.held_out import HELD_OUT
from tests.db2.demand.runner import faults, observed, played, worst_error
from tests.db2.demand.vector import Vector
from tests.db2.demand.vectors import VECTORS
from tests.labs.db2.client import Db2, running_db2
from tests.labs.db2.server import ADMIN
from tests.labs.db2.text import DATABASE

COMMAND = "python -m tests.bench db2_demand"


def measurements() -> list[Measurement]:
    """The worst error of all workloads, and of those that were held out while demand was mended."""
    with running_db2("11.5") as server, tempfile.TemporaryDirectory(prefix="hotplace-bench-") as folder:
        secret = Path(folder) / "password"
        secret.write_text(ADMIN.password)
        settings = Db2Settings(
            host="127.0.0.1", port=server.port, dbname=DATABASE, user=ADMIN.name, authentication="SERVER",
            password=SecretSource(file=secret), move_by="table",
        )  # fmt: skip
        return [
            _worst("db2.demand_error_max", server, settings, [*VECTORS, *HELD_OUT]),
            _worst("db2.demand_error_max.held_out", server, settings, HELD_OUT),
        ]


def _worst(name: str, server: Db2, settings: Db2Settings, vectors: Sequence[Vector]) -> Measurement:
    errors, wrong = {}, 0
    for vector in vectors:
        connector = Db2Connector(settings, SystemClock())
        with played(server.lab, vector):
            seconds = observed(server.lab, connector, vector)
        connector.close()
        errors[vector.name] = worst_error(vector, seconds)
        wrong += bool(faults(vector, seconds))
    worst = max(errors, key=errors.__getitem__)
    return Measurement(
        name=name,
        value=errors[worst],
        unit="of a wait",
        better="lower",
        command=COMMAND,
        note=f"emulated server; {len(errors)} workloads, {wrong} beyond 15 % or their bounds, or ranked wrongly; "
        f"worst: {worst}",
    )
