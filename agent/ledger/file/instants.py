"""Instants as the ledger stores them: whole microseconds since 1970 in UTC."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def microseconds(at: datetime) -> int:
    """Whole microseconds since 1970.

    Raises:
        ValueError: the time names no zone.
    """
    if at.tzinfo is None:
        raise ValueError(f"the time {at} names no zone")
    return (at - EPOCH) // timedelta(microseconds=1)


def instant(microseconds_: int) -> datetime:
    """Inverse of ``microseconds``."""
    return EPOCH + timedelta(microseconds=microseconds_)
