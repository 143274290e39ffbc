"""Plays a recording again through the real connector, sampler and planner; asks no server.

Heat, speeds, history and plans come about as they did when it was recorded: from the same answers, at the same times.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from agent.config import DatabaseConfig, Level
from agent.config.mistakes import GONE
from agent.ledger import Ledger
from agent.service.watch import Watch
from agent.what_if.recording import LastPlan
from connectors.base import Clock
from connectors.recording.clock import wall_time
from connectors.recording.columns import table_of
from connectors.recording.events import Moment, Work
from connectors.recording.reading import BadRecording, Reader
from connectors.recording.taps import ReplayTap


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """A recording after it was played, with the ledger that came of it."""

    database: DatabaseConfig
    ledger: Ledger
    clock: Clock  # stands at the end of the recording
    names: str  # "plain" or "hashed"
    version: str  # of hotplace that recorded it
    since: datetime
    ended: str  # why the recording ended; "": it is damaged
    damage: str  # where, "" where it is not
    last: LastPlan


@contextmanager
def play_recording(
    path: Path, *, policy: Mapping[str, Any] | None = None, until_damage: bool = False
) -> Iterator[Replayed]:
    """Play a recording from its beginning to its end.

    Args:
        path: of the file.
        policy: values of the policy part, by key as they are written, in place of the recorded ones.
        until_damage: play what is before the damage of a damaged file.

    Raises:
        BadRecording: the file is no recording, or it is damaged and ``until_damage`` was not given.
        ConnectorError: the driver of its engine is missing.
    """
    reader = Reader(path)
    with ExitStack() as ending:
        try:
            database = _database_of(reader.head, policy or {})
            began, columns = Moment(*reader.head["began"]), dict(reader.head["columns"])
            table = table_of(database.engine)
        except (KeyError, TypeError, ValidationError) as error:
            raise BadRecording(
                f"the head of {path} cannot be used: {error}", advice="Read it with the version that wrote it."
            ) from error
        connect = database.engine_record.tapped
        if table is None or connect is None:
            raise BadRecording(f"{path} is of {database.engine}, which cannot be replayed", advice="")
        tap = ReplayTap(reader.events(), began, table, columns)
        # A ledger on disk and not in memory: what is played is the daemon's own path, its transactions included.
        folder = Path(ending.enter_context(tempfile.TemporaryDirectory(prefix="hotplace-")))
        ledger = Ledger.open(folder / "ledger.db", tap.clock)
        ending.callback(ledger.close)
        connector = connect(database.connection, tap.clock, tap)
        watch = Watch(database, ledger, tap.clock, level=Level.PROPOSE, dry_run=True, connector=connector)
        ending.callback(watch.close, save=False)
        last, damage = LastPlan(watch), ""
        try:
            for work in tap.works():
                last.do(work)
        except BadRecording as error:
            if not until_damage:
                raise
            damage = str(error)
        if last.planning is None and last.samples:
            last.do(Work.PLAN)  # it ended before one was made: no move has a route, but the history can be played
        yield Replayed(
            database=database, ledger=ledger, clock=tap.clock, names=reader.head["names"],
            version=reader.head["hotplace"], since=wall_time(began), ended=tap.ended, damage=damage, last=last,
        )  # fmt: skip


def _database_of(head: Mapping[str, Any], policy: Mapping[str, Any]) -> DatabaseConfig:
    entry = {key: _without_gone_keys(value) for key, value in head["database"].items()}
    return DatabaseConfig.model_validate({**entry, "policy": {**entry.get("policy", {}), **policy}})


def _without_gone_keys(part: Any) -> Any:  # noqa: ANN401  # whatever a recording holds
    """A recorded part without what an earlier version let people configure: it can be played all the same."""
    if isinstance(part, list):
        return [_without_gone_keys(each) for each in part]
    return {key: value for key, value in part.items() if key not in GONE} if isinstance(part, Mapping) else part
