"""SQL*Plus, sqlcmd and the Db2 command line processor as readers of a file, by their documented rules (``clients.md``).

Each gives what it would send to the server, in order. What the rules leave open is an error here.
"""

from __future__ import annotations

import re

_VARIABLE = re.compile(r"\$\(\w+\)")
_BLOCK = re.compile(r"(DECLARE|BEGIN|CREATE\s+(OR\s+REPLACE\s+)?(FUNCTION|PACKAGE|PROCEDURE|TRIGGER|TYPE))\b", re.I)
_SQL = ("ALTER", "CREATE", "DROP", "BEGIN", "DECLARE", "GRANT", "COMMIT", "SELECT")
# Names of objects that end or begin something for one of the clients, as far as they can be shown on one line.
NAMES = (
    "a&b",
    "&&a",
    "a;",
    ";",
    "/",
    "GO",
    "$(SQLCMDUSER)",
    "@x",
    "#y",
    "-- z",
    "a -",
    "!ls",
    ":r",
    r"\q",
    ":x",
    "@@#%",
)
SQLCMD_WORDS = ("ED", "EXIT", "QUIT", "RESET", "LIST")


class Refused(Exception):
    """The client reads the line as something else than what is meant."""


def sqlplus(text: str) -> list[str]:
    """Statements that SQL*Plus sends; it begins with its defaults."""
    sent: list[str] = []
    lines: list[str] = []
    define, blank_lines, stops = True, False, False
    for line in text.split("\n"):
        if len(line.encode()) > 2499:
            raise Refused("SP2-0027")
        if define and "&" in line:
            raise Refused(f"asks for a value: {line}")
        if not lines:
            words = line.upper().split()
            if not words or line.startswith("--"):
                continue
            if words[0] == "SET":
                define = define and words != ["SET", "DEFINE", "OFF"]
                blank_lines = blank_lines or words == ["SET", "SQLBLANKLINES", "ON"]
                continue
            if words[:2] == ["WHENEVER", "SQLERROR"]:
                stops = True
                continue
            if words[0] == "WHENEVER":
                continue
            if words[0] not in _SQL:
                raise Refused(f"no command: {line}")
            if not stops:
                raise Refused("goes on after an error")
        elif line.startswith(("@", "#")) or line == ".":
            raise Refused(f"a command within a statement: {line}")
        elif lines[-1].endswith("-"):
            raise Refused("a hyphen at the end of a line goes on in the next")
        elif not line.strip() and not blank_lines:
            raise Refused("a blank line ends the statement, and it is not run")
        if line.strip() == "/":
            sent.append("\n".join(lines))
            lines = []
            continue
        lines.append(line)
        if line.rstrip().endswith(";") and not _BLOCK.match(lines[0].lstrip()):
            sent.append("\n".join(lines).rstrip()[:-1])
            lines = []
    if lines:
        raise Refused(f"never sent: {lines}")
    return sent


def sqlcmd(text: str, *, variables: dict[str, str] | None = None) -> list[str]:
    """Batches that sqlcmd sends; without variables it was started with -x."""
    sent: list[str] = []
    lines: list[str] = []
    for each in text.split("\n"):
        line = each
        if variables is not None:
            line = _VARIABLE.sub(lambda found: variables[found[0][2:-1]], line)
        if re.fullmatch(r"\s*GO(\s+\d+)?\s*", line, re.I):
            sent += ["\n".join(lines)] * bool("".join(lines).strip())
            lines = []
            continue
        if line.startswith((":", "!!")) or line.strip().upper() in SQLCMD_WORDS:
            raise Refused(f"a command of sqlcmd: {line}")
        lines.append(line)
    rest = [line for line in lines if line.strip() and not line.startswith("--")]
    if rest:  # sent, too, but by no GO of ours
        raise Refused(f"without GO: {rest}")
    return sent


def batches(text: str) -> list[str]:
    """Of sqlcmd started with -x, without whole lines of comments and without what stands in every file of ours."""
    sent = ["\n".join(line for line in each.split("\n") if not line.startswith("--")).strip() for each in sqlcmd(text)]
    if not sent[0].startswith("SET QUOTED_IDENTIFIER") or not sent[1].startswith("IF N'$(SQLCMDUSER)'"):
        raise Refused(f"without its opening: {sent[:2]}")
    if set(sent[3::2]) != {"IF @@ERROR <> 0 SET NOEXEC ON;"}:
        raise Refused("goes on after an error")
    return [each.removesuffix(";") for each in sent[2::2]]


def clp(text: str) -> list[str]:
    """Statements that ``db2 -tvsf`` sends."""
    sent: list[str] = []
    lines: list[str] = []
    end = ";"
    for line in text.split("\n"):
        if not lines and line.startswith("--#SET TERMINATOR "):
            end = line.removeprefix("--#SET TERMINATOR ")
        elif not line.strip() or line.startswith("--"):
            continue
        elif line.startswith("!"):
            raise Refused(f"a command of the system: {line}")
        else:
            lines.append(line)
            if line.rstrip().endswith(end):
                sent.append("\n".join(lines).rstrip().removesuffix(end).rstrip())
                lines = []
    if lines or end != ";":
        raise Refused(f"never sent: {lines}")
    return sent
