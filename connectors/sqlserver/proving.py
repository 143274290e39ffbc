"""How SQL Server is proved. The driver is loaded with the first use."""

from __future__ import annotations

from collections.abc import Mapping

from connectors.base import Clock
from connectors.proving.proof import Case, Proof, ProofSession, Scratch
from connectors.sqlserver.settings import SqlserverSettings


def _cases(scratch: Scratch) -> tuple[Case, ...]:
    from connectors.sqlserver.claims.proof import cases

    return cases(scratch)


def _questions(scratch: Scratch) -> Mapping[str, str]:
    from connectors.sqlserver.claims.proof import questions

    return questions(scratch)


def _queries() -> Mapping[str, str]:
    from connectors.sqlserver.claims.proof import queries

    return queries()


def _of_other_versions(version: tuple[int, ...]) -> frozenset[str]:
    from connectors.sqlserver.claims.proof import of_other_versions

    return of_other_versions(version)


def _open_session(settings: SqlserverSettings, clock: Clock) -> ProofSession:
    from connectors.sqlserver.claims.session import SqlserverProofSession

    return SqlserverProofSession(settings, clock)


PROOF = Proof(
    cases=_cases,
    questions=_questions,
    queries=_queries,
    of_other_versions=_of_other_versions,
    open_session=_open_session,
    routes=(
        "rebuild online",
        "rebuild offline",
        "heap by a clustered index online",
        "heap by a clustered index offline",
        "rebuild on a second partition scheme online",
        "rebuild on a second partition scheme offline",
        "rebuild on its own partition scheme online",
        "rebuild on its own partition scheme offline",
        "rebuild through a partition scheme online",
        "rebuild through a partition scheme offline",
        "index beside the old one, resumable",
    ),
)
