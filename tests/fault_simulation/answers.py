"""Answers of pure functions, kept: a plan asks the solver the same several times, and the next plan does."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import TypeVar

from policies.placement.solver.offers import Offers

_A = TypeVar("_A")
MOST = 64  # answers; what is asked again is asked soon


def kept(function: Callable[..., _A]) -> Callable[..., _A]:
    """The function of a problem and of numbers, with the answers to the last questions kept."""
    answers: OrderedDict[tuple[object, ...], _A] = OrderedDict()

    def answer(offers: Offers, *numbers: float) -> _A:
        columns = offers.gain, offers.consumption, offers.capacity
        question = (*((column.shape, column.tobytes()) for column in columns), *numbers)
        if question not in answers:
            answers[question] = function(offers, *numbers)
            if len(answers) > MOST:
                answers.popitem(last=False)
        return answers[question]

    return answer
