"""What the commands answer that prepare and check an installation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agent.answers.kind import answer
from connectors.findings import RemedyKind, Severity


@answer
class ConfigurationWritten:
    """The configuration that ``init`` wrote."""

    path: str
    engine: str
    mode: str
    """Its permissions, octal."""


@answer
class FileShown:
    """A file that ``deploy`` printed."""

    name: str
    text: str


@answer
class FileWritten:
    """A file that ``deploy`` wrote."""

    name: str
    path: str


@answer
class FilesShown:
    """Files to deploy hotplace with, printed."""

    files: tuple[FileShown, ...]


@answer
class FilesWritten:
    """Files to deploy hotplace with, written."""

    files: tuple[FileWritten, ...]


@answer
class Grants:
    """The script that divides a ledger on a server among roles and teams."""

    schema: str
    teams: Mapping[str, tuple[str, ...]]
    """Patterns of databases, by team."""
    script: str


@answer
class ChainMoved:
    """The audit chain of a ledger that was moved."""

    rows: int
    head: str


@answer
class TableMoved:
    """A table of a ledger that was moved."""

    name: str
    rows: int
    written: int
    sha256: str


@answer
class LedgerMoved:
    """A ledger that was moved from one place to another."""

    from_: str
    to: str
    audit: ChainMoved
    tables: tuple[TableMoved, ...]


@answer
class ChannelTried:
    """A channel of notices, and what came of a message."""

    channel: str
    problem: str | None
    """Why it did not arrive; null: it did."""


@answer
class ChannelsTried:
    """Channels to which ``notify test`` sent a message."""

    channels: tuple[ChannelTried, ...]


@answer
class FindingShown:
    """One thing that ``doctor`` found."""

    severity: Severity
    code: str
    sentence: str
    remedy: str | None
    """A statement or a step that helps."""
    remedy_kind: RemedyKind | None
    gives_away: str | None
    """What the remedy gives away."""
    values: Mapping[str, Any]


@answer
class DatabaseChecked:
    """What ``doctor`` found in one database."""

    database: str
    findings: tuple[FindingShown, ...]


@answer
class Checkup:
    """What ``doctor`` found."""

    ok: bool
    """Whether nothing keeps hotplace from its work."""
    databases: tuple[DatabaseChecked, ...]
    bundle: str | None
    """The bundle for support that was written."""
