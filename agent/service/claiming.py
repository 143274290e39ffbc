"""Becoming the one agent of each database at a start: no server that says nothing keeps another one waiting."""

from __future__ import annotations

import threading
import time
from collections.abc import Collection

from agent.ledger import LedgerError
from agent.logs import EventLog
from agent.service.watch import Watch
from connectors.base import ConnectorError, LeaseHeld

log = EventLog(__name__)
WAITS_SECONDS = 5.0  # for all leases together; a server that answers does so in a tenth of that


def claim(watch: Watch) -> None:
    """Be the one agent of this database, or say who is. A database that is down now may come later.

    Raises:
        LeaseHeld: another agent is.
    """
    try:
        watch.hold_lease()
    except LeaseHeld:
        raise
    except (ConnectorError, LedgerError) as error:
        log.warning("not reachable yet", database=watch.database.name, error=str(error), advice=error.advice)


def claim_all(watches: Collection[Watch], seconds: float = WAITS_SECONDS) -> list[LeaseHeld]:
    """Take all leases side by side, and wait for them so long; servers that do not answer go on being asked.

    One alone is waited for as long as its connection allows.

    Returns:
        Why some are another agent's. What is heard of that later is logged: acting asks again.
    """
    held: list[LeaseHeld] = []
    over = threading.Event()

    def take(watch: Watch) -> None:
        try:
            claim(watch)
        except LeaseHeld as error:
            held.append(error)
            if over.is_set():
                log.error("only watched", database=watch.database.name, error=str(error), advice=error.advice)

    if len(watches) == 1:  # it keeps no other waiting
        take(*watches)
        return held
    threads = {watch.database.name: threading.Thread(target=take, args=(watch,), daemon=True) for watch in watches}
    until = time.monotonic() + seconds
    for thread in threads.values():
        thread.start()
    for name, thread in threads.items():
        thread.join(max(0.0, until - time.monotonic()))
        if thread.is_alive():
            log.warning("does not answer yet", database=name)
    over.set()
    return list(held)
