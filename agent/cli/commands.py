"""Every command: its module, its heading in the help and its one-line help.

``hotplace --help`` and the completion of command names are answered from this table alone, so they import no command.

One of them is a daemon: until it obeys signals, a reload that is asked for waits.
"""

from __future__ import annotations

import signal
import sys
from enum import StrEnum
from typing import NamedTuple


class HelpGroup(StrEnum):
    """The questions that commands answer; headings of the help."""

    SET_UP = "Set up"
    LOOK = "Look"
    DECIDE = "Decide"
    LOOK_BACK = "Look back"
    STEER = "Steer"


class Listed(NamedTuple):
    """What the table knows of one command."""

    module: str  # below agent.cli; importing it registers the command
    group: HelpGroup
    summary: str  # first paragraph of the command's help


# In the order of the help. tests/cli/test_help.py holds each summary to the command's docstring.
COMMANDS = {
    "demo": Listed(
        "demo",
        HelpGroup.SET_UP,
        "Run the main job on a private PostgreSQL, from an empty folder to a measured outcome.",
    ),
    "setup": Listed(
        "setup",
        HelpGroup.SET_UP,
        "Make logins, passwords and a configuration for databases of a server, and examine them; asks what it lacks.",
    ),
    "init": Listed(
        "init",
        HelpGroup.SET_UP,
        "Write a configuration to start from, readable by you only; `hotplace setup` asks and fills it in.",
    ),
    "doctor": Listed(
        "init",
        HelpGroup.SET_UP,
        "Check connection, privileges, settings, tiers and room, each with what mends it.",
    ),
    "lab": Listed(
        "lab",
        HelpGroup.SET_UP,
        "Try on a scratch schema of your own server what the connector claims, or record what it reads.",
    ),
    "deploy": Listed(
        "deploy",
        HelpGroup.SET_UP,
        "Print or write what belongs around hotplace: logins, service, alerts, dashboard, manifests.",
    ),
    "ledger": Listed(
        "ledger",
        HelpGroup.SET_UP,
        "A ledger that several agents share on PostgreSQL: its roles, and the way there.",
    ),
    "notify": Listed("init", HelpGroup.SET_UP, "Try the channels of notices: webhooks, mail, programs."),
    "space": Listed(
        "space", HelpGroup.SET_UP, "Make a space on storage that the database does not use yet, once it is approved."
    ),
    "run": Listed(
        "run",
        HelpGroup.SET_UP,
        "Watch, propose and carry out what is approved, until SIGTERM; SIGHUP reads the configuration again.",
    ),
    "status": Listed(
        "status",
        HelpGroup.LOOK,
        "Show whether the daemon runs, open proposals, moves under way and the room in each tier.",
    ),
    "units": Listed("units", HelpGroup.LOOK, "Rank units by the foreground wait that fast storage would save them."),
    "explain": Listed("units", HelpGroup.LOOK, "Show one unit's numbers and why it was chosen or not."),
    "plan": Listed(
        "plan",
        HelpGroup.LOOK,
        "Show what is worth moving, what it brings, locks and takes, and why not the others; moves nothing.",
    ),
    "top": Listed(
        "top",
        HelpGroup.LOOK,
        "Show live what waits, what is proposed and what moves, and act on it by keys; q or Ctrl-C ends the display.",
    ),
    "split": Listed(
        "plan",
        HelpGroup.LOOK,
        "Split a table into a cold part that stays and one for new rows, with the exact statements.",
    ),
    "sizing": Listed(
        "sizing",
        HelpGroup.LOOK,
        "Show how much fast storage is worth having: the curve, its knee, and what the next GiB saves.",
    ),
    "assess": Listed(
        "assess",
        HelpGroup.LOOK,
        "Say what sessions wait for, and what fast storage would bring, from reports and exports; asks no database.",
    ),
    "simulate": Listed(
        "simulate",
        HelpGroup.LOOK,
        "Play the recorded history again under other settings; asks no database and changes nothing.",
    ),
    "proposals": Listed("proposals", HelpGroup.DECIDE, "List what waits for a decision or is being carried out."),
    "show": Listed(
        "proposals",
        HelpGroup.DECIDE,
        "Show a proposal: its value, its moves with their locks, and the statements.",
    ),
    "approve": Listed(
        "approve",
        HelpGroup.DECIDE,
        "Approve a proposal, exactly as it is stored, so that its moves may run before it expires.",
    ),
    "reject": Listed("approve", HelpGroup.DECIDE, "Reject a proposal; none of its moves will run."),
    "strike": Listed(
        "approve",
        HelpGroup.DECIDE,
        "Drop one move of a proposal, before or after its approval, with what makes room for it or needs its room.",
    ),
    "rules": Listed(
        "rules",
        HelpGroup.DECIDE,
        "Standing rules: within which signed limits level auto approves without asking each time.",
    ),
    "undo": Listed(
        "undo",
        HelpGroup.DECIDE,
        "Propose to bring moved units back to where they were; runs only once it is approved.",
    ),
    "pause": Listed(
        "requests",
        HelpGroup.STEER,
        "Hold a running move where the engine can, and let an approved one not begin; it goes on with `resume`.",
    ),
    "resume": Listed("requests", HelpGroup.STEER, "Let a held move go on, within its window."),
    "cancel": Listed(
        "requests", HelpGroup.STEER, "Give up an approved, running or held move; what it has copied is rolled back."
    ),
    "stop": Listed(
        "requests",
        HelpGroup.STEER,
        "Let no agent send anything: what runs is cancelled and nothing begins, until `hotplace stop --lift`.",
    ),
    "pin": Listed(
        "pins",
        HelpGroup.STEER,
        "Say that a unit must, should or must never be on the fastest tier; list pins; remove one.",
    ),
    "close": Listed(
        "requests",
        HelpGroup.STEER,
        "Close a space to arrivals: no plan and no move brings anything to it until it is reopened.",
    ),
    "reopen": Listed("requests", HelpGroup.STEER, "Open a space again that was closed by hand or by a drain."),
    "trace": Listed(
        "trace",
        HelpGroup.STEER,
        "Collect demand for a time of your choice; `hotplace plan --trace` ranks by just that.",
    ),
    "history": Listed(
        "history",
        HelpGroup.LOOK_BACK,
        "List moves with their state, its time and reason, and what came of them; or the links of the audit chain.",
    ),
    "outcomes": Listed(
        "history", HelpGroup.LOOK_BACK, "Compare what was measured after the moves with the prediction."
    ),
    "audit": Listed(
        "history",
        HelpGroup.LOOK_BACK,
        "Check the chain of who decided and did what, when, from where; `hotplace history --audit` lists it.",
    ),
    "report": Listed(
        "report",
        HelpGroup.LOOK_BACK,
        "One page of what was proposed, approved by whom, moved and measured; asks the ledger alone.",
    ),
}


DAEMON = "run"


def hold_reloads() -> None:
    """Let SIGHUP wait, which would end a process that does not handle it yet; service managers take that for an end."""
    if DAEMON in sys.argv:  # perhaps the value of an option: the command line is read later
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGHUP})


def release_reloads() -> None:
    """Let SIGHUP in: it is handled now, or ends what no daemon is, as a terminal that is closed does."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGHUP})
