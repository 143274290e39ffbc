"""What ``lab prove`` and ``lab record`` answer."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from agent.answers.kind import answer


@answer
class ProofStatement:
    """A statement of a proof."""

    for_: str
    """What it is for."""
    sql: str


@answer
class StatementsToProve:
    """Everything that a proof would send outside of moves; nothing was sent, since ``dry_run`` is on."""

    schema: str
    digest: str
    """SHA-256 of the statements."""
    statements: tuple[ProofStatement, ...]
    dry_run: bool


@answer
class ClaimTried:
    """A claim of the connector, and what was seen of it."""

    code: str
    sort: str
    name: str
    sentence: str
    result: str
    """seen, contradicted or not tried."""
    evidence: str
    native_code: str
    """Code of the engine's error; empty where there was none."""
    seconds: float | None


@answer
class ClaimsTried:
    """What a proof saw of the connector's claims on a server."""

    title: str
    engine: str
    version: str
    server: str
    """real or emulated, as the person says who ran it."""
    made_at: datetime
    digest: str
    """SHA-256 of the statements."""
    seconds: float
    note: str
    ended: str = ""
    """Why the run ended before its end; empty: it did not."""
    counts: Mapping[str, int]
    """Claims by result."""
    claims: tuple[ClaimTried, ...]


@answer
class RecordingMade:
    """What a recording holds, and where it is."""

    database: str
    file: str
    bytes: int
    since: datetime
    until: datetime
    seconds: float
    ended: str
    """whole, or interrupted by a person."""
    samples: int
    failed_samples: int
    queries: int
    refused_queries: int
    names: str
    """plain or hashed."""
    key: str | None
    """File of the secret key of the pseudonyms."""
    names_file: str | None
    """File that leads from pseudonyms to names."""
    dropped_columns: tuple[str, ...]
    """Columns not recorded, since their values were not of the expected kind."""
    left_out_queries: tuple[str, ...]
