"""Names as Oracle writes them, and the keys of units made from them."""

from __future__ import annotations

import re

from connectors.kit.contract import StatementFailed

_SIMPLE = re.compile(r"[A-Z][A-Z0-9_$#]*")
_TWO_NAMES = re.compile(r'("[^"]+"|[A-Za-z][\w$#]*)\.("[^"]+"|[A-Za-z][\w$#]*)')


def quote(*identifiers: str) -> str:
    """``"S"."T"``: always quoted, so that case, spaces and reserved words are safe.

    Raises:
        StatementFailed: an identifier holds a double quote or NUL, which no Oracle name can.
    """
    for identifier in identifiers:
        if not identifier or '"' in identifier or "\0" in identifier:
            raise StatementFailed(f"{identifier!r} is no name that Oracle can have", advice="Plan again.")
    return ".".join(f'"{identifier}"' for identifier in identifiers)


def plain(identifier: str) -> str:
    """Quoted only where it must be."""
    return identifier if _SIMPLE.fullmatch(identifier) else f'"{identifier}"'


def key_of(owner: str, name: str, *, word: str = "", part_word: str = "", part: str | None = None) -> str:
    """Logical identity of a unit.

    Args:
        owner: schema.
        name: of the table, or of the index.
        word: what kind of thing of that name, ``INDEX``, ``LOB (COLUMN)`` or ``OVERFLOW``; "" for a table.
        part_word: ``PARTITION`` or ``SUBPARTITION``.
        part: its name.
    """
    key = f"{plain(owner)}.{plain(name)}"
    if word:
        key += f" {word}"
    return f"{key} {part_word} {plain(part)}" if part else key


def names_of(key: str) -> tuple[str, str] | None:
    """Owner and name of the table of that key; None where it is the key of none. What is not quoted is in capitals.

    >>> names_of('app."Odd 100%"'), names_of("APP.ORDERS PARTITION P1")
    (('APP', 'Odd 100%'), None)
    """
    found = _TWO_NAMES.fullmatch(key)
    if found is None:
        return None
    owner, name = (text[1:-1] if text.startswith('"') else text.upper() for text in found.groups())
    return owner, name
