"""The contract between hotplace and an engine: protocols, errors, and taps that hear what is read.

A new engine has to pass ``tests/contract``; nothing else of hotplace has to change.

Errors form one short tree. The class says what to catch, ``retry`` what may be done about it, and ``advice`` what a
person does next::

    HotplaceError
      ConnectorError
        CannotConnect -- AuthenticationFailed
        DriverMissing, UnknownEngine
        PrivilegeMissing
        LockNotObtained, TimedOut, Interrupted      (nothing changed)
        Paused                                      (held within the statement; Mover.resume() goes on)
        SpaceFull, ObjectGone, StatementFailed      (nothing changed)
        OutcomeUnknown                              (ask inspect())
        LeaseHeld

Protocols follow: ``Mover`` changes a database, ``Connector`` reads it. Most classes between the two are optional
abilities. ``Tap``, at the end, lets someone listen to the queries of a reading session, or answer them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from datetime import datetime
from enum import StrEnum
from types import TracebackType
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol, Self, TypeAlias, runtime_checkable

if TYPE_CHECKING:
    from connectors.kit.findings import Capability, Finding
    from connectors.kit.templates import StatementTemplate, TemplateKind
    from connectors.model.moves import Bundle, ByHand, CopyHabits, NoRoute, Route, Step
    from connectors.model.observation import (
        I64,
        Blocker,
        Catalog,
        Demand,
        Identity,
        Inspection,
        Interval,
        Progress,
        Sample,
    )


class Retry(StrEnum):
    """What may be done after an error."""

    NEVER = "never"  # a person has to change something first
    LATER = "later"  # nothing changed; the same call may succeed
    RECONCILE = "reconcile"  # it may or may not have happened: ask inspect(), never repeat blindly


class HotplaceError(Exception):
    """Root of every error that hotplace raises on purpose; its text never holds a secret.

    Attributes:
        advice: what a person does next, one sentence; may be empty.
    """

    retry: ClassVar[Retry] = Retry.NEVER

    def __init__(self, message: str, *, advice: str = "") -> None:
        super().__init__(message)
        self.advice = advice


class ConnectorError(HotplaceError):
    """An engine, its driver or the way to it refused.

    Attributes:
        native_code: the engine's own code (SQLSTATE, ORA number ...), "" where there is none.
    """

    def __init__(self, message: str, *, advice: str = "", native_code: str = "") -> None:
        super().__init__(message, advice=advice)
        self.native_code = native_code


class CannotConnect(ConnectorError):
    """The server did not answer or refused the connection."""

    retry = Retry.LATER


class AuthenticationFailed(CannotConnect):
    """The server answered and does not let this user in."""

    retry = Retry.NEVER


class DriverMissing(ConnectorError):
    """The engine's Python driver is not installed."""


class UnknownEngine(ConnectorError):
    """No connector is registered under that name."""


class PrivilegeMissing(ConnectorError):
    """The user may not do this; the advice holds the GRANT."""


class LockNotObtained(ConnectorError):
    """Another session held the object for longer than the lock timeout. Nothing changed."""

    retry = Retry.LATER


class TimedOut(ConnectorError):
    """The statement took longer than it was given and was rolled back. Nothing changed."""

    retry = Retry.LATER


class Interrupted(ConnectorError):
    """The statement was cancelled and rolled back. Nothing changed."""

    retry = Retry.LATER


class Paused(ConnectorError):
    """The statement is held: what it has done so far stays done, and ``Mover.resume`` goes on with it."""

    retry = Retry.LATER


class SpaceFull(ConnectorError):
    """The target had no room left; the statement was rolled back. Nothing changed."""


class ObjectGone(ConnectorError):
    """The object or space no longer exists. Nothing changed."""


class StatementFailed(ConnectorError):
    """The engine refused the statement for another reason. Nothing changed."""


class OutcomeUnknown(ConnectorError):
    """The connection broke while a statement ran: it may or may not have happened."""

    retry = Retry.RECONCILE


class LeaseHeld(ConnectorError):
    """Another agent acts on this database."""

    retry = Retry.LATER


class Clock(Protocol):
    """Time, injected so that the whole agent can run in simulation."""

    def now(self) -> datetime:
        """Wall-clock time, aware, UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds on a clock that never jumps."""
        ...

    def sleep(self, seconds: float) -> None:
        """Wait."""
        ...


class Lease(Protocol):
    """The right to act on one database, held until released or until the process dies."""

    def is_held(self) -> bool:
        """Whether the lease is still ours; False after a failover or a lost connection."""
        ...

    def release(self) -> None:
        """Give it up; harmless when it is already lost."""
        ...


@runtime_checkable
class NamesStranger(Protocol):
    """Optional in a lease: whether someone who is no agent has the engine's lock, as many engines let any user."""

    @property
    def stranger(self) -> str:
        """Who, in words that name session and user; "" for no one. As of when ``is_held`` was asked last."""
        ...


class Mover(Protocol):
    """The only thing that can change a database: one session of the moving account. Open it for approved moves only."""

    def prepare(self, route: Route) -> None:
        """Send the prologue of the route.

        Raises:
            ConnectorError: a subclass that says what may be done.
        """
        ...

    def execute(self, step: Step) -> None:
        """Run one step to its end.

        Raises:
            ConnectorError: a subclass that says what may be done. ``OutcomeUnknown`` when the session broke.
        """
        ...

    def progress(self) -> Progress | None:
        """How far the running step is; None when nothing runs or it is unknown. Safe from another thread."""
        ...

    def interrupt(self) -> None:
        """Cancel the running step, which then raises ``Interrupted``. Safe from another thread."""
        ...

    def pause(self) -> bool:
        """Hold the running step: send its ``pause_sql`` over a session of its own. Safe from another thread.

        Returns:
            True: the step is being held, ``execute`` or ``resume`` raises ``Paused`` soon. False: it cannot be held
            now; nothing was sent and it goes on.

        Raises:
            ConnectorError: the engine refused to hold it; it goes on.
        """
        ...

    def resume(self, step: Step) -> None:
        """Go on with a step that is held, by its ``resume_sql``, to its end. ``prepare`` comes before, as ever.

        Raises:
            ConnectorError: as ``execute``. ``StatementFailed`` where this engine cannot hold a step.
        """
        ...

    def close(self) -> None:
        """End the session."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class Closing(ABC):
    """The part of a Mover that ends it with the ``with`` block around its work."""

    @abstractmethod
    def close(self) -> None:
        """End the session."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Unpausable:
    """The part of a Mover that cannot hold a statement; engines that can say how do not use it."""

    def pause(self) -> bool:
        """Never."""
        return False

    def resume(self, step: Step) -> None:
        """There is nothing to go on with.

        Raises:
            StatementFailed: always.
        """
        raise StatementFailed(f"{step.purpose}: this engine cannot hold a statement and go on with it")


@runtime_checkable
class FollowsOn(Protocol):
    """Optional in a connector: a second route that rewrites the same thing, planned to follow the first.

    So a plan can have one part of it give way to another. Its statements fit only once the first has been carried out;
    ``Mover.prepare`` refuses them where it was not.
    """

    def routes_after(self, bundle: Bundle, to_space: str, before: Route) -> tuple[Route, ...] | NoRoute:
        """The routes of ``Connector.routes`` for the state after ``before`` has been carried out."""
        ...


@runtime_checkable
class TriesMoves(Protocol):
    """Optional in a connector: moving something of its own, rolled back: the engine itself says what fails."""

    def try_moves(self, spaces: Sequence[str]) -> tuple[Finding, ...]:
        """What stops moves to any of those spaces, or that nothing does.

        It opens a session that could write: never in a dry run.

        Raises:
            ConnectorError: the engine did not answer.
        """
        ...


@runtime_checkable
class EndsHolders(Protocol):
    """Optional in a connector: ending what an agent that has lost its lease could still send."""

    def end_holder(self, holder: str) -> None:
        """End the session that has the engine's lock under a name with ``holder`` in it, and its idle moving sessions.

        A statement that runs goes on. Nothing is ended where the lock is held under another name.

        Raises:
            ConnectorError: the engine did not answer, or the login may not.
        """
        ...


@runtime_checkable
class TakesBack(Protocol):
    """Optional in a connector: taking a move back by what it knows of it, where a newly planned way back would differ.

    An example is a move that made an object for itself: its undo removes this, another move would make one more.
    """

    def routes_back(self, done: Route, bundle: Bundle, before: Route | None = None) -> tuple[Route, ...]:
        """The ways by which ``done`` is taken back for the bundle as it is now, the kindest first; changes nothing.

        ``before``: the way back of a later move of the same thing, which is carried out first.
        (): there is none of its own, or it no longer fits: ``Connector.routes`` has the ways.
        """
        ...


@runtime_checkable
class TellsCopies(Protocol):
    """Optional in a connector: how it copies, where that is not each unit once from its space to another."""

    def copy_habits(self) -> CopyHabits:
        """Copy habits that hold for all units before a route is requested. Sends no query."""
        ...


@runtime_checkable
class TakesOut(Protocol):
    """Optional in a connector: taking one container out of a space that keeps its others."""

    def routes_out(self, bundle: Bundle) -> Route | ByHand | NoRoute:
        """The route that takes ``Bundle.container`` out of its space; its undo puts it back. Or why there is none.

        ``ByHand``: a person has to run the statements. Changes nothing.
        """
        ...


class OtherContent(NamedTuple):
    """Something in a space that is no unit, or that only names the space: no plan takes it out."""

    what: str  # with names that a statement can hold as they are
    size_bytes: int | None  # None: not known
    why: str  # it stays, a clause
    statements: tuple[str, ...] = ()  # by which a person takes it out; (): none does it for certain


@runtime_checkable
class SeesOtherContents(Protocol):
    """Optional in a connector: what keeps a space from being removed once no unit is in it."""

    def other_contents(self, space: str, to_space: str) -> tuple[OtherContent, ...]:
        """What else is in a space, in a fixed order; () for nothing. Changes nothing.

        ``to_space``: where a person is to take it, "" where no plan says so.

        Raises:
            ConnectorError: the engine did not answer.
        """
        ...


@runtime_checkable
class FillsTemplates(Protocol):
    """Optional in a connector: making the next partitions of a table and moving aged ones, by signed templates."""

    def template(
        self, kind: TemplateKind, table: str, to_space: str, seconds: int
    ) -> StatementTemplate | ByHand | NoRoute:
        """The template of such statements for a table as it is now, or why there is none. Changes nothing.

        ``ByHand``: no rule can hold the statements, and a person has to run them.
        ``seconds``: from now, how far ahead partitions are made; or how long ago the last row of an aged one came.
        Of a closed part its length: that is asked of a connector that closes parts (``moves.ClosesParts``) alone.
        """
        ...

    def routes_due(self, template: StatementTemplate, now: datetime) -> tuple[Route, ...]:
        """What is due under a template, in order: routes with their ``arguments``; () for nothing. Changes nothing.

        With the statements that the connector makes now: where they no longer are those of the template, as after a
        change of settings, no rule covers them and a person is asked. Asked for proposals, and again before the
        statements of each are sent: one that is not among the answers then is not sent.
        """
        ...


@runtime_checkable
class KnowsRightsToMove(Protocol):
    """Optional in a connector: whether its login may carry out what it says that a move takes."""

    def lacking_rights(self, route: Route) -> str:
        """Why this login may not send the steps of a route, a clause that names each right; "" where it may.

        Changes nothing. A plan leaves such a move to a person.

        Raises:
            ConnectorError: the engine did not answer.
        """
        ...


@runtime_checkable
class SeesBlockers(Protocol):
    """Optional in a connector: naming what a statement would wait for, before it is sent."""

    def blockers(self, route: Route, *, tidying: bool = False) -> tuple[Blocker, ...]:
        """Sessions that would block the steps of the route (its tidy steps, if ``tidying``) for too long; () for none.

        Changes nothing.
        """
        ...


class ForegroundReads(NamedTuple):
    """Counters of reads that sessions have waited for and that no move has made, since some instant."""

    reads: float
    seconds: float  # that they took, all together


@runtime_checkable
class SeesForeground(Protocol):
    """Optional in a connector and in its mover: how long sessions wait for their reads, apart from those of moves."""

    def foreground_reads(self) -> ForegroundReads | None:
        """The counters now; None: the server does not measure them. Of a mover safe from another thread."""
        ...


class Crowding(NamedTuple):
    """Why others wait too long for what moves write, in words; "" where they do not."""

    hold: str = ""  # no move should begin, and one that runs should be held
    abort: str = ""  # one that runs should be given up


@runtime_checkable
class SeesQueues(Protocol):
    """Optional in a connector and in its mover: how far those are behind who follow this database."""

    def crowding(self) -> Crowding:
        """By the limits of the connection's settings, now. Of a mover safe from another thread."""
        ...


class Connector(Protocol):
    """The reading side of an engine: its sessions cannot write. ``open_mover`` gives the side that changes something.

    A connector is used from one thread at a time, except where a method says otherwise.
    """

    def identify(self) -> Identity:
        """The server that answers and the database, identified."""
        ...

    def capabilities(self) -> tuple[Capability, ...]:
        """Capabilities of this login on this edition, each with its reason."""
        ...

    def catalog(self) -> Catalog:
        """Spaces and units, with cheap sizes. One set-based query each, under a time limit."""
        ...

    def sample(self) -> Sample:
        """Cumulative counters of every unit. One set-based query, under a time limit, never blocking."""
        ...

    def classify(self, interval: Interval, catalog: Catalog) -> Demand:
        """Turn the engine's counters into signals. Pure: asks nothing of the server."""
        ...

    def exact_sizes(self, physical_ids: I64) -> I64:
        """Bytes of each unit as they are now, -1 where it is gone. For the few that a plan names."""
        ...

    def routes(self, bundle: Bundle, to_space: str) -> tuple[Route, ...] | NoRoute:
        """Every way to bring the bundle there, the kindest first, or why there is none. Changes nothing."""
        ...

    def inspect(self, route: Route) -> Inspection:
        """Where the bundle of that route is by the catalog, whatever a journal says."""
        ...

    def doctor(self) -> tuple[Finding, ...]:
        """Each missing privilege, option or setting, with the statement that fixes it."""
        ...

    def open_mover(self) -> Mover:
        """A session that may write. Raises what connecting raises."""
        ...

    def acquire_lease(self, holder: str) -> Lease:
        """Become the one agent that acts on this database.

        Raises:
            LeaseHeld: another one is; the text names it as far as the engine tells.
        """
        ...

    def close(self) -> None:
        """End all sessions of this connector."""
        ...


Row: TypeAlias = tuple[Any, ...]
Values: TypeAlias = tuple[object, ...]  # parameters of a query, in the order in which its table lists them


class NotRecorded(PrivilegeMissing):
    """A recording has no answer to this query: as on a server where the login may not ask it."""


class Tap(Protocol):
    """Between a reading session and its server."""

    def answer(self, name: str, values: Values, ask: Callable[[], list[Row]], *, doing: str) -> list[Row]:
        """Every row of a query.

        Args:
            name: of its ``.sql`` file, or of something else that the table of the engine lists.
            values: its parameters.
            ask: asks the server.
            doing: what the query is for; begins the message when it fails.

        Raises:
            ConnectorError: as the server refuses, or once refused.
        """
        ...
