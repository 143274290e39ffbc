"""Write the generated parts of all pages again: ``python -m tests.docs.reference``."""

from __future__ import annotations

import sys

from tests.docs.reference.blocks import PAGES, fill
from tests.docs.reference.everything import all_blocks
from tests.docs.reference.schemas import write_schemas


def main() -> None:
    """Write what has changed and name those pages."""
    blocks = all_blocks()
    for path in sorted(PAGES.rglob("*.md")):
        before = path.read_text(encoding="utf-8")
        after = fill(before, blocks)
        if after != before:
            path.write_text(after, encoding="utf-8")
            sys.stdout.write(f"{path.relative_to(PAGES)} written\n")
    for path in write_schemas():
        sys.stdout.write(f"{path.relative_to(PAGES)} {'written' if path.exists() else 'removed'}\n")


if __name__ == "__main__":
    main()
