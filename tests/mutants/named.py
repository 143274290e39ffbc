"""Mistakes with a name: each would break a promise, and survived the tests once."""

from __future__ import annotations

from dataclasses import dataclass

from tests.mutants.drawing import ROOT


@dataclass(frozen=True, slots=True)
class Named:
    """One mistake as a change of text."""

    what: str
    path: str
    right: str  # stands in the module once
    wrong: str
    tests: tuple[str, ...]  # one of which notices it
    limit_seconds: float = 120.0

    def text(self) -> str:
        """Of the module with the mistake.

        Raises:
            LookupError: the module has changed, and this mistake with it.
        """
        text = (ROOT / self.path).read_text(encoding="utf-8")
        if text.count(self.right) != 1:
            raise LookupError(f"{self.what}: {self.right!r} does not stand in {self.path} exactly once")
        return text.replace(self.right, self.wrong)


EXECUTION, LEDGER, SERVICE = "agent/execution", "agent/ledger", "agent/service"
PROMISES, LEASE = "tests/simulation/test_promises.py", "tests/simulation/test_lease.py"
RULES, AUDIT = "tests/unit/agent/execution/test_transition_rules.py", "tests/ledger/test_audit.py"
ON_DISK = "tests/ledger/test_crash.py::test_what_is_decided_or_sent_is_on_the_disk_first"
NAMED = (
    Named(
        "the cool-down is ignored (promise 7)", "agent/planning/situation.py",
        "cooling_seconds=cooling,", "cooling_seconds=np.zeros(len(units)),",
        (f"{PROMISES}::test_what_should_go_back_waits_for_its_cool_down",),
    ),
    Named(
        "what failed does not rest", "agent/planning/situation.py",
        "cooling_seconds=np.maximum(situation.cooling_seconds, resting)", "cooling_seconds=situation.cooling_seconds",
        ("tests/simulation/test_crash.py::test_what_could_not_be_moved_is_not_proposed_again_at_once",),
    ),
    Named(
        "what the agent costs is not counted (promise 11)", f"{SERVICE}/watch.py",
        "cycle.server_seconds + self._read_statements()", "self._read_statements()",
        (f"{PROMISES}::test_what_the_agent_costs_the_server_is_counted",),
    ),
    Named(
        "a link of the audit chain is not compared (promise 9)", f"{LEDGER}/chain/links.py",
        "if row.previous != self.hash:", "if False:",
        ("tests/ledger/test_trust.py::test_a_row_with_a_hash_of_its_own_does_not_fit",),
    ),
    Named(
        "a row of the audit chain is not compared with its hash (promise 9)", f"{LEDGER}/chain/links.py",
        "if row.hash != link_hash(row._asdict()):", "if False:", (f"{AUDIT}::test_a_changed_row_is_named",),
    ),
    Named(
        "a way back does not ask for the chain of what it takes back (promise 1)", f"{LEDGER}/chain/trust.py",
        "return self._chain_fault(reading, done) or _move_fault(reading, done)", "return _move_fault(reading, done)",
        ("tests/ledger/test_signed.py::test_the_way_back_of_a_group_rests_on_the_chain_of_its_approval",),
    ),
    Named(
        "a lease on PostgreSQL is always held (promise 10)", "connectors/postgresql/moving/lease.py",
        "return any(ours for _, _, _, ours in rows)", "return True",
        ("tests/labs/test_lease_and_doctor.py::test_a_session_without_the_lock_holds_nothing",),
    ),
    Named(
        "act() takes no lease (promise 10)", f"{SERVICE}/watch.py",
        "        self.hold_lease()\n        for proposal_id", "        for proposal_id",
        (f"{LEASE}::test_without_the_lease_nothing_begins",),
    ),
    Named(
        "a statement is sent without the lease (promise 10)", f"{EXECUTION}/attempt.py",
        "        self._hold_lease()\n        # The intent is committed", "        # The intent is committed",
        (f"{LEASE}::test_without_the_lease_nothing_is_held",),
    ),
    Named(
        "a move is settled whatever the catalog says (promise 3)", f"{EXECUTION}/transition_rules.py",
        "if inspection.home is not Home.TARGET or inspection.on_disk is False:", "if inspection.on_disk is False:",
        (RULES,),
    ),
    Named(
        "a move is settled whatever the disk says (promise 3)", f"{EXECUTION}/transition_rules.py",
        "if inspection.home is not Home.TARGET or inspection.on_disk is False:",
        "if inspection.home is not Home.TARGET:", (RULES,),
    ),
    Named(
        "the ledger is not synchronised (promise 3)", f"{LEDGER}/file/database.py",
        "PRAGMA synchronous={level}", "PRAGMA synchronous=OFF", (ON_DISK,),
    ),
    Named(
        "an intent is written like a sample (promise 3)", f"{LEDGER}/file/database.py",
        '"FULL" if durable else "NORMAL"', '"NORMAL"', (ON_DISK,),
    ),
    Named(
        "a move goes on at any database (promise 1)", f"{EXECUTION}/attempt.py",
        "if connector.identify().fingerprint != row.fingerprint:", "if False:",
        ("tests/simulation/test_pausing.py::test_what_is_held_gets_nothing_from_another_database",),
    ),
)  # fmt: skip
