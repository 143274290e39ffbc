"""Figures with as many digits as all processors agree on."""

from __future__ import annotations

import json
from typing import Any

DIGITS = 9


def written(document: Any) -> str:
    """JSON with no more digits than those."""
    return json.dumps(_rounded(document), indent=1, ensure_ascii=False)


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, dict):
        return {key: _rounded(inner) for key, inner in value.items()}
    return [_rounded(inner) for inner in value] if isinstance(value, list) else value
