"""The emulated database: its model, who may do what, and the levers that tests pull. A tns.backend.Database."""

from __future__ import annotations

import itertools
import threading
from collections import Counter
from collections.abc import Iterator

from tests.labs.oracle.making import forget
from tests.labs.oracle.model import (
    BLOCK,
    UNLIMITED,
    DataFile,
    Index,
    Lob,
    LongOperation,
    Quirks,
    Segment,
    Table,
    Tablespace,
    User,
)
from tests.labs.oracle.session import EmulatedSession
from tests.labs.oracle.views.query import Engine
from tests.labs.oracle.workload import SCAN_BLOCKS, Workload
from tests.labs.tns.backend import Client, OracleError
from tests.labs.tns.backend import Session as WireSession

INITIAL_EXTENT = 64 << 10


class EmulatedDatabase(Workload):
    """One database, one PDB of it where the release has those. Guarded by ``lock``: sessions are threads."""

    def __init__(self, version: tuple[int, ...] = (19, 22, 0, 0, 0), quirks: Quirks = Quirks()) -> None:  # noqa: B008  # frozen, never changed
        super().__init__(quirks)
        self.stop_at = ""  # a statement that has this text stands still, until it is cancelled or this is empty
        self.stopped = threading.Event()  # one is standing
        self.version = version
        self.seconds_per_gb = 0.0  # how long a copy takes
        self.least_seconds = 0.0  # and how long at least
        self.name = "ORCL"
        self.database_id = 1_600_000_001
        self.services = {"orcl", "orclpdb1"}
        self.unreachable: set[str] = set()  # instances that the listener does not reach
        self.options = {
            name: quirks.edition == "EE" and name != "Real Application Clusters"
            for name in (
                *("Partitioning", "Online Index Build", "Online Redefinition", "Parallel execution"),
                *("Advanced Compression", "Real Application Clusters", "Transparent Data Encryption"),
            )
        }
        self.options["Real Application Clusters"] = quirks.instances > 1
        self.parameters = {
            "statistics_level": quirks.statistics_level,
            "timed_statistics": "TRUE",
            "cpu_count": "4",
            "db_block_size": str(BLOCK),
            "db_file_multiblock_read_count": str(SCAN_BLOCKS),
            "ddl_lock_timeout": "0",
            "heat_map": "OFF",
            "compatible": f"{version[0]}.{0 if version >= (18,) else version[1]}.0",
            "control_management_pack_access": "DIAGNOSTIC+TUNING" if quirks.edition == "EE" else "NONE",
            "db_cache_advice": "ON",
            "cluster_database": "TRUE" if quirks.instances > 1 else "FALSE",
        }
        self.users: dict[str, User] = {}
        self.public: set[tuple[str, str]] = set()  # grants to PUBLIC: (privilege, OWNER.OBJECT)
        self.column_grants: set[tuple[str, str, str, str, str]] = set()  # grantee, owner, table, column, privilege
        self.tables: dict[tuple[str, str], Table] = {}
        self.sessions: dict[int, WireSession] = {}
        self.clusters: dict[tuple[str, str], Segment] = {}
        self.table_locks: dict[int, dict[int, str]] = {}  # object id -> session id -> mode
        self.user_locks: dict[str, int] = {}  # of DBMS_LOCK
        self.long_operations: list[LongOperation] = []
        self._ids = itertools.count(70_000)
        self._session_ids = itertools.count(101)
        self.transactions = itertools.count(1)
        self._files = itertools.count(1)
        self._space_numbers = itertools.count()
        self._furnish()
        self.engine = Engine(self)

    def _furnish(self) -> None:
        """What every database has."""
        for name in ("SYSTEM", "SYSAUX", "USERS"):
            self.add_tablespace(name, f"/u01/oradata/{name.lower()}01.dbf", 1 << 30)
        self.add_tablespace("UNDOTBS1", "/u01/oradata/undotbs01.dbf", 1 << 30, contents="UNDO")
        system = {"ALTER ANY TABLE", "ALTER ANY INDEX", "SELECT ANY DICTIONARY", "CREATE SESSION", "SYSDBA"}
        for name in ("SYS", "SYSTEM"):
            self.add_user(name, "manager", privileges=system, roles={"DBA"}).maintained = True

    # What sessions need.

    def serves(self, service: str, instance: str) -> bool:
        """Whether the listener knows that service, on that instance if one is named."""
        here = set(self.instance_names()) - self.unreachable
        return service.lower() in self.services and (not instance or instance.lower() in here)

    def instance_names(self) -> list[str]:
        """By number, from 1."""
        return [f"{self.name.lower()}{number}" for number in range(1, self.quirks.instances + 1)]

    def password(self, user: str) -> str | None:
        """Clear password of a user; of whoever comes through a proxy, the proxy's own."""
        known = self.users.get(user.partition("[")[0])
        return known.password if known else None

    def refuse_login(self, client: Client) -> OracleError | None:
        """What is said after the right password."""
        user = self.users[client.user]
        if user.status.startswith("LOCKED"):
            return OracleError(28000, "The account is locked.")
        if "CREATE SESSION" not in user.privileges:
            return OracleError(1045, f"user {user.name} lacks CREATE SESSION privilege; logon denied")
        through = client.proxy_client
        if through and (through not in self.users or user.name not in self.users[through].proxies):
            return OracleError(28150, "proxy not authorized to connect as client")
        return None

    def open(self, client: Client) -> WireSession:
        """A new session."""
        with self.changed:
            session = EmulatedSession(self, client, next(self._session_ids))
            if client.instance:
                session.instance = self.instance_names().index(client.instance.lower()) + 1
            self.sessions[session.session_id] = session
        return session

    def next_id(self) -> int:
        """A new OBJECT_ID or DATA_OBJECT_ID."""
        return next(self._ids)

    # Looking.

    def segments(self) -> Iterator[Segment]:
        """All segments there are."""
        yield from self.clusters.values()
        for table in self.tables.values():
            for segment in table.everything():
                if segment.created:
                    yield segment

    def table(self, owner: str, name: str) -> Table:
        """Raises OracleError ORA-00942."""
        try:
            return self.tables[owner, name]
        except KeyError:
            raise OracleError(942, "table or view does not exist") from None

    def index(self, owner: str, name: str) -> tuple[Table, Index]:
        """The index and its table. Raises OracleError ORA-01418."""
        for table in self.tables.values():
            for index in table.indexes:
                if (index.owner, index.name) == (owner, name):
                    return table, index
        raise OracleError(1418, "specified index does not exist")

    def tablespace(self, name: str) -> Tablespace:
        """Raises OracleError ORA-00959."""
        try:
            return self.tablespaces[name]
        except KeyError:
            raise OracleError(959, f"tablespace '{name}' does not exist") from None

    def used_bytes(self, tablespace: str) -> int:
        """Segments, transient ones and ballast."""
        space = self.tablespaces[tablespace]
        held = sum(segment.bytes for segment in self.segments() if segment.tablespace == tablespace)
        return held + space.transient + space.ballast

    # Building, with a DBA's hand.

    def add_tablespace(self, name: str, path: str, size: int, max_bytes: int = 0, **other: str | bool) -> Tablespace:
        """A tablespace with one file."""
        with self.changed:
            number = next(self._space_numbers)
            counters = [Counter[str]() for _ in range(self.quirks.instances)]
            file = DataFile(next(self._files), path, size, max_bytes, counters)
            space = Tablespace(name, number, [file], **other)  # type: ignore[arg-type]  # fields by name
            self.tablespaces[name] = space
            self.touch()
        return space

    def drop_tablespace(self, name: str) -> None:
        """An empty one, with its data files."""
        with self.changed:
            number = self.tablespaces.pop(name).number
            self.dead = [entry for entry in self.dead if entry[0] != number]
            self.touch()

    def add_user(
        self,
        name: str,
        password: str,
        *,
        privileges: set[str] = frozenset(),  # type: ignore[assignment]  # never changed
        roles: set[str] = frozenset(),  # type: ignore[assignment]  # never changed
        quotas: dict[str, int] | None = None,
    ) -> User:
        """A user who may log in."""
        with self.changed:
            user = User(name, password, 100 + len(self.users), {"CREATE SESSION", *privileges}, set(roles))
            user.quotas = dict(quotas or {})
            self.users[name] = user
            self.touch()
        return user

    def segment(self, owner: str, name: str, kind: str, tablespace: str, size: int, part: str = "") -> Segment:
        """A segment of its own; a new object."""
        number = self.next_id()
        counters = [Counter[str]() for _ in range(self.quirks.instances)]
        return Segment(number, number, owner, name, kind, tablespace, size, part, counters=counters)

    def add_table(
        self, owner: str, name: str, tablespace: str, size: int, *, partitions: tuple[str, ...] = (), iot: bool = False
    ) -> Table:
        """A heap table, a range-partitioned one, or an index-organised one (with its index)."""
        with self.changed:
            if iot:
                table = Table(owner, name, self.next_id(), [], iot=True, partitioned=bool(partitions))
                parts = [self.segment(owner, f"{name}_PK", "INDEX PARTITION", tablespace, size, p) for p in partitions]
                key = self.add_index(table, f"{name}_PK", tablespace, size, unique=True, kind="IOT - TOP")
                key.segments, key.partitioned, key.local = parts or key.segments, bool(parts), bool(parts)
                table.default_tablespace = tablespace if parts else ""
            elif partitions:
                parts = [self.segment(owner, name, "TABLE PARTITION", tablespace, size, part) for part in partitions]
                table = Table(owner, name, self.next_id(), parts, partitioned=True, default_tablespace=tablespace)
            else:
                own = self.segment(owner, name, "TABLE", tablespace, size)
                table = Table(owner, name, own.object_id, [own])
            self.tables[owner, name] = table
            self.touch()
        return table

    def add_composite(self, owner: str, name: str, tablespace: str, size: int, partitions: tuple[str, ...]) -> Table:
        """A partitioned table with two subpartitions in each partition."""
        with self.changed:
            parts = []
            for partition in partitions:
                for number in (1, 2):
                    part = f"{partition}_S{number}"
                    segment = self.segment(owner, name, "TABLE SUBPARTITION", tablespace, size, part)
                    segment.group = partition
                    parts.append(segment)
            table = Table(owner, name, self.next_id(), parts, partitioned=True, composite=True)
            table.default_tablespace = tablespace
            self.tables[owner, name] = table
            self.touch()
        return table

    def add_overflow(self, table: Table, tablespace: str, size: int) -> Segment:
        """The overflow segment of an index-organised table."""
        with self.changed:
            name = f"SYS_IOT_OVER_{table.object_id}"
            table.overflow = self.segment(table.owner, name, "TABLE", tablespace, size)
            self.touch()
        return table.overflow

    def exclude_from_indexing(self, table: Table, part: str) -> None:
        """MODIFY PARTITION ... INDEXING OFF of a table whose local indexes are all INDEXING PARTIAL."""
        with self.changed:
            table.not_indexed.add(part)
            for index in table.indexes:
                if index.local:
                    index.indexing = "PARTIAL"
                    index.unusable.add(part)
                    for segment in index.segments:
                        segment.created = segment.created and segment.part != part
            self.touch()

    def add_cluster(self, owner: str, name: str, tablespace: str, size: int, tables: tuple[str, ...]) -> Segment:
        """A cluster with the tables in it, which have no segments of their own."""
        with self.changed:
            self.clusters[owner, name] = self.segment(owner, name, "CLUSTER", tablespace, size)
            for table in tables:
                made = self.add_table(owner, table, tablespace, 0)
                made.clustered, made.cluster = True, name
                made.segments[0].created = False
            self.touch()
        return self.clusters[owner, name]

    def add_nested_table(self, table: Table, name: str, tablespace: str, size: int) -> Table:
        """What a nested column of the table is stored in."""
        with self.changed:
            made = self.add_table(table.owner, name, tablespace, size)
            made.nested, made.parent = True, table.name
            made.segments[0].kind = "NESTED TABLE"
            self.touch()
        return made

    def add_mapping(self, table: Table, tablespace: str, size: int) -> Segment:
        """The mapping table of an index-organised table, which bitmap indexes need."""
        with self.changed:
            table.mapping = self.segment(table.owner, f"SYS_IOT_MAP_{table.object_id}", "TABLE", tablespace, size)
            self.touch()
        return table.mapping

    def add_domain_index(self, table: Table, name: str, stored_in: str, tablespace: str, size: int) -> Table:
        """A domain index of Spatial or Text, and the table of that name that it keeps its entries in."""
        with self.changed:
            own = self.add_index(table, name, tablespace, 0, kind="DOMAIN")
            own.segments.clear()
            stored = self.add_table(table.owner, stored_in, tablespace, size)
            stored.domain_index = name
            self.touch()
        return stored

    def archive(self, table: Table, tablespace: str, size: int) -> Table:
        """ALTER TABLE ... FLASHBACK ARCHIVE: what rows looked like is kept in a history table."""
        with self.changed:
            table.archive = f"SYS_FBA_HIST_{table.object_id}"
            history = self.add_table(table.owner, table.archive, tablespace, size)
            history.history = True
            self.touch()
        return history

    def add_index(
        self, table: Table, name: str, tablespace: str, size: int, *, local: bool = False, **other: bool | str
    ) -> Index:
        """An index; local ones have a partition for each of the table."""
        with self.changed:
            if local:
                kind = "INDEX SUBPARTITION" if table.composite else "INDEX PARTITION"
                parts = [self.segment(table.owner, name, kind, tablespace, size, s.part) for s in table.segments]
                for part, segment in zip(parts, table.segments, strict=True):
                    part.group = segment.group
                index = Index(table.owner, name, self.next_id(), parts, local=True, partitioned=True)
            else:
                own = self.segment(table.owner, name, "INDEX", tablespace, size)
                index = Index(table.owner, name, own.object_id, [own])
            for key, value in other.items():
                setattr(index, key, value)
            table.indexes.append(index)
            self.touch()
        return index

    def add_lob(self, table: Table, column: str, tablespace: str, size: int) -> Lob:
        """A LOB column with its segments and LOB indexes."""
        with self.changed:
            stem = f"{table.object_id:010}C{len(table.lobs) + 2:05}$$"
            name, index_name = f"SYS_LOB{stem}", f"SYS_IL{stem}"
            kinds = ("LOB PARTITION", "INDEX PARTITION") if table.partitioned else ("LOBSEGMENT", "LOBINDEX")
            kinds = ("LOB SUBPARTITION", "INDEX SUBPARTITION") if table.composite else kinds
            lob = Lob(column, index_name, [], [], object_id=self.next_id())
            for segment in table.segments:
                part = f"SYS_LOB_P{segment.object_id}" if table.partitioned else ""
                index_part = f"SYS_IL_P{segment.object_id}" if table.partitioned else ""
                lob.segments.append(self.segment(table.owner, name, kinds[0], tablespace, size, part))
                lob.indexes.append(self.segment(table.owner, index_name, kinds[1], tablespace, BLOCK * 8, index_part))
            table.lobs.append(lob)
            self.touch()
        return lob

    def add_partition(self, table: Table, part: str, size: int) -> Segment:
        """A new one, where the defaults of the table and of its local indexes say."""
        with self.changed:
            table.segments.append(
                self.segment(table.owner, table.name, "TABLE PARTITION", table.default_tablespace, size, part)
            )
            for index in table.indexes:
                if index.local:
                    home = index.default_tablespace or table.default_tablespace
                    index.segments.append(self.segment(index.owner, index.name, "INDEX PARTITION", home, size, part))
            self.touch()
        return table.segments[-1]

    def throw_away(self, owner: str, name: str) -> Table:
        """DROP TABLE without PURGE: into the recycle bin, under another name, with its segments."""
        with self.changed:
            table = self.tables.pop((owner, name))
            self.engine.rows.drop(table)
            forget(self, owner, name)
            table.dropped, table.name = True, f"BIN${table.object_id:020}==$0"
            for segment in table.segments:
                segment.name = table.name
            for index in table.indexes:
                index.name = f"BIN${index.object_id:020}==$0"
                for segment in index.segments:
                    segment.name = index.name
            self.tables[owner, table.name] = table
            self.touch()
        return table

    def drop_table(self, owner: str, name: str) -> None:
        """With PURGE."""
        with self.changed:
            table = self.table(owner, name)
            for segment in table.everything():
                self.bury(segment)
            self.engine.rows.drop(table)
            forget(self, owner, name)
            del self.tables[owner, name]
            self.touch()

    def add_space_check(self, tablespace: str, needed: int, *, error: OracleError | None = None) -> None:
        """Extend files as far as they may. The lock is held.

        Raises:
            OracleError: ORA-01658 where not even an initial extent fits, else ``error``, by default ORA-01652: a copy
                is a temporary segment until it is whole.
        """
        space = self.tablespace(tablespace)
        missing = self.used_bytes(tablespace) + needed - space.bytes
        if missing <= 0:
            return
        left = space.most_bytes - self.used_bytes(tablespace)
        if error is None and left < INITIAL_EXTENT:
            raise OracleError(1658, f"unable to create INITIAL extent for segment in tablespace {tablespace}")
        if needed > left:
            raise error or OracleError(1652, f"unable to extend temp segment by 128 in tablespace {tablespace}")
        for file in space.files:
            grown = min(missing, max(0, file.max_bytes - file.bytes))
            file.bytes += grown
            missing -= grown

    def quota_check(self, owner: str, tablespace: str, needed: int) -> None:
        """The owner's quota, not the agent's. Raises OracleError ORA-01950 or ORA-01536."""
        user = self.users[owner]
        if "UNLIMITED TABLESPACE" in user.privileges:
            return
        quota = user.quotas.get(tablespace)
        if quota is None:
            raise OracleError(1950, f"no privileges on tablespace '{tablespace}'")
        held = sum(s.bytes for s in self.segments() if s.tablespace == tablespace and s.owner == owner)
        if quota != UNLIMITED and held + needed > quota:
            raise OracleError(1536, f"space quota exceeded for tablespace '{tablespace}'")
