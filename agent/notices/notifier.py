"""The daemon's turn of notices: look, take in what is new, send what is due, remember it.

Each channel has a thread of its own while a message is on its way over it: one that does not answer holds up no other,
nor the turn.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import datetime, timedelta
from functools import partial

from agent.config.notices import NoticeConfig
from agent.ledger import Ledger, LedgerCorrupt, LedgerUnreachable, RuleState
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
PATIENCE_SECONDS = 2.0  # of a turn with its channels; what takes longer is noted in a later one


class _Sending:
    """A message on its way."""

    def __init__(self, channel: NoticeConfig, notices: Sequence[Notice], send: Callable[[], None]) -> None:
        self.channel, self.notices = channel, notices
        self.error: Exception | None = None
        self._send = send
        # A daemon: the process ends without waiting for a name server that does not answer.
        self._thread = threading.Thread(target=self._run, name=f"notices {channel.name}", daemon=True)
        self._thread.start()

    def has_ended(self, within: float) -> bool:
        """Whether it is taken or has failed, waiting for so many seconds at most."""
        self._thread.join(within)
        return not self._thread.is_alive()

    def _run(self) -> None:
        try:
            self._send()
        except Exception as error:  # noqa: BLE001  # of another thread: raised again where it is noted
            self.error = error


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
        self._under_way: dict[str, _Sending] = {}  # by channel
        self._lock = threading.Lock()  # the daemon's own thread waits for what is under way when it ends

    def _load(self) -> Outbox:
        """What the ledger keeps; from a ledger that was on a file it has come without an agent's name.

        What cannot be read begins anew, so that some things are told twice: on a shared ledger every agent may write
        it, and none may keep another one from starting.
        """
        state = self._ledger.state
        try:
            stored = state.load_document(ALL_DATABASES, notices_of(self._agent)) or state.load_document(
                ALL_DATABASES, NOTICES
            )
            return Outbox() if stored is None else read_outbox(stored[1])
        except (LedgerCorrupt, ValueError, TypeError, KeyError, AttributeError) as error:
            log.warning("notices begin anew", error=str(error))
            return Outbox()

    def take_turn(self, facts: Iterable[Facts]) -> None:
        """Tell people what is new in some databases, and try again what could not be sent.

        Raises:
            LedgerError: the outbox cannot be kept.
        """
        looked = tuple(facts)
        with self._lock:
            self._note_ended(0.0)
            now = self._clock.now()
            notices = [notice for each in looked for notice in find_notices(each)]
            names = {each.database for each in looked}
            before = self._outbox
            self._keep(take_in(self._outbox, notices, self._channels, names, now), before)
            for channel in self._channels:
                self._begin(channel)
            self._note_ended(PATIENCE_SECONDS)

    def finish(self, seconds: float) -> None:
        """Wait for messages that are on their way, and note what became of them.

        Args:
            seconds: at most; what has not ended then is sent again later.

        Raises:
            LedgerError: the outbox cannot be kept.
        """
        if not self._lock.acquire(timeout=seconds):
            return  # a turn waits for the ledger
        try:
            self._note_ended(seconds)
        finally:
            self._lock.release()

    def _begin(self, channel: NoticeConfig) -> None:
        """Send what is due, unless the message before is still on its way."""
        notices = due(self._outbox, channel.name, self._clock.now())
        if notices and channel.name not in self._under_way:
            dropped = self._outbox.lanes[channel.name].dropped
            self._under_way[channel.name] = _Sending(channel, notices, partial(self._send, channel, notices, dropped))

    def _note_ended(self, within: float) -> None:
        """Note what was taken and what was not, of all that ends within so many seconds."""
        until, faults = time.monotonic() + within, list[Exception]()
        for name, sending in list(self._under_way.items()):
            if not sending.has_ended(max(0.0, until - time.monotonic())):
                continue
            del self._under_way[name]
            self._note(sending)
            if not isinstance(sending.error, HotplaceError | None):
                faults.append(sending.error)
        if faults:
            raise faults[0]  # of ours, and not of a channel

    def _note(self, sending: _Sending) -> None:
        now, before, channel = self._clock.now(), self._outbox, sending.channel
        if sending.error is not None:
            log.warning("notice not sent", channel=channel.name, notices=len(sending.notices), error=str(sending.error))
            self._keep(note_failure(before, channel.name, now), before)
            return
        log.info("notices sent", channel=channel.name, notices=len(sending.notices))
        self._keep(note_sent(before, channel, sending.notices, now), before)

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
