"""What ``explain`` shows of the heat inside a unit: where its reads go, over its blocks and over time."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from math import isnan

from agent.answers.units import HotPart, HotShare, HourInside, InsideUnit
from agent.block_heat.stored import UnitBorders, load_block_heat, load_borders
from agent.cli.session import Session
from agent.explanation.split_border import border_seen
from agent.model.units_of_measure import format_when
from agent.terminal.heat_map import heat_map
from connectors.formatting import format_ratio
from policies.block_heat.border_history import wandering
from policies.block_heat.borders import columns_to_read
from policies.block_heat.concentration import Concentration, Part, concentrate
from policies.block_heat.range_heat import RangeHeat
from policies.explanation.border import border_sentences
from policies.explanation.inside import inside_sentences


def show_inside(session: Session, key: str, saves_per_hour: float) -> InsideUnit | None:
    """Print what looks at the buffer pool have shown of a unit, and return it; None: nothing is stored.

    Args:
        session: to read from and print to.
        key: of the unit.
        saves_per_hour: seconds of wait that all of it would save on the fastest tier.
    """
    heat = load_block_heat(session.ledger, session.database.name).get(key)
    if heat is None:
        return None
    found, fastest = concentrate(heat), session.database.tiers[0].name
    borders = load_borders(session.ledger, session.database.name).get(key, UnitBorders())
    sentences = (
        *inside_sentences(heat, found, saves_per_hour, fastest),
        *border_sentences(borders.columns, borders.looks, borders.refused),
    )
    inside = _inside(heat, found, borders, sentences)
    _print_inside(session, inside)
    ends = [format_when(hour.at) for hour in (inside.hours[0], inside.hours[-1])]
    for line in heat_map(heat.by_hour, ends, heat.blocks * heat.block_bytes, session.out.console.width):
        session.out.line(line)
    return inside


def _print_inside(session: Session, inside: InsideUnit) -> None:
    session.out.line()
    session.out.line("inside", style="bold")
    for sentence in inside.sentences:
        session.out.line(sentence)
    if not inside.hottest:
        return
    listed = ", ".join(f"{format_ratio(each.of_blocks)}: {format_ratio(each.of_reads)}" for each in inside.hottest)
    of_all = "" if inside.coverage is None else f", {format_ratio(inside.coverage)} of what the engine counted"
    session.out.line(f"share of its reads in the hottest blocks: {listed}")
    session.out.line(
        f"blocks seen to come in: {inside.blocks_seen:,.0f}, pairs of looks: {inside.pairs_of_looks}{of_all}"
    )


def _inside(heat: RangeHeat, found: Concentration, borders: UnitBorders, sentences: tuple[str, ...]) -> InsideUnit:
    latest = wandering(borders.looks)
    return InsideUnit(
        shape=str(found.shape),
        sentences=sentences,
        hottest=tuple(HotShare(**asdict(each)) for each in found.hottest),
        part=None if found.part is None else _part(heat, found.part),
        coverage=None if isnan(found.coverage) else found.coverage,
        blocks_seen=heat.seen,
        pairs_of_looks=heat.pairs,
        range_bytes=heat.width * heat.block_bytes,
        hours=tuple(
            HourInside(
                at=datetime.fromtimestamp(hour * 3600, UTC), reads_per_second=tuple(round(rate, 3) for rate in rates)
            )
            for hour, rates in zip(heat.hour.tolist(), heat.by_hour.tolist(), strict=True)
        ),
        columns=tuple(each.name for each in columns_to_read(borders.columns)),
        border=None if latest is None else border_seen(*latest),
        values_refused=borders.refused or None,
    )


def _part(heat: RangeHeat, part: Part) -> HotPart:
    return HotPart(
        from_bytes=part.first_block * heat.block_bytes, bytes=part.blocks * heat.block_bytes, **asdict(part.share)
    )
