"""Throughput and latency after moves: what a plan forecasts of them.

``forecast_figures`` has what comes of it, and the sessions of two kinds.

``forecast`` turns saved wait into throughput. A session that waits less asks again sooner, until the next queue holds
it. ``workload`` says which of two cases a load is; until it knows, both are given:

- **closed**: the same sessions ask again once they have thought (``queueing``). Their number and their pauses stay;
- **open**: requests arrive regardless of latency. As much gets done as before, and each transaction takes less time.

The mix of transactions stays, and the buffer pool misses the same blocks per transaction wherever they come from. What
is unknown widens the interval: each cause is solved at both of its ends, and the distances add up as squares:

- the model and what was counted, including sessions' time outside reads, and processor time of a transaction, which
  is longer on idle processors;
- how many requests a tier serves at a time (``device``), and for a fast tier without ``iops`` whether it has a limit at
  all: ``ASSUMED_IO`` a second and ``ASSUMED_BYTES``, or what it serves now;
- what part of reads ahead, of background writes and of the log's work comes with the transactions (``workload`` learns
  it from hours that differ); until that is known, half of the reads ahead, with ends at none and all;
- what background work costs a tier: a scan may be one endless run, or seek once for each ``RUN_BLOCKS``; a write may
  cost nothing (a cache takes it) or one random write. Of a scan the forecast takes the latter, as far as the random
  reads leave the disk that much time (utilisation law): where sessions queue for random reads, one of these comes
  between two runs. Of a write it takes the geometric mean of both;
- whether sessions that wait for a log, temporary or undo space wait for one another: a fixed delay, or a queue of one;
- how many processors there are, where the engine does not say: at worst as many as leave half of them idle now; where
  other programs take some, whether they give way (``contested_processors``);
- how many sessions are in use, where the engine does not say: the lower end is then as much as now;
- causes missing from the model, where earlier outcomes show that there are some (``confidence``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil, exp, hypot, inf, isnan, log, sqrt

import numpy as np

from connectors.model.formatting import format_bytes, format_rate, format_seconds
from connectors.model.observation import F64, I64, SIGNALS, DatabaseDemand, Role, RoleFigures, Signal
from policies.evidence.capacity import RUN_BLOCKS
from policies.evidence.prices import Prices, is_measured, own_waits
from policies.evidence.queueing import (
    BACKGROUND,
    CARRIED,
    CARRIED_AHEAD,
    CARRIED_WRITES,
    LEAST_ELSEWHERE,
    LEAST_WAITED,
    READ_ROWS,
    ROWS,
    TRANSACTIONS,
    WRITES,
    Loop,
    Network,
    closed_loop,
    contested_processors,
    is_limited,
    queued_tiers,
    queues,
)
from policies.model.confidence import MODEL_ERROR, ConfidenceInterval, spread
from policies.model.plan import Plan, Situation
from policies.model.settings import PolicySettings, Tier
from policies.placement.forecast_figures import NAN, Forecast, mixture_of, taught

ELSEWHERE_ERROR = 0.02  # of a session's whole time: how far off the rest is that no counter shows
# Of the sessions in use: they are counted now and then, not all of them are of one kind, and how long clients take
# between two transactions depends on what else their machine does.
POPULATION_ERROR = 0.05
# Of the processor time of a transaction: other programs, caches and a clock that slows down make it differ; and the
# formula for several processors is off by about as much where they are the bottleneck.
PROCESSOR_ERROR = 0.05
# Of it for each share of the processors that is idle now, at most: with cold caches and after deep sleep the same work
# takes longer. On a virtual machine of two processors two loads of six sessions took 0.68 and 0.52 ms a transaction
# while they waited for a disk, and 0.23 and 0.16 ms once they did not (2.9 and 3.3 times).
IDLE_ERROR = 3.0
# Of it for each share of the processors that other programs take. Two threads on one core do 1.3 times the work of one
# (Intel, How to Determine the Effectiveness of Hyper-Threading Technology with an Application, 2011), so that each
# takes 1.5 times as long: as much as a 90 % interval reaches where others take half of the processors, the other half
# of each core at worst. Caches that they evict are not counted apart. Not fitted: neither load that the model was
# calibrated on is bound by processors.
CONTESTED_ERROR = 0.5
LEAST_PAUSE = 0.5  # of the seconds between two transactions, where sessions are counted: clients do not come to hurry
READ_AHEAD = (Signal.PREFETCHED_READ, Signal.DIRECT_READ)
MOST_READING = 0.9  # of a disk, by random reads, where it reads ahead as well: its idle time may be off by a tenth
LEAST_NEEDED = 1.0  # I/Os a second of a tier: less is no need of it
BINDING = 0.8  # utilisation of a tier from which on its limit is what sessions run into
ASSUMED_IO = 3000.0  # I/Os a second of a fast volume at worst: what clouds give one that no one paid more for
ASSUMED_BYTES = 125 * 2**20  # and bytes a second
LEAST_CONTESTED = 0.05  # of the processors: what an operating system and an agent take is no other program
ASSUMED_BUSY = 0.5  # of processors that no engine counts, now, at worst


@dataclass(frozen=True, slots=True, kw_only=True)
class _Waits:
    """Rows of the closed network, now and then, at the speeds that are believed. Shape ``(ROWS, tiers)``."""

    now: F64
    then: F64

    def with_writes(self, factor: F64) -> _Waits:
        """The same with writes that cost so many times as much on each tier."""
        return _Waits(now=_times(self.now, factor), then=_times(self.then, factor))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Case:
    """One set of assumptions."""

    situation: Situation
    waits: _Waits
    paced: float  # share of the reads ahead that come with transactions
    paced_writes: float  # the same of the writes that no session waits for
    share: float = 1.0  # of all transactions, those of the sessions in the network
    others_computing: float = 0.0  # processors busy with the other sessions
    sorting: float = 1.0  # of reads ahead: 0 if each scan is one endless run, 1 if other requests come between its runs

    def loop(self) -> Loop | None:
        """Of the present placement; None where nothing says what it is."""
        tiers = self.situation.tiers
        dearest = np.array([_dearest(tier) for tier in tiers])
        most = np.array(
            [_most_seeks(tier, *row) for tier, row in zip(tiers, self.waits.now.T[:, READ_ROWS], strict=True)]
        )
        return closed_loop(
            self.waits.now,
            self.situation,
            paced=self.paced,
            paced_writes=self.paced_writes,
            seeks=np.minimum(dearest**self.sorting, most),
        )

    def network(self) -> Network | None:
        """Of the other placement."""
        loop = self.loop()
        return None if loop is None else loop.network(self.waits.then[:, :, np.newaxis])

    def rate(self) -> float:
        """Transactions a second of the other placement; NaN without a network."""
        network = self.network()
        return NAN if network is None else float(network.solve()[0][0])


def session_seconds(database: DatabaseDemand) -> float:
    """Seconds that sessions spend on one transaction, as measured; NaN where either is unknown or nothing was done."""
    return database.active / database.transactions if database.transactions > 0 else NAN


def forecast_plan(situation: Situation, settings: PolicySettings, plan: Plan) -> Forecast:
    """The forecast for a plan after all its moves; for one without moves, of the present placement."""
    return forecast(situation, settings, tiers_after(situation, plan))


def tiers_after(situation: Situation, plan: Plan) -> I64:
    """Tier of each unit once all moves of a plan are done, -1 where it is not managed. Shape ``(n,)``."""
    tier = situation.tier_of_space[situation.units.space].astype(np.int64)
    row_of = {each.name: row for row, each in enumerate(situation.tiers)}
    for move in plan.moves:
        tier[list(move.rows)] = row_of[move.to_tier]
    return tier


def forecast(situation: Situation, settings: PolicySettings, tier: I64) -> Forecast:
    """Predict throughput and latency with each unit on the tier given.

    Args:
        situation: heat, present homes, speeds as calibrated, and the whole database's demand.
        settings: wait shares, and the certainty of the interval.
        tier: row of ``situation.tiers`` for each unit, shape ``(n,)``; -1 where it is not managed.
    """
    why_not = _unforeseeable(situation)
    case, mixture = _case_of(situation, settings, tier), mixture_of(situation.database)
    if mixture is not None:
        # A limit that showed in the transactions of all says nothing of how long it holds up the readers' own.
        apart = replace(situation, database=mixture.readers, elsewhere_alone=NAN)
        case = replace(case, situation=apart, share=mixture.shares[1], others_computing=mixture.others_computing)
    loop = None if why_not else case.loop()
    if loop is None:
        return _nothing(situation.database, why_not or "no reads were seen that anybody could wait for")
    network = loop.network(case.waits.then[:, :, np.newaxis])
    found = _closed(case, loop, network, settings, _counting_error(situation, tier))
    arriving = situation.load == "open"
    if arriving:
        found = _opened(found, network, settings)
    found = replace(found, needs=tuple(_needs(case, settings, tier, found.gain)))
    if mixture is not None:
        found = mixture.forecast(found, MODEL_ERROR * spread(settings.certainty))
    found = replace(found, unmodelled=tuple(_unmodelled(situation)))
    return taught(found, situation.past_forecasts, 0.0 if arriving else loop.sessions)


def rate_without(situation: Situation, settings: PolicySettings, tier: I64, seconds: float) -> float:
    """Transactions a second, were each spared so much time that it spends at no tier.

    Args:
        situation: as of ``forecast``.
        settings: likewise.
        tier: row of ``situation.tiers`` for each unit, shape ``(n,)``; -1 where it is not managed.
        seconds: of a transaction, 0 or more.

    Returns:
        NaN where that is not forecast: of a load that arrives independently, or of sessions of two kinds.
    """
    alike = situation.load != "open" and mixture_of(situation.database) is None
    network = _case_of(situation, settings, tier).network() if alike and not _unforeseeable(situation) else None
    if network is None:
        return NAN
    least = LEAST_ELSEWHERE * network.elsewhere
    return float(replace(network, elsewhere=max(least, network.elsewhere - seconds)).solve()[0][0])


def _case_of(situation: Situation, settings: PolicySettings, tier: I64) -> _Case:
    here = situation.tier_of_space[situation.units.space].astype(np.int64)
    waits = _Waits(now=_waits(situation, settings, here), then=_waits(situation, settings, tier))
    paced = situation.paced
    return _Case(situation=situation, waits=waits, paced=paced.read_ahead.share, paced_writes=paced.writes.share)


def _nothing(database: DatabaseDemand, why_not: str) -> Forecast:
    unknown = ConfidenceInterval(low=NAN, high=NAN)
    return Forecast(
        transactions=NAN,
        interval=unknown,
        latency=NAN,
        latency_interval=unknown,
        wait_per_transaction=NAN,
        present_transactions=database.transactions,
        sessions=database.active,
        why_not=why_not,
    )


def _closed(case: _Case, loop: Loop, network: Network, settings: PolicySettings, counting: float) -> Forecast:
    """The forecast where the sessions that are there ask again as soon as they have thought."""
    situation, database = case.situation, case.situation.database
    rate, wait = (float(found[0]) for found in network.solve())
    causes = [*_unknown(case, loop)]
    ends = [_errors(network, database, settings, counting), _processor_ends(network, database, settings)]
    low, high = _together(rate, [*ends, *(rates for rates, _ in causes)])
    if not database.population > 0:
        low = min(low, database.transactions)
    scanning = min(database.active, float(loop.now[BACKGROUND].sum()))  # sessions that read ahead, at their own pace
    at_work = max(LEAST_ELSEWHERE, database.active - float(loop.now[TRANSACTIONS].sum()) - scanning)
    elsewhere = at_work / database.transactions

    def latency(at: float) -> float:
        # Sessions over rate, less the same seconds between two transactions as now (interactive response time law).
        more = loop.sessions * (1 / at - 1 / database.transactions) if at > 0 else inf
        return max(elsewhere, (database.active - scanning) / database.transactions + more) + scanning / at

    present = network.wait_at(np.full(1, database.transactions))
    return Forecast(
        transactions=rate,
        interval=ConfidenceInterval(low=low, high=high),
        latency=latency(rate),
        latency_interval=ConfidenceInterval(low=latency(high), high=latency(low)),
        wait_per_transaction=wait,
        present_transactions=database.transactions,
        sessions=database.active,
        load=situation.load,
        open_latency=elsewhere + float(present[0]) + scanning / database.transactions,
        busiest=_busiest(case, network, rate),
        assumed=tuple(sentence for _, sentence in causes if sentence),
        limit=_limit(situation, network, rate),
    )


def _opened(closed: Forecast, network: Network, settings: PolicySettings) -> Forecast:
    """The forecast where work arrives independently: as much as now, if the other placement can serve it."""
    rate = min(closed.present_transactions, closed.transactions)
    reach = exp(MODEL_ERROR * spread(settings.certainty))
    shortest = max(0.0, closed.open_latency - float(network.wait_at(np.full(1, rate))[0]))
    return replace(
        closed,
        transactions=rate,
        interval=ConfidenceInterval(low=rate / reach, high=rate * reach),
        latency=closed.open_latency,
        latency_interval=ConfidenceInterval(low=shortest, high=max(closed.open_latency, closed.latency_interval.high)),
        limit="",
    )


def _errors(
    network: Network, database: DatabaseDemand, settings: PolicySettings, counting: float
) -> tuple[float, float]:
    """Ends of the rate by the errors of the model and of what was counted."""
    error = hypot(MODEL_ERROR, counting) * spread(settings.certainty)
    # Who is connected and not at work thinks: the difference of two figures, each with its error.
    known = database.population > 0
    rest = hypot(ELSEWHERE_ERROR, POPULATION_ERROR) if known else ELSEWHERE_ERROR
    slack = rest * spread(settings.certainty) * network.sessions / database.transactions
    less = min(slack, -log(LEAST_PAUSE) * network.elsewhere) if known else slack
    # Solved again at both ends and not taken as a share of the rate: near saturation the same error of demand moves
    # throughput by much more.
    low, high = network.with_demand(exp(error), slack), network.with_demand(exp(-error), -less)
    return float(low.solve()[0][0]), float(high.solve()[0][0])


def _processor_ends(network: Network, database: DatabaseDemand, settings: PolicySettings) -> tuple[float, ...]:
    """Rates by the error of the time that a transaction takes of a processor; none where that is not counted."""
    if network.processors is None:
        return ()
    ours, beside = network.processors, contested_processors(database) / database.processors
    error = hypot(PROCESSOR_ERROR, CONTESTED_ERROR * beside) * spread(settings.certainty)
    idle = max(0.0, 1.0 - database.processor / database.processors - beside)
    ends = ours.seconds * exp(error), ours.seconds * exp(-error) / (1.0 + IDLE_ERROR * idle)
    networks = [replace(network, processors=replace(ours, seconds=seconds)) for seconds in ends]
    return tuple(float(each.solve()[0][0]) for each in networks)


def _unknown(case: _Case, loop: Loop) -> Iterator[tuple[tuple[float, ...], str]]:
    """Rates at the ends of what is not known, and a sentence for what an administrator could tell."""
    situation = case.situation
    if any(tier.speed.servers.least < tier.speed.servers.most for tier in situation.tiers):
        yield tuple(replace(case, situation=_with_servers(situation, end)).rate() for end in ("least", "most")), ""
    ahead, written = situation.paced.read_ahead, situation.paced.writes
    yield tuple(replace(case, paced=share).rate() for share in (ahead.least, ahead.most)), ""
    if written.least < written.most:
        yield tuple(replace(case, paced_writes=share).rate() for share in (written.least, written.most)), ""
    dearest = np.array([_sorted_share(tier) for tier in situation.tiers])
    ends = ((0.0, 0 * dearest), (1.0, 1 / dearest))
    yield tuple(replace(case, waits=case.waits.with_writes(each), sorting=at).rate() for at, each in ends), ""
    if isnan(situation.elsewhere_alone):  # else what moves have shown is in the network already
        for figures, waited in _role_waits(case):
            # What the log does at its own pace queues up no longer when more transactions come.
            queued = replace(situation, elsewhere_alone=_at_work(loop) - waited * _paced_most(situation, figures))
            yield (replace(case, situation=queued).rate(),), ""
    if loop.processors is None:
        worst = replace(case, situation=replace(situation, database=_on_few_processors(loop)))
        yield (worst.rate(),), "processors are not counted"
    both = contested_processors(situation.database)
    if both >= LEAST_CONTESTED * situation.database.processors:
        left = (situation.database.processors - both, situation.database.processors)
        demands = (replace(situation.database, processors=each, others_processor=0.0) for each in left)
        rates = tuple(replace(case, situation=replace(situation, database=each)).rate() for each in demands)
        yield rates, f"other programs take {both:.2g} of {left[1]:.3g} processors, and may give way"
    for row, tier in enumerate(situation.tiers):
        if not queues(tier) and case.waits.then[: BACKGROUND + 1, row].sum() > 0:
            yield (replace(case, situation=_with_limit(case, row)).rate(),), f"no iops configured for {tier.name}"


def _unmodelled(situation: Situation) -> Iterator[str]:
    """What may hold sessions up and is in neither the forecast nor its interval."""
    yield "locks"
    yield "controllers that tiers share"
    if situation.load != "open":  # its rate does not depend on how many there are
        yield "clients in front of a pool"
    if not any(each.role is Role.LOG and is_measured(each) for each in situation.roles):
        yield "the log (its waits are not measured)"
    if isnan(situation.database.readers):
        yield "sessions of different kinds"


def _role_waits(case: _Case) -> Iterator[tuple[RoleFigures, float]]:
    """Each log, temporary and undo space that sessions wait for, with seconds a transaction."""
    database = case.situation.database
    for figures in case.situation.roles:
        waited = own_waits(figures, database) * case.share / database.transactions
        if waited > 0:
            yield figures, waited


def _paced_most(situation: Situation, figures: RoleFigures) -> float:
    """The largest share of that role's work that may come with transactions."""
    return situation.paced.log.most if figures.role is Role.LOG else 1.0


def _at_work(loop: Loop) -> float:
    """Seconds of a transaction in which its session does not wait for reads."""
    return (loop.database.active - float(loop.now[TRANSACTIONS].sum())) / loop.database.transactions


def _with_servers(situation: Situation, end: str) -> Situation:
    """The situation with as many servers of each tier as there are at that end."""
    tiers = []
    for tier in situation.tiers:
        count = getattr(tier.speed.servers, end)
        servers = replace(tier.speed.servers, count=count, least=count, most=count)
        tiers.append(replace(tier, speed=replace(tier.speed, servers=servers)))
    return replace(situation, tiers=tuple(tiers))


def _on_few_processors(loop: Loop) -> DatabaseDemand:
    """The demand as if all that is neither waited for nor thought were computing, on as few processors as may be."""
    database = loop.database
    computing = max(LEAST_ELSEWHERE, database.active - float(loop.now[: BACKGROUND + 1].sum()))
    return replace(database, processor=computing, processors=float(ceil(max(1.0, computing / ASSUMED_BUSY))))


def _with_limit(case: _Case, row: int) -> Situation:
    """The situation with limits of I/Os and bytes a second on that tier, no lower than what it serves now."""
    tier = case.situation.tiers[row]
    served = float(case.waits.now[: BACKGROUND + 1, row].sum()) / tier.speed.random_read_seconds
    carried = float(case.waits.now[[CARRIED, CARRIED_AHEAD, CARRIED_WRITES], row].sum())
    limits = replace(
        tier.limits,
        io_per_second=max(ASSUMED_IO, served / BINDING),
        bytes_per_second=tier.limits.bytes_per_second or max(ASSUMED_BYTES, carried / BINDING),
    )
    limited = replace(tier, limits=limits)
    tiers = (*case.situation.tiers[:row], limited, *case.situation.tiers[row + 1 :])
    return replace(case.situation, tiers=tiers)


def _together(rate: float, ends: Sequence[Sequence[float]]) -> tuple[float, float]:
    """Both ends for causes that have nothing to do with one another: distances, as logarithms, add up as squares."""
    down = up = 0.0
    for rates in ends:
        known = [log(each / rate) for each in rates if each > 0]  # NaN is left out
        down = hypot(down, min([0.0, *known]))
        up = hypot(up, max([0.0, *known]))
    return rate * exp(-down), rate * exp(up)


def _busiest(case: _Case, network: Network, rate: float) -> str:
    """The next bottleneck: what is busiest of all that is known, and how busy; or that nothing of it is."""
    used = network.used_at(rate)[:, 0]
    found = {tier.name: float(each) for tier, each in zip(case.situation.tiers, used, strict=True) if each > 0}
    if network.processors is not None:
        ours, others = network.processors, case.others_computing
        found["the processors"] = (rate * ours.seconds + others) / (ours.count + others)
    said = {name: f"{name}: {busy:.0%} busy" for name, busy in found.items()}
    present = case.situation.database.transactions
    for figures, waited in _role_waits(case):
        # As if it served one at a time: sessions that wait for one flush together keep it less busy.
        share = case.situation.paced.log.share if figures.role is Role.LOG else 1.0
        at = present * (1 - share) + rate * share
        busy = min(1.0, at * waited / (1 + present * waited * network.found))
        found[figures.name], said[figures.name] = busy, f"{figures.name}: at most {busy:.0%} busy"
    if not found:
        return ""
    name = max(found, key=lambda each: found[each])
    return said[name] if found[name] >= ASSUMED_BUSY else f"nothing that is counted ({said[name]})"


def _needs(case: _Case, settings: PolicySettings, tier: I64, gain: float) -> Iterator[str]:
    """What each tier but the slowest has to serve once so many times as much gets done.

    Args:
        case: what comes with the transactions.
        settings: the size of a block.
        tier: of each unit, shape ``(n,)``.
        gain: of throughput.
    """
    growth = np.full(SIGNALS, gain)
    growth[list(READ_AHEAD)] = 1 + case.paced * (gain - 1)
    growth[Signal.ASYNC_WRITE] = 1 + case.paced_writes * (gain - 1)
    for row, each in enumerate(case.situation.tiers[:-1]):
        served = case.situation.heat.rates[:, tier == row].sum(axis=1) * growth
        reads, written = served[Signal.SYNC_READ], served[[Signal.SYNC_WRITE, Signal.ASYNC_WRITE]].sum()
        ahead = served[list(READ_AHEAD)].sum() * settings.block_bytes
        parts = [(reads, f"{format_rate(reads)} reads"), (written, f"{format_rate(written)} writes"),
                 (ahead / settings.block_bytes, f"{format_bytes(round(ahead))} read ahead")]  # fmt: skip
        known = [said for amount, said in parts if amount >= LEAST_NEEDED]
        if known:
            yield f"{', '.join(known)} a second of {each.name}"


def _limit(situation: Situation, network: Network, rate: float) -> str:
    """What its sessions run into that is no wait for disks: a tier's configured limit, or what moves have shown."""
    if rate * network.other >= BINDING:
        alone = format_seconds(situation.elsewhere_alone)
        return f"not reads: outside them a transaction took {alone} before the last moves, and takes longer since"
    busy = network.busy_at(rate)[:, 0]
    row = int(np.argmax(busy))
    tier = situation.tiers[row]
    if network.volumes is not None:
        carried = network.volumes.busy_at(rate)[:, 0]
        fullest = int(np.argmax(carried))
        if carried[fullest] >= max(BINDING, busy[row]):
            volume = situation.tiers[fullest]
            assert volume.limits.bytes_per_second is not None, "else it carries everything"
            return f"{volume.name} carries {format_bytes(volume.limits.bytes_per_second)} a second at most"
    if not (is_limited(tier) and busy[row] >= BINDING):
        return ""
    return f"{tier.name} serves {tier.limits.io_per_second:,.0f} I/Os a second at most"


def _unforeseeable(situation: Situation) -> str:
    """Why there can be no forecast; "" where there can."""
    database = situation.database
    if not database.transactions > 0:
        return "the engine counts no transactions" if np.isnan(database.transactions) else "no transaction was seen"
    if not database.active > 0:
        unknown = np.isnan(database.active)
        return "the engine does not tell how long sessions execute" if unknown else "no session was seen at work"
    return ""


def _waits(situation: Situation, settings: PolicySettings, tier: I64) -> F64:
    """Rows of the closed network for each unit on the tier given, see ``queueing``. Shape ``(ROWS, tiers)``.

    Reads ahead keep a tier, and the session that asked, busy for their whole time, however little of it is waited for
    where there is no queue.
    """
    ahead = np.zeros(len(situation.heat.rates), dtype=np.bool_)
    ahead[list(READ_AHEAD)] = True
    sums = np.zeros((ROWS, len(situation.tiers)))
    for row, signals, shares in (
        (TRANSACTIONS, ~ahead, settings),
        (BACKGROUND, ahead, replace(settings, prefetched_wait_share=1.0)),
    ):
        sums[row] = Prices.of(situation, shares).by_tier(situation.heat.rates, tier, signals)
    there = tier >= 0
    written = np.bincount(tier[there], situation.heat.rates[Signal.ASYNC_WRITE, there], len(situation.tiers))
    sums[WRITES] = written * [each.speed.write_seconds * _sorted_share(each) for each in situation.tiers]
    for row, kinds in (
        (CARRIED, [Signal.SYNC_READ, Signal.SYNC_WRITE]),
        (CARRIED_AHEAD, list(READ_AHEAD)),
        (CARRIED_WRITES, [Signal.ASYNC_WRITE]),
    ):
        blocks = np.bincount(tier[there], situation.heat.rates[kinds][:, there].sum(axis=0), len(situation.tiers))
        sums[row] = blocks * settings.block_bytes
    return sums


def _sorted_share(tier: Tier) -> float:
    """Cost of a background write as a share of a random one.

    Databases sort such writes by place, and nothing tells how well: the geometric mean of a sequential run and a seek
    for each write.
    """
    speed = tier.speed
    in_runs = min(speed.sequential_read_seconds, speed.write_seconds)
    return sqrt(in_runs / speed.write_seconds) if in_runs > 0 else 1.0


def _dearest(tier: Tier) -> float:
    """Highest cost of a read ahead, as a multiple of that in an endless run: one seek for each ``RUN_BLOCKS``."""
    speed = tier.speed  # both times as measured, with the same queue in them
    place = speed.random_read_seconds / RUN_BLOCKS
    return 1 + place / speed.sequential_read_seconds if speed.sequential_read_seconds > 0 else 1.0


def _most_seeks(tier: Tier, waiting: float, ahead: float) -> float:
    """Highest cost of a read ahead that the tier has time for beside random reads, as a multiple of that in a run.

    Args:
        tier: with its speed now and without a queue.
        waiting: sessions that wait there, at the speeds that are believed.
        ahead: the same of reads ahead.
    """
    speed, servers = tier.speed, max(1.0, tier.speed.servers.count)
    served = 0.0  # share of a wait that is no queue; 0: not known
    if speed.random_read_seconds > 0:
        served = min(1.0, speed.idle_read_seconds / speed.random_read_seconds)
    left = 1 - min(MOST_READING, waiting * served / servers)
    share = ahead / (servers + waiting + ahead)
    return max(1.0, left / share) if share > LEAST_WAITED else inf


def _times(rows: F64, factor: F64) -> F64:
    """The rows with the cost of writes multiplied."""
    found = rows.copy()
    found[WRITES] *= factor
    return found


def _counting_error(situation: Situation, tier: I64) -> float:
    """Standard error of the reads that stay on queued tiers, as a share of them: they are counted, so by their root."""
    there = (tier >= 0) & queued_tiers(situation)[np.maximum(tier, 0)]
    reads = situation.heat.rates[Signal.SYNC_READ, there] * situation.heat.observed_seconds[there]
    return float(1 / np.sqrt(max(1.0, reads.sum())))
