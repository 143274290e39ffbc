"""Plays in files: a table that takes half an hour is played in parts, and what was played is not played again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tests.bench.policies.wandering.stage import Score
from tests.bench.policies.wandering.table import Play


def keep(play: Play, path: Path) -> None:
    """Write one play, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    part.write_text(json.dumps(asdict(play)), encoding="utf-8")
    part.replace(path)


def read(path: Path) -> Play | None:
    """The play that is kept there; None: there is none."""
    if not path.exists():
        return None
    stored = json.loads(path.read_text(encoding="utf-8"))
    scores = {name: _score(stored[name]) for name in ("fixed", "product", "equal_pages")}
    return Play(
        shape=stored["shape"],
        seed=stored["seed"],
        delayed=_score(stored["delayed"]) if stored["delayed"] else None,
        rules=tuple(map(_score, stored["rules"])),
        most=tuple(stored["most"]),
        most_paid=stored["most_paid"],
        caches=tuple(map(_score, stored.get("caches", ()))),
        **scores,
    )


def _score(stored: Mapping[str, Any]) -> Score:
    return Score(**{**stored, "days": tuple(stored["days"])})
