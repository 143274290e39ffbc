"""Bytes, durations, ratios and rates: how people write them. ``connectors.model.formatting`` writes them for people.

Inside hotplace sizes are whole bytes, durations are seconds and ratios lie between 0 and 1; this module is the edge.
A bare number has no unit and is refused, except 0: ``capacity: 200`` meant as GiB would make a storage tier full.
``GiB`` is 2**30 bytes and ``GB`` is 10**9, as the standards say; ``G`` alone is refused because people differ about it.
"""

from __future__ import annotations

import re
from datetime import datetime, tzinfo
from decimal import Decimal

from connectors.model.formatting import BINARY, exact_bytes

Quantity = str | int | float  # what YAML or a command line hands over

DECIMAL = ("B", "kB", "MB", "GB", "TB", "PB")
BYTES_OF_UNIT = (
    {unit.lower(): 1024**power for power, unit in enumerate(BINARY)}
    | {unit.lower(): 1000**power for power, unit in enumerate(DECIMAL)}
    | {"byte": 1, "bytes": 1}
)
SECONDS_OF_UNIT = {
    "ns": Decimal("1e-9"),
    "us": Decimal("1e-6"),
    "µs": Decimal("1e-6"),
    "ms": Decimal("1e-3"),
    "s": Decimal(1),
    "sec": Decimal(1),
    "min": Decimal(60),
    "m": Decimal(60),
    "h": Decimal(3600),
    "d": Decimal(86400),
    "w": Decimal(7 * 86400),
}
MOST_BYTES = 2**63 - 1  # sizes are 64-bit columns
MOST_SECONDS = 100 * 365.25 * 86400.0  # beyond it, adding to a date would overflow sooner or later

_NUMBER = r"(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)(?:\.[0-9]+)?"
_AMOUNT = re.compile(rf"(?<![0-9.,])({_NUMBER})\s*([A-Za-zµ]+)")  # not within a number: it was read already
_RATIO = re.compile(rf"({_NUMBER})\s*(%?)")


def parse_bytes(text: Quantity) -> int:
    """Bytes of a text like ``200 GiB``, ``1.5 TB`` or ``1,024 bytes``.

    Raises:
        ValueError: it is not a size, has no unit, or is beyond 64 bits; the message shows it.
    """
    if _is_zero(text):
        return 0
    amount = _AMOUNT.fullmatch(str(text).strip())
    factor = BYTES_OF_UNIT.get(amount[2].lower()) if amount else None
    if amount is None or factor is None:
        raise ValueError(f"{text!r} is not a size; write a number and a unit: B, KiB, MiB, GiB, TiB, or kB, MB, GB, TB")
    size = _decimal(amount[1]) * factor
    if size > MOST_BYTES:
        raise ValueError(f"{text!r} is more than {exact_bytes(MOST_BYTES)}")
    return int(size.to_integral_value())


def parse_seconds(text: Quantity) -> float:
    """Seconds of a text like ``0.2ms``, ``15min``, ``1h 30min`` or ``14d``.

    Raises:
        ValueError: it is not a duration, has no unit, or is beyond a hundred years; the message shows it.
    """
    if _is_zero(text):
        return 0.0
    words = str(text).strip().replace("\u03bc", "µ")  # two Unicode letters look alike here
    parts = _AMOUNT.findall(words)
    known = bool(parts) and all(unit in SECONDS_OF_UNIT for _, unit in parts)
    if not known or re.sub(r"\s", "", _AMOUNT.sub("", words)):
        raise ValueError(f"{text!r} is not a duration; write a number and a unit: us, ms, s, min, h, d, w")
    seconds = float(sum(_decimal(number) * SECONDS_OF_UNIT[unit] for number, unit in parts))
    if seconds > MOST_SECONDS:
        raise ValueError(f"{text!r} is more than a hundred years")
    return seconds


def parse_seconds_of_command(text: str) -> float:
    """The same as an option of a command gives it: there a bare number is of seconds, as in other tools.

    >>> parse_seconds_of_command("60s"), parse_seconds_of_command("1m"), parse_seconds_of_command("60")
    (60.0, 60.0, 60.0)

    Raises:
        ValueError: as ``parse_seconds``.
    """
    return parse_seconds(f"{text} s" if re.fullmatch(_NUMBER, text.strip()) else text)


def parse_ratio(text: Quantity) -> float:
    """A ratio from 0 to 1, written ``10%`` or ``0.1``.

    Raises:
        ValueError: it is no number, or outside 0 to 1; the message shows it.
    """
    found = None if isinstance(text, bool) else _RATIO.fullmatch(str(text).strip())
    if found is None:
        raise ValueError(f"{text!r} is not a ratio; write 10% or 0.1")
    ratio = _decimal(found[1]) / (100 if found[2] else 1)
    if ratio > 1:
        raise ValueError(f"{text!r} is more than 100%; write 10% or 0.1")
    return float(ratio)


def parse_rate(text: Quantity) -> float:
    """Bytes per second of a text like ``50 MB/s``.

    Raises:
        ValueError: it is not a rate; the message shows it.
    """
    size, slash, unit = str(text).partition("/")
    if slash and unit.strip() == "s":
        return float(parse_bytes(size))
    raise ValueError(f"{text!r} is not a rate; write a size per second, for example 50 MB/s")


def format_when(at: datetime, zone: tzinfo | None = None) -> str:
    """An instant with its zone, to the second: ``2026-03-01 14:05:09 CET``. Without a zone, in that of this machine.

    Raises:
        ValueError: the instant has no zone and is therefore ambiguous.
    """
    if at.tzinfo is None:
        raise ValueError(f"{at.isoformat()} has no time zone")
    return at.astimezone(zone).strftime("%Y-%m-%d %H:%M:%S %Z")


def _is_zero(text: Quantity) -> bool:
    return not isinstance(text, bool) and text in (0, "0")


def _decimal(number: str) -> Decimal:
    return Decimal(number.replace(",", ""))
