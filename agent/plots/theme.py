"""How every plot looks. Colours are CSS variables: a page sets them, and a file of its own brings them along.

Importing this module sets the library's theme, which is a module of values and the same for all charts of a process.
"""

from __future__ import annotations

from typing import Final

from leather import theme

FONT_SIZE: Final = 12
CHARACTER: Final = 7  # width of one at that size, on average
MARGIN_RATIO: Final = 0.06  # of the width: half of the longest label below the axis
INK, MUTED, GRID, PAPER = "var(--ink)", "var(--muted)", "var(--grid)", "var(--paper)"
BAND, HEAT = "var(--band)", "var(--heat)"
SERIES: Final = tuple(f"var(--series-{number})" for number in range(1, 6))
GOOD, BAD, OPEN = "var(--series-3)", "var(--series-2)", "var(--series-5)"

# The series differ in lightness as well, and keep a contrast of 3 to the paper in both schemes (WCAG 1.4.11).
LIGHT: Final = (
    "--ink: #1b1f24; --muted: #57606a; --grid: #dfe3e8; --paper: #ffffff; --panel: #f6f8fa; --line: #d0d7de; "
    "--series-1: #0b5394; --series-2: #c2410c; --series-3: #2e7d32; --series-4: #7b3fa0; --series-5: #6b7280; "
    "--heat: #b3360b; --band: #0b539422; --bad: #b42318; --link: #0b5394;"
)
DARK: Final = (
    "--ink: #e6edf3; --muted: #a3adb8; --grid: #30363d; --paper: #0d1117; --panel: #161b22; --line: #3d444d; "
    "--series-1: #6cb6ff; --series-2: #ff9b54; --series-3: #6bc46d; --series-4: #d2a8ff; --series-5: #9aa4af; "
    "--heat: #ff8a4c; --band: #6cb6ff33; --bad: #ff7b72; --link: #6cb6ff;"
)
VARIABLES: Final = (  # for a page or a file: dark where the reader wants it, light on paper
    f":root {{ color-scheme: light dark; {LIGHT} }}\n"
    f"@media screen and (prefers-color-scheme: dark) {{ :root {{ {DARK} }} }}\n"
)

theme.background_color = "none"
theme.margin = MARGIN_RATIO
theme.title_color = INK
theme.legend_color = theme.label_color = theme.axis_title_color = MUTED
theme.tick_color, theme.zero_color = GRID, MUTED
theme.default_series_colors = list(SERIES)
theme.title_font_size = FONT_SIZE + 1
theme.legend_font_size = theme.axis_title_font_size = theme.tick_font_size = FONT_SIZE
theme.legend_font_char_width = theme.axis_title_font_char_width = theme.tick_font_char_width = CHARACTER
theme.legend_font_char_height = theme.tick_font_char_height = theme.axis_title_font_char_height = FONT_SIZE
theme.title_font_family = theme.legend_font_family = theme.axis_title_font_family = "inherit"
theme.tick_font_family = "inherit"
