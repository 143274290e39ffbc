"""The rates of a whole database as the text that the ledger keeps of them."""

from __future__ import annotations

import json
from dataclasses import asdict, fields

from connectors.model import DatabaseDemand

_RATES = frozenset(field.name for field in fields(DatabaseDemand))


def rates_text(demand: DatabaseDemand, **more: object) -> str:
    """The rates that are known, as JSON, which knows no NaN; and more of the interval, which is no rate."""
    known = {name: value for name, value in asdict(demand).items() if value == value}
    return json.dumps({**known, **more}, allow_nan=False)


def rates_of_text(text: str) -> DatabaseDemand:
    """Inverse of ``rates_text``; what this version knows as no rate is left out."""
    return DatabaseDemand(**{name: value for name, value in json.loads(text).items() if name in _RATES})
