"""When a proposal's moves are looked at: which intervals count as before and after, and which moves share them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from agent.config import DatabaseConfig
from agent.ledger import Ledger, MoveRow
from agent.ledger.rows import SentRow
from agent.ledger.state_names import work_before_proposal
from agent.model.states import CARRIED_OUT_OR_RUNNING, IN_PLACE, MoveState
from agent.verification.effect import LEAST_AFTER
from agent.verification.judgement import look_seconds
from agent.verification.verifier import MINIMUM_WINDOW_SECONDS

Spans = Mapping[int, tuple[datetime, datetime | None]]  # number of a move -> when it began and ended; None: it runs
LONGEST_BACK_SECONDS = 7 * 86_400.0  # as long as the work of databases is kept
SEEN_OVER_SETTLE = 0.5  # of the settle time must have been sampled: agents stop, and databases are down


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What is compared with what."""

    before: tuple[datetime, datetime]  # intervals that ended within (since, until]
    after: tuple[datetime, datetime]
    joint: tuple[MoveRow, ...]  # moves that are measured together
    last: bool  # what cannot be said now will not be said

    @property
    def seconds(self) -> float:
        """Length of the time after."""
        return (self.after[1] - self.after[0]).total_seconds()


def next_look(
    ledger: Ledger, database: DatabaseConfig, rows: Sequence[MoveRow], now: datetime, looked_seconds: float
) -> Look | None:
    """The look that is due at moves of a proposal; None while it is too early.

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
    together, since, until = _before(others, until, settle)
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
    passed = (ends - settled_at).total_seconds()
    if passed < database.settle_seconds or not _enough_seen(ledger, database, settled_at, ends):
        return None
    length, last = look_seconds(database.settle_seconds, passed)
    first = settled_at + timedelta(seconds=length)
    few = len(ledger.work.between(database.name, settled_at, first)) < LEAST_AFTER
    if few or not _enough_seen(ledger, database, settled_at, first):
        length = passed  # samples come late
    # Once after is as long as before, what is not known of before is most of the error.
    last = last or ends < now or length >= _seen_seconds(ledger, database.name, since, until)
    if length <= looked_seconds and not last:
        return None
    return Look(
        before=(since, until),
        after=(settled_at, ends if last else settled_at + timedelta(seconds=length)),
        joint=(*mine, *(ledger.moves.row(number) for number in sorted(together))),
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
    """Moves that came too shortly before to be told apart, since when is compared, and until when.

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
    return dict(sorted(found.items(), key=lambda item: item[1][0]))


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
