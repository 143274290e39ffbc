"""Keys, curves of a few cells and transcripts."""

from __future__ import annotations

import math

import pytest

from agent.terminal.columns import Column
from agent.terminal.keys import split_keys
from agent.terminal.text_plots import sparkline
from agent.terminal.transcript import Transcript


@pytest.mark.parametrize(
    ("typed", "keys"),
    [
        ("jk", ["j", "k"]),
        ("\x1b[A\x1b[B\x1bOA", ["up", "down", "up"]),
        ("\x1b[5~x\x1b[6~", ["page up", "x", "page down"]),
        ("\x1b", ["escape"]),
        ("\x1bq", ["escape", "q"]),
        ("\x1b[1;5P\x1b[200~a", ["a"]),  # keys that mean nothing here, and pasted text
        ("\r\t\x7fé", ["enter", "tab", "backspace", "é"]),
        ("\x00\x02", []),
    ],
)
def test_bytes_of_a_terminal_are_keys(typed: str, keys: list[str]) -> None:
    """Sequences of several bytes are one key each; what stands for none is left out."""
    assert split_keys(typed) == keys


@pytest.mark.parametrize(
    ("values", "blocks", "signs"),
    [
        ([0.0, 4.0, 8.0], "▁▄█", ".=@"),
        ([math.nan, 1.0], " █", " @"),
        ([0.0, 0.0], "▁▁", ".."),
        ([math.nan], " ", " "),
        ([], "", ""),
    ],
)
def test_numbers_are_blocks(values: list[float], blocks: str, signs: str) -> None:
    """By their share of the largest; what is not known is a blank, and nothing is not."""
    assert (sparkline(values), sparkline(values, blocks=False)) == (blocks, signs)


def test_a_transcript_keeps_what_a_command_prints() -> None:
    """Lines, facts and tables for a width, errors with their next step; control characters as escapes, no question."""
    out = Transcript(30)
    out.line("a\x1b[31m")
    out.facts([("name", "value")])
    out.table((Column("unit", name=True), Column("size", number=True, leaves=1)), [("a" * 40, "1")])
    out.problem("broken", "mend it")
    out.document({"a": 1})
    assert out.lines[:2] == ["a\\x1b[31m", "name  value"]
    assert max(map(len, out.lines)) <= 30
    assert "".join(out.lines).count("aaa...") == 1
    assert out.lines[-2:] == ["error: broken", "next: mend it"]
    assert out.ask("really?") is False


class OnTerminal(Transcript):
    """Lines as a terminal of 30 cells would get them."""

    @property
    def terminal(self) -> bool:
        """Someone reads it."""
        return True

    def line(self, text: str = "", style: str = "") -> None:  # as Output
        """Keep it."""
        self.lines.append(text)


def test_prose_is_broken_between_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal values stay in their column and sentences are indented; elsewhere each is one line."""
    monkeypatch.setenv("COLUMNS", "30")
    for out in (OnTerminal(30), Transcript(30)):
        out.facts([("name", "a value that is longer than a line")])
        out.sentence(" - a sentence of words that goes on")
        broken = ["name  a value that is longer", "      than a line", " - a sentence of words that", "   goes on"]
        whole = ["name  a value that is longer than a line", " - a sentence of words that goes on"]
        assert out.lines == (broken if out.terminal else whole)
