"""How PostgreSQL is proved: the texts of this folder, and the session that runs them.

The session of ``hotplace lab prove``: it makes, reads, compares and drops what is in the scratch schema.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from importlib.resources import files

import psycopg
from psycopg import sql

from connectors.kit.contract import Clock, ConnectorError
from connectors.kit.proving import OwnReads, Row, Scratch, first_words
from connectors.kit.settings import answer_seconds
from connectors.postgresql.errors import connection_broke, outcome_unknown, translate
from connectors.postgresql.sampler import KNOWS_CONTEXTS, foreground_for, query_for
from connectors.postgresql.sessions import OF_QUERIES, milliseconds, open_connection
from connectors.postgresql.settings import PostgresqlSettings

OF_EXTENSION = "extension_schema."
# Whose table and column are put in when they are asked.
OF_ANY_TABLE = frozenset({"split_rows", "border_values", "border_times"})
OF_SOME_VERSIONS = frozenset({"roles", "roles_14", "roles_16", "foreground", "foreground_14", "scans"})
trim = str  # questions are asked as they stand
COPY = re.compile(r"\ACOPY \(\n(?P<query>.*)\n\) TO STDOUT \(FORMAT binary\)\Z", re.DOTALL)
PARAMETER = re.compile(r"%\(\w+\)s|\$\d+")  # ours, and those of a text that a step runs on its own


def queries() -> Mapping[str, str]:
    """Each query of the connector as one that gives no row and so does nothing, but names every column and function.

    Not those of extensions, which a server may lack and whose schema the proving session does not look in: the doctor
    says whether they are there. Nor those of a table that is not known before it is asked.
    """
    folder = files("connectors.postgresql") / "sql"
    names = sorted(each.name.removesuffix(".sql") for each in folder.iterdir() if each.name.endswith(".sql"))
    own = {name: (folder / f"{name}.sql").read_text(encoding="utf-8") for name in names if name not in OF_ANY_TABLE}
    return {name: describing(text) for name, text in own.items() if OF_EXTENSION not in text}


def of_other_versions(version: tuple[int, ...]) -> frozenset[str]:
    """Queries that servers of other major versions are asked.

    >>> sorted(of_other_versions((18, 4)))
    ['foreground_14', 'roles_14', 'roles_16']
    >>> sorted(of_other_versions((14, 23)))
    ['foreground', 'roles', 'roles_16', 'scans']
    """
    number = version[0] * 10000
    others = OF_SOME_VERSIONS - {query_for(number), foreground_for(number)}
    return others - {"scans"} if number >= KNOWS_CONTEXTS else others


def describing(query: str) -> str:
    r"""The query in one that takes no row of it, each parameter NULL.

    >>> describing("-- Head.\nSELECT %(key)s::text AS k")
    'SELECT * FROM (SELECT NULL::text AS k) AS q LIMIT 0'
    """
    body = "\n".join(line for line in query.splitlines() if not line.startswith("--")).strip()
    found = COPY.match(body)
    inner = PARAMETER.sub("NULL", found["query"] if found else body).replace("%%", "%")
    return f"SELECT * FROM ({inner}) AS q LIMIT 0"  # noqa: S608  # the connector's own text


def own_reads(rows: Sequence[Row]) -> OwnReads:
    """Of the result of EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON): of the executor, without what the planner read.

    >>> own_reads([([{"Plan": {"Shared Read Blocks": 7, "Shared I/O Read Time": 2.5}}],)])
    OwnReads(blocks=7.0, seconds=0.0025)
    """
    plan = rows[0][0][0]["Plan"]
    # Until 16 the time is called by its short name; without track_io_timing there is none.
    milliseconds_read = plan.get("Shared I/O Read Time", plan.get("I/O Read Time", 0.0))
    return OwnReads(blocks=float(plan["Shared Read Blocks"]), seconds=float(milliseconds_read) / 1000)


def names(scratch: Scratch) -> dict[str, str]:
    """Identifiers as the catalog's keys have them: quoted only where they must be."""
    return {
        "schema": quote_identifier(scratch.schema),
        "slow": quote_identifier(scratch.slow),
        "fast": quote_identifier(scratch.fast),
        "literal": literal(scratch.schema),
        "spelled": literal(quote_identifier(scratch.schema)),
    }


def quote_identifier(name: str) -> str:
    """An identifier by the rule of ``quote_ident``, but for keywords: ``ask/schema.sql`` refuses those.

    >>> quote_identifier("scratch_1"), quote_identifier("Scratch")
    ('scratch_1', '"Scratch"')
    """
    return name if re.fullmatch(r"[a-z_][a-z0-9_]*", name) else sql.Identifier(name).as_string(None)


def literal(text: str) -> str:
    """A string of SQL, quoted by the driver."""
    return sql.Literal(text).as_string(None)


PATIENCE_SECONDS = 10.0  # for a lock: a read may wait for a move of ours, never for long


class PostgresqlProofSession:
    """One connection in autocommit."""

    def __init__(self, settings: PostgresqlSettings, _clock: Clock) -> None:
        """Connect.

        Raises:
            CannotConnect: or what else connecting raises.
        """
        limit = max(60.0, settings.statement_timeout)
        options = {
            **OF_QUERIES,
            "statement_timeout": milliseconds(limit),
            "lock_timeout": milliseconds(PATIENCE_SECONDS),
        }
        self._connection = open_connection(settings, name="hotplace lab prove", options=options)
        self._connection.patience_seconds = answer_seconds(limit)

    def run(self, statement: str) -> None:
        """Carry out one statement; in autocommit it is committed."""
        self._execute(statement)

    def rows(self, statement: str) -> list[Row]:
        """The result of a query."""
        return self._execute(statement).fetchall()

    def hold(self, statement: str) -> None:
        """Begin a transaction with the statement and leave it open."""
        self._execute("BEGIN")
        self._execute(statement)

    def let_go(self) -> None:
        """Roll back; harmless without a transaction."""
        try:
            self._connection.rollback()
        except psycopg.Error as error:
            raise self._error(error, "rolling back") from error

    def close(self) -> None:
        """End the session."""
        self._connection.close()

    def _execute(self, statement: str) -> psycopg.Cursor[Row]:
        try:
            return self._connection.execute(statement.encode())
        except psycopg.Error as error:
            raise self._error(error, first_words(statement)) from error

    def _error(self, error: psycopg.Error, doing: str) -> ConnectorError:
        lost = connection_broke(error, self._connection)
        return outcome_unknown(error, doing) if lost else translate(error, doing)


open_session = PostgresqlProofSession
