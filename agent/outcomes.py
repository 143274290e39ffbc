"""What came of a proposal: how long sessions waited per transaction before and after, beside what was predicted."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from typing import Any


class OutcomeVerdict(StrEnum):
    """Whether the moves helped."""

    HELPED = "helped"
    NEUTRAL = "neutral"
    HURT = "hurt"
    UNMEASURED = "unmeasured"  # too little was measured to say anything


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """A measured effect. NaN where the engine does not measure; foreground read wait only."""

    verdict: OutcomeVerdict
    measured: bool  # False: the figures below are no evidence
    predicted_wait_saved_per_hour: float  # seconds per hour, as the proposal promised
    predicted_saved_ratio: float  # the same as a share of the wait before
    wait_per_transaction_before: float  # seconds
    wait_per_transaction_after: float
    transactions_per_second_before: float
    transactions_per_second_after: float
    read_latency_before: float  # mean seconds of one physical read
    read_latency_after: float
    window_seconds: float  # how long "after" was measured
    sentence: str
    predicted_saved_ratio_low: float = math.nan  # ends of the interval; NaN: predicted before there was one
    predicted_saved_ratio_high: float = math.nan

    @property
    def saved_ratio(self) -> float:
        """Share of the wait per transaction that is gone, as measured; NaN where it was not."""
        before = self.wait_per_transaction_before
        return 1 - self.wait_per_transaction_after / before if self.measured and before > 0 else math.nan

    @property
    def as_predicted(self) -> bool | None:
        """Whether what was measured lies in the predicted interval; None where either is unknown."""
        ends = self.predicted_saved_ratio_low, self.predicted_saved_ratio_high
        if math.isnan(self.saved_ratio) or any(math.isnan(end) for end in ends):
            return None
        return ends[0] <= self.saved_ratio <= ends[1]


OPTIONAL = ("predicted_saved_ratio_low", "predicted_saved_ratio_high")  # older ledgers lack them


def outcome_json(outcome: Outcome) -> dict[str, Any]:
    """The outcome as plain JSON values; what was not measured is None, for JSON knows no NaN."""
    plain = asdict(outcome)
    return {name: None if isinstance(v, float) and not math.isfinite(v) else v for name, v in plain.items()}


def outcome_from_json(plain: dict[str, Any]) -> Outcome:
    """Inverse of ``outcome_json``: None becomes NaN again.

    Raises:
        ValueError: the keys are not those of an outcome, or the verdict is unknown.
    """
    expected = {field.name for field in fields(Outcome)}
    if not expected - set(OPTIONAL) <= set(plain) <= expected:
        raise ValueError(f"an outcome has {sorted(expected)}, this has {sorted(plain)}")
    values: dict[str, Any] = {name: float("nan") if value is None else value for name, value in plain.items()}
    values["verdict"] = OutcomeVerdict(plain["verdict"])
    return Outcome(**values)
