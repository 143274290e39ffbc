"""WITH (...) of index statements: which options there are since which version, and what they set."""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.labs.sqlserver.language.tokens import Parser
from tests.labs.sqlserver.objects import Options
from tests.labs.tds.backend import ServerError

SINCE = {
    "PAD_INDEX": 9,
    "FILLFACTOR": 9,
    "SORT_IN_TEMPDB": 9,
    "IGNORE_DUP_KEY": 9,
    "STATISTICS_NORECOMPUTE": 9,
    "STATISTICS_INCREMENTAL": 12,
    "DROP_EXISTING": 9,
    "ONLINE": 9,
    "RESUMABLE": 15,
    "MAX_DURATION": 15,
    "ALLOW_ROW_LOCKS": 9,
    "ALLOW_PAGE_LOCKS": 9,
    "OPTIMIZE_FOR_SEQUENTIAL_KEY": 15,
    "MAXDOP": 9,
    "DATA_COMPRESSION": 10,
    "XML_COMPRESSION": 16,
    "COMPRESSION_DELAY": 13,
    "MOVE": 9,
    "WAIT_AT_LOW_PRIORITY": 12,
}
LOW_PRIORITY_IN_CREATE = 16
_FLAGS = {
    "PAD_INDEX": "pad_index",
    "ALLOW_ROW_LOCKS": "allow_row_locks",
    "ALLOW_PAGE_LOCKS": "allow_page_locks",
    "STATISTICS_NORECOMPUTE": "no_recompute",
    "STATISTICS_INCREMENTAL": "incremental",
    "OPTIMIZE_FOR_SEQUENTIAL_KEY": "optimize_for_sequential_key",
}


@dataclass(slots=True)
class Build:
    """How a statement wants an index built; ``kept`` is what stays with the index."""

    kept: Options = field(default_factory=Options)
    drop_existing: bool = False
    online: bool = False
    resumable: bool = False
    sort_in_tempdb: bool = False
    low_priority_minutes: int | None = None
    fill_factor_said: bool = False  # else the server's own default applies
    compression: dict[int, str] = field(default_factory=dict)  # partition (0: all) -> NONE, ROW, PAGE, COLUMNSTORE
    move_to: str | None = None


def read_options(parser: Parser, major: int) -> Build:
    """WITH (...), if it comes next.

    Raises:
        ServerError: 155 for an option that the version does not have.
    """
    build = Build()
    if not parser.take("WITH"):
        return build
    parser.need("(")
    while True:
        _read_option(parser, build, major)
        if not parser.take(","):
            break
    parser.need(")")
    if build.resumable and not build.online:
        raise ServerError(11438, "The RESUMABLE option cannot be set to 'ON' when the ONLINE option is set to 'OFF'.")
    return build


def _read_option(parser: Parser, build: Build, major: int) -> None:
    name = parser.name().upper()
    if SINCE.get(name, 99) > major:
        raise ServerError(155, f"'{name}' is not a recognized CREATE INDEX option.", severity=15)
    if name == "MOVE":
        parser.need("TO")
        build.move_to = parser.name()
        return
    parser.need("=")
    if name in _FLAGS:
        setattr(build.kept, _FLAGS[name], _on(parser))
    elif name == "ONLINE":
        build.online = _on(parser)
        if build.online and parser.peek("("):
            build.low_priority_minutes = _low_priority(parser, major)
    elif name == "IGNORE_DUP_KEY":
        build.kept.ignore_dup_key = _on(parser)
        if parser.take("(", "SUPPRESS_MESSAGES", "="):
            build.kept.suppress_messages = _on(parser)
            parser.need(")")
    elif name == "DATA_COMPRESSION":
        _compression(parser, build)
    elif name in ("DROP_EXISTING", "RESUMABLE", "SORT_IN_TEMPDB"):
        setattr(build, name.lower(), _on(parser))
    elif name == "FILLFACTOR":
        build.kept.fill_factor, build.fill_factor_said = parser.number(), True
    elif name == "COMPRESSION_DELAY":
        build.kept.compression_delay = parser.number()
        parser.take("MINUTES")
    else:
        _ignored(parser, name)


def _ignored(parser: Parser, name: str) -> None:
    """MAXDOP, MAX_DURATION and XML_COMPRESSION change nothing in the model."""
    if name == "XML_COMPRESSION":
        _on(parser)
        return
    parser.number()
    parser.take("MINUTES")


def _on(parser: Parser) -> bool:
    if parser.take("ON"):
        return True
    parser.need("OFF")
    return False


def read_resume_options(parser: Parser) -> int | None:
    """WITH (MAXDOP, MAX_DURATION, WAIT_AT_LOW_PRIORITY) of ALTER INDEX ... RESUME: minutes of low priority."""
    minutes: int | None = None
    if not parser.take("WITH"):
        return None
    parser.need("(")
    while True:
        if parser.peek("WAIT_AT_LOW_PRIORITY"):
            minutes = read_low_priority(parser)
        else:
            if not (parser.take("MAXDOP") or parser.take("MAX_DURATION")):
                raise parser.near()
            parser.need("=")
            parser.number()
            parser.take("MINUTES")
        if not parser.take(","):
            break
    parser.need(")")
    return minutes


def _low_priority(parser: Parser, major: int) -> int:
    """(WAIT_AT_LOW_PRIORITY (...)) behind ONLINE = ON: minutes."""
    parser.need("(")
    if major < LOW_PRIORITY_IN_CREATE:
        message = "Option 'WAIT_AT_LOW_PRIORITY' is not a valid index option in 'CREATE INDEX' statement."
        raise ServerError(155, message, severity=15)
    minutes = read_low_priority(parser)
    parser.need(")")
    return minutes


def read_low_priority(parser: Parser) -> int:
    """WAIT_AT_LOW_PRIORITY (MAX_DURATION = n MINUTES, ABORT_AFTER_WAIT = SELF): minutes."""
    parser.need("WAIT_AT_LOW_PRIORITY", "(", "MAX_DURATION", "=")
    minutes = parser.number()
    parser.take("MINUTES")
    parser.need(",", "ABORT_AFTER_WAIT", "=")
    if not (parser.take("SELF") or parser.take("NONE")):
        raise ServerError(50000, "the emulated server does not abort blockers")
    parser.need(")")
    return minutes


def _compression(parser: Parser, build: Build) -> None:
    kind = parser.name().upper()
    if kind not in ("NONE", "ROW", "PAGE", "COLUMNSTORE", "COLUMNSTORE_ARCHIVE"):
        raise parser.near()
    if not parser.take("ON", "PARTITIONS"):
        build.compression[0] = kind
        return
    parser.need("(")
    while True:
        first = parser.number()
        last = parser.number() if parser.take("TO") else first
        build.compression.update(dict.fromkeys(range(first, last + 1), kind))
        if not parser.take(","):
            break
    parser.need(")")
