"""The ``hotplace`` command: every module of commands, put together."""

from __future__ import annotations

import sys
from typing import TextIO

from agent.cli import (
    balancing,
    closing,
    deciding,
    demo,
    looking,
    looking_back,
    pinning,
    planning,
    proposing,
    reporting,
    running,
    setting_up,
    simulating,
    sizing,
    steering,
    top,
    tracing,
    undoing,
)
from agent.cli.app import app

# Importing a module registers its commands; this is the order of the help.
COMMANDS = (
    setting_up, demo, running, top,
    looking, planning, balancing, simulating, sizing, proposing, deciding, undoing, steering, looking_back,
    reporting,
    pinning, closing, tracing,
)  # fmt: skip

__all__ = ["COMMANDS", "app", "main"]


def main() -> None:
    """Run the command line of this process; ends it with one of ``agent.cli.exit_codes.ExitCode``."""
    for stream in (sys.stdout, sys.stderr):
        _never_fail_to_encode(stream)
    app()


def _never_fail_to_encode(stream: TextIO) -> None:
    """Show what the terminal's encoding lacks as an escape: a name with an umlaut is no reason to stop."""
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="backslashreplace")
