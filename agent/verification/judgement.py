"""The verdict on an effect, and when to look: after the settle time, and each time as much again has been measured."""

from __future__ import annotations

from agent.model.outcomes import OutcomeVerdict
from agent.verification.effect import Effect

LEAST_CHANGE = 0.05  # of the wait per operation, to count as helped or hurt
# Of the interval that must lie on one side of no change: a wrong "hurt" takes back a good move. Each look may be
# wrong, and 1 % over all of them is promised: 0.1 % on a side at each, and 1 % at the last, which few moves reach: most
# have been called by then.
SURE, LAST_SURE = 0.998, 0.98
NEUTRAL_CHANGE, NEUTRAL_SURE = 0.10, 0.99  # what an interval of this certainty must lie within to count as neutral
LOOKS = 7  # the last at 64 times the length of the first: usually 16 hours, which hold busy and quiet times


def verdict_of(effect: Effect, *, last: bool = False) -> OutcomeVerdict:
    """Helped, neutral, hurt, or that what was measured allows either; ``last``: no more will be measured."""
    low, high = effect.ends(LAST_SURE if last else SURE)
    if high < 0 and effect.change <= -LEAST_CHANGE:
        return OutcomeVerdict.HELPED
    if low > 0 and effect.change >= LEAST_CHANGE:
        return OutcomeVerdict.HURT
    low, high = effect.ends(NEUTRAL_SURE)
    within = low > -NEUTRAL_CHANGE and high < NEUTRAL_CHANGE
    return OutcomeVerdict.NEUTRAL if within else OutcomeVerdict.CANNOT_TELL


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
