"""What is under each space? ``status --containers``: the names that ``plan --mode drain --container`` takes."""

from __future__ import annotations

from agent.answers.watching import ContainerShown, ContainersOfSpace
from agent.cli.session import Session
from agent.config import Storage
from agent.terminal.columns import Column
from connectors.containers import Container
from connectors.formatting import format_bytes
from connectors.model import Space

COLUMNS = (
    Column("space"), Column("container", name=True), Column("path", name=True, leaves=1),
    Column("belongs to", leaves=3), Column("size", number=True, leaves=2), Column("used", number=True),
    Column("free", number=True),
)  # fmt: skip


def show_containers(session: Session) -> tuple[ContainersOfSpace, ...]:
    """Print the files, devices and folders under each space of the database, read from it now; the same as an answer.

    Raises:
        ConnectorError: the engine did not answer.
    """
    watch = session.watch()
    try:
        storage = session.database.resolve_spaces(watch.connector.catalog())
    finally:
        watch.close(save=False)
    rows = _by_tier(storage)
    found = [storage.spaces[row] for row in rows]
    session.out.line("files, devices and folders, read from the database now:")
    session.out.table(COLUMNS, [_cells(each, container) for each in found for container in each.containers])
    for each in found:
        if not each.containers:
            session.out.line(f"{each.name}: none that this login may see")
    return tuple(_containers_of_space(storage, row) for row in rows)


def _by_tier(storage: Storage) -> list[int]:
    """Rows of the spaces, the fastest tier first, those without one last."""
    tier = storage.tier_of_space.tolist()
    return sorted(range(len(tier)), key=lambda row: (tier[row] < 0, tier[row], storage.spaces[row].name))


def container_shown(container: Container) -> ContainerShown:
    """One container as an answer has it."""
    return ContainerShown(
        name=container.name,
        path=container.path,
        belongs_to=container.holder or None,
        bytes=container.size_bytes,
        used_bytes=container.used_bytes,
        free_bytes=container.free_bytes,
    )


def _containers_of_space(storage: Storage, row: int) -> ContainersOfSpace:
    space, tier = storage.spaces[row], int(storage.tier_of_space[row])
    return ContainersOfSpace(
        space=space.name,
        tier=storage.tiers[tier].name if tier >= 0 else None,
        containers=tuple(map(container_shown, space.containers)),
    )


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
