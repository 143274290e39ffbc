"""Every name under which ``Ledger.state`` keeps a document or arrays, and what is kept under it.

One of each name per database; a document is JSON values, arrays are numpy columns by name. The texts are
already in users' ledgers: a changed text loses what is stored under the old one.
"""

from __future__ import annotations

from typing import Final

# -- arrays: what sampling has learned, so that a restart goes on from it -------------------------------------------

HEAT: Final = "heat"  # decayed demand by slot (policies.evidence.heat)
SEASONS: Final = "seasons"  # demand by hour of the week and day of the month (policies.evidence.seasons)
HORIZONS: Final = "horizons"  # how well each memory would have placed (policies.evidence.horizons)
KNOWN_UNITS: Final = "known units"  # of the last catalog, to recognize renamed ones (policies.evidence.heat)
GROWTH: Final = "growth"  # how fast each unit grows, by slot (policies.evidence.capacity)
TIER_SPEED: Final = "tier speed"  # evidence about read times, and the configured speeds it was gathered against
BLOCK_HEAT: Final = "block heat"  # reads by range of blocks of each unit that was looked into (agent.sampling)
TRACE_HEAT: Final = "trace heat"  # demand that a trace has collected

# -- arrays: what the last plan and each proposal were made from ----------------------------------------------------

RANKING: Final = "ranking"  # the figures of every unit in the last plan (agent.planning.ranking)
DECISION: Final = "decision"  # situation and settings of the last plan (agent.planning.decisions)
PROPOSAL_DECISIONS: Final = f"{DECISION} of proposal "  # how the names of the same for each proposal begin

# -- documents: what sampling has learned ---------------------------------------------------------------------------

BLOCK_BORDERS: Final = "borders of hot parts"  # unit -> its columns, and user data: borders that looks found
DATABASE_WORK: Final = "work of the database"  # rate -> mean over the half-life, unknown rates left out
ROLES: Final = "logs, temporary and undo spaces"  # list of their mean rates
ACTIVE_SESSIONS: Final = (
    "sessions at work"  # {"active": mean over the long half-life, absent while unknown, "pace": of recent work,
    # "remembered", "remembered_long": share of a full memory that these means and those of the work rest on}
)
DISTURBED_INTERVALS: Final = "work while moves ran"  # list of intervals with transactions during moves and before
GONE_UNITS: Final = "units that are gone"  # list of slots that belong to no unit of the last catalog
TRACE: Final = "trace"  # whether demand is collected for a trace, since when and until when
TRACE_FIGURES: Final = "trace figures"  # how many intervals and seconds the trace has

# -- documents: the last plan ---------------------------------------------------------------------------------------

PIN_REPORTS: Final = "pins"  # list: what became of each pin
UNSERVED_RULES: Final = "templates that cannot be served"  # number of a rule -> why nothing can come under it
ADVICE: Final = "advice"  # list: recommendations other than moves
SIZING_CURVE: Final = "sizing curve"  # sizes of the fastest tier and what each saves (agent.planning.planner)
TIER_FILL: Final = (
    "fill of tiers"  # list: how full each tier was at plans of the last weeks (agent.sampling.learned_state)
)

# -- documents: the daemon and the moves that it carries out --------------------------------------------------------

FORGOTTEN_AT: Final = "forgotten"  # null; the time at which it was stored: lists leave the database out since
STATUS: Final = "status"  # the daemon's process and state, for commands
SERVER: Final = "server"  # what it said of itself last, and what has changed lately (agent.service.server_facts)
PLANNED: Final = "planned"  # null; the time at which it was stored is that of the daemon's last plan in its turn
PLANNED_AFTER: Final = "planned after"  # seconds of watching at the daemon's last plan, in its turn or before it
HISTORY_FOLDED: Final = "history folded"  # the same for the last fold of the history, under ALL_DATABASES
HISTORY_KEPT: Final = "history kept"  # seconds, on a ledger on a server: server/partitions.sql reads it
PROGRESS: Final = "progress"  # moves whose statements run, and how far they are
WAITING_MOVES: Final = "waiting"  # number of an approved move -> why it has not begun
LEFTOVERS: Final = "leftovers"  # list: objects that interrupted moves left, with the statements that remove them
FULL_SPACES: Final = "spaces found full"  # space -> the move that found no room, what it needed, free bytes, and when
HALF_DONE: Final = "moves that wait with something begun"  # list of their numbers (agent.moving.reconciler)
NOTICES: Final = "notices"  # what people were sent, and what waits, under ALL_DATABASES; on a server ``notices_of``
STATEMENT_TEXTS: Final = "texts of statements"  # id -> text without literals, of those that outcomes list
LEFT_WORSE: Final = "groups left worse"  # name of a group that ended halfway -> what is worse

ALL_DATABASES: Final = ""  # in place of a database's name


def notices_of(agent: str) -> str:
    """Document: NOTICES of one agent of a shared ledger; that of the one agent of a file where it has no name."""
    return f"{NOTICES} of {agent}" if agent else NOTICES


def decision_of_proposal(number: int) -> str:
    """Arrays: situation and settings that a proposal was made from."""
    return f"{PROPOSAL_DECISIONS}{number}"


def explanation_of_proposal(number: int) -> str:
    """Arrays: sentences and figures of the units that a proposal is about, as of its day."""
    return f"told by proposal {number}"


def work_before_proposal(number: int) -> str:
    """Document: rates of the whole database before the first move of a proposal."""
    return f"work before proposal {number}"
