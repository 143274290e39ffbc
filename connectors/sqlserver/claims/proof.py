"""How SQL Server is proved: the texts of this folder, and the session that runs them.

The session of ``hotplace lab prove``: it makes, reads, compares and drops what is in the scratch schema.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files

import pyodbc

from connectors.kit.contract import Clock, ConnectorError
from connectors.kit.proving import FILES, OtherSettings, Row, Scratch, first_words
from connectors.sqlserver.catalog import folder_of
from connectors.sqlserver.keys import quote
from connectors.sqlserver.sessions import (
    NEWEST,
    close_quietly,
    connection_broke,
    diagnose,
    fetch,
    lock_timeout_statement,
    open_connection,
    outcome_unknown,
    query,
    query_names,
    translate,
    whole_seconds,
)
from connectors.sqlserver.settings import SqlserverSettings

trim = str  # questions are asked as they stand
OLDEST = 11  # 2012
MAJORS = {"2012": 11, "2014": 12, "2016": 13, "2017": 14, "2019": 15, "2022": 16, "2025": 17}
_SINCE = re.compile(r"Since: (\d{4})")
_GATE = re.compile(r"--@(\d+) ")


def queries() -> Mapping[str, str]:
    """Each query of the connector, as each range of versions is asked it, for the server to describe and not to run."""
    found = ((label, query(name, versions.start)) for name in sorted(query_names()) for label, versions in _forms(name))
    return {label: describing(text) for label, text in found}


def of_other_versions(version: tuple[int, ...]) -> frozenset[str]:
    """Queries that servers of other major versions are asked.

    >>> sorted(name for name in of_other_versions((13, 0)) if name.startswith("query"))
    ['query_store']
    """
    forms = (form for name in query_names() for form in _forms(name))
    return frozenset(label for label, versions in forms if version[0] not in versions)


def describing(text: str) -> str:
    """A call that names the columns of the query's result and runs nothing; every parameter is text.

    >>> describing("SELECT 1 WHERE N'x' = ?")
    "EXEC sys.sp_describe_first_result_set @tsql = N'SELECT 1 WHERE N''x'' = @P1', @params = N'@P1 nvarchar(4000)'"
    """
    first, *others = text.split("?")  # no query has one in a string
    numbered = first + "".join(f"@P{number}{part}" for number, part in enumerate(others, start=1))
    parameters = ", ".join(f"@P{number} nvarchar(4000)" for number in range(1, len(others) + 1))
    wanted = f", @params = {literal(parameters)}" if parameters else ""
    return f"EXEC sys.sp_describe_first_result_set @tsql = {literal(numbered)}{wanted}"


def _forms(name: str) -> Iterator[tuple[str, range]]:
    """Each form that a query has, with the major versions that are asked it; the cloud is as the newest."""
    text = (files("connectors.sqlserver") / "sql" / f"{name}.sql").read_text(encoding="utf-8")
    since = _SINCE.search(text)
    first = MAJORS[since[1]] if since else OLDEST
    starts = [first, *sorted({int(gate) for gate in _GATE.findall(text) if int(gate) > first})]
    for start, end in zip(starts, [*starts[1:], NEWEST + 1], strict=True):
        if len(starts) == 1:
            yield name, range(start, end)
        else:
            yield f"{name} of {start}" + ("" if end > NEWEST else f" to {end - 1}"), range(start, end)


PARTITIONED = ("", "switched", "emptied", "guarded")  # cases that have a partition function; "": the first of them


def names(scratch: Scratch) -> dict[str, str]:
    """Identifiers in brackets, and as literals of SQL."""
    own = {
        kind: {case: "_".join(filter(None, ("prove", scratch.schema, case, kind[0]))) for case in PARTITIONED}
        for kind in ("function", "scheme")
    }
    return {
        "schema": quote(scratch.schema),
        "slow": quote(scratch.slow),
        "fast": quote(scratch.fast),
        "literal": literal(scratch.schema),
        **{f"{kind} {case}".strip(): quote(name) for kind, made in own.items() for case, name in made.items()},
        **{f"{kind} names": ", ".join(map(literal, made.values())) for kind, made in own.items()},
        "throw": quote(scratch.throw_away),
        "throw literal": literal(scratch.throw_away),
        "given": "1" if scratch.throw_away else "0",
    }


def set_up(name: str, scratch: Scratch, paths: Sequence[str]) -> OtherSettings:
    r"""``switched``: filled partitions by copy and SWITCH; ``files``: the filegroup that is given away, by its files.

    >>> scratch = Scratch(schema="s", slow="a", fast="b", throw_away="f", to_folder="S:/new/")
    >>> set_up("files", scratch, ["D:/f.ndf"]).settings
    {'move_by': 'filegroup', 'disks': {'from': 'D:/', 'to': 'S:/new/'}}
    """
    if name != FILES:
        return OtherSettings(settings={"partitions": name}, slow=scratch.slow, fast=scratch.fast)
    disks = {"from": folder_of(paths[0]), "to": scratch.to_folder}
    return OtherSettings(settings={"move_by": "filegroup", "disks": disks}, slow="from", fast="to")


def literal(text: str) -> str:
    """A string of SQL in Unicode."""
    doubled = text.replace("'", "''")
    return f"N'{doubled}'"


LEAST_SECONDS = 60.0  # that a statement may take
PATIENCE_SECONDS = 10.0  # for a lock: a read may wait for a move of ours, never for long


class SqlserverProofSession:
    """One connection in autocommit."""

    def __init__(self, settings: SqlserverSettings, _clock: Clock) -> None:
        """Connect.

        Raises:
            CannotConnect: or what else connecting raises.
        """
        self._connection = open_connection(settings, name="hotplace lab prove")
        self._connection.timeout = whole_seconds(max(LEAST_SECONDS, settings.statement_timeout))
        self._closed = False
        self.run(lock_timeout_statement(PATIENCE_SECONDS))

    def run(self, statement: str) -> None:
        """Carry out one statement; in autocommit it is committed."""
        self.rows(statement)

    def rows(self, statement: str) -> list[Row]:
        """The result of a query."""
        try:
            return fetch(self._connection, statement, ())
        except pyodbc.Error as error:
            raise self._error(error, first_words(statement)) from error

    def hold(self, statement: str) -> None:
        """Begin a transaction with the statement and leave it open."""
        self.run("BEGIN TRANSACTION")
        self.run(statement)

    def let_go(self) -> None:
        """Roll back; harmless without a transaction."""
        self.run("IF @@TRANCOUNT > 0 ROLLBACK TRAN")

    def close(self) -> None:
        """End the session; harmless the second time."""
        if not self._closed:
            self._closed = True
            close_quietly(self._connection)

    def _error(self, error: pyodbc.Error, doing: str) -> ConnectorError:
        found = diagnose(error)
        lost = self._closed or connection_broke(found)
        return outcome_unknown(found, doing) if lost else translate(found, doing)


open_session = SqlserverProofSession
