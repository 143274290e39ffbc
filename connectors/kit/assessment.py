"""What files that a person hands over tell of a database: no connection is behind it, and not all of it may be known.

An engine turns its reports and the results of its own queries into an ``Observation``; the agent judges it like any
other demand.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from importlib import import_module
from typing import TYPE_CHECKING, Any, Self

from connectors.kit.contract import HotplaceError

if TYPE_CHECKING:  # the registry names this; code that only reads the configuration needs no arrays
    from connectors.model.observation import F64, Bools, Catalog, Demand, Interval, Sample

Row = tuple[Any, ...]


class UnusableFile(HotplaceError):
    """A file is not what it was taken for, ends too early, or says nothing of reads."""

    def __init__(self, path: str, problem: str, *, advice: str, line: int = 0) -> None:
        place = f"{path}, line {line}" if line else path
        super().__init__(f"{place}: {problem}", advice=advice)


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitKind:
    """Waits for reads of one kind, as the engine timed them; seconds of the whole interval.

    The three columns have a value for each row of the catalog's units, and the middle one adds up to ``seconds``. All
    three are None where nothing divides the kind among units.
    """

    name: str  # "reads of one block"
    events: tuple[str, ...]  # as the engine calls them, those that were waited for
    waits: float  # how many
    seconds: float
    by_unit: F64 | None = None  # (n,) what each unit is taken to have of that
    least: F64 | None = None  # (n,) at least
    most: F64 | None = None  # (n,) at most
    of_units: bool = True  # False: of temporary files, which hold no units; the sum of waits leaves it out


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """One interval of one database, with how sure each figure is.

    ``least`` and ``most`` bound the waits of each unit, as multiples of what ``demand`` says; 1 where they are counted.
    Both have a value for each row of the catalog's units.
    """

    engine: str
    database: str
    source: str  # in words: "AWR report (text) of release 19.0.0.0.0"
    catalog: Catalog  # sizes are 0 where ``size_known`` is False
    demand: Demand  # a column for each unit of the catalog that had any
    size_known: Bools  # (n,)
    least: F64  # (n,) 0 to 1
    most: F64  # (n,) 1 or more
    notes: tuple[str, ...] = ()  # what the figures leave open, and what to collect for better
    kinds: tuple[WaitKind, ...] = ()  # () where the engine does not time them by kind
    space_reads: Mapping[str, float] | None = None  # calls a second by space, as printed; None: see demand.spaces
    stays: Bools | None = None  # (n,) units that no placement moves: dictionary, undo; None: there are none
    sections: Mapping[str, str] = field(default_factory=dict)  # where each kind of figure stands in the file
    logical_reads: float = float("nan")  # blocks a second, from memory or not; with transactions the work that was done
    database_id: str = ""  # that names may share, "" where the file does not say
    instance: str = ""
    marks: tuple[int, int] | None = None  # begin and end in the order of the database, such as numbers of snapshots


CLOCK = "clock"  # the query of the server's clock in UTC, as YYYY-MM-DD HH:MM:SS
SAY_WHEN = "Export clock too (hotplace assess --print-queries ENGINE), or say --elapsed 1h."


@dataclass(frozen=True, slots=True, kw_only=True)
class Export:
    """Results of an engine's queries at one moment, by the name of the query."""

    path: str  # where they were read from, for messages
    taken_at: datetime | None  # None: it does not say
    results: Mapping[str, Sequence[Row]]
    asked: list[str] = field(default_factory=list)  # results that were asked for, in order

    @property
    def at(self) -> datetime:
        """When it was taken.

        Raises:
            UnusableFile: it does not say.
        """
        if self.taken_at is None:
            raise UnusableFile(self.path, "does not say when it was taken", advice=SAY_WHEN)
        return self.taken_at

    def rows(self, name: str) -> list[Row]:
        """The result of a query.

        Raises:
            UnusableFile: it is not there.
        """
        self.asked.append(name)
        if name not in self.results:
            raise UnusableFile(
                self.path,
                f"has no result of {name}",
                advice="Run every query of hotplace assess --print-queries ENGINE; without rows the header is enough.",
            )
        return list(self.results[name])


@dataclass(slots=True)
class StoredClock:
    """The time of the export that is being read."""

    at: datetime

    def now(self) -> datetime:
        """Its time."""
        return self.at

    def monotonic(self) -> float:
        """The same in seconds: between two exports it passes as their times say."""
        return self.at.timestamp()

    def sleep(self, seconds: float) -> None:  # the word of every clock
        """Nothing in files waits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Readings:
    """Two samples that an engine's own reading made of two exports, and the catalog of the second."""

    database: str
    version: str
    catalog: Catalog
    before: Sample
    after: Sample
    classify: Callable[[Interval, Catalog], Demand]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NotRead:
    """Another output of the engine, which says too little of reads or which is not read."""

    begins: re.Pattern[str]  # found on its first page
    what: str  # "this is an ASH report: it samples sessions and counts no reads"
    instead: str  # what is read


NOT_READ_CHARACTERS = 12000  # of a file, in which its first page is


class Of(StrEnum):
    """What a row of a table is about."""

    DATABASE = "database"
    SPACE = "space"
    OBJECT = "object"


@dataclass(frozen=True, slots=True, kw_only=True)
class CounterTable:
    """A view with counters. Columns are in lower case, without blanks and underscores."""

    title: str  # as the engine calls it
    of: Of
    needs: frozenset[str]  # columns by which it is known
    name: tuple[tuple[str, ...], ...]  # parts of the row's name, each by the first of these columns that is there
    reads: tuple[str, ...]  # added up
    ahead: tuple[str, ...] = ()  # reads that no session waited for, taken off
    read_ms: tuple[str, ...] = ()  # milliseconds that sessions waited
    ahead_ms: tuple[str, ...] = ()  # taken off
    since_ms: str = ""  # milliseconds since the server was started
    since: str = ""  # column with the time at which the row's counters began
    space: str = ""  # column with the space of an object
    sizes: tuple[tuple[str, float], ...] = ()  # columns with bytes, and what one of their units is
    timed_ahead: bool = False  # whether reads ahead are in the times: they are no waits then
    lacks: str = ""


MOST_NAMED = 10


def few_of(names: Sequence[str]) -> str:
    """Names for a sentence, a few of many."""
    shown = names if len(names) <= MOST_NAMED else [*names[:MOST_NAMED], f"{len(names) - MOST_NAMED} more"]
    return ", ".join(shown)


def folded(column: str) -> str:
    """A column's name as ``CounterTable`` has it."""
    return column.lower().replace("_", "").replace(" ", "").strip('"[]')


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedRows:
    """Rows of a file that are found by the names of their columns."""

    path: str  # for messages
    columns: Sequence[str]  # as the file's header line names them, or the query
    rows: Sequence[tuple[int, Row]]  # with the line of each

    def places(self, wanted: Sequence[str], advice: str) -> list[int]:
        """Where in a row these columns are.

        Raises:
            UnusableFile: one of them is not there, or is there more than once.
        """
        known = [folded(column) for column in self.columns]
        for column in wanted:
            if (count := known.count(folded(column))) != 1:
                there = f"{count} columns {column}" if count else f"no column {column}, but {few_of(self.columns)}"
                raise UnusableFile(self.path, f"has {there}", advice=advice)
        return [known.index(folded(column)) for column in wanted]


@dataclass(frozen=True, slots=True, kw_only=True)
class FromFiles:
    """How an engine is assessed from files."""

    queries: Callable[[], Mapping[str, str]]  # name -> statement, as a person runs it
    read: Callable[[Export, Export], Readings]  # before, after
    is_report: Callable[[str], bool] = lambda _: False  # whether a text looks like one of the engine's reports
    read_report: Callable[[str, str, NamedRows | None], Observation] | None = None  # path, text, sizes
    sizes: str = ""  # the query whose result has the sizes that reports lack
    not_read: tuple[NotRead, ...] = ()
    tables: tuple[CounterTable, ...] = ()  # of the engine's own views, as other tools export them

    @classmethod
    def of_module(cls, stored: str, **reports: Any) -> Self:  # noqa: ANN401 (fields of this class)
        """By the functions ``queries`` and ``read`` of a module, which is imported when one of them is called.

        Args:
            stored: name of the module.
            reports: ``is_report``, ``read_report`` and ``sizes`` of an engine that has reports.
        """
        return cls(
            queries=lambda: import_module(stored).queries(),
            read=lambda before, after: import_module(stored).read(before, after),
            **reports,
        )

    def refuse(self, path: str, text: str) -> None:
        """Refuse what is known not to be read.

        Raises:
            UnusableFile: it is one of these.
        """
        begin = text[:NOT_READ_CHARACTERS]
        for each in self.not_read:
            if each.begins.search(begin):
                raise UnusableFile(path, each.what, advice=each.instead)
