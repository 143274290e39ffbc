"""What does a plan do to each space? The table and the JSON of it."""

from __future__ import annotations

from dataclasses import fields

from agent.answers.plans import SpaceChange, SpaceLoad
from agent.terminal.columns import Column
from agent.terminal.output import Output
from connectors.formatting import format_bytes, format_ratio, format_seconds
from policies.modes.spaces_after import Carried, SpacesAfter

COLUMNS = (
    Column("space"), Column("used", number=True), Column("fill", number=True), Column("reads/s", number=True),
    Column("read time/s", number=True),
)  # fmt: skip


def print_spaces(out: Output, spaces: SpacesAfter) -> None:
    """A line per managed space, each figure before and after the plan; nothing where no space is managed."""
    if not len(spaces):
        return
    out.heading("the spaces, before -> after")
    out.table(COLUMNS, [_cells(spaces, row) for row in range(len(spaces))])


def space_changes(spaces: SpacesAfter) -> tuple[SpaceChange, ...]:
    """The same with exact numbers."""
    return tuple(
        SpaceChange(
            space=spaces.space[row],
            tier=spaces.tier[row],
            before=_load(spaces.before, row),
            after=_load(spaces.after, row),
        )
        for row in range(len(spaces))
    )


def _load(carried: Carried, row: int) -> SpaceLoad:
    return SpaceLoad(**{column.name: getattr(carried, column.name)[row] for column in fields(carried)})


def _cells(spaces: SpacesAfter, row: int) -> tuple[str, ...]:
    pairs = zip(_texts(spaces.before, row), _texts(spaces.after, row), strict=True)
    return (f"{spaces.space[row]} ({spaces.tier[row]})", *(_change(*pair) for pair in pairs))


def _texts(carried: Carried, row: int) -> tuple[str, ...]:
    """The figures of one space for people, in the order of the columns."""
    return (
        format_bytes(int(carried.used_bytes[row])),
        format_ratio(float(carried.fill_ratio[row])),
        f"{carried.reads_per_second[row]:.1f}",
        format_seconds(float(carried.read_seconds_per_second[row])),
    )


def _change(before: str, after: str) -> str:
    """Both where they differ as they are shown."""
    return before if before == after else f"{before} -> {after}"
