"""One summary for every decision: the same lines in every command, and seven moves on one screen."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from agent.model.proposals import Proposal
from agent.model.summary import gain_in_a_line, summary_of
from connectors.model.moves import Locked
from tests.cli.test_terminal import answer
from tests.frozen.commands import Life, beginning
from tests.unit.samples import a_move, a_proposal

SCREEN = 24  # lines of a terminal
NAMES = ["gain", "locks", "takes", "copies", "way back", "how sure"]


@pytest.fixture(scope="module")
def seven() -> Iterator[Life]:
    """A database whose plan has seven moves, watched for a cycle; commands print at 80 columns."""
    with beginning(as_json=False) as life:
        life.site.values["databases"] = [life.site.values["databases"][1]]
        database = life.site.values["databases"][0]
        database["policy"]["maximum_moves"] = 7
        database["proposal_expires"] = "36500d"  # terminals have a clock of their own, which is many years ahead
        life.site.write()
        life.site.good("run", "--once")
        yield life


def lines_of(life: Life, number: int) -> list[str]:
    """The summary of a proposal as a program reads it."""
    return [each["text"] for each in life.know("show", str(number), of="archive")["summary"]["lines"]]


def unbroken(text: str) -> str:
    """Without line ends and indents."""
    return " ".join(text.split())


def test_seven_moves_fit_on_a_screen(seven: Life) -> None:
    """With the copy time, the lock and the space of each move; statements come with --sql only."""
    plan = seven.site.good("plan", "--database", "archive").out
    head, _, _ = plan.partition("\n\nin detail")
    lines = head.splitlines()
    assert len(lines) <= SCREEN
    assert max(map(len, lines[1:])) <= 80
    table = next(line for line in lines if " unit " in line)
    assert all(title in table.split() for title in ("to", "size", "saves", "copy", "locked"))
    assert sum(line.lstrip()[:2].strip().isdigit() for line in lines) == 7
    assert " MOVE " not in plan
    assert seven.site.good("plan", "--sql", "--database", "archive").out.count("/* hotplace */ MOVE ") == 7


def test_every_surface_says_the_same(seven: Life) -> None:
    """plan, show, the question of approve, and what programs read: line for line."""
    number = seven.open_proposal("archive")
    said = lines_of(seven, number)
    document = seven.know("show", str(number), of="archive")["summary"]
    assert [each["name"] for each in document["lines"] if each["name"]] == NAMES
    assert len(document["locks"]) == 7
    assert document["copy_low_seconds"] < document["copy_high_seconds"]
    status = seven.know("status", of="archive")["databases"][0]["proposals"][0]
    assert status["summary"] == document
    shown = seven.site.good("show", str(number), "--database", "archive").out
    for out in (shown, answer(seven.site, number, b"n\n").out):
        assert all(line in unbroken(out) for line in map(unbroken, said))


def test_nothing_is_approved_unseen(seven: Life) -> None:
    """Approve shows the summary, then every statement, then the summary again, and only then asks."""
    number = seven.open_proposal("archive")
    out = answer(seven.site, number, b"n\n").out
    first, statements, again = (out.find("\ntakes "), out.find("the exact statements"), out.rfind("\ntakes "))
    assert -1 < first < statements < again
    moves = seven.know("show", str(number), of="archive")["moves"]
    assert all(step["sql"] in out[statements:] for move in moves for step in move["statements"])


def locked(proposal: Proposal, *, by: Locked | None, seconds: float) -> Proposal:
    """The proposal with moves that lock so, each for that many seconds of waiting for the lock."""
    moves = tuple(replace(move, route=replace(move.route, locked=by, lock_seconds=seconds)) for move in proposal.moves)
    return replace(proposal, moves=moves)


@pytest.mark.parametrize(
    ("by", "seconds", "said"),
    [
        (Locked.NOTHING, 0.0, "none: sessions read and write all the while"),
        (Locked.BRIEFLY, 0.5, "no use of"),
        (Locked.WRITES, 0.0, "no writes to"),
        (None, 0.0, "for a time that is not known"),
    ],
)
def test_what_sessions_cannot_use(by: Locked | None, seconds: float, said: str) -> None:
    """Each kind of lock; one that is not known is never none."""
    proposal = locked(a_proposal(a_move()), by=by, seconds=seconds)
    locks = [line.text for line in summary_of(proposal, proposal.moves).lines if line.name == "locks"]
    assert len(locks) == 1
    assert said in locks[0]


def test_a_move_that_is_struck_is_left_out(seven: Life) -> None:
    """The summary is about what an approval would run."""
    number = seven.open_proposal("archive")
    seven.site.good("strike", str(number), "7", "--reason", "not this one", "--database", "archive")
    said = " ".join(lines_of(seven, number))
    assert "in 6 moves of 7" in said
    assert "the gain is that of all 7 moves that were proposed" in said


@pytest.mark.parametrize(
    ("ratio", "ends"),
    [((None, None), "(0 to 9)"), ((0.6, 0.9), "(1 to 4)"), ((0.0, 0.9), "(1 to 9)"), ((0.05, 0.99), "(0.1 to 9)")],
)
def test_what_is_left_is_of_the_waits_that_there_are(ratio: tuple[float | None, float | None], ends: str) -> None:
    """Load and read times that all change alike leave the share: its ends count where they are the nearer ones."""
    hour = 3600.0
    proposal = replace(
        a_proposal(a_move()), wait_per_hour=10 * hour, wait_saved_per_hour=8 * hour, wait_saved_low_per_hour=1 * hour,
        wait_saved_high_per_hour=12 * hour, saved_ratio_low=ratio[0], saved_ratio_high=ratio[1],
    )  # fmt: skip
    assert gain_in_a_line(proposal) == f"gain waiting sessions 10 -> 2 {ends}"
