"""Taps of a session: one writes down what a server answers, the other answers what was written down.

The time of a recording: it stands still between two events, so that it is the same when they are played again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from connectors.kit import contract
from connectors.kit.contract import Clock, ConnectorError, NotRecorded, Row, Values
from connectors.kit.recorded_columns import Names, RecordedTable, ValueRefused
from connectors.kit.recording_file import EPOCH, Asked, BadRecording, End, Event, Mark, Moment, Work, Writer, key_of

MICROSECOND = timedelta(microseconds=1)


class EventClock:
    """Shows the moment of the last event."""

    def __init__(self, pause: Callable[[float], None], at: Moment) -> None:
        """Take what waits, and the moment to begin with."""
        self.at = at
        self._pause = pause

    def now(self) -> datetime:
        """Wall-clock time, aware, UTC."""
        return wall_time(self.at)

    def monotonic(self) -> float:
        """Seconds on a clock that never jumps."""
        return self.at.steady / 1e6

    def sleep(self, seconds: float) -> None:
        """Wait; the time shown stays."""
        self._pause(seconds)


def moment_of(clock: Clock) -> Moment:
    """Now."""
    return Moment((clock.now() - EPOCH) // MICROSECOND, round(clock.monotonic() * 1e6))


def wall_time(moment: Moment) -> datetime:
    """The instant on the wall, aware, UTC."""
    return EPOCH + moment.wall * MICROSECOND


@dataclass(slots=True, kw_only=True)
class Tally:
    """What went into a recording, and what did not."""

    queries: int = 0
    errors: int = 0
    dropped: set[str] = field(default_factory=set)  # columns with a value of another kind than their table says
    left_out: set[str] = field(default_factory=set)  # queries for which nothing was recorded


class RecordingTap:
    """Asks the server, and writes down what may be recorded of the answer."""

    def __init__(self, writer: Writer, table: RecordedTable, names: Names, clock: Clock) -> None:
        """Listen with the given clock; ``clock`` of this object is what connector and agent have to use."""
        self.clock = EventClock(clock.sleep, moment_of(clock))
        self.tally = Tally()
        self._writer = writer
        self._table = table
        self._names = names
        self._real = clock

    def mark(self, work: Work) -> None:
        """Some work begins."""
        self.clock.at = moment_of(self._real)
        self._writer.write_mark(Mark(self.clock.at, work))

    def end(self, why: str) -> None:
        """Nothing follows."""
        self._writer.write_end(End(moment_of(self._real), why))

    def answer(self, name: str, values: Values, ask: Callable[[], list[Row]], *, doing: str) -> list[Row]:
        """The server's own answer, names and all; only what is written is without them."""
        began = self.clock.at = moment_of(self._real)
        rows: list[Row] = []
        error: ConnectorError | None = None
        try:
            rows = ask()
        except ConnectorError as refusal:
            # Written too: when it is replayed, the connector has to meet the same refusal.
            error = refusal
        self.clock.at = moment_of(self._real)
        self._write(name, values, rows, error, began_at=began, doing=doing)
        if error is not None:
            raise error
        return rows

    def _write(
        self, name: str, values: Values, rows: list[Row], error: ConnectorError | None, *, began_at: Moment, doing: str
    ) -> None:
        try:
            found, dropped = self._table.rows(name, rows, self._names)
            kept = self._table.values(name, values, self._names)
        except (ValueRefused, KeyError):
            # What no table describes may hold names, so nothing of it is written.
            if name not in self._table.not_recorded:
                self.tally.left_out.add(name or doing)
            return
        self.tally.queries += 1
        self.tally.errors += error is not None
        self.tally.dropped |= dropped
        asked = Asked(at=began_at, until=self.clock.at, query=name, values=kept, rows=tuple(found))
        if error is not None:
            asked = replace(asked, error=_name_of(error), native_code=error.native_code)
        self._writer.write_answer(asked)


class ReplayTap:
    """Answers from a recording. No server is asked.

    A question is answered by what was recorded of the same work, in the order in which it was asked then; the last
    answer is given again where it is asked more often. What was not asked in that work is answered by the last answer
    before it.
    """

    def __init__(
        self, events: Iterator[Event], began: Moment, table: RecordedTable, columns: Mapping[str, Sequence[str]]
    ) -> None:
        """Take what was recorded, from the beginning.

        Args:
            events: of the recording.
            began: when it began.
            table: of the engine, now.
            columns: of each query, when it was recorded.
        """
        self._table = table
        self._columns = columns
        self.clock = EventClock(lambda _: None, began)
        self.ended = ""  # why the recording ended
        self._events = events
        self._now: dict[str, deque[Asked]] = {}
        self._before: dict[str, Asked] = {}

    def works(self) -> Iterator[Work]:
        """Each work that was recorded; while its turn lasts, ``answer`` answers what belongs to it.

        Raises:
            BadRecording: the file is damaged; the work that the damage is in does not come.
        """
        mark: Mark | None = None
        for event in self._read():
            if isinstance(event, Asked):
                self._now.setdefault(key_of(event.query, event.values), deque()).append(event)
                continue
            given_up = isinstance(event, Mark) and event.work is Work.NONE
            if mark is not None and not given_up:
                self.clock.at = mark.at
                yield mark.work
                self._before |= {key: asked[-1] for key, asked in self._now.items()}
            self._now = {}
            if isinstance(event, End):
                self.ended = event.why
                return
            mark = None if given_up else event

    def _read(self) -> Iterator[Event]:
        """The events; where the file is damaged what was read of unfinished work is forgotten."""
        try:
            yield from self._events
        except BadRecording:
            self._now = {}
            raise

    def answer(
        self,
        name: str,
        values: Values,
        ask: Callable[[], list[Row]],  # noqa: ARG002 (as every tap)
        *,
        doing: str,
    ) -> list[Row]:
        """As once.

        Raises:
            NotRecorded: it was never asked before.
            ConnectorError: as it was refused then.
        """
        key = key_of(name, values)
        waiting = self._now.get(key)
        found = self._before.get(key) if not waiting else waiting[0] if len(waiting) == 1 else waiting.popleft()
        if found is None:
            raise NotRecorded(
                f"{doing}: the recording has no answer of {name}", advice="Record again with this version of hotplace."
            )
        if found.until.steady > self.clock.at.steady:
            self.clock.at = found.until
        if found.error:
            raise _kind_of(found.error)(f"{doing}: refused when it was recorded", native_code=found.native_code)
        return self._table.adapt(name, found.rows, self._columns.get(name, ()))


def _name_of(error: ConnectorError) -> str:
    """The class of the contract that the error is of."""
    names = [kind.__name__ for kind in type(error).__mro__]
    return next(name for name in names if _kind_of(name).__name__ == name)


def _kind_of(name: str) -> type[ConnectorError]:
    """The error of the contract of that name."""
    found = getattr(contract, name, None)
    return found if isinstance(found, type) and issubclass(found, ConnectorError) else ConnectorError
