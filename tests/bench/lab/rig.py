"""A private server on two modelled devices: what every experiment stands on."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import psycopg
from psycopg import sql

from agent.demo.load import HDD_SPACE, SERVER_SETTINGS, SSD_SPACE
from agent.demo.server import PrivateServer, embedded_installations, private_server, temporary_folder
from agent.demo.slow_disk import HDD, SSD, DeviceModel, available
from tests.bench.lab.pace import Pace
from tests.bench.lab.schema import Table, fill
from tests.components import debian_installations
from tests.disks.limited import LimitedDisk
from tests.disks.limited import build as build_disk

MAJOR = 18  # embedded; Debian's 15 wherever an experiment takes --major
_RELATIONS = """
SELECT n.nspname || '.' || c.relname, c.relname, c.relkind::text, pg_relation_size(c.oid),
       coalesce(t.spcname, 'pg_default')
  FROM pg_class AS c
  JOIN pg_namespace AS n ON n.oid = c.relnamespace
  LEFT JOIN pg_tablespace AS t ON t.oid = c.reltablespace
 WHERE c.relkind IN ('r', 'i') AND n.nspname = 'public'
 ORDER BY 1
"""


class LabUnavailable(Exception):
    """Something that the laboratory needs is not here; the message says what."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """A heap or an index as the catalog has it."""

    key: str  # as hotplace calls the unit
    name: str
    index: bool
    size_bytes: int
    space: str


@dataclass(slots=True)
class Rig:
    """A running server with tables on modelled disks."""

    folder: Path
    server: PrivateServer
    disk: LimitedDisk
    pace: Pace
    ssd_bytes: int | None = None  # room on the SSD; None: as much as the machine has

    def session(self) -> psycopg.Connection:
        """A DBA's session, in autocommit."""
        return psycopg.connect(self.server.conninfo, autocommit=True)

    def relations(self) -> tuple[Relation, ...]:
        """Every heap and index of the experiment, where it is now."""
        with self.session() as session:
            rows = session.execute(_RELATIONS).fetchall()
        return tuple(
            Relation(key=key, name=name, index=kind == "i", size_bytes=size, space=space)
            for key, name, kind, size, space in rows
        )

    def total_bytes(self) -> int:
        """Of all heaps and indexes."""
        return sum(relation.size_bytes for relation in self.relations())

    def on_ssd(self) -> frozenset[str]:
        """Keys of what is on the SSD."""
        return frozenset(relation.key for relation in self.relations() if relation.space == SSD_SPACE)

    def fill(self, tables: Sequence[Table]) -> None:
        """Build tables on the hdd, at the machine's own speed."""
        with self._building():
            fill(self.server.conninfo, tables, HDD_SPACE)

    def build(self, statements: Sequence[str]) -> None:
        """The same by statements."""
        with self._building(), self.session() as session:
            session.execute(sql.SQL("SET default_tablespace = {}").format(sql.Identifier(HDD_SPACE)))
            for statement in statements:
                session.execute(statement.encode())
            session.execute("VACUUM (ANALYZE)")
            session.execute("CHECKPOINT")

    @contextmanager
    def _building(self) -> Iterator[None]:
        """The model off, and afterwards no counter that remembers the building: it is nobody's demand."""
        self.disk.switch(False)
        yield
        with self.session() as session:
            session.execute("SELECT pg_stat_reset()")
        self.disk.switch(True)

    def give_ssd(self, capacity_bytes: int | None) -> None:
        """So much room on the SSD from now on, held for real: a write beyond it gets ENOSPC."""
        self.ssd_bytes = capacity_bytes
        self.disk.limit(SSD.name, capacity_bytes)

    def place(self, keys: Collection[str]) -> None:
        """Put exactly these units on the SSD, by hand and at the machine's own speed: for rules other than hotplace's.

        Raises:
            psycopg.errors.DiskFull: they take more room than the SSD has.
        """
        room = self.ssd_bytes
        self.disk.switch(False)
        with self.session() as session:
            for relation in self.relations():
                space = SSD_SPACE if relation.key in keys else HDD_SPACE
                if relation.space != space:
                    words = "ALTER INDEX {} SET TABLESPACE {}" if relation.index else "ALTER TABLE {} SET TABLESPACE {}"
                    session.execute(sql.SQL(words).format(sql.Identifier(relation.name), sql.Identifier(space)))
            session.execute("CHECKPOINT")  # files that were left behind are gone after it
        self.disk.switch(True)
        # The model is off while files are moved and refuses nothing then, so room is judged here.
        taken = sum(relation.size_bytes for relation in self.relations() if relation.key in keys)
        if room is not None and taken > room:
            raise psycopg.errors.DiskFull(f"{taken} bytes on an SSD of {room}: {', '.join(sorted(keys))}")


def installation(major: int) -> Path:
    """Folder of the server of that version.

    Raises:
        LabUnavailable: it is not installed.
    """
    found = {**debian_installations(), **embedded_installations()}
    if major not in found:
        raise LabUnavailable(f"no PostgreSQL {major} here (there are {', '.join(map(str, found)) or 'none'}): "
                             "make setup, or apt install postgresql")  # fmt: skip
    return found[major]


def hdd_of(pace: Pace) -> DeviceModel:
    """The demo's hdd with read-ahead as small as the data: a chunk is the same share of a table at every scale.

    With 1 MiB on tables of a quarter of their size, look-ups found a fifth of their blocks in chunks that chance had
    loaded: 150 transactions a second where 126 were right.
    """
    return replace(HDD, chunk_bytes=round(HDD.chunk_bytes * pace.scale))


@contextmanager
def running_rig(
    pace: Pace,
    *,
    major: int = MAJOR,
    hdd: DeviceModel | None = None,
    ssd: DeviceModel = SSD,
    settings: Mapping[str, str] | None = None,
) -> Iterator[Rig]:
    """A server with the spaces ``hdd_space`` and ``ssd_space``, gone at the end. The model is switched on.

    Args:
        pace: gives the buffer pool.
        major: version of the server.
        hdd: the slow device; None: ``hdd_of(pace)``.
        ssd: the fast one.
        settings: of the server, beyond the demo's.

    Raises:
        LabUnavailable: no such server, or no compiler for the disk model.
    """
    can, why = available()
    if not can:
        raise LabUnavailable(why)
    folder = temporary_folder("hotplace-lab-")
    folder.chmod(0o755)
    try:
        laboratory = folder / "disk"
        laboratory.mkdir()
        disk = build_disk(laboratory)
        merged = {**SERVER_SETTINGS, "shared_buffers": pace.shared_buffers, **(settings or {})}
        with private_server(installation(major), merged, disk.environment, parent=folder) as server:
            spaces = (
                (HDD_SPACE, server.make_folder("hdd"), hdd or hdd_of(pace)),
                (SSD_SPACE, server.make_folder("ssd"), ssd),
            )
            rig = Rig(folder, server, disk, pace)
            with rig.session() as session:
                for name, path, model in spaces:
                    disk.place(model, path)
                    place = sql.Literal(str(path))
                    session.execute(sql.SQL("CREATE TABLESPACE {} LOCATION {}").format(sql.Identifier(name), place))
            disk.switch(True)
            yield rig
    finally:
        shutil.rmtree(folder, ignore_errors=True)
