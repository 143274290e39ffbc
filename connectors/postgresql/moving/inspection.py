"""The truth about a move, from the catalog and, where it can be seen, from the disk."""

from __future__ import annotations

import struct
from pathlib import Path

from connectors.model import Home, Inspection, Remnant, Route, Step
from connectors.postgresql.moving.close_inspection import inspect_closing, is_closing
from connectors.postgresql.moving.relation import INDEX, Relation, find_relation
from connectors.postgresql.moving.split_inspection import inspect_split, is_split
from connectors.postgresql.routes.available import drop_leftover, leftover_names, tag_of
from connectors.postgresql.session.queries import query
from connectors.postgresql.session.sessions import ReadSession
from connectors.postgresql.settings import PostgresqlSettings


def inspect(session: ReadSession, route: Route, settings: PostgresqlSettings, *, local: bool) -> Inspection:
    """Where the bundle of that route is.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    key = route.bundle.key
    # Asked first: a statement that ends between the two queries is then seen as running and looked at again. The other
    # way round, its work would be taken for what a dead one has left.
    running = _running(session, route)
    if is_closing(route):
        return inspect_closing(session, route, running=running)
    if is_split(route):
        return inspect_split(session, route, settings, running=running)
    relation = find_relation(session, key, route.to_space)
    if relation is None and not route.bundle.unit_keys:  # a partition that is to be made
        return Inspection(
            home=Home.SOURCE, sentence=f"{key} does not exist yet", size_bytes=0, on_disk=None, running=running
        )
    if relation is None:
        return Inspection(
            home=Home.GONE, sentence=f"{key} no longer exists", size_bytes=0, on_disk=None, running=running
        )
    home = _home(relation, route)
    left = () if running or relation.kind != INDEX else _leftovers(session, relation, route)
    return Inspection(
        home=home,
        sentence=f"{key} is in {relation.space}",
        size_bytes=relation.bytes or 0,
        on_disk=_on_disk(relation) if local else None,
        leftovers=tuple(step for step, _ in left),
        remnants=tuple(remnant for _, remnant in left),
        running=running,
        finished=home is Home.TARGET,  # one statement moves it
    )


def _home(relation: Relation, route: Route) -> Home:
    if relation.space == route.to_space:
        return Home.TARGET
    return Home.SOURCE if relation.space == route.bundle.space else Home.ELSEWHERE


def _running(session: ReadSession, route: Route) -> bool:
    rows = session.rows(query("running"), {"tag": tag_of(route)}, doing="looking for running moves")
    return bool(rows[0][0])


def _on_disk(relation: Relation) -> bool | None:
    """Whether the relation's file lies in the target's folder; None where this process cannot tell."""
    if relation.data_directory is None or relation.file is None:
        return None
    data = Path(relation.data_directory)
    if not _is_data_of(data, relation.system_identifier):
        return None
    return relation.space_oid == relation.target_oid and (data / relation.file).exists()


def _is_data_of(data: Path, system_identifier: int) -> bool:
    """Whether that folder is the very cluster that answers: a port on this machine may lead into a container.

    ``pg_control`` begins with the system identifier, 64 bits in the machine's byte order.
    """
    try:
        with (data / "global" / "pg_control").open("rb") as control:
            return bool(struct.unpack("=q", control.read(8))[0] == system_identifier)
    except OSError:
        return False


def _leftovers(session: ReadSession, relation: Relation, route: Route) -> tuple[tuple[Step, Remnant], ...]:
    """Steps that drop what an interrupted rebuild of this index left; those of other indexes are none of ours."""
    found = session.rows(query("leftovers"), {"table": relation.table_oid}, doing="looking for unfinished indexes")
    left = []
    for schema, name, space, size in found:
        # Worked out from the name and not looked up: the number that the server adds shortens the index's name in front
        # of it, so names of 63 bytes end differently each time.
        number = name[len(name.rstrip("0123456789")) :]
        names = leftover_names(relation.name, number)
        if name in names:
            step = drop_leftover(schema, name, tag_of(route), 1 + names.index(name))
            left.append((step, Remnant(space=space, size_bytes=size or 0)))
    return tuple(left)
