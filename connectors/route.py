"""The vocabulary of a move: a bundle, the ways to bring it to a space, and their statements.

Apart from ``connectors.model``, which has columns: proposals are read without numpy.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from connectors.move_effects import FollowUp, Kept, Locked, LogVolume, Transfer
from connectors.operations import Operation


class UnitKind(IntEnum):
    """What a unit is; engines use the kinds they have."""

    TABLE = 0
    INDEX = 1
    TABLE_PARTITION = 2
    INDEX_PARTITION = 3
    LOB = 4
    MATERIALIZED_VIEW = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundle:
    """The units that one route moves together."""

    key: str  # logical identity of its leading unit
    physical_ids: tuple[int, ...]
    unit_keys: tuple[str, ...]
    kind: UnitKind
    size_bytes: int
    space: str
    wide: str = ""  # the narrow way; else what moves as a whole, of UnitTable.wide_names
    homes: tuple[str, ...] = ()  # of wide_names, that each of unit_keys is to be in then; (): the connector chooses
    table_ids: tuple[int, ...] = ()  # UnitTable.table_ids of unit_keys; (): stored before it was recorded
    container: str = ""  # what of the space is taken out or put back, its bytes stay in the space; it has no units then


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One statement of a move, exactly as it is sent, tag comment included."""

    sql: str
    purpose: str
    undo_sql: str = ""  # "" where undoing the whole move covers it
    pause_sql: str = ""  # holds the statement while it runs; "" where the engine cannot
    resume_sql: str = ""  # goes on with it
    timeout_seconds: float = 0.0  # 0: none but the session's own
    variants: tuple[str, ...] = ()  # the same for other names that the engine may give; sent in place of sql
    operation: Operation | None = None  # None: its connector asks nothing of it, or stored before steps had one

    def __post_init__(self) -> None:
        if not self.sql.strip():
            raise ValueError(f"the step {self.purpose!r} has no statement")
        if bool(self.pause_sql) != bool(self.resume_sql):
            raise ValueError(f"the step {self.purpose!r} can be held or gone on with, but not both")

    @property
    def pausable(self) -> bool:
        """Whether the statement can be held while it runs."""
        return bool(self.pause_sql)

    @property
    def statements(self) -> tuple[str, ...]:
        """Every statement that it may become, letter by letter."""
        return (self.sql, *self.variants)


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument:
    """The value of one parameter of a template (``connectors.templates``)."""

    name: str
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """One way to move a bundle to a space, with what it costs and blocks."""

    name: str  # the engine's own word for it, e.g. "set tablespace"
    bundle: Bundle
    to_space: str
    prologue: tuple[str, ...]  # session settings sent before the first step
    steps: tuple[Step, ...]
    undo_steps: tuple[Step, ...]  # bring the bundle back to where it was
    tidy_steps: tuple[Step, ...] = ()  # remove what an interrupted run may leave; sent only if inspect() names them
    online: bool  # sessions keep reading and writing while bytes are copied
    locks: str  # in the engine's words, one sentence
    log_bytes: int  # estimate of transaction log written
    transient_bytes: int  # extra room in the target while it runs, beyond the bundle itself
    stays_bytes: int = 0  # of the source that are not free after it: the original is kept for a time
    undo_bytes: int | None = None  # that the undo copies; None: as many as the way there
    rewrites: str = ""  # what the statements rewrite besides the bundle: a plan has one route for each such thing
    combines: bool = False  # one route can move all bundles at once that rewrite the same thing
    unites: str = ""  # routes of one plan with the same words here can be one, where the engine has it; else each goes
    joins: str = ""  # of UnitTable.wide_names, that the bundle goes with from then on; "": it stays in its own
    leaves: tuple[str, ...] = ()  # of wide_names, that each of the bundle's unit_keys is in before
    notes: tuple[str, ...] = ()
    locked: Locked | None = None  # None: stored by a version without this field
    lock_seconds: float = 0.0  # others queue behind it for so long at most, where it has to wait for its lock
    follow_up: tuple[FollowUp, ...] = ()
    keeps: tuple[Kept, ...] = ()  # inspect() tells what of it is not as it was; empty: nothing is compared
    tidy_locks: str = ""  # of tidy_steps, in the engine's words, one sentence; "": as locks
    patient_prologue: tuple[str, ...] = ()  # in place of prologue where all that is in the way gives way to who waits
    tidy_bytes: int = 0  # that tidy_steps copy at most, all together
    drains: int = 0  # times that it waits until every transaction has ended that was there before
    drains_users: int = 0  # times that it waits until each of those has ended that uses what the move locks
    copies: tuple[Transfer, ...] = ()  # what it reads and writes, in order; (): the bundle once, there and here
    arguments: tuple[Argument, ...] = ()  # of the template that its statements are made of; (): of none

    @property
    def transfers(self) -> tuple[Transfer, ...]:
        """Reads and writes of the move, in order: ``copies``, else reading the bundle and writing it to its target."""
        size = self.bundle.size_bytes
        return self.copies or (
            Transfer(space=self.bundle.space, bytes=size, unit=self.bundle.key),
            Transfer(space=self.to_space, bytes=size, written=True),
        )

    @property
    def log_volume(self) -> LogVolume:
        """The class of its log volume, by its estimate relative to the bytes it copies."""
        return LogVolume.of(self.log_bytes, self.bundle.size_bytes)


@dataclass(frozen=True, slots=True, kw_only=True)
class NoRoute:
    """Why a bundle cannot be moved to a space."""

    code: str
    sentence: str
    setting: str = ""  # of the configuration that refuses it, as it stands there; "": it is no choice of the user's
