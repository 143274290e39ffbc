"""What is forecast of a placement, as figures: what earlier forecasts teach of them, and sessions of two kinds.

``taught`` widens a ``Forecast`` by how far earlier ones were off (``confidence``).

``Mixture`` separates the sessions that wait for reads from those that hardly ever do (a monitor, a queue of small
writes). Only the readers come back sooner, so the network is solved for them alone, and the others go on as before. If
``T`` of ``N`` readers are at work on average, and ``T'`` at the same rate after the moves, they get
``N / (N - T + T')`` times as much done. What that adds to the throughput of all depends on their share of the
transactions, which is only estimated from looks, so both ends of that share are solved for. Where looks say nothing, it
is taken to be their share of the sessions, with ends at none and all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import exp, isfinite

from connectors.model.formatting import format_rate, format_seconds
from connectors.model.observation import DatabaseDemand
from policies.model.confidence import ConfidenceInterval, Foretold, PastForecast, reach_of

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
    needs: tuple[str, ...] = ()  # what each faster tier has to serve then, of the units that are managed
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
    rates = _widen(said.interval, said.transactions, said.present_transactions, [each.rate for each in past])
    # Each of so many sessions takes longer or shorter by what the new ends add (interactive response time law).
    low, high, wider = said.interval.low, said.interval.high, rates.ends
    shorter = sessions * (1 / high - 1 / wider.high) if wider.high > high else 0.0
    longer = sessions * (1 / wider.low - 1 / low) if wider.low < low else 0.0
    ends = ConfidenceInterval(
        low=min(said.latency, max(0.0, said.latency_interval.low - shorter)), high=said.latency_interval.high + longer
    )
    latencies = _widen(ends, said.latency, said.present_latency, [each.latency for each in past])
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


def _widen(ends: ConfidenceInterval, middle: float, present: float, past: Sequence[Foretold]) -> _Widened:
    """The interval of one figure."""
    reach = reach_of(past, middle / present if present > 0 else NAN)
    low, high = middle * exp(-reach.down), middle * exp(reach.up)
    causes = ((low < ends.low, reach.too_high), (high > ends.high, reach.too_low))
    return _Widened(
        ends=ConfidenceInterval(low=min(ends.low, low), high=max(ends.high, high)),
        off=tuple(each for wider, each in causes if wider and each is not None),
    )


ALIKE = 0.95  # of the sessions in use read: the rest are too few to tell them apart
# Times the odds of a transaction to be a reader's, as looks estimate them. A pause is seen in its midst, and is once to
# twice as long (of exponential length, or all alike). Of both kinds, in opposite directions.
ODDS_ERROR = 4.0
LEAST_SHARE, MOST_SHARE = 1e-6, 1.0  # of transactions: a report that runs all day has its own


@dataclass(frozen=True, slots=True, kw_only=True)
class Mixture:
    """A database whose sessions are of two kinds."""

    together: DatabaseDemand
    readers: DatabaseDemand  # as if they were alone, with what the others leave them of the processors

    @property
    def sentence(self) -> str:
        """What is not known of it, without full stop."""
        some, everybody = self.readers.population, self.together.population
        share = self.shares[1]
        theirs = f"about {share:.2g}" if isfinite(self.together.readers_transactions) else "an unknown share"
        return f"{some:.3g} of {everybody:.3g} sessions wait for reads, with {theirs} of the transactions"

    @property
    def shares(self) -> tuple[float, float, float]:
        """Of the readers among the transactions: the least, the likeliest and the most."""
        said = self.readers.transactions / self.together.transactions
        if not isfinite(self.together.readers_transactions):
            return 0.0, said, 1.0
        least, most = said / ODDS_ERROR, said * ODDS_ERROR  # over the odds' own sum
        return least / (least + 1 - said), said, most / (most + 1 - said)

    @property
    def others_computing(self) -> float:
        """Processors that the others keep busy; NaN where processors are not counted."""
        return self.together.processors - self.readers.processors

    def forecast(self, readers: Forecast, error: float) -> Forecast:
        """The forecast of all, from that of the readers alone.

        Args:
            readers: their forecast.
            error: of what the others get done, as a logarithm: they share the processors.
        """
        whole, now = self.together, self.readers
        others_at_work = whole.active - now.active

        def rate(at: float, share: float, others: float = 1.0) -> float:
            return whole.transactions * ((1 - share) * others + share * at / now.transactions)

        def latency(at: float, each: float, all_at: float) -> float:
            return (others_at_work + at * each) / all_at

        least, share, most = self.shares
        middle = rate(readers.transactions, share)
        low = min(rate(readers.interval.low, of, exp(-error)) for of in (least, share, most))
        high = max(rate(readers.interval.high, of, exp(error)) for of in (least, share, most))
        said = latency(readers.transactions, readers.latency, middle)
        slowest = latency(readers.interval.low, readers.latency_interval.high, low)
        quickest = latency(readers.interval.high, readers.latency_interval.low, high)
        return replace(
            readers,
            transactions=middle,
            interval=ConfidenceInterval(low=low, high=high),
            latency=said,
            latency_interval=ConfidenceInterval(low=min(said, quickest), high=max(said, slowest)),
            wait_per_transaction=readers.transactions * readers.wait_per_transaction / middle,
            present_transactions=whole.transactions,
            sessions=whole.active,
            open_latency=latency(now.transactions, readers.open_latency, whole.transactions),
            assumed=(*readers.assumed, self.sentence),
        )


def mixture_of(database: DatabaseDemand) -> Mixture | None:
    """The two kinds; None where all sessions are of one, or nothing tells them apart."""
    known = database.population > 0 and isfinite(database.readers) and isfinite(database.readers_active)
    if not known or database.readers > ALIKE * database.population or not database.readers > 0:
        return None
    waits = database.read_wait if database.read_wait >= 0 else 0.0
    active = min(database.active, max(database.readers_active, waits))
    population = max(database.readers, active)
    computing, all_computing = active - min(waits, active), database.active - min(waits, active)
    # Processor time is counted for the server as a whole: it goes with the time at work that is no wait for reads.
    theirs = database.processor * (computing / all_computing if all_computing > 0 else 1.0)
    return Mixture(
        together=database,
        readers=replace(
            database,
            transactions=_transactions(database, population),
            active=active,
            population=population,
            processor=theirs,
            processors=database.processors - (database.processor - theirs),
        ),
    )


def _transactions(database: DatabaseDemand, readers: float) -> float:
    """Those of the readers a second: as looks tell, else in proportion to their sessions."""
    known = isfinite(database.readers_transactions)
    share = database.readers_transactions / database.transactions if known else readers / database.population
    return database.transactions * min(MOST_SHARE, max(LEAST_SHARE, share))
