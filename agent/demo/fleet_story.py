"""The fleet's demo from start to end: propose, two signatures, one database first, an agent is killed, report.

Everything is done by programs of their own, as on a real site; the story runs them and looks into the ledger meanwhile.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from agent.config.files import load
from agent.demo.fleet_site import (
    AGENTS,
    ALLOWED_SIGNERS,
    DATABASES,
    LEASE_SECONDS,
    PEOPLE,
    SIGNERS,
    STANDBY,
    FleetSite,
    ProgramFailed,
    Programs,
    may_sign,
)
from agent.demo.story import Ending
from agent.ledger.ledger import Ledger
from agent.ledger.rows import ProposalRow
from agent.model.answers.setup import DemoDatabase, DemoMove, FleetDemoRun, Takeover
from agent.model.clock import SystemClock
from agent.model.outcomes import Outcome
from agent.model.signed_documents import NAMESPACE
from agent.model.states import NOT_CARRIED_OUT, UNDOABLE, ProposalState
from agent.terminal.output import Output
from connectors.kit.contract import HotplaceError

LOOK_EVERY_SECONDS = 0.2
START_SECONDS = 120.0  # limits of what is waited for, by a slow machine's needs
PROPOSALS_SECONDS = 120.0
OUTCOME_SECONDS = 240.0
STATEMENT_SECONDS = 60.0
LEASES_TO_TAKE_OVER = 2
SIGN_AGAIN = 3  # times, where a newer plan replaces a proposal before it is signed
VICTIM = next(iter(AGENTS))
CANARY, KILLED_AT = AGENTS[VICTIM]


class TooSlow(HotplaceError):
    """What the demo waited for did not come about."""


class FleetStory:
    """One run of the fleet's demo."""

    def __init__(
        self, site: FleetSite, programs: Programs, ledger: Ledger, out: Output, approve: Callable[[str], bool]
    ) -> None:
        """Take the stage.

        Args:
            site: servers and configurations.
            programs: runs and prints commands.
            ledger: that all share, to look into.
            out: where to print.
            approve: asks the question and returns the answer.
        """
        self._site = site
        self._programs = programs
        self._ledger = ledger
        self._out = out
        self._approve = approve
        self._started = time.monotonic()

    def tell(self) -> Ending:
        """Run the whole story.

        Raises:
            HotplaceError: something did not work; the message says what.
        """
        if may_sign():
            self._make_keys()
        else:
            self._out.note("only root can keep a file of signers from its agents, so approvals are not signed here")
        self._start_agents()
        proposals = self._propose()
        what = f"sign these {len(proposals)} proposals as {' and as '.join(SIGNERS)}?"
        if not self._approve(what if may_sign() else f"approve these {len(proposals)} proposals?"):
            return Ending(found=self._summary(proposals, None), approved=False, good=True)
        proposals = self._sign_all(proposals)
        self._wait_for_canary(proposals[CANARY])
        takeover = self._kill_and_wait(proposals[KILLED_AT])
        self._wait_for_outcomes(proposals)
        return Ending(found=self._summary(proposals, takeover), approved=True, good=self._is_good(proposals, takeover))

    def _make_keys(self) -> None:
        self._out.heading("two people make a key each; agents believe these two")
        for name in SIGNERS:
            self._programs.run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", name)
        folder = self._site.folder
        lines = (f"{name} {(folder / f'{name}.pub').read_text()}" for name in SIGNERS)
        (folder / ALLOWED_SIGNERS).write_text("".join(lines))

    def _start_agents(self) -> None:
        self._out.heading("two agents begin, and one stands by")
        for name in AGENTS:
            self._programs.start_agent(name)
        self._wait("agents to take their databases", START_SECONDS, lambda: len(self._holders()) == len(DATABASES))
        self._programs.start_agent(STANDBY, "--standby")

    def _propose(self) -> dict[str, ProposalRow]:
        """What the agents propose, by database."""
        self._out.heading("agents watch the loads, and propose")
        found = self._wait_for_proposals()
        self._programs.hotplace(PEOPLE, "status", "--all")
        self._programs.hotplace(PEOPLE, "proposals", "--all")
        return found

    def _wait_for_proposals(self) -> dict[str, ProposalRow]:
        self._wait(
            "proposals for all databases", PROPOSALS_SECONDS, lambda: len(self._open_proposals()) == len(DATABASES)
        )
        return self._open_proposals()

    def _open_proposals(self) -> dict[str, ProposalRow]:
        """Those that wait for a decision and move the hot table, by database."""
        rows = self._ledger.proposals.rows(states={ProposalState.PROPOSED})
        hot = {name: shop.schema.hot for name, shop in self._site.shops.items()}
        return {
            row.proposal.database: row
            for row in rows
            if hot[row.proposal.database] in {move.key for move in row.proposal.moves}
        }

    # -- decide --------------------------------------------------------------------------------------------------

    def _sign_all(self, proposals: dict[str, ProposalRow]) -> dict[str, ProposalRow]:
        """Two people sign one list, or it is approved without; what they signed."""
        for _ in range(SIGN_AGAIN):
            try:
                if may_sign():
                    for name in SIGNERS:
                        self._sign(name, proposals)
                else:
                    self._out.heading(f"the list is approved; {CANARY} goes first")
                    self._programs.hotplace(PEOPLE, *self._approving(proposals), "--yes")
            except ProgramFailed:
                if self._open_proposals() == proposals:
                    raise
                self._out.line("a newer plan has replaced one of them: both look again")
                proposals = self._wait_for_proposals()
            else:
                break
        return proposals

    def _approving(self, proposals: dict[str, ProposalRow]) -> tuple[str, ...]:
        numbers = [str(proposals[database].id) for database in DATABASES]
        return ("approve", "--all", *numbers, "--canary", str(proposals[CANARY].id))

    def _sign(self, name: str, proposals: dict[str, ProposalRow]) -> None:
        command = self._approving(proposals)
        self._out.heading(f"{name} looks at the list and signs it; {CANARY} goes first")
        self._programs.hotplace(PEOPLE, *command, to=f"{name}.txt")
        self._programs.run("ssh-keygen", "-q", "-Y", "sign", "-n", NAMESPACE, "-f", name, f"{name}.txt")
        self._programs.hotplace(PEOPLE, *command, "--signature", f"{name}.txt.sig")

    # -- carry out -----------------------------------------------------------------------------------------------

    def _wait_for_canary(self, proposal: ProposalRow) -> None:
        self._out.heading(f"{CANARY} alone is moved and measured; the others wait for its outcome")
        self._wait(f"the outcome of {CANARY}", OUTCOME_SECONDS, lambda: self._outcome(proposal) is not None)
        self._programs.hotplace(PEOPLE, "outcomes", "--all")

    def _kill_and_wait(self, proposal: ProposalRow) -> Takeover:
        """Kill the agent while it moves a table, and wait until the standby has its databases."""
        self._out.heading(f"{VICTIM} is killed while it moves a table of {KILLED_AT}")
        shop, holders = self._site.shops[KILLED_AT], self._holders()
        statement = ""

        def has_begun() -> bool:
            nonlocal statement
            statement = shop.moving()
            return bool(statement) or self._is_placed(proposal)

        self._wait(f"a statement in {KILLED_AT}", STATEMENT_SECONDS, has_begun, every=0.02)
        process = self._programs.kill_agent(VICTIM)
        killed_at = time.monotonic()
        self._out.line(f"the server was at: {statement or 'nothing, the moves were done'}")
        mine = {name: holders[name] for name in AGENTS[VICTIM]}
        self._wait("the standby", START_SECONDS, lambda: not mine.items() & self._holders().items(), every=0.05)
        seconds = time.monotonic() - killed_at
        within = LEASES_TO_TAKE_OVER * LEASE_SECONDS
        self._out.line(f"{STANDBY} has {' and '.join(mine)} after {seconds:.1f} s; {within:.0f} s at most are promised")
        self._programs.hotplace(PEOPLE, "status", "--all")
        return Takeover(
            killed=VICTIM, process=process, statement=statement, seconds=seconds, within_seconds=within,
            holders={name: holder for name, holder in self._holders().items() if name in mine},
        )  # fmt: skip

    def _wait_for_outcomes(self, proposals: dict[str, ProposalRow]) -> None:
        self._out.heading("the others are moved and measured")
        self._wait(
            "all outcomes", OUTCOME_SECONDS, lambda: all(self._outcome(row) is not None for row in proposals.values())
        )
        for command in ("outcomes", "report", "status"):
            self._programs.hotplace(PEOPLE, command, "--all")
        self._out.line(self._site.storage_sentence)

    # -- look ----------------------------------------------------------------------------------------------------

    def _holders(self) -> dict[str, str]:
        """Which process acts on each database; a lease that ran out counts until another one takes it."""
        return {row.database: row.holder for row in self._ledger.leases.rows() if row.session}

    def _is_placed(self, proposal: ProposalRow) -> bool:
        return all(row.state in UNDOABLE for row in self._ledger.moves.rows(proposal_id=proposal.id))

    def _states(self) -> str:
        """How far the approved moves are, in words."""
        rows = [row for row in self._ledger.moves.rows() if row.approved]
        return ", ".join(f"{row.database} {row.move.key} {row.state}" for row in rows) or "none is approved"

    def _outcome(self, proposal: ProposalRow) -> Outcome | None:
        """What was measured of a proposal; None while it was not.

        Raises:
            ProgramFailed: it will not be, since a move has failed or was skipped.
        """
        rows = self._ledger.moves.rows(proposal_id=proposal.id)
        for row in rows:
            if row.state in NOT_CARRIED_OUT:
                raise ProgramFailed(f"{row.database}: {row.move.key} is {row.state}: {row.reason}")
        found = self._ledger.moves.outcomes_of([row.id for row in rows])
        return next((row.outcome for row in found.values()), None) if self._is_placed(proposal) else None

    def _wait(self, what: str, seconds: float, met: Callable[[], bool], every: float = LOOK_EVERY_SECONDS) -> None:
        """Wait for something while all programs run.

        Raises:
            TooSlow: it did not come about in that time.
            ProgramFailed, LoadFailed: a program has ended.
        """
        self._out.note(f"waiting for {what}")
        end = time.monotonic() + seconds
        while not met():
            self._programs.require_agents()
            if time.monotonic() > end:
                raise TooSlow(
                    f"waited {seconds:.0f} s for {what}; moves: {self._states()}",
                    advice="Run the demo on a quieter machine.",
                )
            time.sleep(every)

    # -- tell ----------------------------------------------------------------------------------------------------

    def _is_good(self, proposals: dict[str, ProposalRow], takeover: Takeover) -> bool:
        return all(map(self._is_placed, proposals.values())) and takeover.seconds <= takeover.within_seconds

    def _summary(self, proposals: dict[str, ProposalRow], takeover: Takeover | None) -> FleetDemoRun:
        return FleetDemoRun(
            storage=self._site.storage_sentence,
            measured=self._site.is_slowed,
            signed_by=tuple(SIGNERS) if takeover and may_sign() else (),
            databases=tuple(map(self._database, proposals.values())),
            takeover=takeover,
            commands=tuple(self._programs.commands),
            seconds=time.monotonic() - self._started,
        )

    def _database(self, proposal: ProposalRow) -> DemoDatabase:
        rows = self._ledger.moves.rows(proposal_id=proposal.id)
        outcome = self._outcome(proposal)
        return DemoDatabase(
            database=proposal.proposal.database,
            proposal=proposal.id,
            digest=proposal.digest,
            canary=proposal.proposal.database == CANARY,
            moves=tuple(DemoMove(unit=row.move.key, to_space=row.move.to_space, state=row.state) for row in rows),
            verdict=outcome.verdict if outcome else None,
            sentence=outcome.sentence if outcome else None,
        )


@contextmanager
def fleet_story(site: FleetSite, out: Output, approve: Callable[[str], bool]) -> Iterator[FleetStory]:
    """Everything that a run of the story needs; agents are ended at the end."""
    config = load(site.folder / f"{PEOPLE}.yaml")
    with (
        Ledger.open(config.ledger.place, SystemClock(), anchors=config.ledger.anchors) as ledger,
        Programs(site.folder, out) as programs,
    ):
        yield FleetStory(site, programs, ledger, out, approve)
