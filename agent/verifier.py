"""Did it help? Foreground read wait per transaction before and after, beside what was predicted.

Per transaction, because a database that waits less does more work in the same hour. A plain before-and-after: it says
so, and says nothing where too little was measured.
"""

from __future__ import annotations

import math

from agent.outcomes import Outcome, OutcomeVerdict
from agent.proposals import Proposal
from connectors.amounts import format_seconds
from connectors.model import DatabaseDemand
from policies.workload import read_latency, wait_per_transaction

HELPED_RATIO = 0.05  # wait per transaction must fall by this much to count as helped, or rise as hurt
MINIMUM_WINDOW_SECONDS = 5.0
LEAST_WAIT_SECONDS = 1e-6  # per transaction; a database that waited less before had nothing to be helped with


def measure(proposal: Proposal, before: DatabaseDemand, after: DatabaseDemand, window_seconds: float) -> Outcome:
    """The outcome of a proposal whose moves are placed and settled.

    Args:
        proposal: what was predicted.
        before: mean demand before the first move.
        after: mean demand since the settle time ended.
        window_seconds: how long ``after`` was measured.
    """
    wait_before, wait_after = wait_per_transaction(before), wait_per_transaction(after)
    known = math.isfinite(wait_before) and math.isfinite(wait_after)
    measured = window_seconds >= MINIMUM_WINDOW_SECONDS and known and wait_before >= LEAST_WAIT_SECONDS
    verdict = _verdict(wait_before, wait_after) if measured else OutcomeVerdict.UNMEASURED
    return Outcome(
        verdict=verdict,
        measured=measured,
        predicted_wait_saved_per_hour=proposal.wait_saved_per_hour,
        predicted_saved_ratio=proposal.wait_saved_per_hour / proposal.wait_per_hour if proposal.wait_per_hour else 0.0,
        wait_per_transaction_before=wait_before,
        wait_per_transaction_after=wait_after,
        transactions_per_second_before=before.transactions,
        transactions_per_second_after=after.transactions,
        read_latency_before=read_latency(before),
        read_latency_after=read_latency(after),
        window_seconds=window_seconds,
        sentence=_sentence(verdict, proposal, wait_before, wait_after, window_seconds),
        predicted_saved_ratio_low=_known(proposal.saved_ratio_low),
        predicted_saved_ratio_high=_known(proposal.saved_ratio_high),
    )


def _known(value: float | None) -> float:
    return math.nan if value is None else value


def _verdict(before: float, after: float) -> OutcomeVerdict:
    if after <= before * (1 - HELPED_RATIO):
        return OutcomeVerdict.HELPED
    if after >= before * (1 + HELPED_RATIO):
        return OutcomeVerdict.HURT
    return OutcomeVerdict.NEUTRAL


def _sentence(verdict: OutcomeVerdict, proposal: Proposal, before: float, after: float, window_seconds: float) -> str:
    if window_seconds < MINIMUM_WINDOW_SECONDS:
        needed = format_seconds(MINIMUM_WINDOW_SECONDS)
        return f"not measured: {format_seconds(window_seconds)} seen after settling, {needed} needed"
    if not (math.isfinite(before) and math.isfinite(after)):
        return "not measured: the engine gave no read times or transactions on both sides"
    if verdict is OutcomeVerdict.UNMEASURED:
        return (
            "not measured: no read was waited for before the moves, so there is nothing to compare with; "
            f"read wait per transaction is now {format_seconds(after)}"
        )
    predicted = proposal.wait_saved_per_hour / proposal.wait_per_hour if proposal.wait_per_hour else 0.0
    return (
        f"{verdict}: read wait per transaction went from {format_seconds(before)} to {format_seconds(after)} "
        f"({(after - before) / before:+.0%}); predicted {-predicted:+.0%}"
    )
