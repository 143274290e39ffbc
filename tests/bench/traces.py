"""hotplace and caches of blocks on loads that nobody here wrote: block accesses recorded on two production machines.

``python -m tests.bench traces --traces FOLDER``: the folder holds ``disk-b.trace.xz`` (32-bit block numbers of about a
week, in order, without times) and ``disk-a.csv.xz`` (I/Os of two hours with times). Both are public traces of
CloudPhysics; nothing of them is kept here. ``libcachesim`` plays LRU, ARC, W-TinyLFU and Belady's optimum
(``python -m tests.components --loads``). ``--table`` prints a table for the documentation, ``--write`` publishes rows.

The blocks of 4 KiB that were touched, in the order of their numbers, are cut into ``UNITS`` units of skewed sizes, as
tables are, and each unit into ``RANGES`` ranges. Hotplace is played by whole units, and with every range as a unit of
its own. The latter is what splits for nothing and without a limit would bring. It is no plan of splits, which are few
and cost copies.

What is true here is true in ``wandering.stage``: an access is one random read that sessions wait for, whether it read
or wrote; copies take their time from the foreground. Reads and bytes are multiplied by the same factor, so that 2,000
reads a second are asked for as in the other plays: so many such machines in step. Disk B has no times, and its accesses
are spread evenly over 168 hours. Five minutes of disk A are played as an hour, since hotplace plans once an hour. All
contestants begin with nothing on the fast tier.

A cache fills a block on every miss; its fills are charged like copies, and the row says what it wins if they are free.
"""

from __future__ import annotations

import argparse
import csv
import importlib
import io
import json
import lzma
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from connectors.model.moves import UnitKind
from connectors.model.observation import I64, NO_PARENT, SIGNALS
from tests.bench.measurement import Measurement
from tests.bench.policies.wandering.fixed import BestFixed
from tests.bench.policies.wandering.frozen import READS
from tests.bench.policies.wandering.page_caches import charged
from tests.bench.policies.wandering.product import Hotplace
from tests.bench.policies.wandering.rules import rankers
from tests.bench.policies.wandering.stage import Score, Stage
from tests.bench.policies.wandering.world import HOUR, World, wait_on_slow
from tests.bench.published import write_rows
from tests.workloads.catalogue import Catalogue

COMMAND = "python -m tests.bench traces --traces FOLDER"
ROWS = "policy.traces."
BLOCK = 4096  # bytes
SECTOR = 512
UNITS = 100
RANGES = 16  # of a unit
SIZE_SPREAD = 1.5  # sigma of the logarithm of the units' sizes, as in tests.workloads.catalogue
SEED = 1
SIZES = (0.0625, 0.125, 0.25)  # of the bytes touched fit the fast tier
SHOWN = 0.125  # in the value of a row; the others stand in its note
WEEK_HOURS = 168
STEP_SECONDS = 300  # of disk A, played as an hour
CACHES = {"LRU": "LRU", "ARC": "ARC", "W-TinyLFU": "WTinyLFU", "Belady's optimum": "Belady"}  # names in libcachesim
UNITS_NAME, RANGES_NAME = "hotplace, whole units", "hotplace, ranges as units"
RULE_NAME = "best of five rules, whole units"
FIXED_UNITS_NAME, FIXED_RANGES_NAME = "best fixed units in hindsight", "best fixed ranges in hindsight"
WORKERS = 2  # the figures do not depend on it
RECORD = [("time", "<u4"), ("block", "<u8"), ("size", "<u4"), ("next", "<i8")]  # libCacheSim's oracleGeneral


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """Block accesses in their order."""

    name: str
    page: I64  # of each access: which of the touched blocks, counted in the order of their numbers
    hour: I64  # of each access, from 0, never falling
    hours: int

    @property
    def pages(self) -> int:
        """Blocks that are touched."""
        return int(self.page.max()) + 1

    @property
    def factor(self) -> float:
        """That reads and bytes are multiplied by."""
        return READS * self.hours * HOUR / len(self.page)


def trace_of(name: str, block: I64, hour: I64, hours: int) -> Trace:
    """From block numbers."""
    _, page = np.unique(block, return_inverse=True)
    return Trace(name=name, page=page.astype(np.int64), hour=hour, hours=hours)


def disk_b(folder: Path) -> Trace:
    """A week, its accesses spread evenly."""
    block = np.frombuffer(lzma.decompress((folder / "disk-b.trace.xz").read_bytes()), dtype="<u4").astype(np.int64)
    return trace_of("disk B", block, np.arange(len(block)) * WEEK_HOURS // len(block), WEEK_HOURS)


def disk_a(folder: Path) -> Trace:
    """Two hours; an I/O is an access to each of its blocks."""
    text = lzma.decompress((folder / "disk-a.csv.xz").read_bytes()).decode("ascii")
    rows = np.array([[int(row[at]) for at in (1, 3, 4)] for row in list(csv.reader(io.StringIO(text)))[1:]])
    second, size, sector = rows.T
    first, last = sector * SECTOR // BLOCK, (sector * SECTOR + np.maximum(size, 1) - 1) // BLOCK
    blocks = last - first + 1
    within = np.arange(blocks.sum()) - np.repeat(np.cumsum(blocks) - blocks, blocks)
    hour = np.maximum.accumulate(np.repeat(second - second[0], blocks)) // STEP_SECONDS
    hours = int((second.max() - second[0]) // STEP_SECONDS)
    return trace_of("disk A", np.repeat(first, blocks) + within, np.minimum(hour, hours - 1), hours)


TRACES: dict[str, Callable[[Path], Trace]] = {"disk B": disk_b, "disk A": disk_a}


def unit_of_pages(pages: int) -> I64:
    """Units that lie one behind the other, ``(pages,)``; none is empty."""
    draw = np.random.default_rng([SEED, pages])
    weight = np.cumsum(draw.lognormal(0.0, SIZE_SPREAD, min(UNITS, pages)))
    start = np.maximum(np.floor(weight / weight[-1] * pages)[:-1].astype(np.int64), np.arange(1, len(weight)))
    return np.searchsorted(start, np.arange(pages), side="right").astype(np.int64)


def range_of_pages(unit: I64) -> I64:
    """``RANGES`` of equal length of each unit, fewer of one with fewer pages, ``(pages,)``; numbered over all units."""
    start = np.flatnonzero(np.diff(unit, prepend=-1))
    pages = np.diff(start, append=len(unit))
    within = (np.arange(len(unit)) - start[unit]) * np.minimum(RANGES, pages)[unit] // pages[unit]
    return np.cumsum(np.diff(within + unit * RANGES, prepend=-1) > 0) - 1


def world_of(trace: Trace, part: I64, share: float) -> World:
    """What is asked of each part, hour by hour.

    Args:
        trace: played.
        part: (pages,) unit or range of each page, numbered without gaps.
        share: of the bytes, that fit the fast tier.
    """
    n = int(part.max()) + 1
    asked = np.bincount(trace.hour * n + part[trace.page], minlength=trace.hours * n).reshape(trace.hours, n)
    size = np.rint(np.bincount(part, minlength=n) * BLOCK * trace.factor).astype(np.int64)
    catalogue = Catalogue(
        key=[f"app.t{row:05d}" for row in range(n)],
        kind=np.full(n, UnitKind.TABLE, dtype=np.int8),
        size_bytes=size,
        parent=np.full(n, NO_PARENT, dtype=np.int64),
        rates=np.zeros((SIGNALS, n)),
    )
    return World(
        name=trace.name, seed=SEED, catalogue=catalogue, factors=np.zeros((trace.hours, n)),
        spot=np.asarray(asked * trace.factor / HOUR, dtype=np.float64),
        size=np.broadcast_to(size, (trace.hours, n)).copy(),
        alive=np.ones((trace.hours, n), dtype=np.bool_), fast_share=share,
    )  # fmt: skip


def next_accesses(page: I64) -> I64:
    """At which access each one's page is asked for again; -1: never."""
    order = np.argsort(page, kind="stable")
    again = page[order][1:] == page[order][:-1]
    following = np.full(len(page), -1, dtype=np.int64)
    following[order[:-1][again]] = order[1:][again]
    return following


def play_caches(trace: Trace, world: World) -> Iterator[tuple[str, Score]]:
    """Each of ``CACHES``, its fills charged like copies.

    Raises:
        ModuleNotFoundError: libcachesim is not installed.
    """
    simulator: Any = importlib.import_module("libcachesim")
    blocks = max(1, int(trace.pages * world.fast_share))
    asked = np.bincount(trace.hour, minlength=trace.hours)
    first = np.concatenate(([0], np.cumsum(asked)))
    slow = np.array([wait_on_slow(world.rates(hour)).sum() for hour in range(trace.hours)])
    with TemporaryDirectory() as folder:
        path = Path(folder) / "trace.oracleGeneral"
        records = np.zeros(len(trace.page), dtype=RECORD)
        records["block"], records["size"], records["next"] = trace.page, 1, next_accesses(trace.page)
        records.tofile(path)
        for name, kind in CACHES.items():
            cache = getattr(simulator, kind)(cache_size=blocks)
            missed = np.zeros(trace.hours)
            for hour in np.flatnonzero(asked).tolist():
                reader = simulator.TraceReader(str(path), simulator.TraceType.ORACLE_GENERAL_TRACE)
                missed[hour] = asked[hour] * cache.process_trace(reader, int(first[hour]), int(asked[hour]))[0]
            inside = 1.0 - missed / np.maximum(1, asked)
            saved = world.saving.sum(axis=1) * inside
            yield name, charged(name, saved, missed * BLOCK * trace.factor, slow)[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """A contestant on one trace with one size of the fast tier; shares of what all on the fast tier saves."""

    trace: str
    contestant: str
    size: float  # of the fast tier, of the bytes touched
    gain: float  # copies paid
    free: float  # copies for nothing
    copied: float  # bytes in either direction, in capacities of the fast tier


def play(trace: Trace, size: float) -> list[Played]:
    """Every contestant."""
    unit = unit_of_pages(trace.pages)
    units, ranges = world_of(trace, unit, size), world_of(trace, range_of_pages(unit), size)
    # The hot ranges of a unit are one move in a plan of splits.
    many = {"maximum_moves": len(ranges.catalogue)}
    rules = [Stage(units).play(rule) for rule in rankers(units)]
    scores = {
        UNITS_NAME: Stage(units).play(Hotplace(units)),
        RANGES_NAME: Stage(ranges).play(Hotplace(ranges, policy=many)),
        RULE_NAME: max(rules, key=lambda score: score.gain),
        FIXED_UNITS_NAME: Stage(units).play(BestFixed(units)),
        FIXED_RANGES_NAME: Stage(ranges).play(BestFixed(ranges)),
        **dict(play_caches(trace, units)),
    }
    most = float(units.saving.sum())
    return [
        Played(
            trace=trace.name, contestant=name, size=size, gain=score.gain / most, free=score.saved_seconds / most,
            copied=score.moved_bytes / units.capacity,
        )
        for name, score in scores.items()
    ]  # fmt: skip


def play_all(folder: Path, workers: int = WORKERS) -> list[Played]:
    """Both traces with each size of the fast tier."""
    tasks = [(name, folder, size) for name in TRACES for size in SIZES]
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        return [played for each in pool.map(_play_task, tasks) for played in each]


def _play_task(task: tuple[str, Path, float]) -> list[Played]:
    name, folder, size = task
    return play(TRACES[name](folder), size)


def figures(played: Sequence[Played]) -> Iterator[Measurement]:
    """A row for each contestant on each trace."""
    for trace, contestant in dict.fromkeys((each.trace, each.contestant) for each in played):
        own = [each for each in played if (each.trace, each.contestant) == (trace, contestant)]
        shown = next(each for each in own if each.size == SHOWN)
        word = "".join(letter if letter.isalnum() else "_" for letter in contestant.lower().replace("'s", ""))
        yield Measurement(
            name=f"{ROWS}{trace.replace(' ', '_').lower()}.{word.replace('__', '_')}", value=shown.gain,
            unit="of what all on the fast tier saves", better="higher", command=COMMAND,
            note=f"{SHOWN:.1%} of the bytes, copies paid; {'; '.join(map(_of_size, own))}",
        )  # fmt: skip


def _of_size(played: Played) -> str:
    return f"{played.size:.4g}: {played.gain:.3f}, copies free {played.free:.3f}, {played.copied:.1f} fast tiers copied"


def table(played: Sequence[Played]) -> str:
    """For the documentation: a row for each contestant on each trace, a column for each size of the fast tier."""
    head = ["load", "who places", *(f"{size * 100:g} % of the bytes" for size in SIZES)]
    lines = [f"| {' | '.join(head)} |", f"|---|---{'|---' * len(SIZES)}|"]
    for trace, contestant in dict.fromkeys((each.trace, each.contestant) for each in played):
        own = [each for each in played if (each.trace, each.contestant) == (trace, contestant)]
        cells = [f"{each.gain:.3f} ({each.free:.3f}), {each.copied:.1f} copied" for each in own]
        lines.append(f"| {trace} | {contestant} | {' | '.join(cells)} |")
    return "\n".join(lines)


def measurements(folder: Path) -> list[Measurement]:
    """The rows, from the folder of the traces."""
    return list(figures(play_all(folder)))


def main(arguments: list[str]) -> int:
    """Print the rows as one line of JSON, or the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.traces", description=__doc__)
    parser.add_argument("folder", type=Path, help="where both traces are")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--workers", type=int, default=WORKERS, metavar="N")
    given = parser.parse_args(arguments)
    played = play_all(given.folder, given.workers)
    rows = list(figures(played))
    if given.write:
        write_rows(rows, outdated=lambda name: name.startswith(ROWS))
    print(table(played) if given.table else json.dumps(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
