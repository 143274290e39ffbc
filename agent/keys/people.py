"""Who is who: people are counted, not keys, and not spellings of a name.

A person is a principal of the file of allowed signers. One person may have several keys, each on a line of its own, and
one key may stand under several names: names and keys that belong together are one person.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import Protocol

from connectors.base import HotplaceError

# Letters that look alike in different alphabets would make two people of one, so names are plain ASCII.
_NAME = re.compile(r"[a-z0-9_][a-z0-9._+-]*")
_BEHIND_SUDO = " (sudo by "


class NameUnclear(HotplaceError):
    """A name that may look like another one, so that it cannot be told who it is."""


class ByOnePerson(Protocol):
    """A signature, as far as it says who made it."""

    @property
    def key(self) -> str:
        """Fingerprint of the key."""
        ...

    @property
    def names(self) -> Collection[str]:
        """Names of people under which the key stands, as ``canonical_name`` writes them."""
        ...


def canonical_name(name: str) -> str:
    """A person's name as it is compared: without capitals, blanks around it, and the host of a mail address.

    Raises:
        NameUnclear: it holds other characters than ASCII letters, digits and ``. _ + -``.
    """
    canonical = name.strip().lower().partition("@")[0]
    if not _NAME.fullmatch(canonical):
        raise NameUnclear(
            f"{name!r} cannot be told from names that look like it",
            advice="Names of people are ASCII letters, digits and . _ + - only, with or without a host after @.",
        )
    return canonical


def names_of_asker(who: str) -> frozenset[str]:
    """Whoever may have asked for something by a command, as ``canonical_name`` writes them.

    Behind sudo both: the account, and the person whom sudo names. ``SUDO_USER`` is a variable that anybody can set, so
    it must not put another name in the place of the account's.

    Raises:
        NameUnclear: as ``canonical_name``.
    """
    account, behind, name = who.rpartition(_BEHIND_SUDO)
    if not behind or not name.endswith(")"):
        return frozenset({canonical_name(who)})
    return names_of_asker(account) | {canonical_name(name.removesuffix(")"))}


def count_people(signatures: Iterable[ByOnePerson], without: Collection[str] = ()) -> int:
    """How many people have signed.

    Args:
        signatures: that fit.
        without: canonical names of people who do not count.
    """
    people: list[set[str]] = []  # each with all names and keys that are known to be his
    for signature in signatures:
        known = {signature.key, *signature.names}
        people = [*_apart(people, known), known.union(*_together(people, known))]
    return sum(person.isdisjoint(without) for person in people)


def _together(people: Iterable[set[str]], known: Collection[str]) -> list[set[str]]:
    return [person for person in people if not person.isdisjoint(known)]


def _apart(people: Iterable[set[str]], known: Collection[str]) -> list[set[str]]:
    return [person for person in people if person.isdisjoint(known)]
