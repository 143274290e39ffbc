"""Every command and every exit code is documented, and no page shows a command line that does not exist."""

from __future__ import annotations

from typing import Any

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


def options_of(command: Any) -> set[str]:  # typer's own record
    """Every option that a command takes."""
    own = {option for each in command.params for option in (*each.opts, *each.secondary_opts)}
    return own | {"--help"}
