"""The border at which a table is best split, as looks into it have found it, or why none is known."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import UTC, datetime

from agent.answers.units import BorderSeen
from agent.block_heat.stored import UnitBorders, load_block_heat, load_borders
from agent.config import DatabaseConfig
from agent.ledger import Ledger
from connectors.splitting import Border
from policies.block_heat.border_history import Wandering, wandering
from policies.block_heat.borders import FoundBorder
from policies.block_heat.concentration import concentrate
from policies.block_heat.range_heat import RangeHeat
from policies.explanation.border import border_sentences, range_of
from policies.explanation.inside import inside_sentences


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenBorder:
    """A border that looks have found. Its values and sentences are user data."""

    border: Border
    newest: str  # greatest value of the column that was seen, as people read it
    sentences: tuple[str, ...]  # how certain it is, and how it wanders
    found: FoundBorder
    wander: Wandering


def seen_border(ledger: Ledger, database: DatabaseConfig, key: str) -> SeenBorder | str:
    """The border that the latest look at values has found; a text: why there is none, and what would tell.

    Args:
        ledger: which holds what looks have found.
        database: its configuration.
        key: of the table.
    """
    known = load_borders(ledger, database.name).get(key, UnitBorders())
    latest = wandering(known.looks)
    if latest is None:
        heat = load_block_heat(ledger, database.name).get(key)
        return _why_none(database, heat, known)
    found, wander = latest
    if not found.border.rolls or found.border.least is None:
        return (
            f"its hot rows are those with {range_of(found.border)}, which are not its newest: a split at one value "
            "would bring colder rows behind it along"
        )
    return SeenBorder(
        border=Border(column=found.border.column, value=found.border.least),
        newest=_newest(found),
        sentences=border_sentences(known.columns, known.looks, known.refused),
        found=found,
        wander=wander,
    )


def border_seen(found: FoundBorder, wander: Wandering) -> BorderSeen:
    """A border with its certainty and how it wanders; it holds values of users."""
    return BorderSeen(
        **asdict(found.border),
        is_time=found.is_time,
        looks=wander.looks,
        of_looks=wander.of_looks,
        per_day=wander.per_day,
        low_distance=wander.low_distance,
        high_distance=wander.high_distance,
    )


def _why_none(database: DatabaseConfig, heat: RangeHeat | None, known: UnitBorders) -> str:
    if heat is None and not database.block_looks_share:
        return "no look at the buffer pool has found one, because looks are off (block_looks: 0%)"
    if heat is None:
        return (
            "no look at the buffer pool has found one: units are looked into that are hot, large and not on the "
            f"fastest tier, by an agent that watches for some hours (hotplace run --database {database.name})"
        )
    shape = concentrate(heat)
    where = inside_sentences(heat, shape, 0.0, database.tiers[0].name)
    if shape.part is None and not known.looks:
        return "; ".join(where)
    if not (database.border_values or known.refused or known.looks):
        return f"{where[0]}, but at which value they begin is not known: border_values is off, which reads values"
    values = border_sentences(known.columns, known.looks, known.refused)
    return "; ".join((where[0], *(values or ("its values have not been looked at yet",))))


def _newest(found: FoundBorder) -> str:
    if found.is_time:
        return datetime.fromtimestamp(found.newest, UTC).isoformat(sep=" ", timespec="seconds")
    return f"{found.newest:.15g}"
