"""A route of every form that SQL Server has, made from tables and files that stand still."""

from __future__ import annotations

from dataclasses import replace

from connectors.model.moves import NoRoute, Route
from connectors.sqlserver.ddl import ServerFeatures
from connectors.sqlserver.definition import HEAP, NONCLUSTERED
from tests.sqlserver.made import ID, NAME, NOTE, PAGES, bundle, index, table
from tests.sqlserver.moving import test_file_removal, test_files, test_switching
from tests.sqlserver.test_routes import IX, IX_NAME, found, parted

NEWEST = ServerFeatures(major=16, edition=3)


def every_route() -> dict[str, Route]:
    """By a name for each form; where an index can be built in several ways, numbered. SECRET has to be set."""
    odd = test_files.file(3, "it's]")
    with_lob = index(unique=1, partitions=(replace(PAGES, lob_space_id=1, lob_pages=500),))
    empty, filled = test_switching.days(partitions=test_switching.emptied(2)), test_switching.days()
    several = {
        "index": found(table(index())),
        "resumable": found(table(index(), IX), NEWEST, resumable="all", maxdop=4, sort_in_tempdb=True),
        "twin": found(table(index(), IX, name=IX_NAME), moved=bundle(IX_NAME.key), resumable="indexes"),
        "heap": found(table(index(HEAP, None, columns=()), index(NONCLUSTERED, "ix"), columns=(ID,))),
        "lob": found(table(with_lob, columns=(ID, NOTE)), moved=bundle(NAME.key, f"{NAME.key} lob"), lob_moves=True),
        "partition": found(parted(), moved=bundle(parted().name.key)),
        "switch": _some(test_switching.ask(filled)),
        "empty range": _some(test_switching.ask(empty)),
        "files": _some(test_files.found(odd, test_files.file(4, "two"))),
        "file removal": _some(test_file_removal.out("it's", test_file_removal.ONE, test_file_removal.TWO)),
    }
    return {f"{name} {at}": route for name, routes in several.items() for at, route in enumerate(routes)}


def _some(answer: tuple[Route, ...] | Route | NoRoute) -> tuple[Route, ...]:
    assert not isinstance(answer, NoRoute), answer
    return (answer,) if isinstance(answer, Route) else answer
