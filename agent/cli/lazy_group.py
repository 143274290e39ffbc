"""The group of all commands, which imports a command's module only when that command is run."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from agent.cli.commands import COMMANDS


class Outline(TyperCommand):
    """A command as the help lists it: name, heading and summary."""


class LazyGroup(TyperGroup):
    """The commands of the table, as outlines until their modules are imported."""

    app: typer.Typer  # where the modules register their commands; set by agent.cli.app

    def __init__(self, **attributes: Any) -> None:  # noqa: ANN401 (whatever typer gives a group)
        super().__init__(**attributes)
        outlines = {
            name: Outline(name, callback=None, help=listed.summary, rich_help_panel=listed.group)
            for name, listed in COMMANDS.items()
            if name not in self.commands
        }
        self.commands = {name: outlines.get(name) or self.commands[name] for name in COMMANDS}

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:  # noqa: ANN401 (as typer's own)
        """The command that the arguments name, its module imported."""
        name, command, rest = super().resolve_command(ctx, args)
        if isinstance(command, Outline):
            command = self._import(str(name))
        return name, command, rest

    def _import(self, name: str) -> Any:  # noqa: ANN401 (as above)
        import_module(f"agent.cli.{COMMANDS[name].module}")
        self.commands[name] = get_command(self.app).commands[name]  # type: ignore[attr-defined]  # a group has them
        return self.commands[name]
