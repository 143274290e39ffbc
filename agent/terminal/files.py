"""Files that a command writes for people: a page, a picture, a table, a configuration."""

from __future__ import annotations

from collections.abc import Iterable
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
        raise not_written(path, error, "Name a file in a folder of yours.", code=ExitCode.REFUSED) from error


def not_written(path: Path, error: OSError, advice: str, code: ExitCode = ExitCode.CONFIGURATION) -> CommandError:
    """The error of a file or folder that the system does not let us write."""
    return CommandError(f"{path} cannot be written: {error.strerror}", code=code, advice=advice)


def exists_already(paths: Iterable[Path]) -> CommandError:
    """The error of files that are there and are not to be lost."""
    return CommandError(
        f"{', '.join(map(str, paths))} exists already",
        code=ExitCode.REFUSED,
        advice="--force overwrites it; --output names another place.",
    )
