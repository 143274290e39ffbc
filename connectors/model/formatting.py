"""Sizes, durations, ratios, names and scripts as people read them.

Scripts that a person runs or reads: the one writer of their comments, and of statements with foreign names in them.

A name is whatever its owner chose. A correctly quoted line feed is part of a name to a server, but to a program that
reads line by line it may end a statement and begin another (``;`` or ``/`` or ``GO`` at the right place), and a person
sees a line that no one wrote. So a comment is one line whatever it says, and a statement with a character in a name or
text that cannot be shown as it is becomes a comment, too: no one runs it by mistake, and every line there is, is ours.
JSON has each statement to the letter.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

_HOUR = 3600.0
_FEWEST_SESSIONS = 0.001  # fewer are said as time alone: 3.6 s in an hour
BINARY = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
_SMALL_TIMES = ((1e-9, "ns"), (1e-6, "µs"), (1e-3, "ms"))
_LARGE_TIMES = ((60, "min", 1, "s", 3600), (3600, "h", 60, "min", 86400), (86400, "d", 3600, "h", math.inf))


def printable(text: str, keep: str = "") -> str:
    r"""The text with every control character but those to keep shown as an escape.

    >>> printable("a" + chr(27) + "[31m")
    'a\\x1b[31m'
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in keep else c.encode("unicode_escape").decode() for c in text)


def format_bytes(size: float) -> str:
    """A size for people, one decimal: ``1.5 GiB``; below 1 KiB exact: ``512 B``."""
    sign, value = ("-" if size < 0 else ""), abs(float(size))
    for unit in BINARY[:-1]:
        text = f"{value:.0f}" if unit == "B" else f"{value:.1f}"
        if float(text) < 1024:
            return f"{sign if float(text) else ''}{text} {unit}"
        value /= 1024
    return f"{sign}{value:.1f} {BINARY[-1]}"


def exact_bytes(size: int) -> str:
    """A size to the byte: ``1,610,612,736 bytes``."""
    return f"{size:,} byte{'' if size == 1 else 's'}"


def format_seconds(seconds: float) -> str:
    """A duration for people: ``0.2 ms`` and ``12.3 s`` with three digits, ``3 h 5 min`` in its two largest units.

    Infinity is ``forever`` and NaN ``unknown``: a move without a gain never pays, an engine may not measure.
    """
    if math.isnan(seconds):
        return "unknown"
    if math.isinf(seconds):
        return "forever"
    sign, value = ("-" if seconds < 0 else ""), abs(seconds)
    if value < 0.5e-9:
        return "0 s"
    return sign + (_small_time(value) or _large_time(value))


def format_between(low: float, high: float) -> str:
    """The two ends of a time for people: ``1.2 s to 4.5 s``, ``up to 500 ms`` from nothing on, one where they are one.

    >>> format_between(1.2, 4.5), format_between(0.0, 0.5), format_between(2.0, 2.0)
    ('1.2 s to 4.5 s', 'up to 500 ms', '2 s')
    """
    if low <= 0:
        return f"up to {format_seconds(high)}"
    first, last = format_seconds(low), format_seconds(high)
    return first if first == last else f"{first} to {last}"


def format_sessions(seconds_per_hour: float) -> str:
    """Wait as the number of sessions that wait on average, three digits: an hour of wait in every hour is ``1``.

    Average active sessions as Oracle defines them, database time divided by the time that has passed (Beresniewicz,
    Average Active Sessions: the magic metric?, 2007); only foreground waits for storage are counted here.

    >>> format_sessions(6840.0), format_sessions(-360.0), format_sessions(1.0), format_sessions(0.0)
    ('1.9', '-0.1', '<0.001', '0')
    """
    sessions = seconds_per_hour / _HOUR
    if not math.isfinite(sessions):
        return "unknown" if math.isnan(sessions) else "endless"
    if abs(sessions) < _FEWEST_SESSIONS:
        return "<0.001" if abs(seconds_per_hour) >= 0.5e-9 else "0"
    return f"{sessions:,.0f}" if abs(sessions) >= 100 else f"{sessions:.3g}"


def format_wait(seconds_per_hour: float) -> str:
    """Wait per time for people: ``1.9 waiting sessions (1 h 54 min/h)``; very little is the time alone.

    >>> format_wait(6840.0), format_wait(1.0)
    ('1.9 waiting sessions (1 h 54 min/h)', '1 s of wait per hour')
    """
    if not math.isfinite(seconds_per_hour):
        return format_sessions(seconds_per_hour)
    if abs(seconds_per_hour) < _FEWEST_SESSIONS * _HOUR:
        return f"{format_seconds(seconds_per_hour)} of wait per hour"
    sessions = format_sessions(seconds_per_hour)
    return f"{sessions} waiting session{'' if sessions == '1' else 's'} ({format_seconds(seconds_per_hour)}/h)"


def format_rate(rate: float) -> str:
    """A number per second for people, three digits or whole: ``0.123``, ``69.7``, ``1,560``.

    >>> format_rate(69.7224), format_rate(1559.6), format_rate(0.0)
    ('69.7', '1,560', '0')
    """
    return f"{rate:,.0f}" if abs(rate) >= 100 else f"{rate:.3g}"


def format_ratio(ratio: float) -> str:
    """A ratio for people, three digits: ``12.5%``; less than a thousandth of a per cent is ``0%``, NaN ``unknown``."""
    if math.isnan(ratio):
        return "unknown"
    return f"{ratio * 100:.3g}%" if abs(ratio) >= 1e-5 else "0%"


def _small_time(value: float) -> str:
    """Below a minute: three digits and one unit; empty for what is longer."""
    for scale, unit in _SMALL_TIMES:
        if value >= 1000 * scale:
            continue
        text = f"{value / scale:.3g}"
        if float(text) < 1000:
            return f"{text} {unit}"
    text = f"{value:.3g}"
    return f"{text} s" if float(text) < 60 else ""


def _large_time(value: float) -> str:
    """From a minute on: the two largest units, the second left out where it is 0."""
    for big, big_unit, small, small_unit, limit in _LARGE_TIMES:
        steps = round(value / small)
        if steps * small < limit:
            whole, rest = divmod(steps, big // small)
            return f"{whole} {big_unit} {rest} {small_unit}" if rest else f"{whole} {big_unit}"
    raise AssertionError(f"{value} s is beyond every unit")


MARK = "-- "
HELD = "not to be run as it stands: a name in it holds characters that are shown as escapes here"
INDENT = "  "
# What a piece of a statement is, of any engine. A bracket behind a name or a bracket is a subscript, no quoted name.
# Possessive, and to the end where nothing closes it: however it is made, it is read once.
_PIECE = re.compile(
    r"""(?P<ours> [^-/"'\[]++ )
      | (?P<within> --[^\n]*+ | /\*.*?(?:\*/|\Z) | "(?:[^"]|"")*+(?:"|\Z) | '(?:[^']|'')*+(?:'|\Z)
                  | (?<![\w\])"])\[(?:[^\]]|\]\])*+(?:\]|\Z) )
      | (?P<other> . )""",
    re.VERBOSE | re.DOTALL,
)


def comment(text: str, *, indent: str = "") -> str:
    r"""One line that no program runs, whatever names are in the text.

    >>> comment("move a" + chr(10) + "DROP TABLE b")
    '-- move a\\nDROP TABLE b'
    """
    return f"{MARK}{indent}{printable(text)}"


def is_plain(sql: str) -> bool:
    r"""Whether every character of a statement can be shown as it is; line feeds only where we wrote them.

    >>> is_plain('DO $$' + chr(10) + 'DROP TABLE "a b"'), is_plain('DROP TABLE "a' + chr(10) + 'b"')
    (True, False)
    """
    if sql.isprintable():
        return True
    return all(
        piece[0].isprintable() or (piece.lastgroup != "within" and piece[0].replace("\n", "").isprintable())
        for piece in _PIECE.finditer(sql)
    )


def written(sql: str) -> str:
    r"""The statement as it may stand in a script: as it is or, where that is not safe, as a comment of two lines.

    >>> print(written('DROP TABLE "a' + chr(10) + 'b"'))
    -- not to be run as it stands: a name in it holds characters that are shown as escapes here
    --   DROP TABLE "a\nb"
    """
    return sql if is_plain(sql) else f"{comment(HELD)}\n{comment(escaped(sql), indent=INDENT)}"


def with_semicolon(sql: str) -> str:
    """The statement with the semicolon that ends it in a script."""
    text = sql.rstrip()
    return text if text.endswith(";") else f"{text};"


def wrapped(sql: str, most: int) -> str:
    """The statement with line feeds in place of spaces where its lines are longer; none within a name or a text.

    No line begins with a character that a client could take for a command, or ends with a hyphen.

    Args:
        sql: the statement.
        most: bytes of a line, as far as there is a place to break it.
    """
    if all(len(line.encode()) <= most for line in sql.split("\n")):
        return sql
    places = [
        at
        for piece in _PIECE.finditer(sql)
        if piece.lastgroup == "ours"
        for at in range(max(1, piece.start()), min(piece.end(), len(sql) - 1))
        if sql[at] == " " and sql[at - 1] != "-" and (sql[at + 1].isalnum() or sql[at + 1] in '"(')
    ]
    lines, began, last = [], 0, 0
    for at in (*places, len(sql)):
        if last > began and len(sql[began:at].encode()) > most:
            lines.append(sql[began:last])
            began = last + 1
        last = at
    return "\n".join([*lines, sql[began:]])


def shown(sql: str) -> str:
    """The statement as it may be seen where no one runs it: a name does not break its lines."""
    return sql if is_plain(sql) else escaped(sql)


def escaped(sql: str) -> str:
    """A statement that cannot be shown as it is; a backslash is two, so that each text stands for one statement."""
    return printable(sql.replace("\\", "\\\\"))


def commented(statements: Iterable[str]) -> tuple[str, ...]:
    """Statements that who runs the script does not run: each line of them is a comment."""
    given = tuple(statements)
    lines = [] if all(map(is_plain, given)) else [HELD]
    for sql in given:
        lines += shown(sql).split("\n")
    return tuple(comment(line, indent=INDENT) for line in lines)
