"""What the solver is told about exchanges once an answer could not be carried out: a large unit needs room to pass.

Offers say what is there in the end. On the way a unit that goes from one full tier to another is in both, and all the
room that it can find is what is free on these tiers and what others free by leaving for the slowest. That is one more
resource for each such unit: its size is taken of the free bytes, and who leaves for the slowest tier gives back.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from connectors.model import I64
from policies.asking import Question
from policies.draft import Draft
from policies.offers import STAY, Offers

_PASSING = 4  # units that get a resource each


def told(draft: Draft, asked: Question, choice: I64, elsewhere: tuple[I64, I64]) -> Offers:
    """The offers of a question as they are put again.

    The largest units of the answer that cannot find room to pass get a resource each, and all that are as large and not
    of the answer are barred. Where that is not what was in the way, options are barred that were chosen and not done.

    Args:
        draft: as it was when the question was asked.
        asked: the question.
        choice: the answer.
        elsewhere: options and items of it that were not done.
    """
    board, slowest = draft.board, draft.board.tiers - 1
    free = sum(max(0, board.room[space]) for tier in range(slowest) for space in board.spaces(tier))
    size, items = draft.bundles.size[asked.bundle], np.flatnonzero(choice != STAY)
    down = asked.target == slowest
    gone = items[down[choice[items], items]]
    large = ~down & (draft.tier()[asked.bundle] < slowest) & (size > free + int(size[gone].sum()))
    passing = items[large[choice[items], items]]
    passing = passing[np.argsort(-size[passing], kind="stable")][:_PASSING]
    barred = large.copy()
    barred[choice[items], items] = False
    if not len(passing):
        barred[elsewhere] = True
    use = np.where(down, -size.astype(np.float64), 0.0)[np.newaxis].repeat(len(passing), axis=0)
    use[np.arange(len(passing)), choice[passing], passing] = size[passing]
    return replace(
        asked.offers,
        gain=np.where(barred, -np.inf, asked.offers.gain),
        use=np.concatenate((asked.offers.use, use)),
        room=np.append(asked.offers.room, np.full(len(passing), float(free))),
    )
