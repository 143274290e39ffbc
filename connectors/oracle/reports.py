"""What a Statspack or AWR report says, of either form and of releases 9.2 to 23: figures, no judgement."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

from connectors.kit.assessment import UnusableFile
from connectors.oracle.report_formats import (
    UNKNOWN,
    Section,
    cells,
    html_sections,
    is_foreign,
    named,
    number,
    seconds,
    text_sections,
)

MINUTE = 60.0
FEW_SECONDS, ROUNDED = 10.0, 0.5  # of a time that is printed in whole seconds
LONGEST_SECONDS = 100 * 365.25 * 86400.0
_AWR = re.compile(r"WORKLOAD\s+REPOSITORY\s+(?:PDB\s+)?report|AWR\s+Report\s+for\s+DB", re.IGNORECASE)
_BEGIN = re.compile(r"WORKLOAD\s+REPOSITORY\s+(?:PDB\s+)?report\s+for|STATSPACK\s+report\s+for", re.IGNORECASE)
_STATSPACK = re.compile(r"STATSPACK\s+report", re.IGNORECASE)
_HTML = re.compile(r"<\s*(?:html|table|h1|!doctype)", re.IGNORECASE)
_RELEASE = re.compile(r"(?<![\d.])(\d{1,2}\.\d{1,2}\.\d{1,2}\.\d{1,2}(?:\.\d{1,6})?)(?![\d.])")
_IDENTITY = re.compile(r"^[ \t]*(?:([\w$#.-]+)[ \t]+)?(\d{6,10})[ \t]+(\S+)", re.MULTILINE)
_INSTANCE = re.compile(  # its number, its start
    r"(?<![\w$#.-])([\w$#.-]{1,40})[ \t]{1,40}(\d{1,4})[ \t]{1,40}\d{1,2}-[^\s\d-]{3,12}-\d{2,4}[ \t]"
)
_SNAPSHOT = re.compile(r"^[ \t]*(?:Begin|End) Snap:[ \t]+(\d{1,15})(?!\d)", re.MULTILINE | re.IGNORECASE)
_SEGMENT_LISTS = {
    "blocks": r"Segments by Physical Reads$",
    "requests": r"Segments by Physical Read Requests$",
    "direct": r"Segments by Direct Physical Reads$",
}
_EVENTS = r"Foreground Wait Events", r"Wait Events$", r"Top \d+ "
_ACTIVITY = r"(Key |Other )?Instance Activity Stats"
_STATISTICS = {  # of Instance Activity Stats, by the words that the answers here use
    "physical reads": "blocks",
    "physical read io requests": "requests",
    "physical reads direct": "direct",
    "physical reads direct temporary tablespace": "direct temporary",
}
_CONTAINER = r"PDB( Name)?$|(Pluggable Database|Container)( Name)?$"
_END = re.compile(r"End\s+of\s+Report", re.IGNORECASE)
_END_CHARACTERS = 2000  # of the file, within which its end says so
_HEADER_CHARACTERS = 12000  # in which the first page is


@dataclass(frozen=True, slots=True, kw_only=True)
class Waits:
    """One wait event of sessions."""

    count: float
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TablespaceIo:
    """I/O of one tablespace in the whole interval; NaN where the report does not say."""

    name: str
    reads: float  # calls
    read_seconds: float  # each call, on average
    blocks_per_read: float
    singles: float  # calls for one block, since 11.2.0.4
    single_seconds: float  # each of those, on average
    writes: float
    container: str = ""  # pluggable database, "" where the report names none


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """A segment that some list names."""

    container: str = ""  # as above
    owner: str
    tablespace: str
    name: str
    part: str
    type: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TopList:
    """One list of segments: the largest of them, by one statistic."""

    values: Mapping[Segment, float]
    total: float  # of the instance, NaN where it is not printed
    captured: float  # share of the total that all segments of the snapshot have, 0 to 1, NaN

    @property
    def smallest(self) -> float:
        """What a segment that is not named has at most; infinite where no segment is named."""
        known = [value for value in self.values.values() if value == value]
        return min(known, default=float("inf"))


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadReport:
    """All that is taken from one report."""

    kind: str  # AWR or Statspack
    form: str  # text or HTML
    release: str
    database: str
    seconds: float
    db_time: float  # session seconds in the database, NaN
    transactions: float  # a second, NaN
    block_bytes: float
    logical_reads: float  # blocks a second, NaN
    events: Mapping[str, Waits]
    events_whole: bool  # False: only the first page's top events are there
    tablespaces: tuple[TablespaceIo, ...]
    lists: Mapping[str, TopList] = field(default_factory=dict)  # blocks, requests, direct
    totals: Mapping[str, float] = field(default_factory=dict)  # of the instance: the same, and direct temporary
    cuts_names: bool = False  # whether the form cuts names that are too wide for their column
    events_title: str = ""
    notes: tuple[str, ...] = ()
    database_id: str = ""  # of the database that the report is of, "" where it does not say; and so on
    instance: str = ""
    snapshots: tuple[int, int] | None = None  # first and last
    whole: bool = True  # False: the file was cut

    @property
    def containers(self) -> frozenset[str]:
        """Pluggable databases that its tables name; their owners and tablespaces may have the same names."""
        of_segments = {segment.container for top in self.lists.values() for segment in top.values}
        return frozenset({each.container for each in self.tablespaces} | of_segments) - {""}


def is_report(text: str) -> bool:
    """Whether the text begins like one of the two reports."""
    begin = text[:_HEADER_CHARACTERS]
    return bool(_AWR.search(begin) or _STATSPACK.search(begin))


def parse_report(path: str, text: str) -> WorkloadReport:
    """Read a report.

    Args:
        path: for messages.
        text: of the whole file.

    Raises:
        UnusableFile: it is no such report, ends too early, is written in another language's numbers, or says nothing
            of reads.
    """
    begin = text[:_HEADER_CHARACTERS]
    if not is_report(text):
        raise UnusableFile(
            path,
            "this is no Statspack or AWR report: neither STATSPACK report nor WORKLOAD REPOSITORY report is in it",
            advice="Make one with awrrpt.sql or spreport.sql; `hotplace assess --print-queries oracle` needs neither.",
            line=1,
        )
    _insist_on_one(path, text)
    html = _HTML.search(begin) is not None
    sections = html_sections(text) if html else text_sections(text)
    flat = _flat(sections) if html else text
    _insist_on_plain_numbers(path, text, sections)
    elapsed = _minutes(flat, r"Elapsed")
    if not elapsed > 0:
        raise UnusableFile(
            path,
            f"the time between its snapshots is {'0' if elapsed == 0 else 'missing'} (Elapsed)",
            advice="Give the whole file, from its first page on.",
            line=_line_of(text, "Elapsed"),
        )
    if elapsed > LONGEST_SECONDS:
        raise UnusableFile(
            path, "the time between its snapshots is more than a hundred years", advice="Make the report again.",
            line=_line_of(text, "Elapsed"),
        )  # fmt: skip
    whole_file = _END.search(text[-_END_CHARACTERS:]) is not None
    tablespaces = _tablespaces(path, sections, elapsed)
    events, whole, events_title, unread = _events(path, sections)
    lists = _lists(sections)
    _insist_on_reads(path, text, sections, [*tablespaces, *events, *lists], whole_file=whole_file)
    release = _RELEASE.search(flat[:_HEADER_CHARACTERS])
    identity, instance = (form.search(flat[:_HEADER_CHARACTERS]) for form in (_IDENTITY, _INSTANCE))
    ends = [int(each) for each in _SNAPSHOT.findall(flat[:_HEADER_CHARACTERS])][:2]
    return WorkloadReport(
        kind="AWR" if _AWR.search(begin) else "Statspack",
        form="HTML" if html else "text",
        release=release[1] if release else "unknown",
        database=(identity[1] or identity[3]) if identity else "database",
        seconds=elapsed,
        db_time=_minutes(flat, r"DB\s+time"),
        transactions=_per_second(flat, r"Transactions"),
        block_bytes=_block_bytes(flat),
        logical_reads=_per_second(flat, r"Logical reads?(?: \(blocks\))?"),
        events=events,
        events_whole=whole,
        tablespaces=tablespaces,
        lists=lists,
        totals=_totals(sections, lists),
        cuts_names=not html,
        events_title=events_title,
        notes=(*unread, *_notes_on_cut_sections(sections, whole_file=whole_file)),
        database_id=identity[2] if identity else "",
        instance=instance[1] if instance else "",
        snapshots=(ends[0], ends[1]) if len(ends) == 2 else None,
        whole=whole_file,
    )


def _insist_on_one(path: str, text: str) -> None:
    """Refuse a file with two reports: tables of one would be taken for those of the other."""
    end = _END.search(text)
    second = None if end is None else _BEGIN.search(text, end.end())
    if second is not None:
        line = text.count("\n", 0, second.start()) + 1
        raise UnusableFile(
            path, "a second report begins here", advice="Give each report in a file of its own.", line=line
        )


def _flat(sections: Iterable[Section]) -> str:
    """Tables of an HTML report as lines, so that the first page is read as that of a text report is."""
    rows = (row for section in sections for row in ([section.head] if section.head else []) + section.rows)
    return "\n".join("  ".join(cell for cell in row if cell) for row in rows)


def _line_of(text: str, word: str) -> int:
    at = text.find(word)
    return text.count("\n", 0, at) + 1 if at >= 0 else 0


def _insist_on_plain_numbers(path: str, text: str, sections: Sequence[Section]) -> None:
    """Refuse numbers of another language, by the time between the snapshots and by the tables that are read."""
    elapsed = re.search(r"Elapsed:(?:\s|<[^<>]*>|&nbsp;|&#160;)*([\d.,]+)", text, re.IGNORECASE)
    first = [] if elapsed is None else [(elapsed[1], text.count("\n", 0, elapsed.start()) + 1)]
    read = [*IO_SECTIONS, *_EVENTS, *_SEGMENT_LISTS.values(), _ACTIVITY]
    tables = (section for pattern in read for section in named(sections, pattern))
    cells = ((cell, section.line) for section in tables for row in section.rows for cell in row[1:])
    foreign = next((each for each in chain(first, cells) if is_foreign(each[0])), None)
    if foreign is not None:
        raise UnusableFile(
            path,
            f"numbers are written in another language's form: {foreign[0]!r}",
            advice="Make the report again under NLS_LANG=AMERICAN_AMERICA.",
            line=foreign[1],
        )


def _minutes(text: str, words: str) -> float:
    found = re.search(rf"\b{words}:\s+([\d.,]+[KMG]?)\s*\(mins?\)", text, re.IGNORECASE)
    return number(found[1]) * MINUTE if found else UNKNOWN


def _per_second(text: str, words: str) -> float:
    found = re.search(rf"^[ \t]*{words}:\s+([\d.,]+[KMG]?)", text, re.IGNORECASE | re.MULTILINE)
    return number(found[1]) if found else UNKNOWN


def _block_bytes(text: str) -> float:
    found = re.search(r"(?:Std )?Block Size:\s+([\d.,]+)\s*([KM]?)", text, re.IGNORECASE)
    value = number(found[1]) * {"K": 1024.0, "M": 1048576.0}.get(found[2].upper(), 1.0) if found else UNKNOWN
    return value if 512 <= value <= 65536 else 8192.0


# -- sections --------------------------------------------------------------------------------------------------------


IO_SECTIONS = r"Tablespace IO Stats", r"File IO Stats"
SOUGHT = "Tablespace IO Stats, File IO Stats, Segments by Physical Reads, Wait Events"


def _tablespaces(path: str, sections: Sequence[Section], elapsed: float) -> tuple[TablespaceIo, ...]:
    """Rows of the first section that has any; () where none has, as in most reports since 12.2."""
    for pattern in IO_SECTIONS:
        found = named(sections, pattern)
        _insist_on_whole(path, found)
        rows = [io for section in found for io in _tablespace_rows(section, elapsed)]
        if rows:
            return _merge(rows)
    return ()


def _insist_on_whole(path: str, sections: Iterable[Section]) -> None:
    """Refuse a file that breaks off in one of these: what is left of it is no sum."""
    cut = next((section for section in sections if not section.whole), None)
    if cut is not None:
        raise UnusableFile(
            path,
            f"the file was cut within {cut.title}: no End of Report",
            advice="Give the whole report.",
            line=cut.line,
        )


def _insist_on_reads(
    path: str, text: str, sections: Sequence[Section], found: Sequence[object], *, whole_file: bool
) -> None:
    """Refuse a report that says nothing of reads, for the reason that the file shows."""
    if found:
        return
    end = text.count("\n") + 1
    if not whole_file:
        raise UnusableFile(
            path,
            f"the file was cut: it has {end} lines and no End of Report, and none of {SOUGHT} comes before that",
            advice="Give the whole report.",
            line=end,
        )
    empty = [section for pattern in IO_SECTIONS for section in named(sections, pattern)]
    if empty:
        raise UnusableFile(
            path,
            f"the section {empty[0].title} is empty, and no other one says anything of reads",
            advice="Choose snapshots between which the database did something, with STATISTICS_LEVEL at TYPICAL.",
            line=empty[0].line,
        )
    raise UnusableFile(
        path,
        f"the report is whole and has none of {SOUGHT}",
        advice="Make the report with STATISTICS_LEVEL at TYPICAL: at BASIC these sections are left out.",
        line=end,
    )


def _tablespace_rows(section: Section, elapsed: float) -> Iterable[TablespaceIo]:
    name = section.column(r"name$", r"Tablespace")
    reads, rate = section.column(r"Reads$", r"Rds$"), section.column(r"Av (Reads|Rds)/s")
    average = section.column(r"Av Rd ?\(")
    blocks, writes, container = section.column(r"Av Blks"), section.column(r"Writes$"), section.column(_CONTAINER)
    single_rate, single = section.column(r"1-bk Rds"), section.column(r"Av 1-bk")
    for row in section.rows:
        words = cells(row, name, reads, rate, average, blocks, single_rate, single, writes, container)
        calls = number(words[1])
        if calls != calls:  # overflown: its rate may still be there
            calls = number(words[2]) * elapsed
        if not words[0] or _is_heading(words[0]):
            continue
        yield TablespaceIo(
            name=words[0],
            reads=calls,
            read_seconds=seconds(words[3], "ms"),
            blocks_per_read=number(words[4]),
            singles=number(words[5]) * elapsed,
            single_seconds=seconds(words[6], "ms"),
            writes=number(words[7]),
            container=words[8],
        )


def _is_heading(word: str) -> bool:
    return word.lower() in {"tablespace", "filename"} or set(word) <= set("- ")


def _merge(rows: Sequence[TablespaceIo]) -> tuple[TablespaceIo, ...]:
    """Rows of the same tablespace (its files) as one; times are weighed by calls, NaN where none is known."""
    by_name: dict[tuple[str, str], list[TablespaceIo]] = {}
    for row in rows:
        by_name.setdefault((row.container, row.name), []).append(row)
    return tuple(same[0] if len(same) == 1 else _sum(same) for same in by_name.values())


def _sum(rows: Sequence[TablespaceIo]) -> TablespaceIo:
    def total(values: Iterable[float]) -> float:
        known = [value for value in values if value == value]
        return sum(known) if known else UNKNOWN

    reads, singles = total(row.reads for row in rows), total(row.singles for row in rows)
    return replace(
        rows[0],
        reads=reads,
        read_seconds=_mean([(row.read_seconds, row.reads) for row in rows]),
        blocks_per_read=_mean([(row.blocks_per_read, row.reads) for row in rows]),
        singles=singles,
        single_seconds=_mean([(row.single_seconds, row.singles) for row in rows]),
        writes=total(row.writes for row in rows),
    )


def _mean(pairs: Iterable[tuple[float, float]]) -> float:
    known = [(value, weight) for value, weight in pairs if value == value and weight > 0]
    weight = sum(weight for _, weight in known)
    return sum(value * each for value, each in known) / weight if weight else UNKNOWN


def _events(path: str, sections: Sequence[Section]) -> tuple[dict[str, Waits], bool, str, list[str]]:
    """Waits of sessions by event from the fullest list, whether that is more than the first page's, its title, notes.

    Raises:
        UnusableFile: the file breaks off in that list.
    """
    for pattern in _EVENTS:
        found: dict[str, Waits] = {}
        unread: list[str] = []
        for section in named(sections, pattern):
            for name, waits in _event_rows(section):
                if waits is None:
                    unread.append(name)
                else:
                    found.setdefault(name, waits)
        if found:
            _insist_on_whole(path, named(sections, pattern))
            notes = [f"the figures of {', '.join(unread)} are not printed (####): they count as none"] if unread else []
            return found, pattern != _EVENTS[-1], named(sections, pattern)[0].title, notes
    return {}, False, "", []


def _event_rows(section: Section) -> Iterable[tuple[str, Waits | None]]:
    """Each event; None where its figures were too wide for their columns."""
    name = section.column(r"Event", r"name$")
    count = section.column(r"Waits$")
    total, mean = section.column(r"(Total )?(Wait )?Time"), section.column(r"(wait )?Av")
    name = 0 if name is None else name
    for row in section.rows:
        words = cells(row, name, count, total, mean)
        waits, spent = number(words[1]), seconds(words[2], "s")
        average = seconds(words[3], "ms")
        finer = average * waits
        if spent != spent:
            spent = finer
        elif spent < FEW_SECONDS and finer > 0:  # printed as whole seconds: the mean is finer
            spent = min(max(finer, spent - ROUNDED), spent + ROUNDED)
        if waits != waits and average > 0:
            waits = spent / average
        if words[0] and waits == waits and spent == spent:
            yield words[0], Waits(count=waits, seconds=spent)
        elif words[0] and "#" in words[1] + words[2]:
            yield words[0], None


def _lists(sections: Sequence[Section]) -> dict[str, TopList]:
    found: dict[str, TopList] = {}
    for statistic, pattern in _SEGMENT_LISTS.items():
        values: dict[Segment, float] = {}
        notes: list[str] = []
        for section in named(sections, pattern):
            notes += section.notes
            for segment, value in _segment_rows(section):
                values.setdefault(segment, value)
        if values:
            text = "\n".join(notes)
            found[statistic] = TopList(
                values=values,
                total=_find_number(text, r"(?m)^[-> ]*Total [A-Za-z ]+:\s*([\d.,]+[KMG]?)"),
                captured=_find_number(text, r"account for\s+([\d.,]+)\s*%") / 100,
            )
    return found


def _find_number(text: str, pattern: str) -> float:
    found = re.search(pattern, text)
    return number(found[1]) if found else UNKNOWN


def _segment_rows(section: Section) -> Iterable[tuple[Segment, float]]:
    owner, space = section.column(r"Owner"), section.column(r"Tablespace")
    name, part, kind = section.column(r"Object Name"), section.column(r"Subobject"), section.column(r"Obj\.?( |$)")
    value = section.column(r"(Physical|Direct|Phys|Read|Unoptimized|Reads?).*", r".*Reads|.*Requests")
    container = section.column(_CONTAINER)
    for row in section.rows:
        words = cells(row, owner, space, name, part, kind, value, container)
        if words[0] and words[1] and words[2]:
            segment = Segment(
                container=words[6], owner=words[0], tablespace=words[1], name=words[2], part=words[3], type=words[4]
            )
            yield segment, number(words[5])


def _totals(sections: Sequence[Section], lists: Mapping[str, TopList]) -> dict[str, float]:
    """Reads of the instance by statistic, as the lists print them, else from its activity; the unknown are absent."""
    found = {
        statistic: value
        for section in named(sections, _ACTIVITY)
        for name, value in _statistic_rows(section)
        if (statistic := _STATISTICS.get(name.lower())) is not None and value == value
    }
    return found | {statistic: top.total for statistic, top in lists.items() if top.total == top.total}


def _statistic_rows(section: Section) -> Iterable[tuple[str, float]]:
    name, total = section.column(r"Statistic"), section.column(r"Total$")
    for row in section.rows:
        words = cells(row, name, total)
        yield words[0], number(words[1])


def _notes_on_cut_sections(sections: Sequence[Section], *, whole_file: bool) -> Iterable[str]:
    """What to know of sections that the file breaks off in."""
    cut = [
        section for section in sections if not section.whole and re.match(r"Segments by", section.title, re.IGNORECASE)
    ]
    for section in cut:
        yield f"the file ends within {section.title} (line {section.line}): segments may be missing"
    if not whole_file and not cut:
        yield "the file has no End of Report: it was cut, and what came after is not known"
