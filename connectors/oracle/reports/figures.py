"""Numbers as reports print them."""

from __future__ import annotations

import re

UNKNOWN = float("nan")
LARGEST = 1e20  # that a server counts to: 64 bits; a larger figure is none
_PLAIN = re.compile(r"-?(?:(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,3})?", re.ASCII)
_SCALES = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
_TIMES = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "sec": 1.0, "min": 60.0, "mins": 60.0, "h": 3600.0}
_FOREIGN = re.compile(r"\d{1,3}(?:\.\d{3}){2,}(?:,\d+)?|\d{1,3}(?:\.\d{3})+,\d+|\d+,\d{1,2}|\d{4,},\d+", re.ASCII)


def number(text: str) -> float:
    """The value of a cell; NaN where it is empty, not applicable or ``####`` (too wide for its column).

    ``K``, ``M``, ``G``, ``T`` and ``P`` are multiples of 1000.

    >>> number("1,234.5"), number("12.5K"), number(".5"), number("#######")
    (1234.5, 12500.0, 0.5, nan)
    """
    cell = text.strip().rstrip("%").strip()
    scale = cell[-1:].upper() if cell[-1:].isalpha() else ""
    digits = cell[: len(cell) - len(scale)].strip()
    if scale not in _SCALES or not _PLAIN.fullmatch(digits):
        return UNKNOWN
    value = float(digits.replace(",", "")) * _SCALES[scale]
    return value if value <= LARGEST else UNKNOWN


def seconds(text: str, usual: str) -> float:
    """A duration in seconds: in the unit that it names (``500.12us``, since 12.2), else in the usual one.

    >>> seconds("1.20ms", "ms"), seconds("250us", "ms"), seconds("5", "ms")
    (0.0012, 0.00025, 0.005)
    """
    found = re.fullmatch(r"\s*([-\d.,]+)\s*(ns|us|ms|s|sec|mins?|h)\s*", text)
    if found is not None:
        return number(found[1]) * _TIMES[found[2]]
    return number(text) * _TIMES[usual]


def is_foreign(text: str) -> bool:
    """Whether a number is written as other languages do: ``1.234.567`` or ``60,12``."""
    return _FOREIGN.fullmatch(text.strip()) is not None
