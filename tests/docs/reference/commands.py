"""Every command with its arguments, options and example, as typer knows them."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any, get_args

from typer.main import get_command

from agent.cli.app import COMMON
from agent.cli.commands import HelpGroup
from agent.cli.main import whole_app
from tests.docs.reference.blocks import table

WORDS = {int: "NUMBER", float: "NUMBER", str: "TEXT", Path: "FILE"}


def every_command() -> Iterator[tuple[str, Any]]:
    """Words of each command, such as ``trace on``, with typer's own record of it."""
    for name, command in get_command(whole_app()).commands.items():  # type: ignore[attr-defined]  # a group has them
        inner = getattr(command, "commands", None)
        yield from ((f"{name} {sub}", record) for sub, record in inner.items()) if inner else [(name, command)]


def blocks() -> dict[str, str]:
    """One part for the options that all commands share, and one for each question that commands answer."""
    commands = list(every_command())
    parts = {f"commands {group}": _section(group, commands) for group in HelpGroup}
    common = [each for each in commands[0][1].params if each.rich_help_panel == COMMON]
    return {**parts, "common options": table(("option", "meaning"), [_row(each)[::2] for each in common])}


def _section(group: HelpGroup, commands: list[tuple[str, Any]]) -> str:
    return "\n\n".join(_command(words, record) for words, record in commands if record.rich_help_panel == group)


def _command(words: str, record: Any) -> str:  # typer's command, whose class moves between versions
    own = [each for each in record.params if getattr(each, "rich_help_panel", None) != COMMON]
    arguments = " ".join(_argument(each) for each in own if each.param_type_name == "argument")
    usage = " ".join(filter(None, (f"hotplace {words}", arguments)))
    example = (record.epilog or "").removeprefix("Example: ")
    parts = [f"### {words}", record.help.strip(), f"    {usage}"]
    if own:
        parts.append(table(("argument or option", "default", "meaning"), [_row(each) for each in own]))
    return "\n\n".join([*parts, f"Example: `{example}`"])


def _argument(parameter: Any) -> str:  # as above
    word = _placeholder(parameter)
    return word if parameter.required or word.startswith("[") else f"[{word}]"


def _row(parameter: Any) -> tuple[str, str, str]:  # as above
    return f"`{_written(parameter)}`", _default(parameter), parameter.help


def _written(parameter: Any) -> str:  # as above
    if parameter.param_type_name == "argument":
        return _placeholder(parameter)
    names = ", ".join(parameter.opts)
    if parameter.is_flag:
        return " / ".join([names, *parameter.secondary_opts])
    return f"{names} {_placeholder(parameter)}"


def _placeholder(parameter: Any) -> str:  # as above
    """What stands for the value: as the command says, else by its type."""
    if parameter.metavar:
        return str(parameter.metavar)
    kinds = [kind for kind in _kinds(parameter.type_descriptor.annotation) if isinstance(kind, type)]
    for kind in kinds:
        if issubclass(kind, Enum):
            return "|".join(str(member.value) for member in kind)
    if parameter.param_type_name == "argument":
        return str(parameter.name).upper()
    return next((WORDS[kind] for kind in kinds if kind in WORDS), "VALUE")


def _kinds(annotation: object) -> list[object]:
    inner = [kind for part in get_args(annotation) for kind in _kinds(part)]
    return inner or [annotation]


def _default(parameter: Any) -> str:  # as above
    if parameter.required:
        return "required"
    value = parameter.default
    if value is None or value in (False, "", ()):
        return ""
    if value is True:
        return "on"
    return f"`{value.value if isinstance(value, Enum) else value}`"
