"""How Db2 is proved: the texts of this folder, and the session that runs them.

How Db2 is proved: the texts of this folder with the scratch schema's names in them.

The session of ``hotplace lab prove``: it makes, reads, compares and drops what is in the scratch schema.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from importlib.resources import files

from connectors.db2.errors import diagnosis_of, outcome_unknown, translate
from connectors.db2.names import literal, readable
from connectors.db2.sessions import DriverError, close_quietly, fetch, open_connection, query, send
from connectors.db2.settings import Db2Settings
from connectors.kit.contract import Clock, ConnectorError, StatementFailed
from connectors.kit.proving import Row, Scratch, first_words, without_head

trim = without_head  # of questions
OLDEST = (9, 7)
# The lease is taken and the first move makes the protocol's table: neither can be described on a new database.
NOT_OF_THE_CATALOG = frozenset({"begin", "lease_take", "lease_alive", "move_protocol", "unfinished_moves"})
NO_SUCH_NAME = "'no such name'"  # of what each query is asked about
_SINCE = re.compile(r"-- since (\d+)\.(\d+), ")
_LINE = re.compile(r"(?P<before>.*?)\w+\.(?P<column>\w+)(?P<comma>,?)\s*-- since (?P<version>[\d.]+), (?P<type>.+)")
_NUMBER = re.compile(r"CAST\(\? AS INTEGER\)|(?<=\bSTMTID = )\?")  # a server compares no number with a name
_UNCOMMITTED = re.compile(r"\s+WITH UR\s*$")

Version = tuple[int, ...]


def queries() -> Mapping[str, str]:
    """Each query of the connector, as each range of versions is asked it, so that it gives no row."""
    return {label: describing(name, first) for name in _query_names() for label, first, _ in _forms(name)}


def of_other_versions(version: Version) -> frozenset[str]:
    """Queries that servers of other versions are asked.

    >>> sorted(name for name in of_other_versions((10, 1)) if name.startswith("table of"))
    ['table of 10.5', 'table of 9.7']
    """
    forms = (form for name in _query_names() for form in _forms(name))
    return frozenset(label for label, first, after in forms if not first <= version[:2] < after)


def describing(name: str, version: Version) -> str:
    """The query with every column that this version has, about a name that nothing has.

    >>> print(describing("version", (11, 5)))
    SELECT * FROM (SELECT MAX(V.VERSIONNUMBER)
      FROM SYSIBM.SYSVERSIONS AS V) AS Q WHERE 1 = 0
    >>> describing("statement_texts", (11, 5)).splitlines()[-2]
    ' WHERE S.STMTID = 0'
    """
    text = "\n".join(_fit_line(line, version) for line in query(name).text.splitlines())
    named = _NUMBER.sub("0", _UNCOMMITTED.sub("", text)).replace("?", NO_SUCH_NAME)
    return f"SELECT * FROM ({named}) AS Q WHERE 1 = 0"  # noqa: S608  # our own file


def _fit_line(line: str, version: Version) -> str:
    found = _LINE.fullmatch(line)
    if found is None or _version(found["version"]) <= version:
        return line.partition(" -- since ")[0]
    return f"{found['before']}CAST(NULL AS {found['type']}) AS {found['column']}{found['comma']}"


def _forms(name: str) -> Iterator[tuple[str, Version, Version]]:
    """Each form that a query has: label, the version that it begins with, and the one that is asked the next form."""
    later = sorted({_version(f"{major}.{minor}") for major, minor in _SINCE.findall(query(name).text)})
    starts = [OLDEST, *(version for version in later if version > OLDEST)]
    for start, after in zip(starts, [*starts[1:], (99, 0)], strict=True):
        yield name if len(starts) == 1 else f"{name} of {'.'.join(map(str, start))}", start, after


def _version(text: str) -> Version:
    return tuple(int(part) for part in text.split("."))


def _query_names() -> list[str]:
    folder = files("connectors.db2") / "sql"
    names = {each.name.removesuffix(".sql") for each in folder.iterdir() if each.name.endswith(".sql")}
    return sorted(names - NOT_OF_THE_CATALOG)


def names(scratch: Scratch) -> dict[str, str]:
    """Identifiers as the keys of units have them, and as literals of SQL."""
    return {
        "schema": readable(scratch.schema),
        "slow": readable(scratch.slow),
        "fast": readable(scratch.fast),
        "literal": literal(scratch.schema),
        "key": literal(readable(scratch.schema)),
        "slow literal": literal(scratch.slow),
    }


LEAST_SECONDS = 60.0  # that a statement may take
PATIENCE_SECONDS = 10  # for a lock: a read may wait for a move of ours, never for long


class Db2ProofSession:
    """One connection in autocommit."""

    def __init__(self, settings: Db2Settings, _clock: Clock) -> None:
        """Connect.

        Raises:
            StatementFailed: by these settings what moves is no single table.
            CannotConnect: or what else connecting raises.
        """
        if settings.by_group:
            raise StatementFailed(
                f"prove moves single tables between two table spaces, and move_by is {settings.move_by}",
                advice="Give prove a configuration with `move_by: table`, whose tiers name table spaces.",
            )
        seconds = max(LEAST_SECONDS, settings.query_timeout)
        self._connection = open_connection(settings, statement_seconds=seconds)
        self._closed = False
        self.run(f"SET CURRENT LOCK TIMEOUT {PATIENCE_SECONDS}")

    def run(self, statement: str) -> None:
        """Carry out one statement; in autocommit it is committed."""
        try:
            send(self._connection, statement)
        except DriverError as error:
            raise self._error(error, statement) from error

    def rows(self, statement: str) -> list[Row]:
        """The result of a query; none of a statement that has no result."""
        if not statement.lstrip().upper().startswith("SELECT"):
            self.run(statement)
            return []
        try:
            return fetch(self._connection, statement)
        except DriverError as error:
            raise self._error(error, statement) from error

    def hold(self, statement: str) -> None:
        """Run the statement in a transaction that is left open."""
        self._connection.set_autocommit(False)
        self.run(statement)

    def let_go(self) -> None:
        """Roll back; harmless without a transaction."""
        try:
            self._connection.rollback()
        except DriverError as error:
            raise self._error(error, "rolling back") from error
        self._connection.set_autocommit(True)

    def close(self) -> None:
        """End the session; harmless the second time."""
        if not self._closed:
            self._closed = True
            close_quietly(self._connection)

    def _error(self, error: DriverError, statement: str) -> ConnectorError:
        found = diagnosis_of(error)
        lost = self._closed or found.broke
        return (outcome_unknown if lost else translate)(found, first_words(statement))


open_session = Db2ProofSession
