"""What commands answer about all databases of a ledger (``--all``), and about proposals that are decided together."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from agent.model.answers.kind import answer
from agent.model.answers.watching import SendingShown
from agent.model.states import ProposalState


@answer
class FleetTotals:
    """Figures of all databases together."""

    databases: int
    heard: int
    """Databases whose agent is heard of."""
    silent: int
    never: int
    """Databases that no agent ever watched."""
    need_a_person: int
    undecided_proposals: int
    undecided_wait_saved_per_hour_seconds: float
    waiting_moves: int
    """Approved, not begun."""
    running_moves: int


@answer
class TierFilled:
    """How full a tier of a database is."""

    tier: str
    used_bytes: int
    free_bytes: int


@answer
class DatabaseStanding:
    """How one database stands among all."""

    database: str
    engine: str | None
    """Null: no agent ever said."""
    agent: str
    """heard, silent or never."""
    heard_of_at: datetime | None
    needs: str
    """What it needs a person for: untrusted, stopped, left_worse, silent, failing, decision or nothing."""
    why: str | None
    sending: SendingShown
    undecided_proposals: int
    undecided_wait_saved_per_hour_seconds: float
    waiting_moves: int
    running_moves: int
    tiers: tuple[TierFilled, ...]


@answer
class FleetStatus:
    """All databases of the ledger, what needs a person first."""

    at: datetime
    totals: FleetTotals
    databases: tuple[DatabaseStanding, ...]
    not_seen: tuple[str, ...]
    """Configured databases that this login may not see: nothing is known of them here."""


@answer
class MetricShown:
    """A figure as Prometheus gets it."""

    name: str
    labels: Mapping[str, str]
    value: float


@answer
class FleetMetrics:
    """Figures of all databases, as Prometheus gets them."""

    metrics: tuple[MetricShown, ...]


@answer
class ProposalOfDatabase:
    """A proposal of some database, without its moves."""

    id: int
    database: str
    digest: str
    state: ProposalState
    purpose: str
    asked_by: str | None
    """Null: the agent made it."""
    decided_by: str | None
    moves: int
    bytes: int
    wait_saved_per_hour_seconds: float
    created_at: datetime
    expires_at: datetime


@answer
class ProposalsOfFleet:
    """Proposals of all databases: what waits for a decision first, what saves most first."""

    undecided: int
    undecided_wait_saved_per_hour_seconds: float
    proposals: tuple[ProposalOfDatabase, ...]
    not_seen: tuple[str, ...]
    """Configured databases that this login may not see: nothing is known of them here."""


@answer
class ListedProposal(ProposalOfDatabase):
    """A proposal of a list."""

    wave: int
    """A later wave begins once those before it are measured and did not hurt."""


@answer
class ProposalList:
    """Several proposals that are decided together."""

    list: str
    """SHA-256 of the document that was or is to be signed."""
    proposals: tuple[ListedProposal, ...]
    needed: int
    """Signatures that an approval takes."""


@answer
class ListToSign(ProposalList):
    """What a person signs to approve several proposals."""

    document: str
    """The text, to the byte."""
    namespace: str
    """For ssh-keygen -Y sign -n."""
    signed_by: tuple[str, ...]


@answer
class ListApproved(ProposalList):
    """Several proposals that are approved, or that some of the people have signed who are needed."""

    state: ProposalState
    who: str
    missing: int
    """Signatures; 0: all of them are approved."""


@answer
class MoveOfList:
    """A move of a list of proposals."""

    move: int
    proposal: int
    database: str
    unit: str


@answer
class ListStopped:
    """An approved list after what had not begun of it was cancelled."""

    list: str
    cancelled: tuple[MoveOfList, ...]
    going_on: tuple[MoveOfList, ...]
    """Moves of groups that had begun."""
    who: str
    origin: str
