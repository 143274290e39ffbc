"""Sessions with Oracle: queries, how sessions are opened, what the server is, and its instances.

``query`` loads a statement from its file. ``open_connection`` opens a session under the names by which a DBA knows it,
and ``ReadSession`` is one that cannot write.

``Server`` holds release, edition, options and container, which decide the queries and routes that fit.

``Instances`` reads the counters of every instance of a cluster. GV$ views answer for all instances over one session, by
query servers on each. Where those cannot start (ORA-12850, or ORA-12801 around it), each instance is asked over a
session of its own, which reads the V$ views. Both ways return the same: rows of all instances, to be summed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from importlib.resources import files
from typing import Any

from connectors.kit.contract import CannotConnect, ConnectorError, StatementFailed, Tap
from connectors.kit.sessions import BrokenConnection, RetryingSession, TakesTooLong, abandonable
from connectors.kit.settings import answer_seconds
from connectors.oracle.driver import (
    Driver,
    DriverConnection,
    cannot_connect,
    code_of,
    connection_broke,
    no_answer,
    translate,
)
from connectors.oracle.settings import OracleSettings

_VIEW = re.compile(r"\b(?:FROM|JOIN)\s+SYS\.([A-Z][A-Z0-9_$]*)\s+[A-Z]\b")
_STRING = re.compile(r"'[^']*'")


@cache
def query(name: str) -> str:
    """The text of ``sql/<name>.sql`` without its head of comment lines, which Oracle would keep in its cursor cache."""
    text = (files("connectors.oracle") / "sql" / f"{name}.sql").read_text(encoding="utf-8")
    return "\n".join(line for line in text.splitlines() if not line.startswith("--"))


@cache
def of_one_instance(name: str) -> str:
    """The same query over V$ views: what the instance of the session itself counts."""
    return query(name).replace("SYS.GV_$", "SYS.V_$")


PROBE = "probe"  # a question for no row: parsed, and privileges checked
_PROBE = ("SELECT COUNT(*) FROM", "WHERE 1 = 0")


@cache
def name_of(statement: str) -> str:
    """The name of the query of that text, "" of none; asked of one instance it has the same name.

    Whatever asks for no row (``probe``, ``probe_view``) is a PROBE.
    """
    if statement.startswith(_PROBE[0]) and statement.endswith(_PROBE[1]):
        return PROBE
    folder = files("connectors.oracle") / "sql"
    names = [entry.name.removesuffix(".sql") for entry in folder.iterdir() if entry.name.endswith(".sql")]
    return next((name for name in names if statement in {query(name), of_one_instance(name)}), "")


def views_of(name: str) -> tuple[str, ...]:
    """The views that a query reads, in order of first use, as people call them: V$BH of SYS.V_$BH.

    Queries name each with its owner: by the bare name a table of the session's own schema, or a public synonym that
    a user has made, could be found in its place.
    """
    found = _VIEW.findall(_STRING.sub("", query(name)))
    return tuple(dict.fromkeys(re.sub(r"^(G?V)_\$", r"\1$", view) for view in found))


def probe_view(view: str) -> str:
    """A query of nothing but that view, asking for no row; the name is one of ``views_of``."""
    return " ".join((_PROBE[0], granted_on(view), _PROBE[1]))


def granted_on(view: str) -> str:
    """What a grant for that view names: ``SYS.GV_$SEGSTAT`` of GV$SEGSTAT, which is only a synonym (ORA-02030)."""
    return "SYS." + re.sub(r"^(G?V)\$", r"\1_$", view)


def probe(name: str) -> str:
    """The same query asking for no row: it is parsed, and privileges are checked, at no cost."""
    return "\n".join((f"{_PROBE[0]} (", query(name), f") {_PROBE[1]}"))


Row = tuple[Any, ...]
MODULE = "hotplace"
ACTION_CHARACTERS = 32  # of V$SESSION.ACTION up to 11.2; later releases take 64
FETCH_ROWS = 2000  # a round trip; a sample has a row for each segment
_READS = re.compile(r"\s*(SELECT|WITH)\b", re.IGNORECASE)


def open_connection(driver: Driver, settings: OracleSettings, *, action: str) -> DriverConnection:
    """A connection that a DBA recognises by module, action and client identifier.

    Raises:
        AuthenticationFailed: the server does not let this user in.
        CannotConnect: it did not answer, or refused for another reason.
        SecretUnavailable: the password's place is empty.
    """
    try:
        # tcp_connect_timeout of the driver ends with the connection's first packet, not with its last
        connection = abandonable(
            partial(driver.connect, settings),
            lambda late: late.close(),
            seconds=answer_seconds(settings.connect_timeout),
        )
    except TakesTooLong as late:
        raise no_answer(str(late), settings.where()) from None
    except driver.error as error:
        raise cannot_connect(error, settings.where()) from None  # a cause could hold the arguments
    connection.autocommit = False
    connection.module = MODULE
    connection.action = action[:ACTION_CHARACTERS]
    connection.client_identifier = MODULE
    driver.limit_calls(connection, settings.statement_timeout)
    return connection


class ReadSession(RetryingSession[DriverConnection, Exception]):
    """A session that cannot write."""

    _server_log = "the server's alert log"

    def __init__(
        self, driver: Driver, settings: OracleSettings, *, action: str = "watch", tap: Tap | None = None
    ) -> None:
        super().__init__(settings.where(), driver.error, tap)
        self._driver = driver
        self._settings = settings
        self._action = action

    def rows(
        self,
        statement: str,
        values: Mapping[str, object] | None = None,
        *,
        doing: str,
        limit: float | None = None,
    ) -> list[Row]:
        """Every row of a query, read in a transaction that cannot write.

        Args:
            statement: as loaded from a file.
            values: bound by name, never pasted.
            doing: what it is for; begins the message when it fails.
            limit: seconds that it may take, if that is less than ``statement_timeout``.

        Raises:
            StatementFailed: it is no query.
            ConnectorError: a subclass that says what may be done.
        """
        if not _READS.match(statement):
            raise StatementFailed(f"{doing}: a reading session sends queries only", advice="Use a mover.")

        def ask() -> list[Row]:
            return self._with_retry(lambda connection: self._read(connection, statement, values or {}, limit), doing)

        return self._tapped(name_of(statement), tuple((values or {}).values()), ask, doing)

    def _read(
        self, connection: DriverConnection, statement: str, values: Mapping[str, object], limit: float | None
    ) -> list[Row]:
        usual = self._settings.statement_timeout
        self._driver.limit_calls(connection, usual if limit is None else min(limit, usual))
        with connection.cursor() as cursor:
            cursor.arraysize = FETCH_ROWS
            cursor.execute("SET TRANSACTION READ ONLY")
            try:
                cursor.execute(statement, dict(values))
                found = cursor.fetchall()
            finally:
                # Ended even though it only reads: the next SET TRANSACTION has to be the first statement of its
                # transaction (ORA-01453).
                connection.rollback()
        return found

    def _connect(self) -> DriverConnection:
        return open_connection(self._driver, self._settings, action=self._action)

    def _disconnect(self, connection: DriverConnection) -> None:
        end(self._driver, connection)

    def _cancel(self, connection: DriverConnection) -> None:
        with suppress(self._driver.error):  # a session that is gone has nothing to cancel
            connection.cancel()

    def _explain(self, error: Exception, doing: str) -> ConnectorError | BrokenConnection:
        if connection_broke(error):
            return BrokenConnection(native_code=code_of(error))
        return translate(error, doing, reading=True)


def end(driver: Driver, connection: DriverConnection) -> None:
    """Close it; a session that is gone is closed already, and one that was cancelled late may say so now."""
    with suppress(driver.error):
        connection.close()


CONTAINERS_SINCE = (12, 1)
UPDATES_INDEXES = (12, 2)  # of whole tables; of partitions always
JOURNAL_SINCE = (12, 1)  # an online rebuild needs no right to make tables in another schema
JOURNAL_RIGHTS = frozenset({"CREATE ANY TABLE", "CREATE ANY INDEX"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """One database as its own views describe it."""

    version: str
    number: tuple[int, ...]
    product: str
    cluster: bool
    dbid: int
    name: str
    role: str  # PRIMARY, PHYSICAL STANDBY ...
    open_mode: str
    force_logging: bool
    login: str
    proxy: str  # who logged in to act as that one, "" where it is itself
    container: str  # "" where there is none (11.2, or no CDB)
    container_uid: int
    in_cdb: bool
    options: Mapping[str, str]
    parameters: Mapping[str, str]
    segment_statistics: bool
    standbys: int  # archive destinations that feed one
    recovery_bytes: int | None  # room of the recovery area; None: there is none

    @property
    def heat_map(self) -> bool:
        """Whether the database tracks heat, and so may move objects by its own policies (ADO)."""
        return self.parameters.get("heat_map", "OFF").upper() == "ON"

    @property
    def timed(self) -> bool:
        """Whether it measures how long waits and I/Os take."""
        return self.parameters.get("timed_statistics", "").upper() == "TRUE"

    @property
    def processors(self) -> int:
        """Of one instance; 0 where the parameter is not shown."""
        text = self.parameters.get("cpu_count", "")
        return int(text) if text.isdecimal() else 0

    @property
    def online(self) -> bool:
        """Whether this edition does things online; V$OPTION says it of index builds, and the others go with them."""
        return self.has("Online Index Build")

    @property
    def writable(self) -> bool:
        """Whether DDL is possible at all."""
        return self.role == "PRIMARY" and self.open_mode == "READ WRITE"

    @property
    def in_root(self) -> bool:
        """The root of a CDB: no place for a connector, objects do not resolve there."""
        return self.container == "CDB$ROOT"

    def since(self, *number: int) -> bool:
        """Whether the release is that one or later."""
        return self.number >= number

    @property
    def compatible(self) -> tuple[int, ...]:
        """COMPATIBLE, which an upgrade leaves as it was; the release where it is not reported."""
        text = self.parameters.get("compatible", "")
        return version_number(text) if text else self.number

    def allows(self, *number: int) -> bool:
        """Whether release and COMPATIBLE both have what came with that number; else it is ORA-00406."""
        return min(self.number, self.compatible) >= number

    def has(self, option: str) -> bool:
        """Whether the software has the option: no proof that the site has bought it."""
        return self.options.get(option, "FALSE") == "TRUE"

    @property
    def edition(self) -> str:
        """``Enterprise``, ``Standard`` ... as a word."""
        for word in ("Enterprise", "Standard Edition 2", "Standard", "Express", "Free"):
            if word in self.product:
                return word
        return ""


def version_number(version: str) -> tuple[int, ...]:
    """``19.0.0.0.0`` as (19, 0): the first two parts are what the manuals gate by."""
    parts = [int(part) for part in version.split(".")[:2] if part.isdigit()]
    return tuple(parts + [0] * (2 - len(parts)))


def read_server(session: ReadSession) -> Server:
    """Three queries, two before 12.1.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    version, product, parallel, dbid, name, role, mode, forced, login, proxy = session.rows(
        query("identify"), doing="identifying"
    )[0]
    number = version_number(version)
    container: tuple[object, ...] = (0, 0, "", "", "NO")
    if number >= CONTAINERS_SINCE:
        found = session.rows(query("container"), doing="identifying the container")
        container = found[0] if found else container
    in_cdb = container[4] == "YES"
    facts: dict[str, dict[str, str]] = {"option": {}, "parameter": {}, "statistics": {}, "standby": {}, "recovery": {}}
    for kind, key, value in session.rows(query("options"), doing="reading options"):
        facts[kind][key] = str(value)
    return Server(
        version=version,
        number=number,
        product=str(product or ""),
        cluster=parallel == "YES",
        dbid=int(dbid),
        name=name,
        role=role,
        open_mode=mode,
        force_logging=forced == "YES",
        login=login,
        proxy=str(proxy or ""),
        container=str(container[2]) if in_cdb else "",
        container_uid=int(str(container[1])) if in_cdb else 0,
        in_cdb=in_cdb,
        options=facts["option"],
        parameters=facts["parameter"],
        segment_statistics="ENABLED" in facts["statistics"].values(),
        standbys=len(facts["standby"]),
        recovery_bytes=next((int(room) for room in facts["recovery"].values()), None),
    )


NO_QUERY_SERVERS = frozenset({"ORA-12850", "ORA-12801"})
EPOCHS = {"epoch": "epoch_one", "epoch_container": "epoch_one_container"}


class Instances:
    """Asks all instances, over one session as long as that works."""

    def __init__(self, session: ReadSession, driver: Driver, settings: OracleSettings, tap: Tap | None = None) -> None:
        """Opens nothing; sessions to single instances are opened when they are needed."""
        self._session = session
        self._driver = driver
        self._settings = settings
        self._tap = tap
        self._single: dict[str, ReadSession] = {}
        self.one_by_one = False  # query servers could not start

    def rows(
        self, name: str, values: Mapping[str, object] | None = None, *, doing: str, limit: float | None = None
    ) -> list[Row]:
        """Rows of that query of every instance that is up; ``values`` and ``limit``: as of ``ReadSession``.

        Raises:
            ConnectorError: a subclass that says what may be done; an instance that does not answer is not zero.
        """
        if not self.one_by_one:
            try:
                return self._session.rows(query(name), values, doing=doing, limit=limit)
            except ConnectorError as error:
                if error.native_code not in NO_QUERY_SERVERS:
                    raise
                self._go_one_by_one(error)
        text = query(EPOCHS[name]) if name in EPOCHS else of_one_instance(name)
        asked = self._sessions()
        return [row for session in asked for row in session.rows(text, values, doing=doing, limit=limit)]

    def close(self) -> None:
        """End the sessions to single instances."""
        for session in self._single.values():
            session.close()

    def _go_one_by_one(self, error: ConnectorError) -> None:
        if self._settings.dsn:
            raise CannotConnect(
                f"{error}; and a dsn does not tell how to reach each instance",
                advice="Give host, port and service instead of dsn, or let query servers start on every instance.",
                native_code=error.native_code,
            ) from error
        self.one_by_one = True

    def _sessions(self) -> list[ReadSession]:
        """One to each instance that is up now; who has left is forgotten."""
        found = self._session.rows(query("instances"), doing="looking for instances")
        names = [str(name).rpartition(":")[2] for _, name in found]  # some releases put the host before a colon
        for name in self._single.keys() - set(names):
            self._single.pop(name).close()
        for name in names:
            if name not in self._single:
                settings = self._settings.to_instance(name)
                self._single[name] = ReadSession(self._driver, settings, action=f"watch {name}", tap=self._tap)
        return [self._single[name] for name in names]
