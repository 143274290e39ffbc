"""The live page: how full the tiers are, who waits, what moves or why it does not, the units that matter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cache
from math import isfinite
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from agent.model.units_of_measure import format_when
from agent.service.snapshot import Snapshot
from agent.terminal.output import printable
from connectors.formatting import format_bytes, format_ratio, format_seconds, format_sessions, format_wait
from policies.benefit.foreground_wait import HOUR
from policies.benefit.roles import is_measured, waited_seconds

REFRESH_SECONDS = 5
ROLES = {"log": "log", "temp": "temporary space", "undo": "undo space"}


def render_page(
    status: Mapping[str, Any], top: Mapping[str, Any], snapshots: Mapping[str, Snapshot], *, guarded: bool
) -> str:
    """The page of all databases; every text from a database is escaped.

    Args:
        status: the document of ``hotplace status``, as plain values.
        top: the document of ``hotplace top``, likewise.
        snapshots: what each watch knows, by database.
        guarded: whoever reads it has shown a password or a certificate, and may read who asked for what.
    """
    tops = {database["database"]: database for database in top["databases"]}
    parts = [
        _part(database, tops[database["database"]], snapshots.get(database["database"]), guarded=guarded)
        for database in status["databases"]
    ]
    at = format_when(datetime.fromisoformat(status["at"]))
    return _template().render(status=status, at=at, parts=parts, refresh=REFRESH_SECONDS, guarded=guarded)


def _part(
    status: Mapping[str, Any], top: Mapping[str, Any], snapshot: Snapshot | None, *, guarded: bool
) -> dict[str, Any]:
    """One database, as the template shows it."""
    daemon = status["daemon"]["status"] or {}
    return {
        "name": status["database"],
        "engine": status["engine"],
        "daemon": top["daemon"],
        "window": top["window"]["sentence"],
        "problems": [*(daemon[key] for key in ("untrusted", "error") if daemon.get(key)), *status["groups_left_worse"]],
        "spaces": [_space(space) for space in status["spaces"] or ()],
        "read_times": {tier["name"]: tier["random_read_seconds"] for tier in status["tiers"] or ()},
        "waits": [] if snapshot is None else waits_of(snapshot),
        "proposals": [proposal for proposal in status["proposals"] if proposal["state"] == "proposed"],
        "moves": [_move(move, top, guarded=guarded) for move in top["moves"]],
        "units": top["units"],
    }


def waits_of(snapshot: Snapshot) -> list[tuple[str, float]]:
    """What sessions wait for, as average sessions that wait: its words, and their number."""
    waits = []
    if snapshot.worth is not None and isfinite(snapshot.worth.wait_per_hour):
        waits.append(("reads of units", snapshot.worth.wait_per_hour / HOUR))
        waits.append(("of these the last plan would spare", snapshot.worth.wait_saved_per_hour / HOUR))
    waits += [
        (f"{ROLES[figures.role]} {figures.name}", waited_seconds(figures))
        for figures in snapshot.roles
        if is_measured(figures)
    ]
    return waits


def _space(space: Mapping[str, Any]) -> dict[str, Any]:
    """A space with its fill in percent; None where its free room is not known."""
    used, free = space["used_bytes"], space["free_bytes"]
    known = used is not None and free is not None and used + free > 0
    return {**space, "fill": used / (used + free) if known else None}


def _move(move: Mapping[str, Any], top: Mapping[str, Any], *, guarded: bool) -> dict[str, Any]:
    """A move with its progress and what there is to say of it. Who asked for something is for those who may know."""
    running = top["running"] if top["running"] and top["running"]["move"] == move["id"] else None
    why: Sequence[str] = [each["why"] for each in top["waiting"] if each["move"] == move["id"]]
    if running and running["sentence"]:
        why = [running["sentence"]]
    said = move["sentence"] if guarded else "; ".join(why)
    return {**move, "ratio": running["done_ratio"] if running else None, "said": said,
            "left_seconds": running["left_seconds"] if running else None}  # fmt: skip


@cache
def _template() -> Template:
    environment = Environment(
        loader=PackageLoader("agent.web", "templates"), autoescape=True, finalize=_visible, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    environment.filters |= {
        "bytes": format_bytes,
        "seconds": format_seconds,
        "ratio": format_ratio,
        "wait": format_wait,
        "sessions": format_sessions,
    }
    return environment.get_template("page.html")


def _visible(value: object) -> object:
    """Control characters in names as escapes."""
    return type(value)(printable(value, keep="\n")) if isinstance(value, str) else value
