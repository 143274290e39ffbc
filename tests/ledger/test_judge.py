"""The judge of approvals, row by row: what an honest chain makes of a proposal, and each row that spoils it."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import pytest

from agent.ledger.chain.events import Event, EventKind, Unreadable, read_event
from agent.ledger.chain.judge import (
    NOWHERE,
    CheckedSignature,
    Place,
    Replay,
    Story,
    group_fault,
    missing_people,
    move_fault,
    signatures_fault,
)
from agent.ledger.rows import MoveRow
from agent.model.signatures import NameUnclear
from agent.model.states import MoveState, ProposalState
from tests.ledger.forger import GOOD
from tests.unit.samples import MADE_AT, a_move

P, S = ProposalState, MoveState
DIGEST = "d" * 64
IDS = {1: 11, 2: 12, 3: 13}  # ordinal -> number of the moves of proposal 1
OTHERS = {1: 21}  # of proposal 2
WHO = {"who": "anna", "origin": "tty", "reason": ""}
Told = tuple[str, str, Mapping[str, Any]]  # event, subject, facts


class Table:
    """The places of the moves of two proposals."""

    def of(self, move: int) -> Place:
        """Where it is."""
        places = {
            number: (proposal, ordinal) for proposal in (1, 2) for ordinal, number in self.moves(proposal).items()
        }
        return places.get(move, NOWHERE)

    def moves(self, proposal: int) -> Mapping[int, int]:
        """Those of one of them."""
        return {1: IDS, 2: OTHERS}.get(proposal, {})  # those of 3 belong to another team, which hides them


class ChainRow(NamedTuple):
    """A row as the chain is read."""

    id: int
    at: object
    event: str
    subject: str
    facts: str


def about(event: str, /, **facts: Any) -> Told:
    """A row about proposal 1."""
    return f"proposal.{event}", "proposal 1", facts


def stored(**changes: Any) -> Told:
    """It is stored with three moves."""
    facts = {"database": "shop", "digest": DIGEST, "moves": 3, "ids": [11, 12, 13], **changes}
    return about("stored", **{name: value for name, value in facts.items() if value is not None})


def approved(*moves: int, digest: str = DIGEST) -> Told:
    """A person approves it."""
    return about("approved", **WHO, digest=digest, moves=list(moves or IDS))


def rejected(*moves: int) -> Told:
    """A person rejects it; without moves: all were struck one by one."""
    return about("rejected", reason="", **({"moves": list(moves)} if moves else {}))


def expired(*numbers: int) -> Told:
    """Moves of it by their numbers expire."""
    return "moves.expired", "proposal 1", {"moves": list(numbers)}


def to(state: str, was: str, *, move: int = 11, digest: str = DIGEST) -> Told:
    """The agent brings a move into another state."""
    return f"move.{state}", f"move {move}", {"was": was, "reason": "", "digest": digest}


def struck(was: MoveState, into: MoveState, *, move: int = 12) -> Told:
    """A person drops a move."""
    return "move.struck", f"move {move}", {**WHO, "was": was, "digest": DIGEST, "to": into}


def signed(sequence: int, *moves: int) -> Told:
    """A person signs."""
    facts = {"who": "anna", "origin": "tty", "key": "SHA256:a", "signature": "x", "digest": DIGEST}
    return about("signed", **facts, moves=list(moves), sequence=sequence)


def replayed(rows: Iterable[Told], *, from_the_middle: bool = False) -> Replay:
    """The rows taken in, numbered from 1."""
    replay = Replay(Table(), from_the_middle=from_the_middle)
    for number, (event, subject, facts) in enumerate(rows, start=1):
        replay.apply(ChainRow(number, MADE_AT, event, subject, json.dumps(facts)))
    return replay


def told(*rows: Told, from_the_middle: bool = False) -> Story:
    """The story of proposal 1."""
    return replayed(rows, from_the_middle=from_the_middle).stories[1]


RUN = (to("precheck", "approved"), to("running", "precheck"))
HONEST: dict[str, tuple[Sequence[Told], ProposalState, dict[int, MoveState]]] = {
    "waits": ([], P.PROPOSED, dict.fromkeys(IDS, S.PROPOSED)),
    "of a version that named no numbers": ([stored(ids=None)], P.PROPOSED, dict.fromkeys(IDS, S.PROPOSED)),
    "approved": ([approved()], P.APPROVED, dict.fromkeys(IDS, S.APPROVED)),
    "approved after a strike": (
        [struck(S.PROPOSED, S.REJECTED), approved(1, 3)], P.APPROVED, {1: S.APPROVED, 2: S.REJECTED, 3: S.APPROVED},
    ),
    "struck after its approval": (
        [approved(), struck(S.APPROVED, S.CANCELLED)], P.APPROVED, {1: S.APPROVED, 2: S.CANCELLED, 3: S.APPROVED},
    ),
    "rejected": ([rejected(1, 2, 3)], P.REJECTED, dict.fromkeys(IDS, S.REJECTED)),
    "rejected after each was struck": (
        [*(struck(S.PROPOSED, S.REJECTED, move=move) for move in IDS.values()), rejected()],
        P.REJECTED, dict.fromkeys(IDS, S.REJECTED),
    ),
    "superseded after a strike": (
        [struck(S.PROPOSED, S.REJECTED), about("superseded", reason="")],
        P.SUPERSEDED, {1: S.SUPERSEDED, 2: S.REJECTED, 3: S.SUPERSEDED},
    ),
    "expired": ([expired(11, 12, 13), about("expired", reason="")], P.EXPIRED, dict.fromkeys(IDS, S.EXPIRED)),
    "begun, the others expired": (
        [approved(), *RUN, expired(12, 13)], P.APPROVED, {1: S.RUNNING, 2: S.EXPIRED, 3: S.EXPIRED},
    ),
    "tried again": (
        [approved(), *RUN, to("approved", "running"), *RUN], P.APPROVED, {1: S.RUNNING, 2: S.APPROVED, 3: S.APPROVED},
    ),
    "ended": (
        [approved(1, 2, 3), *RUN, to("failed", "running"), expired(12, 13), about("finished", reason="")],
        P.FINISHED, {1: S.FAILED, 2: S.EXPIRED, 3: S.EXPIRED},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", HONEST)
def test_an_honest_chain_tells_each_state(name: str) -> None:
    """Of the proposal and of each move; no row of it is at fault."""
    rows, state, moves = HONEST[name]
    story = told(*([] if rows and rows[0][0] == "proposal.stored" else [stored()]), *rows)
    assert (story.fault, story.state, story.moves) == ("", state, moves)
    assert (story.digest, story.database, story.stored_row) == (DIGEST, "shop", 1)
    assert (story.approval is None) is (P.APPROVED.value not in {event.partition(".")[2] for event, *_ in rows})
    assert story.last_row == max(1, len(rows) + (rows[:1] != [stored(ids=None)]))


OTHER = "e" * 64
IMPOSSIBLE: dict[str, tuple[Sequence[Told], str]] = {
    "approved before it is stored": ([approved()], "was not stored before"),
    "a move of it before it is stored": ([to("placed", "running")], "was not stored before"),
    "stored twice": ([stored(), stored()], "rows about it came before"),
    "stored with fewer moves": ([stored(moves=2)], "stored with 2 moves and has 3"),
    "moves that changed places": ([stored(ids=[11, 13, 12])], "other numbers"),
    "approved twice": ([stored(), approved(), approved()], "the proposal is approved"),
    "approved after its rejection": ([stored(), rejected(1, 2, 3), approved()], "the proposal is rejected"),
    "approved after another took its place": (
        [stored(), about("superseded", reason=""), approved()], "the proposal is superseded",
    ),
    "approved after its expiry": ([stored(), about("expired", reason=""), approved()], "the proposal is expired"),
    "approved after its end": (
        [stored(), approved(), about("finished", reason=""), approved()], "the proposal is finished",
    ),
    "rejected after its approval": ([stored(), approved(), rejected(1, 2, 3)], "the proposal is approved"),
    "superseded after its approval": (
        [stored(), approved(), about("superseded", reason="")], "the proposal is approved",
    ),
    "expired after its approval": ([stored(), approved(), about("expired", reason="")], "the proposal is approved"),
    "finished before its approval": ([stored(), about("finished", reason="")], "the proposal is proposed"),
    "approved by another digest": ([stored(), approved(digest=OTHER)], "another digest than was stored"),
    "approved in part": ([stored(), approved(1, 2)], "those that wait: 1, 2, 3"),
    "approved with what was struck": (
        [stored(), struck(S.PROPOSED, S.REJECTED), approved()], "the moves 1, 2, 3; those that wait: 1, 3",
    ),
    "approved with what has expired": ([stored(), expired(11, 12, 13), approved()], "those that wait: none"),
    "rejected in part": ([stored(), rejected(3)], "those that wait: 1, 2, 3"),
    "another proposal's move expires": ([stored(), expired(21)], "move 21 is none of its own"),
    "no move at all expires": ([stored(), expired(99)], "move 99 is none of its own"),
    "what runs expires": ([stored(), approved(), *RUN, expired(11)], "move 11 is running"),
    "from a state in which it is not": ([stored(), approved(), to("running", "precheck")], "is approved and not pre"),
    "from no state": ([stored(), approved(), to("running", "asleep")], "is approved and not asleep"),
    "past a state": ([stored(), approved(), to("placed", "approved")], "approved and cannot become placed"),
    "out of an end": (
        [stored(), approved(), *RUN, to("failed", "running"), to("approved", "failed")],
        "failed and cannot become approved",
    ),
    "approved alone": ([stored(), to("approved", "proposed")], "proposed and cannot become approved by it"),
    "of another digest": ([stored(), approved(), to("precheck", "approved", digest=OTHER)], "another digest"),
    "begun after a strike": (
        [stored(), approved(), struck(S.APPROVED, S.CANCELLED), to("precheck", "approved", move=12)],
        "the move is cancelled and not approved",
    ),
    "struck after it began": ([stored(), approved(), *RUN, struck(S.RUNNING, S.REJECTED, move=11)], "cannot become"),
    "facts that are none": ([stored(), ("move.placed", "move 11", {"was": 3})], "is not valid: move.placed: it does"),
}  # fmt: skip


@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_a_row_that_no_honest_writer_writes_spoils_its_proposal(name: str) -> None:
    """It is named with its number; the first one stays, and a proposal next to it is none of its business."""
    rows, why = IMPOSSIBLE[name]
    before = replayed(rows[:-1])
    assert [story.fault for story in before.stories.values() if story.fault] == []
    replay = replayed([*rows, ("proposal.stored", "proposal 2", {"database": "hr", "digest": OTHER, "moves": 1})])
    story = replay.stories[1]
    assert why in story.fault
    assert f"audit row {len(rows)} " in story.fault
    assert replay.stories[2].fault == ""
    more = told(*rows, approved(), approved())
    assert more.fault == story.fault


def test_what_spoils_a_proposal_approves_nothing() -> None:
    """A row that cannot be changes neither its state nor that of its moves."""
    story = told(stored(), approved(digest=OTHER))
    assert (story.state, story.approval, set(story.moves.values())) == (P.PROPOSED, None, {S.PROPOSED})
    story = told(stored(), approved(1, 2))
    assert (story.state, story.approval, set(story.moves.values())) == (P.PROPOSED, None, {S.PROPOSED})


def test_the_end_of_a_chain_is_believed_where_it_begins() -> None:
    """What its first rows say of the state before them; what contradicts them afterwards is a fault."""
    rows = [to("placed", "running"), expired(12), about("finished", reason="")]
    story = told(*rows, from_the_middle=True)
    assert (story.fault, story.state, story.moves) == ("", P.FINISHED, {1: S.PLACED, 2: S.EXPIRED})
    assert told(approved(1), from_the_middle=True).fault == ""
    assert "is placed and not running" in told(*rows, to("failed", "running"), from_the_middle=True).fault
    assert "the proposal is finished" in told(*rows, approved(1), from_the_middle=True).fault
    assert "is None and not asleep" in told(to("placed", "asleep"), from_the_middle=True).fault
    for row in rows[:2]:
        assert "rows about it came before" in told(row, stored(), from_the_middle=True).fault
    assert "rows about it came before" in told(approved(1), stored(), from_the_middle=True).fault
    assert replayed(rows, from_the_middle=True).state(11) is S.PLACED
    assert [replayed(rows, from_the_middle=True).state(move) for move in (13, 21, 99)] == [None, None, None]


def test_rows_about_no_proposal_make_no_story() -> None:
    """Of those that cannot be read the known events are kept: others may be a newer version's."""
    rows: list[Told] = [
        ("proposal.finished", "proposal \u00b2", {"reason": ""}), ("move.placed", "move 0x11", {}),
        ("new", "rule 1", {}), ("pin.set", "shop t1", {"who": 3}), ("step.done", "step 11", {"detail": ""}),
        ("move.placed", "move 99", {}),
    ]  # fmt: skip
    replay = replayed(rows)
    assert replay.stories == {}
    assert [bad.row for bad in replay.unreadable] == [1, 2, 4, 6]
    assert replayed([("new", "proposal 1", {})]).unreadable == []
    assert "'new' is no event" in told(("new", "proposal 1", {})).fault


def test_of_moves_that_are_hidden_the_chain_alone_tells() -> None:
    """Those of another team's proposal: how many it has cannot be compared, and that is no fault."""
    hidden = [(event, "proposal 3", facts) for event, _, facts in (stored(), approved(1, 2, 3))]
    assert replayed(hidden[:1]).stories[3].fault == ""


def test_a_signature_counts_over_the_proposal_as_it_is() -> None:
    """By the number of its last row and the moves that wait, both; other signatures in between change nothing."""
    story = told(
        stored(), signed(1, 1, 2, 3), signed(1, 1, 2, 3), signed(0, 1, 2, 3), signed(2, 1, 2, 3), signed(1, 1, 2),
        struck(S.PROPOSED, S.REJECTED), signed(7, 1, 3), signed(1, 1, 2, 3), signed(7, 1, 2, 3), signed(1, 1, 3),
    )  # fmt: skip
    assert [each.current for each in story.signatures] == [True, True, False, False, False, True, False, False, False]
    assert [each.row for each in story.signatures] == [2, 3, 4, 5, 6, 8, 9, 10, 11]
    assert (story.last_row, story.open_moves(), story.fault) == (7, (1, 3), "")


FITS: dict[str, tuple[Any, ...]] = {
    "text": ("", "x"), "text or null": (None, "x"), "whole": (0, -1, 2**53, -(2**53)), "wholes": ([], [1, 2]),
    "texts": ([], ["x"]), "number": (1, 0.5), "flag": (True, False), "instant": ("2026-03-01T12:00:00+00:00",),
    "object": ({}, {"a": 1}), "conditions": ({}, {"most_bytes": 1, "windows": ["sat 22:00-24:00"]}),
    "members": ([], GOOD["members"]),
}  # fmt: skip
FITS_NOT: dict[str, tuple[Any, ...]] = {
    "text": (None, 1, [], "\x00", "\ud800"), "text or null": (1, [], "\x00"),
    "whole": (None, True, 1.0, "1", 2**53 + 1, -(2**53) - 1), "wholes": (None, 1, "1", [True], [1, "x"], {"1": 1}),
    "texts": (None, "x", [1], ["x", None], {"x": 1}), "number": (None, True, "1", math.inf, math.nan),
    "flag": (None, 0, 1, "true"), "instant": (None, 1, "2026-03-01T12:00:00", "2026-13-01T12:00:00+00:00"),
    "object": (None, [], "x"), "conditions": (None, [], {"most_bytes": "1"}, {"more": 1}),
    "members": (None, {}, [{}], [*GOOD["members"], {"proposal": 1}], [1], ["x"]),
}  # fmt: skip


@pytest.mark.parametrize("kind", FITS)
def test_a_fact_has_its_type(kind: str) -> None:
    """One of another type is no fact of the row; a value never makes the reader fail."""
    form = EventKind("", {"fact": kind, "more?": kind})
    for value in FITS[kind]:
        assert form.fault({"fact": value}) == ""
        assert form.fault({"fact": value, "more": value}) == ""
    for value in FITS_NOT[kind]:
        assert form.fault({"fact": value}).startswith("fact is ")
        assert form.fault({"fact": FITS[kind][0], "more": value}).startswith("more is ")
    assert form.fault({"more": FITS[kind][0]}) == "it does not say fact"


def test_what_a_row_is_about_is_not_taken_for_a_number() -> None:
    """A database may be called like a rule; rules, moves and proposals are counted from 1."""
    facts = json.dumps({"who": "anna", "reason": ""})
    event = read_event(ChainRow(1, MADE_AT, "pin.removed", "rule 1", facts))
    assert isinstance(event, Event)
    assert event.number == 0
    for subject in ("rule 0", "rule 01", "rule 1 ", "rule \u00b2", "rule", "move 1", "shop"):
        row = ChainRow(1, MADE_AT, "rule.opened", subject, json.dumps({"who": "anna", "origin": "tty"}))
        assert isinstance(read_event(row), Unreadable)


def test_a_row_says_what_its_event_may_say() -> None:
    """Nothing of other names, one of those of which one is needed, and a word of those that are allowed."""
    form = EventKind("", {"a?": "whole", "b?": ("x", "y")}, one_of=("a", "b"))
    assert [form.fault(facts) for facts in ({"a": 1}, {"b": "y"}, {"a": 1, "b": "x"})] == [""] * 3
    assert form.fault({}) == "it says neither a nor b"
    assert form.fault({"b": "z"}) == 'b is "z"'
    assert form.fault({"a": 1, "c": 2}) == "'c' is no fact of it"
    assert replace(form, others=True).fault({"a": 1, "c": 2}) == ""


# -- judgements ------------------------------------------------------------------------------------------------------


def a_row(ordinal: int = 1, state: MoveState = S.APPROVED, **changes: Any) -> MoveRow:
    """A move of proposal 1 as the tables hold it."""
    row = MoveRow(
        id=IDS[ordinal], proposal_id=1, database="shop", fingerprint="f", digest=DIGEST, move=a_move(ordinal, group=1),
        state=state, reason="", attempts=0, updated_at=MADE_AT, approved=True, planned_at=MADE_AT, expires_at=MADE_AT,
    )  # fmt: skip
    return replace(row, **changes)


@pytest.mark.parametrize(
    ("rows", "row", "why"),
    [
        ([stored(), approved()], a_row(), ""),
        ([stored(), approved()], a_row(state=S.RUNNING), "marked running, but by the audit chain it is approved"),
        ([stored()], a_row(state=S.PROPOSED), "does not hold that proposal 1 was approved"),
        ([stored(), approved()], a_row(digest=OTHER), "does not hold that proposal 1 was stored"),
        ([stored(digest=""), approved()], a_row(), "does not hold that proposal 1 was stored"),
        ([stored(digest=""), approved(digest=OTHER)], a_row(digest=""), "does not hold that proposal 1 was approved"),
        ([stored(), approved(), approved()], a_row(), "the proposal is approved"),
    ],
)
def test_chain_and_tables_agree_about_a_move(rows: Sequence[Told], row: MoveRow, why: str) -> None:
    """Stored and approved by its digest, and in its state; else nothing of it is sent."""
    fault = move_fault(told(*rows), row)
    assert why in fault
    assert bool(fault) is bool(why)


def signature(who: str, *moves: int, key: str = "") -> CheckedSignature:
    """One that fits."""
    return CheckedSignature(who, key or f"SHA256:{who}", frozenset({who}), moves)


ANNA, BERT = signature("anna", 1, 2), signature("bert", 1, 2)


@pytest.mark.parametrize(
    ("signatures", "moves", "needed", "asked_by", "missing"),
    [
        ([], [1], 1, "", 1), ([ANNA], [1, 2], 1, "", 0), ([ANNA], [1, 3], 1, "", 1), ([ANNA], [], 1, "", 0),
        ([ANNA], [1], 2, "", 1), ([ANNA, BERT], [1, 2], 2, "", 0), ([ANNA, BERT], [1, 2], 1, "", 0),
        ([ANNA, signature("bert", 2)], [1, 2], 2, "", 1), ([ANNA, signature("anna", 1, 2, key="k")], [1], 2, "", 1),
        ([ANNA], [1], 1, "anna", 0), ([ANNA, BERT], [1], 2, "anna", 1), ([ANNA, BERT], [1], 2, "carl", 0),
    ],
)  # fmt: skip
def test_each_move_is_signed_by_so_many_people(
    signatures: list[CheckedSignature], moves: list[int], needed: int, asked_by: str, missing: int
) -> None:
    """By those whose signatures name it; of several none is who asked for it."""
    assert missing_people(signatures, moves, needed, asked_by) == missing
    if moves == [1]:
        fault = signatures_fault(signatures, a_row(), needed, asked_by)
        assert fault == (f"proposal 1 has {needed - missing} of the {needed} signatures that it needs" * bool(missing))


def test_who_asked_under_a_name_that_is_none_could_be_anybody() -> None:
    """Where two have to sign, that is a fault; where one is enough, nobody asks for it."""
    assert "cannot be distinguished" in signatures_fault([ANNA, BERT], a_row(), 2, "\u0430nna")
    assert signatures_fault([ANNA], a_row(), 1, "\u0430nna") == ""
    with pytest.raises(NameUnclear):
        missing_people([ANNA, BERT], [1], 2, "\u0430nna")


def test_what_was_dropped_of_a_group_ends_the_rest() -> None:
    """The move that was dropped is told by its own state, not by that of its group."""
    group = [a_row(1), a_row(2, S.CANCELLED), a_row(3)]
    assert "move 12 of its group is cancelled" in group_fault(group[0], group)
    assert group_fault(group[1], group) == ""
    assert group_fault(group[0], [group[0], a_row(2, S.PLACED)]) == ""
