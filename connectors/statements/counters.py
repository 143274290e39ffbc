"""Cumulative counters of statements, as engines keep them that tell statements apart."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from connectors.model import F64


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementCounters:
    """Counters of the statements that took most time so far, one column each; NaN where the engine counts none."""

    taken_at: datetime
    epoch: str  # changes when all counters restart
    ids: tuple[str, ...]  # by the engine, each once
    executions: F64  # shape (n,), as all that follow
    seconds: F64  # elapsed, of all executions
    read_wait: F64  # of them, seconds waited for reads
    reads: F64  # physical, in blocks
    server_seconds: float  # that reading them took, at most


@runtime_checkable
class ReadsStatements(Protocol):
    """Optional in a connector: counters of single statements. No text of a statement is ever recorded."""

    def read_statements(self, most: int) -> StatementCounters | None:
        """The counters of at most so many statements, those with most time; None where the server keeps none.

        One query, under a time limit, never blocking.

        Raises:
            ConnectorError: a subclass that says what may be done.
        """
        ...

    def statement_texts(self, ids: Collection[str]) -> Mapping[str, str]:
        """Texts by id as far as the server still has them, without literals and comments (``texts``).

        Raises:
            ConnectorError: a subclass that says what may be done.
        """
        ...
