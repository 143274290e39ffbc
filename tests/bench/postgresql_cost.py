"""What watching 10,000 and 50,000 real PostgreSQL tables costs, beside what sites run today, on one server in one run.

Each table has a key and a TOAST table: 40,000 and 200,000 relations. ``hotplace run`` samples, Debian's exporter is
scraped for per-table series, the usual size query runs. Processor time and memory are those of the processes, from
/proc: the whole agent with its plan, ledger and metrics, not the sampler alone.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import psycopg

from tests.bench import beside
from tests.bench.beside import Cost, Program
from tests.bench.many_tables import server_with, touch
from tests.bench.measurement import Measurement, of_runs

COMMAND = "python -m tests.bench.postgresql_cost"
WINDOWS, QUICK_WINDOWS = 5, 3  # measured, each of several of the agent's cycles
CYCLES_PER_WINDOW = 3


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
            _await_cycles(url, 2)  # the first reads the catalog, the second has the first demand
            for turn in range(windows):
                touch(observer, tables, turn)
                ours.measure(lambda: _await_cycles(url, CYCLES_PER_WINDOW))
            _await_cycles_after_a_plan(url)
            ours.measure_memory()
        theirs = None
        if beside.exporter_installed():
            with beside.exporter(folder, server, observer) as (peer, url):
                theirs = _scraped(peer, url, windows)
        return Parties(ours.cost, theirs, beside.size_query(server, windows))


def _await_cycles(url: str, wanted: int) -> int:
    """Wait until the agent has taken that many more samples; how many it took."""
    first = beside.cycles(beside.answer(url))
    while (done := beside.cycles(beside.answer(url)) - first) < wanted:
        time.sleep(0.2)
    return done


def _await_cycles_after_a_plan(url: str) -> None:
    """Wait until the agent has planned and sampled on: the peak of its memory is behind it."""
    while not beside.has_planned(beside.answer(url)):
        time.sleep(0.2)
    _await_cycles(url, 2)


def _scraped(peer: Program, url: str, windows: int) -> Cost:
    """The exporter, scraped once to warm up and then window by window."""
    beside.answer(url)

    def scrape() -> int:
        beside.answer(url)
        return 1

    for _ in range(windows):
        peer.measure(scrape)
    return peer.cost


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
        of_runs(f"agent.process_rss_sampling_mib.{size}", [ours.cycles_rss_mib], "MiB", COMMAND,
                note="peak before its first plan: catalog, samples, heat, history, metrics"),
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
        of_runs(f"peer.exporter.rss_mib.{size}", [theirs.rss_mib], "MiB", COMMAND),
        _ratio(f"agent.vs_exporter.cpu.{size}", theirs.client_seconds, ours.client_seconds, note),
        _ratio(f"agent.vs_exporter.rss.{size}", [theirs.rss_mib], [ours.rss_mib], f"{note}, peak with a plan"),
        _ratio(
            f"agent.vs_exporter.rss_sampling.{size}",
            [theirs.rss_mib],
            [ours.cycles_rss_mib],
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
