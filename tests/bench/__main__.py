"""Run every benchmark, write RESULTS.md and results.json: ``make bench``, or ``python -m tests.bench [NAME ...]``."""

from __future__ import annotations

import importlib
import json
import os
import platform
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

from tests.bench.measurement import Measurement

HERE = Path(__file__).parent
MODULES = ("policy", "policy_baselines", "history", "agent_cost", "postgresql_cost", "oracle_cost")


def main(names: list[str]) -> int:
    """Measure what is asked for, keep the other figures as they are."""
    unknown = sorted(set(names) - set(MODULES))
    if unknown:
        print(f"no benchmark is named {', '.join(unknown)}; there are {', '.join(MODULES)}", file=sys.stderr)  # noqa: T201
        return 2
    results = {line["name"]: line for line in _read()}
    for name in names or MODULES:
        started = time.monotonic()
        print(f"{name} ...", file=sys.stderr, flush=True)  # noqa: T201
        for line in importlib.import_module(f"tests.bench.{name}").measurements():
            results[line["name"]] = line
        print(f"{name} took {time.monotonic() - started:.0f} s", file=sys.stderr)  # noqa: T201
    lines = sorted(results.values(), key=lambda line: line["name"])
    (HERE / "results.json").write_text(json.dumps(lines, indent=2) + "\n", encoding="utf-8")
    (HERE / "RESULTS.md").write_text(_page(lines), encoding="utf-8")
    print(_page(lines))  # noqa: T201
    return 0


def _read() -> list[Measurement]:
    path = HERE / "results.json"
    lines: list[Measurement] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    return lines


def _page(lines: list[Measurement]) -> str:
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


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
