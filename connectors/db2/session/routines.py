"""SQL0440N: no routine of that name that this login may execute. The catalog tells which of the two is missing.

Practice, not seen on a server: a routine without EXECUTE is not among those that a name can mean, so it is no SQL0551N.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from connectors.base import ConnectorError, PrivilegeMissing
from connectors.db2.reading.names import identifier
from connectors.db2.session.errors import EXECUTE_GIVES
from connectors.db2.session.queries import Query
from connectors.findings import Remedy

NO_ROUTINE = "-440"
_FUNCTION = re.compile(r"TABLE\(SYSPROC\.(\w+)\(")


def function_of(asked: Query) -> str:
    """The function that a query reads; "" where it reads a view."""
    found = _FUNCTION.match(asked.source)
    return found[1] if found else ""


def execute_missing(error: ConnectorError, function: str, specific: Sequence[str], user: str) -> PrivilegeMissing:
    """The error of a function that the catalog has and this login may not execute, with its GRANT.

    Args:
        error: SQL0440N as it was told.
        function: of SYSPROC.
        specific: specific names of all forms of it, at least one; where there are more, a GRANT has to name one.
        user: that may not execute it.
    """
    names = [function] if len(specific) == 1 else specific
    word = "FUNCTION" if len(specific) == 1 else "SPECIFIC FUNCTION"
    grants = [f"GRANT EXECUTE ON {word} SYSPROC.{name} TO USER {identifier(user.upper())}" for name in names]
    sentence = f"{error} (SYSCAT.ROUTINES has {function}: {user} may not execute it)"
    advice = Remedy("; ".join(grants), EXECUTE_GIVES.format(function))
    return PrivilegeMissing(sentence, advice=advice, native_code=error.native_code)
