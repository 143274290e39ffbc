"""Figures of several runs of one placement, and the tables that experiments print."""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from connectors.model.formatting import format_seconds
from tests.bench.lab.load import FOREGROUND, Figures, Workload, start
from tests.bench.lab.pace import Pace
from tests.bench.lab.rig import Rig


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """Runs of one placement under one load, each with a seed of its own."""

    name: str
    runs: tuple[Figures, ...]

    def median(self, figure: Callable[[Figures], float]) -> float:
        """The median of one figure over the runs."""
        return statistics.median(map(figure, self.runs))

    @property
    def per_second(self) -> float:
        """Median throughput."""
        return self.median(lambda run: run.per_second)

    @property
    def spread(self) -> float:
        """Half the range of the throughput, as a share of its mean."""
        rates = [run.per_second for run in self.runs]
        return (max(rates) - min(rates)) / 2 / statistics.fmean(rates) if rates and max(rates) > 0 else 0.0


_READ_SECONDS = """
SELECT coalesce(sum(io.read_time), 0) / 1000.0
  FROM pg_stat_activity AS a, pg_stat_get_backend_io(a.pid) AS io
 WHERE a.application_name = %s
"""
_TELLS_BACKENDS = 180000  # version whose statistics know each session's reads


def measure(rig: Rig, name: str, workload: Workload, pace: Pace | None = None, runs: int | None = None) -> Series:
    """Run the load on the present placement; each run's warm-up is discarded. Unless told: at the rig's pace."""
    pace, measured = pace or rig.pace, []
    for seed in range(1, (runs or pace.runs) + 1):
        begin = pace.warm_seconds if seed == 1 else pace.warm_again_seconds
        measured.append(_one(rig, workload, begin, begin + pace.run_seconds, seed))
    say(f"  {name}: {' '.join(f'{run.per_second:,.1f}' for run in measured)} transactions/s")
    return Series(name=name, runs=tuple(measured))


def _one(rig: Rig, workload: Workload, begin: float, end: float, seed: int) -> Figures:
    """One run from its first second; what ended between two instants, and how long it waited for reads meanwhile."""
    clients = start(rig.server, rig.folder, workload, end + 1, seed)
    with rig.session() as session:
        tells = session.info.server_version >= _TELLS_BACKENDS
        waited = []
        for instant in (begin, end):
            clients.sleep_until(instant)
            row = session.execute(_READ_SECONDS, (FOREGROUND,)).fetchone() if tells else None
            waited.append(float(row[0]) if row else float("nan"))
    found = clients.finish().between(begin, end)
    return replace(found, read_wait=(waited[1] - waited[0]) / max(1, found.transactions))


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table on standard error, where the bench talks."""
    widths = [max(map(len, cells)) for cells in zip(columns, *rows, strict=True)]
    say(f"\n{title}")
    for cells in (columns, *rows):
        say("  " + "  ".join(cell.rjust(width) for cell, width in zip(cells, widths, strict=True)))


SERIES_COLUMNS = ("placement", "transactions/s", "spread", "mean", "p99", "runs")


def series_row(series: Series) -> tuple[str, ...]:
    """One line of a table with ``SERIES_COLUMNS``."""
    return (
        series.name,
        f"{series.per_second:,.1f}",
        f"{series.spread:.1%}",
        format_seconds(series.median(lambda run: run.mean)),
        format_seconds(series.median(lambda run: run.p99)),
        " ".join(f"{run.per_second:,.0f}" for run in series.runs),
    )


def say(words: str) -> None:
    """One line on standard error."""
    print(words, file=sys.stderr, flush=True)
