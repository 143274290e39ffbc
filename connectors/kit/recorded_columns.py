"""What may be recorded of each query, and pseudonyms in place of names.

``Names`` says how names of the user's objects are written: as they are (``PlainNames``) or as pseudonyms
(``HashedNames``). A pseudonym is the HMAC-SHA-256 of the name, cut to 64 bits, under a key that stays where it was
made. The same name has the same pseudonym in every recording made with that key. Without the key, a guessed name cannot
be tested.

``RecordedTable`` is the file ``recorded.toml`` in an engine's folder: a list of what may be recorded. All else is left
out: a query that is not listed loses its whole answer, and a value that is not of its column's kind is dropped.

``RealNames`` puts names back, for the person who made the recording. A pseudonym leads to no name, so the names are
noted next to the key and stay there with it.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal
from enum import StrEnum
from functools import cache
from importlib.resources import files
from ipaddress import ip_address
from typing import Any, Protocol

from connectors.kit.contract import Row, Values

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


_NUMERAL = re.compile(r"\s*[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?\s*")
SOME_TEXT = "?"  # in the place of a text that is never recorded
ELSEWHERE = "192.0.2.1"  # an address of documentation (RFC 5737), in the place of a server's own
HERE = "127.0.0.1"


class Kind(StrEnum):
    """What a column or a parameter holds."""

    NUMBER = "number"  # sizes, counters, seconds, ids, truth values
    TIME = "time"
    WORD = "word"  # of the engine's own vocabulary: a state, a version, a statistic
    NAME = "name"  # one identifier
    NAMES = "names"  # identifiers and numbers in lists
    KEY = "key"  # identifiers joined by dots
    PATH = "path"  # a file, a folder, a disk group
    ADDRESS = "address"  # of a machine: only whether it is this one
    TEXT = "text"  # definitions, borders, values: only whether there is one


@dataclass(frozen=True, slots=True)
class RecordedColumn:
    """One column or parameter."""

    name: str
    kind: Kind


class ValueRefused(ValueError):
    """A value is not of the kind that the table says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedTable:
    """What may be recorded of one engine."""

    queries: Mapping[str, tuple[RecordedColumn, ...]]
    parameters: Mapping[str, tuple[RecordedColumn, ...]] = field(default_factory=dict)
    not_recorded: Mapping[str, str] = field(default_factory=dict)  # query -> why not
    settings: Mapping[str, Kind] = field(default_factory=dict)  # of the connection
    stand_ins: Mapping[str, Any] = field(default_factory=dict)  # settings that cannot be missing
    vendor: frozenset[str] = frozenset()  # names that are the engine's own
    vendor_patterns: tuple[str, ...] = ()  # regular expressions of names that the engine makes up

    def rows(self, query: str, rows: Sequence[Row], names: Names) -> tuple[list[Row], frozenset[str]]:
        """The rows as they may be recorded, and the columns in which a value was dropped.

        Raises:
            Refused: there are more or fewer columns than the table has; nothing of it may be recorded.
        """
        columns, dropped = self.queries[query], set()
        kept = []
        for row in rows:
            # A wrong number of columns refuses all of it: shifted by one, names would be recorded as words.
            if len(row) != len(columns):
                raise ValueRefused(f"{query} has {len(row)} columns, and its table {len(columns)}")
            values = []
            for column, value in zip(columns, row, strict=True):
                try:
                    values.append(_keep(column.kind, value, names))
                except ValueRefused:
                    # One value that is not of its kind might be a name: it is dropped, and the rest of the row is kept.
                    values.append(None)
                    dropped.add(f"{query}.{column.name}")
            kept.append(tuple(values))
        return kept, frozenset(dropped)

    def column_names(self) -> dict[str, list[str]]:
        """The columns of each query in their order, for the head of a recording: a later version may have others."""
        return {query: [column.name for column in columns] for query, columns in self.queries.items()}

    def adapt(self, query: str, rows: Sequence[Row], names: Sequence[str]) -> list[Row]:
        """Rows that were recorded with those columns as this version has them: by name, None where there was none."""
        wanted = [column.name for column in self.queries.get(query, ())]
        if wanted == list(names) or not wanted:
            return list(rows)
        places = [names.index(name) if name in names else -1 for name in wanted]
        return [tuple(None if place < 0 else row[place] for place in places) for row in rows]

    def values(self, query: str, values: Values, names: Names) -> Values:
        """Parameters as they may be recorded.

        Raises:
            Refused: the table does not list them, or as something else.
        """
        columns = self.parameters.get(query, ())
        if len(columns) != len(values):
            raise ValueRefused(f"{query} has {len(values)} parameters, and its table {len(columns)}")
        return tuple(_keep(column.kind, value, names) for column, value in zip(columns, values, strict=True))

    def connection(self, settings: Mapping[str, Any], names: Names) -> dict[str, Any]:
        """Of the settings of a connection those that may be recorded."""
        kept = {
            key: _keep_all(self.settings[key], value, names) for key, value in settings.items() if key in self.settings
        }
        return {**self.stand_ins, **kept}


@cache
def table_of(engine: str) -> RecordedTable | None:
    """The table of an engine; None: it cannot be recorded."""
    try:
        text = (files(f"connectors.{engine}") / "recorded.toml").read_text(encoding="utf-8")
    except (ModuleNotFoundError, FileNotFoundError):
        return None
    found = tomllib.loads(text)
    return RecordedTable(
        queries={name: _columns(listed) for name, listed in found["queries"].items()},
        parameters={name: _columns(listed) for name, listed in found.get("parameters", {}).items()},
        not_recorded=found.get("not_recorded", {}),
        settings={name: Kind(kind) for name, kind in found.get("settings", {}).items()},
        stand_ins=found.get("stand_ins", {}),
        vendor=frozenset(found.get("vendor", ())),
        vendor_patterns=tuple(found.get("vendor_patterns", ())),
    )


def _columns(listed: str) -> tuple[RecordedColumn, ...]:
    """``number: reads writes; name: space`` would lose the order: each column is written as ``name:kind``."""
    pairs = (entry.rpartition(":") for entry in listed.split())
    return tuple(RecordedColumn(name, Kind(kind)) for name, _, kind in pairs)


def _keep(kind: Kind, value: Any, names: Names) -> Any:  # noqa: ANN401  # whatever a driver gives
    """One value as it may be recorded.

    Raises:
        Refused: it is not of that kind.
    """
    if value is None:
        return None
    match kind:
        case Kind.NUMBER if isinstance(value, list):
            return [_keep(kind, item, names) for item in value]
        case Kind.NUMBER if isinstance(value, bool | int | float | Decimal) or _is_numeral(value):
            return value
        case Kind.TIME if isinstance(value, date | timedelta):
            return value
        case Kind.WORD if isinstance(value, str | bool | int | float | Decimal):
            return value
        case Kind.NAMES if isinstance(value, list | tuple):
            return [_keep(kind, item, names) for item in value]
        case Kind.NAMES if isinstance(value, int | float | Decimal):
            return value
        case Kind.NAME | Kind.NAMES if isinstance(value, str):
            return names.name(value)
        case Kind.KEY if isinstance(value, str):
            return names.key(value)
        case Kind.PATH if isinstance(value, str):
            return names.path(value)
        case Kind.ADDRESS if isinstance(value, str):
            # Whether the server is this machine decides how a replay reads its room; which other machine it is decides
            # nothing.
            return value and (HERE if _is_loopback(value) else ELSEWHERE)
        case Kind.TEXT:
            return SOME_TEXT if value != "" else ""
    raise ValueRefused(f"a {type(value).__name__} is no {kind}")


def _keep_all(kind: Kind, value: Any, names: Names) -> Any:  # noqa: ANN401  # whatever YAML holds
    """The same of each value of a list or mapping, whose keys are names."""
    if isinstance(value, Mapping):
        return {names.name(str(key)): _keep_all(kind, item, names) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_keep_all(kind, item, names) for item in value]
    return _keep(kind, value, names)


def _is_numeral(value: object) -> bool:
    return isinstance(value, str) and _NUMERAL.fullmatch(value) is not None


def _is_loopback(text: str) -> bool:
    try:
        return ip_address(text).is_loopback
    except ValueError:
        return False


_PSEUDONYM = re.compile(r"(?P<before>[\"\[/\\+]?)\b(?P<token>n[0-9a-f]{16}|N[0-9A-F]{16})\b(?P<after>[\"\]/\\]?)")
_BARE_PSEUDONYM = {
    "n": re.compile(r"[a-z_][a-z0-9_]*"),
    "N": re.compile(r"[A-Z_][A-Z0-9_$#]*"),
}  # by the case of the pseudonym
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
        if (before, token[0]) == ('"', "N") and _BARE_PSEUDONYM["n"].fullmatch(name):
            return name  # without letters: only its pseudonym had to be quoted
        if (before, after) in _ENCLOSED:
            end = _ENCLOSED[before, after]
            return f"{before}{name.replace(end, end * 2)}{after}"
        in_path = before in {"/", "\\", "+"} or after in {"/", "\\"}
        if not in_path and not _BARE_PSEUDONYM[token[0]].fullmatch(name):
            name = '"' + name.replace('"', '""') + '"'
        return f"{before}{name}{after}"
