"""ALTER TABLE ... ADD PARTITION: what it makes, and what it refuses.

Sources: topic t0021566, "Adding data partitions to partitioned tables"; SQL reference, ALTER TABLE, add-partition. Rule
19 of the README.
"""

from __future__ import annotations

import re

from tests.labs.db2 import refusals
from tests.labs.db2.load import create_partitioned
from tests.labs.db2.sessions import Session
from tests.labs.db2.text import name_of
from tests.labs.db2.world import Part, Table, TableSpace, World

_NAME = r'([A-Z_@#$][A-Z0-9_@#$]*|"[^"]+")'
_ADD = re.compile(
    rf"ALTER TABLE {_NAME} \. {_NAME} ADD PARTITION {_NAME} STARTING \( ('[^']+') \) INCLUSIVE "
    rf"ENDING \( ('[^']+') \) EXCLUSIVE IN {_NAME}(?: INDEX IN {_NAME})?"
)


def create_ranges(world: World, name: tuple[str, str], parts: list[tuple[str, str, str, str]]) -> None:
    """A partitioned table without rows of its own; of each partition name, table space, from and up to."""
    create_partitioned(world, *name, f"{name[1]}_PK", [space for _, space, _, _ in parts], 100)
    table = world.table(*name)
    for part, (own, *_) in zip(table.parts, parts, strict=True):
        part.name = own
    table.ranges = [(low, high) for _, _, low, high in parts]
    world.touch()


def is_addition(said: list[str]) -> bool:
    """Whether it is such a statement."""
    return _ADD.fullmatch(" ".join(said)) is not None


def add_partition(world: World, session: Session, said: list[str]) -> None:
    """Do it: the table is locked, and it takes effect at the commit.

    Raises:
        Refusal: SQL0204N, SQL0551N, SQL0601N, SQL0636N, SQL0911N, SQL1860N.
    """
    found = _ADD.fullmatch(" ".join(said))
    assert found is not None
    schema, table_name, part, low, high, space_name, index_space = found.groups()
    name = name_of(schema), name_of(table_name)
    with world.lock:
        table, space = world.table(*name), world.space(name_of(space_name))
        if not session.user.administrator and table.owner != session.user.authid:
            raise refusals.not_allowed(session.user.authid, "ALTER", ".".join(name))
        _refuse(world, table, name_of(part), (low, high), space)
        index = world.space(name_of(index_space)).name if index_space else space.name
    if not session.wait(lambda: name not in world.locked, session.lock_seconds):
        raise refusals.lock_timeout()

    def done() -> None:
        new = Part(len(table.parts), name_of(part), world.next_file_id(), space.name, index, space.name, 0)
        table.parts.append(new)
        table.ranges.append((low, high))
        world.touch()

    session.pending.append(done)


def _refuse(world: World, table: Table, part: str, bounds: tuple[str, str], space: TableSpace) -> None:
    """Bounds are texts of one form, so that they compare as what they stand for."""
    if not table.ranges:
        raise refusals.not_partitioned(table.name)
    if any(each.name == part for each in table.parts):
        raise refusals.exists(part, "DATA PARTITION")
    if any(bounds[0] < high and low < bounds[1] for low, high in table.ranges):
        raise refusals.overlap(part)
    other = world.space(table.parts[0].data)
    if (other.system_managed, other.partition_group) != (space.system_managed, space.partition_group):
        raise refusals.unlike_spaces(space.name)
