"""What is published of the benchmarks: results.json for machines, RESULTS.md for people, both from the same rows."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path

from tests.bench.measurement import Measurement

FOLDER = Path(__file__).parent


def read_rows(folder: Path = FOLDER) -> list[Measurement]:
    """As they were written; none where nothing was."""
    path = folder / "results.json"
    rows: list[Measurement] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    return rows


def never(_name: str) -> bool:
    """No row goes."""
    return False


def write_rows(rows: Iterable[Measurement], folder: Path = FOLDER, *, outdated: Callable[[str], bool] = never) -> str:
    """Write rows among those of other benchmarks, and return the page.

    Args:
        rows: each takes the place of that of its name.
        folder: where both files are.
        outdated: names of earlier rows that go, also where no row takes their place.
    """
    kept = {row["name"]: row for row in read_rows(folder) if not outdated(row["name"])}
    kept.update({row["name"]: row for row in rows})
    lines = sorted(kept.values(), key=lambda row: row["name"])
    page = page_of(lines)
    (folder / "results.json").write_text(json.dumps(lines, indent=2) + "\n", encoding="utf-8")
    (folder / "RESULTS.md").write_text(page, encoding="utf-8")
    return page


def page_of(lines: Iterable[Measurement]) -> str:
    """The figures as a page for people."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    head = (
        "# What was measured\n\n"
        f"`make bench` on {os.cpu_count()} cores, {memory:.0f} GiB of memory, Python {platform.python_version()}, "
        f"{platform.system()}; {datetime.now(UTC):%Y-%m-%d}. Medians; machines differ and are noisy, so compare "
        "figures of one run with each other.\n\n"
        "| figure | value | unit | better | spread | command | note |\n|---|---:|---|---|---|---|---|\n"
    )
    rows = (
        f"| {line['name']} | {line['value']:.4g} | {line['unit']} | {line['better']} | {line.get('spread', '')} "
        f"| `{line['command']}` | {line.get('note', '')} |\n"
        for line in lines
    )
    return head + "".join(rows)
