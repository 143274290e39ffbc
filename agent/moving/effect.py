"""What moves did to the wait per operation, with an interval, and the verdict on it.

``reach_of`` and ``share_beyond`` are Student's t. A library of statistics would be larger than hotplace.

``estimate`` measures the effect, corrected for how the work changed. An operation is a read, priced by what it takes on
the tier where its unit was before the moves. More reads per transaction, another mix, or more transactions therefore
change the price of an interval and not the wait per operation. How that wait depends on load, mix and hour is fitted to
both times, with a change between them (``usual_wait``). Read times of units that stayed fall with those of the device
that a good move relieves, so help is judged without them. Harm is judged both ways: by itself, and beside them
(``control``), which takes away the noise that all reads of a device share. How long noise lasts, and so how sure the
change is, follows from days before (``lasting_noise``).

``check`` makes the same comparison at dates of the time before the moves, when nothing changed (placebo dates, Abadie
et al. 2015): how far it errs there is shown next to a verdict. It does not decide: errors that are as much wider call
fewer harmless moves hurt, and find less harm (decision 16).

``verdict_of`` judges an effect. ``look_seconds`` says when to look: after the settle time, and then whenever as much
again has been measured.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from agent.model.outcomes import OutcomeVerdict
from agent.moving.control import Control
from agent.moving.lasting_noise import LEAST_INTERVALS, LEAST_TIMES
from agent.moving.usual_wait import Evidence, change_between
from connectors.model.observation import F64, Bools

POINTS = 4097
FARTHEST = (
    12.0  # the density beyond it is nothing where freedom is large; where it is small the grid reaches to infinity
)


def reach_of(share: float, freedom: float) -> float:
    """How far from zero on both sides that share of Student's t lies.

    With ``t = sqrt(freedom) tan(angle)`` its density is a power of a cosine over a bounded angle, which a fixed grid
    integrates, so that no case of few degrees of freedom needs a formula of its own.

    Args:
        share: between 0 and 1, for example 0.9.
        freedom: degrees of it, at least 1.
    """
    angles, within = _shares(freedom)
    return math.sqrt(freedom) * math.tan(float(np.interp(share * within[-1], within, angles)))


def share_beyond(reach: float, freedom: float) -> float:
    """How much of Student's t lies farther from zero than that, on both sides together: the inverse of ``reach_of``."""
    angles, within = _shares(freedom)
    inside = float(np.interp(math.atan(reach / math.sqrt(freedom)), angles, within))
    return max(0.0, 1.0 - inside / float(within[-1]))


def _shares(freedom: float) -> tuple[F64, F64]:
    """Angles, and how much lies within each, not brought to 1."""
    angles = np.linspace(0.0, min(math.pi / 2, FARTHEST / math.sqrt(freedom)), POINTS)
    middles = (angles[1:] + angles[:-1]) / 2
    return angles, np.concatenate(([0.0], np.cumsum(np.cos(middles) ** (freedom - 1.0))))


LEAST_BEFORE, LEAST_AFTER = 6, 3  # intervals
LEAST_ERROR = 0.005  # of the logarithm: no two times are alike
UNLIKE = 0.05  # of the change itself: it is not the same at each load
KNOWN_LOAD = 0.1  # more than was ever seen before is no new load
CERTAINTY = 0.90  # share of effects that the interval is to hold


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """Change of the logarithm of the wait per operation, and how sure it is."""

    log_change: float
    further: float  # by which it may be more, because of loads that were not seen before; 0: by nothing
    error: float  # standard error
    freedom: float  # degrees of freedom of the error, for Student's t
    before: int  # intervals that it rests on
    after: int
    outside: float  # share of the work after that was done at loads not seen before
    hours_known: bool  # whether the same hours of the day were seen before
    times: float = math.inf  # that noise as long as it lasts was seen before; inf: that was not looked at
    seconds_after: float = math.inf  # that were measured after; inf: that was not looked at
    beside: Effect | None = None  # beyond what reads of what did not move show as well; None: not known
    later: float = math.inf  # the same logarithm by the second half of the time after; inf: that was not looked at
    dates: int = 0  # before the moves at which the error was checked; 0: it was not
    too_sure: float = 1.0  # by how much more than its error the comparison errs there; 1: by no more

    @property
    def change(self) -> float:
        """Wait per operation over what it would have been without the moves, less 1."""
        return math.expm1(self.log_change)

    def ends(self, certainty: float = CERTAINTY) -> tuple[float, float]:
        """The least and the most that ``change`` may be, by an interval that holds that share of effects."""
        reach = reach_of(certainty, self.freedom) * self.error
        low, high = self.log_change + min(self.further, 0.0), self.log_change + max(self.further, 0.0)
        return math.expm1(low - reach), math.expm1(high + reach)

    def part(self, share: float) -> Effect:
        """What of it goes to some of the moves."""
        beside = None if self.beside is None else self.beside.part(share)
        own = {name: getattr(self, name) * share for name in ("log_change", "further", "error")}
        return replace(self, **own, beside=beside)


def effect_of(before: Evidence, after: Evidence, control: Control | None = None) -> Effect | None:
    """The effect of moves as outcomes judge it; None where either time has too few intervals with reads.

    Args:
        before: the intervals of days before the first move.
        after: those after settling.
        control: of what did not move; None: not known.
    """
    effect = estimate(before, after)
    if effect is None or effect.log_change <= 0:
        return effect
    if control is not None:
        beside = _beside(before, after, control)
        if beside is not None:
            return replace(effect, beside=beside)
    if not _is_harm(effect, last=True):
        return effect
    later = estimate(before, after.rows(slice(len(after) // 2, None)))
    return effect if later is None else replace(effect, later=later.log_change)


def _beside(before: Evidence, after: Evidence, control: Control) -> Effect | None:
    """The effect beyond what the control shows as well.

    The control has noise of its own, by which the fit takes less of it away than there is; taken away as a whole it may
    be too much. Of both effects the lesser counts.
    """
    was, now = control.beside(before), control.beside(after)
    beside = estimate(was, now)
    if beside is None or beside.change < LEAST_CHANGE:
        return beside
    least = estimate(was.without_control(), now.without_control())
    return None if least is None else min(beside, least, key=lambda each: each.log_change)


PLACEBO_DATES = 8  # spread over the last two thirds of the time before
AS_SAID = 8  # dates that are taken to have erred as was said: eight that overlap show the error only roughly


def check(effect: Effect, before: Evidence, control: Control | None = None) -> Effect:
    """The effect with what the same comparison shows at dates before the moves.

    Args:
        effect: of the moves; as much time as after them lies behind each date.
        before: the intervals of days before the first move.
        control: of what did not move; None: not known.
    """
    own, beside = [], []
    first, last = before.at[0] + (before.at[-1] - before.at[0]) / 3, before.at[-1] - effect.seconds_after
    for date in np.linspace(first, last, PLACEBO_DATES) if last > first else ():
        was = before.rows(before.at <= date)
        now = before.rows((before.at > date) & (before.at <= date + effect.seconds_after))
        own.append(estimate(was, now))
        if effect.beside is not None and control is not None:
            beside.append(_beside(was, now, control))
    return replace(
        effect, **_erred(own), beside=None if effect.beside is None else replace(effect.beside, **_erred(beside))
    )


def _erred(found: Sequence[Effect | None]) -> dict[str, Any]:
    """At how many dates, and by how much more than was said, by the names of an effect."""
    squares = [(each.log_change / each.error) ** 2 for each in found if each is not None]
    times = math.sqrt((AS_SAID + sum(squares)) / (AS_SAID + len(squares)))
    return {"dates": len(squares), "too_sure": max(1.0, times)}


def estimate(before: Evidence, after: Evidence) -> Effect | None:
    """The effect of moves between two times; None where either has too few intervals with reads."""
    before, after = before.with_reads(), after.with_reads()
    if len(before) < LEAST_BEFORE or len(after) < LEAST_AFTER:
        return None
    effect, beyond = _effect_between(before, after), _beyond(before, after)
    known = after.rows(~beyond)
    if beyond.any() and len(known) >= LEAST_AFTER:
        effect = _at_known_loads(effect, _effect_between(before, known))
    outside = float(after.expected[beyond].sum() / after.expected.sum())
    return replace(effect, after=len(after), seconds_after=float(after.seconds.sum()), outside=outside)


def _effect_between(before: Evidence, after: Evidence) -> Effect:
    found = change_between(before, after)
    change, further = _with_feedback(found.whole[0], found.near[0])
    error = found.near[1] if further else found.whole[1]
    seen = np.minimum(before.seconds / found.lasts_seconds, 1.0)  # an interval shows one spell of noise at most
    return Effect(
        log_change=change,
        further=further,
        error=math.hypot(error, LEAST_ERROR, UNLIKE * change),
        freedom=found.freedom,
        before=len(before),
        after=len(after),
        outside=0.0,
        hours_known=found.hours_known,
        times=float(seen.sum()) if len(before) >= LEAST_INTERVALS else 0.0,
    )


def _at_known_loads(whole: Effect, known: Effect) -> Effect:
    """Of the effect over all intervals and that over those at loads that were seen before, the one that is surer.

    What a queue makes of a load that was never seen can only be guessed, and a guess about half of the time would hide
    what the other half shows. What the whole adds to it in the same direction stays possible.
    """
    if known.error >= whole.error:
        return whole
    change, of_whole = known.log_change, whole.log_change
    more = of_whole - change if change * of_whole > 0 and abs(of_whole) > abs(change) else 0.0
    return replace(known, further=max(known.further, more, key=abs))


def _beyond(before: Evidence, after: Evidence) -> Bools:
    """Which intervals after had a load that was not seen before. Shape ``(n,)``."""
    return np.asarray(
        (after.load > (1 + KNOWN_LOAD) * before.load.max()) | (after.load < (1 - KNOWN_LOAD) * before.load.min())
    )


def _with_feedback(change: float, near: float) -> tuple[float, float]:
    """The change and how much further it may reach, where loads were not seen before.

    Sessions that wait less ask for more: a load above all that was seen may be the moves' own doing, and the wait that
    it would have cost without them is no loss they have spared. So help counts as at the nearest load that was seen,
    and harm likewise; what the whole of the load would make of it is only possible.

    Args:
        change: of the logarithm at the loads as they are.
        near: at the nearest loads that were seen.
    """
    same_way = near * change > 0 and abs(change) > abs(near)
    return (near, change - near) if same_way else (change, 0.0)


LEAST_CHANGE = 0.05  # of the wait per operation, to count as helped or hurt
# Of the interval that must lie on one side of no change: a wrong "hurt" takes back a good move. Each look may be
# wrong, and 1 % over all of them is promised: 0.1 % on a side at each, and 1 % at the last, which few moves reach: most
# have been called by then.
SURE, LAST_SURE, LAST_SURE_OF_ONE_DAY = 0.998, 0.98, 0.99
NEUTRAL_CHANGE, NEUTRAL_SURE = 0.10, 0.99  # what an interval of this certainty must lie within to count as neutral
# A control is a second test of the same moves, and with it harm shows at an early look: it may be wrong less often.
SURE_OF_TWO = 0.9998
# Where no control is known harm must have lasted longer than a backup, a scrub or a neighbour's load usually does: what
# comes once a week was not in the days before. What is worse by more than these usually bring is said at once.
ALONE_SECONDS, BESIDE_SECONDS = 16 * 3600.0, 3600.0
MUCH = 0.5
# Of a rise, what must go beyond the control's: the control may be slowed down by less than the rest, since some of its
# reads are served elsewhere, and then a part of a neighbour's load looks like harm.
OWN_PART = 0.5
LOOKS = 7  # the last at 64 times the length of the first: usually 16 hours, which hold busy and quiet times


def verdict_of(effect: Effect, *, last: bool = False) -> OutcomeVerdict:
    """Helped, neutral, hurt, or that what was measured allows either; ``last``: no more will be measured."""
    low, high = effect.ends(LAST_SURE if last else SURE)
    if high < 0 and effect.change <= -LEAST_CHANGE:
        return OutcomeVerdict.HELPED
    if _is_harm(effect, last=last) or is_harm_beside(effect, last=last):
        return OutcomeVerdict.HURT
    low, high = effect.ends(NEUTRAL_SURE)
    within = low > -NEUTRAL_CHANGE and high < NEUTRAL_CHANGE
    return OutcomeVerdict.NEUTRAL if within else OutcomeVerdict.CANNOT_TELL


def _is_harm(effect: Effect, *, last: bool) -> bool:
    """Whether a rise of the wait for the same work is sure by itself, and not shown as well by what did not move."""
    if effect.beside is not None and not _is_own(effect, effect.beside):
        # A neighbour whose load comes and goes is no noise of a steady kind: of three days, four or five of its spells
        # are known, and a time with two more looks like harm. Statements that read nothing of what moved have the same.
        return False
    if math.expm1(effect.later) < LEAST_CHANGE:
        return False
    lasted = effect.seconds_after >= (ALONE_SECONDS if effect.beside is None else BESIDE_SECONDS)
    if not (lasted or last or _is_much(effect)):
        return False
    each = SURE if effect.beside is None else SURE_OF_TWO
    low, _ = effect.ends((LAST_SURE if effect.hours_known else LAST_SURE_OF_ONE_DAY) if last else each)
    return low > 0 and effect.change >= LEAST_CHANGE and is_noise_known(effect)


def is_noise_known(effect: Effect) -> bool:
    """Whether noise was seen for long enough to call a rise harm; for one that is more than noise brings, at all."""
    return effect.times >= LEAST_TIMES or (effect.times > 0 and _is_much(effect))


def _is_much(effect: Effect) -> bool:
    return effect.ends(SURE)[0] >= MUCH


def is_harm_beside(effect: Effect, *, last: bool = False) -> bool:
    """Whether it is sure beside what did not move, while reads as a whole did not become faster.

    A good move relieves the device that the others stay on: beside these what moved may seem slower, and the sum of
    both is not.
    """
    beside = effect.beside
    if beside is None or effect.log_change <= 0 or (effect.seconds_after < BESIDE_SECONDS and not last):
        return False
    return beside.ends(SURE_OF_TWO)[0] > 0 and _is_own(effect, beside) and beside.times >= LEAST_TIMES


def _is_own(effect: Effect, beside: Effect) -> bool:
    """Whether enough of a rise goes beyond what the control shows as well."""
    return beside.change >= LEAST_CHANGE and not is_shared(effect)


def is_shared(effect: Effect) -> bool:
    """Whether a control shows most of a rise as well."""
    beside, rise = effect.beside, effect.log_change
    return beside is not None and rise > 0 and beside.log_change < OWN_PART * rise


def look_seconds(first_seconds: float, seen_seconds: float) -> tuple[float, bool]:
    """How much of what has been measured is looked at, and whether that is the last look.

    Looking at every sample would find something sooner or later, whatever there is; so each look is twice as long.

    Args:
        first_seconds: of the first look.
        seen_seconds: that have passed since settling; at least ``first_seconds``.
    """
    length = first_seconds
    for _ in range(LOOKS - 1):
        if length * 2 > seen_seconds:
            return length, False
        length *= 2
    return length, True
