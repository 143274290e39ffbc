"""Sessions of two kinds on one server: those that wait for reads, and those that hardly ever do.

One class of sessions in a network does a bit of everything: its mean transaction reads a little. Beside sessions that
never read (a monitor, a queue of small writes) this is wrong in both directions, since only those that read come back
sooner. So the network is solved for the readers alone, and the others go on as they did.

How many of the transactions are the readers' is counted nowhere, and estimated from looks at best. For them alone it
does not matter: ``N`` sessions, of which ``T`` are at work on average, get ``N / (N - T + T')`` times as much done
where ``T'`` would be at the same rate, whatever they do in one transaction. How much that adds to the throughput of all
does depend on it, so both ends of their share are solved for. Where looks tell nothing, it is taken to be that of their
sessions, and its ends are none and all.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import exp, isfinite

from connectors.model import DatabaseDemand
from policies.model.confidence import ConfidenceInterval
from policies.sizing.throughput import Forecast

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
