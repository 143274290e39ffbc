"""The calendar of parts that are closed: when one gets its end, where that lies, and the template of it. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from math import ceil

from connectors.rolling.filling import (
    HIGH,
    LENGTHS_AHEAD,
    LONGEST_AGE,
    LOW,
    OPENED,
    PARTITION,
    TAG_PARAMETER,
)
from connectors.templates import StatementTemplate, StatementText, TemplateKind, TemplateParameter, ValueKind

_LONGEST_NAME = 63  # bytes; only PostgreSQL closes parts


def next_end(low: datetime, seconds: int, now: datetime, needed_seconds: float) -> datetime | None:
    """Where the part that begins at an instant is to end; None while its rows are still to come.

    Then it is closed as soon as its first rows may have come, while it is small and its end far. Ends are whole lengths
    behind the beginning; those that are too near, as after days without an agent, are passed over.

    >>> day = datetime(2030, 1, 1), 86400
    >>> next_end(*day, datetime(2030, 1, 1, 5), 60.0), next_end(*day, datetime(2030, 1, 9, 23, 59, 30), 60.0)
    (datetime.datetime(2030, 1, 2, 0, 0), datetime.datetime(2030, 1, 11, 0, 0))
    """
    if now < low:
        return None
    lengths = ceil(((now - low).total_seconds() + needed_seconds) / seconds)
    return low + timedelta(seconds=max(1, lengths) * seconds)


def closing_template(table: str, to_space: str, seconds: int, texts: Iterable[StatementText]) -> StatementTemplate:
    """The template of closings by the calendar.

    Args:
        table: its key.
        to_space: where next parts are made.
        seconds: how long a part is.
        texts: of a route that was made of places.
    """
    words = (
        TemplateParameter(name=name, kind=ValueKind.WORD, least=1, most=_LONGEST_NAME) for name in (PARTITION, OPENED)
    )
    return StatementTemplate(
        kind=TemplateKind.CLOSED_PART, table=table, space=to_space, texts=tuple(texts),
        parameters=(
            *words,
            TemplateParameter(name=LOW, kind=ValueKind.TIME, least=-LONGEST_AGE, most=0),
            TemplateParameter(name=HIGH, kind=ValueKind.TIME, least=0, most=LENGTHS_AHEAD * seconds),
            TAG_PARAMETER,
        ),
    )  # fmt: skip
