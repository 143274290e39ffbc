"""Other sessions while something moves: one reads and writes what moves, one looks at the locks."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from agent.prove.script import Script
from connectors.base import Clock, HotplaceError
from connectors.proving.proof import Case, ProofSession

EVERY_SECONDS = 0.005  # between two statements of each
END_SECONDS = 30.0  # that a last statement may wait for


@dataclass(frozen=True, slots=True)
class Probe:
    """One read or write of another session."""

    kind: str  # "read" or "write"
    began: datetime
    ended: datetime
    error: str = ""

    @property
    def seconds(self) -> float:
        """How long it took."""
        return (self.ended - self.began).total_seconds()


@dataclass(frozen=True, slots=True)
class SeenLock:
    """A lock of the moving session at one instant."""

    at: datetime
    relation: str
    mode: str
    rank: int  # a stronger lock has a greater one
    granted: bool


@dataclass(slots=True)
class Witness:
    """Two threads that work while ``aim`` has given them a case, and rest else."""

    script: Script
    clock: Clock
    open_session: Callable[[], ProofSession]
    probes: list[Probe] = field(default_factory=list)
    locks: list[SeenLock] = field(default_factory=list)
    fault: str = ""  # why no locks are seen
    _case: Case | None = None
    _wake: threading.Event = field(default_factory=threading.Event)
    _stopping: threading.Event = field(default_factory=threading.Event)
    _threads: list[threading.Thread] = field(default_factory=list)

    def start(self) -> None:
        """Begin both; each has a session of its own."""
        for work in (self._probe, self._look):
            thread = threading.Thread(target=self._serve, args=(work,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def aim(self, case: Case | None) -> None:
        """Work on this case from now on; None: rest."""
        self._case = case
        if case is None:
            self._wake.clear()
        else:
            self._wake.set()

    def stop(self) -> None:
        """End both, after the statement that runs."""
        self._stopping.set()
        self._wake.set()
        for thread in self._threads:
            thread.join(END_SECONDS)

    def _serve(self, work: Callable[[ProofSession, Case], None]) -> None:
        try:
            session = self.open_session()
        except HotplaceError as error:
            self.fault = str(error)
            return
        try:
            while not self._stopping.is_set():
                case = self._case
                if case is None or not self._wake.wait(0.2):
                    self._stopping.wait(EVERY_SECONDS)
                    continue
                work(session, case)
                self._stopping.wait(EVERY_SECONDS)
        finally:
            session.close()

    def _probe(self, session: ProofSession, case: Case) -> None:
        for kind in ("read", "write"):
            for statement in case.part(kind):
                began, failed = self.clock.now(), ""
                try:
                    (session.rows if kind == "read" else session.run)(statement.sql)
                except HotplaceError as error:
                    failed = str(error)
                self.probes.append(Probe(kind, began, self.clock.now(), failed))

    def _look(self, session: ProofSession, _case: Case) -> None:
        try:
            rows = session.rows(self.script.questions["locks"])
        except HotplaceError as error:
            self.fault = str(error)
            self._stopping.wait(1.0)
            return
        now = self.clock.now()
        self.locks += [SeenLock(now, str(key), str(mode), int(rank), bool(got)) for key, mode, rank, got in rows]
