"""What must hold of several agents over one ledger, besides what holds of each: ``tests.fault_simulation.oracles``."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import closing
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from agent.ledger.store.schema import instant
from agent.model.states import MoveState
from tests.fault_simulation.agent_program import AgentProgram
from tests.fault_simulation.automatic import BEGAN
from tests.fault_simulation.disk import Rows
from tests.fault_simulation.fleet.measured import Measured
from tests.fault_simulation.oracles import ONE_AGENT, QUERY, Oracles
from tests.fault_simulation.server import Sent

if TYPE_CHECKING:
    from tests.fault_simulation.fleet.site import DatabaseSite, Fleet

ONCE = "once: every statement and every interval"
WAVES = "waves: none after one that hurt"
FLEET_ORACLES = (ONCE, WAVES)
LEASE = "SELECT token, session FROM leases WHERE database = ?"
INTENDED = QUERY.replace("steps.sql = ? AND ", "").replace("ORDER BY steps.id DESC LIMIT 1", "")
APPROVALS = "SELECT subject, facts FROM audit WHERE event = 'proposal.approved'"
LISTS = "SELECT facts FROM audit WHERE event = 'list.approved' AND id = ?"
MOVES = "SELECT ordinal, state FROM moves WHERE proposal_id = ?"
VERDICTS = "SELECT facts FROM audit WHERE event = 'outcome.recorded' AND id < ? ORDER BY id"
WORK = "SELECT ended_at, seconds FROM work WHERE database = ?"
HISTORY = """
SELECT count(*) FROM (SELECT 1 FROM history WHERE database = ? GROUP BY started_at, ended_at, resolution_seconds
                      HAVING count(*) > 1) AS twice
"""
SLACK = 1.0  # seconds by which intervals may overlap: clocks are read apart from counters


class OraclesOfDatabase(Oracles):
    """Those of one database, whose agents have one book."""

    def __init__(self, site: DatabaseSite, lost: dict[str, dict[str, Any]]) -> None:
        super().__init__(site)
        self._database = site
        self._lost = lost  # intents that the ledger lacks since it failed over, by statement
        self.arrived: Counter[int] = Counter()  # statements by the step that is their intent

    def counters(self, agent: AgentProgram) -> None:
        """Not of one agent alone: what another one has brought about before this one took over is that one's."""

    def statement(self, sent: Sent) -> None:
        """A statement has reached the server."""
        super().statement(sent)
        if not sent.numbers:
            return
        agent, step = self._agent(sent.process), sent.numbers["step"]
        self.arrived[step] += 1
        self._check(ONCE, self.arrived[step] == 1, f"{sent.process.name} sent {sent.sql} of step {step} once more")
        with closing(agent.disk.open_rows()) as ledger:
            self._newest_lease(agent, sent, ledger)
            if self._begins(ledger, sent):
                why = _not_in_turn(ledger, sent.numbers["proposal"], sent.numbers["move"])
                self._check(WAVES, not why, f"{sent.sql} began although {why}")

    def _newest_lease(self, agent: AgentProgram, sent: Sent, ledger: Rows) -> None:
        """It was sent under the newest token; a ledger that fell back may have forgotten that one."""
        assert agent.ledger is not None
        row = ledger.execute(LEASE, (self._database.database,)).fetchone()
        own, leases = agent.ledger.leases._tokens.get(self._database.database, 0), agent.ledger.leases
        newest = row is not None and (row["token"] < own or (row["token"], row["session"]) == (own, leases.session))
        self._check(ONE_AGENT, newest, f"{sent.process.name} sent {sent.sql} under lease {own}, the newest is {row}")

    def _begins(self, ledger: Rows, sent: Sent) -> bool:
        """Whether it is the first statement of a group of a list; what follows completes what was begun."""
        if not _goes_before(ledger, sent.numbers["proposal"]):
            return False
        moves = {move["ordinal"]: move.get("group") for move in json.loads(sent.numbers["body"])["moves"]}
        own, group = sent.numbers["of_proposal"], moves[sent.numbers["of_proposal"]]
        rows = ledger.execute(MOVES, (sent.numbers["proposal"],)).fetchall()
        of_group = [row for row in rows if group is not None and moves[row["ordinal"]] == group]
        return self._started.get((self._database.main.book, sent.numbers["move"])) == sent.at and all(
            row["ordinal"] == own or row["state"] in {MoveState.APPROVED, MoveState.PRECHECK} for row in of_group
        )

    def intent(self, agent: AgentProgram, sql: str) -> dict[str, Any] | None:
        """The row of it in the ledger; where that fell back meanwhile, the row that it had."""
        found = super().intent(agent, sql)
        return found or self._lost.get(sql)

    def anchors_fit(self, agent: AgentProgram, faults: list[str]) -> bool:
        """Of a ledger that fell back some speak of rows that are gone."""
        return bool(self._database.fleet.shared.fell_back) or super().anchors_fit(agent, faults)

    def look_at_samples(self) -> None:
        """No interval is in two of the server's hours, by whichever agents, and none twice in one."""
        site = self._database
        with closing(site.main.disk.open_rows()) as ledger:
            twice = ledger.execute(HISTORY, (site.database,)).fetchone()[0]
            rows = ledger.execute(WORK, (site.database,)).fetchall()
        self._check(ONCE, not twice, f"{twice} hours of history were stored twice")
        found: list[Measured] = []
        for row in rows:
            ended, seconds = instant(row["ended_at"]), row["seconds"]
            parts = site.fleet.parts_of(site.database, ended)
            known = sum(each.seconds for each in parts)
            self._check(ONCE, bool(parts) and seconds <= known + SLACK,
                        f"the hour that ended at {ended} has {seconds:.0f} s of {known:.0f} s measured")  # fmt: skip
            # Where the agent had dropped a part of it, nothing says which: the last is in it.
            found += parts if abs(known - seconds) < SLACK else parts[-1:]
        found.sort(key=lambda each: each.at)
        over = [each for before, each in pairwise(found) if each.at - each.seconds < before.at - SLACK]
        self._check(ONCE, not over, f"intervals of {site.database} overlap others: {over[:2]}")

    def forget_after(self, last_step: int, last_move: int) -> None:
        """The ledger gives those numbers once more."""
        self.arrived = Counter({step: count for step, count in self.arrived.items() if step <= last_step})
        book, people = self._database.main.book, self._database.people
        self._started = {key: at for key, at in self._started.items() if key[1] <= last_move}
        for known in (people.undone, people.dropped):
            known -= {key for key in known if key[1] > last_move}
        for row, cause in self._cause.items():
            if isinstance(cause, tuple) and cause[0] == book and cause[1] > last_move:
                self._database.server.note_change(row)
                self._database.server.last_mover[row] = "others"
                self._cause[row] = "others"


class FleetOracles:
    """All of one run."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._lost: dict[str, dict[str, Any]] = {}
        self._intended: dict[str, dict[str, Any]] = {}
        self._sites = [OraclesOfDatabase(site, self._lost) for site in fleet.sites]
        fleet.shared.before_failover, fleet.shared.after_failover = self._before, self._after
        fleet.look_last = self._look_last

    def _before(self) -> None:
        """Remember what the ledger holds that its copy may lack."""
        rows = self._fleet.shared.rows()
        self._intended = {row["sql"]: dict(row) for row in rows.execute(INTENDED).fetchall()}

    def _after(self) -> None:
        """What was decided since the copy was made was never decided; what was sent since was sent."""
        rows = self._fleet.shared.rows()
        there = {row["step"] for row in rows.execute(INTENDED).fetchall()}
        self._lost |= {sql: row for sql, row in self._intended.items() if row["step"] not in there}
        step, move = (rows.execute(f"SELECT coalesce(max(id), 0) FROM {table}").fetchone()[0]
                      for table in ("steps", "moves"))  # fmt: skip
        approved = {(row["subject"], json.loads(row["facts"])["digest"]) for row in rows.execute(APPROVALS).fetchall()}
        for oracles, site in zip(self._sites, self._fleet.sites, strict=True):
            oracles.forget_after(step, move)
            people = site.people
            people.decisions[:] = [
                each for each in people.decisions if (f"proposal {each.proposal}", each.digest) in approved
            ]

    def _look_last(self) -> None:
        for oracles in self._sites:
            oracles.look_at_samples()


def _not_in_turn(ledger: Rows, proposal: int, move: int) -> str:
    """Why a proposal of a list could not begin when it did; "" where it could."""
    began = ledger.execute(BEGAN, (f"move {move}",)).fetchone()[0]
    measured = [json.loads(row["facts"]) for row in ledger.execute(VERDICTS, (began,)).fetchall()]
    verdicts = {each["proposal"]: str(each["verdict"]) for each in measured}
    for before in _goes_before(ledger, proposal):
        verdict = verdicts.get(before, "")
        if not verdict or verdict.startswith("hurt"):
            return f"proposal {before}, which goes before it, {verdict or 'was not measured'}"
    return ""


def _goes_before(ledger: Rows, proposal: int) -> set[int]:
    """By the list under which it was approved last."""
    found: set[int] = set()
    for row in ledger.execute(APPROVALS).fetchall():
        facts = json.loads(row["facts"])
        if row["subject"] == f"proposal {proposal}" and "list_row" in facts:
            listed = ledger.execute(LISTS, (facts["list_row"],)).fetchone()
            members = json.loads(listed["facts"])["members"]
            own = next(each["wave"] for each in members if each["proposal"] == proposal)
            found = {each["proposal"] for each in members if each["wave"] < own}
    return found
