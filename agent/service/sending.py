"""May anything be sent to a database now, and if not, why: one state, which all pages, figures and alerts show.

``judge`` says it from facts, without I/O. A daemon keeps them in its snapshot (``facts_of``). A command also asks
whether an agent acts at all (``look_from_outside``). Lists of all databases ask once for the whole ledger
(``facts_of_ledger``). Whatever shows the state shows ``Sending`` and nothing of its own.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

from agent.config.models import DatabaseConfig
from agent.ledger.errors import AWAY, Untrusted
from agent.ledger.ledger import Ledger
from agent.ledger.requests import how_to_lift
from agent.ledger.rows import EVERY, StopRow
from agent.model.answers.watching import SendingShown
from agent.model.units_of_measure import format_when
from agent.service.heard import DaemonState
from policies.model.calendar import Calendar


class Hindrance(StrEnum):
    """Why nothing is sent, the gravest first: the first that holds is shown."""

    LEDGER_AWAY = "ledger away"
    LEDGER_MOVED = "ledger moved"  # to a server, for good
    LEDGER_NEWER = "ledger of a newer version"
    LEDGER_EARLIER = "ledger of an earlier version"
    NOT_SEEN = "not seen"  # by this login: the ledger is divided among teams
    NOT_TRUSTED = "ledger not trusted"
    STOPPED = "stopped"  # by a person
    DRY_RUN = "dry run"
    STANDS_BY = "stands by"  # another agent acts
    NO_AGENT = "no agent"  # runs; what the agent itself never finds
    WINDOW = "outside its windows"


NOT_TRUSTED_NEXT = (
    "hotplace audit verify; what lacks a signature: hotplace strike drops it, and the next plan proposes it again"
)
NEEDS_A_PERSON = frozenset({Hindrance.LEDGER_MOVED, Hindrance.LEDGER_NEWER, Hindrance.NOT_SEEN, Hindrance.NOT_TRUSTED})

SAID_BESIDE = frozenset({Hindrance.NO_AGENT, Hindrance.WINDOW})  # by the lines about the agent and about windows


@dataclass(frozen=True, slots=True, kw_only=True)
class SendingFacts:
    """What decides whether anything may be sent to one database."""

    database: str
    ledger: str  # its name
    ledger_error: str = ""  # why it does not answer; "": it does
    moved_to: str = ""  # the ledger that took its place; "": it is in use
    newer: str = ""  # that a newer hotplace wrote its tables; "": none did
    earlier: str = ""  # that they are of an earlier one; "": they are ours
    is_seen: bool = True  # this login may see the database
    untrusted: str = ""  # why chain, anchors and tables are not trusted; "": they are, as far as is known
    stop: StopRow | None = None
    dry_run: bool = False
    stands_by: bool = False
    silent: str = ""  # why no agent acts on it; "": one does, or asks this itself
    calendar: Calendar | None = None  # of its windows; None: not known here
    closed: str = ""  # where the calendar is not known: how its agent said that it is outside its windows


@dataclass(frozen=True, slots=True, kw_only=True)
class Sending:
    """Whether statements may be sent to a database now."""

    hindrance: Hindrance | None  # None: what is approved is carried out
    sentence: str
    next_step: str  # what a person does about it; "": nothing

    @property
    def allowed(self) -> bool:
        """Whether what is approved is carried out."""
        return self.hindrance is None

    @property
    def needs_a_person(self) -> bool:
        """Whether it stays so until a person mends it."""
        return self.hindrance in NEEDS_A_PERSON

    @property
    def state(self) -> str:
        """In a word or two, for labels."""
        return "allowed" if self.hindrance is None else str(self.hindrance)

    @property
    def is_said_beside(self) -> bool:
        """Whether a page that shows the agent and its windows has said it."""
        return self.hindrance is None or self.hindrance in SAID_BESIDE

    @property
    def shown(self) -> SendingShown:
        """The same as answers have it."""
        return SendingShown(
            allowed=self.allowed, state=self.state, sentence=self.sentence, next_step=self.next_step or None
        )


def judge(facts: SendingFacts, now: datetime) -> Sending:
    """Whether anything may be sent at an instant, and what to do where it may not."""
    if facts.ledger_error:
        return _no(Hindrance.LEDGER_AWAY, f"the ledger is away: {facts.ledger_error}", "hotplace doctor")
    if facts.moved_to:
        return _no(
            Hindrance.LEDGER_MOVED,
            f"the ledger {facts.ledger} was moved to {facts.moved_to}; what it shows is from before that",
            "name that ledger in the configuration, and start the service again",
        )
    if facts.newer:
        return _no(Hindrance.LEDGER_NEWER, facts.newer, "upgrade hotplace on this machine")
    if facts.earlier:
        return _no(
            Hindrance.LEDGER_EARLIER, facts.earlier,
            "back the ledger up, then start the service: whatever opens the ledger first brings it up to date",
        )  # fmt: skip
    if not facts.is_seen:
        return _no(
            Hindrance.NOT_SEEN,
            f"this login may not see {facts.database}, so nothing is known of it here",
            "make it a member of the team that owns it: "
            f"hotplace ledger grants --team TEAM={shlex.quote(facts.database)}",
        )
    if facts.untrusted:
        said = facts.untrusted.replace(", nothing was sent", "", 1)
        return _no(Hindrance.NOT_TRUSTED, said, NOT_TRUSTED_NEXT)
    if facts.stop is not None:
        return _no(Hindrance.STOPPED, facts.stop.sentence, how_to_lift(facts.stop))
    if facts.dry_run:
        return _no(
            Hindrance.DRY_RUN, "dry_run is on: approved moves are not carried out",
            "set dry_run: false in the configuration once they are to be",
        )  # fmt: skip
    if facts.stands_by:
        return _no(Hindrance.STANDS_BY, f"another agent acts on {facts.database}; this one stands by", "")
    if facts.silent:
        return _no(Hindrance.NO_AGENT, facts.silent, "start it: hotplace run, or systemctl start hotplace")
    if said := facts.closed if facts.calendar is None else why_closed(facts.calendar, now):
        return _no(Hindrance.WINDOW, said, "")
    return Sending(hindrance=None, sentence="what is approved is carried out", next_step="")


def why_closed(calendar: Calendar, now: datetime) -> str:
    """When the next window opens; "" within one."""
    if calendar.always or calendar.contains(now):
        return ""
    opens = calendar.opens_at(now)
    return "no window opens within a year" if opens is None else f"its window opens {format_when(opens, calendar.zone)}"


def _no(hindrance: Hindrance, sentence: str, next_step: str) -> Sending:
    return Sending(hindrance=hindrance, sentence=f"nothing is sent: {sentence}", next_step=next_step)


def facts_of(ledger: Ledger, database: DatabaseConfig, *, dry_run: bool, untrusted: str = "") -> SendingFacts:
    """What the ledger says now.

    Args:
        ledger: is asked, some milliseconds.
        database: the one in question.
        dry_run: of the configuration.
        untrusted: why the ledger is not trusted by what is known already; "": its end is looked at.
    """
    known = SendingFacts(database=database.name, ledger=ledger.name, dry_run=dry_run, calendar=database.calendar)
    try:
        moved_to, owned = ledger.moved_to(), ledger.owned_databases()
        if moved_to or not (owned is None or database.name in owned):
            return replace(known, moved_to=moved_to, is_seen=bool(moved_to))
        stop = ledger.stops.in_force(database.name)
        return replace(known, untrusted=untrusted or why_untrusted(ledger), stop=stop)
    except AWAY as error:
        return replace(known, ledger_error=str(error))


def look_from_outside(
    ledger: Ledger, database: DatabaseConfig, daemon: DaemonState, now: datetime, *, dry_run: bool
) -> Sending:
    """What a command finds out: also whether an agent acts at all, and what that said last of the ledger.

    Args:
        ledger: is asked, some milliseconds.
        database: the one in question.
        daemon: the agent as it is heard of.
        now: the present time.
        dry_run: of the configuration.
    """
    known = "" if daemon.status is None else daemon.status.untrusted or ""
    facts = facts_of(ledger, database, dry_run=dry_run, untrusted=known)
    return judge(replace(facts, silent=daemon.why_silent(database.name)), now)


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerFacts:
    """What is true of all databases of a ledger, asked once for a list of them."""

    name: str
    moved_to: str
    untrusted: str
    stops: Mapping[str, StopRow]  # by database, or "*"

    def of(self, database: str, said: Mapping[str, Any], silent: str) -> SendingFacts:
        """The facts about one database.

        Args:
            database: its name; the login sees it.
            said: what its agent stored of itself last.
            silent: why no agent acts on it; "": one does.
        """
        told = said.get("sending") or {}
        return SendingFacts(
            database=database, ledger=self.name, moved_to=self.moved_to, silent=silent,
            untrusted=str(said.get("untrusted") or self.untrusted),
            stop=self.stops.get(EVERY) or self.stops.get(database),
            dry_run=bool(told.get("dry_run")), closed=str(told.get("closed") or ""),
        )  # fmt: skip


def facts_of_ledger(ledger: Ledger) -> LedgerFacts:
    """What the ledger says now of all its databases."""
    return LedgerFacts(
        name=ledger.name, moved_to=ledger.moved_to(), untrusted=why_untrusted(ledger),
        stops={row.database: row for row in ledger.stops.rows()},
    )  # fmt: skip


def said_by_agent(facts: SendingFacts, now: datetime) -> dict[str, Any]:
    """What only the agent knows, for lists of all databases: its configuration."""
    closed = "" if facts.calendar is None else why_closed(facts.calendar, now)
    return {"dry_run": facts.dry_run, "closed": closed or None}


def why_untrusted(ledger: Ledger) -> str:
    """Why the end of the chain and its last anchor are not trusted; "" where they are."""
    try:
        ledger.moves.require_end_of_chain()
    except Untrusted as error:
        return str(error)
    return ""
