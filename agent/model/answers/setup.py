"""What commands answer that prepare, check, try and show.

What ``assess`` answers. Waits are per hour of the period that the files are about; null where one is not known.

What ``lab prove`` and ``lab record`` answer.

What ``demo`` and ``demo --fleet`` answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from agent.model.answers.kind import answer
from agent.model.answers.outcomes import OutcomeShown
from agent.model.answers.plans import PlanShown
from agent.model.answers.units import TierShown
from agent.model.outcomes import OutcomeVerdict
from agent.model.states import MoveState
from connectors.kit.findings import RemedyKind, Severity
from connectors.kit.setting_up import LoginAnswer


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
class DatabaseForgotten:
    """A retired database that lists leave out from now on."""

    database: str


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


@answer
class LoginSetUp:
    """A login that ``setup`` made or prepared, and how the server takes it."""

    login: str
    host: str
    admission: LoginAnswer
    how: str
    """By which authentication it is let in, encrypted or not; else the server's words."""


@answer
class SetUpDone:
    """What ``setup`` wrote and made, and what ``doctor`` then found."""

    engine: str
    files: tuple[FileWritten, ...]
    """Each with mode 0600."""
    logins: tuple[LoginSetUp, ...]
    """Empty where a person makes them."""
    run_next: str | None
    """The command line that makes the logins, where setup has not run the script itself."""
    doctor: Checkup | None
    """null as long as there are no logins."""


@answer
class SpaceAssessed:
    """What sessions wait for reads of a space."""

    space: str
    reads_per_second: float
    """Read calls of all kinds as the file counts them; of exports, reads of one block that sessions waited for."""
    read_seconds: float
    """A read of one block."""
    wait_per_hour_seconds: float
    wait_saved_per_hour_seconds: float
    """What fast storage would save."""
    wait_by_kind_per_hour_seconds: Mapping[str, float]
    """The wait by kind, see waits_by_kind; empty where it is not timed by kind."""
    bytes: int | None


@answer
class UnitAssessed:
    """What sessions wait for reads of an object, with the least and the most that the files leave possible."""

    unit: str
    space: str | None
    wait_per_hour_seconds: float
    wait_low_per_hour_seconds: float
    wait_high_per_hour_seconds: float
    wait_saved_per_hour_seconds: float
    wait_by_kind_per_hour_seconds: Mapping[str, float]
    bytes: int | None


@answer
class KindAssessed:
    """Waits for reads of one kind, as the engine timed them."""

    kind: str
    events: tuple[str, ...]
    """As the engine calls them."""
    waits: float
    """How many there were in the period."""
    wait_per_hour_seconds: float
    of_objects: bool
    """False: of temporary files, which hold no objects; not in the read wait."""


@answer
class Withheld:
    """Figures that contradict each other: the part that rests on them is left out."""

    part: str
    section: str | None
    """Of the file."""
    why: str


@answer
class SizeAssessed:
    """One size of fast storage, and what it saves."""

    bytes: int
    wait_saved_per_hour_seconds: float
    wait_saved_at_todays_latencies_per_hour_seconds: float
    wait_saved_at_most_per_hour_seconds: float
    next_gib_saves_per_hour_seconds: float
    units: int
    used_bytes: int


@answer
class UnitOffered:
    """An object that would be put on the fast storage that is offered."""

    unit: str
    bytes: int
    wait_saved_per_hour_seconds: float


@answer
class OfferAssessed:
    """What the fast storage would bring that is offered, at today's latencies."""

    bytes: int
    usable_bytes: int  # without the head-room that a plan keeps free; sizes of the curve are without it
    wait_saved_per_hour_seconds: float
    wait_saved_low_per_hour_seconds: float
    wait_saved_high_per_hour_seconds: float
    units: tuple[UnitOffered, ...]


@answer
class Assessment:
    """What a report, or two exports, say of one database."""

    engine: str
    database: str
    source: str
    seconds: float
    """Length of the period."""
    read_wait_per_hour_seconds: float
    """As the engine timed it; by reads and read times where it timed none."""
    measured_read_wait_per_hour_seconds: float
    """As the engine timed it; null: it timed none."""
    read_wait_of_session_time_ratio: float
    """No storage saves more of the sessions' time."""
    waits_by_kind: tuple[KindAssessed, ...]
    """Empty: the engine does not time them by kind."""
    tiers: tuple[TierShown, ...]
    spaces: tuple[SpaceAssessed, ...]
    units: tuple[UnitAssessed, ...]
    sized_wait_ratio: float
    """Share of the wait that is for objects of known size."""
    knee: SizeAssessed | None
    curve: tuple[SizeAssessed, ...] | None
    """Null: the files have no sizes."""
    offer: OfferAssessed | None
    notes: tuple[str, ...]
    """How sure this is."""
    withheld: tuple[Withheld, ...]
    """What the file contradicts; empty: nothing."""


@answer
class KindCompared:
    """Reads of one kind before and after; null where a period has none."""

    kind: str
    before_seconds: float
    """Of one, on average."""
    after_seconds: float
    before_per_transaction: float
    """How many."""
    after_per_transaction: float


@answer
class PeriodsCompared:
    """Two periods of one database for equal work, or why they cannot be compared."""

    refused: str | None
    """Null: they are of equal work."""
    before_wait_per_transaction_seconds: float
    after_wait_per_transaction_seconds: float
    wait_saved_per_hour_seconds: float
    """For as much work as before."""
    kinds: tuple[KindCompared, ...]


@answer
class Assessments:
    """Every database that the files are about."""

    assessments: tuple[Assessment, ...]
    compared: PeriodsCompared | None
    """Null: the files are not two reports."""


@answer
class QueriesToExport:
    """The queries whose results are the exports of an engine, by the name of their file."""

    engine: str
    queries: Mapping[str, str]


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


@answer
class DemoPlan(PlanShown):
    """The plan, and the digest by which it is approved."""

    digest: str


@answer
class DemoMove:
    """A move and the state that it came to."""

    unit: str
    to_space: str
    state: MoveState


@answer
class DemoMoveChecked(DemoMove):
    """A move as the catalog and the disk show it."""

    in_catalog: bool
    on_disk: bool | None
    """Null: the disk cannot be looked at."""
    says: str


@answer
class DemoPlacements:
    """The space of every unit before and after, from the catalog."""

    before: Mapping[str, str]
    after: Mapping[str, str]
    moves: tuple[DemoMoveChecked, ...]


@answer
class Decoy:
    """A unit that a simpler rule would have chosen, and what became of it."""

    role: str
    unit: str
    verdict: str
    why: str
    as_expected: bool


@answer
class DemoLoad:
    """What the clients of the load saw."""

    transactions_per_second: float
    latency_mean_seconds: float
    latency_p99_seconds: float
    errors: int
    seconds: float


@answer
class DemoOutcome(OutcomeShown):
    """An outcome, with what the clients saw before and after."""

    storage: str
    """Whether the slow storage is as slow as a disk."""
    load_before: DemoLoad
    load_after: DemoLoad


@answer
class DemoRun:
    """The demo from an empty folder to a measured outcome."""

    engine: str
    units: int
    plan: DemoPlan
    statements: tuple[str, ...]
    placements: DemoPlacements
    decoys: tuple[Decoy, ...]
    outcomes: tuple[DemoOutcome, ...]
    scrape: int
    """Bytes of /metrics."""
    seconds: float


@answer
class DemoDatabase:
    """One database of the fleet: its proposal, its moves and what came of them."""

    database: str
    proposal: int
    digest: str
    canary: bool
    """Whether it was moved and measured before the others."""
    moves: tuple[DemoMove, ...]
    verdict: OutcomeVerdict | None
    sentence: str | None


@answer
class Takeover:
    """One agent's end, and how long its databases were without one."""

    killed: str
    process: int
    statement: str
    """That ran at this moment in the server; empty: none."""
    seconds: float
    within_seconds: float
    """What is promised."""
    holders: Mapping[str, str]
    """The process that acts on each database now."""


@answer
class FleetDemoRun:
    """The demo of a fleet."""

    storage: str
    measured: bool
    """Whether the slow storage is as slow as a disk."""
    signed_by: tuple[str, ...]
    databases: tuple[DemoDatabase, ...]
    takeover: Takeover | None
    """Null: the moves were not approved."""
    commands: tuple[str, ...]
    seconds: float
