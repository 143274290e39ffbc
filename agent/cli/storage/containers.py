"""What is under each space? ``containers``: the names that ``balance --type drain --container`` takes."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from agent.cli.app import command
from agent.cli.commands import Group
from agent.cli.session import Session
from agent.config import Storage
from agent.terminal.columns import Column
from agent.terminal.errors import CommandError
from agent.terminal.exit_codes import ExitCode
from connectors.containers import Container
from connectors.formatting import format_bytes
from connectors.model import Space

COLUMNS = (
    Column("space"), Column("container", name=True), Column("path", name=True, leaves=1),
    Column("belongs to", leaves=3), Column("size", number=True, leaves=2), Column("used", number=True),
    Column("free", number=True),
)  # fmt: skip


@command(Group.LOOK, "hotplace containers --space old_ssd")
def containers(
    session: Session,
    space: Annotated[str | None, typer.Option(help="Only those of this space.")] = None,
) -> None:
    """List the files, devices and folders under each space, read from the database now."""
    watch = session.watch()
    try:
        storage = session.database.resolve_spaces(watch.connector.catalog())
    finally:
        watch.close(save=False)
    rows = _by_tier(storage) if space is None else [_row_of(storage, space)]
    found = [storage.spaces[row] for row in rows]
    session.out.table(COLUMNS, [_cells(each, container) for each in found for container in each.containers])
    for each in found:
        if not each.containers:
            session.out.line(f"{each.name}: none that this login may see")
    session.out.document({"database": session.database.name, "spaces": [_space_document(storage, row) for row in rows]})


def _row_of(storage: Storage, space: str) -> int:
    """Row of the space of that name.

    Raises:
        CommandError: there is none.
    """
    names = [each.name for each in storage.spaces]
    if space not in names:
        listed = ", ".join(names[row] for row in _by_tier(storage))
        raise CommandError(
            f"no space is named {space!r}", code=ExitCode.NOT_FOUND, advice=f"There are {listed or 'none'}."
        )
    return names.index(space)


def _by_tier(storage: Storage) -> list[int]:
    """Rows of the spaces, the fastest tier first, those without one last."""
    tier = storage.tier_of_space.tolist()
    return sorted(range(len(tier)), key=lambda row: (tier[row] < 0, tier[row], storage.spaces[row].name))


def container_document(container: Container) -> dict[str, Any]:
    """One container as JSON values."""
    return {
        "name": container.name,
        "path": container.path,
        "belongs_to": container.holder or None,
        "bytes": container.size_bytes,
        "used_bytes": container.used_bytes,
        "free_bytes": container.free_bytes,
    }


def _space_document(storage: Storage, row: int) -> dict[str, Any]:
    space, tier = storage.spaces[row], int(storage.tier_of_space[row])
    return {
        "space": space.name,
        "tier": storage.tiers[tier].name if tier >= 0 else None,
        "containers": [container_document(container) for container in space.containers],
    }


def _cells(space: Space, container: Container) -> tuple[str, ...]:
    """Path and owner are left out where they say the name once more."""
    sizes = (container.size_bytes, container.used_bytes, container.free_bytes)
    return (
        space.name,
        container.name,
        "" if container.path == container.name else container.path,
        "" if container.holder == space.name else container.holder,
        *("not known" if size is None else format_bytes(size) for size in sizes),
    )
