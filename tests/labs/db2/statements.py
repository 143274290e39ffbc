"""Statements that Derby does not know and that change the emulated database. What is not here is refused (SQL0104N)."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable
from datetime import UTC, datetime

from tests.labs.db2 import refusals
from tests.labs.db2.containers import check_change, is_change, mode_of, read_change
from tests.labs.db2.grants import grant, is_grant, is_of_a_tool
from tests.labs.db2.keys import change_keys, is_key_change
from tests.labs.db2.move import move_table
from tests.labs.db2.partitions import add_partition, is_addition
from tests.labs.db2.sessions import Session
from tests.labs.db2.text import matched, name_of, string_of, words
from tests.labs.db2.world import EXTENT, PAGE_SIZE, Rebalance, StorageGroup, TableSpace, World

Force = Callable[[int], None]
LARGEST_TIMEOUT = 32767
# Functions of SYSIBM that agents call; a user may make one of the same name, and CAST, TABLE and types are none.
_UNQUALIFIED = re.compile(
    r"(?<![.\w])(COALESCE|COUNT|SUM|MAX|MIN|MOD|LENGTH|TRIM|UPPER|LOCATE|REPEAT)\s*\(", re.IGNORECASE
)
BEGINNINGS = (
    "GRANT EXECUTE",
    "ALTER TABLESPACE",
    "ALTER TABLE ",
    "ALTER STOGROUP",
    "CREATE STOGROUP",
    "DROP STOGROUP",
    "SET CURRENT",
    "CALL",
)


def is_ours(text: str) -> bool:
    """Whether the lab executes it, and not Derby."""
    if is_of_a_tool(words(text)):
        return True
    beginning = " ".join(words(text)[:2]) + " "
    return beginning.startswith(BEGINNINGS) and beginning != "CALL SYSIBM "  # those are of Derby's own client


def hostile_call(text: str) -> str:
    """A function that a statement names without its schema, so that CURRENT PATH decides which one is meant; or ""."""
    found = _UNQUALIFIED.search(text)
    return found[1].upper() if found else ""


class Statements:
    """Executes them on one world."""

    def __init__(self, world: World, force: Force) -> None:
        self._world = world
        self._force = force
        self._known: dict[str, Callable[..., None]] = {
            "ALTER TABLESPACE <> USING STOGROUP <>": self._use_group,
            "ALTER TABLESPACE <> MANAGED BY AUTOMATIC STORAGE USING STOGROUP <>": self._convert,
            "ALTER TABLESPACE <> REBALANCE": self._rebalance,
            "ALTER TABLESPACE <> REBALANCE SUSPEND": self._suspend,
            "ALTER TABLESPACE <> REBALANCE RESUME": self._resume,
            "ALTER TABLESPACE <> REDUCE MAX": self._reduce,
            "CREATE STOGROUP <> ON <>": self._create_group,
            "DROP STOGROUP <> RESTRICT": self._drop_group,
            "SET CURRENT LOCK TIMEOUT <>": self._lock_timeout,
            "SET CURRENT LOCK TIMEOUT = <>": self._lock_timeout,
            "SET CURRENT PATH = SYSTEM PATH": self._system_path,
            "CALL SYSPROC . ADMIN_CMD ( <> )": self._admin_cmd,
        }

    def check(self, text: str) -> None:
        """Refuse what is not known, as a server does when it prepares.

        Raises:
            Refusal: SQL0104N.
        """
        said = words(text)
        if is_change(said):
            read_change(said)
        elif (
            not _is_move(said)
            and not is_key_change(said)
            and not is_addition(said)
            and not is_grant(said)
            and not any(matched(said, pattern) is not None for pattern in self._known)
        ):
            raise refusals.syntax(text)

    def execute(self, session: Session, text: str) -> None:
        """Do it.

        Raises:
            Refusal: with the code of what went wrong.
        """
        said = words(text)
        if _is_move(said):
            move_table(self._world, session, [string_of(token) for token in said[5:-1] if token != ","])
            return
        if is_change(said):
            self._change_files(session, said)
            return
        if is_key_change(said):
            change_keys(self._world, session, said)
            return
        if is_addition(said):
            add_partition(self._world, session, said)
            return
        if is_grant(said):
            grant(self._world, session, said)
            return
        for pattern, action in self._known.items():
            names = matched(said, pattern)
            if names is not None:
                action(session, *names)
                return
        raise refusals.syntax(text)

    def _space_to_alter(self, session: Session, token: str) -> TableSpace:
        if not session.user.administrator:
            raise refusals.no_authority(session.user.authid, "ALTER TABLESPACE")
        space = self._world.space(name_of(token))
        if space.state != "NORMAL":
            raise refusals.no_access(space.name)
        return space

    def _create_group(self, session: Session, group_token: str, path_token: str) -> None:
        name, path = name_of(group_token), string_of(path_token)
        if not session.user.administrator:
            raise refusals.no_authority(session.user.authid, "CREATE STOGROUP")
        with self._world.lock:
            if name in self._world.groups:
                raise refusals.exists(name, "STOGROUP")
            if name.startswith("SYS"):
                raise refusals.reserved_name(name)
            if path.endswith("/missing"):
                raise refusals.bad_path(path)
            number = max(group.id for group in self._world.groups.values()) + 1
            made = StorageGroup(
                number, name, path, read_ms=0.2, capacity=512 * 2**20, overhead=6.725, read_rate=100.0
            )  # fmt: skip
            self._world.groups[name] = made
            self._world.touch()

    def _drop_group(self, session: Session, group_token: str) -> None:
        name = name_of(group_token)
        if not session.user.administrator:
            raise refusals.no_authority(session.user.authid, "DROP STOGROUP")
        with self._world.lock:
            group = self._world.group(name)
            users = [space.name for space in self._world.spaces.values() if space.group == name]
            if users or group.default:
                raise refusals.still_used(name, users[0] if users else name)
            del self._world.groups[name]
            self._world.touch()

    def _take_time(self, session: Session) -> None:
        began = time.monotonic()
        session.wait(lambda: self._world.is_over("ALTER", began), math.inf)

    def _use_group(self, session: Session, space_token: str, group_token: str) -> None:
        """Takes effect at the commit; without room nothing begins."""
        self._take_time(session)
        with self._world.lock:
            self._world.tick()
            space = self._space_to_alter(session, space_token)
            group = self._world.group(name_of(group_token))
            if self._world.behaviour.pure_scale:
                raise refusals.Refusal(-270, "42997", "emulated: pureScale")
            if space.rebalance or space.waiting_from:
                raise refusals.no_access(space.name)
            needed = self._world.used_pages()[space.name] * PAGE_SIZE
            if group.name != space.group and self._world.free_bytes(group) < needed:
                raise refusals.space_full(space.name)
        session.pending.append(lambda: self._leave(space, group.name))

    def _leave(self, space: TableSpace, group: str) -> None:
        if space.group == group:
            return
        space.waiting_from, space.group = space.group, group
        if self._world.behaviour.rebalance_starts:
            self._start(space)

    def _convert(self, session: Session, space_token: str, group_token: str) -> None:
        """DMS into automatic storage: a hybrid until a REBALANCE, which never begins by itself here."""
        with self._world.lock:
            self._world.tick()
            space = self._space_to_alter(session, space_token)
            group = self._world.group(name_of(group_token))
            if space.group or space.rebalance:
                raise refusals.no_access(space.name)
            if self._world.free_bytes(group) < self._world.used_pages()[space.name] * PAGE_SIZE:
                raise refusals.space_full(space.name)
        session.pending.append(lambda: self._become_automatic(space, group.name))

    def _become_automatic(self, space: TableSpace, group: str) -> None:
        space.group, space.leaving, space.files = group, space.files, {}

    def _change_files(self, session: Session, said: list[str]) -> None:
        """Containers of its own in and out."""
        self._take_time(session)
        added, dropped = read_change(said)
        with self._world.lock:
            self._world.tick()
            space = self._space_to_alter(session, said[2])
            if space.rebalance:
                raise refusals.no_access(space.name)
            check_change(self._world, space, added, dropped)

        def change() -> None:
            space.leaving = {path: space.files.pop(path) for path in dropped}
            space.files |= added
            self._begin(space, "", mode_of(added, dropped))

        session.pending.append(change)

    def _start(self, space: TableSpace) -> None:
        if space.waiting_from:
            source, space.waiting_from = space.waiting_from, ""
            self._begin(space, source, "REV_REBAL")
        elif space.leaving and not space.rebalance:
            self._begin(space, "", "2PASS")

    def _begin(self, space: TableSpace, source: str, mode: str) -> None:
        extents = -(-self._world.used_pages()[space.name] // EXTENT)
        space.rebalance = Rebalance(datetime.now(UTC), extents, source, mode)

    def _rebalance(self, session: Session, token: str) -> None:
        space = self._space_to_alter(session, token)
        if self._world.behaviour.pure_scale:
            raise refusals.Refusal(-270, "42997", "emulated: pureScale")
        session.pending.append(lambda: self._start(space))

    def _suspend(self, session: Session, token: str) -> None:
        self._set_suspended(self._space_to_alter(session, token), True)

    def _resume(self, session: Session, token: str) -> None:
        self._set_suspended(self._space_to_alter(session, token), False)

    def _set_suspended(self, space: TableSpace, suspended: bool) -> None:
        with self._world.lock:
            self._world.tick()
            if space.rebalance:
                space.rebalance.suspended = suspended

    def _reduce(self, session: Session, token: str) -> None:
        """Nothing to give back: the lab keeps no high-water mark."""
        self._space_to_alter(session, token)

    def _lock_timeout(self, session: Session, token: str) -> None:
        if not token.isdigit() or int(token) > LARGEST_TIMEOUT:
            raise refusals.syntax(token)
        session.lock_seconds = min(float(token), self._world.behaviour.lock_seconds)

    @staticmethod
    def _system_path(session: Session) -> None:
        session.own_schema_in_path = False

    def _admin_cmd(self, session: Session, token: str) -> None:
        command = words(string_of(token))
        if command[:3] == ["RUNSTATS", "ON", "TABLE"]:
            self._collect(session, command[3:])
            return
        if not session.user.administrator:
            raise refusals.not_allowed(session.user.authid, "EXECUTE", "SYSPROC.ADMIN_CMD")
        number = matched(command, "FORCE APPLICATION ( <> )")
        if number is None:
            raise refusals.syntax(token)
        self._force(int(number[0]))

    def _collect(self, session: Session, command: list[str]) -> None:
        """RUNSTATS: of a table, WITH DISTRIBUTION, AND [DETAILED] INDEXES ALL."""
        with self._world.lock:
            table = self._world.table(name_of(command[0]), name_of(command[2]))
            may = {"SQLADM", "DBADM"} & self._world.authorities.get(session.user.authid, set())
            if not (may or session.user.administrator or table.owner == session.user.authid):
                raise refusals.not_allowed(session.user.authid, "RUNSTATS", table.name)
            table.analysed = True
            for index in table.indexes if "INDEXES" in command else ():
                index.analysed = True
            self._world.touch()


def _is_move(said: list[str]) -> bool:
    return said[:5] == ["CALL", "SYSPROC", ".", "ADMIN_MOVE_TABLE", "("] and said[-1] == ")"
