"""Answers the shell where a value is to be completed, and leaves all else to typer.

How each shell says what was typed, and how it takes values: escaped, so that a name is only ever a name.

What is printed goes back into typer's scripts for the shells. Bash puts it on the command line as it stands, zsh runs
it as a command, fish quotes it itself.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

BASH, ZSH, FISH = "bash", "zsh", "fish"
_UNTOUCHED = frozenset("_./,+%-")  # with letters and digits: what no shell takes for anything else
_SPECIAL_IN_QUOTES = frozenset('\\"$`')


@dataclass(frozen=True, slots=True)
class Typed:
    """The command line up to the cursor."""

    words: Sequence[str]  # after the program's name, without quotes
    begins: str  # the word at the cursor, without quotes
    quote: str = ""  # that the word at the cursor has opened


def typed_in(shell: str, environment: Mapping[str, str]) -> Typed:
    """What was typed, as the shell's script puts it into the environment.

    Raises:
        KeyError, ValueError: the environment is not of such a script.
    """
    if shell == BASH:
        return _typed_in_bash(environment["COMP_WORDS"], int(environment["COMP_CWORD"]))
    line = environment["_TYPER_COMPLETE_ARGS"]
    words = split(line)[1:]
    if words and not line.endswith(" "):
        return Typed(words[:-1], words[-1])
    return Typed(words, "")


def _typed_in_bash(text: str, at: int) -> Typed:
    """Bash has the words one by one, each as it was typed, and ``=`` as one of them."""
    raw = text.split("\n") if "\n" in text else text.split(" ")
    word = raw[at] if at < len(raw) else ""
    quote = word[0] if word[:1] in ("'", '"') and not (len(word) > 1 and word.endswith(word[0])) else ""
    begins = "" if word == "=" else word
    words = [part for each in raw[1:at] if each != "=" for part in split(each)]
    return Typed(words, "".join(split(begins)), quote)


def split(line: str) -> list[str]:
    r"""The words of a line without their quotes; what is not closed yet is a word too.

    >>> split(r"a 'b c' \$d 'e f")
    ['a', 'b c', '$d', 'e f']
    """
    lexer = shlex.shlex(line, posix=True)
    lexer.whitespace_split, lexer.commenters = True, ""
    words: list[str] = []
    try:
        words.extend(lexer)
    except ValueError:
        # A quotation is still open: what is typed of it so far is the last word.
        words.append(lexer.token)
    return words


def for_shell(shell: str, values: Sequence[tuple[str, str]], typed: Typed) -> str:
    """What the shell's script is to be answered.

    Args:
        shell: which one.
        values: printable texts, each with a word about it.
        typed: the command line.
    """
    if shell == ZSH:
        return " ".join(["compadd -U --", *(_for_zsh(value) for value, _ in values)]) if values else ""
    if shell == FISH:
        return "\n".join(f"{value}\t{word}" if word else value for value, word in values)
    return "\n".join(escaped for value, _ in values if (escaped := _for_bash(value, typed.quote)))


def _for_bash(value: str, quote: str) -> str:
    """A word of bash, within the quote that is open; "" where it cannot be written there."""
    if quote == "'":
        return "" if "'" in value else value
    if quote == '"':
        if "!" in value:  # history, which no backslash within these quotes keeps from it
            return ""
        return "".join(f"\\{c}" if c in _SPECIAL_IN_QUOTES else c for c in value)
    return "".join(c if c.isalnum() or c in _UNTOUCHED else f"\\{c}" for c in value)


def _for_zsh(value: str) -> str:
    """A word of zsh's language in letters, digits and escapes alone: the answer is split and run by ``eval``."""
    if all(c.isascii() and (c.isalnum() or c in _UNTOUCHED) for c in value):
        return value
    return (
        "$'" + "".join(chr(b) if chr(b).isascii() and chr(b).isalnum() else f"\\x{b:02x}" for b in value.encode()) + "'"
    )


VARIABLE = "_HOTPLACE_COMPLETE"  # as typer's scripts for the shells set it
OF_FISH = "_TYPER_COMPLETE_FISH_ACTION"


def answer(environment: Mapping[str, str]) -> bool:
    """Print the values that fit what was typed; whether this was a question for values at all.

    Raises:
        SystemExit: fish asked only whether there are any.
    """
    asked, _, shell = environment[VARIABLE].partition("_")
    if asked != "complete":
        return False
    from agent.cli.completed_values import as_written, kind_at, value_of, values_of

    if shell not in {BASH, ZSH, FISH}:
        return False
    try:
        typed = typed_in(shell, environment)
    except (KeyError, ValueError):
        return False
    kind = None if typed.begins.startswith("-") else kind_at(typed.words)
    if kind is None:
        return False
    found = values_of(
        kind, typed.begins, config=value_of(typed.words, "--config"), database=value_of(typed.words, "--database")
    )
    if environment.get(OF_FISH) == "is-args":
        raise SystemExit(0 if found else 1)
    said = for_shell(shell, as_written(kind, found), typed)
    sys.stdout.write(f"{said}\n" if said else "")
    return True
