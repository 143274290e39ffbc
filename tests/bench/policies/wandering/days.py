"""Gains by day, means of a shape's seeds: what the figure of the documentation is drawn from."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import TypedDict

from tests.bench.policies.wandering.frozen import DELAY_HOURS
from tests.bench.policies.wandering.stage import Score
from tests.bench.policies.wandering.table import Play, by_shape

PATH = Path(__file__).parents[2] / "wandering_days.json"


class Days(TypedDict):
    """One shape: session seconds won on each day, copies paid for."""

    seeds: list[int]
    most: list[int]  # that no placement of units can exceed
    gains: dict[str, list[int]]  # by contestant


def days_of(played: Sequence[Play]) -> dict[str, Days]:
    """By shape."""
    return {shape: _days(plays) for shape, plays in by_shape(played)}


def _days(plays: Sequence[Play]) -> Days:
    gains: dict[str, list[tuple[float, ...]]] = {}
    for play in plays:
        for name, score in _contestants(play):
            gains.setdefault(name, []).append(score.days)
    return Days(
        seeds=sorted(play.seed for play in plays),
        most=_means([play.most for play in plays]),
        gains={name: _means(days) for name, days in gains.items()},
    )


def _contestants(play: Play) -> list[tuple[str, Score]]:
    delayed = [(f"hotplace +{DELAY_HOURS} h", play.delayed)] if play.delayed else []
    rules = [(rule.policy, rule) for rule in (*play.rules, play.equal_pages, play.fixed)]
    return [("hotplace", play.product), *delayed, *rules]


def _means(series: Sequence[Sequence[float]]) -> list[int]:
    return [round(fmean(day)) for day in zip(*series, strict=True)]


def write(days: dict[str, Days], path: Path) -> None:
    """One line for each contestant of a shape, so that a change can be read."""
    shapes = ",\n".join(f"{json.dumps(shape)}: {_lines(of)}" for shape, of in days.items())
    path.write_text(f"{{\n{shapes}\n}}\n", encoding="utf-8")


def _lines(days: Days) -> str:
    gains = ",\n".join(f"  {json.dumps(name)}: {json.dumps(gain)}" for name, gain in days["gains"].items())
    return f'{{"seeds": {days["seeds"]}, "most": {days["most"]}, "gains": {{\n{gains}\n}}}}'


def read(path: Path) -> dict[str, Days]:
    """As it was written."""
    days: dict[str, Days] = json.loads(path.read_text(encoding="utf-8"))
    return days
