"""The truth about a move, from the catalog, also while it runs.

``inspect_exchange`` adds to the result of ``inspect`` where the exchange of a partition stands, by the tables that it
makes. Until the copy is counted, the replaced rows are the only ones known to be whole. So a move at that point does
not count as placed, and the replaced rows can return to their place as long as nothing is written.

``inspect`` tells where the bundle of any route is.

``MoveInspector`` watches a running move over a second session: an index that is built (``BuildInspector``), or files
that are emptied (``FileInspector``). Two threads use it, the mover's and the one that reads progress; a lock lets one
query run at a time.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Protocol

from connectors.kit.contract import ConnectorError, PrivilegeMissing
from connectors.kit.rolling import instant_of
from connectors.model.moves import Operation, Route, Step
from connectors.model.observation import Blocker, Home, Inspection, Remnant
from connectors.sqlserver.catalog import PAGE, File, read_files
from connectors.sqlserver.ddl import ServerFeatures
from connectors.sqlserver.definition import Definition, data_spaces, find, knowing
from connectors.sqlserver.file_moves import FileRoute, file_route_of, inspect_container, inspect_files, read_copies
from connectors.sqlserver.guards import ResumableOperation, of_route, operations, read_rights
from connectors.sqlserver.keys import name_of
from connectors.sqlserver.new_space import inspect_space, space_of
from connectors.sqlserver.operations import (
    ABORT_BUILD,
    COUNT_TABLE,
    DROP_FUNCTION,
    DROP_INDEX,
    DROP_SCHEME,
    DROP_TABLE,
    SPLIT_RANGE,
    SWITCH_BACK,
    Exchanged,
    exchanged_by,
    file_step_of,
    operation_of,
)
from connectors.sqlserver.plan_drift import changes, drift_reason, made_by, read_belongings
from connectors.sqlserver.routes import tag_of
from connectors.sqlserver.sessions import ReadSession
from connectors.sqlserver.settings import SqlserverSettings


@dataclass(frozen=True, slots=True)
class MadeTable:
    """A row of ``sql/made_tables.sql``, in its order; times are the server's."""

    rows: int
    pages: int
    space: str | None
    kept_until: datetime | None  # None: its rows have not been counted yet
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
        """Whether the replaced rows are there and have not been counted."""
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


def inspect(session: ReadSession, route: Route) -> Inspection:
    """Where the bundle of that route is.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    running = _running(session, route)
    if route.bundle.container:
        return inspect_container(session, route, running=running)
    if (made := space_of(route)) is not None:
        return inspect_space(session, route, made, running=running)
    files = file_route_of(route)
    if files is not None:
        return inspect_files(session, route, files, running=running)
    first = operation_of(route.steps[0])
    if first.name == SPLIT_RANGE:
        return _of_new_partition(session, route, first, running=running)
    definitions = [find(session, name_of(key)) for key in route.bundle.unit_keys]
    present = [d for d in definitions if d is not None and d.index is not None and d.partitions]
    if not present or len(present) < len(definitions):
        gone = Inspection(
            home=Home.GONE,
            sentence=f"{route.bundle.key} no longer exists",
            size_bytes=0,
            on_disk=None,
            leftovers=() if running else _leftovers(session, route, present, held=False),
            running=running,
        )
        return inspect_exchange(session, route, gone)
    homes = frozenset().union(*(definition.homes() for definition in present))
    home, held = _home(homes, route), not running and _is_paused(session, route, present)
    place = f"{route.bundle.key} is in {', '.join(sorted(homes)) or 'no filegroup'}"
    differs = changes(route.keeps, read_belongings(session, present[0])) if route.keeps and not running else ()
    if differs:
        place = f"{place}; not as it was: {'; '.join(differs)}"
    seen = Inspection(
        home=home,
        sentence=f"{place}, a build of it is paused" if held else place,
        size_bytes=sum(definition.bytes() for definition in present),
        on_disk=None,
        leftovers=() if running else _leftovers(session, route, present, held=held),
        running=running,
        paused=held,
    )
    return inspect_exchange(session, route, seen)


def _of_new_partition(session: ReadSession, route: Route, made: Operation, *, running: bool) -> Inspection:
    """By its boundary: numbers of partitions change with every SPLIT and MERGE."""
    function, boundary = made.text("function"), made.text("boundary")
    rows = session.rows("boundaries", function, doing=f"looking for {route.bundle.key}")
    at = next((number for number, value in rows if instant_of(value) == instant_of(boundary)), None)
    spaces = data_spaces(session)
    scheme = next((space for space in spaces.values() if space.scheme and space.name == made.text("scheme")), None)
    if at is None or scheme is None:
        home, sentence = Home.SOURCE, f"{function} has no boundary {boundary} yet"
    else:
        place = spaces[scheme.destinations[at + scheme.on_right]].name
        home = Home.TARGET if place == route.to_space else Home.ELSEWHERE
        sentence = f"the partition at {boundary} is in {place}"
    return Inspection(
        home=home, sentence=sentence, size_bytes=0, on_disk=None, running=running, finished=home is Home.TARGET
    )  # fmt: skip


def _is_paused(session: ReadSession, route: Route, present: list[Definition]) -> bool:
    """Whether a resumable build of this route is paused."""
    if not any(step.pausable for step in route.steps):
        return False
    operation = of_route(operations(session, present[0].owner.object_id), route)
    return operation is not None and operation.paused


def _running(session: ReadSession, route: Route) -> bool:
    """Whether any session works on a statement of this move; without the right only the own one would be seen."""
    rights = read_rights(session)
    if not rights.sees_server:
        raise PrivilegeMissing(
            f"{rights.login} may not see other sessions, so whether a move still runs is unknown",
            advice="Run hotplace doctor: it prints the GRANT.",
        )
    return bool(session.rows("running", tag_of(route), doing="looking for running moves")[0][0])


def _home(homes: frozenset[str], route: Route) -> Home:
    if homes == {route.to_space}:
        return Home.TARGET
    if homes == {route.bundle.space}:
        return Home.SOURCE
    return Home.SPLIT if route.to_space in homes else Home.ELSEWHERE


def _leftovers(session: ReadSession, route: Route, present: list[Definition], *, held: bool) -> tuple[Step, ...]:
    """Those tidy steps of the route whose object is there and should not be."""
    if not route.tidy_steps:
        return ()
    if any(operation_of(step).name == DROP_TABLE for step in route.tidy_steps):
        return ()  # see made_tables
    made = made_by(route)
    functions = {row[0] for row in session.rows("leftovers", doing="looking for temporary partition functions")}
    indexes = {index.name for definition in present for index in definition.indexes}
    spaces = {space.name: space for definition in present for space in definition.spaces.values()}
    on_scheme = any(index.space_id == spaces[made].number for d in present for index in d.indexes if made in spaces)
    function = made in functions
    there = {
        DROP_INDEX: made in indexes,
        DROP_SCHEME: made in spaces,
        DROP_FUNCTION: function,
        ABORT_BUILD: held,
    }
    if on_scheme and not function:
        return ()  # one partition was moved: the scheme is where its index lives now
    return tuple(step for step in route.tidy_steps if there.get(operation_of(step).name, on_scheme))


class MoveInspector(Protocol):
    """Inspection of a running move, as the mover needs it."""

    cancel_holds: bool  # to hold a step is to cancel it

    def against(self) -> str:
        """Why the route no longer fits the catalog, "" where it does."""
        ...

    def done_before(self, step: Step, /) -> bool:
        """Whether what the step does has been done, so that it is not sent again."""
        ...

    def is_held(self) -> bool | None:
        """Whether the running step has come to rest and can go on; None: there is nothing to hold."""
        ...

    def bytes_built(self, step: Step, /) -> int | None:
        """Bytes that are where they should be; None: unknown."""
        ...

    def is_gone(self) -> bool:
        """Whether what is moved is not there any more."""
        ...


class BuildInspector:
    """An index that is built in another filegroup."""

    cancel_holds = False

    def __init__(self, session: ReadSession, turn: threading.Lock, route: Route, settings: SqlserverSettings) -> None:
        """Look the table up.

        Raises:
            ConnectorError: the server did not answer.
        """
        self._session, self._turn, self._route, self._settings = session, turn, route, settings
        self._found = self._definition()
        with turn:
            self._found = knowing(session, self._found)

    def against(self) -> str:
        """See ``freshness``."""
        server = ServerFeatures(major=self._session.major, edition=self._session.edition)
        return drift_reason(self._found, self._route, server, self._settings)

    def done_before(self, _: Step, /) -> bool:
        """Never: a build that has ended has changed what the route was compared with."""
        return False

    def is_held(self) -> bool | None:
        """By the server's list of resumable operations."""
        operation = self._operation()
        return None if operation is None else operation.paused

    def bytes_built(self, step: Step) -> int | None:
        """Bytes that a resumable build has allocated."""
        operation = self._operation() if step.pausable else None
        return None if operation is None or operation.pages is None else operation.pages * PAGE

    def is_gone(self) -> bool:
        """The table or the index."""
        try:
            found = self._definition()
        except ConnectorError:  # the error of the statement itself is reported
            return False
        return found is None or found.index is None

    def _definition(self) -> Definition | None:
        with self._turn:
            return find(self._session, name_of(self._route.bundle.key))

    def _operation(self) -> ResumableOperation | None:
        """The resumable build of this route, None where there is none or it cannot be read."""
        if self._found is None:
            return None
        try:
            with self._turn:
                return of_route(operations(self._session, self._found.owner.object_id), self._route)
        except ConnectorError:  # as if there were none: the error of the statement itself is reported
            return None


class FileInspector:
    """Files of a filegroup that are emptied into new ones."""

    cancel_holds = True

    def __init__(
        self, session: ReadSession, turn: threading.Lock, route: Route, files: FileRoute, settings: SqlserverSettings
    ) -> None:
        self._session, self._turn, self._route, self._files = session, turn, route, files
        self._settings = settings

    def against(self) -> str:
        """A filegroup has another file by now, or not one of those that were approved; or no file can be removed."""
        if self._files.old:
            with self._turn:
                copies = read_copies(self._session)
            reasons = [*copies.against_removal()]
            if self._files.new and not self._settings.disks_on_replicas:
                reasons.append(copies.against_folders())
            reason = next((sentence for applies, _, sentence in reasons if applies), "")
            if reason:
                return reason
            away = [name for name, file in self._own().items() if file.state not in {"ONLINE", None}]
            if away:
                return f"file {away[0]} is not online"
        if not (self._files.filegroup and self._files.old):
            return ""  # it only tidies up, or one file goes or comes and the others stay
        own = self._own()
        strange = own.keys() - {*self._files.old, *self._files.new}
        # A file that someone has added takes the pages of those that are emptied, on whichever disk it lies.
        if strange:
            return f"{sorted(strange)[0]} is a file of {self._files.filegroup} that this plan does not know"
        begun = own.keys() & set(self._files.new)
        missing = set(self._files.old) - own.keys()
        return f"{sorted(missing)[0]} is no file of {self._files.filegroup} any more" if missing and not begun else ""

    def done_before(self, step: Step) -> bool:
        """A file that is there is not added, one that is gone is not emptied or removed."""
        wanted = file_step_of(step)
        if wanted is None:
            return False
        there = wanted.file in {file.name for file in self._all()}
        return there if wanted.action == "add" else not there

    def is_held(self) -> bool | None:
        """A cancelled DBCC SHRINKFILE is: what it has moved stays moved."""
        return True

    def bytes_built(self, _: Step, /) -> int | None:
        """Bytes that have left the old files."""
        try:
            files = [file for file in self._all() if file.name in self._files.old]
        except ConnectorError:
            return None
        if any(file.used_pages is None for file in files):
            return None
        return self._route.bundle.size_bytes - sum(file.used_pages or 0 for file in files) * PAGE

    def is_gone(self) -> bool:
        """The filegroup."""
        return bool(self._files.filegroup) and not self._own()

    def snapshot_seconds(self) -> int | None:
        """How long the oldest reader of a snapshot has been at it; None where there is none."""
        with self._turn:
            rows = self._session.rows("snapshots", doing="looking for readers of snapshots")
        return int(rows[0][1]) if rows else None

    @property
    def major(self) -> int:
        """Version of the server."""
        return self._session.major

    def _all(self) -> list[File]:
        with self._turn:
            return read_files(self._session)

    def _own(self) -> dict[str, File]:
        return {str(f.name): f for f in self._all() if f.space == self._files.filegroup and f.name is not None}
