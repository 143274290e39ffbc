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
from tests.bench.verify_worlds import CHANGES, NOISES, RHYTHM, SETTLE, SHAPES, Case, make_case

COMMAND = "python -m tests.bench verify"
MOVES = {"none": 1000, "helped": 200, "spill": 200, "hurt": 400}  # by effect, all changes of the load alike
# The same for each shape of noise, by effect and by the days that were seen besides the one that is compared.
AMID = {("none", 2): 300, ("none", 0): 200, ("hurt much", 2): 60, ("hurt much", 0): 60}
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


def judge(case: Case, *, control: bool = False) -> Judged:
    """Look at a move until the verdict can tell; ``control``: statements are known that read nothing of what moved."""
    for look in range(LOOKS):
        minutes = SETTLE * 2**look
        found = effect_of(case.history, case.after.rows(slice(minutes)), case.control if control else None)
        assert found is not None, "a world has enough intervals"
        effect, verdict = found, verdict_of(found, last=look == LOOKS - 1)
        if verdict is not OutcomeVerdict.CANNOT_TELL:
            break
    return Judged(case=case, effect=effect, verdict=verdict, minutes=minutes, plain_hurt=_plain_hurt(case))


def judged_moves(effect: str, count: int, seed: int = SEED, *, days: int = 0) -> Iterator[Judged]:
    """That many moves of one effect, with the changes of the load in turn, after so many days more than one."""
    generator = np.random.default_rng((seed, *effect.encode()))
    for number in range(count):
        yield judge(make_case(generator, effect, CHANGES[number % len(CHANGES)], days=days))


def judged_amid_noise(
    effect: str, shape: str, count: int, *, days: int, control: bool, seed: int = SEED
) -> list[Judged]:
    """That many moves of one effect amid noise of one shape, its kinds in turn, after so many days more than one."""
    generator = np.random.default_rng((seed, days, *effect.encode(), *shape.encode()))
    kinds = [kind for kind, noise in NOISES.items() if noise.shape == shape]
    made = (make_case(generator, effect, kinds[number % len(kinds)], days=days) for number in range(count))
    return [judge(case, control=control) for case in made]


def highest(count: int, of: int) -> float:
    """The upper end of a share, which 95 % of such ends lie above (Clopper and Pearson 1934)."""
    from scipy.special import betaincinv

    return 1.0 if count >= of else float(betaincinv(count + 1, of - count, 0.95))


def _noise_rows(*, quick: bool) -> list[Measurement]:
    """How often noise that lasts for minutes to hours is called hurt, and a fifth more wait is found amid it."""
    rows = []
    for control, name in ((True, "noise"), (False, "noise_alone")):
        of = {
            (effect, days): [
                each
                for shape in SHAPES
                for each in judged_amid_noise(
                    effect, shape, max(1, count // (SMALL if quick else 1)), days=days, control=control
                )
            ]
            for (effect, days), count in AMID.items()
        }
        said = "statements known that read nothing of what moved" if control else "no such statements known"
        rows += _rows_amid(name, said, of)
    return rows


def _rows_amid(name: str, said: str, of: dict[tuple[str, int], list[Judged]]) -> list[Measurement]:
    """Of harmless moves and of those that add a fifth of wait, by how many days were seen besides one."""
    hurt, helped = OutcomeVerdict.HURT, OutcomeVerdict.HELPED
    none, one_day, much, much_one_day = (of[key] for key in AMID)
    found = [each.minutes / 60 for each in much if each.verdict is hurt]
    when = f"found after {np.median(found):.2g} h in the median" if found else "none found"
    rows: list[Measurement] = [
        {
            "name": f"verify.{name}_false_{verdict.value}", "value": _share_of(none, verdict), "unit": "share",
            "better": "lower", "command": COMMAND,
            "note": f"{'goal 0.01; ' if verdict is hurt else ''}{said}; of moves without effect, three days seen "
            f"before: {_said(none, verdict)}; {_by_noise(none, verdict)}; one day seen: {_said(one_day, verdict)}",
        }
        for verdict in (hurt, helped)
    ]  # fmt: skip
    rows.append({
        "name": f"verify.{name}_detect_hurt", "value": _share_of(much, hurt), "unit": "share", "better": "higher",
        "command": COMMAND,
        "note": f"goal 0.9; {said}; of moves that add 20 % wait, three days seen before, {when}: "
        f"{_said(much, hurt, missed=True)}; {_by_noise(much, hurt, missed=True)}; called helped "
        f"{_share_of(much, helped):.3f}; one day seen: {_said(much_one_day, hurt, missed=True)}",
    })  # fmt: skip
    return rows


def _share_of(some: list[Judged], verdict: OutcomeVerdict) -> float:
    return sum(each.verdict is verdict for each in some) / len(some)


def _said(some: list[Judged], verdict: OutcomeVerdict, *, missed: bool = False) -> str:
    """How many there are, and the end of the share that tells against it; ``missed``: the lower one."""
    return share_with_end(sum(each.verdict is verdict for each in some), len(some), missed=missed)


def share_with_end(count: int, of: int, *, missed: bool = False) -> str:
    """A share with the end that tells against it."""
    end = f"at least {1 - highest(of - count, of):.3f}" if missed else f"at most {highest(count, of):.3f}"
    return f"{count} of {of} ({end} at 95 %)"


def _by_noise(some: list[Judged], verdict: OutcomeVerdict, *, missed: bool = False) -> str:
    """By shape of the noise, and by how long it lasts."""
    kinds = {each.case.change: NOISES[each.case.change] for each in some}
    by = [(noise.shape, kind) for kind, noise in kinds.items()]
    by += [(_length_of(noise.minutes), kind) for kind, noise in kinds.items() if noise.shape != RHYTHM]
    found = []
    for group in dict.fromkeys(group for group, _ in by):
        among = {kind for other, kind in by if other == group}
        those = [each for each in some if each.case.change in among]
        found.append(f"{group} {_said(those, verdict, missed=missed)}")
    return ", ".join(found)


def _length_of(minutes: int) -> str:
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h"


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
    three_days = list(judged_moves("hurt", len(of["hurt"]), days=2))

    def row(name: str, value: float, better: str, note: str) -> Measurement:
        return {"name": name, "value": value, "unit": "share", "better": better, "command": COMMAND, "note": note}  # type: ignore[typeddict-item]

    hurt, helped, tell = OutcomeVerdict.HURT, OutcomeVerdict.HELPED, OutcomeVerdict.CANNOT_TELL
    by_change = ", ".join(
        f"{change} {np.mean([each.holds for each in found if each.case.change == change]):.2f}" for change in CHANGES
    )
    hours, most = np.median([each.minutes for each in found]) / 60, SETTLE * 2 ** (LOOKS - 1) / 60
    return [
        row("verify.coverage", float(np.mean([each.holds for each in found])), "higher",
            f"of 90 % intervals at the verdict hold the true effect, {len(found)} moves; {by_change}"),
        row("verify.false_hurt", _share_of(of["none"], hurt), "lower",
            f"of {len(of['none'])} moves without effect; false helped {_share_of(of['none'], helped):.3f}"),
        row("verify.plain_false_hurt", float(np.mean([each.plain_hurt for each in of["none"]])), "lower",
            "of the same moves, by wait per transaction before and after"),
        row("verify.detect_hurt", _share_of(of["hurt"], hurt), "higher",
            f"of {len(of['hurt'])} moves that add 10 % wait; {_share_of(known, hurt):.2f} of {len(known)} at loads "
            f"that were seen before; called neutral {_share_of(of['hurt'], OutcomeVerdict.NEUTRAL):.3f}; one day was "
            f"seen before, of as many after three {_share_of(three_days, hurt):.3f}"),
        row("verify.cannot_tell", _share_of(found, tell), "lower",
            f"of all moves, after {most:g} hours at most; median time to the verdict {hours:.2g} h; "
            + ", ".join(f"{effect} {_share_of(some, tell):.2f}" for effect, some in of.items())),
        *_noise_rows(quick=quick),
    ]  # fmt: skip
