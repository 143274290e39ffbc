"""Questions that several tests of the contract put to a connector."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from connectors.kit.contract import Connector
from connectors.kit.rotation import CounterReader, CounterSource
from connectors.model.moves import Bundle, Route, UnitKind
from connectors.model.observation import Catalog, Demand, Interval, Signal
from policies.evidence.counter_deltas import difference
from tests.contract.harness import EngineHarness


def bundle_of(catalog: Catalog, key: str) -> Bundle:
    """The bundle that the unit of that key leads."""
    units = catalog.units
    lead = list(units.key).index(key)
    rows = [lead, *(int(r) for r in np.flatnonzero(units.bundle == units.bundle[lead]) if r != lead)]
    return Bundle(
        key=key,
        physical_ids=tuple(int(units.physical_id[row]) for row in rows),
        unit_keys=tuple(units.key[row] for row in rows),
        kind=UnitKind(units.kind[lead]),
        size_bytes=int(units.size_bytes[rows].sum()),
        space=catalog.spaces[int(units.space[lead])].name,
        table_ids=units.table_ids(rows),
    )


def together(connector: Connector, *keys: str) -> Bundle:
    """The bundles of these units as one, led by the first, as a plan has them that moves all of them."""
    catalog = connector.catalog()
    lead, *others = (bundle_of(catalog, key) for key in keys)
    return replace(
        lead,
        physical_ids=(*lead.physical_ids, *(number for each in others for number in each.physical_ids)),
        unit_keys=(*lead.unit_keys, *(key for each in others for key in each.unit_keys)),
        size_bytes=lead.size_bytes + sum(each.size_bytes for each in others),
        table_ids=(*lead.table_ids, *(number for each in others for number in each.table_ids)),
    )


def route_to(connector: Connector, key: str, space: str) -> Route:
    """The kindest route of the unit's bundle to that space."""
    found = connector.routes(bundle_of(connector.catalog(), key), space)
    assert isinstance(found, tuple), f"no route for {key}: {found}"
    return found[0]


def run(connector: Connector, route: Route, *, undo: bool = False) -> None:
    """Carry it out, or take it back."""
    with connector.open_mover() as mover:
        mover.prepare(route)
        for step in route.undo_steps if undo else route.steps:
            mover.execute(step)


def demand_of(harness: EngineHarness, connector: Connector, load: Callable[[], None]) -> tuple[Demand, Catalog]:
    """What a connector makes of a load."""
    before = connector.sample()
    load()
    harness.clock.sleep(0.01)
    interval = difference(before, connector.sample(), longest_seconds=3600.0)
    assert isinstance(interval, Interval), f"no interval: {interval}"
    catalog = connector.catalog()
    return connector.classify(interval, catalog), catalog


def reads_of(demand: Demand, catalog: Catalog, signal: Signal) -> dict[str, float]:
    """Pages by unit key, those with any."""
    rows = catalog.units.rows_of(demand.physical_id)
    pages = demand.rates[signal] * demand.seconds
    return {catalog.units.key[row]: float(n) for row, n in zip(rows, pages, strict=True) if row >= 0 and n > 0}


def counter_source_of(connector: Connector) -> CounterSource | None:
    """What its sampler reads counters from; None where that needs no budget."""
    reader = getattr(getattr(connector, "_sampler", None), "_counters", None)
    return reader._source if isinstance(reader, CounterReader) else None
