"""Opening a ledger where the configuration puts it: a file or a server."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from agent.ledger.chain.links import AnchorFile
from agent.ledger.errors import LedgerMissing
from agent.ledger.store.database import Database
from connectors.kit.contract import Clock, DriverMissing
from connectors.kit.registry import install_command

if TYPE_CHECKING:
    from agent.config.models import LedgerServer
    from agent.ledger.file.database import Upkeep
    from agent.ledger.measured.samples import SampleFile

BUSY_SECONDS = 20.0  # how long a writer waits for another one


def anchor_file_of(place: Path | LedgerServer, anchors: Path | None) -> AnchorFile:
    """The file of the anchors: the one that is given, or next to the ledger's file."""
    if anchors is None:
        assert isinstance(place, Path), "the configuration names a file of anchors for a ledger on a server"
        anchors = place.with_name(f"{place.name}.anchors")
    return AnchorFile(
        anchors.expanduser().absolute(), place.expanduser().absolute() if isinstance(place, Path) else None
    )


def open_database(
    place: Path | LedgerServer, anchors: AnchorFile, *, create: bool, busy_seconds: float
) -> tuple[Database, str | None]:
    """The database with its tables up to date, and the revision found: "" for a new one, None when all was in place.

    Raises:
        LedgerError, DriverMissing, SecretUnavailable: as ``Ledger.open``.
    """
    if isinstance(place, Path):
        return _open_file(place.expanduser().absolute(), anchors, create=create, busy_seconds=busy_seconds)
    return _open_server(place, anchors, create=create, busy_seconds=busy_seconds)


def open_as_it_is(place: Path | LedgerServer, *, busy_seconds: float) -> tuple[Database, str] | None:
    """The database with the revision of its tables, neither made nor migrated; None where there is none yet.

    Raises:
        LedgerError, DriverMissing, SecretUnavailable: as ``Ledger.open``.
    """
    if isinstance(place, Path):
        from agent.ledger.file.database import FileDatabase
        from agent.ledger.file.opening import revision_of

        if not place.exists() or not place.stat().st_size:
            return None
        return _with_revision(FileDatabase(place, busy_seconds=busy_seconds), revision_of)
    from agent.ledger.server.database import ServerDatabase, read_revision

    return _with_revision(ServerDatabase(place, busy_seconds=busy_seconds), read_revision)


_D = TypeVar("_D", bound=Database)


def _with_revision(database: _D, read: Callable[[_D], str]) -> tuple[Database, str] | None:
    with ExitStack() as unless_read:
        unless_read.callback(database.close)
        if not (revision := read(database)):
            return None
        unless_read.pop_all()
    return database, revision


def upkeep_of(database: Database, clock: Clock) -> Upkeep:
    """What gives back the room that samples no longer need.

    Args:
        database: where samples are written.
        clock: measures how long it takes.
    """
    from agent.ledger.file.database import FileDatabase, Upkeep

    assert isinstance(database, FileDatabase), "samples are written to a file of this machine"
    return Upkeep(database, clock)


def own_samples(anchors: AnchorFile) -> SampleFile:
    """The samples of this machine next to a ledger on a server."""
    from agent.ledger.measured.samples import SampleFile

    return SampleFile(anchors.path.with_name(f"{anchors.path.name}.samples"))


def _open_file(path: Path, anchors: AnchorFile, *, create: bool, busy_seconds: float) -> tuple[Database, str | None]:
    from agent.ledger.file.database import FileDatabase
    from agent.ledger.file.opening import bring_up_to_date, prepare_file

    if create and not (path.exists() and path.stat().st_size):
        require_no_ledger_before(str(path), anchors)
    prepare_file(path, create=create)
    database = FileDatabase(path, busy_seconds=busy_seconds)
    with ExitStack() as unless_opened:
        unless_opened.callback(database.close)
        found = bring_up_to_date(database)
        unless_opened.pop_all()
    return database, found


def _open_server(
    place: LedgerServer, anchors: AnchorFile, *, create: bool, busy_seconds: float
) -> tuple[Database, str | None]:
    try:
        from agent.ledger.server.database import ServerDatabase, bring_up_to_date, read_revision
    except ModuleNotFoundError as error:
        raise DriverMissing(
            "a ledger on PostgreSQL needs the driver psycopg, which is not installed",
            advice=f"Run: {install_command('postgresql')}",
        ) from error
    database = ServerDatabase(place, busy_seconds=busy_seconds)
    with ExitStack() as unless_opened:
        unless_opened.callback(database.close)
        if create and not read_revision(database):
            require_no_ledger_before(database.name, anchors)
        found = bring_up_to_date(database, create=create)
        unless_opened.pop_all()
    return database, found


def require_no_ledger_before(name: str, anchors: AnchorFile) -> None:
    """Refuse to begin a new ledger where there was one.

    Raises:
        LedgerMissing: its anchors are still there.
    """
    anchor = anchors.last()
    if anchor is not None:
        raise LedgerMissing(
            f"the ledger {name} was here and is gone: {anchors.path} speaks of {anchor.row} audit rows",
            advice=f"Restore it from a backup. To begin a new one instead, move {anchors.path} away.",
        )
