"""The outcome of a proposal next to its prediction.

``carried_out`` and ``forecast_of_moves`` give what was predicted and forecast for the moves that ran, if some of a
proposal did not.

``measure`` answers whether the moves helped: the effect for the same work with its interval, the plain before and
after, and the prediction. The plain figure is read wait per transaction, because a database that waits less does more
work in the same hour. The wait for the same work (``effect``) decides. If too little was measured, there is no verdict.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from agent.ledger.ledger import Ledger
from agent.ledger.state_names import decision_of_proposal
from agent.model.outcomes import ComparedStatements, Outcome, OutcomeVerdict
from agent.model.proposals import Proposal, ProposedMove, WorkForecast
from agent.moving.effect import (
    LEAST_AFTER,
    LEAST_BEFORE,
    LEAST_CHANGE,
    Effect,
    is_harm_beside,
    is_shared,
    verdict_of,
)
from agent.moving.lasting_noise import LEAST_TIMES
from agent.planning.decisions import weighed_from_arrays
from agent.planning.situation import rows_of_keys
from connectors.model.formatting import format_ratio, format_seconds
from connectors.model.observation import DatabaseDemand
from policies.evidence.workload import read_latency, wait_per_transaction
from policies.model.plan import Situation
from policies.placement.forecast import forecast, session_seconds
from policies.placement.ranges import key_of_part


def carried_out(proposal: Proposal, ordinals: Collection[int]) -> Proposal:
    """The proposal as if it had held only the moves that were carried out; itself where all of them were.

    The saving is the sum of what each of these moves was predicted to save. The interval scales with it: what remains
    of the wait errs by a factor, and the logarithm of that factor shrinks as the predicted saving does. So the interval
    of all moves is that of the proposal, and that of none is a point.

    Args:
        proposal: as it was stored.
        ordinals: of the moves that were carried out.
    """
    moves = tuple(move for move in proposal.moves if move.ordinal in ordinals)
    if len(moves) == len(proposal.moves):
        return proposal
    saved = sum(move.wait_saved_per_hour for move in moves)
    low, high = _saved_ratio_ends(proposal, saved)
    return replace(
        proposal,
        moves=moves,
        wait_saved_per_hour=saved,
        wait_saved_low_per_hour=None,
        wait_saved_high_per_hour=None,
        relief_per_hour=None,
        saved_ratio_low=low,
        saved_ratio_high=high,
    )


def _saved_ratio_ends(proposal: Proposal, saved: float) -> tuple[float | None, float | None]:
    """Ends of the share of all wait that a part of the proposal saves; None where the whole has no such interval.

    Args:
        proposal: the whole.
        saved: seconds per hour that the part saves.
    """
    ends = [end for end in (proposal.saved_ratio_low, proposal.saved_ratio_high) if end is not None]
    if len(ends) < 2 or proposal.wait_per_hour <= 0:
        return None, None
    whole, part = proposal.wait_saved_per_hour / proposal.wait_per_hour, saved / proposal.wait_per_hour
    if not whole or max(whole, part) >= 1:
        return None, None
    share = min(1.0, abs(part / whole))
    # Scaled as a power of what remains, not in proportion to the saving: a share of 0.9 to 0.99 of all wait is an
    # uncertainty of a factor of ten in what is left, and half of those moves keep the root of it.
    low, high = (1 - (1 - part) * ((1 - end) / (1 - whole)) ** share for end in ends)
    return low, high


def forecast_of_moves(
    ledger: Ledger, number: int, proposal: Proposal, done: Sequence[ProposedMove]
) -> WorkForecast | None:
    """The forecast of some moves of a proposal, worked out again from what the ledger keeps of its plan.

    Args:
        ledger: asked for what the proposal was made from.
        number: of the proposal.
        proposal: as it was stored.
        done: the moves of it that were carried out.

    Returns:
        The proposal's own forecast where all of them were; one that says why not where the plan is not kept; None where
        the proposal has none.
    """
    whole = proposal.forecast
    if whole is None or whole.why_not or len(done) == len(proposal.moves):
        return whole
    stored = ledger.state.load_arrays(proposal.database, decision_of_proposal(number))
    if stored is None:
        return _unknown(whole, f"{len(done)} of {len(proposal.moves)} moves ran, and their plan is not kept")
    # Worked out again and not scaled: throughput is not linear in the moves, since each one that is left out keeps a
    # queue as long as it was.
    situation, settings = weighed_from_arrays(stored[1])
    return WorkForecast.of(forecast(situation, settings, _tiers(situation, done)), whole.work, settings.certainty)


def _tiers(situation: Situation, done: Sequence[ProposedMove]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Tier of each unit, and of each part that may be split off, with those moves done. Shape ``(n,)``."""
    tier = situation.tier_of_space[situation.units.space].astype(np.int64)
    tier_of = {each.name: row for row, each in enumerate(situation.tiers)}
    keys_of = ((move, move.route.bundle.unit_keys or (key_of_part(move.key),)) for move in done)
    goes = {key: tier_of[move.to_tier] for move, keys in keys_of for key in keys}
    for key, at in rows_of_keys(situation.units.key, goes.keys()).items():
        tier[at] = goes[key]
    return tier


def _unknown(whole: WorkForecast, why_not: str) -> WorkForecast:
    return replace(
        whole, per_second=None, per_second_low=None, per_second_high=None, latency=None, latency_low=None,
        latency_high=None, read_wait=None, why_not=why_not, limit="",
    )  # fmt: skip


MINIMUM_WINDOW_SECONDS = 5.0
NOTED_OUTSIDE = 0.05  # of the work after, done at loads not seen before: a verdict names it
OF_HOURS = "means of hours: another agent watched for a part of the time, and its samples are on its machine"
SEEN_ELSEWHERE = (
    "another agent saw the time before the moves, its samples are on its machine, and only whole hours of them reach "
    "the ledger"
)
SHARED = "most of the rise is shown as well by statements that read nothing of what moved"
OF_SPLITS = "the same work is the same transactions: reads that a split adds to them count as its cost"
BY_CONTROL = "compared with statements that read nothing of what moved, which shows what the device itself did"
LEAST_WAIT_SECONDS = 1e-6  # per transaction; a database that waited less before had nothing to be helped with


def measure(
    ran: Proposal,
    before: DatabaseDemand,
    after: DatabaseDemand,
    window_seconds: float,
    *,
    effect: Effect | None = None,
    seen: tuple[int, int] = (0, 0),
    joint_share: float = 1.0,
    proposed: int | None = None,
    last: bool = False,
    by_hour: bool = False,
    elsewhere: bool = False,
    split: bool = False,
) -> Outcome:
    """The outcome of moves that are placed and settled.

    Args:
        ran: what was predicted for the moves that were carried out, see ``carried_out``.
        before: mean demand before the first move.
        after: mean demand since the settle time ended.
        window_seconds: how long ``after`` was measured.
        effect: for the same work; None: too few intervals were seen.
        seen: how many intervals with reads are known from before the moves, and from after.
        joint_share: of the effect of all moves that were measured together.
        proposed: how many moves the proposal held; None: no more than ran.
        last: whether no more will be measured.
        by_hour: some of it was known by the hour only.
        elsewhere: all of the time before the moves was seen by an agent on another machine, and no whole hour of it.
        split: a table was split, and the effect is by transactions.
    """
    wait_before, wait_after = wait_per_transaction(before), wait_per_transaction(after)
    known = math.isfinite(wait_before) and math.isfinite(wait_after)
    measured = window_seconds >= MINIMUM_WINDOW_SECONDS and known and wait_before >= LEAST_WAIT_SECONDS
    effect = effect.part(joint_share) if effect is not None and measured else None
    verdict = _verdict(effect, last) if measured else OutcomeVerdict.UNMEASURED
    by_control = effect is not None and verdict is OutcomeVerdict.HURT and is_harm_beside(effect, last=last)
    effect = effect.beside if effect is not None and by_control else effect
    low, high = (math.nan, math.nan) if effect is None else effect.ends()
    return Outcome(
        verdict=verdict,
        measured=measured,
        predicted_wait_saved_per_hour=ran.wait_saved_per_hour,
        predicted_saved_ratio=_predicted(ran),
        wait_per_transaction_before=wait_before,
        wait_per_transaction_after=wait_after,
        transactions_per_second_before=before.transactions,
        transactions_per_second_after=after.transactions,
        read_latency_before=read_latency(before),
        read_latency_after=read_latency(after),
        window_seconds=window_seconds,
        sentence=_not_measured(before, after, window_seconds)
        or _sentence(verdict, effect, ran, before, after, proposed, seen),
        predicted_saved_ratio_low=_nan_if_none(ran.saved_ratio_low),
        predicted_saved_ratio_high=_nan_if_none(ran.saved_ratio_high),
        latency_before=session_seconds(before),
        latency_after=session_seconds(after),
        undo=ran.is_undo,
        change=math.nan if effect is None else effect.change,
        change_low=low,
        change_high=high,
        rests_on=SEEN_ELSEWHERE
        if elsewhere
        else "; ".join(_evidence_words(effect, joint_share, by_hour=by_hour, split=split, by_control=by_control)),
        joint_share=joint_share,
        **_forecast(ran),
    )


def with_statements(outcome: Outcome, compared: ComparedStatements) -> Outcome:
    """The outcome with what is known of single statements; slower ones among winners change its verdict.

    What hurt stays so, and what was not measured: its moves are judged by no figure at all.
    """
    outcome = replace(outcome, statements=compared)
    if not compared.slower or outcome.verdict in {OutcomeVerdict.HURT, OutcomeVerdict.UNMEASURED}:
        return outcome
    verdict = OutcomeVerdict.HURT_FOR_SOME
    sentence = f"{verdict}: {compared.sentence}, the worst {compared.slower[0].sentence}; together {outcome.sentence}"
    return replace(outcome, verdict=verdict, sentence=f"undo {sentence}" if outcome.undo else sentence)


def _forecast(proposal: Proposal) -> dict[str, Any]:
    """What was forecast of throughput and latency, by the names of an outcome; nothing where nothing was."""
    found = proposal.forecast
    if found is None:
        return {}
    return {
        "work": found.work,
        "predicted_transactions_per_second": _nan_if_none(found.per_second),
        "predicted_transactions_per_second_low": _nan_if_none(found.per_second_low),
        "predicted_transactions_per_second_high": _nan_if_none(found.per_second_high),
        "predicted_latency": _nan_if_none(found.latency),
        "predicted_latency_low": _nan_if_none(found.latency_low),
        "predicted_latency_high": _nan_if_none(found.latency_high),
        "not_forecast": found.why_not,
        "predicted_busiest": found.busiest,
    }


def _nan_if_none(value: float | None) -> float:
    return math.nan if value is None else value


def _verdict(effect: Effect | None, last: bool) -> OutcomeVerdict:
    return OutcomeVerdict.CANNOT_TELL if effect is None else verdict_of(effect, last=last)


def _evidence_words(
    effect: Effect | None, joint_share: float, *, by_hour: bool, split: bool, by_control: bool
) -> Iterator[str]:
    """What the verdict rests on, in parts."""
    if effect is not None:
        yield what_it_rests_on(effect, joint_share)
    if by_control:
        yield BY_CONTROL
    if effect is not None and effect.change >= LEAST_CHANGE and is_shared(effect):
        yield SHARED
    if effect is not None and split:
        yield OF_SPLITS
    if by_hour:
        yield OF_HOURS


def what_it_rests_on(effect: Effect, joint_share: float) -> str:
    """The evidence of a verdict, in one sentence without a full stop."""
    corrected = (
        "load, mix of reads and hour of the day"
        if effect.hours_known
        else "load and mix of reads, not for the hour of the day: less than a day was seen"
    )
    said = f"{effect.after} intervals after settling and {effect.before} before the moves, corrected for {corrected}"
    if effect.times < LEAST_TIMES:
        said += f"; only {effect.times:.0f} spells of noise were seen before; harm is judged from {LEAST_TIMES} on"
    if effect.dates:
        said += f"; {_checked_at(effect)}"
    if effect.outside >= NOTED_OUTSIDE:
        said += f"; {format_ratio(effect.outside)} of the work was done at a load not seen before the moves"
    if joint_share < 1.0:
        said += f"; other proposals moved at the same time: {format_ratio(joint_share)} of the joint effect counts here"
    return said


def _checked_at(effect: Effect) -> str:
    """What the same comparison has shown at dates before the moves."""
    where = f"at {effect.dates} {'date' if effect.dates == 1 else 'dates'} before the moves, when nothing changed,"
    if effect.too_sure == 1.0:
        return f"{where} the same comparison errs by no more than it says"
    return f"{where} the same comparison errs {effect.too_sure:.2g} times as much as it says"


def _predicted(ran: Proposal) -> float:
    """Share of the wait that was to be saved; NaN where no policy weighed it, and for an undo.

    The plan's word turned round is no prediction.
    """
    if ran.is_undo or not ran.wait_per_hour:
        return math.nan
    return ran.wait_saved_per_hour / ran.wait_per_hour


def _not_measured(before: DatabaseDemand, after: DatabaseDemand, window_seconds: float) -> str:
    """What is missing for a comparison; "" where nothing is."""
    if window_seconds < MINIMUM_WINDOW_SECONDS:
        needed = format_seconds(MINIMUM_WINDOW_SECONDS)
        return f"not measured: {format_seconds(window_seconds)} seen after settling, {needed} needed"
    if _tells_nothing(before) and _tells_nothing(after):  # intervals were recorded, as the window says
        return "not measured: the engine counts neither read times nor transactions; where the units are now was seen"
    for demand, when in ((before, "before the first move"), (after, "after settling")):
        if missing := _missing(demand, when):
            return f"not measured: {missing}"
    if wait_per_transaction(before) < LEAST_WAIT_SECONDS:
        return (
            "not measured: no read was waited for before the moves, so there is nothing to compare with; "
            f"read wait per transaction is now {format_seconds(wait_per_transaction(after))}"
        )
    return ""


def _tells_nothing(demand: DatabaseDemand) -> bool:
    return all(math.isnan(rate) for rate in asdict(demand).values())


def _missing(demand: DatabaseDemand, when: str) -> str:
    """Why there is no wait per transaction; "" where there is."""
    if _tells_nothing(demand):
        return f"no interval was recorded {when}"
    unknown = [name for name, rate in (("read times", demand.read_wait), ("transactions", demand.transactions))
               if math.isnan(rate)]  # fmt: skip
    if unknown:
        return f"the engine gave no {' and no '.join(unknown)} {when}"
    return "" if demand.transactions > 0 else f"nothing was committed {when}"


def _sentence(
    verdict: OutcomeVerdict,
    effect: Effect | None,
    ran: Proposal,
    before: DatabaseDemand,
    after: DatabaseDemand,
    proposed: int | None,
    seen: tuple[int, int],
) -> str:
    was, now = wait_per_transaction(before), wait_per_transaction(after)
    some = "" if proposed in (None, len(ran.moves)) else f" for the {len(ran.moves)} of {proposed} moves that ran"
    plain = (
        f"read wait per transaction went from {format_seconds(was)} to {format_seconds(now)} ({(now - was) / was:+.0%})"
    )
    if effect is None:
        went = (
            f"{verdict}: {seen[0]} intervals with reads are known from before the moves and {seen[1]} from after, and "
            f"it takes {LEAST_BEFORE} and {LEAST_AFTER} to correct for changes of the work; plainly, {plain}"
        )
    else:
        low, high = effect.ends()
        went = (
            f"{verdict}: read wait for the same work {effect.change:+.0%} ({low:+.0%} to {high:+.0%}); plainly, {plain}"
        )
    if ran.is_undo:
        return f"undo {went}"
    predicted = _predicted(ran)
    return f"{went}; nothing was predicted" if math.isnan(predicted) else f"{went}; predicted {-predicted:+.0%}{some}"
