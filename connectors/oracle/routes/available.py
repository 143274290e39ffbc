"""Every way Oracle has to move a bundle to another tablespace, the kindest first, or why there is none. Pure.

Which form a release and edition has: SQL Language Reference (ALTER TABLE, ALTER INDEX, appendix B on what waits for
whom), VLDB and Partitioning Guide. Online forms wait for every open transaction on the table; blocking ones give up
after DDL_LOCK_TIMEOUT.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from connectors.formatting import format_seconds
from connectors.model import Bundle, NoRoute, Route, Step
from connectors.move_effects import FollowUp, Locked, Transfer
from connectors.oracle.reading.facts import Facts, IndexPiece
from connectors.oracle.routes import statements
from connectors.oracle.routes.operations import REBUILD_INDEX
from connectors.oracle.routes.redefinition import redefinition
from connectors.oracle.routes.refusals import refusal_of
from connectors.oracle.routes.side_effects import (
    broken_indexes,
    can_be_carried,
    log_bytes,
    notes_of_move,
    rebuilt_indexes,
    warnings_of,
)
from connectors.oracle.routes.statements import Places, Statement
from connectors.oracle.session.server import UPDATES_INDEXES, Server
from connectors.oracle.settings import OracleSettings

ONLINE_PARTITIONS, ONLINE_TABLES = (12, 1), (12, 2)
_NORMAL = frozenset({"NORMAL", "NORMAL/REV", "FUNCTION-BASED NORMAL"})
EXCLUSIVE, SHARE = "exclusive DDL lock", "share lock"
_JOURNAL_RATIO = 0.05  # of the bundle: journal and mapping tables of online forms
_GATHERED_PER_SECOND = 100e6  # bytes that one session reads and counts, an estimate


def routes_of(
    facts: Facts | None, bundle: Bundle, to_space: str, server: Server, settings: OracleSettings
) -> tuple[Route, ...] | NoRoute:
    """Every way to bring the bundle there, the kindest first, or why there is none."""
    refusal = refusal_of(facts, bundle, to_space, server)
    if refusal is not None:
        return refusal
    assert facts is not None, "a missing object is refused above"
    maker = _Maker(facts, bundle, to_space, server, settings)
    return maker.of_index() if facts.is_index else maker.of_table()


def may_move_online(facts: Facts, server: Server, settings: OracleSettings) -> bool:
    """Whether release, edition and the table itself allow ONLINE, and no licence comes into use by it."""
    table = facts.table_facts
    if not server.online or table is None or table.domain_indexes or table.bitmap_joins or table.object_columns:
        return False
    if facts.is_iot:
        return facts.lead.part is None and not table.lobs
    if table.lobs and not settings.online_lobs:
        return False  # sessions using DBMS_LOB fail meanwhile (ORA-14812)
    if facts.lead.part is None:
        return server.allows(*ONLINE_TABLES)
    compressed = facts.compress_for is not None and "advanced_compression" not in settings.licensed
    return server.allows(*ONLINE_PARTITIONS) and not compressed  # it would be recorded as use of an option


def _rebuilds(broken: Sequence[IndexPiece], places: Places) -> list[Statement]:
    """Each index where it is to be: those of the bundle in their place, the others where they are."""
    spaces = {(piece.owner, piece.name): space for piece, space in places.indexes}
    return [statements.rebuild(piece, spaces.get((piece.owner, piece.name)), online=False) for piece in broken]


def _gathering(facts: Facts, bundle: Bundle) -> FollowUp:
    """The manual calls the statistics of a moved table stale; gathering them reads the table once."""
    read = facts.rewritten.bytes if facts.rewritten is not None else bundle.size_bytes
    seconds = read / _GATHERED_PER_SECOND
    return FollowUp(what="optimizer statistics are gathered again by hand, which reads it once", seconds=seconds)


class _Maker:
    """Puts routes of one bundle together."""

    def __init__(self, facts: Facts, bundle: Bundle, to_space: str, server: Server, settings: OracleSettings) -> None:
        self._facts = facts
        self._bundle = bundle
        self._to_space = to_space
        self._server = server
        self._settings = settings

    def of_index(self) -> tuple[Route, ...]:
        """REBUILD, online where that is possible."""
        piece = self._facts.own_piece()
        assert piece is not None, "an index that is not listed is refused"
        online = self._server.online and piece.index_type in _NORMAL and self._facts.may_journal
        forms = [True, False] if online else [False]
        return tuple(self._rebuild(piece, online=form) for form in forms)

    def of_table(self) -> tuple[Route, ...]:
        """MOVE, online where that is possible."""
        forms = [True, False] if self._may_move_online() else [False]
        return tuple(self._move(online=form) for form in forms)

    def _may_move_online(self) -> bool:
        return may_move_online(self._facts, self._server, self._settings)

    def _rebuild(self, piece: IndexPiece, *, online: bool) -> Route:
        degree = self._settings.parallel if self._server.online else 1
        # A rebuild in parallel leaves its degree with the index, and the optimizer would run the site's queries in
        # parallel from then on.
        restore = [statements.set_degree(piece)] if degree > 1 else []
        forward, reverse = (
            statements.rebuild(piece, place, online=online, parallel=degree)
            for place in (self._to_space, self._facts.lead.space)
        )
        return self._route(
            name="rebuild online" if online else "rebuild",
            forward=[forward, *restore],
            reverse=[reverse, *restore],
            # Without ONLINE: an index that an interrupted rebuild has left unusable serves no query, so there is nobody
            # to keep working.
            tidy=[statements.rebuild(piece, None, online=False), *restore],
            tidy_bytes=self._bundle.size_bytes,
            online=online,
            locks=self._locks(online=online, blocked="writes wait, queries go on", mode=SHARE),
            notes=(
                "reads the old index or the whole table, and sorts in the temporary tablespace of the mover's user",
            ),
        )

    def _move(self, *, online: bool) -> Route:
        facts = self._facts
        # a partition has had UPDATE INDEXES always, a whole table since 12.2, an index-organised table never; online
        # forms of tables need no clause
        update = not facts.is_iot and (facts.lead.part is not None or self._server.allows(*UPDATES_INDEXES))
        clause = update and not (online and facts.lead.part is None and not facts.carried)
        places = statements.there(facts, self._to_space), statements.back(facts)
        forward, reverse = (statements.move(facts, place, online=online, update_indexes=clause) for place in places)
        broken = broken_indexes(facts)
        repairs = [statements.rebuild(piece, None, online=False) for piece in broken]
        there, back = ([] if update or online else _rebuilds(broken, place) for place in places)
        kept = "indexes are unusable until rebuilt, " if there else ""
        return self._route(
            name="move online" if online else "move",
            forward=[forward, *there],
            reverse=[reverse, *back],
            tidy=repairs,
            tidy_bytes=sum(piece.bytes or 0 for piece in broken),
            online=online,
            locks=self._locks(online=online, blocked=f"{kept}no writes while it is copied, queries go on"),
            notes=self._notes(online=online),
        )

    def _route(
        self,
        *,
        name: str,
        forward: Sequence[Statement],
        reverse: Sequence[Statement],
        tidy: Sequence[Statement],
        tidy_bytes: int,
        online: bool,
        locks: str,
        notes: tuple[str, ...],
    ) -> Route:
        tag = statements.tag_of([*forward, *reverse])
        place, source = self._to_space, self._facts.lead.space or ""
        return Route(
            name=name,
            bundle=self._bundle,
            to_space=place,
            prologue=statements.prologue(self._settings, online=online),
            steps=self._steps(tag, "step", forward, f"bring {self._bundle.key} to {place}"),
            undo_steps=self._steps(tag, "undo", reverse, f"bring {self._bundle.key} back to {source}"),
            tidy_steps=self._steps(tag, "tidy", tidy, "make an unusable index usable"),
            tidy_locks="share on the table of each index while it is rebuilt: its writes wait, queries go on"
            if tidy
            else "",
            tidy_bytes=tidy_bytes,
            online=online,
            locks=locks,
            locked=Locked.BRIEFLY if online else Locked.WRITES,
            lock_seconds=0.0 if online else self._settings.lock_timeout,  # an online one waits and blocks none
            follow_up=() if self._facts.is_index else (_gathering(self._facts, self._bundle),),
            log_bytes=log_bytes(self._facts, self._bundle),
            copies=self._copies(),
            transient_bytes=round(_JOURNAL_RATIO * self._bundle.size_bytes) if online else 0,
            unites=self._unites(),
            notes=(*notes, *warnings_of(self._facts, self._bundle, place, self._server, self._settings)),
        )

    def _unites(self) -> str:
        """What can be moved by one statement: rows, LOBs and whole indexes of a table, rows and LOBs of a partition."""
        facts, own = self._facts, self._facts.own_piece() if self._facts.is_index else None
        if facts.is_iot or (own is not None and not can_be_carried(facts, own)):
            return ""
        part = f" {facts.lead.part}" if facts.lead.part is not None else ""
        return f"{facts.table_owner}.{facts.table}{part}"

    def _copies(self) -> tuple[Transfer, ...]:
        """The bundle, and what is written again where it is: indexes, the rows of LOBs; () where there is nothing."""
        rebuilt, rows = rebuilt_indexes(self._facts), self._facts.rewritten
        if not rebuilt and rows is None:
            return ()
        bundle = self._bundle
        again = () if rows is None else (Transfer(space=rows.space, bytes=rows.bytes),)
        return (
            Transfer(space=bundle.space, bytes=bundle.size_bytes, unit=bundle.key),
            *again,
            Transfer(space=self._to_space, bytes=bundle.size_bytes, written=True),
            *(replace(each, written=True) for each in again),
            *(Transfer(space=piece.space or "", bytes=piece.bytes or 0, written=True) for piece in rebuilt),
        )

    def _notes(self, *, online: bool) -> tuple[str, ...]:
        notes = notes_of_move(self._facts, self._to_space, online=online)
        facts = self._facts
        if online or facts.is_lob or facts.lead.part is not None or facts.is_iot or self._may_move_online():
            return notes
        seconds = max(1, round(self._settings.lock_timeout))
        by_hand = redefinition(self._facts, self._to_space, self._server, lock_seconds=seconds)
        return (*notes, f"online by hand, watched by a person: {by_hand}") if by_hand else notes

    def _steps(self, tag: str, word: str, sent: Sequence[Statement], purpose: str) -> tuple[Step, ...]:
        """Numbered; every one after the first puts right what the first did to an index."""
        seconds = self._settings.move_timeout

        def purpose_of(ordinal: int, statement: Statement) -> str:
            rebuilds = statement.operation.name == REBUILD_INDEX
            what = "rebuild an index" if rebuilds else "restore the degree of the index"
            return purpose if ordinal == 1 else f"{purpose}: {what}"

        return tuple(
            statements.step(tag, word, ordinal, statement, purpose_of(ordinal, statement), seconds)
            for ordinal, statement in enumerate(sent, start=1)
        )

    def _locks(self, *, online: bool, blocked: str, mode: str = EXCLUSIVE) -> str:
        patience = format_seconds(self._settings.online_lock_timeout if online else self._settings.lock_timeout)
        if online:
            return (
                f"{EXCLUSIVE} on the object, briefly at the start and the end; reads and writes go on between; it "
                f"waits for transactions that are open on the object then, at most {patience}"
            )
        return f"{mode} on the table or partition: {blocked}; gives up after {patience} if it is not free"
