"""What an engine brings so that the contract can be tried on it: something to play with, and someone who disturbs.

A harness acts with rights of its own (the DBA's), never through the connector that is being tested.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, runtime_checkable

from agent.studies.prove.script import Script
from connectors.kit.contract import Clock, Connector, Mover
from connectors.kit.proving import ProofSession
from connectors.model.moves import Route, Step
from tests.labs.silence import Address, SilentWay


class Ability(StrEnum):
    """What not every engine or machine can do; a harness that cannot says why in ``cannot``."""

    PASSWORD = "refuse a wrong password"
    RESTRICTED = "offer a login that may look and not move"
    RESET = "reset its counters"
    LOCK = "hold a lock that a move has to wait for"
    INTERRUPT = "interrupt a move in the middle"
    PAUSE = "hold a move in the middle and go on with it"
    BREAK = "cut the session under a running statement"
    FULL = "have a full target space"
    LOB = "store large objects as a unit of their own"
    LOG_WAITS = "say how long commits wait for the log"
    SLOW_LOG = "have its log on a slow disk"
    SPILL = "sort more than fits its memory"
    WEIRD_NAMES = "give objects any name"
    SILENCE = "fall silent"
    CASES = "make the cases of `hotplace lab prove` from their statements"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayTable:
    """A table that the contract may read, move and drop, with the keys its units have in the catalog."""

    name: str
    key: str
    index_key: str
    lob_key: str | None = None

    @property
    def keys(self) -> frozenset[str]:
        """Keys of all its units."""
        return frozenset(key for key in (self.key, self.index_key, self.lob_key) if key is not None)


class EngineHarness(Protocol):
    """One running engine. Made by a factory that is a context manager; lives as long as the test session."""

    name: str
    refusals: tuple[type[Exception], ...]  # what a reading session raises when it is asked to write
    secret: str  # the password that must never show; "" where logins have none
    source_space: str  # new play tables live here
    target_space: str
    cannot: Mapping[Ability, str]  # ability -> why this engine or machine lacks it

    @property
    def clock(self) -> Clock:
        """The clock of the connectors."""
        ...

    def connect(self) -> Connector:
        """A connector with every right it needs. The test closes it."""
        ...

    def refused_connect(self) -> Connector:
        """Connect with ``secret`` as a wrong password; raises AuthenticationFailed. Ability.PASSWORD."""
        ...

    def restricted_connect(self) -> Connector:
        """A connector whose login may look, and may not move a play table. Ability.RESTRICTED."""
        ...

    def create(self, name: str, *, lob: bool = False) -> PlayTable:
        """A filled table with an index in ``source_space``, too large to stay cached, its statistics up to date."""
        ...

    def drop(self, table: PlayTable) -> None:
        """Drop it; harmless when it is gone."""
        ...

    def read_randomly(self, table: PlayTable, reads: int) -> None:
        """Look up about that many rows by the index, from storage. On return the counters show it."""
        ...

    def scan(self, table: PlayTable) -> None:
        """Read the whole table in order, from storage. On return the counters show it."""
        ...

    def commit(self, transactions: int) -> None:
        """So many small transactions, one after the other, each made durable. On return the counters show it."""
        ...

    def spill(self) -> None:
        """Sort some MiB that do not fit into memory. On return the counters show it. Ability.SPILL."""
        ...

    def reset_counters(self) -> None:
        """Start all counters anew, as a restart or a DBA would. Ability.RESET."""
        ...

    def hold_lock(self, table: PlayTable) -> AbstractContextManager[None]:
        """Somebody uses the table inside, so that moving it does not get its lock in time. Ability.LOCK."""
        ...

    def target_full(self) -> AbstractContextManager[None]:
        """The target space has no room inside. Ability.FULL."""
        ...

    def execute_interrupted(self, mover: Mover, step: Step) -> None:
        """Run the step and call ``mover.interrupt()`` while it runs; raises what execute raises. Ability.INTERRUPT."""
        ...

    def execute_broken(self, mover: Mover, step: Step) -> None:
        """Run the step and cut the mover's session meanwhile; raises what execute raises. Ability.BREAK."""
        ...

    def write_while_reading(self, connector: Connector, table: PlayTable) -> None:
        """Try to change ``table`` over the session the connector reads with; raises one of ``refusals``."""
        ...


@runtime_checkable
class Pausing(Protocol):
    """What a harness has besides when its engine can hold a statement. Ability.PAUSE."""

    def pausable_route(self, connector: Connector, table: PlayTable) -> Route:
        """A route of the play table whose first step can be held."""
        ...

    def execute_paused(self, mover: Mover, step: Step) -> None:
        """Run the step and call ``mover.pause()`` while it runs until that is True; raises what execute raises."""
        ...


@runtime_checkable
class FallsSilent(Protocol):
    """What a harness has besides when its server is reached over a network. Ability.SILENCE."""

    @property
    def server_address(self) -> Address:
        """Where the server listens."""
        ...

    def connect_through(self, way: SilentWay) -> Connector:
        """A connector that goes that way, with a limit of a second or two to whatever it waits for."""
        ...


@runtime_checkable
class MakesCases(Protocol):
    """What a harness has besides when its server carries out the statements of the cases. Ability.CASES."""

    def scratch(self) -> AbstractContextManager[tuple[Script, ProofSession]]:
        """An empty scratch schema with the script for it and a session that may make what it lists."""
        ...


HarnessFactory = Callable[[], AbstractContextManager[EngineHarness]]
