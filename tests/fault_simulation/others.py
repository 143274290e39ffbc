"""What happens at the server without hotplace: restarts and failovers, and other people who change its objects."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING

import numpy as np

from connectors.model.moves import UnitKind
from connectors.simulated.scenarios import UnitSpec
from connectors.simulated.world_state import WORD
from tests.fault_simulation.script import Kind

if TYPE_CHECKING:
    from tests.fault_simulation.site import FaultySite

FOREIGN = "-restored elsewhere"  # behind the fingerprint of another database


def change_server(site: FaultySite, kind: Kind, first: float, second: float) -> None:
    """What its operators do, or what becomes of it."""
    server, world = site.server, site.world
    if kind is Kind.LEASE_LOST:
        server.lease = None
        return
    if kind is Kind.REFUSED:
        server.refused = True
        site.clock.call_later(600.0 + 13 * 3600.0 * first**3, lambda: setattr(server, "refused", False))
        return
    if kind is Kind.SLOW_CATALOG:
        server.catalog_seconds = 5.0 + 295.0 * second
        site.clock.call_later(1800.0 + 7200.0 * first, lambda: setattr(server, "catalog_seconds", 0.0))
        return
    if kind is Kind.REVOKED:
        server.revoked = True
        site.clock.call_later(60.0 + 3600.0 * first, lambda: setattr(server, "revoked", False))
        return
    with world.turn():
        world.reset_counters()
    if kind is Kind.COUNTER_RESET:
        return
    server.stop()
    server.up = False
    site.clock.call_later(5.0 + 600.0 * first * second, lambda: setattr(server, "up", True))
    if kind in {Kind.OTHER_IDS, Kind.OTHER_DATABASE, Kind.RESTORED}:
        _renumber(site)
    if kind is Kind.RESTORED:
        server.fingerprint = f"restored {site.clock.monotonic():.0f} {server.fingerprint}"
    if kind is Kind.OTHER_DATABASE:
        server.fingerprint += FOREIGN
        back = len(FOREIGN)
        site.clock.call_later(
            600.0 + 7200.0 * second, lambda: setattr(server, "fingerprint", server.fingerprint[:-back])
        )


def _renumber(site: FaultySite) -> None:
    """Every object has another id, as after a restore from a dump."""
    units = site.world.placement.units
    with site.world.turn():
        more = int(units.physical_id.max()) + 1000 - int(units.physical_id.min())
        for column in ("physical_id", "bundle", "parent"):
            values = getattr(units, column)
            setattr(units, column, np.where(values >= 0, values + more, values))
        site.server.note_change(*range(len(units)))


def _row(site: FaultySite, pick: float, *, kinds: tuple[UnitKind, ...] = tuple(WORD)) -> int | None:
    """One of the objects that live, moved ones first."""
    units = site.world.placement.units
    rows = [int(row) for row in np.flatnonzero(units.alive) if UnitKind(int(units.kind[row])) in kinds]
    return rows[int(pick * len(rows))] if rows else None


def _busy(site: FaultySite, row: int) -> bool:
    """Whether a copy of it holds it, so that nobody else can change it."""
    placement = site.world.placement
    return placement.being_moved(placement.bundle_rows(row))


def _drop(site: FaultySite, first: float, _: float) -> None:
    row = _row(site, first)
    if row is not None and not _busy(site, row):
        with site.world.turn():
            site.world.drop(site.world.placement.units.keys[row])
            site.server.note_change(row)


def _rename(site: FaultySite, first: float, _: float) -> None:
    row = _row(site, first)
    if row is not None and not _busy(site, row):
        with site.world.turn():
            placement = site.world.placement
            placement.units.keys[row] = f'{placement.units.keys[row][:-1]}_old"'
            placement.index()
            site.server.note_change(row)


def _move(site: FaultySite, first: float, second: float) -> None:
    row = _row(site, first)
    placement = site.world.placement
    if row is None or _busy(site, row):
        return
    with site.world.turn():
        rows, to = placement.bundle_rows(row), int(second * len(placement.spaces))
        if int(placement.free_bytes()[to]) > int(placement.units.size_bytes[rows].sum()):
            placement.units.space[rows] = to
            site.server.note_change(*rows)
            for each in rows:
                site.server.last_mover[each] = "others"


def _rebuild(site: FaultySite, first: float, _: float) -> None:
    row = _row(site, first, kinds=(UnitKind.INDEX,))
    if row is not None and not _busy(site, row):
        with site.world.turn():
            site.world.placement.units.physical_id[row] = site.world.placement.next_id()
            site.world.reset_unit(site.world.placement.units.keys[row])
            site.server.note_change(row)


def _recreate(site: FaultySite, first: float, _: float) -> None:
    """Dropped and made again under the same name, empty of work."""
    row = _row(site, first, kinds=(UnitKind.TABLE,))
    if row is None or _busy(site, row):
        return
    with site.world.turn():
        placement = site.world.placement
        key, size = placement.units.keys[row], int(placement.units.size_bytes[row])
        space = placement.spaces[int(placement.units.space[row])].name
        site.world.drop(key)
        placement.units.keys[row] = f"{key} dropped"
        site.world.append(placement.next_id(), [UnitSpec(key=key, kind=UnitKind.TABLE, size_bytes=size, space=space)])
        site.server.note_change(row, len(placement.units) - 1)


def _grow(site: FaultySite, first: float, second: float) -> None:
    row = _row(site, first)
    placement = site.world.placement
    if row is None or _busy(site, row):
        return
    with site.world.turn():
        more = int(placement.units.size_bytes[row] * second * 0.5)
        if more < int(placement.free_bytes()[int(placement.units.space[row])]):
            sizes = placement.units.size_bytes.copy()
            sizes[row] += more
            placement.units.size_bytes = sizes
            site.server.note_change(row)


def _lock(site: FaultySite, first: float, second: float) -> None:
    row = _row(site, first)
    if row is not None:
        block = ExitStack()
        block.enter_context(site.world.lock(site.world.placement.units.keys[row]))
        site.clock.call_later(1.0 + 1800.0 * second**3, block.close)


def _fill(site: FaultySite, first: float, second: float) -> None:
    """Something large arrives on the SSD, and leaves later."""
    placement, key = site.world.placement, f'"shop"."load{site.server.changes}"'
    with site.world.turn():
        free = int(placement.free_bytes()[placement.space_row("ssd")])
        if free < 10**8:
            return
        spec = UnitSpec(key=key, kind=UnitKind.TABLE, size_bytes=int(free * (0.5 + 0.5 * first)), space="ssd")
        site.world.append(placement.next_id(), [spec])
        site.server.note_change(len(placement.units) - 1)

    def leave() -> None:
        with site.world.turn():
            site.world.drop(key)
            site.server.note_change()

    site.clock.call_later(600.0 + 7200.0 * second, leave)


OTHERS_DO: dict[Kind, Callable[[FaultySite, float, float], None]] = {
    Kind.DROPPED: _drop,
    Kind.RENAMED: _rename,
    Kind.MOVED: _move,
    Kind.REBUILT: _rebuild,
    Kind.RECREATED: _recreate,
    Kind.GROWN: _grow,
    Kind.LOCKED: _lock,
    Kind.FILLED: _fill,
}
