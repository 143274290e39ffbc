"""Making a tablespace on an empty folder, and dropping it while it is empty.

``CREATE TABLESPACE`` takes a superuser (the manual, CREATE TABLESPACE), and hotplace asks for no such right: without it
a person gets the statements. The folder is looked at by the server itself, with ``pg_stat_file``, ``pg_ls_dir`` and
``pg_read_file``; its owner from here, where this process sees the same mounts as the server. A symbolic link within the
path is followed only there. Standbys replay the statement, and their hosts cannot be looked at: a person says that the
folder is there.

``DROP TABLESPACE`` refuses where any database of the server has something in the tablespace. What this one has in it is
looked at before; of the others only the server knows.
"""

from __future__ import annotations

import hashlib
import posixpath
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from psycopg import sql

from connectors.kit.clients import PSQL
from connectors.kit.contract import ConnectorError
from connectors.kit.places import PlaceFacts, checks_of, not_checked, read_fstab, read_mounts
from connectors.model.moves import Locked, NoRoute, Operation, Parameter, Route, Step
from connectors.model.new_space import (
    NEW_SPACE,
    STANDBYS,
    Check,
    CheckState,
    SpaceAnswer,
    WantedSpace,
    accepted_of,
    bundle_of_space,
    notes_of,
    refuse_place,
)
from connectors.model.observation import Home, Inspection
from connectors.postgresql.routes import NAME_BYTES, TAG, prologue_of
from connectors.postgresql.sessions import ReadSession, query
from connectors.postgresql.settings import PostgresqlSettings

CREATE_STEP, DROP_STEP = "postgresql.create_tablespace", "postgresql.drop_tablespace"
SUPERUSER = "CREATE TABLESPACE takes a superuser, and hotplace asks for no such right"
MOUNTS = Path("/proc/self/mountinfo")


@dataclass(frozen=True, slots=True)
class _May:
    """The row of ``sql/space_may.sql``."""

    superuser: bool
    standby: bool
    login: str  # quoted
    taken: str | None  # a tablespace that has the place already


@dataclass(frozen=True, slots=True)
class _State:
    """The row of ``sql/space_state.sql``."""

    oid: int
    location: str
    relations: int  # of this database that are in it
    databases: int  # whose default it is


def routes_new_space(
    session: ReadSession, settings: PostgresqlSettings, wanted: WantedSpace, *, moves: bool
) -> SpaceAnswer:
    """See ``MakesSpaces``.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    wanted = replace(wanted, location=_plain_place(wanted.location))
    if refusal := _refuse_words(wanted):
        return SpaceAnswer(answer=refusal)
    may = _May(*session.rows(query("space_may"), {"place": wanted.location}, doing="looking at tablespaces")[0])
    if refusal := _refuse_here(wanted, may, _state(session, wanted.name)):
        return SpaceAnswer(answer=refusal)
    checks = look(session, wanted.location, superuser=may.superuser)
    refusal = refuse_place(wanted, checks)
    if refusal is not None:
        return SpaceAnswer(answer=refusal, checks=checks)
    route = _route(wanted, settings, checks, superuser=may.superuser)
    if moves and not may.superuser:
        grant = sql.SQL("GRANT CREATE ON TABLESPACE {} TO ").format(sql.Identifier(wanted.name)).as_string(None)
        route = route.by_a_person(SUPERUSER, PSQL, f"{grant}{may.login}")
    return SpaceAnswer(answer=route, checks=checks)


def look(session: ReadSession, place: str, *, superuser: bool) -> tuple[Check, ...]:
    """What can be known of a folder, here and on servers that follow."""
    return *_look_here(session, place, superuser=superuser), _standbys(session, place)


def _standbys(session: ReadSession, place: str) -> Check:
    """Whether any server would replay the statement: without the folder it shuts down, and does not start again."""
    rows = session.rows(query("space_standbys"), doing="looking for standbys")
    if not rows:
        sentence = "no standby streams from it, and no slot waits for one; one that follows by an archive is not seen"
        return Check(name=STANDBYS, state=CheckState.HOLDS, sentence=sentence)
    who = ", ".join(str(name) for (name,) in rows)
    sentence = (
        f"CREATE TABLESPACE is replayed by others ({who}), and a standby without the folder shuts down: {place} has to "
        "exist there before, owned by the server's account"
    )
    return Check(name=STANDBYS, state=CheckState.FAILS, sentence=sentence)


def _look_here(session: ReadSession, place: str, *, superuser: bool) -> tuple[Check, ...]:
    """What the server, and this process where it sees the same files, say of a folder."""
    if not superuser:
        return not_checked("only a superuser may have the server look at its files")
    facts = _host(session, place)
    try:
        rows = session.rows(query("space_folder"), {"place": place}, doing=f"looking into {place} on the server's host")
    except ConnectorError as error:
        return checks_of(place, replace(facts, why=str(error)))
    is_folder, entries = rows[0] if rows else (None, None)
    return checks_of(
        place, replace(facts, is_folder=bool(is_folder), entries=None if entries is None else int(entries))
    )


def _host(session: ReadSession, place: str) -> PlaceFacts:
    """Mounts of the server's host as the server sees them, and the folder's owner where they are those of this one."""
    try:
        rows = session.rows(query("space_host"), doing="looking at mounts of the server's host")
    except ConnectorError as error:
        return PlaceFacts(why=str(error))
    ((data, mounts, at_start, status),) = rows
    return PlaceFacts(
        owned=_is_owned(place, mounts, status),
        mounts=read_mounts(mounts or ""),
        data=data,
        mounted_at_start=None if at_start is None else read_fstab(at_start),
    )


def _is_owned(place: str, mounts: str | None, status: str | None) -> bool | None:
    """Whether the folder belongs to the server's user; None: the server's files are not those of this process.

    The list of mounts names each by a number that the kernel gives once: who has the same list sees the same files.
    """
    uid = next((line.split()[2] for line in (status or "").splitlines() if line.startswith("Uid:")), None)
    try:
        if mounts is None or uid is None or MOUNTS.read_text(encoding="utf-8") != mounts:
            return None
        return Path(place).stat().st_uid == int(uid)
    except (OSError, ValueError):
        return None


def _plain_place(place: str) -> str:
    """The folder as the server keeps it: without a separator at its end, or two in a row."""
    return posixpath.normpath(place) if place.startswith("/") else place


def _refuse_words(wanted: WantedSpace) -> NoRoute | None:
    """Why no tablespace can have that name or place, whatever the server."""
    name, place = wanted.name, wanted.location
    reasons = (
        (not name or not name.isprintable(), "name", "the name of a tablespace has printable characters only"),
        (len(name.encode()) > NAME_BYTES, "name", f"the name of a tablespace has at most {NAME_BYTES} bytes"),
        (name.startswith("pg_"), "name", "names that begin with pg_ are the server's own"),
        (not place.startswith("/"), "location", "the location is an absolute folder of the server's host"),
        (not place.isprintable(), "location", "the location has printable characters only"),
        ("'" in place, "location", "PostgreSQL refuses a location with a quotation mark (')"),
    )
    return next((NoRoute(code=code, sentence=sentence) for applies, code, sentence in reasons if applies), None)


def _refuse_here(wanted: WantedSpace, may: _May, state: _State | None) -> NoRoute | None:
    if may.standby:
        return NoRoute(code="standby", sentence="this server is a standby; tablespaces are made on the primary")
    if state is not None:
        return NoRoute(code="exists", sentence=f"there is a tablespace {wanted.name} already, at {state.location}")
    if may.taken is not None:
        return NoRoute(code="taken", sentence=f"{wanted.location} is the place of the tablespace {may.taken}")
    return None


def _create(wanted: WantedSpace) -> str:
    statement = sql.SQL("CREATE TABLESPACE {} LOCATION {}")
    return statement.format(sql.Identifier(wanted.name), sql.Literal(wanted.location)).as_string(None)


def _route(wanted: WantedSpace, settings: PostgresqlSettings, checks: tuple[Check, ...], *, superuser: bool) -> Route:
    create = _create(wanted)
    drop = sql.SQL("DROP TABLESPACE {}").format(sql.Identifier(wanted.name)).as_string(None)
    tag = f"{TAG} {hashlib.sha256(f'{create};{drop}'.encode()).hexdigest()[:8]} "
    there = f"make the tablespace {wanted.name} in {wanted.location}"
    back = f"drop the tablespace {wanted.name}, if it is empty"
    known: dict[str, Parameter] = {"name": wanted.name, "location": wanted.location, "accepted": wanted.accepted}
    notes = notes_of(checks, wanted.accepted)
    return Route(
        name=NEW_SPACE,
        bundle=bundle_of_space(wanted.name),
        to_space=wanted.name,
        prologue=prologue_of(settings.lock_timeout, settings.move_timeout),
        steps=(Step(sql=f"{tag}step 1 */ {create}", purpose=there, operation=Operation(CREATE_STEP, known)),),
        undo_steps=(Step(sql=f"{tag}undo 1 */ {drop}", purpose=back, operation=Operation(DROP_STEP, known)),),
        online=True,
        locks="none on any table",
        locked=Locked.NOTHING,
        log_bytes=0,
        transient_bytes=0,
        notes=(*notes, f"{SUPERUSER}: the account that moves has to be one") if not superuser else notes,
    )


def operation_of(route: Route) -> Operation | None:
    """What the route does to a tablespace; None: it is a route of another kind."""
    operation = route.steps[0].operation
    return operation if operation is not None and operation.name in {CREATE_STEP, DROP_STEP} else None


def inspect_space(session: ReadSession, route: Route, operation: Operation, *, running: bool) -> Inspection:
    """Whether the tablespace is there, and, before it is made, whether its place is still fit.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    name, place = operation.text("name"), operation.text("location")
    state = _state(session, name)
    if state is not None and state.location != place:
        sentence = f"the tablespace {name} is at {state.location}, not at {place}"
        return _inspection(route, Home.ELSEWHERE, sentence, running=running)
    if operation.name == DROP_STEP:
        return _before_drop(route, name, state, running=running)
    if state is not None:
        return _inspection(route, Home.TARGET, f"the tablespace {name} is at {place}", running=running)
    against = (
        None if running else _fit(session, WantedSpace(name=name, location=place, accepted=accepted_of(operation)))
    )
    if against is not None:
        return _inspection(route, Home.ELSEWHERE, against.sentence, running=running)
    return _inspection(route, Home.SOURCE, f"there is no tablespace {name}", running=running)


def _fit(session: ReadSession, wanted: WantedSpace) -> NoRoute | None:
    (row,) = session.rows(query("space_may"), {"place": wanted.location}, doing="looking at tablespaces")
    may = _May(*row)
    return _refuse_here(wanted, may, None) or refuse_place(
        wanted, look(session, wanted.location, superuser=may.superuser)
    )


def _before_drop(route: Route, name: str, state: _State | None, *, running: bool) -> Inspection:
    if state is None:
        return _inspection(route, Home.TARGET, f"there is no tablespace {name}", running=running)
    if state.relations or state.databases:
        held = f"{state.relations} relations of this database are in it"
        home = f"it is the default of {state.databases} databases"
        sentence = f"the tablespace {name} is not empty: {home if state.databases else held}"
        return _inspection(route, Home.ELSEWHERE, sentence, running=running)
    return _inspection(route, Home.SOURCE, f"the tablespace {name} holds nothing of this database", running=running)


def _inspection(route: Route, home: Home, sentence: str, *, running: bool) -> Inspection:
    return Inspection(
        home=home, sentence=sentence, size_bytes=route.bundle.size_bytes, on_disk=None, running=running,
        finished=home is Home.TARGET,
    )  # fmt: skip


def _state(session: ReadSession, name: str) -> _State | None:
    values: Mapping[str, object] = {"name": name}
    rows = session.rows(query("space_state"), values, doing=f"looking for the tablespace {name}")
    return _State(*rows[0]) if rows else None
