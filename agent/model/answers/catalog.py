"""Which answer each document is, by what is typed for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from agent.model.answers.decisions import (
    ApprovalToSign,
    AuditLinks,
    AuditVerified,
    MovesAsked,
    MoveStruck,
    ProposalApproved,
    ProposalRejected,
    ProposalShown,
    ProposalSigned,
    ProposalsListed,
    ProposalWatched,
    RuleExplained,
    RuleShown,
    RuleSigned,
    RulesListed,
    RuleToSign,
    SendingStopped,
    SpaceClosed,
)
from agent.model.answers.fleet import FleetMetrics, FleetStatus, ListApproved, ListStopped, ListToSign, ProposalsOfFleet
from agent.model.answers.kind import FailureAnswer
from agent.model.answers.outcomes import Calibration, History, OutcomesAnywhere, OutcomesListed
from agent.model.answers.plans import (
    ContainerByHand,
    ContainerPlanned,
    PinRemoved,
    PinSet,
    PinsListed,
    Planned,
    SpaceByHand,
    SpacePlanned,
    SplitByHand,
    SplitPlanned,
    UndoProposed,
)
from agent.model.answers.report import DatabaseReported, FleetReported
from agent.model.answers.setup import (
    Assessments,
    ChannelsTried,
    Checkup,
    ClaimsTried,
    ConfigurationWritten,
    DatabaseForgotten,
    DemoRun,
    FilesShown,
    FilesWritten,
    FleetDemoRun,
    Grants,
    LedgerMoved,
    QueriesToExport,
    RecordingMade,
    SetUpDone,
    StatementsToProve,
)
from agent.model.answers.sizing import BreakEvens, DatabaseSized, HistorySimulated, PoolsShared, RecordingSimulated
from agent.model.answers.units import AdviceExplained, UnitExplained, UnitsRanked, VerdictExplained
from agent.model.answers.watching import CyclesRun, StatusShown, TopShown, TraceOfDatabase

ERROR: Final = "error"
OF_COMMANDS: Final[Mapping[str, Any]] = {
    "assess": Assessments | QueriesToExport,
    "approve": ProposalApproved | ProposalSigned | ApprovalToSign,
    "audit verify": AuditVerified,
    "approve ID ID": ListApproved | ListToSign,
    "cancel": MovesAsked,
    "cancel --digest": ListStopped,
    "close": SpaceClosed,
    "demo": DemoRun,
    "demo --fleet": FleetDemoRun,
    "deploy": FilesShown | FilesWritten,
    "doctor": Checkup,
    "explain": UnitExplained | VerdictExplained | AdviceExplained,
    "history": History,
    "history --audit": AuditLinks,
    "init": ConfigurationWritten,
    "setup": SetUpDone,
    "lab prove": ClaimsTried | StatementsToProve,
    "lab record": RecordingMade,
    "ledger forget": DatabaseForgotten,
    "ledger grants": Grants,
    "ledger move": LedgerMoved,
    "notify test": ChannelsTried,
    "outcomes": OutcomesListed | Calibration,
    "outcomes --all": OutcomesAnywhere,
    "pause": MovesAsked,
    "pin": PinSet,
    "pin --list": PinsListed,
    "pin --remove": PinRemoved,
    "plan": Planned | ContainerPlanned | ContainerByHand,
    "proposals --all": ProposalsOfFleet,
    "proposals": ProposalsListed,
    "reject": ProposalRejected,
    "reopen": SpaceClosed,
    "report": DatabaseReported,
    "report --all": FleetReported,
    "resume": MovesAsked,
    "simulate": HistorySimulated | RecordingSimulated,
    "sizing": DatabaseSized | BreakEvens,
    "sizing --all": PoolsShared,
    "show": ProposalShown | ProposalWatched,
    "space create": SpacePlanned | SpaceByHand,
    "split": SplitPlanned | SplitByHand,
    "rules close": RuleShown,
    "rules list": RulesListed,
    "rules open": RuleToSign | RuleSigned,
    "rules propose": RuleShown,
    "rules show": RuleExplained,
    "run": CyclesRun,
    "status": StatusShown,
    "status --all": FleetStatus,
    "status --all --metrics": FleetMetrics,
    "stop": SendingStopped,
    "strike": MoveStruck,
    "top": TopShown,
    "trace": TraceOfDatabase,
    "undo": UndoProposed,
    "units": UnitsRanked,
}


def name_of(words: str) -> str:
    """The name of the schema of what is typed: ``history-audit`` for ``history --audit``."""
    return words.replace(" ID ID", "-list").replace(" --", "-").replace(" ", "-")


TITLES: Final[Mapping[str, str]] = {
    ERROR: "hotplace COMMAND --json, where it fails",
    **{name_of(words): f"hotplace {words} --json" for words in OF_COMMANDS},
}
ANSWERS: Final[Mapping[str, Any]] = {
    ERROR: FailureAnswer,
    **{name_of(words): kind for words, kind in OF_COMMANDS.items()},
}
