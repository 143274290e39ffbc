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


EXECUTION, LEDGER, SERVICE, CHAIN = "agent/moving", "agent/ledger", "agent/service", "agent/ledger/chain"
PROMISES, LEASE = "tests/simulation/test_promises.py", "tests/simulation/test_lease.py"
RULES, AUDIT = "tests/unit/agent/execution/test_transition_rules.py", "tests/ledger/test_audit.py"
OF_RULES = "tests/ledger/test_rules.py"
FORGED, JUDGE = "tests/ledger/test_forged.py", "tests/ledger/test_judge.py"
WAY_BACK = f"{FORGED}::test_a_way_back_is_what_the_approval_of_its_group_has_shown"
SPOILED = f"{JUDGE}::test_a_row_that_no_honest_writer_writes_spoils_its_proposal"
CURRENT = f"{JUDGE}::test_a_signature_counts_over_the_proposal_as_it_is"
STANDING = "tests/unit/agent/model/test_standing_rules.py::test_beyond_a_limit_it_is_not"
NOT_ROOTS = "tests/unit/agent/keys/test_signers.py::test_a_file_that_is_not_roots_proves_nothing"
GROWTH = "tests/unit/policies/demand/test_growth.py"
ON_DISK = "tests/ledger/test_crash.py::test_what_is_decided_or_sent_is_on_the_disk_first"
NEW_SPACE = "tests/cli/storage/test_new_space.py"
NAMED = (
    Named(
        "the cool-down is ignored (promise 7)", "agent/planning/situation.py",
        "cooling_seconds=cooling,", "cooling_seconds=np.zeros(len(units)),",
        (f"{PROMISES}::test_what_should_go_back_waits_for_its_cool_down",),
    ),
    Named(
        "what failed does not rest", "agent/planning/situation.py",
        "cooling_seconds=np.maximum(situation.cooling_seconds, resting)", "cooling_seconds=situation.cooling_seconds",
        ("tests/simulation/test_crash.py::test_a_move_that_never_ends_is_not_begun_for_ever",),
    ),
    Named(
        "what the agent costs is not counted (promise 11)", f"{SERVICE}/observing.py",
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
        "a way back does not ask for the chain of what it takes back (promise 1)", f"{CHAIN}/trust.py",
        "            or self._chain_fault(reading, done, now)\n", "",
        ("tests/ledger/test_signed.py::test_the_way_back_of_a_group_rests_on_the_chain_of_its_approval",),
    ),
    Named(
        "a move begins before those of its group that come before it (promise 8)", f"{CHAIN}/judge.py",
        "if dropped is None and earlier:", "if False:",
        (f"{FORGED}::test_a_move_waits_for_those_of_its_group_that_come_before_it",),
    ),
    Named(
        "what the engine holds for a sound move is a forged one's (promise 3)", f"{EXECUTION}/executor.py",
        "and sound.isdisjoint(row.move.route.bundle.unit_keys)", "and True",
        ("tests/fault_simulation/test_seeds.py::test_a_forger_writes_while_facts_are_read",),
    ),
    Named(
        "a move that somebody ended while its facts were read ends the agent (promise 3)", f"{EXECUTION}/executor.py",
        "if not ended or ended[-1].state", "if ended[-1].state",
        ("tests/fault_simulation/test_seeds.py::test_a_forger_writes_while_facts_are_read",),
    ),
    Named(
        "a way back does not ask whether the move that it takes back is believed (promise 12)", f"{CHAIN}/trust.py",
        "            or move_fault(now, done)\n", "",
        (f"{FORGED}::test_a_way_back_rests_on_what_is_believed_of_the_move_before",),
    ),
    Named(
        "a way back does not ask who approved its group (promise 1)", f"{CHAIN}/trust.py",
        "            or self._decision_fault(reading, done, now)\n", "",
        ("tests/ledger/test_signed.py::test_the_way_back_of_a_group_rests_on_its_signature",),
    ),
    Named(
        "a way back needs no approval that showed it (promise 1)", f"{CHAIN}/judge.py",
        "if done is None or not done.move.goes_back:", "if done is None:",
        (f"{FORGED}::test_what_was_not_shown_to_go_back_stays",),
    ),
    Named(
        "what has failed goes back too (promise 12)", f"{CHAIN}/judge.py",
        "row.id == done.id and row.state in IN_PLACE", "row.id == done.id",
        (f"{FORGED}::test_what_never_arrived_does_not_go_back",),
    ),
    Named(
        "a way back goes on in another database (promise 1)", f"{CHAIN}/judge.py",
        "if where != (done.database, done.fingerprint):", "if False:",
        (f"{FORGED}::test_a_way_back_stays_in_the_database_of_its_group",),
    ),
    Named(
        "what went back goes back again (promise 12)", f"{CHAIN}/judge.py",
        "    if done.state not in IN_PLACE:\n", "    if False:\n",
        (f"{FORGED}::test_what_went_back_does_not_go_back_again",),
    ),
    Named(
        "windows that are none stop all moves (promise 14)", f"{CHAIN}/judge.py",
        '            _check_windows(Conditions.from_facts(event.facts.get("conditions", {})))\n', "",
        (f"{FORGED}::test_windows_that_are_none_spoil_their_own_approval",),
    ),
    Named(
        "who asked names another in SUDO_USER (promise 1)", "agent/model/signatures.py",
        "return names_of_asker(account) | {canonical_name", "return frozenset() | {canonical_name",
        (f"{FORGED}::test_who_asked_does_not_count_however_the_name_is_spelt",),
    ),
    Named(
        "a way back tidies up by statements that nobody approved (promise 1)", f"{CHAIN}/judge.py",
        "(now.steps, now.tidy_steps, now.prologue) != (shown.undo_steps, shown.tidy_steps, shown.prologue)",
        "(now.steps, now.prologue) != (shown.undo_steps, shown.prologue)", (WAY_BACK,),
    ),
    Named(
        "a way back begins with settings that nobody approved (promise 1)", f"{CHAIN}/judge.py",
        "if now.patient_prologue != shown.patient_prologue:", "if False:", (WAY_BACK,),
    ),
    Named(
        "a way back leads from anywhere (promise 1)", f"{CHAIN}/judge.py",
        "(move.key, move.from_space, move.to_space) != (done.move.key, done.move.to_space, done.move.from_space)",
        "(move.key, move.to_space) != (done.move.key, done.move.from_space)", (WAY_BACK,),
    ),
    Named(
        "the digest with which a proposal was stored is not compared (promise 1)", f"{CHAIN}/judge.py",
        "in ((STORED, story.digest), (APPROVED, approved)):", "in ((APPROVED, approved),):",
        (f"{JUDGE}::test_chain_and_tables_agree_about_a_move",),
    ),
    Named(
        "an approval names another digest than was stored (promise 1)", f"{CHAIN}/judge.py",
        'if story.digest and event.facts.get("digest", story.digest) != story.digest:', "if False:", (SPOILED,),
    ),
    Named(
        "a move changes its state under another digest (promise 12)", f"{CHAIN}/judge.py",
        'if story.digest and event.facts["digest"] != story.digest:', "if False:", (SPOILED,),
    ),
    Named(
        "a signature over an older state counts (promise 12)", f"{CHAIN}/judge.py",
        '(event.facts["sequence"], tuple(event.facts["moves"])) == (story.last_row, story.open_moves())',
        'tuple(event.facts["moves"]) == story.open_moves()', (CURRENT,),
    ),
    Named(
        "a signature over other moves counts (promise 12)", f"{CHAIN}/judge.py",
        '(event.facts["sequence"], tuple(event.facts["moves"])) == (story.last_row, story.open_moves())',
        'event.facts["sequence"] == story.last_row', (CURRENT,),
    ),
    Named(
        "a signature covers moves that it does not name (promise 1)", f"{CHAIN}/judge.py",
        "[each for each in signatures if move in each.moves]", "list(signatures)",
        (f"{JUDGE}::test_each_move_is_signed_by_so_many_people",),
    ),
    Named(
        "the number that is signed does not count rows about moves (promise 12)", f"{CHAIN}/signed.py",
        'subjects = [subject_of("proposal", row.id), *(subject_of("move", move.id) for move in found)]',
        'subjects = [subject_of("proposal", row.id)]',
        ("tests/ledger/test_signed.py::test_what_was_struck_meanwhile_has_to_be_signed_again",),
    ),
    Named(
        "a rule covers what moves along with a unit (promise 1)", "agent/model/approvals.py",
        "for key in (move.key, *bundle.unit_keys):", "for key in (move.key,):", (STANDING,),
    ),
    Named(
        "a rule covers a stall that is not known (promise 14)", "agent/model/approvals.py",
        "return math.inf if between is None else between[1]", "return 0.0 if between is None else between[1]",
        (STANDING,),
    ),
    Named(
        "what waits begins under a closed rule that nobody opened again (promise 12)", f"{CHAIN}/trust.py",
        "if move.state in TO_BEGIN and (now_standing", "if False and (now_standing",
        (f"{OF_RULES}::test_a_closed_rule_that_was_opened_without_a_signature_begins_nothing",),
    ),
    Named(
        "a rule's limit is evaded by a quiet day of the past (promise 12)", f"{CHAIN}/trust.py",
        " or (noted is not None and event.at < noted - A_DAY)", "",
        (f"{OF_RULES}::test_a_quiet_day_of_the_past_has_no_room_for_more",),
    ),
    Named(
        "a rule approves what was not proposed yet (promise 12)", f"{CHAIN}/trust.py",
        ", given(audit.c.subject)))", "))",
        (f"{OF_RULES}::test_nothing_was_approved_before_it_was_proposed",),
    ),
    Named(
        "approvals of another database use up a rule's limit (promise 12)", f"{CHAIN}/trust.py",
        "if rule is None or database != rule.rule.database:", "if rule is None:",
        (f"{OF_RULES}::test_a_rule_counts_for_its_own_database",),
    ),
    Named(
        "what a person approved and hurt is looked for among the rules", f"{CHAIN}/trust.py",
        'if facts["verdict"] in CLOSING and facts["proposal"] in of_proposal:', 'if facts["verdict"] in CLOSING:',
        (f"{OF_RULES}::test_a_helpful_outcome_closes_nothing",),
    ),
    Named(
        "a list that was approved by its digest has no waves", f"{CHAIN}/signed.py",
        "about += [] if story.approval is None else [story.approval.facts]", "about += []",
        ("tests/ledger/test_lists.py::test_plain_approvals_by_the_digest_of_the_list",),
    ),
    Named(
        "who signs twice by two keys counts as two (promise 12)", "agent/model/signatures.py",
        "known = {signature.key, *signature.names}", "known = {signature.key}",
        ("tests/unit/agent/keys/test_people.py::test_names_and_keys_that_belong_together_are_one_person",),
    ),
    Named(
        "rows of the chain that came before a proposal was stored do not matter (promise 12)", f"{CHAIN}/judge.py",
        "        if story.last_row:\n", "        if story.stored_row:\n",
        (f"{JUDGE}::test_the_end_of_a_chain_is_believed_where_it_begins",),
    ),
    Named(
        "a list is signed under the heading of one approval (promise 1)", "agent/model/signed_documents.py",
        "_lines(LIST_HEADING, facts)", "_lines(HEADING, facts)",
        ("tests/unit/agent/keys/test_signers.py::test_each_kind_of_document_says_what_it_is",),
    ),
    Named(
        "who runs hotplace may say who signs (promise 1)", "agent/model/signatures.py",
        "find_fault(self.path, {ROOT})", "find_fault(self.path)", (NOT_ROOTS,),
    ),
    Named(
        "folders of the file of signers are not looked at (promise 1)", "connectors/kit/files.py",
        "        yield here, status\n", "        if not left:\n            yield here, status\n", (NOT_ROOTS,),
    ),
    Named(
        "an anchor is not synchronised (promise 9)", f"{CHAIN}/links.py", "            os.fsync(handle)\n", "",
        ("tests/ledger/test_trust.py::test_an_anchor_is_on_the_disk_when_it_was_noted",),
    ),
    Named(
        "what the server still works on is tidied away (promise 3)", f"{EXECUTION}/reconciler.py",
        "if not inspection.running:", "if True:",
        ("tests/unit/agent/execution/test_reconciler.py::test_what_the_server_works_on_is_no_leftover",),
    ),
    Named(
        "PostgreSQL: a relation in a third space is at home (promise 3)", "connectors/postgresql/inspection.py",
        "route.bundle.space else Home.ELSEWHERE", "route.bundle.space else Home.SOURCE",
        ("tests/labs/test_moving.py::test_a_moved_or_dropped_relation",),
    ),
    Named(
        "PostgreSQL: others queue for as long as autovacuum takes to give way", "connectors/postgresql/mover.py",
        "all(each.gives_way for each in found)", "any(each.gives_way for each in found)",
        ("tests/labs/test_blockers.py::test_a_session_next_to_autovacuum_makes_the_move_impatient",),
    ),
    Named(
        "PostgreSQL: others queue for who sits idle in a transaction", "connectors/postgresql/mover.py",
        "young and found.state == ACTIVE", "young",
        ("tests/labs/test_blockers.py::test_a_transaction_that_should_end_in_time_is_waited_for",),
    ),
    Named(
        "what is cooling down makes room (promise 7)", "policies/evidence/guards.py",
        "        & (bundles.cooling <= 0)\n", "", (f"{GROWTH}::test_no_more_leaves_than_growth_needs",),
    ),
    Named(
        "what will soon outgrow its tier is promoted (promise 4)", "policies/evidence/guards.py",
        "        (bundles.size > largest, Verdict.OUTGROWS),\n", "",
        (f"{GROWTH}::test_what_would_outgrow_the_tier_is_not_promoted",),
    ),
    Named(
        "a lease on PostgreSQL is always held (promise 10)", "connectors/postgresql/lease.py",
        "if any(ours for *_, ours in rows):", "if True:",
        ("tests/labs/test_lease_and_doctor.py::test_a_session_without_the_lock_holds_nothing",),
    ),
    Named(
        "PostgreSQL: two agents act, one with the lock and one without (promise 10)",
        "connectors/postgresql/lease.py",
        "if any(own and name.startswith(_NAME) for _, name, _, _, own, _ in rows):", "if False:",
        ("tests/labs/test_lease_and_doctor.py::test_what_acts_without_the_lock_gives_way_to_an_agent_that_has_it",),
    ),
    Named(
        "act() takes no lease (promise 10)", f"{SERVICE}/acting.py",
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
        "PRAGMA synchronous={'FULL' if durable else 'NORMAL'}", "PRAGMA synchronous=OFF", (ON_DISK,),
    ),
    Named(
        "an intent is written like a sample (promise 3)", f"{LEDGER}/file/database.py",
        "PRAGMA synchronous={'FULL' if durable else 'NORMAL'}", "PRAGMA synchronous=NORMAL", (ON_DISK,),
    ),
    Named(
        "a move goes on at any database (promise 1)", f"{EXECUTION}/attempt.py",
        "if connector.identify().fingerprint != row.fingerprint:", "if False:",
        ("tests/simulation/test_pausing.py::test_what_is_held_gets_nothing_from_another_database",),
    ),
    Named(
        "a space is made on a place that is not fit any more", "connectors/postgresql/new_space.py",
        "if against is not None:", "if False:",
        (f"{NEW_SPACE}::test_what_has_changed_since_the_approval",),
    ),
    Named(
        "any check of a place may be accepted", "connectors/model/new_space.py",
        "check.state is CheckState.FAILS and check.name not in may)",
        "check.state is CheckState.FAILS and check.name not in accepted)",
        (f"{NEW_SPACE}::test_only_two_checks_may_be_accepted",),
    ),
    Named(
        "a standing rule makes spaces", "agent/model/approvals.py",
        "if makes_or_drops_space(move.route):", "if False:", (STANDING,),
    ),
    Named(
        "a space is dropped by statements other than those that were approved with it", "agent/planning/new_space.py",
        "steps=done.undo_steps, undo_steps=(),", "steps=done.steps, undo_steps=(),",
        (f"{NEW_SPACE}::test_from_an_empty_folder_to_a_space_and_back",),
    ),
)  # fmt: skip
