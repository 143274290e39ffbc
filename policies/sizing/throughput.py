"""What is forecast of throughput and latency, and how earlier outcomes widen it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import exp

from connectors.formatting import format_rate, format_seconds
from policies.model.confidence import ConfidenceInterval
from policies.model.past_forecast import Foretold, PastForecast, reach_of

NAN = float("nan")


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """The forecast of a placement. NaN where there is none; ``why_not`` then says why."""

    transactions: float  # per second
    interval: ConfidenceInterval  # of transactions; holds ``settings.certainty`` of outcomes
    latency: float  # seconds that a session spends on one transaction
    latency_interval: ConfidenceInterval
    wait_per_transaction: float  # read wait, seconds
    present_transactions: float  # per second, as measured
    sessions: float  # active on average, as measured
    load: str = ""  # "closed", "open", or "" where it is not known: then the forecast is that of a closed one
    open_latency: float = NAN  # seconds, were as many transactions to come as now; NaN: not forecast
    busiest: str = ""  # the next bottleneck, and how busy it will be; "": nothing that is known
    assumed: tuple[str, ...] = ()  # what is not known and widens the interval, each a sentence without full stop
    unmodelled: tuple[str, ...] = ()  # what may hold sessions up and is in neither forecast nor interval, by name
    why_not: str = ""  # "" where it is forecast; else the reason, to go after "not forecast: "
    limit: str = ""  # what keeps it from more, other than the waits that moves shorten; "": nothing that is known

    @property
    def gain(self) -> float:
        """Throughput over that of the present placement."""
        return self.transactions / self.present_transactions

    @property
    def present_latency(self) -> float:
        """The latency of the present placement, as measured: by Little's law, sessions over throughput."""
        return self.sessions / self.present_transactions if self.present_transactions > 0 else NAN


def taught(said: Forecast, past: Sequence[PastForecast], sessions: float) -> Forecast:
    """The forecast with intervals as wide as earlier outcomes show that they have to be, named in ``assumed``.

    Args:
        said: by the model.
        past: earlier forecasts next to what came.
        sessions: that go round; 0 where the rate does not depend on how long they are answered.
    """
    rates = _widened(said.interval, said.transactions, said.present_transactions, [each.rate for each in past])
    # Each of so many sessions takes longer or shorter by what the new ends add (interactive response time law).
    low, high, wider = said.interval.low, said.interval.high, rates.ends
    shorter = sessions * (1 / high - 1 / wider.high) if wider.high > high else 0.0
    longer = sessions * (1 / wider.low - 1 / low) if wider.low < low else 0.0
    ends = ConfidenceInterval(
        low=min(said.latency, max(0.0, said.latency_interval.low - shorter)), high=said.latency_interval.high + longer
    )
    latencies = _widened(ends, said.latency, said.present_latency, [each.latency for each in past])
    return replace(
        said,
        interval=rates.ends,
        latency_interval=latencies.ends,
        assumed=(
            *said.assumed,
            *(
                f"{format_rate(each.said)}/s were forecast earlier, {format_rate(each.came)}/s came"
                for each in rates.off
            ),
            *(
                f"a latency of {format_seconds(each.said)} was forecast earlier, {format_seconds(each.came)} came"
                for each in latencies.off
            ),
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Widened:
    """An interval, and the earlier forecasts that it was too narrow for."""

    ends: ConfidenceInterval
    off: tuple[Foretold, ...]


def _widened(ends: ConfidenceInterval, middle: float, present: float, past: Sequence[Foretold]) -> _Widened:
    """The interval of one figure."""
    reach = reach_of(past, middle / present if present > 0 else NAN)
    low, high = middle * exp(-reach.down), middle * exp(reach.up)
    causes = ((low < ends.low, reach.too_high), (high > ends.high, reach.too_low))
    return _Widened(
        ends=ConfidenceInterval(low=min(ends.low, low), high=max(ends.high, high)),
        off=tuple(each for wider, each in causes if wider and each is not None),
    )
