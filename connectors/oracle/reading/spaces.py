"""What a move names: a tablespace, or, where whole tablespaces move, the place that their data files are in.

A place is an ASM disk group (``+FAST``) or a folder (``/ssd/oradata``). No view lists folders: those that hold a file
are known by it, an empty one by configuration, and the room of a folder by configuration only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from connectors.containers import Container
from connectors.model import Space
from connectors.oracle.session.queries import query
from connectors.oracle.session.sessions import ReadSession, Row

MIB = 1 << 20
_NO_ROOM_TOLD = frozenset({"FLEX", "EXTEND"})  # kinds of disk group whose USABLE_FILE_MB is always 0


@dataclass(frozen=True, slots=True)
class DataFile:
    """A row of ``sql/datafiles.sql``, in its order."""

    number: int
    tablespace: str
    path: str
    bytes: int
    online_status: str
    tablespace_status: str

    @property
    def place(self) -> str:
        """Where it is."""
        return place_of(self.path)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spaces:
    """The spaces of a catalog and which of them each tablespace belongs to."""

    spaces: tuple[Space, ...]
    row_of: Mapping[str, int]  # by tablespace
    block_bytes: Mapping[str, int]  # by tablespace
    bundle: Mapping[str, int]  # number of the bundle that a tablespace is; empty where objects move one by one


def place_of(path: str) -> str:
    """``+FAST`` of ``+FAST/ORCL/DATAFILE/users.1.2``, ``/ssd/oradata`` of ``/ssd/oradata/users01.dbf``."""
    if path.startswith("+"):
        return path.partition("/")[0]
    return path[: max(path.rfind("/"), path.rfind("\\"))]


def read_spaces(session: ReadSession, places: Sequence[str] | None) -> Spaces:
    """Tablespaces with their room, or places.

    Args:
        session: to ask over.
        places: that configuration adds to those that hold a file; None: tablespaces are the spaces.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    rows = session.rows(query("spaces"), doing="reading tablespaces")
    block_bytes = {row[0]: int(row[1]) for row in rows}
    if places is not None:
        return _by_place(session, places, block_bytes)
    groups, files = read_groups(session, [str(row[5] or "") for row in rows]), read_files(session)
    return Spaces(
        spaces=tuple(
            replace(space, containers=containers_of(file for file in files if file.tablespace == space.name))
            for space in (space_of(row, groups) for row in rows)
        ),
        row_of={row[0]: at for at, row in enumerate(rows)},
        block_bytes=block_bytes,
        bundle={},
    )


def containers_of(files: Iterable[DataFile]) -> tuple[Container, ...]:
    """Data files. What is used in one would take DBA_FREE_SPACE, which is never asked."""
    return tuple(
        Container(
            name=file.path,
            path=file.path,
            size_bytes=file.bytes,
            used_bytes=None,
            growth_bytes=None,
            holder=file.tablespace,
        )
        for file in files
    )


def read_groups(session: ReadSession, paths: Iterable[str]) -> dict[str, Row]:
    """Disk groups by name; not asked for where no path is in one."""
    if not any(path.startswith("+") for path in paths):
        return {}
    return {row[0]: row for row in session.rows(query("disk_groups"), doing="reading disk groups")}


def read_files(session: ReadSession) -> tuple[DataFile, ...]:
    """Every data file of permanent data."""
    return tuple(DataFile(*row) for row in session.rows(query("datafiles"), doing="reading data files"))


def home_of_tablespace(files: Sequence[DataFile]) -> str:
    """The place that holds most of it."""
    size: Counter[str] = Counter()
    for file in files:
        size[file.place] += file.bytes
    return max(size, key=lambda place: (size[place], place))


def _by_place(session: ReadSession, places: Sequence[str], block_bytes: Mapping[str, int]) -> Spaces:
    files = read_files(session)
    groups = read_groups(session, [*places, *(file.path for file in files)])
    names = sorted({*places, *(f"+{name}" for name in groups), *(file.place for file in files)})
    own = {name: [file for file in files if file.tablespace == name] for name in block_bytes}
    held = {name: sum(file.bytes for file in files if file.place == name) for name in names}
    return Spaces(
        spaces=tuple(
            replace(
                _place(name, held[name], groups), containers=containers_of(file for file in files if file.place == name)
            )
            for name in names
        ),
        row_of={name: names.index(home_of_tablespace(some)) for name, some in own.items() if some},
        block_bytes=block_bytes,
        bundle={name: -1 - at for at, name in enumerate(sorted(own))},  # no object id is negative
    )


def _place(name: str, held: int, groups: Mapping[str, Row]) -> Space:
    """A file takes what is allocated to it, used or not."""
    free = _usable(groups.get(name[1:])) if name.startswith("+") else None
    capacity = None if free is None else held + free
    return Space(name=name, path=name, used_bytes=held, free_bytes=free, capacity_bytes=capacity)


def space_of(row: Row, groups: Mapping[str, Row]) -> Space:
    """One tablespace with the room its files have and may grow to; a disk group bounds the growth.

    Whether a file system has the room that autoextend promises, no view tells: configuration may state less.
    """
    name, _, used, allocated, limit, path = row
    if allocated is None:
        return Space(name=name, path="", used_bytes=int(used or 0), free_bytes=None, capacity_bytes=None)
    growth = int(limit) - int(allocated)
    usable = _usable(groups.get(place_of(str(path))[1:])) if str(path).startswith("+") else None
    capacity = int(allocated) + (growth if usable is None else min(growth, usable))
    free = None if used is None else max(0, capacity - int(used))
    return Space(name=name, path=str(path), used_bytes=int(used or 0), free_bytes=free, capacity_bytes=capacity)


def _usable(group: Row | None) -> int | None:
    """Bytes that a disk group has left, mirroring counted; negative ones are none. None where it does not say."""
    if group is None or group[1] in _NO_ROOM_TOLD:
        return None
    return max(0, int(group[2])) * MIB
