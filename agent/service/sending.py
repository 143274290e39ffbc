"""May anything be sent to a database now, and if not, why: one state, which all pages, figures and alerts show.

``judge`` says it from facts, without I/O: a daemon keeps them in its snapshot, a command asks the ledger for them
(``facts_of``). Whatever shows the state shows ``Sending`` and nothing of its own.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from agent.config.models import DatabaseConfig
from agent.ledger.errors import AWAY, Untrusted
from agent.ledger.ledger import Ledger
from agent.ledger.requests import how_to_lift
from agent.ledger.rows import StopRow
from agent.model.units_of_measure import format_when
from policies.model.calendar import Calendar


class Hindrance(StrEnum):
    """Why nothing is sent, the gravest first: the first that holds is shown."""

    LEDGER_AWAY = "ledger away"
    LEDGER_MOVED = "ledger moved"  # to a server, for good
    NOT_SEEN = "not seen"  # by this login: the ledger is divided among teams
    NOT_TRUSTED = "ledger not trusted"
    STOPPED = "stopped"  # by a person
    DRY_RUN = "dry run"
    STANDS_BY = "stands by"  # another agent acts
    WINDOW = "outside its windows"


NEEDS_A_PERSON = frozenset({Hindrance.LEDGER_MOVED, Hindrance.NOT_SEEN, Hindrance.NOT_TRUSTED})


@dataclass(frozen=True, slots=True, kw_only=True)
class SendingFacts:
    """What decides whether anything may be sent to one database."""

    database: str
    ledger: str  # its name
    ledger_error: str = ""  # why it does not answer; "": it does
    moved_to: str = ""  # the ledger that took its place; "": it is in use
    is_seen: bool = True  # this login may see the database
    untrusted: str = ""  # why chain, anchors and tables are not trusted; "": they are, as far as is known
    stop: StopRow | None = None
    dry_run: bool = False
    stands_by: bool = False
    calendar: Calendar | None = None  # of its windows; None: not known here


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
    if not facts.is_seen:
        return _no(
            Hindrance.NOT_SEEN,
            f"this login may not see {facts.database}, so nothing is known of it here",
            f"make it a member of the team that owns it: hotplace ledger grants --team TEAM={facts.database}",
        )
    if facts.untrusted:
        said = facts.untrusted.replace(", nothing was sent", "", 1)
        return _no(Hindrance.NOT_TRUSTED, said, "hotplace audit verify")
    if facts.stop is not None:
        return _no(Hindrance.STOPPED, facts.stop.sentence, how_to_lift(facts.stop))
    if facts.dry_run:
        return _no(
            Hindrance.DRY_RUN, "dry_run is on: approved moves are not carried out",
            "set dry_run: false in the configuration once they are to be",
        )  # fmt: skip
    if facts.stands_by:
        return _no(Hindrance.STANDS_BY, f"another agent acts on {facts.database}; this one stands by", "")
    return _by_window(facts.calendar, now)


def _by_window(calendar: Calendar | None, now: datetime) -> Sending:
    if calendar is None or calendar.always or calendar.contains(now):
        return Sending(hindrance=None, sentence="what is approved is carried out", next_step="")
    opens = calendar.opens_at(now)
    said = "no window opens within a year" if opens is None else f"its window opens {format_when(opens, calendar.zone)}"
    return _no(Hindrance.WINDOW, said, "")


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


def why_untrusted(ledger: Ledger) -> str:
    """Why the end of the chain and its last anchor are not trusted; "" where they are."""
    try:
        ledger.moves.require_end_of_chain()
    except Untrusted as error:
        return str(error)
    return ""
