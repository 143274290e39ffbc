"""What a person has chosen on the live screen, and how each key changes it: pure, so that every key can be tried."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import NamedTuple

import numpy as np

from agent.cli.live_picture import ScreenPicture
from agent.cli.units import BY_WORTH, SORTED_BY
from agent.ledger.rows import MoveRow, ProposalRow, RequestKind
from agent.model.states import UNDOABLE, MoveState, ProposalState
from agent.planning.ranking import Ranking
from connectors.model.moves import key_matcher
from connectors.model.observation import I64

TYPED_OF_DIGEST = 8  # characters that approve a proposal
PAGE = 10  # rows or lines


class RowKind(StrEnum):
    """What a row of the screen is about."""

    PROPOSAL = "proposal"
    MOVE = "move"
    UNIT = "unit"


class Choice(NamedTuple):
    """One row of the screen, by what it is about: it stays chosen while rows come and go."""

    kind: RowKind
    name: str  # number, or key of the unit


class Run(StrEnum):
    """Commands that keys run."""

    EXPLAIN = "explain"
    SHOW = "show"
    ASK_TO_APPROVE = "ask to approve"  # shows what an approval rests on
    APPROVE = "approve"
    UNDO = "undo"
    UNDO_ALL = "undo all"  # moves of a proposal
    PAUSE = "pause"
    RESUME = "resume"
    HELP = "help"
    QUIT = "quit"
    NEXT_DATABASE = "next database"


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """A command to run."""

    run: Run
    name: str = ""  # of what it is about, as in Choice
    digest: str = ""  # of the proposal that was looked at


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What has to be typed before a command runs."""

    prompt: str
    answer: str
    act: Act


@dataclass(frozen=True, slots=True, kw_only=True)
class ScreenPage:
    """Text that takes the whole screen until it is left."""

    title: str
    lines: tuple[str, ...]
    top: int = 0  # first line that is shown
    question: Question | None = None
    typed: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """What is chosen, typed and shown."""

    chosen: Choice | None = None  # None: the first row
    sort: str = BY_WORTH
    sought: str = ""  # units and moves whose keys hold it
    seeking: bool = False  # it is being typed
    page: ScreenPage | None = None
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """The rows that can be chosen, in their order."""

    proposals: Sequence[ProposalRow]
    moves: Sequence[MoveRow]
    ranking: Ranking | None
    units: I64  # rows of the ranking
    held: Collection[int] = ()  # numbers of moves that were asked to pause

    def __len__(self) -> int:
        return len(self.proposals) + len(self.moves) + len(self.units)

    def at(self, place: int) -> Choice:
        """What the row at a place is about."""
        if place < len(self.proposals):
            return Choice(RowKind.PROPOSAL, str(self.proposals[place].id))
        place -= len(self.proposals)
        if place < len(self.moves):
            return Choice(RowKind.MOVE, str(self.moves[place].id))
        assert self.ranking is not None, "without a ranking there are no units"
        return Choice(RowKind.UNIT, self.ranking.key[int(self.units[place - len(self.moves)])])

    def place_of(self, choice: Choice | None) -> int:
        """Where a row is; the first one where it has gone."""
        return next((place for place in range(len(self)) if self.at(place) == choice), 0)

    def proposal(self, name: str) -> ProposalRow | None:
        """The proposal of that number."""
        return next((row for row in self.proposals if str(row.id) == name), None)

    def move(self, name: str) -> MoveRow | None:
        """The move of that number."""
        return next((row for row in self.moves if str(row.id) == name), None)


def listing_of(picture: ScreenPicture, view: View) -> Listing:
    """The rows of a picture as a view filters and sorts them."""
    ranking, sought = picture.ranking, view.sought
    means = sought_matcher(sought)
    moves = [row for row in picture.moves if means(row.move.key)]
    held = {number for number, request in picture.under_way.requests.items() if request.kind is RequestKind.PAUSE}
    return Listing(
        proposals=picture.proposals, moves=moves, ranking=ranking,
        units=np.zeros(0, np.int64) if ranking is None else _units(ranking, view.sort, sought),
        held=held,
    )  # fmt: skip


def _units(ranking: Ranking, sort: str, sought: str) -> I64:
    rows = np.arange(len(ranking), dtype=np.int64)
    if sort != BY_WORTH:
        rows = np.argsort(-SORTED_BY[sort](ranking).astype(np.float64), kind="stable")
    if not sought:
        return rows
    found = np.fromiter(map(sought_matcher(sought), ranking.key), dtype=np.bool_, count=len(ranking))
    return rows[found[rows]]


def sought_matcher(sought: str) -> Callable[[str], bool]:
    """What tells whether a key holds what is sought, in whatever case; with * or ? it is the whole key.

    >>> [sought_matcher(each)('"Shop"."Orders"') for each in ("shop", '*."o*s"', "o?d")]
    [True, True, False]
    """
    folded = sought.casefold()
    means = key_matcher(folded) if "*" in sought or "?" in sought else None
    return lambda key: folded in key.casefold() if means is None else means(key.casefold())


def press(view: View, key: str, listing: Listing, last_top: int = 0) -> tuple[View, Act | None]:
    """The view after a key, and the command that it runs.

    Args:
        view: before.
        key: as ``agent.terminal.keys`` names it.
        listing: the rows of the screen.
        last_top: the last line of the page that can stand at the top.
    """
    view = replace(view, message="")
    if view.page is not None:
        return _press_on_page(view, view.page, key, last_top)
    if view.seeking:
        return _seek(view, key), None
    place = listing.place_of(view.chosen)
    moved = _move_cursor(place, key, len(listing) - 1)
    if moved is not None:
        return replace(view, chosen=listing.at(moved) if len(listing) else None), None
    chosen = listing.at(place) if len(listing) else None
    match key:
        case "q" | "Q":
            return view, Act(run=Run.QUIT)
        case "escape":
            return replace(view, sought=""), None
        case "/":
            return replace(view, seeking=True, sought=""), None
        case "s":
            titles = list(SORTED_BY)
            return replace(view, sort=titles[(titles.index(view.sort) + 1) % len(titles)]), None
        case "?":
            return view, Act(run=Run.HELP)
        case "tab":
            return view, Act(run=Run.NEXT_DATABASE)
    return _press_on_row(view, key, listing, chosen)


def _move_cursor(place: int, key: str, last: int) -> int | None:
    """The place to which a key goes from another one; None: it is no such key."""
    steps = {"up": -1, "k": -1, "down": 1, "j": 1, "page up": -PAGE, "page down": PAGE, " ": PAGE}
    if key in steps:
        return max(0, min(last, place + steps[key]))
    return {"home": 0, "g": 0, "end": max(0, last), "G": max(0, last)}.get(key)


def _press_on_row(view: View, key: str, listing: Listing, chosen: Choice | None) -> tuple[View, Act | None]:
    if key not in {"enter", "a", "p", "u"} or chosen is None:
        return view, None
    if key == "enter":
        run = Run.EXPLAIN if chosen.kind is RowKind.UNIT else Run.SHOW
        move = listing.move(chosen.name) if chosen.kind is RowKind.MOVE else None
        return view, Act(run=run if move is None else Run.EXPLAIN, name=chosen.name if move is None else move.move.key)
    if key == "a":
        return _approve(view, listing, chosen)
    if chosen.kind is RowKind.PROPOSAL and key == "u":
        what = f"propose to take back all placed moves of proposal {chosen.name}"
        return _asking(view, what, Run.UNDO_ALL, int(chosen.name)), None
    move = listing.move(chosen.name) if chosen.kind is RowKind.MOVE else None
    if move is None:
        return replace(view, message=f"choose a move first: {'pause' if key == 'p' else 'undo'} is about one"), None
    return _pause(view, move, listing.held) if key == "p" else _undo(view, move)


def _approve(view: View, listing: Listing, chosen: Choice) -> tuple[View, Act | None]:
    """The proposal that is chosen, or the only one that waits for a decision."""
    waiting = [row for row in listing.proposals if row.state is ProposalState.PROPOSED]
    row = listing.proposal(chosen.name) if chosen.kind is RowKind.PROPOSAL else None
    if row is None and len(waiting) == 1:
        row = waiting[0]
    if row is None:
        said = "choose the proposal to approve" if waiting else "no proposal waits for a decision"
        return replace(view, message=said), None
    if row.state is not ProposalState.PROPOSED:
        return replace(view, message=f"proposal {row.id} is {row.state} already"), None
    return view, Act(run=Run.ASK_TO_APPROVE, name=str(row.id), digest=row.digest)


def _pause(view: View, move: MoveRow, held: Collection[int]) -> tuple[View, Act | None]:
    """Hold a move, or let a held one go on."""
    run = Run.RESUME if move.state is MoveState.PAUSED or move.id in held else Run.PAUSE
    return _asking(view, f"{run} move {move.id}, {move.move.key} to {move.move.to_space}", run, move.id), None


def _undo(view: View, move: MoveRow) -> tuple[View, Act | None]:
    if move.state not in UNDOABLE:
        return replace(view, message=f"move {move.id} is {move.state}: only what was placed can be taken back"), None
    what = f"propose to take move {move.id} back, {move.move.key} to {move.move.from_space}"
    return _asking(view, what, Run.UNDO, move.id), None


def _asking(view: View, what: str, run: Run, number: int) -> View:
    question = Question(prompt=f"{what}? y for yes: ", answer="y", act=Act(run=run, name=str(number)))
    return replace(view, page=ScreenPage(title=str(run), lines=(), question=question))


def _seek(view: View, key: str) -> View:
    """One more key of what is sought."""
    match key:
        case "enter":
            return replace(view, seeking=False)
        case "escape":
            return replace(view, seeking=False, sought="")
        case "backspace":
            return replace(view, sought=view.sought[:-1])
    return replace(view, sought=view.sought + key, chosen=None) if len(key) == 1 else view


def _press_on_page(view: View, page: ScreenPage, key: str, last_top: int) -> tuple[View, Act | None]:
    top = _move_cursor(page.top, key, last_top)
    if page.question is not None and key not in {"up", "down", "page up", "page down", "home", "end"}:
        return _answer(view, page, page.question, key)
    if top is not None:
        return replace(view, page=replace(page, top=top)), None
    return (replace(view, page=None), None) if key in {"escape", "q", "Q", "enter", "backspace"} else (view, None)


def _answer(view: View, page: ScreenPage, question: Question, key: str) -> tuple[View, Act | None]:
    """One more key of an answer: only the whole of it runs the command."""
    left = replace(view, page=None)
    match key:
        case "escape":
            return replace(left, message="nothing was done"), None
        case "backspace":
            return replace(view, page=replace(page, typed=page.typed[:-1])), None
    typed = page.typed + key if len(key) == 1 else page.typed
    if key != "enter" and len(typed) < len(question.answer):
        return replace(view, page=replace(page, typed=typed)), None
    if typed.casefold() == question.answer.casefold():
        return left, question.act
    return replace(left, message=f"{typed!r} is not what was asked for: nothing was done"), None
