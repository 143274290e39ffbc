"""Every key of the live screen: what it chooses, and which command it runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from agent.cli.live_view import Act, Choice, RowKind, Run, View, listing_of, press
from agent.ledger.rows import MoveRow
from agent.model.states import MoveState, ProposalState
from tests.unit.agent.live.samples import DIGEST, a_picture, move_row, proposal_row

BOTH = a_picture(proposals=[proposal_row()], moves=[move_row(4)])


def type_keys(keys: Sequence[str], view: View | None = None, picture: object = BOTH) -> tuple[View, Act | None]:
    """The view after some keys, and the command that the last one runs."""
    view, act = view or View(), None
    for key in keys:
        assert act is None, "a command ends the keys"
        view, act = press(view, key, listing_of(picture, view))  # type: ignore[arg-type]
    return view, act


@pytest.mark.parametrize(
    ("keys", "chosen"),
    [
        ("j", Choice(RowKind.MOVE, "4")),
        ("jjk", Choice(RowKind.MOVE, "4")),
        (["down", "down"], Choice(RowKind.UNIT, "public.orders")),
        ("k", Choice(RowKind.PROPOSAL, "1")),
        ("G", Choice(RowKind.UNIT, "public.events")),
        (["page down", "up"], Choice(RowKind.UNIT, "public.customers")),
        (["end", "home"], Choice(RowKind.PROPOSAL, "1")),
    ],
)
def test_rows_are_chosen(keys: Sequence[str], chosen: Choice) -> None:
    """One by one, by pages and to the ends, never past them."""
    assert type_keys(keys)[0].chosen == chosen


def test_what_is_chosen_stays_so() -> None:
    """A row that comes before it does not change what enter is about."""
    view, _ = type_keys("G")
    later = a_picture(keys=("new", "public.orders", "public.events"), proposals=[proposal_row(2), proposal_row()])
    _, act = type_keys(["enter"], view, later)
    assert act == Act(run=Run.EXPLAIN, name="public.events")


@pytest.mark.parametrize(
    ("keys", "act"),
    [
        (["enter"], Act(run=Run.SHOW, name="1")),
        (["j", "enter"], Act(run=Run.EXPLAIN, name="public.orders")),
        (["a"], Act(run=Run.ASK_TO_APPROVE, name="1", digest=DIGEST)),
        (["G", "a"], Act(run=Run.ASK_TO_APPROVE, name="1", digest=DIGEST)),
        (["j", "p", "y"], Act(run=Run.PAUSE, name="4")),
        (["u", "y"], Act(run=Run.UNDO_ALL, name="1")),
        (["?"], Act(run=Run.HELP)),
        (["tab"], Act(run=Run.NEXT_DATABASE)),
        (["q"], Act(run=Run.QUIT)),
    ],
)
def test_keys_run_commands(keys: Sequence[str], act: Act) -> None:
    """Enter and the letters are about the row that is chosen; what changes something asks first."""
    assert type_keys(keys)[1] == act


@pytest.mark.parametrize(
    ("state", "keys", "run"),
    [
        (MoveState.PAUSED, "py", Run.RESUME),
        (MoveState.RUNNING, "py", Run.PAUSE),
        (MoveState.PLACED, "uy", Run.UNDO),
        (MoveState.RUNNING, "pn", None),
        (MoveState.PLACED, ["u", "escape"], None),
    ],
)
def test_moves_are_steered_after_a_yes(state: MoveState, keys: Sequence[str], run: Run | None) -> None:
    """A paused move goes on by the key that pauses; any answer but yes does nothing and says so."""
    picture = a_picture(moves=[move_row(4, state)])
    view, act = type_keys(keys, picture=picture)
    assert act == (None if run is None else Act(run=run, name="4"))
    assert (view.page, "nothing was done" in view.message) == (None, run is None)


@pytest.mark.parametrize(
    ("moves", "key", "said"),
    [
        ([move_row(4, MoveState.RUNNING)], "u", "only what was placed"),
        ([], "p", "choose a move first"),
        ([], "a", "no proposal waits"),
    ],
)
def test_what_cannot_be_done_is_said(moves: Sequence[MoveRow], key: str, said: str) -> None:
    """A key that means nothing for the row runs no command."""
    view, act = type_keys([key], picture=a_picture(moves=moves))
    assert (act, said in view.message) == (None, True)


def test_only_open_proposals_are_approved() -> None:
    """One that is approved already is not asked about; of two that wait one has to be chosen."""
    approved = a_picture(proposals=[proposal_row(state=ProposalState.APPROVED)])
    assert type_keys("a", picture=approved)[0].message == "proposal 1 is approved already"
    two = a_picture(proposals=[proposal_row(2), proposal_row(1)])
    assert type_keys("Ga", picture=two)[0].message == "choose the proposal to approve"


def test_a_digest_is_typed_whole() -> None:
    """Only its first eight characters run the command; what is wrong or too short does nothing."""
    from agent.cli.live_view import Question, ScreenPage

    act = Act(run=Run.APPROVE, name="1", digest=DIGEST)
    asked = View(page=ScreenPage(title="", lines=("x",), question=Question(prompt="", answer=DIGEST[:8], act=act)))
    assert type_keys(DIGEST[:8], asked)[1] == act
    assert type_keys(DIGEST[:8].upper(), asked)[1] == act
    assert type_keys([*DIGEST[:7], "x", "backspace"], asked)[1] is None
    for typed in (["y", "enter"], [*DIGEST[:7], "enter"], "deadbeef", ["enter"], [*DIGEST[:7], "escape"]):
        view, ran = type_keys(typed, asked)
        assert (ran, view.page) == (None, None)
        assert "nothing was done" in view.message
    corrected, ran = type_keys([*DIGEST[:7], "x"[:0] or "backspace", *DIGEST[6:8]], asked)
    assert (ran, corrected.page) == (act, None)


def test_units_are_filtered_and_sorted() -> None:
    """The filter applies while it is typed, esc drops it; s goes through the columns and comes round."""
    view, _ = type_keys("/cust")
    assert [listing_of(BOTH, view).at(place).name for place in range(2)] == ["1", "public.customers"]
    kept, _ = type_keys(["enter"], view)
    assert (kept.seeking, kept.sought) == (False, "cust")
    assert type_keys(["escape"], kept)[0].sought == ""
    assert type_keys(["backspace"], view)[0].sought == "cus"
    sizes = replace(View(), sort="size")
    assert listing_of(BOTH, sizes).at(2).name == "public.events"
    assert type_keys("s" * 6)[0].sort == View().sort


def test_a_page_is_scrolled_and_left() -> None:
    """Never past its last line; esc, q and enter lead back to the rows."""
    from agent.cli.live_view import ScreenPage

    view = View(page=ScreenPage(title="", lines=tuple("abcdef")))
    rows = listing_of(BOTH, view)
    for key, top in (("j", 1), ("page down", 4), ("G", 4), ("k", 3), ("home", 0)):
        view, _ = press(view, key, rows, last_top=4)
        assert view.page is not None
        assert view.page.top == top
    assert all(press(view, key, rows)[0].page is None for key in ("escape", "q", "enter"))
