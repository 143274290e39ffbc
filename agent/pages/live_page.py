"""The live page: how full the tiers are, who waits, what moves or why it does not, the units that matter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import cache
from math import isfinite
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from agent.model.answers.kind import mapping_of
from agent.model.answers.watching import (
    DatabaseStatus,
    DatabaseWatched,
    MoveWatched,
    StatusShown,
    TopShown,
)
from agent.model.states import ProposalState
from agent.model.summary import named_lines
from agent.model.units_of_measure import format_when
from agent.pages.plots import VARIABLES, Figure
from agent.service.sending import SAID_BESIDE
from agent.service.snapshot import Snapshot
from connectors.model.formatting import (
    format_bytes,
    format_ratio,
    format_seconds,
    format_sessions,
    format_wait,
    printable,
)
from policies.evidence.prices import HOUR, is_measured, waited_seconds

REFRESH_SECONDS = 5
ROLES = {"log": "log", "temp": "temporary space", "undo": "undo space"}


def render_page(
    status: StatusShown,
    top: TopShown,
    snapshots: Mapping[str, Snapshot],
    history: Mapping[str, Sequence[Figure]],
    *,
    guarded: bool,
) -> str:
    """The page of all databases; every text from a database is escaped.

    Args:
        status: the answer of ``hotplace status``.
        top: the answer of ``hotplace top``.
        snapshots: what each watch knows, by database.
        history: pictures of the last day, by database.
        guarded: the reader has shown a password or a certificate, and may read who asked for what.
    """
    tops = {each.database: each for each in top.databases}
    parts = [
        _part(each, tops[each.database], snapshots.get(each.database), status.at, guarded=guarded)
        for each in status.databases
    ]
    for number, part in enumerate(parts):  # an identifier is unique on a page
        figures = history.get(part["name"], ())
        part["history"] = [replace(figure, name=f"{figure.name}-{number}") for figure in figures]
    shown = {"at": format_when(status.at), "refresh": REFRESH_SECONDS, "guarded": guarded, "colors": VARIABLES}
    return _template().render(status=status, parts=parts, **shown)


def _part(
    status: DatabaseStatus, top: DatabaseWatched, snapshot: Snapshot | None, at: datetime, *, guarded: bool
) -> dict[str, Any]:
    """One database, as the template shows it."""
    daemon = status.daemon.status
    troubles = (_why_nothing_is_sent(status, snapshot, at), daemon and daemon.error)
    return {
        "name": status.database,
        "engine": status.engine,
        "daemon": top.daemon,
        "window": top.window.sentence,
        "problems": [*(trouble for trouble in troubles if trouble), *status.groups_left_worse],
        "spaces": list(status.spaces or ()),
        "read_times": {tier.name: tier.random_read_seconds for tier in status.tiers or ()},
        "waits": [] if snapshot is None else waits_of(snapshot),
        "proposals": [proposal for proposal in status.proposals if proposal.state is ProposalState.PROPOSED],
        "moves": [_move(move, top, guarded=guarded) for move in top.moves],
        "units": top.units,
    }


def _why_nothing_is_sent(status: DatabaseStatus, snapshot: Snapshot | None, at: datetime) -> str:
    """What this agent itself knows, or else the ledger; "" where something may be sent, or a line beside says it."""
    own = None if snapshot is None else snapshot.sending(at)
    found = status.sending if own is None else own.shown
    return "" if found.state in {"allowed", *SAID_BESIDE} else found.sentence


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


def _move(move: MoveWatched, top: DatabaseWatched, *, guarded: bool) -> dict[str, Any]:
    """A move with its progress and what there is to say of it. Who asked for something is for those who may know."""
    running = top.running if top.running is not None and top.running.move == move.id else None
    why = [each.why for each in top.waiting if each.move == move.id]
    if running is not None and running.sentence:
        why = [running.sentence]
    said = move.sentence if guarded else "; ".join(why)
    return {**mapping_of(move), "ratio": running.done_ratio if running else None, "said": said,
            "left_seconds": running.left_seconds if running else None}  # fmt: skip


@cache
def _template() -> Template:
    environment = Environment(
        loader=PackageLoader("agent.pages", "templates"), autoescape=True, finalize=_visible, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    environment.filters |= {
        "bytes": format_bytes,
        "seconds": format_seconds,
        "ratio": format_ratio,
        "wait": format_wait,
        "sessions": format_sessions,
        "lines": named_lines,
    }
    return environment.get_template("page.html")


def _visible(value: object) -> object:
    """Control characters in names as escapes."""
    return type(value)(printable(value, keep="\n")) if isinstance(value, str) else value
