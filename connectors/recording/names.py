"""Names of the user's objects, as they are or in the place of each a pseudonym that only a secret key leads to.

A pseudonym is HMAC-SHA-256 of the name under a key that stays where it was made, cut to 64 bits: the same name has the
same pseudonym in every query of every recording made with that key, and without the key no name can be tried.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Callable, Sequence
from typing import Protocol

_PSEUDONYM_BYTES = 8
_PART_OF_KEY = re.compile(r'"(?:[^"]|"")*"|[^."]+|\.')
_BARE = re.compile(r"[a-z_][a-z0-9_]*")
_SEPARATOR = re.compile(r"([/\\])")
_DRIVE = re.compile(r"[A-Za-z]:")


class Names(Protocol):
    """How names are written into a recording."""

    word: str  # for the recording's head: "plain" or "hashed"

    def name(self, text: str) -> str:
        """One identifier."""
        ...

    def key(self, text: str) -> str:
        """Identifiers joined by dots, each in double quotes where it has to be."""
        ...

    def path(self, text: str) -> str:
        """A file, folder or disk group, each folder on the way on its own; an identifier is a path of one."""
        ...


class PlainNames:
    """Names as they are."""

    word = "plain"

    def name(self, text: str) -> str:
        """The same."""
        return text

    key = path = name


class HashedNames:
    """Pseudonyms, for all but the vendor's own names."""

    word = "hashed"

    def __init__(self, key: bytes, vendor: frozenset[str] = frozenset(), patterns: Sequence[str] = ()) -> None:
        """Take the secret key, names that every database of the engine has, and patterns of those that it makes up."""
        self._key = key
        self._vendor = vendor
        self._patterns = [re.compile(pattern) for pattern in patterns]
        self.known: dict[str, str] = {}  # pseudonym -> name, of all that were written

    def name(self, text: str) -> str:
        """The pseudonym, in the case of the name: 17 characters, a letter first."""
        if not text or text in self._vendor or any(pattern.fullmatch(text) for pattern in self._patterns):
            return text
        if text.startswith('"') and '"."' in text:  # an attribute of a column, as Oracle names it
            return ".".join(f'"{self.name(part)}"' for part in text.strip('"').split('"."'))
        # With a secret key: names are short and guessable, and a plain hash of each word of a dictionary would reveal
        # them.
        digest = hmac.new(self._key, text.encode("utf-8", "surrogatepass"), hashlib.sha256).digest()
        pseudonym = f"n{digest[:_PSEUDONYM_BYTES].hex()}"
        # Engines fold unquoted names to one case and quote the others; a pseudonym of the other case would make other
        # statements.
        pseudonym = pseudonym if text != text.upper() else pseudonym.upper()
        self.known[pseudonym] = text
        return pseudonym

    def key(self, text: str) -> str:
        """The pseudonym of each part, quoted where PostgreSQL would quote it."""
        return "".join(part if part == "." else self._part(part) for part in _PART_OF_KEY.findall(text))

    def path(self, text: str) -> str:
        """The pseudonym of each folder, so that what lies in a folder still does."""
        return "".join(_folder(part, self.name) for part in _SEPARATOR.split(text))

    def _part(self, part: str) -> str:
        found = self.name(part[1:-1].replace('""', '"') if part.startswith('"') else part)
        return found if _BARE.fullmatch(found) else '"' + found.replace('"', '""') + '"'


def _folder(part: str, name: Callable[[str], str]) -> str:
    if part in {"/", "\\", ".", ".."} or _DRIVE.fullmatch(part):
        return part
    return f"+{name(part[1:])}" if part.startswith("+") else name(part)
