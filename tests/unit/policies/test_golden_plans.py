"""Plans of seeded situations are as they were: the same moves in the same order, each with the same value.

Situations of every kind, for all that weighs in a wait: pages of LOBs and indexes, reads ahead as each engine counts
them, writes, fitted speeds with their errors, pins, bundles, guards, three tiers, limits of a tier, and every mode.
``python -m tests.unit.policies.test_golden_plans`` writes the file anew after a change that is meant.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from connectors.model.moves import UnitKind
from policies.model.plan import Plan, Situation
from policies.model.settings import Pin, PolicySettings, TierLimits
from policies.placement.dispatch import Capacity, Drain, Hsm, HsmSubtype, Mode, Preference, Usage, plan_mode
from tests.unit.policies.situations import HDD, MIB, NVME, SSD, Site, Unit

FILE = Path(__file__).with_name("golden_plans.json")
KEPT = 40
TWO = (("ssd", SSD, ("fast",)), ("hdd", HDD, ("slow",)))
FOUR_SPACES = (("ssd", SSD, ("fast", "fast2")), ("hdd", HDD, ("slow", "slow2")))
THREE = (("nvme", NVME, ("fast",)), ("ssd", SSD, ("middle",)), ("hdd", HDD, ("slow",)))
MODES: tuple[Mode, ...] = (
    Hsm(), Hsm(), Hsm(), Hsm(), Hsm(subtype=HsmSubtype.SSD), Hsm(subtype=HsmSubtype.HDD), Usage(), Capacity(),
    Preference(), Drain(space="slow"),
)  # fmt: skip
AHEAD = (0.3, 0.0, 0.3, 1.0)  # what waits behind reads ahead count: PostgreSQL's, the other engines', as configured


def case(seed: int) -> tuple[Situation, PolicySettings, Mode]:
    """What that seed's plan is made of."""
    dice = random.Random(seed)
    tiers = dice.choice((TWO, TWO, FOUR_SPACES, THREE))
    spaces = [space for _, _, names in tiers for space in names]
    units = [_unit(dice, spaces, at) for at in range(dice.choice((3, 12, 40, 90)))]
    rooms = {space: dice.choice((0, 40, 300, 3000, None)) for space in spaces}
    rooms[spaces[-1]] = 10**7
    site = Site(
        room={space: None if room is None else room * MIB for space, room in rooms.items()},
        tiers=[(name, _speed(dice, speed), names) for name, speed, names in tiers],
        no_route={dice.choice(units).key: "it is locked"} if dice.random() < 0.3 else {},
    )
    situation = site.situation(units)
    if dice.random() < 0.4:
        errors = np.array([dice.uniform(0.0, 0.5) for _ in units])
        situation = replace(situation, heat=replace(situation.heat, error=errors))
    if dice.random() < 0.3:
        limits = TierLimits(io_per_second=dice.uniform(50, 20_000), raid=dice.choice((None, 1, 5)))
        first = replace(situation.tiers[0], limits=limits)
        situation = replace(situation, tiers=(first, *situation.tiers[1:]))
    return situation, _settings(dice), dice.choice(MODES)


def _unit(dice: random.Random, spaces: Sequence[str], at: int) -> Unit:
    heat = 10 ** dice.uniform(-2, 2)
    space = dice.choice((*spaces, spaces[-1]))
    return Unit(
        key=f"u{at}", size=int(10 ** dice.uniform(-1, 2.3) * MIB), space=space, sync=heat,
        kind=dice.choice(list(UnitKind)),
        prefetched=dice.choice((0.0, 0.0, 20.0 * heat)),
        writes=dice.choice((0.0, heat)),
        log_writes=dice.choice((0.0, 0.0, 0.0, heat / 10)),
        logical=dice.choice((None, None, 1e5)),
        pin=dice.choice((*[Pin.NONE] * 12, *Pin)),
        cooling=dice.choice((0.0, 0.0, 0.0, 60.0)),
        observed=dice.choice((1e6, 1e6, 1e6, 60.0)),
        bundle=sum(space.encode()) if dice.random() < 0.1 else None,
        wide=f"half of {space}" if dice.random() < 0.1 else "",
    )  # fmt: skip


def _speed(dice: random.Random, speed: Any) -> Any:
    """As configured, or as fitted to what was measured."""
    if dice.random() < 0.5:
        return speed
    factor = dice.uniform(0.5, 2.0)
    return replace(
        speed, measured=True, error_ratio=dice.uniform(0.0, 0.4),
        random_read_seconds=speed.random_read_seconds * factor,
        sequential_read_seconds=speed.sequential_read_seconds * factor,
    )  # fmt: skip


def _settings(dice: random.Random) -> PolicySettings:
    return PolicySettings(
        prefetched_wait_share=dice.choice(AHEAD),
        write_wait_share=dice.choice((0.0, 0.0, 0.2)),
        head_room_ratio=dice.choice((0.0, 0.1)),
        minimum_wait_saved_per_hour=dice.choice((0.0, 1.0, 100.0)),
        resident_bonus=dice.choice((1.0, 1.05, 1.5)),
        maximum_moves=dice.choice((2, 10, 50)),
        turnover_per_week=dice.choice((None, None, 0.5)),
        certainty=dice.choice((0.5, 0.9)),
    )


def said(plan: Plan) -> dict[str, Any]:
    """What is kept of a plan: each move with what it saves and how long its copy takes, and all that it is worth."""
    return {
        "moves": [
            [move.key, move.from_space, move.to_space, move.reason.value, move.group, move.wait_saved_per_hour,
             move.copy_seconds]
            for move in plan.moves
        ],
        "verdicts": "".join(chr(ord("a") + int(verdict)) for verdict in plan.verdict),
        "values": [
            plan.wait_per_hour, plan.wait_saved_per_hour, plan.bound_per_hour, plan.wait_saved_low_per_hour,
            plan.wait_saved_high_per_hour, float(plan.benefit_per_hour.sum()), float(plan.wait_saved_if_moved.sum()),
        ],
    }  # fmt: skip


def made(seed: int) -> dict[str, Any]:
    """What is kept of that seed's plan, made now."""
    situation, settings, mode = case(seed)
    if isinstance(mode, Drain):
        mode = Drain(space=situation.spaces[-1].name)
    return said(plan_mode(situation, settings, mode))


KEPT_PLANS: Mapping[str, Any] = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}


@pytest.mark.parametrize("seeds", [range(at, KEPT, 10) for at in range(10)], ids=str)
def test_plans_are_as_they_were(seeds: range) -> None:
    """Move by move and in order; values to nine digits."""
    for seed in seeds:
        now, kept = made(seed), KEPT_PLANS[str(seed)]
        assert [move[:5] for move in now["moves"]] == [move[:5] for move in kept["moves"]], seed
        assert now["verdicts"] == kept["verdicts"], seed
        for new, old in zip(now["moves"], kept["moves"], strict=True):
            assert new[5:] == pytest.approx(old[5:], rel=1e-9), seed
        assert now["values"] == pytest.approx(kept["values"], rel=1e-9, nan_ok=True), seed


if __name__ == "__main__":
    lines = [f"{json.dumps(str(seed))}: {json.dumps(made(seed))}" for seed in range(KEPT)]
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
