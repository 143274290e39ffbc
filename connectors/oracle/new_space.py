"""Making a tablespace with its first data file, and dropping it while it is empty. Pure, but for what it reads.

``CREATE TABLESPACE ... DATAFILE``, never with REUSE, which overwrites a file; back ``DROP TABLESPACE``, never with
INCLUDING CONTENTS, so that the server refuses where a segment is in it (ORA-01549). Source: SQL Language Reference,
CREATE TABLESPACE and DROP TABLESPACE. No view shows a folder of the host, so of a place only its own data files and
the disk groups are known.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from connectors.kit.clients import SQLPLUS
from connectors.kit.places import not_checked
from connectors.model.moves import Locked, NoRoute, Operation, Parameter, Route
from connectors.model.new_space import (
    DEVICE,
    EMPTY,
    NEW_SPACE,
    OWNER,
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
from connectors.oracle import operations
from connectors.oracle.catalog import DataFile, read_files
from connectors.oracle.file_moves import text_of
from connectors.oracle.names import quote
from connectors.oracle.operations import Statement
from connectors.oracle.sessions import ReadSession, Server, query
from connectors.oracle.settings import OracleSettings

CREATE_TABLESPACE, DROP_TABLESPACE = "oracle.create_tablespace", "oracle.drop_tablespace"
MIB = 1 << 20
USUAL_BYTES, GROWTH_BYTES = 1024 * MIB, 256 * MIB
OLD_NAME_BYTES, NAME_BYTES, LONG_NAMES_SINCE = 30, 128, (12, 2)
NO_RIGHT = "it takes the privilege CREATE TABLESPACE, and hotplace asks for no such right"
NO_VIEW = "Oracle documents no view that looks into a folder of its host"
BY_PLACE = "with move_by: tablespace whole tablespaces change places, and a new one is no target; name places"


def routes_new_space(
    wanted: WantedSpace,
    files: Sequence[DataFile],
    groups: Collection[str],
    server: Server,
    settings: OracleSettings,
    held: Collection[str] | None,
) -> SpaceAnswer:
    """See ``MakesSpaces``.

    Args:
        wanted: the tablespace and its folder or disk group.
        files: of the database.
        groups: names of the disk groups.
        server: what it can.
        settings: time-outs.
        held: system privileges of the account that would do it; None: they are not looked at.
    """
    refusal = _refuse(wanted, files, server, settings)
    if refusal is not None:
        return SpaceAnswer(answer=refusal)
    checks = _checks(wanted.location, files, groups)
    refusal = refuse_place(wanted, checks)
    if refusal is not None:
        return SpaceAnswer(answer=refusal, checks=checks)
    known: dict[str, Parameter] = {
        "tablespace": wanted.name, "place": wanted.location, "accepted": wanted.accepted,
    }  # fmt: skip
    create = Statement(_create(wanted), Operation(CREATE_TABLESPACE, known))
    drop = Statement(f"DROP TABLESPACE {quote(wanted.name)}", Operation(DROP_TABLESPACE, known))
    tag, seconds = operations.tag_of([create, drop]), settings.move_timeout
    there = f"make the tablespace {wanted.name} in {wanted.location}"
    back = f"drop the tablespace {wanted.name}, refused unless it is empty"
    route = Route(
        name=NEW_SPACE,
        bundle=bundle_of_space(wanted.name),
        to_space=wanted.name,
        prologue=operations.prologue(settings),
        steps=(operations.step(tag, "step", 1, create, there, seconds),),
        undo_steps=(operations.step(tag, "undo", 1, drop, back, seconds),),
        online=True,
        locks="none on any table",
        locked=Locked.NOTHING,
        log_bytes=0,
        transient_bytes=0,
        notes=(*notes_of(checks, wanted.accepted), *_notes(wanted, held)),
    )
    if held is not None and "CREATE TABLESPACE" not in held:
        route = route.by_a_person(NO_RIGHT, SQLPLUS)
    return SpaceAnswer(answer=route, checks=checks)


def _refuse(wanted: WantedSpace, files: Sequence[DataFile], server: Server, settings: OracleSettings) -> NoRoute | None:
    name, place = wanted.name, wanted.location
    most = NAME_BYTES if server.since(*LONG_NAMES_SINCE) else OLD_NAME_BYTES
    absolute = place.startswith("/") or place[1:3] == ":\\"
    reasons = (
        (not name or '"' in name or not name.isprintable(), "name", "no tablespace can have that name"),
        (len(name.encode()) > most, "name", f"the name of a tablespace has at most {most} bytes"),
        (not place.isprintable(), "location", "the location has printable characters only"),
        (not (absolute or re.fullmatch(r"\+[A-Za-z][\w$#]*", place)), "location",
         "the location is an absolute folder of the server's host, or a disk group (+FAST)"),
        (not server.writable, "standby", f"the database is {server.role}, {server.open_mode}: no DDL here"),
        (server.in_root, "root_container", "tablespaces of a PDB are made in the PDB"),
        (settings.move_by == "tablespace", "move_by", BY_PLACE),
        (name in {file.tablespace for file in files}, "exists", f"there is a tablespace {name} already"),
    )  # fmt: skip
    return next((NoRoute(code=code, sentence=sentence) for applies, code, sentence in reasons if applies), None)


def _checks(place: str, files: Sequence[DataFile], groups: Collection[str]) -> tuple[Check, ...]:
    """What the database knows of a place: its own files there, and its disk groups."""
    mine = _device(place, files)
    if not place.startswith("+"):
        return tuple(mine if mine and check.name == DEVICE else check for check in not_checked(NO_VIEW))
    there = place[1:].upper() in {group.upper() for group in groups}
    state, words = CheckState.HOLDS, f"the disk group {place} is mounted, and gives each file a name of its own"
    if not there:
        state, words = CheckState.NOT_CHECKED, f"whether the disk group {place} is mounted is not known to this login"
    first = Check(name=EMPTY, state=state, sentence=words)
    owner = Check(name=OWNER, state=state, sentence=words)
    rest = not_checked("what lies below a disk group, and who mounts it, is not known to the database")
    known = {EMPTY: first, OWNER: owner, **({DEVICE: mine} if mine else {})}
    return tuple(known.get(check.name, check) for check in rest)


def _device(place: str, files: Sequence[DataFile]) -> Check | None:
    """Fails where the database has files at the very place; None: it says nothing."""
    plain = place.rstrip("/\\")
    if plain.lower() in {file.place.rstrip("/\\").lower() for file in files}:
        return Check(name=DEVICE, state=CheckState.FAILS, sentence=f"data files of the database are in {plain} already")
    if place.startswith("+"):
        return Check(name=DEVICE, state=CheckState.HOLDS, sentence=f"no data file of the database is in {plain} yet")
    return None


def _create(wanted: WantedSpace) -> str:
    size = wanted.size_bytes or USUAL_BYTES
    grows = f"SIZE {size} AUTOEXTEND ON NEXT {GROWTH_BYTES} MAXSIZE UNLIMITED"
    return f"CREATE TABLESPACE {quote(wanted.name)} DATAFILE '{text_of(_file(wanted))}' {grows}"


def _file(wanted: WantedSpace) -> str:
    """Path of the first file; in a disk group Oracle names it. A name that leads nowhere else, nor looks managed."""
    place = wanted.location
    if place.startswith("+"):
        return place
    separator = "\\" if "\\" in place else "/"
    own = re.sub(r"[^a-z0-9_]", "_", wanted.name.lower())
    return f"{place.rstrip(separator)}{separator}hotplace_{own}_1.dbf"


def _notes(wanted: WantedSpace, held: Collection[str] | None) -> tuple[str, ...]:
    notes = ["owners of what is to move there need a quota: ALTER USER ... QUOTA ... ON ..."]
    if not wanted.location.startswith("+"):
        notes.append(f"when it is dropped its file stays on the disk, to be removed by a person: {_file(wanted)}")
    if held is not None and "DROP TABLESPACE" not in held:
        notes.append("the account that moves lacks DROP TABLESPACE: its undo will be refused")
    return tuple(notes)


def read_disk_groups(session: ReadSession) -> frozenset[str]:
    """Names of the mounted disk groups.

    Raises:
        ConnectorError: the server did not answer, or this login may not ask.
    """
    return frozenset(str(row[0]) for row in session.rows(query("disk_groups"), doing="reading disk groups"))


def space_of(operation: Operation) -> bool:
    """Whether that is the making or dropping of a tablespace."""
    return operation.name in {CREATE_TABLESPACE, DROP_TABLESPACE}


def inspect_space(session: ReadSession, made: Operation, *, running: bool) -> Inspection:
    """Whether the tablespace is there, at the place that was approved.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    name, place = made.text("tablespace"), made.text("place").rstrip("/\\")
    every = read_files(session)
    own = [file for file in every if file.tablespace == name]
    elsewhere = [file for file in own if file.place.rstrip("/\\").lower() != place.lower()]
    drops = made.name == DROP_TABLESPACE
    home, sentence = (Home.TARGET if drops else Home.SOURCE), f"there is no tablespace {name}"
    if elsewhere:
        home, sentence = Home.ELSEWHERE, f"the tablespace {name} has a file at {elsewhere[0].place}, not in {place}"
    elif own:
        home, sentence = (Home.SOURCE if drops else Home.TARGET), f"the tablespace {name} is in {place}"
    elif not drops and not running:
        wanted = WantedSpace(name=name, location=made.text("place"), accepted=accepted_of(made))
        mine = _device(wanted.location, every)
        against = refuse_place(wanted, [mine] if mine else [])
        if against is not None:
            home, sentence = Home.ELSEWHERE, against.sentence
    return Inspection(
        home=home, sentence=sentence, size_bytes=0, on_disk=None, running=running, finished=home is Home.TARGET
    )  # fmt: skip
