"""The tables that the exchange of a partition makes, and where such a move stands by them.

The replaced rows are the only ones that are known to be whole until they are counted: a move that has come so far is
not placed, and as long as nothing is written they can take their place again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from connectors.model import Blocker, Home, Inspection, Remnant, Route, Step
from connectors.sqlserver.reading.keys import name_of
from connectors.sqlserver.reading.spaces import PAGE
from connectors.sqlserver.routes.operations import (
    COUNT_TABLE,
    DROP_TABLE,
    SWITCH_BACK,
    Exchanged,
    exchanged_by,
    operation_of,
)
from connectors.sqlserver.session.sessions import ReadSession


@dataclass(frozen=True, slots=True)
class MadeTable:
    """A row of ``sql/made_tables.sql``, in its order; times are the server's."""

    rows: int
    pages: int
    space: str | None
    kept_until: datetime | None  # None: nobody has counted its rows yet
    now: datetime

    @property
    def kept(self) -> bool:
        """Whether its rows are to stay still."""
        return self.rows > 0 and self.kept_until is not None and self.kept_until > self.now

    @property
    def counted(self) -> bool:
        """Whether its rows have been compared with the copy, and are kept for a time alone."""
        return self.kept_until is not None


@dataclass(frozen=True, slots=True)
class _Standing:
    """Where a move stands by its two tables."""

    route: Route
    exchanged: Exchanged
    made: Mapping[str, MadeTable]

    @property
    def old(self) -> MadeTable | None:
        return self.made.get(self.exchanged.old)

    @property
    def uncounted(self) -> bool:
        """Whether the replaced rows are there and nobody has counted them."""
        return self.old is not None and self.old.rows > 0 and not (self.exchanged.kept and self.old.counted)

    def tidy(self, home: Home) -> Iterator[Step]:
        """What removes the tables: those without rows, and those rows once a copy has taken their place."""
        if home is Home.TARGET and self.exchanged.kept and self.uncounted:
            yield from self._steps(COUNT_TABLE, self.exchanged.old)
            return
        # A table with rows goes only once the copy has taken the partition's place: before that its rows may be the
        # only ones there are.
        if self._may_go(self.exchanged.old, home):
            yield from self._steps(DROP_TABLE, self.exchanged.old)
        if self._may_go(self.exchanged.new, Home.SOURCE):
            yield from self._steps(DROP_TABLE, self.exchanged.new)

    def take_back(self) -> tuple[Step, ...]:
        """What puts the replaced rows in their place again."""
        back = tuple(self._steps(SWITCH_BACK, ""))
        drops = (step for name in (self.exchanged.old, self.exchanged.new) for step in self._steps(DROP_TABLE, name))
        return (*back, *drops) if back else ()

    def _may_go(self, name: str, home: Home) -> bool:
        table = self.made.get(name)
        return table is not None and (not table.rows or home is Home.TARGET)

    def _steps(self, operation: str, table: str) -> Iterator[Step]:
        """Tidy steps of the route that do that; what drops without counting, as earlier versions did, is none."""
        for step in self.route.tidy_steps:
            found = operation_of(step)
            mine = found.text("old") == self.exchanged.old if not table else found.text("table") == table
            if found.name == operation and mine and (operation != DROP_TABLE or found.parameters.get("counted")):
                yield step


def inspect_exchange(session: ReadSession, route: Route, seen: Inspection) -> Inspection:
    """The inspection of a route that exchanges a partition, by its tables too; of another route as it was.

    Args:
        session: asked.
        route: of the move.
        seen: where the partition is.

    Raises:
        ConnectorError: the server did not answer.
    """
    exchanged = exchanged_by(route)
    if exchanged is None or seen.running:
        return seen
    standing = _Standing(route, exchanged, read_made_tables(session, name_of(route.bundle.key).schema))
    leftovers = tuple(standing.tidy(seen.home))
    found = replace(seen, leftovers=leftovers, remnants=tuple(_remnants(standing, leftovers)))
    if seen.home is not Home.TARGET or operation_of(route.steps[0]).name == SWITCH_BACK:
        return found
    if standing.uncounted:
        sentence = f"{seen.sentence}; the rows that it replaces are in {exchanged.old} and not counted yet"
        return replace(found, home=Home.SPLIT, sentence=sentence, unfinished=standing.take_back())
    if standing.old is not None and standing.old.kept:
        kept = f"{seen.sentence}; the rows that it replaced are kept until {_when(standing.old)} (keep_original)"
        return replace(found, sentence=kept, finished=True)
    return replace(found, finished=not leftovers)


def kept_rows(session: ReadSession, route: Route) -> Blocker | None:
    """What keeps the replaced rows of a route from being dropped now; None: nothing does.

    Raises:
        ConnectorError: the server did not answer.
    """
    exchanged = exchanged_by(route)
    if exchanged is None or not exchanged.kept:
        return None
    old = read_made_tables(session, name_of(route.bundle.key).schema).get(exchanged.old)
    if old is None or not old.kept:
        return None
    return Blocker(sentence=f"{_when(old)}, until when the rows that it replaced are kept (keep_original)")


def are_kept(session: ReadSession, route: Route) -> bool:
    """Whether the replaced rows of a route are there, counted: they can take their place again.

    Raises:
        ConnectorError: the server did not answer.
    """
    exchanged = exchanged_by(route)
    if exchanged is None or not exchanged.kept:
        return False
    made = read_made_tables(session, name_of(route.bundle.key).schema)
    old = made.get(exchanged.old)
    return old is not None and old.rows > 0 and old.counted and exchanged.new in made


def read_made_tables(session: ReadSession, schema: str) -> dict[str, MadeTable]:
    """By name, all of a schema.

    Raises:
        ConnectorError: the server did not answer.
    """
    seen = session.rows("made_tables", schema, doing="looking for tables of an interrupted move")
    return {
        str(name): MadeTable(int(rows), int(pages), space, _time(until), datetime.fromisoformat(now))
        for name, rows, pages, space, until, now in seen
    }


def _time(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


def _when(old: MadeTable) -> str:
    assert old.kept_until is not None, "asked of what is kept"
    return f"{old.kept_until:%Y-%m-%d %H:%M} UTC"


def _remnants(standing: _Standing, leftovers: tuple[Step, ...]) -> Iterator[Remnant]:
    """Where what each of them removes lies; a count removes nothing."""
    for step in leftovers:
        table = standing.made.get(operation_of(step).text("table"))
        drops = operation_of(step).name == DROP_TABLE
        yield Remnant(
            space=(table.space if table else None) or "", size_bytes=table.pages * PAGE if table and drops else 0
        )
