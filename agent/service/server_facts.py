"""What a server says of itself: which database it is, its version and role, and what its settings and rights allow.

``find_changes`` compares two readings, and is pure. ``ServerRecord`` reads them with each catalog. It keeps the last
one in the ledger, so that a change while no agent ran is seen too, and what has changed lately, for status and notices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, fields, replace
from datetime import datetime, timedelta
from typing import Any, Self

from agent.ledger.errors import AWAY, LedgerCorrupt
from agent.ledger.ledger import Ledger
from agent.ledger.state_names import SERVER
from agent.model.logs import EventLog
from connectors.kit.contract import Clock, Connector, ConnectorError
from connectors.model.observation import Identity

log = EventLog(__name__)
KEPT = timedelta(days=7)  # that a change is shown
MOST_KEPT = 20  # changes: a server that changes to and fro with each failover fills no ledger


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerFacts:
    """One reading."""

    identity: Identity
    capabilities: Mapping[str, bool] | None  # by name, as its settings and this login's rights have it; None: not read

    def document(self) -> dict[str, Any]:
        """As JSON values, for the ledger."""
        return {"identity": asdict(self.identity), "capabilities": self.capabilities}

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Self:
        """The reading in a document.

        Raises:
            KeyError, TypeError, ValueError: it holds none.
        """
        stored = document["identity"]
        known = {each.name: stored[each.name] for each in fields(Identity)}
        identity = Identity(**{**known, "version_number": tuple(known["version_number"])})
        capabilities = document["capabilities"]
        return cls(identity=identity, capabilities=None if capabilities is None else dict(capabilities))


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerChange:
    """What was found to have changed at once."""

    at: datetime  # when it was found, within minutes of when it happened if an agent was there
    sentence: str


def find_changes(before: ServerFacts, now: ServerFacts) -> Iterator[str]:
    """A clause for each thing that differs; a capability that one of them could not read is no difference."""
    old, new = before.identity, now.identity
    if old.fingerprint != new.fingerprint:
        yield (
            f"another database answers: {new.database} with the fingerprint {new.fingerprint}, before {old.database} "
            f"with {old.fingerprint}; nothing that was approved for that one is carried out here"
        )
    for name, was, is_now in (
        ("version", old.version, new.version),
        ("edition", old.edition, new.edition),
        ("topology", old.topology, new.topology),
    ):
        if was != is_now:
            yield f"{name} {is_now or 'unknown'}, before {was or 'unknown'}"
    if old.writable != new.writable:
        yield "it can be written now" if new.writable else "it cannot be written any more, so nothing is moved"
    if before.capabilities is not None and now.capabilities is not None:
        for name in sorted(before.capabilities.keys() & now.capabilities.keys()):
            if before.capabilities[name] != now.capabilities[name]:
                yield f"{name} is available now" if now.capabilities[name] else f"{name} is not available any more"


class ServerRecord:
    """What one server said last, and what has changed lately. One thread at a time."""

    def __init__(self, database: str, ledger: Ledger, clock: Clock, may_store: Callable[[], bool]) -> None:
        """Nothing is read yet.

        Args:
            database: its name.
            ledger: keeps the last reading.
            clock: time.
            may_store: asked before anything goes into the ledger.
        """
        self._database = database
        self._ledger = ledger
        self._clock = clock
        self._may_store = may_store
        self._facts: ServerFacts | None = None
        self._stored = False  # the ledger has all that is known here
        self._loaded = False
        self.changes: tuple[ServerChange, ...] = ()  # the newest last

    def read(self, connector: Connector) -> Identity:
        """Ask the server what it is now, note what has changed, and return its identity.

        Raises:
            ConnectorError: it did not answer.
        """
        identity = connector.identify()
        try:
            capabilities = {each.name: each.available for each in connector.capabilities()}
        except ConnectorError:  # a right that only they need: what is not known has not changed
            capabilities = None
        self._note(ServerFacts(identity=identity, capabilities=capabilities))
        return identity

    def _note(self, now: ServerFacts) -> None:
        if not self._loaded:
            with suppress(*AWAY):
                self._load()
        before, at = self._facts, self._clock.now()
        if before is not None and (found := "; ".join(find_changes(before, now))):
            log.warning("server changed", database=self._database, sentence=found)
            self.changes = (*self.changes, ServerChange(at=at, sentence=found))
        # A clock that was a year ahead has dated some of them: they are shown no longer than the others.
        lately = tuple(each for each in self.changes if abs(at - each.at) <= KEPT)[-MOST_KEPT:]
        if before is not None and now.capabilities is None:
            now = replace(now, capabilities=before.capabilities)
        if now != before or lately != self.changes:
            self._stored = False
        self._facts, self.changes = now, lately
        self._store()

    def _load(self) -> None:
        """What an earlier agent noted; what cannot be read is left out."""
        stored = None
        with suppress(LedgerCorrupt):
            stored = self._ledger.state.load_document(self._database, SERVER)
        self._loaded = True
        if stored is None:
            return
        # A document of another version tells nothing; changes are noted from now on.
        with suppress(KeyError, TypeError, ValueError, AttributeError):
            changes = tuple(
                ServerChange(at=datetime.fromisoformat(each["at"]), sentence=str(each["sentence"]))
                for each in stored[1]["changes"]
            )
            self._facts, self.changes, self._stored = ServerFacts.of(stored[1]), changes, True

    def _store(self) -> None:
        if self._stored or not self._loaded or self._facts is None or not self._may_store():
            return
        changes = [{"at": each.at.isoformat(), "sentence": each.sentence} for each in self.changes]
        with suppress(*AWAY):  # with the next reading
            self._ledger.state.save_document(self._database, SERVER, {**self._facts.document(), "changes": changes})
            self._stored = True
