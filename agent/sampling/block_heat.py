"""What the ledger keeps of looks inside units, and as policies take it.

What the ledger keeps of looks: range heat and borders of each unit that was looked into lately.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from agent.ledger.ledger import Ledger
from agent.ledger.state_names import BLOCK_BORDERS, BLOCK_HEAT
from connectors.model.blocks import CandidateColumn
from connectors.model.string_column import StringColumn
from policies.evidence.borders import BorderLook, history_document, history_from_document, wandering
from policies.evidence.range_heat import RangeHeat, concentrate, heat_arrays, heat_from_arrays
from policies.evidence.splitting import Inside


def save_block_heat(ledger: Ledger, database: str, at: datetime, found: Mapping[str, RangeHeat]) -> None:
    """Store it; replaces what was stored."""
    arrays = {
        f"{number} {name}": column
        for number, heat in enumerate(found.values())
        for name, column in heat_arrays(heat).items()
    }
    ledger.state.save_arrays(database, BLOCK_HEAT, at, {**StringColumn.of(found).arrays("keys"), **arrays})


def load_block_heat(ledger: Ledger, database: str) -> dict[str, RangeHeat]:
    """By key of the unit; empty where nothing is stored."""
    stored = ledger.state.load_arrays(database, BLOCK_HEAT)
    if stored is None:
        return {}
    arrays = stored[1]
    found = {}
    for number, key in enumerate(StringColumn.from_arrays(arrays, "keys")):
        prefix = f"{number} "
        own = {name.removeprefix(prefix): column for name, column in arrays.items() if name.startswith(prefix)}
        found[key] = heat_from_arrays(own)
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitBorders:
    """What is known of the columns of one unit. Values among it are user data."""

    columns: tuple[CandidateColumn, ...] = ()
    looks: tuple[BorderLook, ...] = ()  # at values, oldest first; none where they may not be read
    refused: str = ""  # why values could not be read at the last look, and what to grant


def save_borders(ledger: Ledger, database: str, borders: Mapping[str, UnitBorders]) -> None:
    """Store them by key of the unit; replaces what was stored."""
    ledger.state.save_document(database, BLOCK_BORDERS, {key: _document(each) for key, each in borders.items()})


def load_borders(ledger: Ledger, database: str) -> dict[str, UnitBorders]:
    """By key of the unit; empty where nothing is stored."""
    stored = ledger.state.load_document(database, BLOCK_BORDERS)
    return {} if stored is None else {key: _borders(each) for key, each in stored[1].items()}


def _document(borders: UnitBorders) -> dict[str, Any]:
    columns = [asdict(each) for each in borders.columns]
    for column in columns:
        column["correlation"] = None if math.isnan(column["correlation"]) else column["correlation"]
    return {"columns": columns, "looks": history_document(borders.looks), "refused": borders.refused}


def _borders(document: Mapping[str, Any]) -> UnitBorders:
    columns = (
        CandidateColumn(**{**each, "correlation": math.nan if each["correlation"] is None else each["correlation"]})
        for each in document["columns"]
    )
    return UnitBorders(
        columns=tuple(columns), looks=history_from_document(document["looks"]), refused=document["refused"]
    )


def insides_of(ledger: Ledger, database: str) -> dict[str, Inside]:
    """By key of the unit; borders are those of the latest looks."""
    borders = load_borders(ledger, database)
    found = {}
    for key, heat in load_block_heat(ledger, database).items():
        latest = wandering(borders[key].looks) if key in borders else None
        border = None if latest is None else latest[0].border
        found[key] = Inside(heat=heat, found=concentrate(heat), border=border)
    return found
