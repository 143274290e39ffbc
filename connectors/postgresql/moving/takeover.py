"""Ending what an agent that has lost its lease could still send: its sessions may outlive its silence.

A frozen agent may have noted an intent and not sent its statement yet. The statement would go over a session that was
open by then, so once each idle session that moves is gone, nothing comes of it. A session at work is let work: what it
does is one statement, after which its agent writes to the ledger before all else, and is refused.
"""

from __future__ import annotations

import time

import psycopg

from connectors.base import LeaseHeld
from connectors.postgresql.moving.lease import LEASE_KEY, MARK, lease_options
from connectors.postgresql.session.errors import translate
from connectors.postgresql.session.queries import query
from connectors.postgresql.session.sessions import ask, open_connection
from connectors.postgresql.settings import PostgresqlSettings

MOVING = "hotplace move"  # application_name of sessions that move
SETTLES_SECONDS = 1.0  # what prepares a statement takes milliseconds: a session at work for longer is at the statement
ENDS_SECONDS = 5.0  # a session that is not gone by then, is not gone soon: its process does not run
LOOK_EVERY_SECONDS = 0.1


def end_holder(settings: PostgresqlSettings, holder: str) -> None:
    """End the session that has the lease under a name with ``holder`` in it, and idle sessions that move.

    Nothing is ended where the lease is held under another name: that is an agent of another ledger.

    Raises:
        LeaseHeld: a session that was ended is still there.
        ConnectorError: the server did not answer, or the login may not end the session.
    """
    with open_connection(settings, name="hotplace takeover", options=lease_options(settings)) as connection:
        try:
            _end(connection, holder)
        except psycopg.Error as error:
            raise translate(error, "ending the sessions of an agent that has lost its lease") from error


def _end(connection: psycopg.Connection, holder: str) -> None:
    began = time.monotonic()
    while True:
        values = {"key": LEASE_KEY, "moving": MOVING, "mark": MARK}
        found = ask(connection, query("agent_sessions"), values)
        if any(has_lease and holder not in name for _, name, _, has_lease in found):
            return
        to_end = [pid for pid, _, active, has_lease in found if has_lease or not active]
        for pid in to_end:
            ask(connection, query("end_session"), {"pid": pid})
        waited = time.monotonic() - began
        if not found or (not to_end and waited >= SETTLES_SECONDS):
            return
        if waited >= ENDS_SECONDS:
            raise LeaseHeld(
                f"the sessions {to_end} of the agent before do not end",
                advice="They are ended again at the next turn; look at them in pg_stat_activity.",
            )
        time.sleep(LOOK_EVERY_SECONDS)
