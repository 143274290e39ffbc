"""Every command and every exit code is documented, and no page shows a command line that does not exist."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from itertools import takewhile
from typing import Any

import typer
from typer.main import get_command

from agent.cli.main import whole_app
from agent.terminal.errors import ExitCode
from tests.cli.test_help import COMMANDS
from tests.docs.reference.commands import every_command
from tests.docs.text import WRITTEN, command_lines, page
from tests.over import over

BY_WORDS = dict(every_command())
GROUPS = {words[0] for words in COMMANDS if len(words) > 1}
LINES = sorted({(name, " ".join(words)) for name, text in WRITTEN.items() for words in command_lines(text)})


@over("words", COMMANDS)
def test_command_is_documented(words: tuple[str, ...]) -> None:
    """The reference has a section of its own for the command, and shows it as it is typed."""
    assert f"\n### {' '.join(words)}\n" in page("reference/commands.md")
    assert f"hotplace {' '.join(words)}" in page("reference/commands.md")


@over("words", COMMANDS)
def test_command_is_shown_in_use(words: tuple[str, ...]) -> None:
    """A page that answers a question shows the command, not only the reference."""
    by_hand = [text for name, text in WRITTEN.items() if "/reference/" not in name]
    assert any(f"hotplace {' '.join(words)}" in text for text in by_hand)


@over("code", ExitCode)
def test_exit_code_is_documented(code: ExitCode) -> None:
    """The reference has a section for the code."""
    assert f"\n## {code.value}: " in page("reference/exit-codes.md")


def test_there_are_command_lines() -> None:
    """The next test looks at something."""
    assert len(LINES) > 150


@over(("name", "line"), LINES)
def test_a_command_line_on_a_page_exists(name: str, line: str) -> None:
    """Its command is one of ours, and so is each of its options."""
    words = line.split()
    command = " ".join(words[:2]) if words[0] in GROUPS and len(words) > 1 else words[0]
    if command in GROUPS:
        return  # a page speaks of all its commands
    assert command in BY_WORDS, f"{name} shows `hotplace {line}`"
    unknown = {word.partition("=")[0] for word in words if word.startswith("--")} - options_of(BY_WORDS[command])
    assert not unknown, f"{name} shows `hotplace {line}`"


TYPED = sorted(
    {
        (name, tuple(words))
        for name, text in WRITTEN.items()
        if not name.endswith("reference/commands.md")  # shows the form of each command
        for line in text.splitlines()
        if line.startswith("    ")
        for words in command_lines(line)
    }
)
WRONG_USE: Any = typer.BadParameter.__bases__[0]
BLANK = re.compile(r"[A-Z]{2,}|X")  # in place of what a reader fills in


@over(("name", "typed"), TYPED)
def test_a_command_line_in_a_block_can_be_typed(name: str, typed: tuple[str, ...]) -> None:
    """The command itself takes it: no argument is missing, too many or of another kind; ``> FILE`` is the shell's."""
    assert fault_of(typed) == "", f"{name} shows `hotplace {' '.join(typed)}`"


def fault_of(typed: Iterable[str], *, named_only: bool = False) -> str:
    """What the command line itself has to say against the words behind ``hotplace``; "" where it takes them.

    Args:
        typed: they may have what a reader fills in, and what belongs to the shell.
        named_only: it is spoken of: where it stands without any argument none is missing, nor the last one's value.
    """
    own = takewhile(lambda word: word not in {">", "|", "&&", "<"}, typed)
    words = ["1" if BLANK.fullmatch(word) else word for word in own]
    command: Any = whole()
    while hasattr(command, "commands"):
        while words and words[0].startswith("--"):
            words = words[2:] if words[0] in {"--config", "--database"} else words[1:]
        if not words:
            return ""
        if words[0] not in command.commands:
            return f"there is no {words[0]!r}"
        command = command.commands[words.pop(0)]
    is_mention = named_only and all(word.startswith("-") for word in words)
    is_cut = named_only and words[-1:] != [] and words[-1].startswith("--")
    try:
        command.make_context(command.name, list(words))
    except typer.Exit:
        return ""  # --help
    except WRONG_USE as error:
        said = str(error.format_message())
        missing = (is_mention and said.startswith("Missing")) or (is_cut and said.endswith("requires an argument."))
        return "" if missing else said
    return ""


@cache
def whole() -> Any:
    """Every command, made once."""
    return get_command(whole_app())


def options_of(command: Any) -> set[str]:  # typer's own record
    """Every option that a command takes."""
    own = {option for each in command.params for option in (*each.opts, *each.secondary_opts)}
    return own | {"--help"}
