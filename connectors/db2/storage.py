"""Table spaces, storage groups, paths and containers as the server shows them now."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import NamedTuple

from connectors.db2.sessions import ReadSession, Row

AT_REST = "NO_REBAL"
NEVER_TOUCHED = frozenset({"SYSCATSPACE", "SYSTOOLSPACE"})
ALL_MEMBERS, ANY_MEMBER = -2, 0
SYSTEM_MANAGED = "S"
NO_LIMIT = -1
DROP_PENDING = "DROP_PENDING"  # state of a path that takes no more
Hosts = Mapping[int, str]  # by member


class OwnContainer(NamedTuple):
    """A container of a table space of DMS, on one member."""

    member: int
    kind: str  # FILE or DEVICE
    path: str
    pages: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSpace:
    """One table space over all members; bytes are sums over database partitions, on pureScale those of the one disk."""

    number: int
    name: str
    managed: str  # D or S, SYSCAT.TABLESPACES.TBSPACETYPE; automatic storage says D too
    permanent: bool
    page_bytes: int
    extent_pages: int
    overhead: float  # -1: inherited from the storage group
    transfer_rate: float
    group: str  # storage group, "" where it has none
    automatic: bool
    hybrid: bool  # managed by automatic storage, its old containers not yet rebalanced away
    grows: bool
    reclaimable: bool
    paths_dropped: bool
    os_cached: bool
    caching_tier: str
    state: str
    mode: str  # of the rebalancer
    total_bytes: int
    used_bytes: int
    free_bytes: int  # within what is allocated
    containers: tuple[str, ...]
    container_pages: Mapping[str, int]
    container_room: int  # bytes free in the file systems of its containers
    only_files: bool = True  # no container is a device
    top_page: int = 0  # the high-water mark, of the member where it is highest
    partition_group: str = ""  # database partition group
    max_bytes: int | None = None  # that it may grow to; None: as far as its storage goes
    own: tuple[OwnContainer, ...] = ()  # its containers with the member of each

    @property
    def system_managed(self) -> bool:
        """SMS: a table whose rows are in it has its indexes and LOBs there too."""
        return self.managed == SYSTEM_MANAGED

    def share_of(self, path: str) -> int:
        """Bytes in use in that container: table spaces are striped evenly."""
        pages = sum(self.container_pages.values())
        return round(self.used_bytes * self.container_pages.get(path, 0) / pages) if pages else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageGroup:
    """One storage group."""

    number: int
    name: str
    default: bool
    overhead: float  # ms, as a DBA typed it in
    read_rate: float  # MB/s, likewise
    datatag: int
    paths: tuple[str, ...]
    free_bytes: int | None  # None: the paths may not be asked
    total_bytes: int | None


@dataclass(frozen=True, slots=True)
class ServerStorage:
    """All of it."""

    spaces: Mapping[int, TableSpace]
    groups: Mapping[str, StorageGroup]
    folders: Mapping[str, str] = field(
        default_factory=dict
    )  # where DMS containers may be, by the configuration's names

    def home_of(self, space: TableSpace) -> str:
        """What table spaces move between: its storage group, else the folder of its containers, else itself."""
        if space.group:
            return space.group
        return next((name for name, folder in self.folders.items() if lies_under(space, (folder,))), space.name)

    def home_named(self, name: str) -> str:
        """``home_of`` the table space of that name; the name itself where there is none."""
        space = self.space_named(name)
        return name if space is None else self.home_of(space)

    def space_named(self, name: str) -> TableSpace | None:
        """The table space of that name, None when there is none."""
        return next((space for space in self.spaces.values() if space.name == name), None)

    def room_of(self, space: TableSpace) -> int | None:
        """Bytes that can still go into it: free pages, and where it grows the room of its file systems.

        Table spaces of one storage group share that room: what one takes, the others no longer have.
        """
        if not space.grows:
            return space.free_bytes
        group = self.groups.get(space.group)
        more = space.container_room if group is None else group.free_bytes
        if space.max_bytes is not None:
            allowed = max(0, space.max_bytes - space.total_bytes)
            more = allowed if more is None else min(more, allowed)
        return None if more is None else space.free_bytes + more


def lies_under(space: TableSpace, paths: Sequence[str]) -> bool:
    """Whether every container is in one of these folders; False where none can be seen."""
    folders = [PurePosixPath(path) for path in paths]
    files = [PurePosixPath(container) for container in space.containers]
    return bool(files) and all(any(file.is_relative_to(folder) for folder in folders) for file in files)


def read_storage(session: ReadSession, *, shared: bool, folders: Mapping[str, str] | None = None) -> ServerStorage:
    """Five set-based queries, and one for the hosts of several members.

    Args:
        session: to ask over.
        shared: pureScale: every member reports the same disk, so sizes are not summed.
        folders: where DMS containers may be; None: of no interest.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    catalog = session.rows("spaces", doing="reading table spaces")
    states = _by_number(session.rows("space_states", doing="reading the state of table spaces"))
    containers = _by_number(session.optional_rows("containers", doing="reading containers") or [])
    groups = session.optional_rows("storage_groups", doing="reading storage groups") or []
    member = ANY_MEMBER if shared else ALL_MEMBERS
    paths = session.optional_rows("storage_paths", (member,), doing="reading storage paths") or []
    members = {row[1] for row in chain(paths, *containers.values())}
    hosts = {} if shared or len(members) <= 1 else _hosts(session)
    found = {
        row[0]: _space(row, states.get(row[0], []), containers.get(row[0], []), shared=shared, hosts=hosts)
        for row in catalog
    }
    named = {row[1]: _group(row, [path for path in paths if path[0] == row[1]], hosts) for row in groups}
    return ServerStorage(found, named, dict(folders or {}))


def _hosts(session: ReadSession) -> Hosts:
    """Host of each member; none where that may not be asked."""
    rows = session.optional_rows("hosts", doing="reading the hosts of members") or []
    return {int(row[0]): str(row[1]) for row in rows}


def _file_system(member: object, number: object, hosts: Hosts) -> object:
    """What tells a file system from another: its number is its host's own, so that hosts made alike have equal ones.

    Where hosts are not known the number alone: room that may be one counts once.
    """
    return (hosts.get(int(str(member or 0)), ""), number)


def _by_number(rows: Sequence[Row]) -> Mapping[int, list[Row]]:
    """Rows by their first column."""
    found: defaultdict[int, list[Row]] = defaultdict(list)
    for row in rows:
        found[int(row[0])].append(row)
    return found


@dataclass(slots=True)
class _Pages:
    """Pages of one table space over its members."""

    shared: bool
    total: int = 0
    used: int = 0
    free: int = 0

    def add(self, row: Row) -> None:
        total, used, free = int(row[3] or 0), int(row[4] or 0), int(row[5] or 0) + int(row[6] or 0)
        if self.shared:
            self.total, self.used, self.free = max(self.total, total), max(self.used, used), max(self.free, free)
        else:
            self.total, self.used, self.free = self.total + total, self.used + used, self.free + free


def _space(
    row: Row, states: Sequence[Row], containers: Sequence[Row], *, shared: bool, hosts: Hosts = MappingProxyType({})
) -> TableSpace:
    """One table space; of one without states, not touched since the activation, the catalog knows the group."""
    number, name, managed, content, page, extent, overhead, rate, group, _, partition_group = row
    pages = _Pages(shared)
    for state in states:
        pages.add(state)
    live = _Live.of(states, bool(group))
    return TableSpace(
        number=int(number),
        name=name,
        managed=managed,
        permanent=content in {"A", "L"},
        page_bytes=int(page),
        extent_pages=int(extent),
        overhead=float(overhead),
        transfer_rate=float(rate),
        group=(group or "") if live.automatic else "",
        automatic=live.automatic,
        hybrid=live.hybrid,
        grows=live.grows or managed == SYSTEM_MANAGED,
        reclaimable=live.reclaimable,
        paths_dropped=live.paths_dropped,
        os_cached=live.os_cached,
        caching_tier=live.caching_tier,
        state=live.state,
        mode=live.mode,
        total_bytes=pages.total * int(page),
        used_bytes=pages.used * int(page),
        free_bytes=pages.free * int(page),
        containers=tuple(sorted({str(container[3]) for container in containers})),
        container_pages={str(container[3]): int(container[5] or 0) for container in containers},
        container_room=_room(
            [(c[1], _file_system(c[1], c[6], hosts), int(c[7] or 0) - int(c[8] or 0)) for c in containers]
        )
        or 0,
        only_files=all(str(container[4]).startswith("FILE") for container in containers),
        top_page=max((int(state[16] or 0) for state in states), default=0),
        partition_group=partition_group or "",
        max_bytes=_limit(states, shared=shared),
        own=tuple(
            OwnContainer(
                int(c[1] or 0), "FILE" if str(c[4]).startswith("FILE") else "DEVICE", str(c[3]), int(c[5] or 0)
            )
            for c in sorted(containers, key=lambda each: (int(each[1] or 0), int(each[2] or 0)))
        ),
    )


def _limit(states: Sequence[Row], *, shared: bool) -> int | None:
    """Bytes that a table space may grow to over all members, by TBSP_MAX_SIZE of each; None without a limit.

    Documented in bytes. IBM's pages on it disagree, so a limit below what is allocated is taken for pages.
    """
    found = []
    for row in states:
        page, allocated, limit = int(row[2]), int(row[3] or 0) * int(row[2]), int(row[17] or NO_LIMIT)
        if limit <= NO_LIMIT:
            return None
        found.append(limit if limit >= allocated else limit * page)
    return (min if shared else sum)(found) if found else None


@dataclass(frozen=True, slots=True)
class _Live:
    """Flags of one table space; on several members the one that is furthest from rest decides."""

    automatic: bool = False
    grows: bool = False
    hybrid: bool = False
    paths_dropped: bool = False
    reclaimable: bool = False
    os_cached: bool = False
    state: str = "NORMAL"
    mode: str = AT_REST
    caching_tier: str = ""

    @classmethod
    def of(cls, states: Sequence[Row], has_group: bool = False) -> _Live:
        if not states:
            return cls(automatic=has_group, grows=has_group)  # automatic storage grows unless it was set not to

        def anywhere(at: int) -> bool:
            return any(int(row[at] or 0) == 1 for row in states)

        return cls(
            automatic=anywhere(7),
            grows=anywhere(8),
            hybrid=anywhere(9),
            paths_dropped=anywhere(10),
            reclaimable=anywhere(11),
            os_cached=any(row[12] is not None and int(row[12]) == 0 for row in states),  # inverted: 0 is cached
            state=next((row[13] for row in states if row[13] not in (None, "NORMAL")), "NORMAL"),
            mode=next((row[14] for row in states if row[14] not in (None, AT_REST)), AT_REST),
            caching_tier=next((row[15] for row in states if row[15]), ""),
        )


def _group(row: Row, paths: Sequence[Row], hosts: Hosts) -> StorageGroup:
    number, name, default, overhead, rate, datatag = row
    staying = [path for path in paths if path[3] != DROP_PENDING]
    return StorageGroup(
        number=int(number),
        name=name,
        default=default == "Y",
        overhead=float(overhead),
        read_rate=float(rate),
        datatag=int(datatag or 0),
        paths=tuple(sorted({str(path[2]) for path in paths})),
        free_bytes=_room([(path[1], _file_system(path[1], path[4], hosts), int(path[6] or 0)) for path in staying]),
        total_bytes=_room([(path[1], _file_system(path[1], path[4], hosts), int(path[5] or 0)) for path in paths]),
    )


@dataclass(slots=True)
class _FileSystems:
    """Bytes by file system, within each member and over all."""

    members: dict[int, dict[object, int]] = field(default_factory=dict)
    everywhere: dict[object, int] = field(default_factory=dict)


def _room(found: Sequence[tuple[object, object, int]]) -> int | None:
    """Bytes of (member, file system, bytes); None of nothing.

    A file system counts once, however many paths lie on it. Rows are spread evenly over database partitions, so the
    member with the least room is full first; and where members share a file system it is not there twice.
    """
    if not found:
        return None
    seen = _FileSystems()
    for member, file_system, size in found:
        of_member = seen.members.setdefault(int(str(member or 0)), {})
        of_member[file_system] = min(size, of_member.get(file_system, size))
        seen.everywhere[file_system] = min(size, seen.everywhere.get(file_system, size))
    least = min(sum(sizes.values()) for sizes in seen.members.values())
    return min(least * len(seen.members), sum(seen.everywhere.values()))
