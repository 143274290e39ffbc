"""How Oracle is proved. The driver is loaded with the first use."""

from __future__ import annotations

from collections.abc import Mapping

from connectors.base import Clock
from connectors.oracle.settings import OracleSettings
from connectors.proving.proof import Case, Proof, ProofSession, Scratch


def _cases(scratch: Scratch) -> tuple[Case, ...]:
    from connectors.oracle.claims.proof import cases

    return cases(scratch)


def _questions(scratch: Scratch) -> Mapping[str, str]:
    from connectors.oracle.claims.proof import questions

    return questions(scratch)


def _queries() -> Mapping[str, str]:
    from connectors.oracle.claims.proof import queries

    return queries()


def _of_other_versions(version: tuple[int, ...]) -> frozenset[str]:
    from connectors.oracle.claims.proof import of_other_versions

    return of_other_versions(version)


def _open_session(settings: OracleSettings, clock: Clock) -> ProofSession:
    from connectors.oracle.claims.session import OracleProofSession

    return OracleProofSession(settings, clock)


PROOF = Proof(
    cases=_cases,
    questions=_questions,
    queries=_queries,
    of_other_versions=_of_other_versions,
    open_session=_open_session,
    routes=("move online", "move", "rebuild online", "rebuild"),
)
