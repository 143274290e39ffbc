"""The vocabulary of a move: routes, their statements, what they do to others, and related changes.

Nothing here needs numpy, so that proposals are read without it; what has columns is in
``connectors.model.observation``.

``Operation`` says what a statement does. It is stored with the statement, so that no program has to parse SQL.

``Route`` is one way to bring a ``Bundle`` to a space. Its ``Step`` objects are the statements; the classes before it
say what the move reads, writes, locks, logs, leaves to do and must preserve.

``ByHand`` in a route says that a person carries it out: it is weighed, approved and measured as any other, and none of
its statements is ever sent. The same class answers where a person alone can take a container out or split a table.

``Container`` is a file, device or folder under a space. One can be taken out while the space keeps the others. Its
content goes to other containers of the same table space or filegroup, so units stay in their space and do not appear
here.

``SplitsTables`` is an optional ability: cold rows stay where they are, rows from a ``Border`` on are born in another
space. The unit becomes a partitioned table of two parts without a copy of the cold one. A split is a change of its own
kind, but its route has statements, locks and a way back like any other, and ``Connector.inspect`` tells where it
stands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum, StrEnum
from fnmatch import fnmatchcase
from typing import Protocol, runtime_checkable

from connectors.model.formatting import with_semicolon

Parameter = str | bool | int | tuple[str, ...]  # what JSON has, and what reads back as the same


@dataclass(frozen=True, slots=True)
class Operation:
    """The kind of a step and what it applies to, in the connector's own terms.

    It is stored and hashed with the step: a name or parameter that was once stored keeps its meaning for ever.
    """

    name: str  # "ENGINE.WHAT", as in "db2.rebalance"
    parameters: Mapping[str, Parameter] = field(default_factory=dict, hash=False)

    def text(self, name: str) -> str:
        """A parameter that is a text, "" where there is none of that name."""
        return str(self.parameters.get(name, ""))

    def texts(self, name: str) -> tuple[str, ...]:
        """A parameter that is a list of texts, empty where there is none of that name."""
        found = self.parameters.get(name, ())
        return found if isinstance(found, tuple) else (str(found),)


MINIMAL_LOG = 0.5  # share of a bundle's bytes: a move that logs less does not log what it copies


class Locked(StrEnum):
    """What other sessions cannot do with the units of a move while it runs."""

    NOTHING = "nothing"
    BRIEFLY = "briefly"  # all of them, for a moment at its begin or end
    WRITES = "writes"  # reads go on
    ALL = "all"


class LogVolume(StrEnum):
    """How much of a move goes into the transaction log."""

    NONE = "none"
    MINIMAL = "minimal"  # what was allocated, not what was copied
    FULL = "full"  # every byte

    @classmethod
    def of(cls, log_bytes: int, copied_bytes: int) -> LogVolume:
        """How an estimate of the log compares with what is copied."""
        if not log_bytes:
            return cls.NONE
        return cls.FULL if log_bytes > MINIMAL_LOG * copied_bytes else cls.MINIMAL


@dataclass(frozen=True, slots=True, kw_only=True)
class Transfer:
    """Bytes that a move reads from a space or writes to one, from the first to the last; one after the other."""

    space: str  # where they are when the route is asked for, or where they go
    bytes: int
    written: bool = False  # False: read
    unit: str = ""  # key of the unit that is read, which an earlier move may have brought elsewhere; "": none
    work_ratio: float = 0.5  # of the server's own work on a byte that is read, logged and written: 1.0 in all
    whole: bool = False  # no other request comes between: the engine keeps the device for it

    def __post_init__(self) -> None:
        if self.bytes < 0 or not self.work_ratio >= 0:
            raise ValueError(f"a transfer of {self.bytes} bytes with {self.work_ratio} of the work is none")


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyHabits:
    """How an engine copies, as far as it can be said of all units at once, before a route is asked for."""

    index_reads_table: int = 0  # times that moving an index reads its table; 0: the index itself is read
    whole: bool = False  # as of a ``Transfer``


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowUp:
    """Work that a move leaves behind, besides its own statements."""

    what: str  # one sentence without a full stop
    seconds: float | None  # of a session's time, estimated; None: unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """Something that belongs to an object that the move rebuilds, and has to exist unchanged after the move."""

    what: str  # "index APP.ORDERS_PK"
    how: str  # what must not have changed of it: "primary key on +ID"


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
    """The value of one parameter of a template (``connectors.kit.templates``)."""

    name: str
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """The program that a person runs a file of statements with (``connectors.kit.clients``)."""

    run_with: str = ""  # one sentence without a full stop
    opening: tuple[str, ...] = ()  # lines that have to come before all others, comments included
    statement: Callable[[str], str] = with_semicolon  # a statement as it stands in the file, its end included


@dataclass(frozen=True, slots=True, kw_only=True)
class ByHand:
    """Statements that a person carries out where hotplace does not: hotplace sends none of them, whatever is approved.

    One file is written of all that a person has to do. ``before`` and ``after`` stand in it once, however many moves
    name them.
    """

    statements: tuple[str, ...]  # and comments among them (``connectors.model.formatting``)
    because: str  # why it is left to a person, one sentence without a full stop
    run_with: str = ""  # how the file is run, one sentence without a full stop; "": as the engine's scripts are
    before: tuple[str, ...] = ()  # what comes before the statements of all moves
    after: tuple[str, ...] = ()  # and after them
    undo: tuple[str, ...] = ()  # bring the bundle back; ``before`` and ``after`` hold for them too
    opening: tuple[str, ...] = ()  # first lines of the file, which its client has to read before any comment


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
    by_hand: ByHand | None = None  # a person carries it out, and no step of it is sent; None: hotplace does
    undo_locks: str = ""  # of undo_steps, in the engine's words, one sentence; "": not said apart
    locked_copies: int | None = None  # of transfers, so many from the first on are made under its lock; None: all

    @property
    def transfers(self) -> tuple[Transfer, ...]:
        """Reads and writes of the move, in order: ``copies``, else reading the bundle and writing it to its target."""
        size = self.bundle.size_bytes
        return self.copies or (
            Transfer(space=self.bundle.space, bytes=size, unit=self.bundle.key),
            Transfer(space=self.to_space, bytes=size, written=True),
        )

    def by_a_person(self, because: str, client: Client, *more: str) -> Route:
        """The same for a person to carry out.

        Its steps stay, since ``Connector.inspect`` knows a move by them; the ledger lets no step of it be sent.

        Args:
            because: why it is left to one, a sentence without a full stop.
            client: what the file is run with.
            more: statements behind those of its steps.
        """
        there = (*self.prologue, *(step.sql for step in self.steps), *more)
        hand = ByHand(
            statements=tuple(map(client.statement, there)),
            because=because,
            run_with=client.run_with,
            undo=tuple(client.statement(step.sql) for step in self.undo_steps),
            opening=client.opening,
        )
        return replace(self, by_hand=hand, patient_prologue=(), tidy_steps=(), tidy_locks="", tidy_bytes=0)

    @property
    def locked_ratio(self) -> float:
        """Share of its bytes that it copies under its lock, 0 to 1."""
        of_all = self.transfers
        total = sum(each.bytes for each in of_all)
        return sum(each.bytes for each in of_all[: self.locked_copies]) / total if total else 1.0

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    """A file, device or folder under a space."""

    name: str  # as the engine's statements call it: a logical name, a number or the path
    path: str
    size_bytes: int  # allocated
    used_bytes: int | None  # None: the engine does not tell; where it stripes, this container's even share
    growth_bytes: int | None = 0  # how far it may still autoextend; None: unknown
    device: str = ""  # containers that grow into the same room have it in common
    holder: str = ""  # the table space or filegroup that it belongs to, where its space is a place that has several

    @property
    def free_bytes(self) -> int | None:
        """Bytes that still fit into it; None: unknown."""
        if self.used_bytes is None or self.growth_bytes is None:
            return None
        return max(0, self.size_bytes - self.used_bytes) + self.growth_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """Bytes in some containers."""

    used_bytes: int
    free_bytes: int


def key_matcher(pattern: str) -> Callable[[str], bool]:
    """What tells whether a unit is meant by what a person wrote: by its key, or by one with ``*`` and ``?`` in it.

    ``[`` stands for itself, since it is common in quoted names: taken for a set of characters, a rule for ``"a[1]"``
    would not mean that table, but ``"a1"``. ``[[]`` and ``[]]`` mean brackets too, as they would in a shell.

    >>> means = key_matcher('shop."a[1]"*')
    >>> means('shop."a[1]"'), means('shop."a[1]_pkey"'), means('shop."a1"'), key_matcher("[[]dbo[]].*")("[dbo].[a]")
    (True, False, False, True)
    """
    literal = pattern.replace("[[]", "[").replace("[]]", "]").replace("[", "[[]")
    return lambda key: key == pattern or fnmatchcase(key, literal)


def find_container(containers: Sequence[Container], name: str) -> Container | None:
    """The container of that name or path; None where there is none."""
    return next((c for c in containers if name in (c.name, c.path)), None)


def others(containers: Sequence[Container], name: str) -> tuple[Container, ...]:
    """The containers that can take the bytes of that one: the others of its holder. All, if it does not exist."""
    own = find_container(containers, name)
    return tuple(c for c in containers if own is None or (c is not own and c.holder == own.holder))


def room_in(containers: Sequence[Container]) -> Room | None:
    """What is in them and what can still go there; None where it is unknown.

    Containers on one device grow into the same bytes, which count once: as far as the one of them that may grow most.
    """
    growth: dict[str, int] = {}
    used = inside = 0
    for at, each in enumerate(containers):
        if each.used_bytes is None or each.growth_bytes is None:
            return None
        used += each.used_bytes
        inside += max(0, each.size_bytes - each.used_bytes)
        device = each.device or f"\0{at}"
        growth[device] = max(growth.get(device, 0), each.growth_bytes)
    return Room(used_bytes=used, free_bytes=inside + sum(growth.values()))


BY_HAND = "by hand"  # Route.name, of all engines, where a person carries it out
SPLIT, REJOIN = "split", "split, back"  # Route.name, of all engines
CLOSE, REOPEN = "close", "close, back"  # the same
WAYS_BACK = {SPLIT: REJOIN, CLOSE: REOPEN}
SLOW_BYTES_PER_SECOND = 20e6  # that a slow disk reads and writes under load


@dataclass(frozen=True, slots=True, kw_only=True)
class Border:
    """Where a table is to be split: rows with ``column`` >= ``value`` belong to the new part.

    The value is user data: it stands in a proposal and its statements, never in metrics, logs or recordings.
    """

    column: str  # as the catalog has it, not quoted
    value: str  # text that the engine reads as the column's type


def held_seconds(transfers: Iterable[Transfer]) -> float:
    """For how long a table is locked while all of this is read and written, on a slow disk under load."""
    return sum(each.bytes for each in transfers) / SLOW_BYTES_PER_SECOND


@runtime_checkable
class SplitsTables(Protocol):
    """Optional in a connector: splitting a table, or the statements by which a person does it."""

    def routes_split(self, bundle: Bundle, border: Border, to_space: str) -> Route | ByHand | NoRoute:
        """The route that splits the table so that new rows are born in a space; its undo makes it one table again.

        ``ByHand``: hotplace does not do it on this engine, a person may. Changes nothing.

        Raises:
            ConnectorError: the engine did not answer.
        """
        ...


@runtime_checkable
class ClosesParts(Protocol):
    """Optional in a connector: giving the open part of a split table an end, behind which a new one is born."""

    def route_close(self, table: str, border: str, to_space: str) -> Route | NoRoute:
        """The route that ends the open part of a table at a border and makes the next one in a space; with a way back.

        Args:
            table: its key.
            border: a value of the column that it is partitioned by, ahead of its rows.
            to_space: where rows from the border on are born.

        Raises:
            ConnectorError: the engine did not answer.
        """
        ...


@runtime_checkable
class KnowsRightsToSplit(Protocol):
    """Optional in a connector that splits tables itself: whether its login may."""

    def refuse_split(self, route: Route) -> NoRoute | None:
        """Each right that this login lacks to split or close, and for the way back, by name; None: it lacks none.

        Raises:
            ConnectorError: the engine did not answer.
        """
        ...
