"""Pictures of heat over place and time."""

from __future__ import annotations

import numpy as np

from agent.terminal.charts import HEAT_LABEL, ROWS, SHADES, heat_map


def test_the_hottest_place_is_the_darkest_at_its_time() -> None:
    """Places go down, times across."""
    heat = np.zeros((4, ROWS))
    heat[1, 3], heat[2, 3] = 10.0, 5.0
    lines = heat_map(heat, ("then", "now"), ROWS * 2**20, columns=80)
    assert lines[3] == f"{'3.0 MiB':>{HEAT_LABEL - 1}} | {SHADES[-1]}{SHADES[5]} |"
    assert lines[4].endswith("|    |")
    assert "then" in lines[-1]
    assert "now" in lines[-1]


def test_a_week_fits_a_narrow_terminal() -> None:
    """Hours that share a column show their mean; no line is longer than the terminal."""
    heat = np.tile(np.arange(128.0), (168, 1))
    lines = heat_map(heat, ("2026-01-01 00:00 UTC", "2026-01-08 00:00 UTC"), 2**40, columns=60)
    assert max(map(len, lines)) <= 60
    assert [line[HEAT_LABEL + 1] for line in lines[:-1]] == sorted(
        (line[HEAT_LABEL + 1] for line in lines[:-1]), key=SHADES.index
    )


def test_no_heat_is_a_blank_picture() -> None:
    """And no division by nothing."""
    assert heat_map(np.zeros((1, 3)), ("now", "now"), 3, columns=80)[0].endswith("| |")
