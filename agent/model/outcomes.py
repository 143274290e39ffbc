"""Outcomes of proposals and of single statements, and waves that wait for them.

What single statements did between two readings, and how their time changed with moves.

The outcome of a proposal: read wait per transaction before and after, compared with the prediction.

Whether a wave of an approved list may begin: only once those before it are measured and none of them hurt. Pure.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from dataclasses import MISSING, asdict, dataclass, fields
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from agent.model.states import NOT_CARRIED_OUT, TAKEN_BACK, MoveState
from connectors.model.formatting import format_rate, format_seconds

if TYPE_CHECKING:
    from connectors.model.observation import F64


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementInterval:
    """The statements that took most time between two readings; columns of one length, NaN where not counted."""

    started_at: datetime
    ended_at: datetime
    ids: tuple[str, ...]
    executions: F64
    seconds: F64  # elapsed, of all executions
    read_wait: F64  # of them, seconds waited for reads
    reads: F64  # blocks

    @property
    def length(self) -> float:
        """Seconds between the readings."""
        return (self.ended_at - self.started_at).total_seconds()


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementChange:
    """One statement before and after moves, per execution; NaN where the engine does not count."""

    id: str
    executions_before: float  # counted in the time that was compared
    executions_after: float
    seconds_before: float
    seconds_after: float
    read_wait_before: float
    read_wait_after: float
    reads_before: float
    reads_after: float
    change: float  # of its time by its waits for reads, at the same load; 0.5: half as long again
    change_low: float  # ends of the interval that holds 90 % of effects
    change_high: float

    @property
    def sentence(self) -> str:
        """In words, without a full stop."""
        took = f"{format_seconds(self.seconds_before)} became {format_seconds(self.seconds_after)} per execution"
        if not math.isnan(self.read_wait_before):
            waits = format_seconds(self.read_wait_before), format_seconds(self.read_wait_after)
            took += f", read wait in it {waits[0]} and {waits[1]}"
        ends = f"{self.change_low:+.0%} to {self.change_high:+.0%}"
        return f"statement {self.id}: {took}; {self.change:+.0%} at the same load ({ends})"


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedStatements:
    """How the statements of a database fared with moves."""

    compared: int  # that ran often enough before and after
    slower_count: int  # of them surely so; of all of these ``slower`` are the worst, by time added
    faster_count: int
    slower: tuple[StatementChange, ...] = ()
    faster: tuple[StatementChange, ...] = ()
    grown_count: int = 0  # that wait longer because they read more per execution, by nothing that the moves did
    grown: tuple[StatementChange, ...] = ()
    slower_seconds: float = 0.0  # that all slower ones take more, per second
    faster_seconds: float = 0.0  # that all faster ones take less
    why_none: str = ""  # why none was compared

    @property
    def sentence(self) -> str:
        """In words, without a full stop."""
        if not self.compared:
            return f"no statement was compared: {self.why_none or 'none ran often enough before and after'}"
        said = (
            f"of {self.compared} statements {self._say_count(self.slower_count, 'slower', self.slower_seconds, 'more')}"
        )
        said += f", {self._say_count(self.faster_count, 'faster', self.faster_seconds, 'less')}"
        if self.grown_count:
            said += f"; {self.grown_count} read more per execution: their objects have grown, or their plans changed"
        return said

    @staticmethod
    def _say_count(count: int, word: str, seconds: float, than: str) -> str:
        cost = f" ({format_seconds(60 * seconds)} {than} in each minute)" if seconds > 0 else ""
        return f"{count} are {word}{cost}" if word == "slower" else f"{count} {word}{cost}"


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
    predicted_busiest: str = ""  # the next bottleneck as forecast, and how busy; "": none was
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
        forecast = f", forecast {format_seconds(self.predicted_latency)}" if known else ""
        busiest = f"; then busiest by forecast {self.predicted_busiest}" if self.predicted_busiest else ""
        return f"{said}; {latency}{forecast}{busiest}"

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
    names = ("slower", "faster", "grown")
    lists = {name: tuple(StatementChange(**_with_nan(each)) for each in plain.get(name, ())) for name in names}
    return ComparedStatements(**{**plain, **lists})


def _with_nan(plain: dict[str, Any]) -> dict[str, Any]:
    return {name: math.nan if value is None else value for name, value in plain.items()}


def _without_nan(value: Any) -> Any:  # noqa: ANN401  # JSON values
    if isinstance(value, dict):
        return {name: _without_nan(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_nan(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


HURTS = frozenset({OutcomeVerdict.HURT, OutcomeVerdict.HURT_FOR_SOME})


class WaveAnswer(StrEnum):
    """What becomes of a proposal of a later wave."""

    GO = "go"
    WAIT = "wait"
    NEVER = "never"


@dataclass(frozen=True, slots=True, kw_only=True)
class WentBefore:
    """A proposal of an earlier wave."""

    proposal: int
    database: str
    states: Collection[MoveState]  # of its moves
    verdict: OutcomeVerdict | None  # None: not measured yet


@dataclass(frozen=True, slots=True)
class WaveDecision:
    """The answer with its reason in plain words."""

    answer: WaveAnswer
    sentence: str = ""


def decide_wave(before: Iterable[WentBefore]) -> WaveDecision:
    """Whether a proposal may begin, by all that goes before it; one of them that hurt outweighs those not measured."""
    decisions = [_decide(each) for each in before]
    for answer in (WaveAnswer.NEVER, WaveAnswer.WAIT):
        if found := next((each for each in decisions if each.answer is answer), None):
            return found
    return WaveDecision(WaveAnswer.GO)


def _decide(each: WentBefore) -> WaveDecision:
    name = f"proposal {each.proposal} of {each.database}, which goes before it,"
    if each.verdict in HURTS:
        return WaveDecision(WaveAnswer.NEVER, f"{name} {each.verdict}")
    if any(state in TAKEN_BACK for state in each.states):
        return WaveDecision(WaveAnswer.NEVER, f"{name} is taken back")
    if each.verdict is not None:
        return WaveDecision(WaveAnswer.GO)
    if all(state in NOT_CARRIED_OUT for state in each.states):
        return WaveDecision(WaveAnswer.NEVER, f"{name} was not carried out")
    return WaveDecision(WaveAnswer.WAIT, f"{name} is not measured yet")
