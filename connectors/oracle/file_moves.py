"""Data files to another place, or one out of its tablespace. Pure.

``routes_of`` moves a whole tablespace, file by file, with ``ALTER DATABASE MOVE DATAFILE`` (since 12.1, Enterprise
Edition). Sessions go on reading and writing. Only the path changes in the dictionary, so indexes, ids and counters stay
as they are. REUSE is never used, because it overwrites a file; nor is KEEP, which leaves the old one behind.

``by_hand`` writes the script that takes one file out of a tablespace that keeps others; no statement empties a file in
place. Either the file moves as it is (12.1, Enterprise Edition), or every segment with an extent in it leaves the
tablespace and the empty file is dropped. Within the tablespace, a segment might take extents of the same file again.

Source: SQL Language Reference, ALTER DATABASE (move_datafile_clause), ALTER TABLESPACE (DROP DATAFILE).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from connectors.model.formatting import comment
from connectors.model.moves import Bundle, ByHand, Locked, NoRoute, Route, Step
from connectors.model.observation import Home
from connectors.oracle import operations
from connectors.oracle.catalog import DataFile
from connectors.oracle.names import quote
from connectors.oracle.operations import Statement, file_number, moving_file
from connectors.oracle.sessions import Server
from connectors.oracle.settings import OracleSettings

NAME = "move datafile"  # of the route
SINCE = (12, 1)
_MANAGED = re.compile(r"o1_mf_.*_\.dbf", re.IGNORECASE)  # Oracle Managed Files: no statement may give such a name


def routes_of(
    files: Sequence[DataFile], bundle: Bundle, to_place: str, places: Sequence[str], server: Server,
    settings: OracleSettings,
) -> tuple[Route, ...] | NoRoute:  # fmt: skip
    """The one way, or why there is none.

    Args:
        files: all of the tablespace, empty when it is gone.
        bundle: everything in it.
        to_place: folder or disk group.
        places: that there are.
        server: what it can.
        settings: time-outs.
    """
    for applies, code, why in _reasons(files, to_place, places, server):
        if applies:
            return NoRoute(code=code, sentence=f"{bundle.key}: {why}")
    moving = [file for file in files if file.place != to_place]
    there = [_move(file, to_place) for file in moving]
    back = [_move(file, file.place) for file in moving]
    tag = operations.tag_of([*there, *back])
    name, seconds = files[0].tablespace, settings.move_timeout
    return (
        Route(
            name=NAME,
            bundle=bundle,
            to_space=to_place,
            prologue=operations.prologue(settings),
            steps=_steps(tag, "step", there, f"bring tablespace {name} to {to_place}", seconds),
            undo_steps=_steps(tag, "undo", back, f"bring tablespace {name} back", seconds),
            tidy_steps=_steps(tag, "tidy", back, f"bring a file of {name} back: not all of them arrived", seconds),
            tidy_bytes=bundle.size_bytes,
            online=True,
            locks="none: blocks are copied while everybody reads and writes on",
            locked=Locked.NOTHING,
            log_bytes=0,
            transient_bytes=max(0, sum(file.bytes for file in moving) - bundle.size_bytes),  # all that is allocated
            notes=_notes(moving, name),
        ),
    )


def inspect_files(files: Sequence[DataFile], route: Route) -> tuple[Home, str, tuple[Step, ...]]:
    """Where the tablespace is, in words, and what brings back those of its files that arrived while others did not."""
    wanted = set(numbers_of(route))
    arrived = {file.number for file in files if file.place == route.to_space}
    sentence = _sentence(files, route.to_space)
    if not wanted <= {file.number for file in files}:
        return Home.ELSEWHERE, f"{sentence}; these are other files than were approved", ()
    if len(arrived) == len(files):
        return Home.TARGET, sentence, ()
    if not wanted & arrived:
        return Home.SOURCE, sentence, ()
    return Home.SPLIT, sentence, tuple(step for step in route.tidy_steps if file_number(step) in arrived)


def numbers_of(route: Route) -> tuple[int, ...]:
    """Numbers of the files that the route moves."""
    return tuple(file_number(step) for step in route.steps)


def target_of(file: DataFile, place: str) -> str:
    """What the file is to be called there; in a disk group Oracle names it.

    A name that Oracle made is not to be given by others (ORA-01276), so such a file gets a plain one.
    """
    if place.startswith("+"):
        return place
    separator = "\\" if "\\" in place and "/" not in place else "/"
    own = file.path.replace("\\", "/").rpartition("/")[2]
    if file.path.startswith("+") or _MANAGED.fullmatch(own):
        own = f"{re.sub(r'[^a-z0-9_]', '_', file.tablespace.lower())}_{file.number}.dbf"
    return f"{place}{separator}{own}"


def _reasons(
    files: Sequence[DataFile], to_place: str, places: Sequence[str], server: Server
) -> Iterator[tuple[bool, str, str]]:
    yield not server.writable, "standby", f"the database is {server.role}, {server.open_mode}: no DDL here"
    yield server.in_root, "root_container", "data files of a PDB are moved in the PDB"
    yield not files, "gone", "its tablespace no longer exists"
    # The caller stops at the first reason that applies, so here there are files.
    name = files[0].tablespace
    able = server.allows(*SINCE) and server.online
    yield (
        not able,
        "edition",
        f"moving a data file online needs 12.1 (COMPATIBLE too) and Enterprise Edition; by hand: {_offline(files)}",
    )
    yield to_place not in places, "no_space", f"{to_place} is no place of this database; name it under places"
    yield all(file.place == to_place for file in files), "already_there", f"tablespace {name} is in {to_place}"
    away = [file.number for file in files if file.online_status != "ONLINE" or file.tablespace_status != "ONLINE"]
    yield bool(away), "space_not_online", f"data files {away} of tablespace {name} are not online"
    taken = [target_of(file, to_place) for file in files if not to_place.startswith("+")]
    yield len(set(taken)) < len(taken), "same_name", f"two files of tablespace {name} bear one name in two folders"


def _offline(files: Sequence[DataFile]) -> str:
    """The way of old, an outage of the tablespace: written down, never sent."""
    name = quote(files[0].tablespace)
    renames = [f"ALTER DATABASE RENAME FILE '{text_of(f.path)}' TO 'the copy'" for f in files]
    return "; ".join(
        (f"ALTER TABLESPACE {name} OFFLINE", "copy the files", *renames, f"ALTER TABLESPACE {name} ONLINE")
    )


def move_file(number: int, target: str) -> str:
    """Copy a data file and use the copy, while everybody works on."""
    return f"ALTER DATABASE MOVE DATAFILE {number} TO '{text_of(target)}'"


def _move(file: DataFile, place: str) -> Statement:
    return Statement(move_file(file.number, target_of(file, place)), moving_file(file.number))


def text_of(path: str) -> str:
    """Within a literal; DDL takes no binds."""
    return path.replace("'", "''")


def _steps(tag: str, word: str, sent: Sequence[Statement], purpose: str, seconds: float) -> tuple[Step, ...]:
    return tuple(operations.step(tag, word, at, each, purpose, seconds) for at, each in enumerate(sent, start=1))


def _sentence(files: Sequence[DataFile], to_place: str) -> str:
    name = files[0].tablespace
    places = sorted({file.place for file in files})
    if len(places) == 1:
        return f"tablespace {name} is in {places[0]}"
    there = sum(file.place == to_place for file in files)
    return f"{there} of {len(files)} files of tablespace {name} are in {to_place}, the others in {', '.join(places)}"


def _notes(moving: Sequence[DataFile], name: str) -> tuple[str, ...]:
    return (
        f"everything in tablespace {name} moves with it, and it keeps its name",
        "all instances must reach the place; files of a standby stay where they are; flashback does not take it back",
        f"{len(moving)} file(s): what is allocated is copied, used or not, and both copies exist until the end",
        "nothing brings a file back to a name that Oracle made: the undo gives it a plain one in the same place",
    )


ELSEWHERE = "<folder or disk group>"
SEGMENTS = (
    "SELECT DISTINCT OWNER, SEGMENT_NAME, PARTITION_NAME, SEGMENT_TYPE FROM SYS.DBA_EXTENTS WHERE FILE_ID = {file:d}"
)


def by_hand(bundle: Bundle, files: Sequence[DataFile], places: Sequence[str], server: Server) -> ByHand | NoRoute:
    """The statements, or why there is no way.

    Args:
        bundle: names the path of a data file.
        files: of the database.
        places: folders and disk groups there are; the first other one is where the file goes.
        server: what it can.
    """
    file = next((each for each in files if each.path == bundle.container), None)
    if file is None:
        return NoRoute(code="gone", sentence=f"no tablespace has a data file {bundle.container}")
    if not server.writable:
        return NoRoute(code="standby", sentence=f"the database is {server.role}, {server.open_mode}: no DDL here")
    as_it_is, dropped = _as_it_is(file, places, server), _drop_file(file, files)
    if not as_it_is and not dropped:
        return NoRoute(
            code="first_file",
            sentence=f"{file.path} is the first file of tablespace {file.tablespace}, which is never dropped "
            "(ORA-03263), and moving a data file online needs 12.1 and Enterprise Edition",
        )
    either, otherwise = (
        comment("either the file goes elsewhere as it is:"),
        comment("or what is in it leaves, and then:"),
    )
    both = (either, *as_it_is, otherwise)
    return ByHand(
        statements=(*both, *dropped) if as_it_is and dropped else (*as_it_is, *dropped),
        because="no statement empties a data file in place; the list of what has extents in it reads extent maps, "
        "which takes minutes on a large database",
    )


def _as_it_is(file: DataFile, places: Sequence[str], server: Server) -> tuple[str, ...]:
    if not (server.allows(*SINCE) and server.online):
        return ()
    place = next((each for each in places if each != file.place and each.startswith(("/", "+"))), ELSEWHERE)
    return (move_file(file.number, target_of(file, place)),)


def _drop_file(file: DataFile, files: Sequence[DataFile]) -> tuple[str, ...]:
    """Nothing for the first file of a tablespace, which stays as long as the tablespace does."""
    own = [each.number for each in files if each.tablespace == file.tablespace]
    if file.number == min(own):
        return ()
    name = quote(file.tablespace)
    return (
        f"ALTER DATABASE DATAFILE {file.number} AUTOEXTEND OFF",
        SEGMENTS.format(file=file.number),
        comment("each of those out of the tablespace: hotplace plan --mode drain --space, or ALTER ... MOVE, REBUILD"),
        f"ALTER TABLESPACE {name} DROP DATAFILE '{text_of(file.path)}'",
    )
