"""What ``explain`` shows of the heat inside a unit: where its reads go, over its blocks and over time."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from math import isnan
from typing import Any

from agent.block_heat.stored import UnitBorders, load_block_heat, load_borders
from agent.cli.session import Session
from agent.explanation.split_border import border_document
from agent.model.units_of_measure import format_when
from agent.terminal.heat_map import heat_map
from connectors.formatting import format_ratio
from policies.block_heat.border_history import wandering
from policies.block_heat.borders import columns_to_read
from policies.block_heat.concentration import Concentration, Share, concentrate
from policies.block_heat.range_heat import RangeHeat
from policies.explanation.border import border_sentences
from policies.explanation.inside import inside_sentences


def show_inside(session: Session, key: str, saves_per_hour: float) -> dict[str, Any] | None:
    """Print what looks at the buffer pool have shown of a unit, and return the document; None: nothing is stored.

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
    session.out.line()
    session.out.line("inside", style="bold")
    for sentence in sentences:
        session.out.line(sentence)
    _show_shares(session, heat, found)
    ends = [format_when(datetime.fromtimestamp(hour * 3600, UTC)) for hour in (heat.hour[0], heat.hour[-1])]
    for line in heat_map(heat.by_hour, ends, heat.blocks * heat.block_bytes, session.out.console.width):
        session.out.line(line)
    return {**_document(heat, found, sentences), **_borders_document(borders)}


def _show_shares(session: Session, heat: RangeHeat, found: Concentration) -> None:
    if not found.hottest:
        return
    listed = ", ".join(f"{format_ratio(each.of_blocks)}: {format_ratio(each.of_reads)}" for each in found.hottest)
    of_all = "" if isnan(found.coverage) else f", {format_ratio(found.coverage)} of what the engine counted"
    session.out.line(f"share of its reads in the hottest blocks: {listed}")
    session.out.line(f"blocks seen to come in: {heat.seen:,.0f}, pairs of looks: {heat.pairs}{of_all}")


def _document(heat: RangeHeat, found: Concentration, sentences: tuple[str, ...]) -> dict[str, Any]:
    part = found.part
    return {
        "shape": str(found.shape),
        "sentences": list(sentences),
        "hottest": [asdict(each) for each in found.hottest],
        "part": None if part is None else _part(heat, part.first_block, part.blocks, part.share),
        "coverage": None if isnan(found.coverage) else found.coverage,
        "blocks_seen": heat.seen,
        "pairs_of_looks": heat.pairs,
        "range_bytes": heat.width * heat.block_bytes,
        "hours": [
            {"at": datetime.fromtimestamp(hour * 3600, UTC), "reads_per_second": [round(rate, 3) for rate in rates]}
            for hour, rates in zip(heat.hour.tolist(), heat.by_hour.tolist(), strict=True)
        ],
    }


def _part(heat: RangeHeat, first_block: int, blocks: int, share: Share) -> dict[str, Any]:
    return {"from_bytes": first_block * heat.block_bytes, "bytes": blocks * heat.block_bytes, **asdict(share)}


def _borders_document(borders: UnitBorders) -> dict[str, Any]:
    """Columns that may tell the hot part, and the border that values showed; None where none is known."""
    latest = wandering(borders.looks)
    return {
        "columns": [each.name for each in columns_to_read(borders.columns)],
        "border": None if latest is None else border_document(*latest),
        "values_refused": borders.refused or None,
    }
