"""Which units the last catalog no longer has: their slots stay, and nothing offers their names any more."""

from __future__ import annotations

import numpy as np

from agent.ledger import Ledger
from agent.ledger.state_names import GONE_UNITS
from connectors.model import I64


def note_gone_units(ledger: Ledger, database: str, slots: I64) -> None:
    """Store which slots belong to no unit now; nothing is written where that has not changed.

    Args:
        ledger: the durable record.
        database: its name.
        slots: of the units that there are.
    """
    gone = np.setdiff1d(np.arange(ledger.slots.count(database)), slots).tolist()
    stored = ledger.state.load_document(database, GONE_UNITS)
    if gone != ([] if stored is None else stored[1]):
        ledger.state.save_document(database, GONE_UNITS, gone)
