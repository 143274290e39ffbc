"""Redo log, temporary and undo tablespaces as figures of roles; no view free of a licence tells sorts by unit."""

from __future__ import annotations

from collections.abc import Sequence
from math import nan

from connectors.oracle.session.sessions import Row
from connectors.storage_io import Role, RoleFigures

MICROSECONDS = 1e-6
_COLUMNS = ("reads", "read_seconds", "writes", "write_seconds", "waited_seconds", "written_bytes")
_TIMES = frozenset({"read_seconds", "write_seconds", "waited_seconds"})


def role_figures(rows: Sequence[Row], *, timed: bool) -> tuple[RoleFigures, ...]:
    """Rows of ``sql/roles.sql``, those of one role and name added up; what is NULL in all of them is unknown.

    Args:
        rows: a role and name may come several times, by view and by instance.
        timed: TIMED_STATISTICS is on; off, every time is 0 and none is known.
    """
    sums: dict[tuple[str, str], dict[str, float]] = {}
    for role, name, *values in rows:
        known = sums.setdefault((str(role), str(name)), {})
        for column, value in zip(_COLUMNS, values, strict=True):
            if value is not None:
                scaled = float(value) * (MICROSECONDS if column in _TIMES else 1.0)
                known[column] = known.get(column, 0.0) + (scaled if timed or column not in _TIMES else nan)
    note = "" if timed else "TIMED_STATISTICS is off"
    return tuple(RoleFigures(role=Role(role), name=name, note=note, **known) for (role, name), known in sums.items())
