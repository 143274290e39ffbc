"""Who may run a proof, and where: refused before anything is made."""

from __future__ import annotations

from agent.config import DatabaseConfig
from agent.prove.refusals import ProofRefused
from agent.prove.script import Script
from connectors.base import Clock
from connectors.proving.proof import Proof, ProofSession


def admit(session: ProofSession, script: Script) -> None:
    """Look at login, schema and spaces; changes nothing.

    Raises:
        ProofRefused: one of them forbids the run.
        ConnectorError: the engine did not answer.
    """
    asked = ("login", "schema", "space slow", "space fast")
    reasons = [str(row[0]) for name in asked for row in session.rows(script.questions[name])]
    if script.scratch.slow == script.scratch.fast:
        reasons.append(f"both scratch spaces are {script.scratch.slow}; name two")
    if reasons:
        raise ProofRefused(
            f"nothing was made: {'; '.join(reasons)}",
            advice="Give prove a login that owns nothing but an empty schema, and may create in both spaces.",
        )


def admit_watching_login(proof: Proof, database: DatabaseConfig, script: Script, clock: Clock) -> None:
    """The same of the login that watches, where it is another one than the moving login.

    Raises:
        ProofRefused, ConnectorError: as ``admit``.
    """
    if database.move_connection is None:
        return
    session = proof.open_session(database.connection, clock)
    try:
        reasons = [str(row[0]) for row in session.rows(script.questions["login"])]
    finally:
        session.close()
    if reasons:
        raise ProofRefused(f"nothing was made: {'; '.join(reasons)}", advice="Watch with a login that owns nothing.")
