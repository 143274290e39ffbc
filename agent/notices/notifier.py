"""The daemon's turn of notices: look, take in what is new, send what is due, remember it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import datetime, timedelta

from agent.config.notices import NoticeConfig
from agent.ledger import Ledger, LedgerUnreachable, RuleState
from agent.ledger.state_names import ALL_DATABASES, NOTICES, notices_of
from agent.logs import EventLog
from agent.model.outcomes import OutcomeVerdict
from agent.model.states import NOT_REACHED
from agent.notices.channels import send
from agent.notices.notice import Notice
from agent.notices.outbox import Outbox, due, note_failure, note_sent, outbox_document, read_outbox, take_in
from agent.notices.reasons import ClosedRule, Ended, Facts, Hurt, find_notices
from connectors.base import Clock, HotplaceError

log = EventLog(__name__)
LOOKS_BACK = timedelta(hours=1)  # longer than any agent is away for a restart, and the rest is no news
OUTCOMES = 20  # that are looked at
WORSE = frozenset({OutcomeVerdict.HURT, OutcomeVerdict.HURT_FOR_SOME})
Sender = Callable[[NoticeConfig, Sequence[Notice], int], None]


class Notifier:
    """All channels of one configuration."""

    def __init__(self, ledger: Ledger, clock: Clock, channels: Collection[NoticeConfig], sender: Sender = send) -> None:
        """Wire it up; what waited before a restart goes on.

        Args:
            ledger: keeps the outbox.
            clock: time.
            channels: as configured.
            sender: sends one message.
        """
        self._ledger = ledger
        self._clock = clock
        self._channels = tuple(channels)
        self._send = sender
        self._agent = ledger.agent_name
        self._outbox = self._load()

    def _load(self) -> Outbox:
        """What the ledger keeps; from a ledger that was on a file it has come without an agent's name."""
        state = self._ledger.state
        stored = state.load_document(ALL_DATABASES, notices_of(self._agent)) or state.load_document(
            ALL_DATABASES, NOTICES
        )
        return Outbox() if stored is None else read_outbox(stored[1])

    def take_turn(self, facts: Iterable[Facts]) -> None:
        """Tell people what is new in some databases, and try again what could not be sent.

        Raises:
            LedgerError: the outbox cannot be kept.
        """
        looked = tuple(facts)
        now = self._clock.now()
        notices = [notice for each in looked for notice in find_notices(each)]
        names = {each.database for each in looked}
        before = self._outbox
        self._keep(take_in(self._outbox, notices, self._channels, names, now), before)
        for channel in self._channels:
            self._send_due(channel)

    def _send_due(self, channel: NoticeConfig) -> None:
        now = self._clock.now()
        if not (notices := due(self._outbox, channel.name, now)):
            return
        before = self._outbox
        try:
            self._send(channel, notices, before.lanes[channel.name].dropped)
        except HotplaceError as error:
            log.warning("notice not sent", channel=channel.name, notices=len(notices), error=str(error))
            self._keep(note_failure(before, channel.name, now), before)
            return
        log.info("notices sent", channel=channel.name, notices=len(notices))
        self._keep(note_sent(before, channel, notices, now), before)

    def _keep(self, outbox: Outbox, before: Outbox) -> None:
        """Store it where more has changed than when each matter was last seen."""
        self._outbox = outbox
        # What lasts is seen anew in every turn; kept for that alone, the ledger would be written to in each.
        if outbox.lanes != before.lanes or outbox.known.keys() != before.known.keys():
            try:
                self._ledger.state.save_document(ALL_DATABASES, notices_of(self._agent), outbox_document(outbox))
            except LedgerUnreachable as error:  # people are to know that it is away
                log.warning("notices are kept in memory alone", error=str(error))


def ended_moves(ledger: Ledger, database: str, now: datetime) -> tuple[Ended, ...]:
    """Moves that lately did not reach their target."""
    rows = ledger.moves.rows(database=database, states=NOT_REACHED, since=now - LOOKS_BACK)
    return tuple(
        Ended(number=row.id, unit=row.move.what, state=str(row.state), reason=row.reason, at=row.updated_at)
        for row in rows
    )


def closed_rules(ledger: Ledger, database: str, now: datetime) -> tuple[ClosedRule, ...]:
    """Standing rules that were lately closed, by a person or by what hurt under them, and are still closed."""
    return tuple(
        ClosedRule(number=row.number, reason=row.reason, at=row.closed_at)
        for row in ledger.rules.rows(database)
        if row.closed_at is not None and row.state is RuleState.CLOSED and now - row.closed_at <= LOOKS_BACK
    )


def hurt_proposals(ledger: Ledger, database: str, now: datetime) -> tuple[Hurt, ...]:
    """Proposals that were lately measured to have made it worse, for all together or for some statements."""
    rows = ledger.moves.outcomes(database=database, limit=OUTCOMES)
    return tuple(
        Hurt(proposal=row.proposal_id, sentence=row.outcome.sentence, at=row.at)
        for row in rows
        if row.outcome.verdict in WORSE and now - row.at <= LOOKS_BACK
    )
