"""Figures of logs, temporary and undo spaces as the ledger keeps them between runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from connectors.storage_io import ROLE_FIGURES, Role, RoleFigures


def roles_document(roles: Iterable[RoleFigures]) -> list[dict[str, Any]]:
    """Rates as JSON values; what is unknown is left out, since JSON knows no NaN."""
    return [
        {"role": figures.role.value, "name": figures.name, "note": figures.note, **_without_nan(figures)}
        for figures in roles
    ]


def roles_from_document(plain: Iterable[Mapping[str, Any]]) -> tuple[RoleFigures, ...]:
    """Inverse of ``roles_document``."""
    return tuple(RoleFigures(**{**figures, "role": Role(figures["role"])}) for figures in plain)


def _without_nan(figures: RoleFigures) -> dict[str, float]:
    values = {name: getattr(figures, name) for name in ROLE_FIGURES}
    return {name: value for name, value in values.items() if value == value}
