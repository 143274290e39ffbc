"""Whether an approved route still fits what the catalog shows. Pure.

CREATE INDEX states every property of an index as it was when the move was planned. If another session
has since added a column to it, or moved another partition of it, the statement would silently put the old state back.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from connectors.model import NoRoute, Route, Step
from connectors.sqlserver.reading.definition import Definition
from connectors.sqlserver.reading.keys import name_of, quote
from connectors.sqlserver.reading.partitioning import scheme_of
from connectors.sqlserver.routes import stored_steps
from connectors.sqlserver.routes.available import routes_back, routes_of, tag_of
from connectors.sqlserver.routes.ddl import FULL_PAGES
from connectors.sqlserver.routes.move_methods import PREFIX
from connectors.sqlserver.routes.online import Server
from connectors.sqlserver.routes.operations import (
    COUNT_TABLE,
    CREATE_SCHEME,
    DROP_TABLE,
    SPLIT_RANGE,
    SWITCH_BACK,
    operation_of,
    way_back,
)
from connectors.sqlserver.settings import SqlserverSettings

_FORESEEN = -1  # stands for the data_space_id that a scheme will get


def drift_reason(definition: Definition | None, route: Route, server: Server, settings: SqlserverSettings) -> str:
    """Why the route no longer fits, "" where it does or where the statement itself will tell.

    Args:
        definition: of the bundle's leading unit, now.
        route: as approved.
        server: what it takes.
        settings: of the moving session; how an index is built is no matter here, what is built is.
    """
    # The partition is not there yet, and the statement itself sees that the last one is empty; or rows take their place
    # again, and the statement itself compares them.
    if route.steps and operation_of(route.steps[0]).name in {SPLIT_RANGE, SWITCH_BACK}:
        return ""
    tidies = {step.sql for step in route.tidy_steps}
    if definition is None or definition.index is None or all(step.sql in tidies for step in route.steps):
        return ""  # what only removes what a move has made fits always
    homes = definition.homes()
    if homes == {route.bundle.space}:
        every = settings.model_copy(update={"offline_moves": True, "lob_moves": True, "resumable": "all"})
        back = way_back(route.steps)
        now = (
            routes_of(definition, route.bundle, route.to_space, server, every)
            if back is None
            else routes_back(definition, back, route.bundle, route.to_space, server, every)
        )
        if isinstance(now, NoRoute):
            return now.sentence
        same = any(_builds_the_same(found, route) for found in now)
        return "" if same else f"{route.bundle.key} is not what it was when this was planned"
    scheme = definition.spaces.get(definition.index.space_id)
    if definition.name.partition is not None and scheme is not None and scheme.name != made_by(route):
        return f"the index of {route.bundle.key} is on {quote(scheme.name)}, which this move did not make"
    return ""


def foreseen(definition: Definition, before: Route) -> Definition | None:
    """The table once that route has brought partitions of the same index to a scheme of its own; None: it is no such.

    Args:
        definition: of another partition of the index, now.
        before: the route that comes first.
    """
    index, scheme, target = definition.index, scheme_of(definition), definition.space_named(before.to_space)
    moved = {name_of(key).partition for key in before.bundle.unit_keys}
    if index is None or scheme is None or target is None or not _makes_a_scheme(before):
        return None
    made = replace(
        scheme,
        number=_FORESEEN,
        name=made_by(before),
        destinations={n: target.number if n in moved else at for n, at in scheme.destinations.items()}
        | {scheme.fanout + 1: scheme.next_or_last},
    )
    parts = (replace(p, row_space_id=target.number) if p.number in moved else p for p in index.partitions)
    # What a build states is in the catalog afterwards: a fill factor of 0 has become 100.
    filled = index.fill_factor or FULL_PAGES
    there = replace(index, space_id=_FORESEEN, partitions=tuple(parts), fill_factor=filled)
    indexes = tuple(there if other is index else other for other in definition.indexes)
    return replace(definition, indexes=indexes, spaces={**definition.spaces, _FORESEEN: made})


def foreseen_back(definition: Definition, before: Route) -> Definition | None:
    """The table once that way back has brought the index to the scheme that it names; None: it is no such."""
    back, index = way_back(before.steps), definition.index
    own = None if back is None else definition.scheme_named(back[0])
    if back is None or own is None or index is None:
        return None
    parts = (replace(p, row_space_id=own.destinations.get(p.number, p.row_space_id)) for p in index.partitions)
    there = replace(index, space_id=own.number, partitions=tuple(parts))
    indexes = tuple(there if other is index else other for other in definition.indexes)
    spaces = {number: space for number, space in definition.spaces.items() if space.name != back[1]}
    return replace(definition, indexes=indexes, spaces=spaces)


def _makes_a_scheme(route: Route) -> bool:
    return bool(route.rewrites) and operation_of(route.steps[0]).name == CREATE_SCHEME


def made_by(route: Route) -> str:
    """Name of the scheme, function or index that the route makes, or of the scheme that it removes."""
    back = way_back(route.steps)
    return back[1] if back is not None else PREFIX + tag_of(route).split()[-1]


def _builds_the_same(now: Route, approved: Route) -> bool:
    """Whether the statements build the same there and back, however they build it and whatever their number."""
    steps, others = (*now.steps, *now.undo_steps), (*approved.steps, *approved.undo_steps)
    if any(step.operation is None for step in others):
        return stored_steps.built_by(steps) == stored_steps.built_by(others)
    return _built(steps) == _built(others)


def _built(steps: Iterable[Step]) -> list[str]:
    """What each of them builds; what becomes of replaced rows afterwards is not built, and may be another thing."""
    operations = (operation_of(step) for step in steps)
    return [each.text("builds") for each in operations if each.name not in {COUNT_TABLE, DROP_TABLE}]
