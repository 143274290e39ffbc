"""One data file out of a tablespace that keeps others, written for a person: no statement empties one in place. Pure.

Either the file goes elsewhere as it is (12.1, Enterprise Edition), or every segment with an extent in it leaves the
tablespace - within it, it might take extents of the same file again - and the empty file is dropped.
Source: SQL Language Reference, ALTER DATABASE (move_datafile_clause), ALTER TABLESPACE (DROP DATAFILE).
"""

from __future__ import annotations

from collections.abc import Sequence

from connectors.containers import ByHand
from connectors.model import Bundle, NoRoute
from connectors.oracle.reading.names import quote
from connectors.oracle.reading.spaces import DataFile
from connectors.oracle.routes.file_moves import SINCE, move_file, target_of, text_of
from connectors.oracle.session.server import Server
from connectors.scripts import comment

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
