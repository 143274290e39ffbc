"""Recordings of a database: made, and read with their names and settings.

``head_of`` is what a recording holds of the configuration. ``names_of`` says how it writes names.

``save_names`` keeps what pseudonyms stand for, in a file next to the key of the recording.

``record`` writes down what the connector reads of a database for a given time, and changes nothing. The agent watches
the database as usual, with a ledger of its own that is thrown away. Its decisions rest only on what is in the
recording, so a replay comes to the same plan. Pins are left out.
"""

from __future__ import annotations

import json
import os
import secrets
import stat
import tempfile
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import IO, Any

from agent.config.files import read_config
from agent.config.mistakes import read_document
from agent.config.models import DatabaseConfig, Level
from agent.config.tiers import KINDS
from agent.ledger.ledger import Ledger
from agent.model.proposals import Proposal
from agent.planning.planner import Planning
from agent.planning.ranking import Prospect
from agent.service.watch import Watch
from connectors.kit.contract import Clock, ConnectorError, HotplaceError
from connectors.kit.files import parse_json, read_given
from connectors.kit.recorded_columns import HashedNames, Names, PlainNames, RealNames, table_of
from connectors.kit.recording_file import Work, Writer
from connectors.kit.sessions import interrupts_noted
from connectors.kit.taps import RecordingTap, Tally, moment_of, wall_time

KEY_BYTES = 32
# Keys of a database that hold figures and times only. What has names in it, or leads to the server, is not among them.
FIGURES = frozenset(
    {
        *("sample_every", "plan_every", "settle", "proposal_expires", "retries", "windows", "time_zone"),
        *(
            "excluded_days",
            "window_bytes",
            "window_copy_time",
            "copy_safety",
            "maximum_stall",
            "measured",
            "not_measured",
            "policy",
        ),
        *("by_hand", "block_looks", "border_values", "read_time_limit", "read_time_abort"),
    }
)


class NotRecordable(HotplaceError):
    """The engine, the key or the file does not allow a recording."""


def names_of(database: DatabaseConfig, key_file: Path | None) -> Names:
    """How names are written: pseudonyms under the key of that file, which is made where it is missing; None: plain.

    Raises:
        NotRecordable: the file cannot be used.
    """
    if key_file is None:
        return PlainNames()
    table = table_of(database.engine)
    if table is None:
        raise _no_table(database.engine)
    return HashedNames(_key_of(key_file), table.vendor, table.vendor_patterns)


def _key_of(path: Path) -> bytes:
    try:
        # The key of earlier recordings stays: under another one the same object would have another name.
        with suppress(FileExistsError), _new_private_file(path) as file:
            file.write(f"{secrets.token_hex(KEY_BYTES)}\n")
        if stat.S_IMODE(path.stat().st_mode) & 0o077:
            raise NotRecordable(f"{path} can be read by others", advice=f"Make it yours alone: chmod 600 {path}")
        key = bytes.fromhex(path.read_text(encoding="ascii").strip())
    except (OSError, ValueError) as error:
        raise NotRecordable(
            f"{path} is no key for names: {error}",
            advice="Name another file with --key; it is made where it is missing.",
        ) from error
    if len(key) < KEY_BYTES:
        raise NotRecordable(f"{path} holds a key of {len(key)} bytes", advice=f"It needs {KEY_BYTES}; remove the file.")
    return key


def _new_private_file(path: Path) -> IO[str]:
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600), "w", encoding="ascii")


def written_entry(config_path: Path, name: str) -> dict[str, Any]:
    """The entry of a database as the configuration file has it."""
    values = read_document(read_config(config_path), str(config_path)).values
    found: dict[str, Any] = next(entry for entry in values["databases"] if entry["name"] == name)
    return found


def head_of(entry: Mapping[str, Any], names: Names) -> dict[str, Any]:
    """What a recording tells of the configuration: all that shapes a plan, and nothing that leads to the server.

    Args:
        entry: of the database, as the configuration file has it.
        names: how to write them.

    Raises:
        NotRecordable: the engine cannot be recorded.
    """
    table = table_of(str(entry["engine"]))
    if table is None:
        raise _no_table(str(entry["engine"]))
    figures = {key: value for key, value in entry.items() if key in FIGURES}
    return {
        "hotplace": version("hotplace"),
        "names": names.word,
        "columns": table.column_names(),
        "database": {
            **figures,
            "name": names.name(str(entry["name"])),
            "engine": entry["engine"],
            "connection": table.connection(entry.get("connection") or {}, names),
            "tiers": [_tier(tier, names) for tier in entry["tiers"]],
        },
    }


def _no_table(engine: str) -> NotRecordable:
    return NotRecordable(
        f"a database of engine {engine} cannot be recorded", advice="PostgreSQL, Db2, SQL Server and Oracle can."
    )


def _tier(tier: Mapping[str, Any], names: Names) -> dict[str, Any]:
    name = str(tier["name"])
    return {
        **tier,
        "name": name if name in KINDS else names.name(name),
        "spaces": [_space(space, names) for space in tier["spaces"]],
    }


def _space(space: Any, names: Names) -> Any:  # noqa: ANN401  # a name, or a name with a capacity
    if isinstance(space, Mapping):
        return {**space, "name": _space(space["name"], names)}
    is_place = space.startswith(("/", "+")) or space[1:3] == ":\\"
    return names.path(space) if is_place else names.name(space)


LARGEST_BYTES = 256 * 2**20
SUFFIX = ".json"  # in place of that of the key


def save_names(key_file: Path, known: Mapping[str, str]) -> Path:
    """Note names by pseudonym, added to those of earlier recordings with this key; the file, its owner's alone.

    Raises:
        NotRecordable: it cannot be written.
    """
    path = key_file.with_suffix(SUFFIX)
    every = {**(_read(path) if path.exists() else {}), **known}
    try:
        # Rewritten next to it: a process that reads it meanwhile finds it whole.
        part = path.with_name(f"{path.name}.part")
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600), "w") as file:
            json.dump(every, file, ensure_ascii=True, indent=0, sort_keys=True)
        part.replace(path)
    except OSError as error:
        raise NotRecordable(f"{path} cannot be written: {error.strerror}", advice="Name another --key.") from error
    return path


def load_names(path: Path) -> RealNames:
    """What pseudonyms stand for, by such a file.

    Raises:
        NotRecordable: it is none.
    """
    return RealNames(_read(path))


def _read(path: Path) -> dict[str, str]:
    advice = "hotplace lab record writes such a file next to its key."
    try:
        found = parse_json(read_given(path, LARGEST_BYTES).decode("ascii"))
    except (OSError, ValueError) as error:
        raise NotRecordable(f"{path} does not say what pseudonyms stand for: {error}", advice=advice) from error
    if not (isinstance(found, dict) and all(isinstance(name, str) for name in found.values())):
        raise NotRecordable(f"{path} does not say what pseudonyms stand for", advice=advice)
    return found


SHORTEST_SECONDS = 0.05  # between two samples
NAP_SECONDS = 0.25  # between looks at the progress bar
WHOLE, INTERRUPTED = "whole", "interrupted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """What a recording holds."""

    path: Path
    bytes: int
    since: datetime
    until: datetime
    ended: str
    tally: Tally
    last: LastPlan


@dataclass(slots=True)
class LastPlan:
    """What was made of a database so far, while it is recorded and while it is replayed alike."""

    watch: Watch
    samples: int = 0
    failed: int = 0
    planning: Planning | None = None
    proposal: Proposal | None = None
    prospect: Prospect | None = None

    def do(self, work: Work) -> None:
        """One sample, or one plan.

        Raises:
            ConnectorError: the very first sample failed; later ones are counted.
        """
        try:
            if work is Work.SAMPLE:
                self.watch.sample()
                self.samples += 1
            else:
                self._plan()
        except ConnectorError:
            if not self.samples:
                raise
            self.failed += 1

    def _plan(self) -> None:
        planning = self.watch.plan()
        if planning is not None:
            self.planning, self.proposal = planning, self.watch.proposal(planning)
            self.prospect = self.watch.prospect(planning)


def record(
    database: DatabaseConfig,
    head: Mapping[str, Any],
    path: Path,
    names: Names,
    clock: Clock,
    *,
    seconds: float,
    progress: Callable[[float], None] = lambda _: None,
) -> Recorded:
    """Watch for so long, plan now and then and at the end, and write down what the connector reads.

    Ctrl-C ends the watching early; the plan at the end is still made, and the file is whole.

    Args:
        database: to watch.
        head: from ``head_of``.
        path: of the new file.
        names: how to write them.
        clock: time.
        seconds: to watch.
        progress: is given seconds as they pass.

    Raises:
        NotRecordable: the file exists already or cannot be written.
        ConnectorError: not even the first sample could be taken; there is no file then.
    """
    table, connect = table_of(database.engine), database.engine_record.tapped
    assert table is not None, "head_of() has seen to it"
    assert connect is not None, "an engine with a table has a tap"
    began = moment_of(clock)
    try:
        writer = Writer(path, {**head, "began": [began.wall, began.steady]})
    except OSError as error:
        raise NotRecordable(
            f"{path} cannot be written: {error.strerror}", advice="Name a new file in a folder of yours with --output."
        ) from error
    with ExitStack() as ending:
        ending.callback(writer.close)
        tap = RecordingTap(writer, table, names, clock)
        folder = Path(ending.enter_context(tempfile.TemporaryDirectory(prefix="hotplace-")))
        ledger = Ledger.open(folder / "ledger.db", tap.clock)
        ending.callback(ledger.close)
        plain = database.model_copy(update={"pins": ()})
        connector = connect(database.connection, tap.clock, tap)
        watch = Watch(plain, ledger, tap.clock, level=Level.PROPOSE, dry_run=True, connector=connector)
        ending.callback(watch.close, save=False)
        last = LastPlan(watch)
        try:
            ended = _Recording(last, tap, clock, progress).run(seconds, database.sample_seconds, database.plan_seconds)
        except BaseException:
            # A recording without its end could not be distinguished from one that was damaged on its way.
            path.unlink(missing_ok=True)
            raise
        tap.end(ended)
        writer.close()
    return Recorded(
        path=path, bytes=path.stat().st_size, since=wall_time(began), until=wall_time(moment_of(clock)), ended=ended,
        tally=tap.tally, last=last,
    )  # fmt: skip


@dataclass(slots=True)
class _Recording:
    """One recording under way."""

    last: LastPlan
    tap: RecordingTap
    clock: Clock
    progress: Callable[[float], None]

    def run(self, seconds: float, every: float, plan_every: float) -> str:
        """Sample and plan by the clock, and plan once more at the end; why the watching ended."""
        ended = WHOLE
        try:
            with interrupts_noted() as interrupted:
                self._watch(seconds, every, plan_every, interrupted)
        except KeyboardInterrupt:
            if not self.last.samples:
                raise
            ended = INTERRUPTED
        with suppress(KeyboardInterrupt):  # a second one: the plan is not waited for
            self._do(Work.PLAN)
        return ended

    def _watch(self, seconds: float, every: float, plan_every: float, interrupted: Callable[[], bool]) -> None:
        """A sample at the beginning, one at the end, and those in between at their times; two at least."""
        begun, plan_at = self.clock.monotonic(), plan_every
        due = 0.0
        while True:
            self._do(Work.SAMPLE)
            passed = self.clock.monotonic() - begun
            if due and passed >= seconds:
                return
            if plan_at <= passed:
                self._do(Work.PLAN)
                plan_at += plan_every
            due = max(min(seconds, due + every), passed + SHORTEST_SECONDS)
            self._sleep(begun + due, interrupted)

    def _sleep(self, until: float, interrupted: Callable[[], bool]) -> None:
        before = self.clock.monotonic()
        # In naps: the bar goes on, and an interrupt that was dropped by C code is still noticed.
        while (left := until - self.clock.monotonic()) > 0:
            self.clock.sleep(min(left, NAP_SECONDS))
            if interrupted():
                raise KeyboardInterrupt
            now = self.clock.monotonic()
            self.progress(now - before)
            before = now

    def _do(self, work: Work) -> None:
        self.tap.mark(work)
        try:
            self.last.do(work)
        except KeyboardInterrupt:
            self.tap.mark(Work.NONE)
            raise
