"""Which times before and after moves are compared, and what the ledger has of them.

The intervals before and after moves, from the ledger: what was waited, next to what the same reads used to take.

When a proposal's moves are looked at: which intervals count as before and after, and which moves share them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import numpy as np

from agent.config.models import DatabaseConfig
from agent.ledger.errors import Spoiled, Untrusted
from agent.ledger.ledger import Ledger
from agent.ledger.rows import HistoryRow, MoveRow, SentRow
from agent.ledger.state_names import work_before_proposal
from agent.model.outcomes import Outcome
from agent.model.proposals import CLOSE_PART, SPLIT
from agent.model.states import CARRIED_OUT_OR_RUNNING, IN_PLACE, MoveState
from agent.moving.control import UnitReads
from agent.moving.effect import LEAST_AFTER, Effect, look_seconds
from agent.moving.usual_wait import Evidence
from agent.moving.verifier import MINIMUM_WINDOW_SECONDS
from agent.sampling.picture import UnitHomes
from connectors.model.observation import F64, I64
from policies.evidence.workload import DatedWork

NOT_MOVED = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class MovedWork:
    """Reads of each move's units over some intervals, shape ``(moves,)`` each."""

    reads: F64  # count
    at_source: F64  # seconds that they take where the units were before
    at_target: F64  # and where they are now

    def shares(self) -> F64:
        """Of the joint effect, by what each move changes; by what each is read where none changes anything."""
        for weight in (np.abs(self.at_source - self.at_target), self.at_source):
            if weight.sum() > 0:
                return np.asarray(weight / weight.sum())
        return np.full(len(self.reads), 1 / max(1, len(self.reads)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidences:
    """What is known of moves that are judged together."""

    before: Evidence
    after: Evidence
    moved_before: MovedWork
    moved_after: MovedWork
    placed_before: F64  # by interval, seconds that all reads take where units were then
    placed_after: F64
    by_hour: bool = False  # some of it is known by the hour only, so all of it is compared by the hour
    split: bool = False  # a table was split or closed: its work is counted by transactions, see ``EvidenceReader``
    seconds_a_transaction: float = math.nan  # by which work was counted then


@dataclass(frozen=True, slots=True)
class _Side:
    """The time before the moves, or after."""

    evidence: Evidence
    moved: MovedWork
    placed: F64  # by interval, seconds that all reads take where units are now
    has_hours: bool
    transactions: F64  # by interval; NaN where they are not counted
    units: UnitReads | None  # None: reads of units are not known

    def by_transactions(self, seconds: float) -> _Side:
        """The same with so many seconds of reads expected of each transaction, however many it takes."""
        expected, was = self.transactions * seconds, self.evidence.expected
        placed = expected * np.divide(self.placed, was, out=np.ones_like(was), where=was > 0)
        return replace(self, evidence=replace(self.evidence, expected=expected), placed=placed)

    @property
    def seconds_a_transaction(self) -> float:
        """Seconds of reads that a transaction takes; NaN where they are not counted, or there are none."""
        count = float(self.transactions.sum())
        return float(self.evidence.expected.sum()) / count if count > 0 else math.nan

    def by_hour(self) -> _Side:
        """The intervals of each hour as one."""
        if not len(self.evidence):
            return self
        hours = self.evidence.hours()
        placed, transactions = (np.asarray(np.add.reduceat(each, hours)) for each in (self.placed, self.transactions))
        return replace(self, evidence=self.evidence.by_hour(), placed=placed, transactions=transactions)


class EvidenceReader:
    """Reads evidence of moves that are judged together, by the homes that units had before them.

    Moves of units change what a read takes and not how many there are. A split may change that: what it leaves behind,
    and plans over parts. Where a table was split the work is therefore counted by transactions, so that more reads for
    each of them are its cost.
    """

    def __init__(self, ledger: Ledger, database: str, homes: UnitHomes | None, moves: Sequence[MoveRow]) -> None:
        """Prepare it.

        Args:
            ledger: asked for work and history.
            database: its name.
            homes: where units are now; None: not known, then all reads count alike.
            moves: that are judged together.
        """
        self._ledger, self._database, self._homes = ledger, database, homes
        self._moves = len(moves)
        self._split = any(row.move.reason in {SPLIT, CLOSE_PART} for row in moves)
        slots = [self._slots_of(row) for row in moves]
        most = max([-1, *(slot for each in slots for slot in each), *([] if homes is None else homes.slots)])
        # By slot; the last: of what is not in the catalog.
        self._source = np.full(most + 2, NOT_MOVED, dtype=np.int64)  # tier
        self._target = np.full(most + 2, NOT_MOVED, dtype=np.int64)
        self._mover = np.full(most + 2, NOT_MOVED, dtype=np.int64)
        if homes is not None:
            self._source[homes.slots] = self._target[homes.slots] = homes.tier
            for at, (row, own) in enumerate(zip(moves, slots, strict=True)):
                self._mover[own], self._source[own] = at, homes.tier_named(row.move.from_tier)
                if row.move.reason != SPLIT:  # the parts of a table that was split lie where each lies
                    self._target[own] = homes.tier_named(row.move.to_tier)

    def _slots_of(self, row: MoveRow) -> I64:
        """Of the units of a move; where a table was split, of the table and of all that is part of it now."""
        if self._homes is None:
            return np.empty(0, dtype=np.int64)
        bundle = row.move.route.bundle
        if row.move.reason != SPLIT:
            return self._ledger.slots.of(self._database, bundle.unit_keys)
        parts = [self._homes.parts_of(each) for each in bundle.physical_ids]
        return np.concatenate([self._ledger.slots.of(self._database, [row.move.key]), *parts])

    def read(self, before: tuple[datetime, datetime], after: tuple[datetime, datetime]) -> Evidences:
        """Both sides, each from a time (left out) to another."""
        was, now = (self._read(*span) for span in (before, after))
        if by_hour := was.has_hours or now.has_hours:
            # The mean wait of an hour is not the wait at its mean load: hours are compared with hours alone.
            was, now = was.by_hour(), now.by_hour()
        seconds = was.seconds_a_transaction
        split = self._split and math.isfinite(seconds) and _counts(now)
        if split:
            was, now = was.by_transactions(seconds), now.by_transactions(seconds)
        return Evidences(
            before=was.evidence, after=now.evidence, moved_before=was.moved, moved_after=now.moved,
            placed_before=was.evidence.expected, placed_after=now.placed, by_hour=by_hour, split=split,
            seconds_a_transaction=seconds if split else math.nan,
        )  # fmt: skip

    def history(self, since: datetime, until: datetime, *, beside: Evidences) -> tuple[Evidence, UnitReads | None]:
        """All that is known of a time, before any of the moves, and the reads of units in it; counted as ``beside``.

        The reads are None where they are not known, or where no control can be found by them: reads of another agent
        are known by the hour only, and the work of a split is counted by transactions.
        """
        side = self._read(since, until)
        units = None if side.has_hours or self._split else side.units
        if side.has_hours or beside.by_hour:
            side = side.by_hour()
        if beside.split:
            side = side.by_transactions(beside.seconds_a_transaction)
        return side.evidence, units

    def _read(self, since: datetime, until: datetime) -> _Side:
        work = [each for each in self._ledger.work.between(self._database, since, until) if each.demand.read_wait >= 0]
        has_hours = any(each.of_hour_since is not None for each in work)
        if self._homes is None:
            evidence = _without_units(work)
            transactions = _transactions_of([[each] for each in work])
            return _Side(evidence, self._no_work(), evidence.expected, has_hours, transactions, None)
        rows, reads, placed, spans, counts = [], self._no_work(), [], [], []
        for taken, within in _pair(self._ledger.history.read(self._database, since, until), work):
            figures, moved = self._figures(taken)
            rows.append((taken.ended_at.timestamp(), sum(each.seconds for each in within), _waits_of(within), *figures))
            spans.append(within)
            total = float(taken.values[: self._homes.read_seconds.shape[1]].sum(dtype=np.float64))
            span = taken.started_at.timestamp(), taken.ended_at.timestamp()
            counts.append((*span, float(moved.reads.sum()), total))
            placed.append(figures[0] - float(moved.at_source.sum() - moved.at_target.sum()))
            reads = MovedWork(
                reads=reads.reads + moved.reads,
                at_source=reads.at_source + moved.at_source,
                at_target=reads.at_target + moved.at_target,
            )
        begun, ended, mine, every = np.array(counts, dtype=np.float64).reshape(len(counts), 4).T
        return _Side(
            _evidence(rows), reads, np.array(placed, dtype=np.float64), has_hours, _transactions_of(spans),
            UnitReads(since=begun, until=ended, moved=mine, every=every),
        )  # fmt: skip

    def _figures(self, row: HistoryRow) -> tuple[tuple[float, float, float], MovedWork]:
        """Of one interval: expected wait, shares of what moves and of other tiers; and the work of each move."""
        assert self._homes is not None, "without homes no history is read"
        prices = self._homes.read_seconds  # (tiers, 2): random, read ahead; the last row also of what has no tier
        known = np.minimum(row.slots, len(self._source) - 1)
        tier, mover = self._source[known], self._mover[known]
        counts = row.values[: prices.shape[1]].astype(np.float64)
        cost = (prices[tier].T * counts).sum(axis=0)
        mine = mover >= 0
        to = self._target[known[mine]]
        work = MovedWork(
            reads=self._by_move(mover[mine], counts[:, mine].sum(axis=0)),
            at_source=self._by_move(mover[mine], cost[mine]),
            at_target=self._by_move(mover[mine], (prices[to].T * counts[:, mine]).sum(axis=0)),
        )
        total = float(cost.sum())
        if not total > 0:
            return (0.0, 0.0, 0.0), work
        slowest = len(prices) - 1
        elsewhere = float(cost[(tier >= 0) & (tier != slowest)].sum())
        return (total, float(cost[mine].sum()) / total, elsewhere / total), work

    def _by_move(self, mover: I64, values: F64) -> F64:
        return np.bincount(mover, weights=values, minlength=self._moves).astype(np.float64)

    def _no_work(self) -> MovedWork:
        return MovedWork(reads=np.zeros(self._moves), at_source=np.zeros(self._moves), at_target=np.zeros(self._moves))


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnFigures:
    """What is known of one move."""

    share: float  # of the effect of all that were measured together
    reads_per_second: tuple[float, float]  # before and after
    wait_per_read: tuple[float, float]  # seconds; NaN where it was not read


def with_own(outcome: Outcome, own: OwnFigures | None) -> Outcome:
    """The outcome as that of one move."""
    if own is None:
        return outcome
    return replace(
        outcome,
        own_share=own.share,
        own_reads_per_second_before=own.reads_per_second[0],
        own_reads_per_second_after=own.reads_per_second[1],
        own_wait_per_read_before=own.wait_per_read[0],
        own_wait_per_read_after=own.wait_per_read[1],
    )


def own_figures(evidence: Evidences, effect: Effect | None, at: int) -> OwnFigures | None:
    """What is known of one move; None where its reads are not.

    Engines time all reads together, so the wait of its reads follows from the tiers' read times: before the moves as
    all reads were waited for, and since then less its share of what all moves have saved.
    """
    was, now = evidence.moved_before, evidence.moved_after
    if not (effect is not None and was.reads.size and evidence.before.expected.sum() > 0):
        return None
    share = float(now.shares()[at])
    level = float(evidence.before.waited.sum() / evidence.before.expected.sum())
    waited = float(evidence.after.waited.sum())
    added = waited - waited / math.exp(effect.log_change)
    own = now.at_source[at] * level + share * added
    return OwnFigures(
        share=share,
        reads_per_second=(
            float(was.reads[at] / evidence.before.seconds.sum()),
            float(now.reads[at] / max(float(evidence.after.seconds.sum()), 1e-9)),
        ),
        wait_per_read=(_ratio(was.at_source[at] * level, was.reads[at]), _ratio(max(0.0, own), now.reads[at])),
    )


def _ratio(seconds: float, reads: float) -> float:
    return float(seconds / reads) if reads > 0 else math.nan


def _pair(history: Iterable[HistoryRow], work: Sequence[DatedWork]) -> Iterator[tuple[HistoryRow, list[DatedWork]]]:
    """Each interval of the history with the work of the same time; folded intervals hold several."""
    at = 0
    for row in history:
        while at < len(work) and work[at].ended_at <= row.started_at:
            at += 1
        first = at
        while at < len(work) and work[at].ended_at <= row.ended_at:
            at += 1
        if within := list(work[first:at]):
            yield row, within


def _waits_of(work: Iterable[DatedWork]) -> float:
    return sum(each.seconds * each.demand.read_wait for each in work)


def _transactions_of(spans: Sequence[Sequence[DatedWork]]) -> F64:
    """Transactions of each interval."""
    return np.array(
        [sum(each.seconds * each.demand.transactions for each in within) for within in spans], dtype=np.float64
    )


def _counts(side: _Side) -> bool:
    return bool(np.isfinite(side.transactions).all())


def _without_units(work: Sequence[DatedWork]) -> Evidence:
    """Where nothing is known of units: every read counts alike, and where reads are not counted every transaction."""
    counted = all(each.demand.reads >= 0 for each in work)
    return _evidence(
        [
            (
                each.ended_at.timestamp(), each.seconds, _waits_of([each]),
                each.seconds * (each.demand.reads if counted else each.demand.transactions), 0.0, 0.0,
            )
            for each in work
        ]
    )  # fmt: skip


def _evidence(rows: Sequence[tuple[float, ...]]) -> Evidence:
    columns = np.array(rows, dtype=np.float64).reshape(len(rows), 6).T
    at, seconds, waited, expected, moved, elsewhere = columns
    return Evidence(at=at, seconds=seconds, waited=waited, expected=expected, moved=moved, elsewhere=elsewhere)


Spans = Mapping[int, tuple[datetime, datetime | None]]  # number of a move -> when it began and ended; None: it runs
LONGEST_BACK_SECONDS = 7 * 86_400.0  # as long as the work of databases is kept
HANDED_OVER = timedelta(hours=2)  # after which samples of an agent that is gone are in the ledger, or never will be
CLOCK_SLACK = timedelta(seconds=60.0)  # a clock set back by less is not noticed
HISTORY_SECONDS = 3 * 86_400.0  # in which the noise of the days before is looked at
SEEN_OVER_SETTLE = 0.5  # of the settle time must have been sampled: agents stop, and databases are down


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeLook:
    """What is compared with what."""

    before: tuple[datetime, datetime]  # intervals that ended within (since, until]
    history: tuple[datetime, datetime]  # of days, without other moves: they show how long noise lasts
    after: tuple[datetime, datetime]
    joint: tuple[MoveRow, ...]  # moves that are measured together
    last: bool  # what cannot be said now will not be said

    @property
    def seconds(self) -> float:
        """Length of the time after."""
        return (self.after[1] - self.after[0]).total_seconds()


def next_look(
    ledger: Ledger, database: DatabaseConfig, rows: Sequence[MoveRow], now: datetime, looked_seconds: float
) -> OutcomeLook | None:
    """The look that is due at moves of a proposal; None while it is too early.

    Where a clock that was ahead has dated them, or others that they share their time with, it is not known what was
    before and what after: the look is at nothing, and the last one.

    Args:
        ledger: the durable record.
        database: its configuration.
        rows: those of its moves that settle.
        now: the time.
        looked_seconds: how long the time after was at the last look, 0 for none.
    """
    settle = timedelta(seconds=database.settle_seconds)
    mine = ledger.moves.rows(proposal_id=rows[0].proposal_id, states=IN_PLACE)
    others = _others(ledger, database.name, now - timedelta(seconds=LONGEST_BACK_SECONDS), mine)
    until = _begun_at(ledger, database.name, mine)
    shared = [ended for begun, ended in others.values() if ended is not None and begun <= now + CLOCK_SLACK]
    if max(until, *(row.updated_at for row in rows), *shared) > now + CLOCK_SLACK:
        return OutcomeLook(before=(now, now), history=(now, now), after=(now, now), joint=tuple(mine), last=True)
    together, since, until = _before(others, until, settle)
    history = max(since, until - timedelta(seconds=HISTORY_SECONDS))
    since = max(since, _compared_since(ledger, database, until))
    settled_at, ends = max(row.updated_at for row in rows) + settle, now
    for number, (begun, ended) in others.items():  # by when they began
        if begun >= settled_at + settle:
            ends = min(ends, begun)  # what comes after it is no longer the effect of these moves alone
        elif ended is None:
            return None
        elif ended > until:
            together.add(number)
            settled_at = max(settled_at, ended + settle)
    joint = (*mine, *(ledger.moves.row(number) for number in sorted(together)))
    passed = (ends - settled_at).total_seconds()
    if passed < database.settle_seconds or not _enough_seen(ledger, database, settled_at, ends):
        if now < ends + HANDED_OVER:
            return None
        # Other moves have ended that time long ago: no more will be known of it.
        return OutcomeLook(
            before=(since, until),
            history=(min(history, since), until),
            after=(settled_at, max(settled_at, ends)),
            joint=joint,
            last=True,
        )
    length, last = look_seconds(database.settle_seconds, passed)
    first = settled_at + timedelta(seconds=length)
    few = len(ledger.work.between(database.name, settled_at, first)) < LEAST_AFTER
    if few or not _enough_seen(ledger, database, settled_at, first):
        length = passed  # samples come late
    # Once after is as long as before, what is not known of before is most of the error.
    last = last or ends < now or length >= _seen_seconds(ledger, database.name, since, until)
    if length <= looked_seconds and not last:
        return None
    return OutcomeLook(
        before=(since, until),
        history=(min(history, since), until),
        after=(settled_at, ends if last else settled_at + timedelta(seconds=length)),
        joint=joint,
        last=last,
    )


def _compared_since(ledger: Ledger, database: DatabaseConfig, until: datetime) -> datetime:
    """From when on demand counts as before the moves: their half-life, or a longer one where hours are all there is."""
    settings = database.policy_settings()
    since = until - timedelta(seconds=settings.half_life_seconds)
    longer = until - timedelta(seconds=max(settings.half_life_seconds, settings.long_half_life_seconds))
    seen = ledger.work.between(database.name, longer, until)
    # Of the usual half-life there would be five whole hours, which are too few for any verdict.
    return longer if any(each.of_hour_since is not None for each in seen if each.ended_at > since) else since


def _before(others: Spans, until: datetime, settle: timedelta) -> tuple[set[int], datetime, datetime]:
    """Moves that came too shortly before to be distinguished, since when is compared, and until when.

    Args:
        others: moves of other proposals.
        until: when ours began.
        settle: how long caches warm up; after another move, as much again must have been seen for a comparison.
    """
    together: set[int] = set()
    since = datetime.min.replace(tzinfo=until.tzinfo)
    for number, (begun, ended) in sorted(others.items(), key=lambda item: item[1][0], reverse=True):
        if begun >= until or ended is None:
            continue
        if ended > until - 2 * settle:
            together.add(number)
            until = begun
        else:
            since = max(since, ended + settle)
    return together, since, until


def _begun_at(ledger: Ledger, database: str, mine: Sequence[MoveRow]) -> datetime:
    """When the first statement of the moves was sent; of those without, when they were about to begin."""
    sent = [step.intended_at for steps in ledger.moves.steps_of([row.id for row in mine]).values() for step in steps]
    if sent:
        return min(sent)
    stored = ledger.state.load_document(database, work_before_proposal(mine[0].proposal_id))
    return stored[0] if stored else min(row.updated_at for row in mine)


def _others(ledger: Ledger, database: str, since: datetime, mine: Sequence[MoveRow]) -> Spans:
    """When moves of other proposals that are in place began and ended, by their numbers, the earliest first."""
    known = {row.id for row in mine}
    spans: dict[int, list[SentRow]] = {}
    for sent in ledger.moves.sent_statements(database, since):
        if sent.move_id not in known and sent.move_state in CARRIED_OUT_OR_RUNNING:
            spans.setdefault(sent.move_id, []).append(sent)
    arrived = ledger.moves.last_moved(database)
    found = {number: (min(each.intended_at for each in sent), _end_of(sent, arrived)) for number, sent in spans.items()}
    found |= {number: (begun, _last_seen_end(spans[number], arrived)) for number, (begun, ended) in found.items()
              if ended is None and _is_spoiled(ledger, number)}  # fmt: skip
    found |= {row.id: (_begun_at(ledger, database, [row]), _seen_at(row, arrived)) for row in
              ledger.moves.rows(database=database, states=IN_PLACE, since=since)
              if row.move.by_hand and row.id not in known}  # fmt: skip
    return dict(sorted(found.items(), key=lambda item: item[1][0]))


def _is_spoiled(ledger: Ledger, number: int) -> bool:
    """Whether the chain contradicts what the tables say of a move: then no agent sends another statement of it."""
    try:
        ledger.moves.require_trust(ledger.moves.row(number), begins=False)
    except Spoiled:
        return True
    except Untrusted:
        return False  # nothing is sent until the ledger is put right, and then it may go on
    return False


def _last_seen_end(sent: Sequence[SentRow], arrived: Mapping[str, datetime]) -> datetime | None:
    """When the last statement ended, or what it moved had arrived; None while the server may still work on it."""
    seen = [arrived[key] for key in sent[0].move.route.bundle.unit_keys if key in arrived]
    ends = [each.ended_at or max((at for at in seen if at >= each.intended_at), default=None) for each in sent]
    return None if None in ends else max(each for each in ends if each)


def _seen_at(row: MoveRow, arrived: Mapping[str, datetime]) -> datetime:
    """When a move that a person carried out was first seen in its target."""
    return min([row.updated_at, *(arrived[key] for key in row.move.route.bundle.unit_keys if key in arrived)])


def _end_of(sent: Sequence[SentRow], arrived: Mapping[str, datetime]) -> datetime | None:
    """When the last statement of a move was over; None while it runs.

    Args:
        sent: its statements.
        arrived: when each unit was last seen in a new home. A move that was kept since has been over for longer than
            its state says.
    """
    ends = [each.over_at for each in sent]
    if None in ends or sent[0].move_state is MoveState.RUNNING:
        return None
    last = max(each for each in ends if each)
    if sent[-1].ended_at is None:
        last = min([last, *(arrived[key] for key in sent[0].move.route.bundle.unit_keys if key in arrived)])
    return max(last, sent[-1].intended_at)


def _enough_seen(ledger: Ledger, database: DatabaseConfig, since: datetime, until: datetime) -> bool:
    """Whether enough was sampled: long enough to measure, unless settling is shorter still."""
    seen, settle = _seen_seconds(ledger, database.name, since, until), database.settle_seconds
    return seen >= min(settle, max(settle * SEEN_OVER_SETTLE, MINIMUM_WINDOW_SECONDS))


def _seen_seconds(ledger: Ledger, database: str, since: datetime, until: datetime) -> float:
    """How long was sampled."""
    return sum(each.seconds for each in ledger.work.between(database, since, until))
