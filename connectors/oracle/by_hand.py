"""Oracle from files: reports, and results of the connector's own queries. Nothing here needs a driver."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from connectors.assessment import Export, Observation, Readings, Row


def is_report(text: str) -> bool:
    """Whether it looks like a Statspack or AWR report."""
    from connectors.oracle.reports import report

    return report.is_report(text)


def read_report(path: str, text: str, sizes: Sequence[Row]) -> Observation:
    """See ``reports``.

    Raises:
        UnusableFile: it is no such report, or says nothing of reads.
    """
    from connectors.oracle.reports.observation import observe_report

    return observe_report(path, text, sizes)


def queries() -> Mapping[str, str]:
    """See ``stored``."""
    from connectors.oracle import stored

    return stored.queries()


def read(before: Export, after: Export) -> Readings:
    """See ``stored``.

    Raises:
        UnusableFile: a result is missing.
    """
    from connectors.oracle import stored

    return stored.read(before, after)
