"""Long output goes through the user's pager, as git's does."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess

from rich.console import Console

DEFAULT = "less"
# Ends where all fits one screen, keeps colours, leaves the text on the screen; S: long lines are cut, not folded.
LESS = "FRX"


def show_paged(text: str, console: Console, *, chop: bool) -> None:
    """Show a text that was drawn for this terminal.

    Args:
        text: with the terminal's escapes for colours.
        console: of the terminal.
        chop: long lines scroll sideways.
    """
    pager = _pager()
    if text.count("\n") < console.height or not pager:
        console.file.write(text)
        console.file.flush()
        return
    environment = {**os.environ, "LESS": os.environ.get("LESS", LESS + ("S" if chop else "")), "LESSCHARSET": "utf-8"}
    subprocess.run(pager, input=text.encode(), env=environment, check=False)  # noqa: S603 (the user's own pager)


def _pager() -> list[str]:
    """The command that $PAGER names, else less; none where neither is installed or $PAGER is empty or cat."""
    command = shlex.split(os.environ.get("PAGER", DEFAULT))
    if not command or command == ["cat"] or shutil.which(command[0]) is None:
        return []
    return command
