"""What the ledger keeps of looks: the range heat of each unit that was looked into lately."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from agent.ledger import Ledger
from agent.ledger.state_names import BLOCK_HEAT
from connectors.string_column import StringColumn
from policies.block_heat.range_heat import RangeHeat, heat_arrays, heat_from_arrays


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
