"""Results of the connector's own queries, run by a person. The driver is loaded with the first use."""

from __future__ import annotations

from collections.abc import Mapping

from connectors.assessment import Export, Readings


def queries() -> Mapping[str, str]:
    """See ``stored``."""
    from connectors.db2 import stored

    return stored.queries()


def read(before: Export, after: Export) -> Readings:
    """See ``stored``.

    Raises:
        UnusableFile: a result is missing, or the exports are of two databases.
    """
    from connectors.db2 import stored

    return stored.read(before, after)
