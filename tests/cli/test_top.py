"""``top`` in an emulated terminal: what is on the screen, what keys do, and that the terminal is left as it was."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import numpy as np
import pytest

from agent.ledger.ledger import Ledger
from agent.ledger.state_names import RANKING
from agent.model.clock import SystemClock
from agent.planning.ranking import ranking_from_arrays
from agent.sampling.block_heat import save_block_heat
from connectors.model.string_column import StringColumn
from tests.cli.emulated import Terminal, at_terminal
from tests.cli.site import Site
from tests.cli.test_inside import newest
from tests.keys import Person

KEYS = "enter explain  a approve  p pause  u undo"
ENTER, ESCAPE, DOWN = "\r", "\x1b", "\x1b[B"
EVIL = '"shop"."x\x1b]0;owned\x07\x1b[31m"'


@pytest.fixture(autouse=True)
def _size_of_the_terminal_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("COLUMNS", "LINES"):
        monkeypatch.delenv(name, raising=False)


def check_it_is_left_as_it_was(terminal: Terminal) -> None:
    """The usual screen is back, the cursor is shown and keys are seen again."""
    assert terminal.raw.count(b"\x1b[?1049h") == terminal.raw.count(b"\x1b[?1049l") == 1
    assert terminal.raw.rindex(b"\x1b[?25h") > terminal.raw.rindex(b"\x1b[?25l")
    assert terminal.mode == terminal.before


def test_from_the_ranking_to_an_undo_by_keys(site: Site) -> None:
    """Explained, filtered, paused, approved by its digest, carried out, undone: with the audit of the commands."""
    number, digest = site.propose()
    with Ledger.open(site.ledger_path, SystemClock()) as ledger:
        save_block_heat(ledger, "shop", SystemClock().now(), {'"shop"."orders_pkey"': newest()})
    with at_terminal(site, "top", "--every", "0.3s") as top:
        screen = top.wait_for(KEYS)
        assert f"{number}  {digest[:12]}" in screen
        assert screen.count("benefit") >= 2, "a column, and what it means"
        assert "waiting sessions (" in screen
        assert [line for line in top.lines if len(line) != 80] == []
        _explain_and_filter(top)
        _approve(site, top, number, digest)
        _pause_and_resume(site, top)
        site.good("run", "--once")
        top.wait_for("placed")
        _undo(site, top)
        top.press("q")
        assert top.end() == 0
        check_it_is_left_as_it_was(top)


def _explain_and_filter(top: Terminal) -> None:
    top.press("/orders_p")
    top.wait_for("filter: orders_p_")
    top.wait_for(lambda text: "orders_pkey" in text and "customers" not in text)
    top.press(ENTER + DOWN + ENTER)
    explained = top.wait_for("hotplace explain")
    assert "rank" in explained
    assert "saved if moved" in top.wait_for("sync reads")
    top.press(" ")
    top.wait_for("its newest 10.0 MiB")
    top.press("  ")
    top.wait_for(lambda text: text.count("|") == 2 * 16)  # the heat map, a line for each place
    top.press("q")
    top.wait_for("by blocks, first to last (enter)")
    top.press(ESCAPE)
    top.wait_for("customers")
    top.press("s")
    top.wait_for("units by saved")
    top.press("?")
    top.wait_for("eight characters")
    top.press(ESCAPE + "g")


def _approve(site: Site, top: Terminal, number: int, digest: str) -> None:
    top.press("a")
    assert "gain " in top.wait_for("type its first 8 characters")
    top.press("x" * 8)
    top.wait_for("nothing was done")
    assert site.good("show", str(number), "--json").document["state"] == "proposed"
    top.press("a")
    top.wait_for("type its first 8 characters")
    top.press(digest[:8])
    top.wait_for(f"proposal {number} ({digest[:12]}) is approved by")
    top.press(ESCAPE)
    top.wait_for("approved, ends in")
    shown = site.good("show", str(number), "--json").document
    assert shown["state"] == "approved"
    (link,) = site.good("history", "--audit", "--event", "proposal.approved", "--json").document["audit"]
    assert link["facts"]["digest"] == digest
    assert link["facts"]["origin"] == shown["decided_from"]
    assert "/dev/pts/" in link["facts"]["origin"], "the terminal, as the command has it"


def _pause_and_resume(site: Site, top: Terminal) -> None:
    top.press("jp")
    top.wait_for("? y for yes:")
    top.press("y")
    top.wait_for("is asked to pause")
    top.press(ESCAPE)
    top.wait_for("to be held by")
    (asked,) = site.good("history", "--audit", "--event", "move.asked.*", "--json").document["audit"]
    top.press("p")
    top.wait_for("resume move")
    top.press("y")
    top.wait_for("is asked to resume")
    top.press(ESCAPE)
    assert asked["facts"]["who"]


def _undo(site: Site, top: Terminal) -> None:
    top.press("u")
    top.wait_for("propose to take move 1 back")
    top.press("y")
    undone = top.wait_for("hotplace undo 1")
    top.press("G")
    undone = top.wait_for("next: hotplace approve 2 --digest")
    assert "Traceback" not in undone
    (stored,) = [row for row in site.good("proposals", "--json").document["proposals"] if row["id"] == 2]
    assert stored["purpose"] == "undo 1"
    top.press(ESCAPE)
    top.wait_for("placed, undo proposed")


@pytest.mark.parametrize("end", ["Ctrl-C", "SIGTERM"])
def test_it_follows_the_size_and_is_ended(site: Site, end: str) -> None:
    """More room shows more columns, less room fewer; what ends it puts the terminal back first."""
    site.propose()
    with at_terminal(site, "top", "--every", "30s", NO_COLOR="1") as top:
        assert "prefetch/s" not in top.wait_for(KEYS)
        top.resize(200, 60)
        top.wait_for(lambda text: "prefetch/s" in text and text.split("\n")[-1].startswith(KEYS))
        top.resize(30, 4)
        top.wait_for(lambda text: text.split("\n")[-1].startswith("enter explain") and "prefetch" not in text)
        assert b"\x1b[31m" not in top.raw
        assert b"\x1b[1m" not in top.raw, "no colours, no bold"
        if end == "Ctrl-C":
            top.press("\x03")
        else:
            os.kill(top.process.pid, signal.SIGTERM)
        assert top.end() == 0
        check_it_is_left_as_it_was(top)


def test_names_that_would_steer_the_terminal(site: Site) -> None:
    """A name with an escape reaches the terminal as visible characters only, in rows, details and pages."""
    site.propose()
    with Ledger.open(site.ledger_path, SystemClock()) as ledger:
        at, arrays = ledger.state.load_arrays("shop", RANKING) or pytest.fail("nothing is ranked")
        keys = [EVIL, *ranking_from_arrays(arrays).key[1:]]
        column = {name: np.asarray(value) for name, value in StringColumn.of(keys).arrays("key").items()}
        ledger.state.save_arrays("shop", RANKING, at, arrays | column)
    with at_terminal(site, "top", "--every", "0.3s") as top:
        top.wait_for('x1b[31m"')
        top.press("/x\\*" + "\x7f" * 2 + ENTER + DOWN + ENTER)
        top.wait_for("hotplace explain")
        top.press(ESCAPE + "q")
        assert top.end() == 0
        assert b"\x1b]0;" not in top.raw
        assert b"\x1b[31m" not in top.raw


def test_a_terminal_without_escapes(site: Site) -> None:
    """TERM=dumb: each look is printed below the last one, without a single escape; q ends it."""
    _, digest = site.propose()
    with at_terminal(site, "top", "--every", "0.2s", TERM="dumb") as top:
        top.wait_for("q ends it")
        top.press("q")
        assert top.end() == 0
        assert b"\x1b" not in top.raw
        assert digest[:12].encode() in top.raw
        assert top.mode == top.before


def test_signed_approvals_show_what_to_sign(site: Site, tmp_path: Path) -> None:
    """No eight characters approve there: the document and the commands are shown."""
    person = Person.new(site.folder, "anna")
    allowed = site.folder / "allowed_signers"
    allowed.write_text(person.line)
    number, _ = site.propose()
    site.values |= {"approval": "signed", "allowed_signers": str(allowed)}
    site.write()
    with at_terminal(site, "top", "--every", "0.3s") as top:
        top.wait_for(KEYS)
        top.press("a")
        top.wait_for("hotplace approval 1")
        top.press("G")
        shown = top.wait_for(f"hotplace approve {number} --signature FILE.sig")
        assert "type its first" not in shown
        top.press(ESCAPE + "q")
        assert top.end() == 0
    assert site.good("show", str(number), "--json").document["state"] == "proposed"


def test_once_is_for_programs(site: Site) -> None:
    """Printed once it holds what it always did, whatever the terminal can show."""
    site.propose()
    document = site.good("top", "--once", "--json").document
    (shop,) = document["databases"]
    assert {"database", "daemon", "window", "moves", "units"} <= set(shop)
    assert len(shop["units"]) == 10
    printed = site.good("top", "--limit", "3").out
    assert "\x1b" not in printed
    assert "nothing moves" in printed
    assert json.dumps(shop["units"][0]["unit"])[1:4] in json.dumps(printed)
