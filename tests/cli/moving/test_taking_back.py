"""``undo`` between two cycles of the agent: what it refuses, by which name, and what comes next."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cli.site import Finished, Site


@pytest.fixture
def moved(site: Site) -> Site:
    """A site some moves of which were carried out; move 1 is one of them."""
    site.database["policy"] |= {"cool_down": "0s", "minimum_gain": "0s"}
    site.write()
    number, digest = site.propose()
    site.good("approve", str(number), "--digest", digest)
    site.good("run", "--once")
    return site


def move(site: Site, number: int) -> dict[str, Any]:
    """A move as ``history`` has it."""
    moves: list[dict[str, Any]] = site.good("history", "--json").document["moves"]
    (found,) = [each for each in moves if each["id"] == number]
    return found


def refused(done: Finished, *words: str) -> None:
    """It ended with the code of what is refused, and says why and how to go on."""
    assert done.code == 6, done
    assert "next: " in done.err
    for word in words:
        assert word in done.err


def test_nothing_goes_back_to_a_closed_space(moved: Site) -> None:
    """Said before anything is proposed, with the command that opens it."""
    came_from = move(moved, 1)["from_space"]
    moved.good("close", came_from, "--reason", "to be removed")
    refused(moved.run("undo", "1"), f"space {came_from} is closed to arrivals", f"hotplace reopen {came_from}")
    assert move(moved, 1)["state"] != "undo_proposed"
    moved.good("reopen", came_from)
    moved.good("undo", "1")


def test_what_was_rejected_can_be_proposed_again_at_once(moved: Site) -> None:
    """No cycle of the agent is needed for it."""
    back = moved.good("undo", "1", "--json").document["proposal"]
    refused(moved.run("undo", "1"), f"proposal {back} would take it back", "hotplace proposals")
    moved.good("reject", str(back), "--reason", "x")
    assert move(moved, 1)["state"] == "kept"
    (undo,) = moved.good("show", str(back), "--json").document["moves"]
    refused(moved.run("undo", str(undo["id"])), "is rejected (x)", "next: hotplace history")
    again = moved.good("undo", "1", "--json").document["proposal"]
    assert again > back


def test_an_undo_that_was_carried_out_is_no_proposal_any_more(moved: Site) -> None:
    """What is said of the move is that it was taken back."""
    back = moved.good("undo", "--proposal", "1", "--json").document
    moved.good("approve", str(back["proposal"]), "--yes")
    moved.good("run", "--once")
    assert move(moved, 1)["state"] == "undone"
    refused(moved.run("undo", "1"), "move 1 is undone", "next: hotplace history")


def test_what_could_not_be_stored_is_no_success(moved: Site) -> None:
    """While an undo waits for its answer, or approved moves are to be done: the plan, and what comes first by name."""
    drain = ("plan", "--mode", "drain", "--space", "ssd", "--propose")
    back = moved.good("undo", "1", "--json").document["proposal"]
    done = moved.run(*drain)
    refused(done, "not stored: ", "proposal", str(back), "hotplace proposals")
    assert "the plan" in done.out
    document = moved.run(*drain, "--json").document
    assert document["error"]["exit_code"] == 6
    moved.good("reject", str(back), "--reason", "x")
    assert moved.good(*drain, "--json").document["proposal"]["id"] == back + 1
    moved.good("approve", str(back + 1), "--yes")
    refused(moved.run("plan", "--mode", "drain", "--space", "hdd", "--propose"), f"of proposal {back + 1} comes first")


def test_nothing_to_propose_is_no_failure(site: Site) -> None:
    """There is nothing that a script would have to see to."""
    site.good("close", "ssd")
    assert "nothing to propose" in site.good("plan", "--propose").out


def test_a_move_whose_undo_is_under_way_is_left_out_by_name(moved: Site) -> None:
    """The rest of the proposal is proposed to go back, and the answer names what is not in it."""
    first = moved.good("undo", "1", "--json").document
    assert first["undoes"] == [1]
    done = moved.good("undo", "--proposal", "1")
    assert "left out: move 1 (" in done.out
    assert "its undo is under way" in done.out
    assert move(moved, 1)["state"] == "undo_proposed"
