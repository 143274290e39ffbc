"""The live screen as lines: it fits, says each thing once, and shows no control character raw."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import pytest
from rich.cells import cell_len

from agent.cli.live_screen import KEYS, Line, draw, share_rows
from agent.cli.live_view import Act, Choice, Question, RowKind, Run, ScreenPage, View, listing_of
from agent.model.states import MoveState
from agent.service.sending import SendingFacts, judge
from agent.terminal.tables import wrap
from tests.unit.agent.live.samples import DIGEST, a_picture, move_row, proposal_row

EVIL = 'a\x1b[31m\x07\r\n"b\u202e"'
MANY = [f"public.part_{number}" for number in range(100)]


def screen(picture: object = None, view: View | None = None, width: int = 80, height: int = 24) -> list[Line]:
    """The lines of a screen."""
    picture, view = picture or a_picture(proposals=[proposal_row()], moves=[move_row(4)]), view or View()
    return draw(picture, listing_of(picture, view), view, width, height)  # type: ignore[arg-type]


def text(lines: list[Line]) -> str:
    """The lines as one text."""
    return "\n".join(line.text for line in lines)


@pytest.mark.parametrize("size", [(80, 24), (200, 60), (40, 10), (20, 4), (3, 1), (1, 3)])
def test_it_fits_every_terminal(size: tuple[int, int]) -> None:
    """Exactly as many lines as there are, none wider than the terminal, names of two cells a character too."""
    width, height = size
    busy = a_picture(["表" * 40, *MANY], [proposal_row(n) for n in range(1, 9)], [move_row(n) for n in range(1, 30)])
    pages = ScreenPage(title="t" * 90, lines=("long " * 40, "表" * 90), question=None)
    for view in (View(), View(message="m" * 300), View(page=pages), View(seeking=True, sought="x" * 90)):
        lines = screen(busy, view, width, height)
        assert len(lines) == height
        assert max(cell_len(line.text) for line in lines) <= width


def test_what_a_screen_of_80_by_24_says() -> None:
    """Waits with their curve, rooms, window, proposal, move, units with heat and verdict, what is chosen, keys."""
    lines = screen()
    said = text(lines)
    for part in (
        "shop (postgresql): daemon running, heard of 2 s ago", "read wait: 1.9 waiting sessions (1 h 54 min/h)",
        "▃▅█ over 2 h", "ssd fast: 75% full, 2.0 GiB free", "hdd slow: 20.0 GiB own", "moves may run at any time",
        "proposed, ends in 1 d", "1a2b3c4d5e6f", "approved", "▁█", "promote", "3 units by benefit",
        "gain waiting sessions ",
    ):  # fmt: skip
        assert part in said, part
    assert lines[-1].text == KEYS
    assert cell_len(KEYS) <= 80
    assert [line.text[:2] for line in lines if line.text.startswith(">")] == ["> "], "seen without colours"


def test_a_unit_that_was_looked_into_shows_its_blocks() -> None:
    """Below the list, of the one that is chosen; in signs where there are no blocks."""
    picture = a_picture(insides={"public.orders": (1.0, 1.0, 8.0)})
    assert "▁▁█ by blocks, first to last (enter). public.orders waits." in text(screen(picture))
    chosen = View(chosen=Choice(RowKind.UNIT, "public.customers"))
    assert "by blocks" not in text(screen(picture, chosen))
    plain = draw(picture, listing_of(picture, View()), View(), 80, 24, blocks=False)
    assert "..@ by blocks" in text(plain)


def test_a_sentence_is_said_once() -> None:
    """Fourteen moves that wait for the same thing are fourteen short rows; the reason is that of the chosen one."""
    picture = a_picture(moves=[move_row(number) for number in range(1, 15)])
    said = text(screen(picture, View(chosen=Choice(RowKind.MOVE, "3")), height=40))
    assert said.count("waits for its window") == 1
    assert "move 3: public.orders to fast, approved: waits for its window" in said
    assert said.count("public.orders") >= 14


def test_hostile_names_are_escapes() -> None:
    """Neither a row nor a sentence, a message, a page or a prompt holds a control character."""
    asked = Question(prompt=EVIL, answer="y", act=Act(run=Run.UNDO))
    picture = a_picture([EVIL], [proposal_row(asked_by=EVIL)], [move_row(4, key=EVIL)])
    assert picture.daemon.status is not None
    status = replace(picture.daemon.status, error=EVIL)
    picture = replace(picture, daemon=replace(picture.daemon, status=status))
    views = (
        View(), View(chosen=Choice(RowKind.UNIT, EVIL)), View(chosen=Choice(RowKind.MOVE, "4")), View(message=EVIL),
        View(sought=EVIL), View(page=ScreenPage(title=EVIL, lines=(EVIL,), question=asked)),
        View(page=ScreenPage(title=EVIL, lines=(), question=asked)),
    )  # fmt: skip
    for view in views:
        assert all(line.text.isprintable() for line in screen(picture, view))
    assert "\\x1b[31m" in text(screen(picture))


def test_the_chosen_row_is_always_there() -> None:
    """However far down it is, in each of the parts, and the heading says which rows these are."""
    picture = a_picture(MANY, [proposal_row(n) for n in range(1, 9)], [move_row(n) for n in range(1, 30)])
    for chosen in (Choice(RowKind.PROPOSAL, "8"), Choice(RowKind.MOVE, "29"), Choice(RowKind.UNIT, MANY[-1]), None):
        lines = screen(picture, View(chosen=chosen))
        (row,) = [line.text for line in lines if line.text.startswith("> ")]
        assert chosen is None or chosen.name in row.split()
    assert re.search(r"\d+-100 of 100", text(screen(picture, View(chosen=Choice(RowKind.UNIT, MANY[-1])), width=120)))


def test_rooms_of_the_parts() -> None:
    """Units have most of the screen, moves what units leave."""
    many = listing_of(a_picture(MANY, [proposal_row()], [move_row(n) for n in range(1, 30)]), View())
    parts = share_rows(many, None, 60, 10)
    assert parts.units.shown > parts.moves.shown > parts.proposals.shown == 1
    few = listing_of(a_picture(["one"], [], [move_row(n) for n in range(1, 30)]), View())
    assert share_rows(few, None, 40, 8).moves.shown == 29


def test_what_is_not_known_is_not_drawn() -> None:
    """No waits, no ranking, no daemon, no room: sentences in place of figures."""
    picture = a_picture(waiting_now=math.nan, ranking=None, proposals=[], moves=[])
    dry = judge(SendingFacts(database="shop", ledger="l", dry_run=True), picture.at)
    picture = replace(picture, daemon=replace(picture.daemon, word="stopped", status=None), sending=dry)
    said = text(screen(picture))
    for part in ("read wait: not measured yet", "no unit is ranked yet", "no daemon runs", dry.sentence):
        assert part in said


def test_a_question_stays_below_its_page() -> None:
    """What is typed so far is shown, however long the page is, and how much of that is left."""
    page = ScreenPage(
        title="hotplace approve 1", lines=tuple(f"line {n}" for n in range(99)), typed=DIGEST[:3],
        question=Question(prompt="digest: ", answer=DIGEST[:8], act=Act(run=Run.APPROVE)),
    )  # fmt: skip
    lines = screen(view=View(page=page))
    assert lines[0].text.startswith("hotplace approve 1")
    assert lines[0].text.endswith("78 more below")
    assert (lines[1].text, lines[-2].text) == ("line 0", "digest: 1a2_")
    moved = screen(view=View(page=replace(page, top=1000)))
    assert moved[-3].text == "line 98"


@pytest.mark.parametrize(
    ("line", "lines"),
    [
        ("one two three", ["one two", "three"]),
        ("abcdefghijklm", ["abcdefgh", "ijklm"]),
        ("  one two three", ["  one", "  two", "  three"]),
        ("short", ["short"]),
        ("", [""]),
    ],
)
def test_lines_are_broken_between_words(line: str, lines: list[str]) -> None:
    """A word that is longer than the screen is broken, an indent is kept."""
    assert wrap(line, 8) == lines


def test_an_outcome_that_is_open_has_no_deadline() -> None:
    """A proposal whose moves are all in place is carried out."""
    from agent.model.states import ProposalState

    row = proposal_row(state=ProposalState.APPROVED)
    for state, said in ((MoveState.SETTLING, "carried out"), (MoveState.RUNNING, "under way"),
                        (MoveState.APPROVED, "approved, ends in 1 d")):  # fmt: skip
        assert said in text(screen(a_picture(proposals=[row], moves=[move_row(4, state)])))
