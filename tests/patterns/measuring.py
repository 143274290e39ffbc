"""How long an expression takes over texts of growing length: in proportion to them, or more."""

from __future__ import annotations

import math
import re
import time
from collections import deque
from collections.abc import Callable
from functools import cache, partial
from typing import Any

from tests.patterns.attacks import attacks, likely
from tests.patterns.found import Expression

# So that what is exponential is seen while it still ends, and what is quadratic by little where it takes longest.
LENGTHS = (16, 20, 24, 28, 40, 100, 400, 5000)
TIMES_LONGER = 4  # of the texts that are compared: twice the text twice
MOST_RATIO = 10.0  # of their times: 4 where these are in proportion, 16 where they are quadratic
QUICK_SECONDS = 3e-3  # below which a ratio says little
LIKELY_RATIO = 5.0  # below which a longer look is not worth its time: a tenth of what was taken may be quadratic
LONGEST = 2**18
FEWEST_TIMES, MOST_TIMES = 2, 3  # each of the two is taken

Text = str | bytes


@cache
def suspect_seconds() -> float:
    """Half of what the cheapest quadratic expression takes over the longest text on this machine."""
    cheapest = partial(_used, re.compile(r"Elapsed:(?:\s|<[^>]*>)*\d"), "finditer")
    return best(cheapest, text_of("", "Elapsed:<", "", as_bytes=False, length=LENGTHS[-1])) / 2


def attack_on(expression: Expression, most: int | None = None) -> str:
    """A text, in words, over which the expression takes more than time in proportion; "" where none was found.

    The likely attacks are tried and ``most`` others, spread over all kinds of them; None: all.
    """
    assert expression.pattern is not None, expression.place
    pattern = re.compile(expression.pattern, expression.flags)
    as_bytes = isinstance(expression.pattern, bytes)
    source = expression.pattern.decode("latin-1") if isinstance(expression.pattern, bytes) else expression.pattern
    for use in sorted(expression.uses):
        flags = pattern.flags | (re.ASCII if as_bytes else 0)
        found = list(attacks(source, flags))
        for begin, pump, end in (*likely(source, flags), *found[:: 1 if most is None else max(1, len(found) // most)]):
            text = partial(text_of, begin, pump, end, as_bytes)
            if is_slow(partial(_used, pattern, use), text):
                return f"{use} over {begin!r}, then {pump!r} again and again, then {end!r}"
    return ""


def text_of(begin: str, pump: str, end: str, as_bytes: bool, length: int) -> Text:
    """A text of about so many characters."""
    text = f"{begin}{pump * max(1, length // len(pump))}{end}"
    return text.encode("latin-1", "replace") if as_bytes else text


def is_slow(read: Callable[[Text], object], text: Callable[[int], Text]) -> bool:
    """Whether the time that reading takes grows by more than the text does."""
    return any(
        (once := seconds(read, text(length))) > suspect_seconds() and _grows(read, text, length, once)
        for length in LENGTHS
    )


def _grows(read: Callable[[Text], object], text: Callable[[int], Text], length: int, once: float) -> bool:
    if length < LENGTHS[-1]:
        return best(read, text(length)) > 8 * suspect_seconds()  # what is cubic, or worse
    return once > LIKELY_RATIO * best(read, text(length // TIMES_LONGER)) and grows(read, text, length // TIMES_LONGER)


def grows(read: Callable[[Text], object], text: Callable[[int], Text], length: int = 2**12) -> bool:
    """The same for what takes long from the start, from a first length on."""
    once = best(read, text(length))
    while once < QUICK_SECONDS and length < LONGEST:
        length *= 2
        once = best(read, text(length))
    # At twice the length again: where the working memory leaves a cache there is a step, which is in one place only.
    return all(_ratio(read, text, longer) > MOST_RATIO for longer in (length, 2 * length))


def _ratio(read: Callable[[Text], object], text: Callable[[int], Text], length: int) -> float:
    """Of the times for a long text and for a short one, each the shortest of many.

    A busy machine makes a time longer and never shorter, so the shortest of many by turns are those of a quiet one.
    Where they look bad more are taken: what is in proportion comes down in the end, what is quadratic does not.
    """
    short, long = text(length), text(TIMES_LONGER * length)
    shortest, longest = math.inf, math.inf
    for taken in range(1, MOST_TIMES + 1):
        shortest, longest = min(shortest, seconds(read, short)), min(longest, seconds(read, long))
        if taken >= FEWEST_TIMES and longest <= MOST_RATIO * max(shortest, QUICK_SECONDS / 2):
            break
    return longest / max(shortest, QUICK_SECONDS / 2)


def best(read: Callable[[Text], object], text: Text) -> float:
    """The shorter of two times."""
    return min(seconds(read, text) for _ in range(2))


def seconds(read: Callable[[Text], object], text: Text) -> float:
    """Processor time of this thread: who else is on the machine does not count."""
    began = time.thread_time()
    read(text)
    return time.thread_time() - began


def _used(pattern: re.Pattern[Any], use: str, text: Text) -> None:
    if use == "finditer":
        deque(pattern.finditer(text), maxlen=0)
    else:
        getattr(pattern, use)(text)
