"""The emulated server as a process of its own: ``python -m tests.labs.db2.server FOLDER VERSION``.

It starts Derby, listens for IBM's driver on one loopback port and for the test on another, and prints both. It is a
process of its own, so that no call of the driver can keep the server that it waits for from running.
"""

from __future__ import annotations

import socket
import sys
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import count
from multiprocessing.managers import BaseManager
from pathlib import Path
from typing import Any

from tests.labs.db2 import load
from tests.labs.db2.derby import running_derby
from tests.labs.db2.documented import views
from tests.labs.db2.partitions import create_ranges
from tests.labs.db2.sessions import User
from tests.labs.db2.text import DATABASE
from tests.labs.db2.views.projection import SCHEMA, Projection
from tests.labs.db2.wire.requester import Requester
from tests.labs.db2.wire.shim import Shared, Shim
from tests.labs.db2.world import (
    MEGABYTE,
    Index,
    LoadConnection,
    Part,
    Standby,
    StorageGroup,
    Table,
    TableSpace,
    Utility,
    World,
)

FAST, SLOW = "FAST", "SLOW"  # storage groups
TS_FAST, TS_SLOW = "TS_FAST", "TS_SLOW"
ADMIN = User("db2inst1", "right-and-secret", administrator=True)
SUCCESSOR = User("db2inst2", "right-too", administrator=True)
LOOKER = User("looker", "may-look")
NOT_FOR_BLIND = frozenset(
    {"MON_GET_TABLE", "MON_GET_TABLESPACE", "MON_GET_PKG_CACHE_STMT", "MON_GET_HADR", "MON_GET_TRANSACTION_LOG"}
)
BLIND = User("blind", "may-not-look", may_not_use=NOT_FOR_BLIND)
PROVER = User("prover", "may-prove")  # what it may do is granted
NARROW = User("narrow", "may-look-little", may_not_use=frozenset({"TRIGGERS", "STOGROUPS"}))
MOVER = User("mover", "may-move", may_not_use=frozenset({"ADMIN_MOVE_TABLE"}))  # the view; SQLADM is granted
USERS = {user.name: user for user in (ADMIN, SUCCESSOR, LOOKER, BLIND, NARROW, PROVER, MOVER)}
SET_UP = (f"CREATE TABLE {SCHEMA}.NOTHING (ID INTEGER)", "CREATE TABLE HOTPLACE.LEASE (HOLDER VARCHAR(200))")
KEY = b"lab"
RENEW_SECONDS = 20.0


def new_world(version: tuple[int, ...]) -> World:
    """Two storage groups, a table space on each, and those that every database has."""
    groups = [
        StorageGroup(0, SLOW, "/db2/slow", 8.0, 4096 * MEGABYTE, 6.725, 100.0, default=True),
        StorageGroup(1, FAST, "/db2/fast", 0.2, 512 * MEGABYTE, 0.2, 512.0),
    ]
    spaces = [
        TableSpace(0, "SYSCATSPACE", SLOW, "A"),
        TableSpace(1, "TEMPSPACE1", SLOW, "T"),
        TableSpace(2, TS_SLOW, SLOW),
        TableSpace(3, TS_FAST, FAST),
        TableSpace(4, "SYSTOOLSPACE", SLOW),
    ]
    world = World(groups, spaces, version)
    world.authorities = {user.authid: {"DBADM", "SYSADM"} for user in USERS.values() if user.administrator}
    world.authorities[MOVER.authid] = {"SQLADM", "CREATETAB", f"USE {TS_FAST}", f"USE {TS_SLOW}"}
    return world


class Lab:
    """What a test may do to the server; called over the manager, so arguments and results are plain values."""

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._world = shared.world

    def renew(self) -> None:
        """Make it as it was at its start, for the next who works with it: every connection ends, the world is new.

        Raises:
            RuntimeError: a connection does not end.
        """
        for handle in self.connections():
            self._shared.force(handle)
        self.cut()
        until = time.monotonic() + RENEW_SECONDS
        while self._shared.connections:
            if time.monotonic() > until:
                raise RuntimeError(f"connections {self.connections()} do not end")
            time.sleep(0.01)
        with self._world.lock:
            self._shared.drop_tables()
            self._world.replace(new_world(self._world.version))
            self._shared.sent.clear()

    def behave(self, **changes: Any) -> dict[str, Any]:
        """Change fields of ``Behaviour``; what they were before."""
        before = {name: getattr(self._world.behaviour, name) for name in changes}
        with self._world.lock:
            for name, value in changes.items():
                setattr(self._world.behaviour, name, value)
            self._world.touch()
        return before

    def create_schema(self, name: str, owner: str) -> None:
        """One whose tables are made by statements."""
        with self._world.lock:
            self._world.schemas[name] = owner
            self._world.touch()

    def drop_schema(self, name: str) -> None:
        """With all that is in it."""
        with self._world.lock:
            for table in self.tables(name):
                self.drop_table(name, table)
            del self._world.schemas[name]

    def tables(self, schema: str) -> list[str]:
        """Names of its tables, in order."""
        with self._world.lock:
            return sorted(name for owner, name in self._world.tables if owner == schema)

    def create_space(self, name: str, group: str) -> None:
        """A table space with automatic storage."""
        with self._world.lock:
            number = max(space.id for space in self._world.spaces.values()) + 1
            self._world.spaces[name] = TableSpace(number, name, group)
            self._world.touch()

    def create_dms(self, name: str, files: dict[str, int]) -> None:
        """A table space with containers of its own: pages by path."""
        with self._world.lock:
            number = max(space.id for space in self._world.spaces.values()) + 1
            self._world.spaces[name] = TableSpace(number, name, "", files=dict(files))
            self._world.touch()

    def create_sms(self, name: str, folder: str) -> None:
        """A table space that the system manages: a folder."""
        self.create_dms(name, {folder: 0})
        self.alter_space(name, system_managed=True)

    def alter_space(self, name: str, **changes: Any) -> None:
        """Change fields of ``TableSpace``: partition_group, max_pages and others."""
        with self._world.lock:
            for field, value in changes.items():
                setattr(self._world.spaces[name], field, value)
            self._world.touch()

    def unrecoverable(self) -> list[str]:
        """Tables with rows that no log and no copy of a LOAD has: a standby, or a restore, lacks them."""
        with self._world.lock:
            return sorted(f"{schema}.{name}" for schema, name in self._world.unrecoverable)

    def containers(self, name: str) -> list[str]:
        """Paths of its chosen containers and those of its storage groups, as they are now."""
        with self._world.lock:
            self._world.tick()
            return [place.path or place.group.path for place in self._world.places(self._world.spaces[name])]

    def drop_space(self, name: str) -> None:
        """Harmless when it is gone."""
        with self._world.lock:
            self._world.spaces.pop(name, None)
            self._world.touch()

    def create_table(self, schema: str, name: str, index: str, space: str, pages: int, lob_pages: int = 0) -> None:
        """A filled table with a unique index."""
        with self._world.lock:
            load.create_table(self._world, schema, name, index, space, pages, lob_pages)

    def create_many(self, schema: str, count: int, space: str, pages: int) -> None:
        """So many tables T0, T1 ... with a unique index each, every one of them read a little."""
        with self._world.lock:
            for number in range(count):
                load.create_table(self._world, schema, f"T{number}", f"T{number}_PK", space, pages)
                load.read_randomly(self._world, self._world.tables[schema, f"T{number}"], 3)

    def create_partitioned(self, schema: str, name: str, index: str, spaces: list[str], pages: int) -> None:
        """A data partition in each of those table spaces; the index is in the first."""
        with self._world.lock:
            load.create_partitioned(self._world, schema, name, index, spaces, pages)

    def create_ranges(self, schema: str, name: str, parts: list[tuple[str, str, str, str]]) -> None:
        """A partitioned table; of each partition name, table space, from and up to."""
        with self._world.lock:
            create_ranges(self._world, (schema, name), parts)

    def move_part(self, schema: str, name: str, part: str, space: str) -> None:
        """A data partition in another table space, as somebody has brought it there."""
        with self._world.lock:
            for each in self._world.table(schema, name).parts:
                if each.name == part:
                    each.data = each.long = space
            self._world.touch()

    def parts(self, schema: str, name: str) -> list[tuple[str, str, str, tuple[str, str]]]:
        """Of each data partition its name, the table spaces of data and indexes, and its bounds."""
        with self._world.lock:
            table = self._world.table(schema, name)
            both = zip(table.parts, table.ranges, strict=True)
            return [(part.name, part.data, part.index, bounds) for part, bounds in both]

    def create_clustered(self, name: str, dimensions: list[str], space: str, pages: int) -> None:
        """A table of APP organized by those columns, with the indexes of blocks that the system makes for it."""
        with self._world.lock:
            load.create_clustered(self._world, "APP", name, dimensions, space, pages)

    def create_columnar(self, name: str, space: str, pages: int) -> None:
        """A column-organized table of APP, with the page-map index that the system makes for it."""
        with self._world.lock:
            load.create_columnar(self._world, "APP", name, space, pages)

    def create_type(self, name: str, source: str) -> None:
        """A distinct type, such as APP.LETTER of SYSIBM.CLOB; ``alter_table(lob_type=...)`` uses it."""
        with self._world.lock:
            self._world.types[name] = source
            self._world.touch()

    def back_up(self) -> None:
        """An online backup of the database from its beginning to its end: every page in use was read, past the pool."""
        with self._world.lock:
            load.back_up(self._world)

    def drop_table(self, schema: str, name: str) -> None:
        """Harmless when it is gone."""
        with self._world.lock:
            self._shared.drop_tables((schema, name))
            load.drop_table(self._world, schema, name)

    def alter_table(self, schema: str, name: str, **changes: Any) -> None:
        """Change fields of ``Table``: type, organized, rows, orphans, triggers, dependents and others."""
        with self._world.lock:
            for field, value in changes.items():
                setattr(self._world.table(schema, name), field, value)
            self._world.touch()

    def add_index(self, schema: str, name: str, index: str, columns: str, unique: str = "D") -> None:
        """One more index of a table: "+A -B" in that order, UNIQUERULE D, U or P."""
        with self._world.lock:
            indexes = self._world.table(schema, name).indexes
            indexes.append(Index(len(indexes) + 1, schema, index, 10, unique, columns))
            self._world.touch()

    def add_foreign_key(self, child: str, parent: str, key: str, **more: Any) -> None:
        """A table of APP refers to another, or to itself, by column PARENT_ID; more: fields of ``ForeignKey``."""
        with self._world.lock:
            load.add_foreign_key(self._world, ("APP", child), ("APP", parent), key, **more)

    def drop_index(self, schema: str, name: str, index: str) -> None:
        """One of a table's indexes, by its name."""
        with self._world.lock:
            table = self._world.table(schema, name)
            table.indexes = [one for one in table.indexes if one.name != index]
            self._world.touch()

    def alter_index(self, schema: str, name: str, **changes: Any) -> None:
        """Change fields of the last ``Index`` of a table: kind, columns, on_expression."""
        with self._world.lock:
            for field, value in changes.items():
                setattr(self._world.table(schema, name).indexes[-1], field, value)
            self._world.touch()

    def grant(self, grantee: str, *rights: str) -> None:
        """These and no other: DBADM, SQLADM, CREATETAB, "USE TS_FAST"; none takes the grantee's row away."""
        with self._world.lock:
            self._world.authorities.pop(grantee, None)
            if rights:
                self._world.authorities[grantee] = set(rights)
            self._world.touch()

    def read_randomly(self, schema: str, name: str, reads: int, member: int = 0, by: str = "") -> None:
        """Look-ups by the index, by executions of a statement."""
        with self._world.lock:
            load.read_randomly(self._world, self._world.table(schema, name), reads, member, by)

    def run(self, text: str, counted: dict[str, int], member: int = 0) -> None:
        """Executions of a statement by columns of MON_GET_PKG_CACHE_STMT; no object counts anything."""
        with self._world.lock:
            load.run(self._world, text, counted, member)

    def evict(self, text: str = "") -> None:
        """A statement leaves the package cache with its counters, or all do."""
        with self._world.lock:
            kept = {key: one for key, one in self._world.statements.items() if text and key[0] != text}
            self._world.statements = kept
            self._world.touch()

    def set_standby(self, number: int = 1, **changes: Any) -> None:
        """Change fields of ``Standby``; one that is not there yet is added."""
        with self._world.lock:
            found = [one for one in self._world.standbys if one.number == number] or [Standby(number)]
            self._world.standbys += [one for one in found if one not in self._world.standbys]
            for field, value in changes.items():
                setattr(found[0], field, value)
            self._world.touch()

    def works(self, *connections: LoadConnection, activities: int, request_ms: int, processor_us: int = 0) -> None:
        """These are the connections of the load now, and the database has done so much more in all."""
        with self._world.lock:
            self._world.load = list(connections)
            self._world.database[0]["ACT_COMPLETED_TOTAL"] += activities
            self._world.database[0]["TOTAL_APP_RQST_TIME"] += request_ms
            self._world.database[0]["TOTAL_CPU_TIME"] += processor_us
            self._world.touch()

    def use_log(self, used: int, by: int = 0) -> None:
        """So many bytes of active log are in use; the oldest transaction is of that application."""
        with self._world.lock:
            self._world.log_used, self._world.log_held_by = used, by
            self._world.touch()

    def write_rows(self, schema: str, name: str, inserted: int = 0, deleted: int = 0) -> None:
        """Somebody writes to the table."""
        with self._world.lock:
            table = self._world.table(schema, name)
            table.rows += inserted - deleted
            table.parts[0].counts[0].update({"ROWS_INSERTED": inserted, "ROWS_DELETED": deleted})
            self._world.touch()

    def count_rows(self, schema: str, name: str) -> int:
        """Of the table, by the world itself."""
        with self._world.lock:
            return self._world.table(schema, name).rows

    def scan(self, schema: str, name: str, member: int = 0, waited_ms: int = 0) -> None:
        """Read it in order; the session waits so long for prefetchers."""
        with self._world.lock:
            load.scan(self._world, self._world.table(schema, name), member, waited_ms)

    def count(
        self, counters: dict[str, int], *, table: str = "", index: str = "", space: str = "", member: int = 0
    ) -> None:
        """Counters of a table of APP, of one of its indexes, or of a table space rise by so much."""
        with self._world.lock:
            chosen = self._world.table("APP", table) if table else None
            load.count(self._world, chosen, index, space, counters, member)

    def create_from(self, schema: str, name: str, homes: tuple[str, str, str], pages: tuple[int, int],
                    indexes: dict[str, int], **changes: Any) -> None:  # fmt: skip
        """A table with table spaces of data, indexes and LOBs, pages of data and LOBs, and pages of each index."""
        with self._world.lock:
            part = Part(0, "PART0", self._world.next_file_id(), *homes, *pages)
            made = [Index(n, schema, index, size) for n, (index, size) in enumerate(indexes.items(), start=1)]
            self._world.tables[schema, name] = Table(schema, name, pages[0] * 4, [part], made)
            self.alter_table(schema, name, **changes)

    def commit(self, transactions: int) -> None:
        """Small transactions, each of which waits for the log."""
        with self._world.lock:
            load.commit(self._world, transactions)

    def spill(self, pages: int) -> None:
        """Sorts beyond their memory."""
        with self._world.lock:
            load.spill(self._world, pages)

    def restart(self, member: int | None = None) -> None:
        """Deactivate and activate the database, or one member: connections end, counters start anew."""
        self.cut()
        with self._world.lock:
            load.restart(self._world, member)

    def lock(self, schema: str, name: str, locked: bool) -> None:
        """Somebody uses the table, or no longer."""
        with self._world.lock:
            (self._world.locked.add if locked else self._world.locked.discard)((schema, name))

    def fill(self, group: str, full: bool) -> None:
        """Something else takes all the room of a storage group, or gives it back."""
        with self._world.lock:
            chosen = self._world.groups[group]
            chosen.foreign = chosen.capacity if full else 0
            self._world.touch()

    def set_state(self, space: str, state: str) -> None:
        """TBSP_STATE, for instance BACKUP_IN_PROGRESS."""
        with self._world.lock:
            self._world.spaces[space].state = state
            self._world.touch()

    def running(self) -> list[tuple[int, str]]:
        """Handle and statement of every connection that executes one of the lab's own now."""
        return [(h, c.session.running) for h, c in list(self._shared.connections.items()) if c.session.running]

    def connections(self) -> list[int]:
        """Handles of all that are open, the oldest first."""
        return sorted(self._shared.connections)

    def home(self, schema: str, name: str) -> list[str]:
        """Table spaces of data and indexes of a table, by the world itself."""
        with self._world.lock:
            part = self._world.table(schema, name).parts[0]
            return [part.data, part.index]

    def suspend(self, space: str) -> None:
        """Somebody suspends its rebalance."""
        with self._world.lock:
            moving = self._world.spaces[space].rebalance
            if moving:
                moving.suspended = True
            self._world.touch()

    def utility(self, kind: str, schema: str = "", table: str = "") -> None:
        """Something runs from now on: BACKUP, RUNSTATS, LOAD ...; "" ends all that were begun so."""
        with self._world.lock:
            if kind:
                number = self._world.next_file_id()
                self._world.utilities[number] = Utility(number, kind, schema, table, 0, datetime.now(UTC))
            else:
                self._world.utilities.clear()
            self._world.touch()

    def status(self, schema: str, name: str) -> str:
        """STATUS of its ADMIN_MOVE_TABLE; "" where there was none."""
        with self._world.lock:
            move = self._world.moves.get((schema, name))
            return move.protocol["STATUS"] if move else ""

    def rebalancing(self) -> list[str]:
        """Table spaces with a rebalance, suspended ones too."""
        with self._world.lock:
            self._world.tick()
            return [space.name for space in self._world.spaces.values() if space.rebalance]

    def sent(self) -> list[str]:
        """Every statement that changed, or tried to change, the emulated database."""
        return list(self._shared.sent)

    def looks(self) -> int:
        """How often somebody has looked for rebalances."""
        return self._shared.looks

    def cut(self, handle: int | None = None) -> None:
        """End one connection, or all, without a word."""
        for number, connection in list(self._shared.connections.items()):
            if handle in (None, number):
                connection.cut()


def listen(shared: Shared, derby: int) -> int:
    """Accept clients in the background; the port."""
    listener = socket.create_server(("127.0.0.1", 0))

    def accept() -> None:
        for handle in count(1):
            client = listener.accept()[0]
            shim = Shim(handle, client, socket.create_connection(("127.0.0.1", derby)), shared)
            shared.connections[handle] = shim
            shim.start()

    threading.Thread(target=accept, daemon=True).start()
    return int(listener.getsockname()[1])


def manager_of(lab: Callable[[], Lab]) -> type[BaseManager]:
    """A manager that offers one lab."""

    class LabManager(BaseManager):
        pass

    LabManager.register("lab", callable=lab)
    return LabManager


def main(folder: str, version: str) -> None:
    """Serve until standard input ends."""
    numbers = tuple(int(part) for part in version.split("."))
    passwords = {user.name: user.password for user in USERS.values()}
    with running_derby(Path(folder), passwords) as derby:
        requester = Requester(derby, DATABASE, ADMIN.name, ADMIN.password)
        requester.run(SET_UP)
        world, shapes = new_world(numbers), views(numbers)
        shared = Shared(world, shapes, Projection(world, shapes, requester, Path(folder)), USERS)
        lab = Lab(shared)
        server = manager_of(lambda: lab)(("127.0.0.1", 0), KEY).get_server()
        threading.Thread(target=server.serve_forever, daemon=True).start()
        assert isinstance(server.address, tuple)
        sys.stdout.write(f"{listen(shared, derby)} {server.address[1]}\n")
        sys.stdout.flush()
        sys.stdin.read()
        requester.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
