"""What hotplace forecasts for a placement, as its command line prints it: ``plan`` of its own, pins of a given one."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from agent.demo.load import SSD_SPACE

SECONDS = 120.0  # that a command may take at most


class Unanswered(Exception):
    """The command failed, or planned another placement than it was asked for; the message says how."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What users read next to a plan: throughput and read wait once its moves are done."""

    per_second: float
    low: float
    high: float
    read_wait: float  # seconds a transaction

    @classmethod
    def of(cls, document: dict[str, Any]) -> Answer:
        """From the JSON of ``plan``, ``balance`` or ``show``.

        Raises:
            Unanswered: it says that nothing is forecast.
        """
        found = document["forecast"]
        if found["why_not"] is not None:
            raise Unanswered(f"not forecast: {found['why_not']}")
        return cls(
            per_second=found["per_second"],
            low=found["per_second_low"],
            high=found["per_second_high"],
            read_wait=found["read_wait_per_transaction_seconds"] or math.nan,
        )


def hotplace(config: Path, *arguments: str) -> dict[str, Any]:
    """Run ``hotplace ARGUMENTS --json`` in a process of its own; its document.

    Raises:
        Unanswered: it did not end well.
    """
    program = [sys.executable, "-c", "from agent.cli.main import main; main()", "--config", str(config)]
    done = subprocess.run([*program, *arguments, "--json"], capture_output=True, text=True, timeout=SECONDS)
    if done.returncode:
        raise Unanswered(f"hotplace {' '.join(arguments)}: {done.stdout}{done.stderr}")
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def ask(config: Path, keys: Collection[str], units: Collection[str]) -> Answer:
    """The forecast of a placement: ``plan --mode preference`` with everything pinned on or off the SSD.

    Args:
        config: of the agent that has watched; its ledger is read, and the room of its SSD is not counted.
        keys: of the units on the SSD; all others of ``units`` are on the hdd now and stay there.
        units: of all units.

    Raises:
        Unanswered: it planned something else.
    """
    document = hotplace(_pinned(config, keys, units), "plan", "--mode", "preference")
    moved = {unit for move in document["moves"] for unit in move["units"]}
    if moved != set(keys):
        raise Unanswered(f"asked for {sorted(keys)} on the SSD, planned {sorted(moved)}")
    return Answer.of(document)


def _pinned(config: Path, keys: Collection[str], units: Collection[str]) -> Path:
    """The same configuration in a file of its own, with a pin for each unit and room for all of them."""
    values = yaml.safe_load(config.read_text(encoding="utf-8"))
    database = values["databases"][0]
    database["pins"] = [{"unit": unit, "pin": "must" if unit in keys else "never"} for unit in sorted(units)]
    for tier in database["tiers"]:
        tier["spaces"] = [
            {"name": SSD_SPACE, "capacity": "1 TiB"} if _named(space) == SSD_SPACE else space
            for space in tier["spaces"]
        ]
    path = config.with_name(f"pinned-{config.name}")
    path.touch(mode=0o600)
    path.write_text(yaml.safe_dump(values), encoding="utf-8")
    return path


def _named(space: Any) -> str:  # a name, or a mapping with one
    return str(space["name"]) if isinstance(space, dict) else str(space)
