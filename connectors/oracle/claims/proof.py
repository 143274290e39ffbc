"""How Oracle is proved: the texts of this folder, and the session that runs them.

The session of ``hotplace lab prove``: it makes, reads, compares and drops what is in the scratch schema.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from importlib.resources import files

from connectors.kit.contract import Clock
from connectors.kit.proving import OtherSettings, Row, Scratch, without_head
from connectors.oracle.catalog import place_of
from connectors.oracle.driver import connection_broke, load_driver, outcome_unknown, translate
from connectors.oracle.names import plain
from connectors.oracle.sessions import end, open_connection, probe
from connectors.oracle.settings import OracleSettings

trim = without_head  # of questions; their heads would stay in the server's cache of statements
LICENSED = frozenset({"ado", "awr", "awr_container"})  # of packs and options: not asked, not even for no row
CONTAINERS, CLOUDS = (12, 1), (18,)  # since which release there are such views
OF_CONTAINERS = frozenset(
    {"container", "epoch_container", "epoch_one_container", "system_container", "roles_container", "units"}
)
BIND = re.compile(r"'[^']*'|:(\w+)")


def queries() -> Mapping[str, str]:
    """Each query of the connector that needs no licence as one that gives no row, its binds NULL; no PL/SQL."""
    folder = files("connectors.oracle") / "sql"
    names = sorted(each.name.removesuffix(".sql") for each in folder.iterdir() if each.name.endswith(".sql"))
    texts = {name: describing(probe(name)) for name in names if name not in LICENSED}
    return {name: text for name, text in texts.items() if "BEGIN" not in text}


def of_other_versions(version: tuple[int, ...]) -> frozenset[str]:
    """Queries that servers of other releases are asked.

    >>> sorted(of_other_versions((12, 2)))
    ['cloud']
    """
    before_containers = OF_CONTAINERS if version < CONTAINERS else frozenset()
    return before_containers | (frozenset({"cloud"}) if version < CLOUDS else frozenset())


def describing(query: str) -> str:
    """The query with each bind NULL.

    >>> describing("SELECT ':a' FROM T WHERE K = :key")
    "SELECT ':a' FROM T WHERE K = NULL"
    """
    return BIND.sub(lambda found: "NULL" if found[1] else found[0], query)


def literal(text: str) -> str:
    """A string of SQL.

    >>> literal("it's")
    "'it''s'"
    """
    doubled = text.replace("'", "''")
    return f"'{doubled}'"


def names(scratch: Scratch) -> dict[str, str]:
    """Names as the keys of units have them; ``owner`` as DBMS_STATS takes it, which reads quotes."""
    return {
        "schema": plain(scratch.schema),
        "slow": plain(scratch.slow),
        "fast": plain(scratch.fast),
        "literal": literal(scratch.schema),
        "key": literal(plain(scratch.schema)),
        "owner": literal(plain(scratch.schema)),
        "throw": plain(scratch.throw_away),
        "throw literal": literal(scratch.throw_away),
        "given": "1" if scratch.throw_away else "0",
    }


def set_up(_: str, scratch: Scratch, paths: Sequence[str]) -> OtherSettings:
    """``files``: the tablespace that is given away, from its folder or disk group to another by its data files.

    >>> scratch = Scratch(schema="s", slow="a", fast="b", throw_away="T", to_folder="/new")
    >>> set_up("files", scratch, ["/old/t01.dbf"])
    OtherSettings(settings={'move_by': 'tablespace', 'places': ('/new', '/old')}, slow='/old', fast='/new')
    """
    here = place_of(paths[0])
    places = (scratch.to_folder, here)
    return OtherSettings(settings={"move_by": "tablespace", "places": places}, slow=here, fast=scratch.to_folder)


SHOWN = 50  # characters of a statement that failed
PATIENCE_SECONDS = 10  # for a lock of DDL: what is dropped may be used for a moment, never for long


class OracleProofSession:
    """One connection that commits each statement, but what it holds."""

    def __init__(self, settings: OracleSettings, _clock: Clock) -> None:
        """Connect.

        Raises:
            CannotConnect: or what else connecting raises.
        """
        self._driver = load_driver(settings)
        self._connection = open_connection(self._driver, settings, action="prove")
        self._driver.limit_calls(self._connection, max(60.0, settings.statement_timeout))
        self._connection.autocommit = True
        self.run(f"ALTER SESSION SET DDL_LOCK_TIMEOUT = {PATIENCE_SECONDS}")

    def run(self, statement: str) -> None:
        """Carry out one statement, committed."""
        self._execute(statement)

    def rows(self, statement: str) -> list[Row]:
        """The result of a query."""
        return self._execute(statement)

    def hold(self, statement: str) -> None:
        """Run the statement in a transaction that is left open."""
        self._connection.autocommit = False
        self._execute(statement)

    def let_go(self) -> None:
        """Roll back; harmless without a transaction."""
        try:
            self._connection.rollback()
        except self._driver.error as error:
            raise translate(error, "rolling back") from error
        self._connection.autocommit = True

    def close(self) -> None:
        """End the session; what it holds is rolled back."""
        end(self._driver, self._connection)

    def _execute(self, statement: str) -> list[Row]:
        try:
            with self._connection.cursor() as cursor:
                return cursor.fetchall() if cursor.execute(statement) is not None else []
        except self._driver.error as error:
            words = " ".join(statement.split())
            doing = words if len(words) <= SHOWN else f"{words[:SHOWN]}..."
            raise (outcome_unknown if connection_broke(error) else translate)(error, doing) from error


open_session = OracleProofSession
