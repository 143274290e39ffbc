"""What must hold whatever happens, watched from outside: at the server, at the ledger's file and from what people did.

Each oracle has the name of a promise of the design. It asks no code of the agent whether something is allowed: it goes
by the rows of the ledger as they lie on the disk, by the decisions that people of the simulation have made, and by the
simulated server, which knows the truth.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np

from agent.ledger.chain.links import find_anchors
from agent.ledger.rows import MoveRow, groups_of
from agent.model.proposals import UNDO, WAY_BACK
from agent.model.states import ACTIONABLE, AWAITING_OUTCOME, CARRIED_OUT, COUNTED, IN_PLACE, MoveState
from agent.service.metrics import AgentCollector
from connectors.kit.contract import HotplaceError
from connectors.model.moves import UnitKind
from connectors.simulated.language import Move
from connectors.simulated.world_state import ONLINE_ROOM, RunningCopy, SimulatedPlacement, copy_seconds
from policies.model.moves import MoveReason
from tests.fault_simulation.automatic import Automatic
from tests.fault_simulation.disk import Rows
from tests.fault_simulation.people import Decision
from tests.fault_simulation.process import Process
from tests.fault_simulation.server import Sent
from tests.fault_simulation.worlds import WINDOWS_OF

if TYPE_CHECKING:
    from tests.fault_simulation.agent_program import AgentProgram
    from tests.fault_simulation.site import FaultySite

APPROVED = "1 approved statements"
DRY_RUN = "2 dry run"
TRUE_STATES = "3 final states agree with the catalog"
HEAD_ROOM = "4 head-room"
WINDOWS = "5 windows and caps"
HEAT = "6 heat is the work's"
COOL_DOWN = "7 cool-down"
GROUPS = "8 groups begin whole"
AUDIT = "9 audit chain"
ONE_AGENT = "10 one agent"
COST = "11 own cost"
GROUP_RULE = "group rule: no more wait than before"
JUDGED = "weeks: every placed move is judged in the end"
COUNTERS = "weeks: counters equal the ledger"
ALERTS = "weeks: every alert ends once its cause has"
ORACLES = (
    APPROVED, DRY_RUN, TRUE_STATES, HEAD_ROOM, WINDOWS, HEAT, COOL_DOWN, GROUPS, AUDIT, ONE_AGENT, COST, GROUP_RULE,
    JUDGED, COUNTERS, ALERTS,
)  # fmt: skip
# What a counter of moves has counted, by the states in which such moves are now: none leaves these.
HAVE_BEEN: dict[MoveState, frozenset[MoveState]] = {
    MoveState.PLACED: CARRIED_OUT, MoveState.UNDONE: frozenset({MoveState.UNDONE}),
    **{state: frozenset({state}) for state in (MoveState.FAILED, MoveState.SKIPPED, MoveState.CANCELLED)},
}  # fmt: skip
STATES = "SELECT state, count(*) AS number FROM moves GROUP BY state"
QUERY = """
SELECT steps.id AS step, steps.sql, steps.ordinal, moves.id AS move, moves.ordinal AS of_proposal, moves.state,
       moves.proposal_id AS proposal, proposals.body, proposals.digest, proposals.fingerprint
FROM steps JOIN moves ON moves.id = steps.move_id JOIN proposals ON proposals.id = moves.proposal_id
WHERE steps.sql = ? AND steps.state = 'intended' ORDER BY steps.id DESC LIMIT 1
"""
MOVE_QUERY = """
SELECT moves.ordinal AS of_proposal, moves.proposal_id AS proposal, proposals.body, proposals.digest
FROM moves JOIN proposals ON proposals.id = moves.proposal_id WHERE moves.id = ?
"""
DROPPED = {"skipped", "cancelled", "failed", "rejected", "expired"}
FOR_ROOM = {MoveReason.PROMOTE.value, MoveReason.MAKE_ROOM.value}
SLACK = 1e-6
# Alerts on the agent itself that go by one figure, and the figure.
ALERTED = {
    "HotplaceNotSampling": "hotplace_up", "HotplaceLedgerNotTrusted": "hotplace_ledger_trusted",
    "HotplaceLedgerAway": "hotplace_ledger_up", "HotplaceSendsNothing": "hotplace_sending",
    "HotplaceJobFails": "hotplace_job_failing_seconds",
    "HotplaceLockTaken": "hotplace_lock_taken", "HotplaceLeftover": "hotplace_leftovers",
    "HotplaceGroupLeftWorse": "hotplace_groups_left_worse",
}  # fmt: skip
LASTING = {"HotplaceLeftover", "HotplaceGroupLeftWorse"}  # until moves are through
ALERTED_SOON = {alert: of for alert, of in ALERTED.items() if alert not in LASTING}
WELL_AT_ZERO = {
    "hotplace_job_failing_seconds", "hotplace_lock_taken", "hotplace_leftovers", "hotplace_groups_left_worse"
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Arrival:
    """A move of an agent that arrived."""

    at: float  # seconds on the monotonic clock
    agent: str
    book: str
    skew: float  # of the agent's clock
    proposal: int
    asked: bool  # by a person
    reason: str
    to_tier: str
    size_bytes: int
    begun: datetime


class Oracles:
    """All of them, watching one site."""

    def __init__(self, site: FaultySite) -> None:
        self._site = site
        self._slowest = _transactions(site, "hdd")  # per second with all on the disk, of all that was so far
        self._most_pages = 0.0  # of a transaction, of all that was so far
        self._arrivals: dict[int, list[Arrival]] = {}  # by row of the unit
        self._started: dict[tuple[str, int], datetime] = {}  # agent and move -> its first statement
        self._in_window: list[Arrival] = []
        self._cause: dict[int, tuple[str, int] | str] = {}  # row of a unit -> agent and move, or others
        self._pinned: set[int] = set()  # rows of units that went where a person wants them
        self._counted: dict[str, tuple[Counter[MoveState], Counter[MoveState]]] = {}  # of each life: counters, and
        # results in the ledger, when it was first looked at
        self._out_of_reach: set[str] = set()  # what is still moved by moves of the database that answered for a while
        server = site.server
        server.on_statement, server.on_begin, server.on_done = self.statement, self.begin, self.done
        server.on_mover = self.mover
        site.watchers.append(self.look)
        site.turn_watchers.append(self.begin_to_count)
        site.calm_watchers.append(self.calm)
        for agent in site.agents.values():
            agent.on_end = self.life_ends

    def _check(self, oracle: str, holds: bool, sentence: str) -> None:  # an assertion
        self._site.report.checked[oracle] += 1
        if not holds:
            self._site.violated(oracle, sentence)

    def _agent(self, process: Process) -> AgentProgram:
        return next(agent for agent in self._site.agents.values() if process.name.startswith(f"{agent.name} "))

    # -- at every statement ---------------------------------------------------------------------------------------

    def mover(self, process: Process) -> None:
        """A session that could write is opened."""
        daemon = self._agent(process).daemon
        if daemon is not None:
            dry = daemon.config.dry_run and not daemon._moving  # a move under way ends as it began
            self._check(DRY_RUN, not dry, f"{process.name} opened a session that could write")

    def statement(self, sent: Sent) -> None:
        """A statement has reached the server."""
        agent, seen = self._agent(sent.process), self._site.server.lease_seen
        sent.at = self._site.decided_at(agent)
        self._check(ONE_AGENT, id(sent.process) in seen, f"{sent.process.name} sent {sent.sql} without the lease")
        seen.discard(id(sent.process))
        row = self.intent(agent, sent.sql)
        self._site.tell(f"{sent.process.name} sends {sent.sql}{'' if row else ' without an intent'}")
        if row is None:
            self._check(APPROVED, False, f"no intent was on the disk for {sent.sql}")
            return
        sent.numbers = row
        self._check(APPROVED, not (why := self._not_approved(agent, sent, row)), f"{sent.sql}: {why}")
        if isinstance(sent.move, Move):
            self._room(sent)
            self._group_begins(agent, sent)

    def intent(self, agent: AgentProgram, sql: str) -> dict[str, Any] | None:
        """What the ledger's file says of a statement that was just sent; None: no intent lies there."""
        with closing(_open(agent)) as ledger:
            found = ledger.execute(QUERY, (sql,)).fetchone()
            return None if found is None else dict(found)

    def anchors_fit(self, agent: AgentProgram, faults: list[str]) -> bool:
        """Whether what an agent has noted of the chain is in it."""
        del agent
        return not faults

    def _not_approved(self, agent: AgentProgram, sent: Sent, row: dict[str, Any]) -> str:
        """Why no decision of a person covers a statement; "" where one does."""
        site, body = self._site, json.loads(row["body"])
        if hashlib.sha256(row["body"].encode()).hexdigest() != row["digest"]:
            return "the stored proposal does not have its digest"
        move = next(each for each in body["moves"] if each["ordinal"] == row["of_proposal"])
        covered = _statements(move["route"])
        if sent.sql not in covered:
            return "the proposal did not show it"
        if row["fingerprint"] != site.server.fingerprint:
            return "it was approved for another database"
        decision = self._decision(agent, row, move)
        if decision is None:
            return f"nobody approved proposal {row['proposal']}"
        if (agent.book, row["move"]) in site.people.dropped and (agent.book, row["move"]) not in self._started:
            return "the move was struck or cancelled before it began"
        first = self._started.setdefault((agent.book, row["move"]), sent.at)
        if move.get("reason") != WAY_BACK and first == sent.at and sent.at >= decision.expires_at:
            return f"the approval expired at {decision.expires_at}"
        return self._other_object(sent, move)

    def _decision(self, agent: AgentProgram, row: dict[str, Any], move: dict[str, Any]) -> Decision | None:
        """Of the proposal itself, or of the one whose group it takes back as that showed."""
        own = self._decided(agent, row["proposal"], row["digest"], json.loads(row["body"]), row["move"])
        if own is not None or move["reason"] != WAY_BACK:
            return own
        done = _move_row(agent, move["undoes"])
        if done is None:
            return None
        body = json.loads(done["body"])
        original = next(each for each in body["moves"] if each["ordinal"] == done["of_proposal"])
        shown = {step["sql"] for step in original["route"]["undo_steps"]}
        if not original["goes_back"] or not {step["sql"] for step in move["route"]["steps"]} <= shown:
            return None
        return self._decided(agent, done["proposal"], done["digest"], body, None)

    def _decided(
        self, agent: AgentProgram, proposal: int, digest: str, body: dict[str, Any], begins: int | None
    ) -> Decision | None:
        """What people have decided about a proposal, or about the standing rule under which it was approved."""
        own = _of(self._site.people.decisions, agent, proposal, digest)
        with closing(_open(agent)) as ledger:
            automatic = Automatic.of(ledger, proposal, self._written(agent))
            if own is not None or automatic is None:
                return own
            why = automatic.why_not(ledger, self._site.people.rules, agent.book, body, begins)
        self._check(APPROVED, not why, f"proposal {proposal} under standing rule {automatic.rule}: {why}")
        rules = [each.limits for each in self._site.people.rules if each.rule == automatic.rule and each.limits]
        if why or not rules:
            return None
        ends = min(datetime.fromisoformat(body["expires_at"]), rules[-1].expires_at)
        return Decision(agent.book, proposal, digest, "a rule", rules[-1].expires_at, ends)

    def _written(self, agent: AgentProgram) -> dict[int, int]:
        """When rows of the chain were really written that a forger has dated."""
        return {row: at for (book, row), at in self._site.forger.written.items() if book == agent.book}

    def _is_forged(self, agent: AgentProgram, proposal: int) -> bool:
        """Whether a forger wrote about it: then it only matters that no statement of it is sent without a decision."""
        return (agent.book, proposal) in self._site.forger.proposals

    def _other_object(self, sent: Sent, move: dict[str, Any]) -> str:
        """Whether the approved name is another object now, and the agent has had the chance to see that."""
        if not isinstance(sent.move, Move):
            return ""
        server, placement = self._site.server, self._site.world.placement
        row = placement.row(sent.move.key)
        looked = server.looked.get(sent.process.name, (0, {}))[0]
        if row is None or server.changed.get(row, 0) > looked:
            return ""
        bundle = move["route"]["bundle"]
        at = bundle["unit_keys"].index(sent.move.key)
        parent = int(placement.units.parent[row])
        is_index = UnitKind(int(placement.units.kind[row])) is UnitKind.INDEX  # whatever people call it by now
        now = parent if parent >= 0 and is_index else int(placement.units.physical_id[row])
        known = bundle["table_ids"][at] if bundle["table_ids"] else now
        return "" if now == known else f"its table had id {known} when it was approved, now {now}"

    def begin(self, sent: Sent, running: RunningCopy) -> None:
        """A copy begins; its room is reserved."""
        site, agent = self._site, self._agent(sent.process)
        daemon = agent.daemon
        if daemon is None or not sent.numbers:
            return
        seconds = copy_seconds(site.world.placement, running)
        if _texts(agent):
            before, now = site.decided_at(agent), site.clock.now() + timedelta(seconds=agent.machine.skew)
            left = max(_seconds_left(at, _texts(agent)) for at in (before, now))  # the clock may have jumped into it
            pausable = sent.sql.endswith("ONLINE")
            first = self._started.get((agent.book, sent.numbers["move"])) == sent.at
            if first:
                self._check(WINDOWS, left > 0, f"{sent.sql} began outside its window")
                self._check(WINDOWS, pausable or left >= 0.5 * seconds,
                            f"{sent.sql} takes {seconds:.0f} s and began {left:.0f} s before the end")  # fmt: skip

    def _room(self, sent: Sent) -> None:
        """What a copy takes of its target leaves the head-room, by what the agent could see."""
        server, placement = self._site.server, self._site.world.placement
        assert isinstance(sent.move, Move)
        row, (looked, free) = placement.row(sent.move.key), server.looked.get(sent.process.name, (0, {}))
        if row is None or server.changes > looked or sent.move.space not in free:
            return  # others may have filled it since the agent looked
        to = placement.space_row(sent.move.space)
        coming = [each for each in placement.bundle_rows(row) if placement.units.space[each] != to]
        need = int(placement.units.size_bytes[coming].sum() * (1 + ONLINE_ROOM * sent.move.online))
        left, whole = free[sent.move.space] - need, placement.spaces[to].capacity_bytes
        self._check(HEAD_ROOM, not coming or left >= 0.1 * whole - 1,
                    f"{sent.sql} leaves {left} bytes of {sent.move.space}, which has {whole}")  # fmt: skip

    def _is_foreign(self, row: MoveRow) -> bool:
        """Whether another database answers now than the one that it was approved for."""
        return row.fingerprint != self._site.server.fingerprint

    def _waits_for_room(self, row: MoveRow) -> bool:
        """Whether it is a way back that cannot be done now: it is tried until it can.

        Others may have taken the room that it came from, or what it takes beyond its copy was never free.
        """
        return row.move.reason == WAY_BACK and not self._fits(row)

    def _fits(self, row: MoveRow) -> bool:
        """Whether the target has the room now that the move needs, and its head-room."""
        placement = self._site.world.placement
        to, unit = placement.space_row(row.move.to_space), placement.row(row.move.key)
        if unit is None:
            return False
        coming = [each for each in placement.bundle_rows(unit) if placement.units.space[each] != to]
        need = int(placement.units.size_bytes[coming].sum() * (1 + ONLINE_ROOM))
        return int(placement.free_bytes()[to]) - need >= 0.1 * placement.spaces[to].capacity_bytes

    def _group_begins(self, agent: AgentProgram, sent: Sent) -> None:
        """Nothing of a group begins after a move of it was dropped, unless it is what takes it back."""
        with closing(_open(agent)) as ledger:
            found = ledger.execute("SELECT * FROM moves WHERE proposal_id = ?", (sent.numbers["proposal"],)).fetchall()
        body = json.loads(sent.numbers["body"])
        own = next(move for move in body["moves"] if move["ordinal"] == sent.numbers["of_proposal"])
        if own["reason"] == WAY_BACK or own.get("group") is None:
            return
        moves, jumped = {row["ordinal"]: row for row in found}, bool(self._site.jumps)
        began = moves[own["ordinal"]]["updated_at"]
        gone = [
            row["ordinal"]
            for row in (moves[move["ordinal"]] for move in body["moves"] if move.get("group") == own["group"])
            if row["state"] in DROPPED and row["updated_at"] <= began and not jumped
            and (agent.book, row["id"]) not in self._site.people.dropped  # by a person, perhaps at this very moment
        ]  # fmt: skip
        self._check(
            GROUPS,
            not gone or self._is_forged(agent, sent.numbers["proposal"]),
            f"{sent.sql} began though moves {gone} of its group had been dropped",
        )

    # -- when a copy has arrived ----------------------------------------------------------------------------------

    def done(self, sent: Sent, rows: list[int]) -> None:
        """A statement has had its effect."""
        if not rows or not sent.numbers:
            return
        site, agent = self._site, self._agent(sent.process)
        body = json.loads(sent.numbers["body"])
        move = next(each for each in body["moves"] if each["ordinal"] == sent.numbers["of_proposal"])
        for row in rows:
            self._cause[row] = (agent.book, sent.numbers["move"])
            if move["reason"] == MoveReason.PIN:
                self._pinned.add(row)
            site.server.last_mover.pop(row, None)
        arrival = Arrival(
            site.clock.monotonic(), agent.name, agent.book, agent.machine.skew, sent.numbers["proposal"],
            bool(body["asked_by"]) or (agent.book, sent.numbers["proposal"]) in site.people.asked
            or move["reason"] == MoveReason.PIN,  # a person has set it
            move["reason"], move["to_tier"], move["size_bytes"], sent.at,
        )  # fmt: skip
        self._cap(agent, arrival)
        earlier = self._arrivals.setdefault(rows[0], [])
        if earlier and arrival.reason not in {UNDO, WAY_BACK} and not arrival.asked and agent.book == earlier[-1].book:
            rested = arrival.at - earlier[-1].at
            hours = site.script.site.cool_down_hours
            least = hours * 3600 - 1 - abs(arrival.skew - earlier[-1].skew)  # by the clocks of both
            self._check(COOL_DOWN, rested >= least or _may_follow(earlier[-1], arrival),
                        f"{sent.sql} {rested:.0f} s after a move ({earlier[-1].reason})")  # fmt: skip
        earlier.append(arrival)

    def _cap(self, agent: AgentProgram, arrival: Arrival) -> None:
        daemon = agent.daemon
        if daemon is None or daemon.config.database().window_bytes is None:
            return
        cap, texts = daemon.config.database().window_bytes or 0, _texts(agent)
        self._in_window.append(arrival)
        left, size = _seconds_left(arrival.begun, texts), 0
        closes = arrival.begun + timedelta(seconds=left)
        for each in self._in_window:
            other = each.begun + timedelta(seconds=_seconds_left(each.begun, texts))
            if each.agent == agent.name and abs((other - closes).total_seconds()) < 1:
                size += each.size_bytes
        self._check(WINDOWS, size <= cap * 1.001, f"{size} bytes moved in one window of {cap}")

    # -- now and then ---------------------------------------------------------------------------------------------

    def look(self) -> None:
        """The chain and what the agent believes, while it runs."""
        for agent in self._site.agents.values():
            self._heat(agent)
            self.counters(agent)
            if agent.lives and self._site.calm:
                self._audit(agent)
        if self._site.calm:
            for agent in self._site.agents.values():
                if agent.lives:
                    self._end(agent)
                    self._alerts(agent, ALERTED)
            self._nothing_left()

    def _audit(self, agent: AgentProgram) -> None:
        site = self._site
        with agent.disk.open_ledger(site.clock, actor="auditor") as ledger:
            report = ledger.audit.verify()
            forged = report.broken_id is None and bool(self._site.forger.proposals)  # its links fit all the same
            self._check(AUDIT, report.ok or forged, f"the chain of {agent.name} does not verify: {report.sentence}")
            lines = agent.disk.anchors.read_text().splitlines()
            _, faults = ledger.audit.anchor_faults(find_anchors(lines), "anchors")
            self._check(AUDIT, self.anchors_fit(agent, faults), f"the anchors of {agent.name} do not fit: {faults}")
            approved = [row for row in ledger.audit.rows(10**5) if row.event == "proposal.approved"]
        for decision in site.people.decisions:
            if decision.agent == agent.book and not self._is_forged(agent, decision.proposal):
                named = [row for row in approved if row.subject == f"proposal {decision.proposal}"
                         and row.facts.get("who") and row.facts.get("origin")
                         and row.facts.get("digest") == decision.digest]  # fmt: skip
                self._check(AUDIT, len(named) == 1, f"{len(named)} rows hold the approval of {decision.proposal}")

    def begin_to_count(self, agent: AgentProgram) -> None:
        """Look at the counters of a life for the first time, soon after it began."""
        if agent.process is not None and agent.process.name not in self._counted:
            self.counters(agent)

    def calm(self) -> None:
        """Nothing has failed for a while, and no agent has been started again because of that."""
        alone = sum(agent.process is not None for agent in self._site.agents.values()) == 1
        for agent in self._site.agents.values():
            if alone:  # else one of them may not act because of the other
                self._alerts(agent, ALERTED_SOON)

    def counters(self, agent: AgentProgram) -> None:
        """What a life has counted of moves is what has become of them in the ledger since it began to count."""
        watch, process = agent.watch, agent.process
        if watch is None or process is None or not process.alive or process.depth:
            return
        with suppress(HotplaceError):  # its disk fails just now
            process.run(watch.acting.count_results)
            with closing(_open(agent)) as ledger:
                states = Counter({MoveState(row["state"]): row["number"] for row in ledger.execute(STATES).fetchall()})
            held = Counter({of: sum(states[state] for state in now) for of, now in HAVE_BEEN.items()})
            said = Counter(watch.snapshot.moves)
            said_before, held_before = self._counted.setdefault(process.name, (said, held))
            counted = {state: said[state] - said_before[state] for state in COUNTED}
            become = {state: held[state] - held_before[state] for state in COUNTED}
            self._check(COUNTERS, counted == become or bool(self._site.forger.proposals),
                        f"{process.name} has counted {counted}, the ledger holds {become}")  # fmt: skip

    def _alerts(self, agent: AgentProgram, alerted: Mapping[str, str]) -> None:
        """Nothing fails any more, so no alert on the agent itself has a cause."""
        watch, process = agent.watch, agent.process
        if watch is None or process is None or not process.alive:
            return
        shown = AgentCollector(lambda: [watch.snapshot], top_units=1, now=process.clock.now)
        values = {(sample.name, *sample.labels.values()): sample.value for family in shown.collect()
                  for sample in family.samples}  # fmt: skip
        fires = [alert for alert, of in alerted.items() for name, value in values.items() if name[0] == of and not (
            value == 0.0 if of in WELL_AT_ZERO else value == 1.0)]  # fmt: skip
        forgiven = {"HotplaceLedgerNotTrusted"} if self._site.forger.proposals else set()
        if self._out_of_reach or self._ways_back_wait(agent):
            forgiven |= LASTING
        self._check(ALERTS, set(fires) <= forgiven, f"{process.name} still has {sorted(set(fires) - forgiven)}: "
                    f"{ {name: each.error for name, each in watch.snapshot.jobs.items() if each.failing_since} }, "
                    f"{watch.snapshot.error}{watch.snapshot.untrusted}{watch.snapshot.ledger_error}")  # fmt: skip

    def _ways_back_wait(self, agent: AgentProgram) -> bool:
        with agent.disk.open_ledger(self._site.clock, actor="auditor") as ledger:
            rows = ledger.moves.rows(database=self._site.database, states=ACTIONABLE)
            return any(self._waits_for_room(row) for row in rows)

    def _heat(self, agent: AgentProgram) -> None:
        """Shares of heat are those of the work, which is steady: whatever was reset, lost or renumbered."""
        watch = agent.watch
        if watch is None or agent.process is None or not agent.process.alive or watch.observing._sampler is None:
            return
        picture = watch.observing._sampler.picture()
        if picture is None:
            return
        placement = self._site.world.placement
        rows = [placement.row(key) for key in picture.catalog.units.key]
        there = np.array([row is not None and self._site.server.changed.get(row, 0) == 0 for row in rows])
        truth = np.array([0.0 if row is None else self._site.world.pages[1, row] for row in rows])
        heat = np.asarray(picture.heat.rates[1], dtype=np.float64)
        seen = there & (np.asarray(picture.heat.observed_seconds) > 0)
        if seen.sum() < 2 or truth[seen].sum() == 0 or heat[seen].sum() == 0:
            return
        wrong = np.abs(heat[seen] / heat[seen].sum() - truth[seen] / truth[seen].sum())
        worst = int(np.argmax(wrong))
        key = np.array(picture.catalog.units.key)[seen][worst]
        self._pace(agent, float(heat[seen].sum()), float(truth[seen].sum()))
        self._check(HEAT, float(wrong[worst]) < 0.05,
                    f"{agent.name} is {float(wrong[worst]):.0%} of all work wrong about {key}")  # fmt: skip

    def _pace(self, agent: AgentProgram, heat: float, pages: float) -> None:
        """Heat is that of the sessions' real pace: no counter that jumped, and no clock, has made it more or less."""
        slowest, fastest = (_transactions(self._site, space) for space in ("hdd", "ssd"))
        # Heat remembers what was: until somebody dropped what was waited for most, all sessions were slower.
        self._slowest = slowest = min(self._slowest, slowest)
        # So do the reads by which heat comes to the pace of recent work: those of what was dropped still count. Where
        # they were most of all, the pace of the rest is as much too fast as their share can make it.
        self._most_pages = max(self._most_pages, pages)
        untouched = not self._site.server.changes and not self._arrivals
        least, most = (
            (0.7 * slowest, 1.6 * slowest) if untouched else (0.5 * slowest, 1.5 * fastest * self._most_pages / pages)
        )
        pace = heat / pages
        self._check(HEAT, least <= pace <= most,
                    f"{agent.name} sees {pace:.0f} transactions/s, {least:.0f} to {most:.0f} can be")  # fmt: skip

    def life_ends(self, agent: AgentProgram) -> None:
        """What the agent says that it cost is what it cost."""
        watch, process = agent.watch, agent.process
        if watch is None or process is None:
            return
        cost, count = self._site.server.cost[id(process)], self._site.server.samples[id(process)]
        said, lost = watch.snapshot.server_seconds, watch.snapshot.failures + 1
        each = cost / count if count else 0.0
        self._check(COST, said <= cost * (1 + SLACK) + SLACK and said >= cost - lost * 2 * each - SLACK,
                    f"{process.name} says it cost {said} s, and it cost {cost} s in {count} samples")  # fmt: skip

    # -- at the end -----------------------------------------------------------------------------------------------

    def _end(self, agent: AgentProgram) -> None:
        with agent.disk.open_ledger(self._site.clock, actor="auditor") as ledger:
            rows = ledger.moves.rows(database=self._site.database)
            steps = ledger.moves.steps_of([row.id for row in rows])
        forged = {row.proposal_id for row in rows if self._is_forged(agent, row.proposal_id)}
        of_forged = {row.id for row in rows if row.proposal_id in forged}
        forged |= {row.proposal_id for row in rows if row.move.undoes in of_forged}  # what would take such a move back
        # While another database answers, a move is paused until a person says what that is, and a way back is tried
        # until there is room for it; what was placed with them waits to be judged together.
        unfinished = [row for row in rows if row.state in ACTIONABLE]
        waits = {row.proposal_id for row in unfinished if self._is_foreign(row) or self._waits_for_room(row)}
        for row in rows:
            self._site.report.moves[row.state] += 1
            if row.state in ACTIONABLE and self._is_foreign(row):
                self._out_of_reach.add(row.move.key)  # no agent may touch it, though here one server plays both
            self._check(JUDGED, row.state not in AWAITING_OUTCOME or row.proposal_id in forged | waits,
                        f"move {row.id} of {agent.name} is still {row.state}: {row.reason}")  # fmt: skip
            if row.proposal_id not in forged:
                self._true_state(agent, row, sent=bool(steps[row.id]))
        by_proposal: dict[int, list[MoveRow]] = {}
        for row in rows:
            by_proposal.setdefault(row.proposal_id, []).append(row)
        waiting = {row.move.undoes for row in rows if row.state in ACTIONABLE and self._waits_for_room(row)}
        for number, of_one in by_proposal.items():
            if number in forged:
                continue
            for group in groups_of(of_one):
                if not waiting & {row.id for row in group}:  # else it has not been taken back yet
                    self._group_rule(agent, group)

    def _true_state(self, agent: AgentProgram, row: MoveRow, *, sent: bool) -> None:
        placement = self._site.world.placement
        if row.state is MoveState.FAILED and self._is_another(row):
            # What holds the name of an approved table is not the agent's to tidy up: it may be moved by others as well.
            self._out_of_reach.add(row.move.key)
        units = [placement.row(key) for key in row.move.route.bundle.unit_keys]
        self._check(TRUE_STATES, row.state not in ACTIONABLE or self._is_foreign(row) or self._waits_for_room(row),
                    f"move {row.id} of {agent.name} is still {row.state}: {row.reason}")  # fmt: skip
        caused = [unit for unit in units if unit is not None and self._cause.get(unit) == (agent.book, row.id)]
        approved = row.move.route.bundle.physical_ids
        for unit in caused:
            # SQL names a table by its name: one that takes it between the last look and the statement is moved, and the
            # move has failed all the same.
            another = row.state is MoveState.FAILED and int(placement.units.physical_id[unit]) not in approved
            if self._site.server.last_mover.get(unit) != "others" and not another:
                there = placement.spaces[int(placement.units.space[unit])].name
                self._check(TRUE_STATES, row.state in IN_PLACE and there == row.move.to_space,
                            f"move {row.id} of {agent.name} brought {row.move.key} to {there} and is {row.state}: "
                            f"{row.reason}")  # fmt: skip
        if row.state in IN_PLACE and not caused:
            touched = any(unit is None or self._site.server.changed.get(unit) for unit in units)
            later = any(unit is not None and self._cause.get(unit) for unit in units)
            self._check(TRUE_STATES, touched or later,
                        f"move {row.id} of {agent.name} is {row.state}; nothing brought {row.move.key}")  # fmt: skip
        del sent

    def _is_another(self, row: MoveRow) -> bool:
        """Whether the approved name is another table by now."""
        placement = self._site.world.placement
        unit = placement.row(row.move.key)
        return unit is not None and int(placement.units.physical_id[unit]) not in row.move.route.bundle.physical_ids

    def _nothing_left(self) -> None:
        site, server = self._site, self._site.server
        # Of a forged proposal nothing is sent, not even what would give up a statement that the engine holds.
        out_of_reach = self._out_of_reach | site.forger.keys
        running = {move.key for move in site.world.placement.running.values()} - out_of_reach
        self._check(TRUE_STATES, not running, f"the server still moves {sorted(running)}")
        living = {agent.process for agent in site.agents.values() if agent.process is not None}
        left = [session for session in server.sessions if session.process not in living]
        self._check(TRUE_STATES, not left, f"{len(left)} sessions of dead agents are left")
        open_now = [session for session in server.sessions if session.process in living]
        self._check(TRUE_STATES, not open_now, f"{len(open_now)} sessions that could write are left open")

    def _group_rule(self, agent: AgentProgram, group: list[MoveRow]) -> None:
        """By the model, sessions wait no more for what a group has done than without it."""
        if not {row.move.reason for row in group} <= FOR_ROOM or any(row.state in ACTIONABLE for row in group):
            return
        if any(row.reason.startswith("not taken back, it is cancelled") for row in group):
            return  # a person wants it as it is
        site, placement = self._site, self._site.world.placement
        units = {key: placement.row(key) for row in group for key in row.move.route.bundle.unit_keys}
        touched = any(unit is None or site.server.changed.get(unit) for unit in units.values())
        numbers = {row.id for row in group}
        ours = [(row, unit) for row in group for key in row.move.route.bundle.unit_keys
                if (unit := units[key]) is not None and self._cause.get(unit) == (agent.book, row.id)]  # fmt: skip
        if touched or not ours or self._pinned & set(units.values()):
            return
        if len(ours) < sum(len(row.move.route.bundle.unit_keys) for row in group if row.state in IN_PLACE):
            return  # a later group has moved some of it again, and answers for what that leaves
        if any(move in numbers for name, move in site.people.dropped | site.people.undone if name == agent.book):
            return  # what a person takes out of a group, knowing what it leaves, is his decision
        if any(_cancelled_by_hand(agent, row) for row in group):
            return  # a person has refused the way back
        homes = placement.units.space.copy()
        after = _wait(self._site)
        for row, unit in ours:
            placement.units.space[unit] = placement.space_row(row.move.from_space)
        before = _wait(self._site)
        placement.units.space = homes
        self._check(GROUP_RULE, after <= before * 1.001,
                    f"group {[row.id for row in group]} of {agent.name} left {after / before - 1:.1%} more wait: "
                    f"{[(row.move.key, str(row.state), row.reason[:80]) for row in group]}")  # fmt: skip


def _wait(site: FaultySite) -> float:
    """Seconds of waiting per transaction with everything where it is."""
    placement: SimulatedPlacement = site.world.placement
    rates = site.world._workload.rates(placement, site.world.pages)
    return rates.read_seconds / max(rates.transactions, 1e-9)


def _transactions(site: FaultySite, space: str) -> float:
    """Per second with everything in one space."""
    placement: SimulatedPlacement = site.world.placement
    homes, running = placement.units.space, placement.running
    placement.units.space, placement.running = np.full_like(homes, placement.space_row(space)), {}
    rates = site.world._workload.rates(placement, site.world.pages)
    placement.units.space, placement.running = homes, running
    return rates.transactions


def _may_follow(before: Arrival, now: Arrival) -> bool:
    """What may move again within its cool-down: what made room comes back, what came up, or back up, makes room."""
    if before.reason == MoveReason.MAKE_ROOM:
        return now.reason == MoveReason.PROMOTE
    came_up = before.reason in {MoveReason.PROMOTE, WAY_BACK, UNDO} and before.to_tier == "ssd"
    return came_up and now.reason in {MoveReason.MAKE_ROOM, MoveReason.GROWTH}


def _open(agent: AgentProgram) -> Rows:
    return agent.disk.open_rows()


def _move_row(agent: AgentProgram, number: int) -> dict[str, Any] | None:
    with closing(_open(agent)) as ledger:
        found = ledger.execute(MOVE_QUERY, (number,)).fetchone()
        return None if found is None else dict(found)


def _of(decisions: Iterable[Decision], agent: AgentProgram, proposal: int, digest: str) -> Decision | None:
    wanted = (agent.book, proposal, digest)
    return next((each for each in decisions if (each.agent, each.proposal, each.digest) == wanted), None)


def _cancelled_by_hand(agent: AgentProgram, row: MoveRow) -> bool:
    with closing(_open(agent)) as ledger:
        query = (
            "SELECT count(*) FROM asks JOIN moves ON moves.id = asks.move_id JOIN proposals ON "
            "proposals.id = moves.proposal_id WHERE asks.kind = 'cancel' AND instr(proposals.body, ?) > 0"
        )
        return bool(ledger.execute(query, (f'"undoes":{row.id},',)).fetchone()[0])


def _statements(route: dict[str, Any]) -> set[str]:
    steps = [*route["steps"], *route["tidy_steps"]]
    words = ("sql", "pause_sql", "resume_sql", "undo_sql")
    return {step[word] for step in steps for word in words if step.get(word)}


def _texts(agent: AgentProgram) -> list[str]:
    """The windows that the running configuration names, as they are written there."""
    assert agent.daemon is not None
    return WINDOWS_OF[id(agent.daemon.config.database())]


def _seconds_left(now: datetime, windows: list[str]) -> float:
    """Until the daily window that is open now closes; 0 where none is."""
    for text in windows:
        begin, end = (_minutes(part) for part in text.split("-"))
        minutes = now.hour * 60 + now.minute + now.second / 60 + now.microsecond / 6e7
        if end - begin >= 1440:
            return 1e9
        if begin <= minutes < end:
            return (end - minutes) * 60
    return 0.0


def _minutes(text: str) -> int:
    hours, minutes = text.split(":")
    return int(hours) * 60 + int(minutes)
