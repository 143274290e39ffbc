"""Files of statements for the vendors' own clients: where a statement ends, and what else a client reads in a line.

A person runs what hotplace leaves to a person (``connectors.model.moves.ByHand``) with the client of the engine. Each
client has a language of its own around SQL, and ends a statement by rules of its own. So each engine names its client,
and a file is written for that one. Every file stops at its first error.

Rules and where they stand: ``tests/labs/clients.md``.
"""

from __future__ import annotations

import re

from connectors.model.formatting import with_semicolon, wrapped
from connectors.model.moves import Client

# hotplace knows its own sessions by these; SQL*Plus takes a line that begins with a comment for a comment.
_TAG = re.compile(r"\A/\* hotplace [^*]*\*/|/\* hotplace [^*]*\*/\Z")
_BLOCK = re.compile(
    r"\A\s*(?:DECLARE|BEGIN|CREATE\s+(?:OR\s+REPLACE\s+)?(?:FUNCTION|LIBRARY|PACKAGE|PROCEDURE|TRIGGER|TYPE))\b", re.I
)
_COMPOUND = re.compile(r"\A\s*BEGIN\b", re.I)
SQLPLUS_LINE = 2_000  # bytes; a line of more than 2,499 is not read, and the file goes on
OTHER_TERMINATORS = "@#%|~^"


def without_tag(sql: str) -> str:
    """The statement without the comment by which hotplace knows what it sent itself.

    >>> without_tag("/* hotplace */ ALTER TABLE t MOVE"), without_tag("CALL p() /* hotplace move 1 step 2 */")
    ('ALTER TABLE t MOVE', 'CALL p()')
    """
    return _TAG.sub("", sql.strip()).strip()


def _of_sqlplus(sql: str) -> str:
    """A block ends by a slash on a line of its own; other statements are broken where their lines are too long.

    >>> print(_of_sqlplus("BEGIN p; END;"))
    BEGIN p; END;
    /
    """
    text = with_semicolon(without_tag(sql))
    return f"{text}\n/" if _BLOCK.match(text) else wrapped(text, SQLPLUS_LINE)


def _of_sqlcmd(sql: str) -> str:
    """A batch of its own for each statement; after one that failed no other is carried out, whatever runs the file."""
    return f"{with_semicolon(without_tag(sql))}\nGO\nIF @@ERROR <> 0 SET NOEXEC ON;\nGO"


def _of_clp(sql: str) -> str:
    """A compound statement has semicolons of its own, so another character ends it.

    >>> print(_of_clp("BEGIN SET x = 1; END"))
    --#SET TERMINATOR @
    BEGIN SET x = 1; END
    @
    --#SET TERMINATOR ;
    """
    text = without_tag(sql).rstrip()
    if not _COMPOUND.match(text):
        return with_semicolon(text)
    end = next(each for each in OTHER_TERMINATORS if each not in text)
    return f"--#SET TERMINATOR {end}\n{text.removesuffix(';')}\n{end}\n--#SET TERMINATOR ;"


def _of_psql(sql: str) -> str:
    return with_semicolon(without_tag(sql))


PSQL = Client(
    run_with="psql -X -f FILE, connected to the database; it stops at the first error",
    opening=(r"\set ON_ERROR_STOP on",),
    statement=_of_psql,
)
SQLPLUS = Client(
    run_with=(
        "sqlplus -L USER@DATABASE @FILE, with NLS_LANG=.AL32UTF8 where names are not ASCII; it stops at the first error"
    ),
    # Before any comment: with DEFINE a name behind an ampersand is asked for, in comments, too.
    opening=(
        "SET DEFINE OFF",
        "SET SQLBLANKLINES ON",
        "WHENEVER SQLERROR EXIT FAILURE ROLLBACK",
        "WHENEVER OSERROR EXIT FAILURE ROLLBACK",
    ),
    statement=_of_sqlplus,
)
SQLCMD = Client(
    run_with=(
        "sqlcmd -S SERVER -d DATABASE -b -x -i FILE, on Windows -f 65001 if names are not ASCII; "
        "-b stops at the first error, -x leaves $ in names alone"
    ),
    # Several statements of one batch, with or without a transaction, end at the first that fails.
    # sqlcmd begins with QUOTED_IDENTIFIER OFF, by which indexes that need it fail. Without -x it has put another
    # text in place of $(SQLCMDUSER), and may do so with names.
    opening=(
        "SET QUOTED_IDENTIFIER, ANSI_NULLS, ANSI_PADDING, ANSI_WARNINGS, ARITHABORT, CONCAT_NULL_YIELDS_NULL ON;",
        "SET NUMERIC_ROUNDABORT OFF; SET XACT_ABORT ON;",
        "GO",
        "IF N'$(SQLCMDUSER)' <> N'$' + N'(SQLCMDUSER)'",
        "BEGIN RAISERROR (N'Run this file with sqlcmd -b -x, or without SQLCMD mode.', 16, 1); SET NOEXEC ON; END;",
        "GO",
    ),
    statement=_of_sqlcmd,
)
CLP = Client(
    run_with="db2 -tvsf FILE in a command line processor that is connected to it; -s stops at the first error",
    statement=_of_clp,
)
