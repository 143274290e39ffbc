"""The pages that are written for people, and what stands in their code."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

from tests.docs.reference.blocks import PAGES

ROOT = PAGES.parents[1]
WRITTEN = {  # page or file -> its text
    str(path.relative_to(ROOT)): path.read_text(encoding="utf-8")
    for path in (ROOT / "README.md", ROOT / "docs" / "CONTRIBUTING.md", *sorted(PAGES.rglob("*.md")))
}
CALL = re.compile(r"\s*(?:sudo -u hotplace )?hotplace (?:--config \S+ )?[a-z]")
INLINE = re.compile(r"`(hotplace [a-z][^`]*)`")


def page(name: str) -> str:
    """Text of one page, such as ``reference/metrics.md``."""
    return WRITTEN[f"docs/pages/{name}"]


def command_lines(text: str) -> Iterator[list[str]]:
    """Every line of code that calls hotplace, as the words behind ``hotplace``."""
    for line in text.splitlines():
        if line.startswith("    "):
            yield from (_words(part) for part in line.split(" ; ") if CALL.match(part))
        else:
            yield from (_words(found) for found in INLINE.findall(line))


def _words(line: str) -> list[str]:
    """The words of a command line, without the remark behind it and without where its output goes."""
    words = shlex.split(line, comments=True)
    words = words[words.index("hotplace", 3 if words[0] == "sudo" else 0) + 1 :]
    return words[2:] if words[0] == "--config" else words
