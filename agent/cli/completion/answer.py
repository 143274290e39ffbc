"""Answers the shell where a value is to be completed, and leaves all else to typer."""

from __future__ import annotations

import sys
from collections.abc import Mapping

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
    from agent.cli.completion.kinds import kind_at, value_of
    from agent.cli.completion.shells import BASH, FISH, ZSH, for_shell, typed_in
    from agent.cli.completion.stored import as_written, values_of

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
