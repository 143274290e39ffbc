"""The three shapes that ``frozen.HELD_OUT`` describes, drawn after the policy was finished.

No policy was changed because of how they were played; later changes were made without a look at them. What their
descriptions leave open is decided here: tenants are units of their own besides the usual ones, and 20 of them exist;
the wave is a triangle over the bytes in the order of keys; the two applications are the halves of the units, drawn by
lot, and the one that rests keeps a tenth of ``SPOT_READS``.
"""

from __future__ import annotations

import numpy as np

from connectors.model.moves import UnitKind
from connectors.model.observation import F64
from tests.bench.policies.wandering import frozen
from tests.bench.policies.wandering.frozen import DAY, HOURS, SPOT_READS, USUAL_SHARE
from tests.bench.policies.wandering.shapes import Canvas, Draw, Shape, world_of
from tests.bench.policies.wandering.world import World

SEEDS = (11, 12, 13)
TENANTS, TENANT_UNITS, TENANT_BYTES = 20, (4, 10), 0.02
WORKING_HOURS, WORKING_SIGMA, RESTING_TIMES = 36.0, 1.0, 3.0
ZIPF = 0.9
WORKING_SHARE = 0.9  # of ``SPOT_READS``, for the application at work


def held_out_world(name: str, seed: int, *, hours: int = HOURS) -> World:
    """One of ``frozen.HELD_OUT``. Everything follows from the seed.

    Raises:
        KeyError: there is no such shape.
    """
    number = len(frozen.SHAPES) + list(frozen.HELD_OUT).index(name)
    return world_of(name, DRAWN[name], np.random.default_rng([seed, number]), seed, hours, frozen.UNITS)


def tenants(canvas: Canvas, draw: Draw) -> Canvas:
    """Tenants that share nothing work for a while and rest three times as long."""
    count = draw.integers(TENANT_UNITS[0], TENANT_UNITS[1] + 1, TENANTS)
    whose, first = np.repeat(np.arange(TENANTS), count), len(canvas.catalogue)
    part = draw.lognormal(0.0, 1.0, len(whose))
    size = TENANT_BYTES * canvas.catalogue.size_bytes.sum() * part / np.bincount(whose, part)[whose]
    key = [f"tenant{tenant:02d}.table{number:03d}" for number, tenant in enumerate(whose.tolist())]
    always = np.zeros(len(whose), dtype=np.int64), np.full(len(whose), canvas.hours)
    canvas = canvas.joined(key, UnitKind.TABLE, size, *always)
    heat = draw.permutation(1.0 / np.arange(1, TENANTS + 1) ** ZIPF) * _working(canvas.hours, draw)
    within = size**frozen.SIZE_MATTERS * draw.lognormal(0.0, frozen.SPOT_SPREAD, len(whose))
    within /= np.bincount(whose, within)[whose]
    asked = np.divide(heat, heat.sum(axis=1, keepdims=True), out=np.zeros_like(heat), where=heat > 0)
    spot = canvas.spot.copy()
    spot[:, first:] = SPOT_READS * asked[:, whose] * within
    return _usually(canvas, spot)


def _working(hours: int, draw: Draw) -> F64:
    """1 while each tenant works, ``(hours, TENANTS)``; everyone begins somewhere in its first turn."""
    working = np.zeros((hours, TENANTS))
    for tenant in range(TENANTS):
        at = 0.0
        lasts = WORKING_HOURS * draw.lognormal(0.0, WORKING_SIGMA)
        at -= draw.uniform(0.0, (1.0 + RESTING_TIMES) * lasts)
        while at < hours:
            working[max(0, round(at)) : max(0, round(at + lasts)), tenant] = 1.0
            at += (1.0 + RESTING_TIMES) * lasts
            lasts = WORKING_HOURS * draw.lognormal(0.0, WORKING_SIGMA)
    return working


def wave(canvas: Canvas, _draw: Draw) -> Canvas:
    """A wave passes once over the units in the order of their keys."""
    order = np.argsort(np.array(canvas.catalogue.key), kind="stable")
    size = canvas.catalogue.size_bytes[order].astype(np.float64)
    end = np.cumsum(size)
    half, middle = frozen.SPOT_BYTES * end[-1] / 2, np.arange(canvas.hours)[:, np.newaxis] / HOURS * end[-1]
    spot = canvas.spot.copy()
    spot[:, order] = SPOT_READS * (_below((end - middle) / half) - _below((end - size - middle) / half))
    return _usually(canvas, spot)


def _below(place: F64) -> F64:
    """Share of a triangle from -1 to 1 that lies below a place."""
    place = np.clip(place, -1.0, 1.0)
    return np.where(place < 0, (1 + place) ** 2 / 2, 1 - (1 - place) ** 2 / 2)


def two_applications(canvas: Canvas, draw: Draw) -> Canvas:
    """Two applications with units of their own take turns."""
    count = len(canvas.catalogue)
    second = draw.permutation(np.arange(count)) % 2 == 1
    heat = np.zeros(count)
    for own in (~second, second):
        zipf = 1.0 / np.arange(1, int(own.sum()) + 1) ** ZIPF
        heat[own] = draw.permutation(zipf) * canvas.catalogue.size_bytes[own] ** frozen.SIZE_MATTERS
        heat[own] /= heat[own].sum()
    share = np.empty((canvas.hours, 2))
    at = 0
    while at < canvas.hours:
        lasts = round(float(draw.uniform(DAY, 5 * DAY)))
        for turn in range(2):
            share[at : at + lasts] = 1 - WORKING_SHARE
            share[at : at + lasts, turn] = WORKING_SHARE
            at += lasts
    return _usually(canvas, SPOT_READS * share[:, second.astype(np.int64)] * heat)


def _usually(canvas: Canvas, spot: F64) -> Canvas:
    """The canvas with that hot spot, and a part of the usual demand."""
    usual = canvas.usually(USUAL_SHARE)
    return Canvas(
        hours=usual.hours, catalogue=usual.catalogue, factors=usual.factors, spot=spot, born=usual.born,
        dropped=usual.dropped,
    )  # fmt: skip


DRAWN: dict[str, Shape] = {"tenants": tenants, "wave": wave, "two_applications": two_applications}
