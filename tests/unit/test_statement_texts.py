"""Texts of statements keep nothing that users entered."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from connectors.kit.statements import CUT, LONGEST, without_literals
from tests.over import over

SECRET = "tigerlily"


@over(
    ("text", "kept"),
    [
        ("SELECT 1, -2.5e3, 0xFF FROM t1 WHERE c2 = $1", "SELECT ?, -?, ? FROM t1 WHERE c2 = $1"),
        ("ALTER USER eva PASSWORD 'tigerlily'", "ALTER USER eva PASSWORD ?"),
        ("ALTER USER eva PASSWORD 'tigerlily", "ALTER USER eva PASSWORD ?"),
        ("SELECT 'it''s tigerlily', n'tigerlily', x'00'", "SELECT ?, ?, ?"),
        (r"SELECT e'it\'s tigerlily', E'' FROM t", "SELECT ?, ? FROM t"),
        (r"SELECT 'it\'s tigerlily' FROM t", f"SELECT {CUT}"),
        ("SELECT $$tigerlily$$, $a$ $$tigerlily$$ $a$, $1", "SELECT ?, ?, $1"),
        ("SELECT $a$ tigerlily", "SELECT ?"),
        ("select q'[it's tigerlily]', nq'!tigerlily!' from dual", "select ?, ? from dual"),
        ("select q'[it's tigerlily", "select ?"),
        ("SELECT a -- tigerlily\nFROM t /* tigerlily */ WHERE b = :b1", "SELECT a FROM t WHERE b = :b1"),
        ("SELECT a /* /* nested */ tigerlily */ FROM t", f"SELECT a {CUT}"),
        ('SELECT "my 1", [2 b] FROM #temp WHERE @p = 5', 'SELECT "my 1", [2 b] FROM #temp WHERE @p = ?'),
        ("SELECT /* tigerlily", "SELECT"),
        ("", ""),
    ],
)  # fmt: skip
def test_by_example(text: str, kept: str) -> None:
    """Literals, comments and white space by the rules of four engines, cut-off texts included."""
    assert without_literals(text) == kept
    assert SECRET not in kept


def test_quotes_that_may_enclose_texts() -> None:
    """With QUOTED_IDENTIFIER off, double quotes enclose texts in SQL Server."""
    assert (
        without_literals(f'SELECT * FROM t WHERE a = "{SECRET}"', quoted_names=False) == "SELECT * FROM t WHERE a = ?"
    )


def test_long_texts_are_cut() -> None:
    """Enough to recognise a statement."""
    found = without_literals("SELECT " + ", ".join(f"c{each}" for each in range(999)))
    assert len(found) == LONGEST + len(CUT)


@given(st.integers(0, 200))
def test_a_text_may_be_cut_off_anywhere(length: int) -> None:
    """Engines keep so many bytes of a statement; whatever they left of a literal does not show."""
    text = (
        f"SELECT '{SECRET}', E'\\'{SECRET}', $a${SECRET}$a$, q'[{SECRET}]' -- {SECRET}\n"
        f"FROM t WHERE a = N'{SECRET}' /* {SECRET} */ AND b = 'it''s {SECRET}'"
    )
    assert SECRET[:4] not in without_literals(text[:length])
