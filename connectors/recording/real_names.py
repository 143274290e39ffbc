"""Real names in the place of pseudonyms: whoever has made a recording reads what comes of it as if names were plain.

A pseudonym leads to no name, so a recording's names are noted where its key is, and stay there with it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_PSEUDONYM = re.compile(r"(?P<before>[\"\[/\\+]?)\b(?P<token>n[0-9a-f]{16}|N[0-9A-F]{16})\b(?P<after>[\"\]/\\]?)")
_BARE = {"n": re.compile(r"[a-z_][a-z0-9_]*"), "N": re.compile(r"[A-Z_][A-Z0-9_$#]*")}  # by the case of the pseudonym
_ENCLOSED = {('"', '"'): '"', ("[", "]"): "]"}


class RealNames:
    """What pseudonyms stand for."""

    def __init__(self, known: Mapping[str, str]) -> None:
        """Take the name of each pseudonym."""
        self._known = known

    def restore(self, text: str) -> str:
        """The text with real names; pseudonyms that are not known stay, and names are quoted where they have to be.

        >>> RealNames({"n0123456789abcdef": "Order Lines"}).restore("shop.n0123456789abcdef")
        'shop."Order Lines"'
        """
        return _PSEUDONYM.sub(self._with_names, text)

    def _with_names(self, found: re.Match[str]) -> str:
        before, token, after = found["before"], found["token"], found["after"]
        name = self._known.get(token)
        if name is None:
            return found[0]
        if (before, token[0]) == ('"', "N") and _BARE["n"].fullmatch(name):
            return name  # without letters: only its pseudonym had to be quoted
        if (before, after) in _ENCLOSED:
            end = _ENCLOSED[before, after]
            return f"{before}{name.replace(end, end * 2)}{after}"
        in_path = before in {"/", "\\", "+"} or after in {"/", "\\"}
        if not in_path and not _BARE[token[0]].fullmatch(name):
            name = '"' + name.replace('"', '""') + '"'
        return f"{before}{name}{after}"
