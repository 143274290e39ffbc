"""The outcome of a proposal: read wait per transaction before and after, compared with the prediction."""

from __future__ import annotations

import math
from dataclasses import MISSING, asdict, dataclass, fields
from enum import StrEnum
from typing import Any

from agent.model.statements import ComparedStatements, StatementChange
from connectors.formatting import format_rate, format_seconds


class OutcomeVerdict(StrEnum):
    """Whether the moves helped."""

    HELPED = "helped"
    NEUTRAL = "neutral"
    HURT_FOR_SOME = "hurt for some"  # some statements became slower, whatever all of them together did
    HURT = "hurt"
    CANNOT_TELL = "cannot tell"  # measured, but what was measured allows help as well as hurt
    UNMEASURED = "unmeasured"  # too little was measured to say anything


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """A measured effect. NaN where the engine does not measure; foreground read wait only."""

    verdict: OutcomeVerdict
    measured: bool  # False: the figures below are no evidence
    predicted_wait_saved_per_hour: float  # seconds per hour, as the proposal promised
    predicted_saved_ratio: float  # the same as a share of the wait before; NaN: nothing was predicted
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
    work: str = "transactions"  # what is counted per second, in the plural
    latency_before: float = math.nan  # seconds that a session spends on one transaction
    latency_after: float = math.nan
    predicted_transactions_per_second: float = math.nan  # NaN: not forecast
    predicted_transactions_per_second_low: float = math.nan
    predicted_transactions_per_second_high: float = math.nan
    predicted_latency: float = math.nan
    predicted_latency_low: float = math.nan
    predicted_latency_high: float = math.nan
    not_forecast: str = ""  # why not, where the proposal says so
    undo: bool = False  # of taking moves back: says nothing of what moves bring
    # Change of the wait per operation for the same work, -0.6: 60 % less; NaN: not known, as of older outcomes.
    change: float = math.nan
    change_low: float = math.nan  # ends of the interval that holds 90 % of effects
    change_high: float = math.nan
    rests_on: str = ""  # what the verdict rests on
    joint_share: float = 1.0  # of the effect of all moves that were measured together, other proposals' included
    # Of this one move: its share of the effect, its reads and what sessions waited for one of them; NaN: not known.
    own_share: float = math.nan
    own_reads_per_second_before: float = math.nan
    own_reads_per_second_after: float = math.nan
    own_wait_per_read_before: float = math.nan
    own_wait_per_read_after: float = math.nan
    statements: ComparedStatements | None = None  # None: the engine does not tell them apart, or they were not wanted

    @property
    def judged(self) -> str:
        """The verdict for people: ``helped``, and of an undo ``undo helped``."""
        return f"undo {self.verdict}" if self.undo else self.verdict.value

    @property
    def saved_ratio(self) -> float:
        """Share of the wait that is gone, as measured; NaN where it was not.

        For the same work where that is known, else plainly per transaction.
        """
        return -self.change if not math.isnan(self.change) else self.plain_saved_ratio

    @property
    def plain_saved_ratio(self) -> float:
        """Share of the wait per transaction that is gone, whatever else has changed; NaN where it was not measured."""
        before = self.wait_per_transaction_before
        return 1 - self.wait_per_transaction_after / before if self.measured and before > 0 else math.nan

    @property
    def as_predicted(self) -> bool | None:
        """Whether what was measured lies in the predicted interval; None where either is unknown."""
        ends = self.predicted_saved_ratio_low, self.predicted_saved_ratio_high
        if math.isnan(self.saved_ratio) or any(math.isnan(end) for end in ends):
            return None
        return ends[0] <= self.saved_ratio <= ends[1]

    @property
    def throughput_as_predicted(self) -> bool | None:
        """Whether the throughput measured lies in the predicted interval; None where either is unknown."""
        ends = self.predicted_transactions_per_second_low, self.predicted_transactions_per_second_high
        if not self.measured or any(math.isnan(each) for each in (self.transactions_per_second_after, *ends)):
            return None
        return ends[0] <= self.transactions_per_second_after <= ends[1]

    @property
    def throughput_sentence(self) -> str:
        """Throughput and latency before and after, next to the forecast; "" where nothing was measured."""
        before, after = self.transactions_per_second_before, self.transactions_per_second_after
        if not self.measured or math.isnan(before) or math.isnan(after):
            return ""
        said = f"{format_rate(before)} {self.work}/s became {format_rate(after)}, {self._forecast_words}"
        if math.isnan(self.latency_before) or math.isnan(self.latency_after):
            return said
        latency = f"latency {format_seconds(self.latency_before)} became {format_seconds(self.latency_after)}"
        known = not math.isnan(self.predicted_latency)
        return f"{said}; {latency}" + (f", forecast {format_seconds(self.predicted_latency)}" if known else "")

    @property
    def _forecast_words(self) -> str:
        """The forecast of the throughput, or why there was none."""
        if math.isnan(self.predicted_transactions_per_second):
            return f"not forecast: {self.not_forecast}" if self.not_forecast else "not forecast"
        low, high = self.predicted_transactions_per_second_low, self.predicted_transactions_per_second_high
        said = format_rate(self.predicted_transactions_per_second)
        return f"forecast {said} (between {format_rate(low)} and {format_rate(high)})"


OPTIONAL = frozenset(field.name for field in fields(Outcome) if field.default is not MISSING)  # older ledgers lack them


def outcome_json(outcome: Outcome) -> dict[str, Any]:
    """The outcome as plain JSON values; what was not measured is None, for JSON knows no NaN."""
    plain: dict[str, Any] = _without_nan(asdict(outcome))
    return plain


def outcome_from_json(plain: dict[str, Any]) -> Outcome:
    """Inverse of ``outcome_json``: None becomes NaN again.

    Raises:
        ValueError: the keys are not those of an outcome, or the verdict is unknown.
    """
    expected = {field.name for field in fields(Outcome)}
    if not expected - OPTIONAL <= set(plain) <= expected:
        raise ValueError(f"an outcome has {sorted(expected)}, this has {sorted(plain)}")
    values = _with_nan({name: value for name, value in plain.items() if name != "statements"})
    values["verdict"] = OutcomeVerdict(plain["verdict"])
    return Outcome(**values, statements=_statements_from_json(plain.get("statements")))


def _statements_from_json(plain: dict[str, Any] | None) -> ComparedStatements | None:
    if plain is None:
        return None
    lists = {name: tuple(StatementChange(**_with_nan(each)) for each in plain[name]) for name in ("slower", "faster")}
    return ComparedStatements(**{**plain, **lists})


def _with_nan(plain: dict[str, Any]) -> dict[str, Any]:
    return {name: math.nan if value is None else value for name, value in plain.items()}


def _without_nan(value: Any) -> Any:  # noqa: ANN401  # JSON values
    if isinstance(value, dict):
        return {name: _without_nan(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_nan(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
