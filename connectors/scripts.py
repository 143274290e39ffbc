r"""Scripts that a person runs or reads: the one writer of their comments, and of statements with foreign names in them.

A name is whatever its owner chose. A correctly quoted line feed is part of a name to a server, but to a program that
reads line by line it may end a statement and begin another (``;`` or ``/`` or ``GO`` at the right place), and a person
sees a line that nobody wrote. So a comment is one line whatever it says, and a statement with a character in a name or
text that cannot be shown as it is becomes a comment, too: nobody runs it by mistake, and every line there is, is ours.
JSON has each statement to the letter.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from connectors.formatting import printable

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


def shown(sql: str) -> str:
    """The statement as it may be seen where nobody runs it: a name does not break its lines."""
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
