"""What watching 10,000 and 50,000 real PostgreSQL tables costs, beside what sites run today, on one server in one run.

Each table has a key and a TOAST table: 40,000 and 200,000 relations. ``hotplace run`` samples, Debian's exporter is
scraped for per-table series, the usual size query runs. Processor time and memory are those of the processes, from
/proc: the whole agent with its plan, ledger and metrics, not the sampler alone.

Agent and exporter get the same: as many cycles, between the same reads, asked with gzip as Prometheus asks. Memory is
the peak after all of them, since peaks grow for some cycles before they stay; the spread tells the peaks on the way.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import psycopg

from tests.bench.cost import beside
from tests.bench.cost.beside import Cost, Program
from tests.bench.cost.many_tables import server_with, touch
from tests.bench.measurement import Measurement, of_runs

COMMAND = "python -m tests.bench.cost.postgresql_cost"
WARM_UP = 2  # cycles, not measured: the agent's first reads the catalog, its second has the first demand
WINDOWS, QUICK_WINDOWS = 5, 3  # measured, each of several cycles
CYCLES_PER_WINDOW = 3
AFTER = 2  # cycles, for their memory alone: those of the agent come after its plan


@dataclass(frozen=True, slots=True)
class Parties:
    """What each cost."""

    agent: Cost
    exporter: Cost | None  # None: not installed
    size_query: Cost


def compare(tables: int, every: float, windows: int = WINDOWS) -> Parties:
    """All parties over so many tables; the agent samples every so many seconds, in so many windows."""
    with (
        tempfile.TemporaryDirectory() as name,
        server_with(tables) as server,
        psycopg.connect(server.conninfo, autocommit=True) as observer,
    ):
        folder = Path(name)
        plan_every = 3 * every * CYCLES_PER_WINDOW * windows  # after them, even on a busy machine
        with beside.agent(folder, server, observer, every, plan_every) as (ours, url):
            cycles = partial(_await_cycles, url)
            _measure(ours, cycles, windows, partial(touch, observer, tables))
            _await_plan(url)
            _measure_after(ours, cycles)
        theirs = None
        if beside.exporter_installed():
            with beside.exporter(folder, server, observer) as (peer, url):
                scrapes = partial(_scrape, url)
                _measure(peer, scrapes, windows, partial(touch, observer, tables))
                _measure_after(peer, scrapes)
                theirs = peer.cost
        return Parties(ours.cost, theirs, beside.size_query(server, windows))


def _await_cycles(url: str, wanted: int) -> int:
    """Wait until the agent has taken that many more samples; how many it took."""
    first = beside.cycles(beside.answer(url))
    while (done := beside.cycles(beside.answer(url)) - first) < wanted:
        time.sleep(0.2)
    return done


def _await_plan(url: str) -> None:
    """Wait until the agent has planned."""
    while not beside.has_planned(beside.answer(url)):
        time.sleep(0.2)


def _scrape(url: str, wanted: int) -> int:
    """Scrape so many times; as many as that."""
    for _ in range(wanted):
        beside.scraped(url)
    return wanted


def _measure(party: Program, cycles: Callable[[int], int], windows: int, read: Callable[[int], None]) -> None:
    """Warm a party up, then measure it window by window; before each, ``read`` some tables, other ones each time."""
    cycles(WARM_UP)
    for turn in range(windows):
        read(turn)
        party.measure(lambda: cycles(CYCLES_PER_WINDOW))


def _measure_after(party: Program, cycles: Callable[[int], int]) -> None:
    """The peak once more, after the last cycles."""
    cycles(AFTER)
    party.measure_memory()


def figures(tables: int, parties: Parties) -> list[Measurement]:
    """The costs and how many times ours the others' are."""
    size, ours = f"{tables // 1000}k", parties.agent
    about = f"{tables:,} tables with key and TOAST"
    lines = [
        of_runs(f"agent.cycle_core_share.{size}", [s / 60 for s in ours.client_seconds], "cores at one cycle a minute",
                COMMAND, note=f"the whole agent, {about}, 7 % of them active"),
        of_runs(f"agent.server_seconds.{size}", ours.server_seconds, "s", COMMAND, note="of our backends"),
        of_runs(f"agent.backend_mib.{size}", [ours.backend_mib], "MiB", COMMAND, note="private memory of our backend"),
        of_runs(f"agent.process_rss_mib.{size}", [ours.rss_mib], "MiB", COMMAND,
                note="peak of the whole agent, a plan included"),
        _peak(f"agent.process_rss_sampling_mib.{size}", ours.cycles_rss_mib,
              "peak before its first plan: catalog, samples, heat, history, metrics"),
        *_peer(f"peer.size_query.{{}}.{size}", parties.size_query, "the usual pg_total_relation_size query"),
        _ratio(f"agent.sampling.server_time_ratio.{size}", parties.size_query.server_seconds, ours.server_seconds,
               "the usual size query over our whole sample"),
        _ratio(f"agent.sampling.backend_memory_ratio.{size}", [parties.size_query.backend_mib], [ours.backend_mib],
               "the usual size query over our whole sample"),
    ]  # fmt: skip
    if parties.exporter is not None:
        lines += _against_exporter(size, ours, parties.exporter)
    return lines


def _against_exporter(size: str, ours: Cost, theirs: Cost) -> list[Measurement]:
    note = "Debian's exporter with per-table queries, one scrape over one cycle of the whole agent"
    return [
        *_peer(f"peer.exporter.{{}}.{size}", theirs, "Debian's exporter, per-table series"),
        of_runs(f"peer.exporter.cpu_seconds.{size}", theirs.client_seconds, "s", COMMAND),
        _peak(
            f"peer.exporter.rss_mib.{size}",
            [*theirs.cycles_rss_mib, theirs.rss_mib],
            "peak, scraped with gzip as often as the agent has cycles",
        ),
        _ratio(f"agent.vs_exporter.cpu.{size}", theirs.client_seconds, ours.client_seconds, note),
        _ratio(f"agent.vs_exporter.rss.{size}", [theirs.rss_mib], [ours.rss_mib], f"{note}, peak with a plan"),
        _ratio(
            f"agent.vs_exporter.rss_sampling.{size}",
            [theirs.rss_mib],
            ours.cycles_rss_mib[-1:],
            f"{note}, peak before the first plan",
        ),
        _ratio(f"agent.vs_exporter.server_time.{size}", theirs.server_seconds, ours.server_seconds, note),
        _ratio(f"agent.vs_exporter.backend_memory.{size}", [theirs.backend_mib], [ours.backend_mib], note),
    ]


def _peer(name: str, cost: Cost, note: str) -> list[Measurement]:
    return [
        of_runs(name.format("server_seconds"), cost.server_seconds, "s", COMMAND, note=note),
        of_runs(name.format("backend_mib"), [cost.backend_mib], "MiB", COMMAND, note=note),
    ]


def _peak(name: str, peaks: list[float], note: str) -> Measurement:
    """The last of some peaks, each of a window and all before it, and how they grew until then."""
    grown = f"{peaks[0]:.4g} to {peaks[-1]:.4g} while it took {len(peaks)} windows of cycles"
    return Measurement(name=name, value=peaks[-1], unit="MiB", better="lower", command=COMMAND, spread=grown, note=note)


def _ratio(name: str, theirs: list[float], ours: list[float], note: str) -> Measurement:
    ratio = statistics.median(theirs) / max(statistics.median(ours), 1e-9)
    return Measurement(name=name, value=ratio, unit="times", better="higher", command=COMMAND, note=note)


def measurements(*, quick: bool = False) -> list[Measurement]:
    """The figures of both sizes, the plain names are those of the larger one; quick: of 2,000 tables."""
    if not beside.exporter_installed():
        print(f"no figures beside {beside.EXPORTER}: apt install {beside.EXPORTER}", file=sys.stderr)
    if quick:
        return figures(2_000, compare(2_000, every=0.5, windows=QUICK_WINDOWS))
    small, large = figures(10_000, compare(10_000, every=3.0)), figures(50_000, compare(50_000, every=5.0))
    plain = [{**line, "name": line["name"].removesuffix(".50k")} for line in large if line["unit"] == "times"]
    return [*small, *large, *plain]  # type: ignore[list-item]  # a copy of a measurement is one


if __name__ == "__main__":
    print(json.dumps(measurements(quick="--quick" in sys.argv), indent=2))
