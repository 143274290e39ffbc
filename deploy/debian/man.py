"""Writes hotplace(1) and hotplace.yaml(5) from the command line and the sample configuration: man.py VERSION FOLDER."""

from __future__ import annotations

import gzip
import sys
from collections.abc import Iterator
from pathlib import Path

import typer
from typer.main import get_command

from agent.cli.main import whole_app
from agent.config.sample import sample
from agent.terminal.errors import ExitCode

NO_TIME = 0  # in the head of the compressed file, so that the same page is the same file


def main(version: str, folder: Path) -> None:
    """Write both pages, compressed."""
    for section, name, page in ((1, "hotplace", command_page(version)), (5, "hotplace.yaml", sample_page(version))):
        path = folder / f"man{section}" / f"{name}.{section}.gz"
        path.write_bytes(gzip.compress(page.encode(), 9, mtime=NO_TIME))


def command_page(version: str) -> str:
    """Every command with its options."""
    group = get_command(whole_app())
    context = typer.Context(group, info_name="hotplace")
    lines = [
        f'.TH HOTPLACE 1 "" "hotplace {version}" "User Commands"',
        ".SH NAME", "hotplace \\- proposes which database objects belong on fast storage",
        ".SH SYNOPSIS", ".B hotplace", "[\\fIOPTIONS\\fR] \\fICOMMAND\\fR [\\fIARGUMENTS\\fR]",
        ".SH DESCRIPTION", quoted(group.help or ""),
        ".SH COMMANDS", *_commands(group, context, "hotplace"),
        ".SH EXIT STATUS", *(line for code in ExitCode for line in (".TP", f".B {code.value}", quoted(code.meaning))),
        ".SH FILES", ".TP", ".I /etc/hotplace/hotplace.yaml", "the configuration, see \\fBhotplace.yaml\\fR(5)",
        ".TP", ".I /var/lib/hotplace/ledger.db", "what was proposed, approved, done and measured",
        ".SH SEE ALSO", "\\fBhotplace.yaml\\fR(5)",
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def sample_page(version: str) -> str:
    """The commented configuration as `hotplace init --full` writes it."""
    lines = [
        f'.TH HOTPLACE.YAML 5 "" "hotplace {version}" "File Formats"',
        ".SH NAME", "hotplace.yaml \\- configuration of hotplace",
        ".SH DESCRIPTION", "YAML. What \\fBhotplace init --full\\fR writes, with every key that most sites need:",
        ".PP", ".nf", *map(quoted, sample("postgresql").splitlines()), ".fi",
        ".SH SEE ALSO", "\\fBhotplace\\fR(1)",
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def quoted(text: str) -> str:
    r"""Text that means nothing to the formatter.

    >>> quoted(".x -y")
    '\\&.x \\-y'
    """
    plain = " ".join(text.split("\n\n", 1)[0].split("\n")) if "\n" in text else text
    escaped = plain.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{escaped}" if escaped[:1] in {".", "'"} else escaped


def _commands(group: object, context: typer.Context, path: str) -> Iterator[str]:
    for name in group.list_commands(context):  # type: ignore[attr-defined]  # of click's group
        command = group.get_command(context, name)  # type: ignore[attr-defined]  # as above
        if hasattr(command, "list_commands"):
            yield from _commands(command, context, f"{path} {name}")
            continue
        arguments = " ".join(
            each.metavar or str(each.name).upper() for each in command.params if each.param_type_name == "argument"
        )
        yield from (f".SS {quoted(path)} {quoted(name)} {quoted(arguments)}".rstrip(), quoted(command.help or ""))
        for option in command.params:
            record = option.get_help_record(context) if option.param_type_name == "option" else None
            if record is not None:
                yield from (".TP", f".B {quoted(record[0])}", quoted(record[1]))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
