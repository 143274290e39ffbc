"""What this server is and has: release, edition, options, container. It decides which queries and routes fit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from connectors.oracle.session.queries import query
from connectors.oracle.session.sessions import ReadSession

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
        """COMPATIBLE, which an upgrade leaves as it was; the release where it is not told."""
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
