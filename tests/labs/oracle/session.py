"""One session of the emulated database: who it is, what it may, what it waits for. Implements tns.backend.Session."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, cast

from tests.labs.oracle.adding import add_partition
from tests.labs.oracle.grammar import NOT_ENDED, Words, read_degree, read_move, read_move_file, read_rebuild
from tests.labs.oracle.making import comment, create, grant
from tests.labs.oracle.moving import allocate_extent, lockable, mark_unusable, move_file, move_table, rebuild_index
from tests.labs.oracle.plsql import run_block
from tests.labs.oracle.spaces import create_tablespace, drop_tablespace
from tests.labs.oracle.views.performance import container_id
from tests.labs.oracle.views.rewrite import refuse
from tests.labs.tns.backend import Answer, Bind, Client, OracleError

if TYPE_CHECKING:
    from tests.labs.oracle.database import EmulatedDatabase
    from tests.labs.oracle.rows import Undo

CANCELLED = (1013, "user requested cancel of current operation")
BUSY = (54, "resource busy and acquire with NOWAIT specified or timeout expired")
STANDING_SECONDS = 0.05  # between two looks whether a test lets it go on
_COMMENTS = re.compile(r"\A(?:\s|/\*.*?\*/|--[^\n]*\n)+", re.DOTALL)


class EmulatedSession:
    """Statements of one client. ``cancel`` and ``kill`` come from other threads."""

    def __init__(self, database: EmulatedDatabase, client: Client, session_id: int) -> None:
        self.instance = 1
        self.database = database
        self.client = client
        self.session_id = session_id
        self.serial = 1 + session_id * 7 % 60_000
        self.user = database.users[client.proxy_client or client.user]
        self.parameters: dict[str, str] = {}
        self.active = False
        self.event = "SQL*Net message from client"
        self.blocked_by: int | None = None
        self._blocked_since = 0.0
        self._read_only = False
        self.transaction = 0  # number of the open one
        self.transaction_started = self.now()
        self._uncommitted: set[int] = set()  # tables and partitions locked by an open transaction
        self.counted: Counter[str] = Counter()  # by this session: blocks read, waits, and their microseconds ("/us")
        self._undo: list[Undo] = []  # what takes its changes of rows back
        self._ddl_locks: set[int] = set()
        self._stop: tuple[int, str] | None = None

    # What the wire asks.

    def execute(self, sql: str, binds: Sequence[Bind], executions: int) -> Answer:
        """Run one statement. Raises OracleError."""
        with self.database.changed:
            self._stop = None
            self.active = True
        try:
            self._wait_where_told(sql)
            return self._dispatch(_COMMENTS.sub("", sql), list(binds))
        finally:
            with self.database.changed:
                self.active, self.blocked_by = False, None
                self.event = "SQL*Net message from client"
                self.unlock_all_ddl()
                self.database.changed.notify_all()

    def _wait_where_told(self, sql: str) -> None:
        """Stand still in the statement that a test has named, until somebody ends it."""
        while self.database.stop_at and self.database.stop_at in sql:
            self.database.stopped.set()
            self.pause(STANDING_SECONDS)

    def in_transaction(self) -> bool:
        """Whether anything is uncommitted."""
        return bool(self._uncommitted)

    def commit(self) -> None:
        """Release the locks."""
        with self.database.changed:
            self._read_only = False
            for number in self._uncommitted:
                self.unlock(number)
            self._uncommitted.clear()
            self._undo.clear()
            self.transaction = 0
            self.database.changed.notify_all()

    def rollback(self) -> None:
        """Rows are as before, and locks are released."""
        for undo in reversed(self._undo):
            self.database.engine.rows.take_back(undo)
        self.commit()

    def cancel(self) -> None:
        """End the running statement with ORA-01013."""
        self._end_with(*CANCELLED)

    def kill(self) -> None:
        """End the running statement with ORA-00028, as ALTER SYSTEM KILL SESSION does."""
        self._end_with(28, "your session has been killed")

    def _end_with(self, number: int, text: str) -> None:
        with self.database.changed:
            if self.active:
                self._stop = (number, text)
            self.database.changed.notify_all()

    def close(self, *, orderly: bool) -> None:
        """Locks go with the session."""
        with self.database.changed:
            # A client that logs off commits what it has open; one that is lost does not.
            self.commit() if orderly else self.rollback()
            for name in [name for name, holder in self.database.user_locks.items() if holder == self.session_id]:
                del self.database.user_locks[name]
            self.database.sessions.pop(self.session_id, None)
            self.database.changed.notify_all()

    # What statements need.

    def seconds_blocked(self) -> int:
        """How long it has waited for somebody."""
        return 0 if self.blocked_by is None else int(time.monotonic() - self._blocked_since)

    def now(self) -> datetime:
        """SYSDATE: of the database host, without a zone."""
        return datetime.now()

    def context(self, space: str, key: str) -> str | None:
        """SYS_CONTEXT. Raises OracleError ORA-02003."""
        if space != "USERENV":
            raise refuse(f"context {space}")
        known = {
            "SESSION_USER": self.user.name, "CURRENT_USER": self.user.name, "CURRENT_SCHEMA": self.user.name,
            "SID": str(self.session_id), "INSTANCE": str(self.instance), "DB_NAME": self.database.name,
            "DB_UNIQUE_NAME": self.database.name, "SERVICE_NAME": self.client.service, "ISDBA": "FALSE",
            "PROXY_USER": self.client.user if self.client.proxy_client else None,
        }  # fmt: skip
        if self.database.version >= (12, 1):
            known |= {"CON_ID": str(container_id(self.database)), "CON_NAME": self.database.quirks.container}
        if self.database.version >= (18,):
            known["CLOUD_SERVICE"] = self.database.quirks.cloud_service or None
        if key not in known:
            raise OracleError(2003, "invalid USERENV parameter")
        return known[key]

    def may_read(self, view: str) -> bool:
        """Whether a grant, a role or a privilege opens this view."""
        user = self.user
        if "SELECT ANY DICTIONARY" in user.privileges or {"SELECT_CATALOG_ROLE", "DBA"} & user.roles:
            return True
        under = re.sub(r"^(G?V)\$", r"\1_$", view)
        return any((privilege, f"SYS.{under}") in user.grants for privilege in ("SELECT", "READ"))

    def may_alter(self, owner: str, kind: str, name: str) -> None:
        """Raises OracleError: ORA-00942 for what one may not even see, ORA-01031."""
        user = self.user
        if owner == user.name or f"ALTER ANY {kind}" in user.privileges:
            return
        if kind == "TABLE" and ("ALTER", f"{owner}.{name}") in user.grants:
            return
        seen = "SELECT ANY DICTIONARY" in user.privileges or "SELECT ANY TABLE" in user.privileges
        raise (
            OracleError(1031, "insufficient privileges")
            if seen
            else OracleError(942 if kind == "TABLE" else 1418, "table or view does not exist")
        )

    def check(self) -> None:
        """Raises OracleError when somebody wants the statement to end."""
        if self._stop is not None:
            raise OracleError(*self._stop)

    def pause(self, seconds: float) -> None:
        """Wait that long, unless somebody wants an end."""
        until = time.monotonic() + seconds
        with self.database.changed:
            self.check()
            while (left := until - time.monotonic()) > 0:
                self.database.changed.wait(left)
                self.check()

    def wait_for_objects(self, numbers: set[int], *, online: bool, mode: str = "EXCLUSIVE") -> None:
        """Blocking DDL locks a table or partitions, or gives up; online DDL waits as ``drain`` says. Lock is held.

        Raises:
            OracleError: ORA-00054 after DDL_LOCK_TIMEOUT.
        """
        if online:
            self.drain(numbers)
            return
        self._wait_while(lambda: self._holders(numbers).keys(), self._patience(), "enq: TM - contention")
        for number in numbers:
            self.lock(number, mode)
        self._ddl_locks |= numbers

    def drain(self, numbers: set[int]) -> None:
        """Wait until the transactions that hold a lock on these objects now have ended; later ones do not count.

        Raises:
            OracleError: ORA-00054 after DDL_LOCK_TIMEOUT, where the quirk says that online DDL heeds it.
        """
        before = self._holders(numbers)
        patience = self._patience() if self.database.quirks.online_ddl_times_out else float("inf")

        def left() -> set[int]:
            now = self._holders(numbers)
            return {session for session, transaction in before.items() if now.get(session) == transaction}

        self._wait_while(left, patience, "enq: TX - row lock contention")

    def _patience(self) -> float:
        return float(self.parameters.get("DDL_LOCK_TIMEOUT", "0"))

    def _holders(self, numbers: set[int]) -> dict[int, int]:
        """Other sessions with a lock on one of these objects, and the number of the transaction that each is in."""
        held = (self.database.table_locks.get(number, {}) for number in numbers)
        found = {session for holders in held for session in holders} - {self.session_id}
        open_now = self.database.sessions
        return {s: cast("EmulatedSession", open_now[s]).transaction if s in open_now else 0 for s in found}

    def _wait_while(self, blocking: Callable[[], Collection[int]], patience: float, event: str) -> None:
        until = time.monotonic() + patience
        while others := blocking():
            if self.blocked_by is None:
                self._blocked_since = time.monotonic()
            self.blocked_by, self.event = min(others), event
            left = until - time.monotonic()
            if left <= 0:
                raise OracleError(*BUSY)
            # At most a second: patience may be infinite, which no wait takes.
            self.database.changed.wait(min(left, 1.0))
            self.check()
        self.blocked_by, self.event = None, "direct path write"

    def lock(self, number: int, mode: str) -> None:
        """Hold a table lock."""
        self.database.table_locks.setdefault(number, {})[self.session_id] = mode

    def unlock(self, number: int) -> None:
        """Give it up."""
        holders = self.database.table_locks.get(number, {})
        holders.pop(self.session_id, None)
        if not holders:
            self.database.table_locks.pop(number, None)

    def unlock_all_ddl(self) -> None:
        """A statement ended, well or not."""
        for number in self._ddl_locks - self._uncommitted:
            self.unlock(number)
        self._ddl_locks.clear()

    # Statements.

    def _dispatch(self, sql: str, binds: list[Bind]) -> Answer:
        first = re.match(r"\w*", sql)
        match first.group().upper() if first else "":
            case "SELECT" | "WITH":
                return self.database.engine.run(self, sql, binds)
            case "BEGIN" | "DECLARE":
                run_block(self, sql, binds)
                return Answer()
            case "ALTER" | "DROP" | "CREATE" | "COMMENT" | "GRANT":
                self.commit()  # DDL commits what went before
                self._ddl(Words(sql))
                return Answer()
            case "SET" | "LOCK" | "UPDATE" | "INSERT" | "DELETE":
                return self._transactional(sql)
        raise OracleError(900, "invalid SQL statement")

    def _transactional(self, sql: str) -> Answer:
        words = Words(sql)
        if words.take("SET", "TRANSACTION", "READ", "ONLY"):
            if self.in_transaction():
                raise OracleError(1453, "SET TRANSACTION must be first statement of transaction")
            self._read_only = True
            return Answer()
        if self._read_only:
            raise OracleError(1456, "may not perform insert/delete/update operation inside a READ ONLY transaction")
        if words.take("LOCK", "TABLE"):
            return self._lock_table(words)
        return self._change_rows(sql)

    def _change_rows(self, sql: str) -> Answer:
        """INSERT ... SELECT or UPDATE: waits for DDL that locks the table, and then locks it against such DDL."""
        rows = self.database.engine.rows
        with self.database.changed:
            tree, table = rows.table_of(sql, self.user.name)
            if table.owner != self.user.name:
                self.may_alter(table.owner, "TABLE", table.name)
            numbers = {table.object_id, *(segment.object_id for segment in table.segments)}
            self._wait_while(lambda: self._ddl_holders(numbers), float("inf"), "enq: TM - contention")
            count, undo = rows.change(self, tree, table)
            self._undo.append(undo)
            self._begin()
            for number in numbers:
                self.lock(number, "ROW EXCLUSIVE")
                self._uncommitted.add(number)
            if table.segments:
                self.database.count(
                    table.segments[0], self.instance, {"logical reads": count, "db block changes": count}
                )
            self.database.touch()
        return Answer(rowcount=count)

    def _ddl_holders(self, numbers: set[int]) -> set[int]:
        held = (self.database.table_locks.get(number, {}) for number in numbers)
        return {session for holders in held for session, mode in holders.items() if mode in ("EXCLUSIVE", "SHARE")} - {
            self.session_id
        }

    def _begin(self) -> None:
        if not self.transaction:
            self.transaction, self.transaction_started = next(self.database.transactions), self.now()

    def _lock_table(self, words: Words) -> Answer:
        owner, name = words.qualified(self.user.name)
        part = ""
        if words.take("PARTITION", "("):
            part = words.name()
            words.need(")")
        words.need("IN")
        mode = "EXCLUSIVE" if words.take("EXCLUSIVE") else "ROW SHARE"
        if mode != "EXCLUSIVE" and not words.take("ROW", "SHARE"):
            words.need("ROW", "EXCLUSIVE")
        words.need("MODE")
        with self.database.changed:
            table = self.database.table(owner, name)
            self._begin()
            for number in lockable(table, part):
                self.lock(number, mode)
                self._uncommitted.add(number)
        return Answer()

    def _ddl(self, words: Words) -> None:
        if words.take("ALTER", "SESSION", "SET"):
            while words.more():
                key = words.name()
                words.need("=")
                self.parameters[key] = words.value()
        elif words.take("ALTER", "SESSION", "DISABLE", "RESUMABLE"):
            words.end()
        elif words.take("ALTER", "TABLE"):
            self._alter_table(words)
        elif words.take("ALTER", "INDEX"):
            self._alter_index(words)
        elif words.take("ALTER", "DATABASE", "MOVE", "DATAFILE"):
            move_file(self, read_move_file(words))
        elif words.take("CREATE", "TABLESPACE"):
            create_tablespace(self, words)
        elif words.take("DROP", "TABLESPACE"):
            drop_tablespace(self, words)
        elif words.take("CREATE"):
            create(self, words)
        elif words.take("COMMENT", "ON"):
            comment(self, words)
        elif words.take("GRANT"):
            grant(self, words)
        elif words.take("DROP", "TABLE"):
            owner, name = words.qualified(self.user.name)
            words.take("CASCADE", "CONSTRAINTS")
            gone = words.take("PURGE")
            words.end()
            self.may_alter(owner, "TABLE", name)
            if gone or name.startswith("BIN$"):
                self.database.drop_table(owner, name)
            else:
                self.database.throw_away(owner, name)
        else:
            raise refuse("DDL")

    def _alter_table(self, words: Words) -> None:
        owner, name = words.qualified(self.user.name)
        if words.take("MODIFY", "DEFAULT", "ATTRIBUTES", "TABLESPACE"):
            tablespace = words.name()
            words.end()
            self.may_alter(owner, "TABLE", name)
            with self.database.changed:
                self.database.tablespace(tablespace)
                self.database.table(owner, name).default_tablespace = tablespace
            return
        if words.take("ALLOCATE", "EXTENT", "(", "SIZE"):
            size = words.integer()
            words.need(")")
            words.end()
            allocate_extent(self, owner, name, size)
            return
        if words.take("ADD", "PARTITION"):
            add_partition(self, owner, name, words)
            return
        words.need("MOVE", error=NOT_ENDED)
        move_table(self, owner, name, read_move(words))

    def _alter_index(self, words: Words) -> None:
        owner, name = words.qualified(self.user.name)
        if words.next_is("NOPARALLEL") or words.next_is("PARALLEL"):
            degree = read_degree(words)
            self.may_alter(owner, "INDEX", name)
            with self.database.changed:
                self.database.index(owner, name)[1].degree = degree
                self.database.touch()
            return
        if words.take("MODIFY", "DEFAULT", "ATTRIBUTES", "TABLESPACE"):
            tablespace = words.name()
            words.end()
            self.may_alter(owner, "INDEX", name)
            with self.database.changed:
                self.database.tablespace(tablespace)
                self.database.index(owner, name)[1].default_tablespace = tablespace
            return
        part = words.name() if words.take("MODIFY", "PARTITION") else ""
        if words.take("UNUSABLE"):
            words.end()
            mark_unusable(self, owner, name, part)
            return
        words.need("REBUILD", error=NOT_ENDED)
        rebuild_index(self, owner, name, read_rebuild(words))
