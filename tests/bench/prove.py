"""What ``lab prove`` finds on real PostgreSQL servers, and how long ``--quick`` takes on each engine's server here.

PostgreSQL is real, each version of this machine; the other servers are emulated ones.
"""

from __future__ import annotations

import json
import re
import tempfile
import time
from pathlib import Path
from typing import Any
from unittest import mock

from tests.bench.measurement import Measurement
from tests.labs.postgresql import installations
from tests.prove import places
from tests.prove.__main__ import WHERE, run

COMMAND = "python -m tests.bench prove"
APART = re.compile(r"([\d.]+)% apart")


def measurements() -> list[Measurement]:
    """Minutes of a quick proof by engine, and the worst errors against the session's own figures on PostgreSQL."""
    claims: list[dict[str, Any]] = []
    for version in installations():
        with mock.patch.object(places, "installations", lambda version=version: {version: installations()[version]}):
            minutes, page = _quick("postgresql")
        claims += [{**claim, "version": page["version"]} for claim in page["claims"]]
    worst = [_worst(sort, [claim for claim in claims if claim["sort"] == sort]) for sort in ("wait", "reads")]
    others = [_minutes(engine, *_quick(engine)) for engine in sorted(WHERE.keys() - {"postgresql"})]
    return [_minutes("postgresql", minutes, page), *worst, *others]


def _quick(engine: str) -> tuple[float, dict[str, Any]]:
    """Minutes of one run, from an empty schema to its page; and the page."""
    with tempfile.TemporaryDirectory(prefix="hotplace-bench-") as folder:
        path, began = Path(folder) / "page.json", time.monotonic()
        run(engine, path, quick=True)
        return (time.monotonic() - began) / 60.0, json.loads(path.read_text(encoding="utf-8"))


def _minutes(engine: str, minutes: float, page: dict[str, Any]) -> Measurement:
    counts = ", ".join(f"{count} {result}" for result, count in page["counts"].items())
    return {
        "name": f"prove.quick_minutes.{engine}", "value": minutes, "unit": "min", "better": "lower",
        "command": COMMAND, "note": f"{page['server']} server {page['version']}, its start included; claims: {counts}",
    }  # fmt: skip


def _worst(name: str, claims: list[dict[str, Any]]) -> Measurement:
    errors = {
        f"{claim['name']} on {claim['version']}": float(found[1]) / 100
        for claim in claims
        if (found := APART.search(claim["evidence"]))
    }
    worst = max(errors, key=lambda each: errors[each])
    return {
        "name": f"prove.{name}_error_max.postgresql", "value": errors[worst], "unit": "of the session's own figure",
        "better": "lower", "command": COMMAND,
        "note": f"{len(errors)} loads, at best of at most six tries each; not tried: {len(claims) - len(errors)}; "
        f"worst: {worst}",
    }  # fmt: skip
