"""Gains by day, means of a shape's seeds, and of each seed in all: what the documentation's figure and table show."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import TypedDict

from tests.bench.policies.wandering.frozen import DELAY_HOURS
from tests.bench.policies.wandering.stage import Score
from tests.bench.policies.wandering.table import HINDSIGHT, Play, by_shape

PATH = Path(__file__).parents[2] / "wandering_days.json"


class Days(TypedDict):
    """One shape: session seconds won on each day, copies paid for."""

    seeds: list[int]
    most: list[int]  # that no placement of units can exceed
    gains: dict[str, list[int]]  # by contestant
    totals: dict[str, list[int | None]]  # by contestant, of each seed over all days; None: not played with it


def days_of(played: Sequence[Play]) -> dict[str, Days]:
    """By shape."""
    return {shape: _days(plays) for shape, plays in by_shape(played)}


def _days(plays: Sequence[Play]) -> Days:
    plays = sorted(plays, key=lambda play: play.seed)
    by_seed = [dict(_contestants(play)) for play in plays]
    names = dict.fromkeys(name for contestants in by_seed for name in contestants)
    return Days(
        seeds=[play.seed for play in plays],
        most=_means([play.most for play in plays]),
        gains={name: _means([scores[name].days for scores in by_seed if name in scores]) for name in names},
        totals={
            HINDSIGHT: [round(play.most_paid) for play in plays],
            **{name: [round(scores[name].gain) if name in scores else None for scores in by_seed] for name in names},
        },
    )


def _contestants(play: Play) -> list[tuple[str, Score]]:
    delayed = [(f"hotplace +{DELAY_HOURS} h", play.delayed)] if play.delayed else []
    rules = [(rule.policy, rule) for rule in (*play.rules, play.equal_pages, play.fixed, *play.caches)]
    return [("hotplace", play.product), *delayed, *rules]


def with_totals(days: Days, totals: Mapping[str, Mapping[int, int]]) -> Days:
    """With more contestants, by name and seed; what was published of other seeds with them stays."""
    kept = {name: dict(zip(days["seeds"], days["totals"].get(name, []), strict=False)) for name in totals}
    more = {name: [{**kept[name], **of}.get(seed) for seed in days["seeds"]] for name, of in totals.items()}
    return Days(seeds=days["seeds"], most=days["most"], gains=days["gains"], totals={**days["totals"], **more})


def _means(series: Sequence[Sequence[float]]) -> list[int]:
    return [round(fmean(day)) for day in zip(*series, strict=True)]


def write(days: dict[str, Days], path: Path) -> None:
    """One line for each contestant of a shape, so that a change can be read."""
    shapes = ",\n".join(f"{json.dumps(shape)}: {_lines(of)}" for shape, of in days.items())
    path.write_text(f"{{\n{shapes}\n}}\n", encoding="utf-8")


def _lines(days: Days) -> str:
    gains, totals = (
        ",\n".join(f"  {json.dumps(name)}: {json.dumps(values)}" for name, values in of.items())
        for of in (days["gains"], days["totals"])
    )
    head = f'{{"seeds": {days["seeds"]}, "most": {days["most"]}'
    return f'{head}, "gains": {{\n{gains}\n}}, "totals": {{\n{totals}\n}}}}'


def read(path: Path) -> dict[str, Days]:
    """As it was written."""
    days: dict[str, Days] = json.loads(path.read_text(encoding="utf-8"))
    return days
