"""What a ledger holds of all its databases, read at once: a few queries however many databases there are."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from fnmatch import fnmatchcase
from functools import lru_cache, partial
from typing import Any

from sqlalchemy import Select, func, or_, select

from agent.ledger.chain.audit import AuditChain
from agent.ledger.chain.links import FORGOTTEN
from agent.ledger.errors import NotFound, WrongState, readable
from agent.ledger.moves import OUTCOMES, outcome_row
from agent.ledger.rows import EVERY, OutcomeRow, ProposalRow
from agent.ledger.state import parse_document
from agent.ledger.state_names import FORGOTTEN_AT, LEFT_WORSE, STATUS
from agent.ledger.store.database import Database, Reading
from agent.ledger.store.schema import (
    QUERIES_HELD,
    among,
    documents,
    given,
    like_file_name,
    moves,
    outcomes,
    proposals,
    value_for,
)
from agent.ledger.stored import PROPOSALS, WITH_PROPOSAL, as_they_are, load_proposals, stored_states
from agent.model.states import ACTIONABLE, UNDER_WAY, MoveState, ProposalState
from connectors.kit.contract import Clock

_matching = like_file_name(proposals.c.database)
_DOCUMENTS = select(documents.c.database, documents.c.at, documents.c.body).where(
    given(documents.c.name), like_file_name(documents.c.database)
)
_NUMBER_OF_MOVES = (
    select(proposals.c.database, moves.c.state, func.count().label("number"))
    .join_from(moves, proposals, WITH_PROPOSAL)
    .where(_matching)
    .group_by(proposals.c.database, moves.c.state)
)
# A move that was not begun in time is under way no more, whether or not an agent has noted it.
_NUMBER_UNDER_WAY = _NUMBER_OF_MOVES.where(
    among(moves.c.state, UNDER_WAY),
    or_(moves.c.state != MoveState.APPROVED, proposals.c.expires_at > value_for(proposals.c.expires_at, "now")),
)
_NUMBER_CHANGED = _NUMBER_OF_MOVES.where(moves.c.updated_at >= value_for(moves.c.updated_at, "since"))
_DATABASES = select(proposals.c.database).where(_matching).distinct()
BUT = "!"  # before a pattern: all others
PATTERN_SIGNS = frozenset("*?[!")  # a name without any of them is one database
_OUTCOMES = OUTCOMES.where(_matching).order_by(outcomes.c.id.desc())
_LATE_OUTCOMES = _OUTCOMES.where(outcomes.c.at >= value_for(outcomes.c.at, "since"))


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentRow:
    """What the agent of one database last wrote of itself."""

    database: str
    heard_at: datetime | None  # None: no agent ever wrote
    status: Mapping[str, Any]  # agent.service.snapshot.status_document; empty where there is none
    left_worse: tuple[str, ...]  # sentences about groups that ended halfway


class Overview:
    """All databases of the ledger, whether this machine's configuration names them or not.

    ``pattern`` is a database's name with ``*``, ``?`` and ``[...]`` as in file names, case-sensitive; with ``!`` before
    it all databases that do not match. Lists of what is now leave out databases that were forgotten and not heard of
    since; what happened stays in lists of what happened.
    """

    def __init__(self, database: Database, chain: AuditChain, clock: Clock) -> None:
        self._database = database
        self._chain = chain
        self._clock = clock

    def forget(self, name: str, *, who: str, origin: str, reason: str) -> None:
        """Leave a retired database out of lists, until an agent is heard of that watches it.

        Raises:
            NotFound: the ledger does not know it.
            WrongState: a move of it is approved or has begun.
        """
        with self._database.write() as transaction:
            known = {row.database for row in transaction.rows(_DATABASES, pattern=EVERY)}
            known |= {row.database for row in transaction.rows(_DOCUMENTS, name=STATUS, pattern=EVERY)}
            if name not in known:
                raise NotFound(f"the ledger knows no database {name!r}", advice=f"It knows {', '.join(sorted(known))}.")
            under_way = [
                row
                for row in transaction.rows(_NUMBER_UNDER_WAY, pattern=EVERY, now=self._clock.now())
                if row.database == name
            ]
            if any(MoveState(row.state) in ACTIONABLE for row in under_way):
                raise WrongState(
                    f"moves of {name} are approved or have begun",
                    advice=f"Give them up first: hotplace cancel --all --database {shlex.quote(name)}, "
                    "or hotplace strike.",
                )
            # Read by each list: the chain, which says who did it, has no index by event.
            note = {"database": name, "name": FORGOTTEN_AT, "at": self._clock.now(), "body": "null"}
            transaction.put(documents, [note])
            self._chain.append(transaction, FORGOTTEN, name, who=who, origin=origin, reason=reason)

    def agents(self, pattern: str = EVERY) -> list[AgentRow]:
        """Every database that an agent or a proposal mentions, by name."""
        meant, pattern = _meant_by(pattern)
        with self._database.read() as reading:
            told = {row.database: row for row in reading.rows(_DOCUMENTS, name=STATUS, pattern=pattern)}
            worse = {
                row.database: tuple(parse_document(reading, row.body, row.database, LEFT_WORSE).values())
                for row in reading.rows(_DOCUMENTS, name=LEFT_WORSE, pattern=pattern)
            }
            names = {row.database for row in reading.rows(_DATABASES, pattern=pattern)} | told.keys()
            gone = _find_forgotten(reading, {name: row.at for name, row in told.items()})
            names = {name for name in names - gone if meant(name)}
            said = {name: parse_document(reading, row.body, name, STATUS) for name, row in told.items()}
        return [
            AgentRow(
                database=name,
                heard_at=told[name].at if name in told else None,
                status=said.get(name, {}),
                left_worse=worse.get(name, ()),
            )
            for name in sorted(names)
        ]

    def documents(self, name: str, pattern: str = EVERY) -> dict[str, Any]:
        """The documents of one name by database."""
        meant, pattern = _meant_by(pattern)
        with self._database.read() as reading:
            found = sorted(reading.rows(_DOCUMENTS, name=name, pattern=pattern), key=lambda row: str(row.database))
            heard = {row.database: row.at for row in reading.rows(_DOCUMENTS, name=STATUS, pattern=pattern)}
            gone = _find_forgotten(reading, heard)
            kept = (row for row in found if row.database not in gone and meant(row.database))
            return {row.database: parse_document(reading, row.body, row.database, name) for row in kept}

    def proposals(
        self, pattern: str = EVERY, states: Collection[ProposalState] | None = None, since: datetime | None = None
    ) -> Iterator[ProposalRow]:
        """Proposals as they are now, the newest first, read as they are asked for.

        Raises:
            ProposalTampered: one of them is not what was stored.
        """
        meant, pattern = _meant_by(pattern)
        query = _proposals(stored_states(states), late=since is not None)
        with self._database.read() as reading:
            found = load_proposals(reading, query, pattern=pattern, since=since)
            rows = as_they_are(reading, found, states, self._clock.now())
            yield from (row for row in rows if meant(row.proposal.database))

    def moves_under_way(self, pattern: str = EVERY) -> dict[str, Counter[MoveState]]:
        """How many moves of each database are in which state, of those whose end is open."""
        return self._count_moves(_NUMBER_UNDER_WAY, pattern=pattern, now=self._clock.now())

    def moves_changed(self, since: datetime, pattern: str = EVERY) -> dict[str, Counter[MoveState]]:
        """The same of all moves whose state changed since an instant."""
        return self._count_moves(_NUMBER_CHANGED, pattern=pattern, since=since)

    def _count_moves(self, query: Select[Any], **values: object) -> dict[str, Counter[MoveState]]:
        found: dict[str, Counter[MoveState]] = {}
        meant, values["pattern"] = _meant_by(str(values["pattern"]))
        with self._database.read() as reading:
            for row in (row for row in reading.rows(query, **values) if meant(row.database)):
                with readable(reading.database, "moves", "states of moves"):
                    found.setdefault(row.database, Counter())[MoveState(row.state)] = row.number
        return found

    def outcomes(self, pattern: str = EVERY, since: datetime | None = None) -> list[OutcomeRow]:
        """The newest outcome of each proposal, the newest first."""
        newest: dict[int, OutcomeRow] = {}
        meant, pattern = _meant_by(pattern)
        with self._database.read() as reading:
            for row in reading.each(_OUTCOMES if since is None else _LATE_OUTCOMES, pattern=pattern, since=since):
                if row.proposal_id not in newest and meant(row.database):
                    newest[row.proposal_id] = outcome_row(reading, row)
        return list(newest.values())


def is_meant(pattern: str, name: str) -> bool:
    """Whether a pattern means a database."""
    but = pattern.startswith(BUT)
    return fnmatchcase(name, pattern.removeprefix(BUT)) is not but


def _meant_by(pattern: str) -> tuple[Callable[[str], bool], str]:
    """Whether a name is meant, and the pattern that the ledger is asked with."""
    if not pattern.startswith(BUT):
        return lambda _: True, pattern
    return partial(is_meant, pattern), EVERY


def _find_forgotten(reading: Reading, heard: Mapping[str, datetime]) -> set[str]:
    """Databases that a person had left out, and that were not heard of since."""
    last = {row.database: row.at for row in reading.rows(_DOCUMENTS, name=FORGOTTEN_AT, pattern=EVERY)}
    return {name for name, at in last.items() if name not in heard or heard[name] <= at}


@lru_cache(maxsize=QUERIES_HELD)
def _proposals(states: frozenset[ProposalState] | None, *, late: bool) -> Select[Any]:
    """Proposals of some states, perhaps only late ones, the newest first."""
    query = PROPOSALS.where(_matching)
    if late:
        query = query.where(proposals.c.created_at >= value_for(proposals.c.created_at, "since"))
    if states is not None:
        query = query.where(among(proposals.c.state, states))
    return query.order_by(proposals.c.id.desc())
