"""Tables on narrow terminals: what leaves, and what stays whole."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from agent.terminal.columns import Column
from agent.terminal.tables import SHORTEST_NAME, build_table, fit_columns, shorten_name
from tests.examples import examples

COLUMNS = (
    Column("unit", name=True), Column("tier"), Column("size", number=True), Column("sync/s", number=True, leaves=1),
    Column("miss", number=True, leaves=2), Column("verdict"),
)  # fmt: skip
ROW = ("public.order_lines_2026_06_pkey", "hdd", "127.6 MiB", "1,234.5", "92.9%", "gain_below_floor")
TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), max_size=60)


def drawn(width: int, *, whole: bool = False) -> tuple[str, list[str]]:
    """The table on a terminal of that width, and what was left out."""
    console = Console(width=width, color_system=None, force_terminal=True, markup=False)
    table, left_out = build_table(COLUMNS, [ROW], width, whole=whole)
    with console.capture() as captured:
        console.print(table)
    return captured.get(), left_out


def test_the_least_important_leaves_first() -> None:
    """Each narrower terminal has one column less; numbers and verdicts are whole on every one."""
    assert drawn(100)[1] == []
    assert drawn(70)[1] == ["miss"]
    text, left_out = drawn(64)
    assert left_out == ["sync/s", "miss"]
    assert {"127.6", "MiB", "hdd", "gain_below_floor"} <= set(text.split())
    assert max(map(cell_len, text.splitlines())) <= 64


def test_what_was_asked_for_never_leaves() -> None:
    """Where every column is wanted a row becomes a paragraph before anything is left out."""
    text, left_out = drawn(64, whole=True)
    assert left_out == []
    assert all(cell in text for cell in ROW)


@given(st.lists(TEXTS, min_size=6, max_size=6), st.integers(20, 200))
@settings(max_examples=examples(100))
def test_what_is_kept_fits(cells: list[str], width: int) -> None:
    """Whatever the cells: what may not leave stays, and the rest fits as numbers whole and names in their width."""
    fit = fit_columns(COLUMNS, [cells], width)
    if fit is None:
        return
    assert {0, 1, 2, 5} <= set(fit.kept)
    taken = [
        cell_len(shorten_name(cells[0], fit.name_width)),
        *(cell_len(cells[at]) for at in (2, 3, 4) if at in fit.kept),
    ]
    assert sum(taken) <= width


@given(TEXTS, st.integers(SHORTEST_NAME, 60))
def test_a_name_is_shortened_in_its_middle(name: str, width: int) -> None:
    """It fits, begins and ends as it did, and says that something is missing; a name that fits is itself."""
    short = shorten_name(name, width)
    assert cell_len(short) <= width
    if cell_len(name) <= width:
        assert short == name
    else:
        cuts = [at for at in range(len(short)) if short.startswith("...", at)]  # a name may have dots of its own
        assert any(name.startswith(short[:at]) and name.endswith(short[at + 3 :]) for at in cuts)
