"""The figures of splitting, from the cases and from the faults."""

from __future__ import annotations

from collections.abc import Sequence

from tests.bench.lab.figures import say, table
from tests.bench.lab.hotplace import NotPlaced
from tests.bench.lab.pace import Pace
from tests.bench.lab.split import experiment, faults
from tests.bench.lab.split.experiment import DEBIAN, Found
from tests.bench.lab.split.faults import Survived
from tests.bench.measurement import Measurement

COMMAND = "python -m tests.bench.lab split"
GOAL = 0.8
COLUMNS = ("case", "split", "hindsight", "without", "gain", "share", "took", "stall", "lost")


def measurements(pace: Pace, major: int = DEBIAN) -> list[Measurement]:
    """Run and report: the cases next to each other, then one fault after the other.

    Raises:
        NotPlaced: no table was split, so there is nothing to compare.
    """
    found = experiment.run(pace, major=major)
    table(f"tables split under load, PostgreSQL {major} (transactions/s)", COLUMNS, [_row(each) for each in found])
    for each in found:
        say(f"  {each.case.name}: {each.says}")
    split = [each for each in found if each.turns]
    if not split:
        raise NotPlaced("; ".join(f"{each.case.name}: {each.says}" for each in found))
    survived = faults.run(pace, major)
    return [*_gains(split, major), _stall(split), _lost(found, survived), _judged(found)]


def _gains(split: Sequence[Found], major: int) -> list[Measurement]:
    worst = min(split, key=lambda each: each.gain_share)
    lines = [
        Measurement(
            name=f"lab.inside.gain_share.{each.case.name.replace(' ', '_')}", value=each.gain_share,
            unit="of block-wise hindsight", better="higher", command=COMMAND,
            note=f"{each.gain:.1f} times the throughput without the split, {each.ssd_bytes / 2**20:.0f} MiB on the "
                 f"SSD; median of {len(each.turns)} runs; {each.state}; PostgreSQL {major}",
        )
        for each in split
    ]  # fmt: skip
    whole = Measurement(
        name="lab.inside.gain_share", value=worst.gain_share, unit="of block-wise hindsight", better="higher",
        command=COMMAND, note=f"goal {GOAL}; the worst of {len(split)}: {worst.case.name}",
    )  # fmt: skip
    return [*lines, whole]


def _stall(split: Sequence[Found]) -> Measurement:
    longest = max(split, key=lambda each: each.stall)
    each_case = ", ".join(f"{each.case.name} {each.stall:.2f} s of {each.seconds:.0f} s" for each in split)
    return Measurement(
        name="lab.inside.stall_seconds_max", value=longest.stall, unit="s", better="lower", command=COMMAND,
        note=f"longest time without the end of a transaction while the split ran: {each_case}; at most "
             f"{longest.usual_stall:.2f} s before it; rows that are there move under a lock, without growth alone",
    )  # fmt: skip


def _lost(found: Sequence[Found], survived: Sequence[Survived]) -> Measurement:
    lost = [*(each.lost for each in found), *(each.lost for each in survived)]
    wrong = ", ".join(f"{each.fault}, a statement {each.step}: {each.says}" for each in survived if not each.good)
    return Measurement(
        name="lab.inside.rows_lost", value=sum(lost), unit="rows", better="lower", command=COMMAND,
        note=f"goal 0; not as they were written, or there and never written; {len(found)} cases, agent killed and "
             f"server stopped in each of {len(faults.Step)} kinds of statement, not well: {wrong or 'none'}",
    )  # fmt: skip


def _judged(found: Sequence[Found]) -> Measurement:
    right = [each for each in found if each.case.splits in (None, bool(each.turns))]
    return Measurement(
        name="lab.inside.split_or_not", value=len(right), unit=f"of {len(found)}", better="higher", command=COMMAND,
        note="; ".join(f"{each.case.name}: {'split' if each.turns else 'not split'}" for each in found),
    )  # fmt: skip


def _row(found: Found) -> tuple[str, ...]:
    if not found.turns:
        return (found.case.name, *(["-"] * (len(COLUMNS) - 2)), str(found.lost))
    rates = map(found.per_second, ("split", "hindsight", "without"))
    return (
        found.case.name, *(f"{rate:,.0f}" for rate in rates), f"{found.gain:.1f}", f"{found.gain_share:.2f}",
        f"{found.seconds:.0f} s", f"{found.stall:.2f} s", str(found.lost),
    )  # fmt: skip
