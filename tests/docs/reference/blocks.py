"""Generated parts of a page: found by their marks, replaced in place."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

PAGES = Path(__file__).resolve().parents[3] / "docs" / "pages"
BLOCK = re.compile(r"<!-- generated: (?P<name>[^\n]+?) -->\n.*?<!-- end -->\n", re.DOTALL)


class UnknownBlock(Exception):
    """A page asks for a generated part that nothing in the code stands for."""


def names_in(text: str) -> list[str]:
    r"""Names of the generated parts of a page, in order.

    >>> names_in("<!-- generated: verdict idle -->\nold\n<!-- end -->\nby hand\n")
    ['verdict idle']
    """
    return [match["name"] for match in BLOCK.finditer(text)]


def fill(text: str, blocks: Mapping[str, str]) -> str:
    r"""A page with its generated parts as the code has them now.

    >>> fill("# A\n<!-- generated: x -->\nold\n<!-- end -->\nby hand\n", {"x": "new"})
    '# A\n<!-- generated: x -->\n\nnew\n\n<!-- end -->\nby hand\n'

    Raises:
        UnknownBlock: there is no part of that name (any more).
    """

    def filled(match: re.Match[str]) -> str:
        name = match["name"]
        if name not in blocks:
            raise UnknownBlock(f"{name!r} is not in the code (any more); remove its section from the page")
        return f"<!-- generated: {name} -->\n\n{blocks[name].strip()}\n\n<!-- end -->\n"

    return BLOCK.sub(filled, text)


def table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    r"""A Markdown table.

    >>> print(table(("a", "b"), [("1", "x|y")]))
    | a | b |
    |---|---|
    | 1 | x\|y |
    """
    lines = [head, ("---",) * len(head), *(tuple(cell.replace("|", "\\|") for cell in row) for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" if line[0] != "---" else f"|{'|'.join(line)}|" for line in lines)
