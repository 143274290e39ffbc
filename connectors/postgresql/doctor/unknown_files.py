"""Half-written files: what a server that ended in the midst of a move left in a tablespace, and no catalog knows.

PostgreSQL gives a moved relation a new file and knows it once the move is committed. When the server is killed before,
the file stays for ever, as large as it got, and takes room that a small fast tablespace cannot spare.
"""

from __future__ import annotations

from connectors.findings import Finding, Remedy
from connectors.formatting import format_bytes
from connectors.postgresql.rights import LIST_FILES_GIVES
from connectors.postgresql.session.queries import query
from connectors.postgresql.session.sessions import ReadSession, Row

OLDER_THAN_SECONDS = 3600.0


def unknown_files(session: ReadSession) -> tuple[Finding, ...]:
    """A finding for each tablespace that has such files, or one that there are none, or that this login may not look.

    Raises:
        ConnectorError: the server did not answer.
    """
    login, standby, may = session.rows(query("unknown_files_may"), doing="asking for the right to list folders")[0]
    if standby:
        return ()
    if not may:
        return (
            Finding.info(
                "files_hidden",
                f"{login} may not list folders: files that an interrupted move left behind cannot be seen",
                _listing(login),
            ),
        )
    rows = session.rows(query("unknown_files"), {"older_than": OLDER_THAN_SECONDS}, doing="looking for unknown files")
    if not rows:
        return (Finding.ok("files_known", "every file of a relation belongs to one"),)
    return tuple(_finding(row) for row in rows)


def _listing(login: str) -> Remedy:
    """A right that nothing else needs, and that is worth its price after a crash at most."""
    functions = "pg_catalog.pg_ls_dir(text, boolean, boolean), pg_catalog.pg_stat_file(text, boolean)"
    return Remedy(
        f"After a crash, until doctor has looked: GRANT EXECUTE ON FUNCTION {functions} TO {login};", LIST_FILES_GIVES
    )


def _finding(row: Row) -> Finding:
    space, count, size, example = row
    return Finding.warning(
        "files_unknown",
        f"{count} file(s) in {space} belong to no relation and take {format_bytes(size)}, {example} among "
        "them: a server that ended in the midst of a move or a build leaves such files",
        "Back up, stop the server, look at them once more, and delete them by hand; hotplace never does.",
        values={"space": str(space), "bytes": str(size), "example": str(example)},
    )
