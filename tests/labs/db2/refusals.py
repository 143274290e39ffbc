"""What an emulated Db2 refuses, with the codes that facts and messages of Db2 give."""

from __future__ import annotations

from tests.labs.db2.wire.sqlca import SEPARATOR, Sqlca


class Refusal(Exception):
    """A negative SQLCODE.

    Attributes:
        answer: what the client is told.
        hangs_up: the connection ends with it.
    """

    def __init__(self, code: int, state: str, *tokens: str, hangs_up: bool = False) -> None:
        super().__init__(f"SQL{-code:04}N {state} {' '.join(tokens)}")
        self.answer = Sqlca(code, state, SEPARATOR.join(tokens))
        self.hangs_up = hangs_up


def undefined(name: str) -> Refusal:
    """SQL0204N: no such object."""
    return Refusal(-204, "42704", name)


def syntax(near: str) -> Refusal:
    """SQL0104N: the lab does not know this statement, as Db2 would not."""
    return Refusal(-104, "42601", near[:60], "BEGIN-OF-STATEMENT", "<a statement of the lab>")


def not_allowed(user: str, privilege: str, name: str) -> Refusal:
    """SQL0551N: a privilege on an object is missing."""
    return Refusal(-551, "42501", user, privilege, name)


def no_routine(name: str, kind: str) -> Refusal:
    """SQL0440N: no routine of that name and arguments that this user may execute."""
    return Refusal(-440, "42884", name, kind)


def not_unique(name: str) -> Refusal:
    """SQL0476N: the routine was named without a signature, and there are several."""
    return Refusal(-476, "42725", name)


def no_parent_key(key: str) -> Refusal:
    """SQL0573N: what a foreign key refers to is neither a primary nor a unique key."""
    return Refusal(-573, "42890", key)


def exists(name: str, kind: str) -> Refusal:
    """SQL0601N: the name is taken."""
    return Refusal(-601, "42710", name, kind)


def reserved_name(name: str) -> Refusal:
    """SQL0707N: the name begins as those of the server do."""
    return Refusal(-707, "42939", name, "SYS")


def still_used(name: str, by: str) -> Refusal:
    """SQL0478N: something depends on what is to be dropped."""
    return Refusal(-478, "42893", name, by, "TABLESPACE")


def overlap(part: str) -> Refusal:
    """SQL0636N: the range of a data partition is none, or overlaps another one."""
    return Refusal(-636, "56016", part, "10")


def unlike_spaces(space: str) -> Refusal:
    """SQL1860N: table spaces of one partitioned table are managed in the same way, with the same pages and extents."""
    return Refusal(-1860, "42838", space)


def not_partitioned(table: str) -> Refusal:
    """SQL20054N: the state of the table forbids it; it is not partitioned."""
    return Refusal(-20054, "55019", table, "21")


def rows_without_parent(key: str) -> Refusal:
    """SQL0667N: a foreign key cannot be added, for rows have values that no parent has."""
    return Refusal(-667, "23520", key)


def no_authority(user: str, operation: str) -> Refusal:
    """SQL0552N: an authority is missing."""
    return Refusal(-552, "42502", user, operation)


def deadlock() -> Refusal:
    """SQL0911N reason 2: chosen as the victim of a deadlock, rolled back."""
    return Refusal(-911, "40001", "2")


def lock_timeout() -> Refusal:
    """SQL0911N reason 68: waited too long, rolled back."""
    return Refusal(-911, "40001", "68")


def space_full(space: str) -> Refusal:
    """SQL0289N: the table space has no room for new pages."""
    return Refusal(-289, "57011", space)


def file_system_full() -> Refusal:
    """SQL0968C: no room for a new file."""
    return Refusal(-968, "57011")


def bad_path(path: str) -> Refusal:
    """SQL0298N: no container can be there."""
    return Refusal(-298, "428B2", path)


def container_in_use(path: str) -> Refusal:
    """SQL0294N: that file is a container already."""
    return Refusal(-294, "42730", path)


def too_little_left(space: str) -> Refusal:
    """SQL20170N: what is left would not hold what is in it."""
    return Refusal(-20170, "57059", space)


def restricted(reason: int, name: str) -> Refusal:
    """SQL0668N: the state of the table forbids it; 3 a LOAD failed, 5 a LOAD runs, 7 it waits for a reorganization."""
    return Refusal(-668, "57007", str(reason), name)


def unavailable(name: str) -> Refusal:
    """SQL1477N: the table cannot be accessed."""
    return Refusal(-1477, "55019", name)


def ended(code: int) -> Refusal:
    """Whatever code, such as SQL1024N (no connection exists any more); the session is over."""
    return Refusal(code, "08003", hangs_up=True)


def no_access(space: str) -> Refusal:
    """SQL0290N: the state of the table space forbids it."""
    return Refusal(-290, "55039", space)


def system_managed(space: str, clause: str) -> Refusal:
    """SQL0284N: what follows INDEX IN or LONG IN has to be managed by the database."""
    return Refusal(-284, "42838", space, clause, "SYSTEM MANAGED")


def not_to_be_split(table: str, space: str) -> Refusal:
    """SQL0285N: whose data is in a space that the system manages has its indexes and LOBs there too."""
    return Refusal(-285, "42839", table, space)


def nonrecoverable_load() -> Refusal:
    """SQL2032N: with blocknonlogged a LOAD has to leave a copy."""
    return Refusal(-2032, "5UA0M", "NONRECOVERABLE")


def unsupported(reason: int) -> Refusal:
    """SQL2103N: ADMIN_MOVE_TABLE does not support some aspect of the table; 6 is row protection."""
    return Refusal(-2103, "5UA0M", str(reason))


def phase_failed(reason: int) -> Refusal:
    """SQL2104N: a phase of ADMIN_MOVE_TABLE could not be done."""
    return Refusal(-2104, "5UA0M", str(reason))


def wrong_phase(reason: int) -> Refusal:
    """SQL2105N: the state of the move asks for a clean-up or another phase."""
    return Refusal(-2105, "5UA0N", str(reason))


def forced() -> Refusal:
    """SQL1224N: the application was forced off; the session is over."""
    return Refusal(-1224, "55032", hangs_up=True)
