"""A writer of reports: the documented layouts of Statspack and AWR, filled with figures that a test knows.

Nothing here is copied from a report. Column widths and headings are those that Oracle's scripts format
(``spreport.sql`` and ``awrrpt.sql``), figures are ours or those of a real report whose address stands next to them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape

LAYOUTS = ("statspack9", "statspack11", "awr11", "awr11204", "awr19", "html11", "html19")
END = " " * 10 + "-" * 61
SINGLE_WIDTHS = (14, 7, 7, 7, 7, 7, 12, 7, 10, 7)


def _right(widths: Sequence[int], words: Sequence[str]) -> str:
    return " ".join(f"{word:>{width}}" for width, word in zip(widths, words, strict=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class Space:
    """I/O of a tablespace; ``singles`` are calls for one block."""

    name: str
    reads: int
    read_ms: float
    blocks: float = 1.0
    singles: int = 0
    single_ms: float = 0.0
    writes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """A segment with its blocks and, since 11.2, its calls and its direct blocks."""

    owner: str
    space: str
    name: str
    blocks: int
    calls: int
    part: str = ""
    type: str = "TABLE"
    direct: int = 0
    container: str = "PDB1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What a report says."""

    seconds: float
    spaces: Sequence[Space]
    events: Sequence[tuple[str, int, float]] = ()  # name, waits, seconds
    segments: Sequence[Listed] = ()
    db_time: float | None = None
    transactions: float = 0.0
    logical: float | None = None  # blocks a second
    database: str = "PROD"
    database_id: int = 1234567890
    instance: str = "prod"
    snapshot: int = 100  # the first
    release: str = "11.2.0.4.0"
    top_only: bool = False  # of the events only the first page's
    by_file: bool = field(default=False)  # files of a tablespace instead of tablespaces
    counted: bool = True  # False: "No data exists for this section of the report", as since 12.2
    all_calls: int | None = None  # of the instance; None: those of the segments
    all_blocks: int | None = None
    all_direct: int | None = None
    longest: int | None = None  # rows of each list of segments; None: all


def write(told: Told, layout: str) -> str:
    """The report in that layout."""
    return _html(told, layout) if layout.startswith("html") else _text(told, layout)


# -- text ------------------------------------------------------------------------------------------------------------


def _text(told: Told, layout: str) -> str:
    parts = [_first_page(told, layout), *_events(told, layout), *_io(told, layout)]
    if layout != "statspack9":
        parts += _segments(told, layout)
    return "\n".join([*parts, "End of Report"]) + "\n"


def _first_page(told: Told, layout: str) -> str:
    title = "STATSPACK report for" if layout.startswith("statspack") else "WORKLOAD REPOSITORY report for"
    db_time = "" if told.db_time is None else f"\n   DB Time:{told.db_time / 60:>20,.2f} (mins)"
    logical = "" if told.logical is None else f"\n  Logical reads:{told.logical:>20,.1f}"
    return f"""{title}

DB Name         DB Id    Instance     Inst Num Startup Time    Release     RAC
------------ ----------- ------------ -------- --------------- ----------- ---
{told.database:<12} {told.database_id:>11} {told.instance:<12} {1:>8} 01-Jan-20 00:00 {told.release:<11} NO

              Snap Id      Snap Time      Sessions Curs/Sess
            --------- ------------------- -------- ---------
Begin Snap:       {told.snapshot} 01-Jan-20 10:00:00        50       2.0
  End Snap:       {told.snapshot + 1} 01-Jan-20 11:00:00        52       2.1
   Elapsed:{told.seconds / 60:>20,.2f} (mins){db_time}

Load Profile              Per Second    Per Transaction
~~~~~~~~~~~~         ---------------    ---------------{logical}
   Transactions:{told.transactions:>20,.1f}
"""


def _events(told: Told, layout: str) -> list[str]:
    if not told.events:
        return []
    if told.top_only:
        rows = [f"{name:<44.44} {count:>12,} {seconds:>11,.0f} {1.0:>6.1f}" for name, count, seconds in told.events]
        head = ["Top 5 Timed Events", "~~~~~~~~~~~~~~~~~~" + " " * 53 + "% Total"]
        head += [f"{'Event':<44} {'Waits':>12} {'Time (s)':>11} {'Ela Time':>8}"]
        return [*head, f"{'-' * 44} {'-' * 12} {'-' * 11} {'-' * 8}", *rows, END, ""]
    micro = layout == "awr19"
    head = [
        f"Foreground Wait Events                    DB/Inst: {told.database}/x  Snaps: 100-101",
        "-> ordered by wait time desc, waits desc (idle events last)",
        "",
        " " * 61 + "Avg",
        f"{'':<40}%Time Total Wait    wait    Waits   % DB",
        (
            f"{'Event':<26} {'Waits':>12} {'-outs':>5} {'Time (s)':>10} {'' if micro else '(ms)':>7} "
            f"{'/txn':>8} {'time':>6}"
        ),
        f"{'-' * 26} {'-' * 12} {'-' * 5} {'-' * 10} {'-' * 7} {'-' * 8} {'-' * 6}",
    ]
    rows = [
        f"{name:<26.26} {count:>12,} {0:>5} {seconds:>10,.0f} {_average(seconds, count, micro=micro):>7} "
        f"{1.0:>8.1f} {1.0:>6.1f}"
        for name, count, seconds in told.events
    ]
    return [*head, *rows, END, ""]


def _average(seconds: float, count: int, *, micro: bool) -> str:
    mean = seconds / count if count else 0.0
    if not micro:
        return f"{mean * 1000:.2f}"[:7]
    return f"{mean * 1e6:.0f}us" if mean < 1e-3 else f"{mean * 1e3:.2f}ms"


NO_DATA = "No data exists for this section of the report."


def _io(told: Told, layout: str) -> list[str]:
    if not told.counted:
        return [
            f"Tablespace IO Stats                       DB/Inst: {told.database}/x  Snaps: 100-101",
            NO_DATA,
            END,
            "",
        ]
    single = layout in {"awr11204", "awr19"}
    title = "Tablespace IO Stats for DB: X  Instance: x  Snaps: 1 -2" if layout == "statspack9" else (
        f"Tablespace IO Stats                       DB/Inst: {told.database}/x  Snaps: 100-101"
    )  # fmt: skip
    if single:
        head = [
            _right(SINGLE_WIDTHS, ["", "Av", "Av", "Av", "1-bk", "Av 1-bk", "", "Writes", "Buffer", "Av Buf"]),
            _right(
                SINGLE_WIDTHS,
                ["Reads", "Rds/s", "Rd(ms)", "Blks/Rd", "Rds/s", "Rd(ms)", "Writes", "avg/s", "Waits", "Wt(ms)"],
            ),
            "-------------- ------- ------- ------- ------- ------- ------------ ------- ---------- -------",
        ]
    else:
        head = [
            "                 Av       Av     Av                       Av     Buffer  Av Buf",
            "         Reads Reads/s  Rd(ms) Blks/Rd       Writes Writes/s      Waits  Wt(ms)",
            "-------------- ------- ------- ------- ------------ -------- ---------- -------",
        ]
    rows = [line for io in told.spaces for line in (io.name, _io_figures(told, io, single=single))]
    return [title, "-> ordered by IOs (Reads + Writes) desc", "", "Tablespace", "-" * 30, *head, *rows, END, ""]


def _io_figures(told: Told, io: Space, *, single: bool) -> str:
    begin = f"{_fit(io.reads, 14)} {_fit(round(io.reads / told.seconds), 7)} {io.read_ms:>7.1f} {io.blocks:>7.1f} "
    if single:
        begin += f"{_fit(round(io.singles / told.seconds), 7)} {io.single_ms:>7.1f} "
        return begin + f"{_fit(io.writes, 12)} {_fit(round(io.writes / told.seconds), 7)} {0:>10} {0.0:>7.1f}"
    return begin + f"{_fit(io.writes, 12)} {_fit(round(io.writes / told.seconds), 8)} {0:>10} {0.0:>7.1f}"


def _fit(value: int, width: int) -> str:
    """As SQL*Plus prints it: a number that is too wide for its column is a row of #."""
    text = f"{value:,}"
    return f"{text:>{width}}" if len(text) <= width else "#" * width


@dataclass(frozen=True, slots=True)
class _List:
    """A list of segments by one statistic: those that have any, the largest first."""

    statistic: str  # as the title has it
    heading: str
    rows: Sequence[tuple[Listed, int]]
    total: int


def _lists(told: Told) -> list[_List]:
    by_statistic = (
        ("Physical Reads", "Physical Reads", [each.blocks for each in told.segments], told.all_blocks),
        ("Physical Read Requests", "Phys Read Requests", [each.calls for each in told.segments], told.all_calls),
        ("Direct Physical Reads", "Direct Reads", [each.direct for each in told.segments], told.all_direct),
    )
    found = []
    for statistic, heading, values, total in by_statistic:
        pairs = [(each, value) for each, value in zip(told.segments, values, strict=True) if value > 0]
        rows = pairs if told.longest is None else sorted(pairs, key=lambda pair: -pair[1])[: told.longest]
        found.append(_List(statistic, heading, rows, sum(values) if total is None else total))
    return [each for each in found if each.rows]


def _segments(told: Told, layout: str) -> list[str]:
    lists = [each for each in _lists(told) if layout != "statspack11" or each.statistic == "Physical Reads"]
    return [line for each in lists for line in _segment_list(told, layout, each)]


def _segment_list(told: Told, layout: str, listed: _List) -> list[str]:
    title = f"Segments by {listed.statistic}"
    begin = [
        f"{title:<41} DB/Inst: {told.database}/x  Snaps: 100-101",
        f"-> Total {listed.statistic}: {listed.total:>15,}",
        f"-> Captured Segments account for {_captured(listed):>6} of Total",
        "",
    ]
    upper, _, lower = listed.heading.rpartition(" ")
    return [*begin, *(_two_lines if layout == "awr19" else _one_line)(upper, lower, listed), END, ""]


def _captured(listed: _List) -> str:
    named = sum(value for _, value in listed.rows)
    return f"{min(100.0, 100 * named / listed.total if listed.total else 0.0):.1f}%"


def _one_line(upper: str, lower: str, listed: _List) -> list[str]:
    head = [
        f"{'':<10} {'Tablespace':<10} {'':<20} {'Subobject':<10} {'Obj.':<5} {upper:>12} {'':>7}",
        f"{'Owner':<10} {'   Name':<10} {'Object Name':<20} {'  Name':<10} {'Type':<5} {lower:>12} {'%Total':>7}",
        f"{'-' * 10} {'-' * 10} {'-' * 20} {'-' * 10} {'-' * 5} {'-' * 12} {'-' * 7}",
    ]
    rows = [
        f"{s.owner:<10.10} {s.space:<10.10} {s.name:<20.20} {s.part:<10.10} {s.type:<5.5} "
        f"{_fit(value, 12)} {_percent(value, listed.total)}"
        for s, value in listed.rows
    ]
    return [*head, *rows]


def _two_lines(upper: str, lower: str, listed: _List) -> list[str]:
    head = [
        f"{'':<20} {'Tablespace':<10}",
        f"{'Owner':<20} {'   Name':<10}",
        f"{'-' * 20} {'-' * 10}",
        f"{'':<20} {'Subobject':<10} {'Obj.':<5} {'':>10} {'':>10} {upper:>12} {'':>7}",
        f"{'Object Name':<20} {'  Name':<10} {'Type':<5} {'Obj#':>10} {'Dataobj#':>10} {lower:>12} {'%Total':>7}",
        f"{'-' * 20} {'-' * 10} {'-' * 5} {'-' * 10} {'-' * 10} {'-' * 12} {'-' * 7}",
    ]
    rows: list[str] = []
    for number, (s, value) in enumerate(listed.rows, start=70000):
        rows.append(f"{s.owner:<20.20} {s.space:<10.10}")
        rows.append(
            f"{s.name:<20.20} {s.part:<10.10} {s.type:<5.5} {number:>10} {number:>10} "
            f"{_fit(value, 12)} {_percent(value, listed.total)}"
        )
        rows.append(f"   PDB: {s.container}")
    return [*head, *rows]


def _percent(value: int, total: int) -> str:
    return f"{100 * value / total if total else 0.0:>7.2f}"


# -- HTML ------------------------------------------------------------------------------------------------------------


def _html(told: Told, layout: str) -> str:
    first, last = str(told.snapshot), str(told.snapshot + 1)
    snaps = [["Begin Snap:", first, "01-Jan-20 10:00:00", "50"], ["End Snap:", last, "01-Jan-20 11:00:00", "52"]]
    snaps.append(["Elapsed:", "", f"{told.seconds / 60:,.2f} (mins)", ""])
    if told.db_time is not None:
        snaps.append(["DB Time:", "", f"{told.db_time / 60:,.2f} (mins)", ""])
    identity = ["DB Name", "DB Id", "Instance", "Inst num", "Startup Time", "Release", "RAC"]
    logical = [] if told.logical is None else [["Logical read (blocks):", f"{told.logical:,.1f}"]]
    body = [
        "<h1 class='awr'>WORKLOAD REPOSITORY report for</h1>",
        _table(
            identity,
            [[told.database, str(told.database_id), told.instance, "1", "01-Jan-20 00:00", told.release, "NO"]],
        ),
        _table(["", "Snap Id", "Snap Time", "Sessions"], snaps),
        "<h3>Load Profile</h3>",
        _table(["", "Per Second"], [*logical, ["Transactions:", f"{told.transactions:,.1f}"]]),
    ]
    if told.events:
        title = "Top 10 Foreground Events by Total Wait Time" if told.top_only else "Foreground Wait Events"
        head = ["Event", "Waits", "Total Wait Time (sec)" if told.top_only else "Total Wait Time (s)", "Avg wait (ms)"]
        rows = [[n, f"{c:,}", f"{t:,.0f}", f"{1000 * t / c if c else 0:.2f}"] for n, c, t in told.events]
        body += [f"<h3 class='awr'>{title}</h3>", "<ul><li>ordered by wait time desc</li></ul>", _table(head, rows)]
    head = ["Tablespace", "Reads", "Av Rds/s", "Av Rd(ms)", "Av Blks/Rd"]
    single = layout == "html19"
    head += ["1-bk Rds/s", "Av 1-bk Rd(ms)"] if single else []
    head += ["Writes", "Writes avg/s", "Buffer Waits", "Av Buf Wt(ms)"]
    rows = [_html_io(told, io, single=single) for io in told.spaces]
    body += ["<h3>Tablespace IO Stats</h3>", _table(head, rows) if told.counted else f"<p />{NO_DATA}<p />"]
    for listed in _lists(told):
        notes = (
            f"<ul><li>Total {listed.statistic}: {listed.total:,}</li>"
            f"<li>Captured Segments account for {_captured(listed)} of Total</li></ul>"
        )
        rows = [
            [s.owner, s.space, s.name, s.part, s.type, f"{value:,}", _percent(value, listed.total).strip(), s.container]
            for s, value in listed.rows
        ]
        head = [
            "Owner",
            "Tablespace Name",
            "Object Name",
            "Subobject Name",
            "Obj. Type",
            listed.heading,
            "%Total",
            "PDB Name",
        ]
        body += [f"<h3>Segments by {listed.statistic}</h3>", notes, _table(head, rows)]
    return (
        "<html><head><title>AWR</title><style>h3 {}</style></head><body>"
        + "\n".join(body)
        + "<p />End of Report</body></html>\n"
    )


def _html_io(told: Told, io: Space, *, single: bool) -> list[str]:
    cells = [io.name, f"{io.reads:,}", f"{io.reads / told.seconds:,.0f}", f"{io.read_ms:.2f}", f"{io.blocks:.2f}"]
    if single:
        cells += [f"{io.singles / told.seconds:,.0f}", f"{io.single_ms:.2f}"]
    return [*cells, f"{io.writes:,}", f"{io.writes / told.seconds:,.0f}", "0", "0.00"]


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    def line(cells: Sequence[str], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag} class='awrc'>{escape(cell) or '&#160;'}</{tag}>" for cell in cells) + "</tr>"

    lines = [line(head, "th"), *(line(row, "td") for row in rows)]
    return '<table border="0" summary="t">' + "\n".join(lines) + "</table>"
