"""TPC-C by go-tpc with an eighth and a quarter of the bytes on SSD: what share of the gain of all-SSD is that?

One server. Everything on the hdd; an SSD of 12.5 % with whole units, then with splits as well; the same ledger with the
SSD raised to 25 %; a ledger that begins there, with whole units and with splits; the hdd again; everything on the SSD,
last, because so many orders make the tables another database. Shares lie between the mean of both runs on the hdd,
before and after, since tables age, and all-SSD.

Splits are on where ``border_values`` is and ``maximum_stall`` lets them be: an hour here, as in all of the laboratory.
A plan splits by what a table is read on its quiet days and wants three of them; a run has minutes, so that its present
reads are taken for those of quiet days. Looks come often, as in ``split``.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from statistics import fmean
from unittest.mock import patch

from agent.demo.load import SSD_SPACE
from agent.sampling.picture import Picture
from agent.sampling.sampler import Sampler
from policies.evidence.heat import index_of
from tests.bench.lab.figures import say, table
from tests.bench.lab.hotplace import FULL_POLICY, Hotplace, watching
from tests.bench.lab.pace import Pace
from tests.bench.lab.rig import Rig, running_rig
from tests.bench.lab.split.deciding import looks_come_often
from tests.bench.lab.split.experiment import DEBIAN, OF_DATABASE
from tests.bench.lab.third_party import LOADS, WATCH_SECONDS, measured, output_of, tell, under
from tests.bench.measurement import Measurement

COMMAND = "python -m tests.bench.lab tpcc --quick"
SMALL, LARGE = 0.125, 0.25  # of the bytes at the beginning
SETTLE_SECONDS, LOOK_SECONDS = 60.0, 60.0  # after more room came; of looks into tables
DECIDE_SECONDS, PLANS, BETWEEN_SECONDS = 90.0, 3, 20.0  # of one plan's moves; plans, one after the other
RUN_SECONDS, SHORT_SECONDS = 60.0, 20.0  # of a placement; of all-SSD, which writes a hundred times as much
# Every kind of transaction: of new orders alone a run has 200.
LOAD = replace(next(load for load in LOADS if load.name == "tpcc"), per_second=re.compile(r"tpmTotal: ([\d.]+)"))
HDD, SSD = "all hdd", "all ssd"


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One placement that hotplace makes."""

    name: str
    room: float  # of the bytes
    ledger: str
    watch_seconds: float
    splits: bool = False
    afresh: bool = False  # everything is put on the hdd before


SMALL_WHOLE, SMALL_SPLIT, RAISED = "12.5 %", "12.5 %, splits", "raised to 25 %"
LARGE_WHOLE, LARGE_SPLIT = "25 %", "25 %, splits"
STEPS = (
    Step(name=SMALL_WHOLE, room=SMALL, ledger="one", watch_seconds=WATCH_SECONDS),
    Step(name=SMALL_SPLIT, room=SMALL, ledger="one", watch_seconds=BETWEEN_SECONDS, splits=True),
    Step(name=RAISED, room=LARGE, ledger="one", watch_seconds=SETTLE_SECONDS),
    Step(name=LARGE_WHOLE, room=LARGE, ledger="fresh", watch_seconds=WATCH_SECONDS, afresh=True),
    Step(name=LARGE_SPLIT, room=LARGE, ledger="fresh", watch_seconds=BETWEEN_SECONDS, splits=True),
)


def run(pace: Pace, major: int) -> dict[str, list[float]]:
    """Transactions a second of each placement; both runs of ``HDD``."""
    found: dict[str, list[float]] = {}

    def count(rig: Rig, name: str) -> None:
        ran = measured(rig, LOAD, name)
        found.setdefault(name, []).append(ran.per_second)
        mib = sum(each.size_bytes for each in rig.relations() if each.space == SSD_SPACE) / 2**20
        say(f"  {name}: {ran.per_second:.2f}/s, {mib:.1f} MiB on SSD, load of the machine {os.getloadavg()[0]:.1f}")

    with running_rig(replace(pace, run_seconds=RUN_SECONDS), major=major) as rig:
        rig.disk.switch(False)
        output_of(LOAD.prepare(rig))
        rig.build(("CREATE EXTENSION pg_buffercache",))
        total = rig.total_bytes()
        count(rig, HDD)
        for step in STEPS:
            if step.afresh:
                _place(rig, ())
            rig.give_ssd(int(step.room * total))
            _decide(rig, step)
            count(rig, step.name)
        _place(rig, ())
        count(rig, HDD)
        _place(rig, [each.key for each in rig.relations()])
        rig.pace = replace(rig.pace, run_seconds=SHORT_SECONDS, warm_seconds=pace.warm_again_seconds)
        count(rig, SSD)
    return found


def _place(rig: Rig, keys: Sequence[str]) -> None:
    """By hand, with all the room there is."""
    rig.give_ssd(None)
    rig.place(keys)


def _decide(rig: Rig, step: Step) -> None:
    """Watch the load and carry out what hotplace then plans, plan after plan, as long as it has any."""
    more = OF_DATABASE if step.splits else ""
    with (
        looks_come_often(),
        under(rig, LOAD),
        watching(rig, name=step.ledger, policy=FULL_POLICY, of_database=more) as agent,
        _quiet_days_seen() if step.splits else nullcontext(),
    ):
        agent.observe(step.watch_seconds)
        if step.splits:
            _look(agent)
        for number in range(PLANS):
            planning, moved = agent.decide(strict=False, seconds=DECIDE_SECONDS)
            tell(agent, planning, moved)
            if not planning.plan.moves:
                return
            if number < PLANS - 1:
                agent.observe(BETWEEN_SECONDS)


def _look(agent: Hotplace) -> None:
    until = time.monotonic() + LOOK_SECONDS
    while time.monotonic() < until:
        agent.plan()  # says which units are worth looks
        agent.watch.observing.look_at_blocks()
        time.sleep(1.0)  # or plans would take a processor from the load
    agent.watch.observing.looker.close(save=True)


@contextmanager
def _quiet_days_seen() -> Iterator[None]:
    """Inside, what is read now is taken for what is read on quiet days."""
    picture = Sampler.picture

    def seen(sampler: Sampler) -> Picture | None:
        found = picture(sampler)
        return None if found is None else replace(found, lasting_demand=index_of(found.heat.rates))

    with patch.object(Sampler, "picture", seen):
        yield


def measurements(pace: Pace, major: int = DEBIAN) -> list[Measurement]:
    """Run and report; nothing where go-tpc is not installed."""
    if not LOAD.is_installed:
        say(f"  {LOAD.says} is not installed: python -m tests.components --loads")
        return []
    before = os.getloadavg()[0]
    found = run(pace, major)
    loaded = f"load of the machine {before:.1f} before, {os.getloadavg()[0]:.1f} after; PostgreSQL {major}"
    return figures(found, loaded)


def figures(found: Mapping[str, Sequence[float]], loaded: str) -> list[Measurement]:
    """Print the placements side by side, and report those of whole units with those of splits beside them.

    Args:
        found: transactions a second by placement, as ``run`` gives them.
        loaded: what else ran, in words.
    """
    hdd, ssd = fmean(found[HDD]), found[SSD][0]

    def gained(name: str) -> str:
        rate = fmean(found[name])
        return f"{rate / hdd:.2f} times all-HDD, {1 - 1 / rate * hdd:.0%} of a transaction's time saved"

    def share(name: str) -> float:
        return (fmean(found[name]) - hdd) / (ssd - hdd)

    rows = [(name, f"{fmean(each):.2f}", gained(name), f"{share(name):.2%}") for name, each in found.items()]
    table("TPC-C", ("placement", "transactions/s", "gain", "of all-SSD's gain"), rows)
    both = " and ".join(f"{each:.2f}" for each in found[HDD])
    loaded = f"all-HDD {both}, all-SSD {ssd:.0f} transactions/s ({gained(SSD)}); {loaded}"
    beside = {
        "12_5pct": (SMALL_WHOLE, f"with splits {share(SMALL_SPLIT):.2%}, {gained(SMALL_SPLIT)}"),
        "25pct": (LARGE_WHOLE, f"with splits {share(LARGE_SPLIT):.2%}, {gained(LARGE_SPLIT)}"),
        "raised_to_25pct": (RAISED, f"a ledger that begins with 25 %: {share(LARGE_WHOLE):.2%}, {gained(LARGE_WHOLE)}"),
    }
    return [
        {"name": f"lab.tpcc.share_of_all_ssd_gain_{name}", "value": share(placed), "unit": "of the throughput gain",
         "better": "higher", "command": COMMAND, "note": f"{gained(placed)}; {other}; {loaded}"}
        for name, (placed, other) in beside.items()
    ]  # fmt: skip
