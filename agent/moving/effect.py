"""What moves did to the wait per operation, with an interval, and the verdict on it.

``reach_of`` and ``share_beyond`` are Student's t. A library of statistics would be larger than hotplace.

``estimate`` measures the effect, corrected for how the work changed. An operation is a read, priced by what it takes on
the tier where its unit was before the moves. More reads per transaction, another mix, or more transactions therefore
change the price of an interval and not the wait per operation. How that wait depends on load, mix and hour is fitted to
the time before the moves (``usual_wait``) and continued into the time after. Read times of units that stayed fall with
those of the device that a good move relieves, so help is judged without them. Harm is judged both ways: by itself, and
beside them (``control``), which takes away the noise that all reads of a device share.

``Effect`` takes its certainty from a block bootstrap over time (Kuensch 1989). Runs of intervals are drawn from before
the moves, so that noise which lasts for minutes counts as long as it lasts.

``verdict_of`` judges an effect. ``look_seconds`` says when to look: after the settle time, and then whenever as much
again has been measured.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from agent.model.outcomes import OutcomeVerdict
from agent.moving.control import Control
from agent.moving.lasting_noise import LEAST_TIMES, LEAST_TIMES_AFTER, LastingNoise, lasting_noise
from agent.moving.usual_wait import DrawnWaits, Evidence, UsualWait, runs
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


DRAWS = 200
LEAST_BEFORE, LEAST_AFTER = 6, 3  # intervals
MOST_INTERVALS, LEAST_MERGED = 360, 5  # neighbours are merged where there are more before, if as many remain after
LEAST_BLOCK = 4  # intervals
BLOCKS = 24  # that the time before is cut into at least, where blocks as long as the time after are too few
LEAST_ERROR = 0.005  # of the logarithm: no two times are alike
CERTAINTY = 0.90  # share of effects that the interval is to hold
KNOWN_LOAD = 0.1  # more than was ever seen before is no new load


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
    times_after: float = math.inf  # and after
    seconds_after: float = math.inf  # that were measured after; inf: that was not looked at
    greatest_rise: float = 0.0  # of the logarithm, over as long a time without a move
    beside: Effect | None = None  # beyond what reads of what did not move show as well; None: not known
    half: Effect | None = None  # over the first half of the time after, where the whole would be harm by itself

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


def effect_of(
    before: Evidence, after: Evidence, history: Evidence, seed: int, control: Control | None = None
) -> Effect | None:
    """The effect of moves as outcomes judge it; None where either time has too few intervals with reads.

    Args:
        before: the intervals before the first move.
        after: those after settling.
        history: of the days before, for how long noise lasts.
        seed: of the draws; the same gives the same interval.
        control: of what did not move; None: not known.

    The control has noise of its own, by which the fit takes less of it away than there is; taken away as a whole it may
    be too much. Of both effects the lesser counts.
    """
    noise = lasting_noise(history)
    effect = estimate(before, after, seed, noise, may_hurt=noise is not None)
    if effect is None:
        return None
    if control is not None:
        was, now, days = (control.beside(each) for each in (before, after, history))
        beside = (
            _estimate_amid(was, now, days, seed),
            _estimate_amid(was.without_control(), now.without_control(), days.without_control(), seed),
        )
        found = [each for each in beside if each is not None]
        if len(found) == len(beside):
            return replace(effect, beside=min(found, key=lambda each: each.log_change))
    if not _is_harm(effect, last=True):
        return effect
    return replace(effect, half=estimate(before, after.rows(slice(len(after) // 2)), seed, noise))


def _estimate_amid(before: Evidence, after: Evidence, history: Evidence, seed: int) -> Effect | None:
    noise = lasting_noise(history)
    return None if noise is None else estimate(before, after, seed, noise)


def estimate(
    before: Evidence, after: Evidence, seed: int, noise: LastingNoise | None = None, *, may_hurt: bool = True
) -> Effect | None:
    """The effect of moves between two times; None where either has too few intervals with reads.

    Args:
        before: the intervals before the first move.
        after: those after settling.
        seed: of the draws; the same gives the same interval.
        noise: of the days before; None: not known, what ``before`` shows of it counts alone.
        may_hurt: False: too little was seen before to know how long noise lasts, so that no rise is called harm.
    """
    effect = _estimate(before, after, seed)
    if effect is None or noise is None:
        return effect if effect is None or may_hurt else replace(effect, times=0.0)
    was, now = float(before.seconds.sum()), float(after.seconds.sum())
    return replace(
        effect,
        error=max(effect.error, math.hypot(noise.error_over(was), noise.error_over(now))),
        freedom=max(1.0, min(effect.freedom, noise.times - 1.0)),
        times=noise.times,
        times_after=now / noise.lasts_seconds,
        seconds_after=now,
        greatest_rise=noise.greatest_rise(now),
    )


def _estimate(before: Evidence, after: Evidence, seed: int) -> Effect | None:
    before, after = before.with_reads(), after.with_reads()
    if len(before) < LEAST_BEFORE or len(after) < LEAST_AFTER:
        return None
    seen = len(before), len(after)
    merged = max(1, min(len(before) // MOST_INTERVALS, len(after) // LEAST_MERGED))
    before, after = before.merge(merged), after.merge(merged)
    block = _block(len(before), len(after))
    usual = UsualWait(before, block)
    waits = usual.draw(seed, DRAWS)
    effect = _effect_over(waits, before, after, block)
    beyond = _beyond(before, after)
    known = after.rows(~beyond)
    if beyond.any() and len(known) >= LEAST_AFTER:
        effect = _at_known_loads(effect, _effect_over(waits, before, known, block))
    outside = float(after.expected[beyond].sum() / after.expected.sum())
    return replace(effect, before=seen[0], after=seen[1], outside=outside)


def _effect_over(waits: DrawnWaits, before: Evidence, after: Evidence, block: int) -> Effect:
    """The effect by some of the intervals after the moves."""
    usual = waits.usual
    drawn = waits.changes(after, after.load)
    near = waits.changes(after, usual.seen_load(after))
    centre, further = _with_feedback(float(drawn.mean()), float(near.mean()))
    drawn = near if further else drawn
    noise = max(_window_error(usual, before, len(after), block), _own_error(usual, after, block))
    return Effect(
        log_change=centre,
        further=further,
        error=math.hypot(float(drawn.std()), noise, LEAST_ERROR),
        freedom=max(1.0, len(before) / block - 1),
        before=len(before),
        after=len(after),
        outside=0.0,
        hours_known=usual.knows_hours,
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


def _window_error(usual: UsualWait, before: Evidence, length: int, block: int) -> float:
    """Standard error of the mean over that many intervals, by how runs of them scattered before."""
    ratio = np.log(runs(before.waited, block) / runs(usual.expect(before), block))
    scatter = float(np.std(ratio)) * math.sqrt(len(before) / max(1, len(before) - block))
    return scatter * math.sqrt(min(1.0, block / length))


def _own_error(usual: UsualWait, after: Evidence, block: int) -> float:
    """Standard error of the mean after the moves by its own scatter, for what has become noisier."""
    short = max(1, min(block, len(after) // 3))
    ratio = np.log(runs(after.waited, short) / runs(usual.expect(after), short))
    return float(np.std(ratio)) * math.sqrt(short / len(after))


def _beyond(before: Evidence, after: Evidence) -> Bools:
    """Which intervals after had a load that was not seen before. Shape ``(n,)``."""
    return np.asarray(
        (after.load > (1 + KNOWN_LOAD) * before.load.max()) | (after.load < (1 - KNOWN_LOAD) * before.load.min())
    )


def _block(before: int, after: int) -> int:
    """Intervals of a block: as many as are measured after, unless the time before holds too few of such."""
    return max(1, min(after, max(LEAST_BLOCK, before // BLOCKS), before // 3))


LEAST_CHANGE = 0.05  # of the wait per operation, to count as helped or hurt
# Of the interval that must lie on one side of no change: a wrong "hurt" takes back a good move. Each look may be
# wrong, and 1 % over all of them is promised: 0.1 % on a side at each, and 1 % at the last, which few moves reach: most
# have been called by then.
SURE, LAST_SURE = 0.998, 0.98
MANY_TIMES = 50  # as long as noise lasts, that the last look may be less sure about
NEUTRAL_CHANGE, NEUTRAL_SURE = 0.10, 0.99  # what an interval of this certainty must lie within to count as neutral
# A control is a second test of the same moves, and each gets half of the chance to be wrong.
SURE_OF_TWO = 0.999
# A rise must be so many times the greatest without a move: of noise that lasts for hours few spells were seen, and
# where these happened to be small, so are its length and error that were estimated from them.
PLACEBO = 2.0
# Where no control is known, harm must be there in the first half of the time after as well: moves hurt from the start,
# a neighbour comes when it comes.
HALF_SURE = 0.99
# And it must have lasted longer than a backup, a scrub or a neighbour's load usually does: what comes once a week was
# not in the days before. What is worse by more than these usually bring is said at once.
ALONE_SECONDS = 8 * 3600.0
MUCH = 0.5
# Of a rise, what must go beyond the control's: the control may be slowed down by less than the rest, since some of its
# reads are served elsewhere, and then a part of a neighbour's load looks like harm.
OWN_PART = 0.5
LOOKS = 7  # the last at 64 times the length of the first: usually 16 hours, which hold busy and quiet times


def verdict_of(effect: Effect, *, last: bool = False) -> OutcomeVerdict:
    """Helped, neutral, hurt, or that what was measured allows either; ``last``: no more will be measured."""
    # Where noise lasts for hours, the time after holds few spells of it, and their error is known from few as well.
    low, high = effect.ends(LAST_SURE if last and effect.times_after >= MANY_TIMES else SURE)
    if high < 0 and effect.change <= -LEAST_CHANGE:
        return OutcomeVerdict.HELPED
    if _is_harm(effect, last=last) or is_harm_beside(effect):
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
    if effect.half is not None and effect.half.ends(HALF_SURE)[0] <= 0:
        return False
    alone = effect.beside is None and effect.seconds_after < ALONE_SECONDS and not last
    if alone and effect.ends(SURE)[0] < MUCH:
        return False
    each = SURE if effect.beside is None else SURE_OF_TWO
    low, _ = effect.ends(LAST_SURE if last and effect.times_after >= MANY_TIMES else each)
    return low > 0 and effect.change >= LEAST_CHANGE and is_no_noise(effect)


def is_harm_beside(effect: Effect) -> bool:
    """Whether it is sure beside what did not move, while reads as a whole did not become faster.

    A good move relieves the device that the others stay on: beside these what moved may seem slower, and the sum of
    both is not.
    """
    beside = effect.beside
    if beside is None or effect.log_change <= 0:
        return False
    return beside.ends(SURE_OF_TWO)[0] > 0 and _is_own(effect, beside) and is_no_noise(beside)


def _is_own(effect: Effect, beside: Effect) -> bool:
    """Whether enough of a rise goes beyond what the control shows as well."""
    return beside.change >= LEAST_CHANGE and not is_shared(effect)


def is_shared(effect: Effect) -> bool:
    """Whether a control shows most of a rise as well."""
    beside, rise = effect.beside, effect.log_change
    return beside is not None and rise > 0 and beside.log_change < OWN_PART * rise


def is_no_noise(effect: Effect) -> bool:
    """Whether a rise is more than the days before had without a move, and enough of them was seen to say so."""
    enough = effect.times >= LEAST_TIMES and effect.times_after >= LEAST_TIMES_AFTER
    return enough and effect.log_change > PLACEBO * effect.greatest_rise


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
