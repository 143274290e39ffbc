"""What the ledger knows of the inside of units, as the policies take it."""

from __future__ import annotations

from agent.block_heat.stored import load_block_heat, load_borders
from agent.ledger import Ledger
from policies.benefit.splitting import Inside
from policies.block_heat.border_history import wandering
from policies.block_heat.concentration import concentrate


def insides_of(ledger: Ledger, database: str) -> dict[str, Inside]:
    """By key of the unit; borders are those of the latest looks."""
    borders = load_borders(ledger, database)
    found = {}
    for key, heat in load_block_heat(ledger, database).items():
        latest = wandering(borders[key].looks) if key in borders else None
        border = None if latest is None else latest[0].border
        found[key] = Inside(heat=heat, found=concentrate(heat), border=border)
    return found
