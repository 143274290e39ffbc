"""Do outcomes tell the truth? Moves with known effects in worlds whose load, mix and season change with the move.

Each verdict is reached as the agent does: at the first look that can tell, or at the last. Next to it a plain
before-and-after of the wait per transaction, by the same margin.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from agent.model.outcomes import OutcomeVerdict
from agent.moving.effect import LEAST_CHANGE, LOOKS, Effect, effect_of, verdict_of
from tests.bench.measurement import Measurement
from tests.bench.verify_worlds import CHANGES, DAYS_BEFORE, NOISES, SETTLE, Case, make_case

COMMAND = "python -m tests.bench verify"
MOVES = {"none": 1000, "helped": 200, "spill": 200, "hurt": 400}  # by effect, all changes of the load alike
NOISY = {"none": 200, "hurt much": 100}  # the same for each kind of noise that lasts, after three days
SMALL = 12  # times fewer
SEED = 2024  # what decides was chosen on worlds of another one


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What was found of one move."""

    case: Case
    effect: Effect
    verdict: OutcomeVerdict
    minutes: int  # that were measured
    plain_hurt: bool  # by a plain before-and-after at the first look

    @property
    def holds(self) -> bool:
        """Whether the interval holds the true effect."""
        low, high = self.effect.ends()
        return low <= math.expm1(self.case.truth[self.minutes - 1]) <= high


def judge(case: Case, seed: int, *, control: bool = False) -> Judged:
    """Look at a move until the verdict can tell; ``control``: statements are known that read nothing of what moved."""
    for look in range(LOOKS):
        minutes = SETTLE * 2**look
        beside = case.control if control else None
        found = effect_of(case.before, case.after.rows(slice(minutes)), case.history, seed, beside)
        assert found is not None, "a world has enough intervals"
        effect, verdict = found, verdict_of(found, last=look == LOOKS - 1)
        if verdict is not OutcomeVerdict.CANNOT_TELL:
            break
    return Judged(case=case, effect=effect, verdict=verdict, minutes=minutes, plain_hurt=_plain_hurt(case))


def judged_moves(effect: str, count: int, seed: int = SEED) -> Iterator[Judged]:
    """That many moves of one effect, with the changes of the load in turn."""
    generator = np.random.default_rng((seed, *effect.encode()))
    for number in range(count):
        yield judge(make_case(generator, effect, CHANGES[number % len(CHANGES)]), number)


def judged_amid_noise(effect: str, change: str, count: int, seed: int = SEED, *, control: bool = True) -> list[Judged]:
    """That many moves of one effect where noise of one kind lasts, and three days were seen before."""
    generator = np.random.default_rng((seed, *effect.encode(), *change.encode()))
    made = (make_case(generator, effect, change, days=DAYS_BEFORE) for _ in range(count))
    return [judge(case, number, control=control) for number, case in enumerate(made)]


def _noise_rows(*, quick: bool) -> list[Measurement]:
    """How often noise that lasts for minutes to hours is called hurt, and a fifth more wait is found amid it."""
    few, hurt = SMALL if quick else 1, OutcomeVerdict.HURT
    kinds = (*NOISES, "neighbour")

    def shares(effect: str, *, control: bool) -> dict[str, float]:
        some = {kind: judged_amid_noise(effect, kind, NOISY[effect] // few, control=control) for kind in kinds}
        hours.extend(each.minutes / 60 for found in some.values() for each in found if each.verdict is hurt)
        return {kind: sum(each.verdict is hurt for each in found) / len(found) for kind, found in some.items()}

    rows: list[Measurement] = []
    for control, name, said in (
        (True, "noise", "statements known that read nothing of what moved"),
        (False, "noise_alone", "no such statements known"),
    ):
        hours: list[float] = []
        false, right = shares("none", control=control), shares("hurt much", control=control)
        by_change = [", ".join(f"{change} {share:.3f}" for change, share in each.items()) for each in (false, right)]
        after = f"found after {np.median(hours):.2g} h in the median" if hours else "none found"
        rows += [
            {"name": f"verify.{name}_false_hurt", "value": max(false.values()), "unit": "share", "better": "lower",
             "command": COMMAND,
             "note": f"goal 0.01; {said}; the worst kind of noise, of moves without effect: {by_change[0]}"},
            {"name": f"verify.{name}_detect_hurt", "value": float(np.mean(list(right.values()))), "unit": "share",
             "better": "higher", "command": COMMAND,
             "note": f"goal 0.9; {said}; of moves that add 20 % wait, three days seen before, {after}: {by_change[1]}"},
        ]  # fmt: skip
    return rows


def _plain_hurt(case: Case) -> bool:
    """Whether wait per transaction has risen by the margin."""
    was, now = (
        evidence.waited.sum() / work.sum()
        for evidence, work in (
            (case.before, case.transactions_before),
            (case.after.rows(slice(SETTLE)), case.transactions_after[:SETTLE]),
        )
    )
    return bool(now >= was * (1 + LEAST_CHANGE))


def measurements(*, quick: bool = False) -> list[Measurement]:
    """How often intervals hold and verdicts are right."""
    found = [each for effect, count in MOVES.items() for each in judged_moves(effect, count // (SMALL if quick else 1))]
    of = {effect: [each for each in found if each.case.effect == effect] for effect in MOVES}
    known = [each for each in of["hurt"] if each.effect.outside < 0.2]

    def share(some: list[Judged], verdict: OutcomeVerdict) -> float:
        return sum(each.verdict is verdict for each in some) / len(some)

    def row(name: str, value: float, better: str, note: str) -> Measurement:
        return {"name": name, "value": value, "unit": "share", "better": better, "command": COMMAND, "note": note}  # type: ignore[typeddict-item]

    hurt, tell = OutcomeVerdict.HURT, OutcomeVerdict.CANNOT_TELL
    by_change = ", ".join(
        f"{change} {np.mean([each.holds for each in found if each.case.change == change]):.2f}" for change in CHANGES
    )
    hours, most = np.median([each.minutes for each in found]) / 60, SETTLE * 2 ** (LOOKS - 1) / 60
    return [
        row("verify.coverage", float(np.mean([each.holds for each in found])), "higher",
            f"of 90 % intervals at the verdict hold the true effect, {len(found)} moves; {by_change}"),
        row("verify.false_hurt", share(of["none"], hurt), "lower",
            f"of {len(of['none'])} moves without effect; false helped {share(of['none'], OutcomeVerdict.HELPED):.3f}"),
        row("verify.plain_false_hurt", float(np.mean([each.plain_hurt for each in of["none"]])), "lower",
            "of the same moves, by wait per transaction before and after"),
        row("verify.detect_hurt", share(of["hurt"], hurt), "higher",
            f"of {len(of['hurt'])} moves that add 10 % wait; {share(known, hurt):.2f} of {len(known)} at loads that "
            f"were seen before; called neutral {share(of['hurt'], OutcomeVerdict.NEUTRAL):.3f}"),
        row("verify.cannot_tell", share(found, tell), "lower",
            f"of all moves, after {most:g} hours at most; median time to the verdict {hours:.2g} h; "
            + ", ".join(f"{effect} {share(some, tell):.2f}" for effect, some in of.items())),
        *_noise_rows(quick=quick),
    ]  # fmt: skip
