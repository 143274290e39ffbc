"""Files that a command writes for people: a page, a picture, a table."""

from __future__ import annotations

from pathlib import Path

from agent.terminal.errors import CommandError
from agent.terminal.exit_codes import ExitCode


def write_file(path: Path, text: str) -> None:
    """Write the file, over an older one too.

    Raises:
        CommandError: it cannot be written.
    """
    try:
        path.write_text(text, encoding="utf-8", newline="")
    except OSError as error:
        raise CommandError(
            f"{path} cannot be written: {error.strerror}",
            code=ExitCode.REFUSED,
            advice="Name a file in a folder of yours.",
        ) from error
