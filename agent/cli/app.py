"""The command line's frame: common options before and after every command, errors as one clear sentence.

The group of all commands, which imports a command's module only when that command is run.

The command line's frame: common options before and after every command, errors as one clear message.

A command is a function whose first parameter is the ``Session``; ``command`` registers it, common options included.
"""

from __future__ import annotations

import errno
import inspect
import os
import sys
import traceback
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Concatenate, ParamSpec

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from agent.cli.commands import COMMANDS, DAEMON, HelpGroup, release_reloads
from agent.cli.session import Options, Session
from agent.terminal.errors import ExitCode, exit_code_table


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
        if name != DAEMON:
            release_reloads()
        if isinstance(command, Outline):
            command = self._import(str(name))
        return name, command, rest

    def _import(self, name: str) -> Any:  # noqa: ANN401 (as above)
        import_module(f"agent.cli.{COMMANDS[name].module}")
        self.commands[name] = get_command(self.app).commands[name]  # type: ignore[attr-defined]  # a group has them
        return self.commands[name]


P = ParamSpec("P")
Command = Callable[Concatenate[Session, P], ExitCode | None]
COMMON = "Common options (before the command or after it)"
NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
INTERNAL_ADVICE = "This is a fault of hotplace itself; run the command again with --debug and report what it shows."


app = typer.Typer(
    name="hotplace",
    cls=LazyGroup,
    help="Finds the database objects that make sessions wait for disk, and moves them to fast storage once approved.",
    epilog="Example: hotplace plan --observe 60\n\nExit codes:\n\n" + exit_code_table(),
    invoke_without_command=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
LazyGroup.app = app

ConfigOption = Annotated[
    Path | None,
    typer.Option(
        "--config",
        help="Configuration file (else $HOTPLACE_CONFIG, ./hotplace.yaml, /etc/hotplace/hotplace.yaml).",
        rich_help_panel=COMMON,
        show_default=False,
    ),
]
DatabaseOption = Annotated[
    str | None,
    typer.Option("--database", help="Which configured database is meant.", rich_help_panel=COMMON, show_default=False),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document.", rich_help_panel=COMMON)]
DebugOption = Annotated[bool, typer.Option("--debug", help="Show tracebacks.", rich_help_panel=COMMON)]
NoColorOption = Annotated[
    bool, typer.Option("--no-color", help="No colours; $NO_COLOR does the same.", rich_help_panel=COMMON)
]
WideOption = Annotated[
    bool,
    typer.Option("--wide", help="Leave out no column of a table and shorten no name.", rich_help_panel=COMMON),
]
COMMON_PARAMETERS = {
    "config": (ConfigOption, None),
    "database": (DatabaseOption, None),
    "as_json": (JsonOption, False),
    "debug": (DebugOption, False),
    "no_color": (NoColorOption, False),
    "wide": (WideOption, False),
}


def _show_version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        sys.stdout.write(f"hotplace {version('hotplace')}\n")
        raise typer.Exit


@app.callback()
def remember(
    context: typer.Context,
    config: ConfigOption = None,
    database: DatabaseOption = None,
    as_json: JsonOption = False,
    debug: DebugOption = False,
    no_color: NoColorOption = False,
    wide: WideOption = False,
    show_version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Keep what was given before the command."""
    assert not show_version, "its callback ends the program"
    if context.invoked_subcommand is None:
        from agent.cli.first_screen import first_screen

        sys.stdout.write(first_screen())
        raise typer.Exit(ExitCode.USAGE)
    context.obj = Options(config=config, database=database, as_json=as_json, debug=debug, no_color=no_color, wide=wide)


def command(
    group: HelpGroup, example: str, *, name: str | None = None, of: typer.Typer = app, reads: bool = False
) -> Callable[[Command[P]], Callable[..., None]]:
    """Register a function as a command.

    Args:
        group: its heading in the help.
        example: a command line, shown below its help.
        name: its name; default: the function's.
        of: the group of commands it belongs to.
        reads: it only reads, and makes no ledger where there is none.
    """

    def register(function: Command[P]) -> Callable[..., None]:
        runner = _with_common_options(function, reads=reads)
        of.command(name or function.__name__, epilog=f"Example: {example}", rich_help_panel=group)(runner)
        return runner

    return register


def _with_common_options(function: Command[P], *, reads: bool) -> Callable[..., None]:
    """The function as typer calls it: a context and the common options in place of the session."""
    own = list(inspect.signature(function, eval_str=True).parameters.values())[1:]

    def runner(context: typer.Context, **given: Any) -> None:  # noqa: ANN401 (whatever typer has parsed)
        after = {key: given.pop(key) for key in COMMON_PARAMETERS}
        before = context.obj if isinstance(context.obj, Options) else Options()
        # Only what was given: an option that is left out here has its default, which would undo the one before the
        # command.
        options = replace(before, **{key: value for key, value in after.items() if value})

        def body(session: Session) -> ExitCode | None:
            session.only_reads = reads
            return function(session, **given)  # type: ignore[call-arg]  # ty: P

        code = run_guarded(options, body)
        raise typer.Exit(int(code))

    keyword = inspect.Parameter.KEYWORD_ONLY
    parameters = [
        inspect.Parameter("context", keyword, annotation=typer.Context),
        *(parameter.replace(kind=keyword) for parameter in own),
        *(
            inspect.Parameter(key, keyword, annotation=annotation, default=default)
            for key, (annotation, default) in COMMON_PARAMETERS.items()
        ),
    ]
    runner.__name__, runner.__doc__, runner.__module__ = function.__name__, function.__doc__, function.__module__
    runner.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # what typer reads
    runner.__wrapped__ = function  # type: ignore[attr-defined]  # what inspect.unwrap finds
    runner.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return runner


def run_guarded(options: Options, body: Callable[[Session], ExitCode | None]) -> ExitCode:
    """Run a command's body; whatever goes wrong becomes one message on standard error and an exit code."""
    from agent.model.logs import set_up_logs
    from agent.terminal.errors import exit_code_of
    from connectors.kit.contract import HotplaceError
    from connectors.kit.findings import explained

    set_up_logs(as_json=False, level="warning")  # `run` sets them up as configured
    session = Session(options)
    try:
        with session:
            code = body(session) or ExitCode.OK
            # Here, where a broken pipe is still caught: what is flushed at the interpreter's end complains with a
            # traceback.
            sys.stdout.flush()
            return code
    except typer.BadParameter:
        raise  # wrong use: typer says so
    except BrokenPipeError:
        _forget_standard_output()
        return ExitCode.OK  # the reader has seen enough
    except KeyboardInterrupt:
        session.out.problem("interrupted", "", ends_with=ExitCode.INTERRUPTED)
        return ExitCode.INTERRUPTED
    except OSError as error:
        if error.errno not in NO_ROOM:
            return _say_fault(session, options, error)
        _forget_standard_output()
        advice = "Free some room, or send the output elsewhere."
        session.out.problem(f"the output cannot be written: {error.strerror}", advice, ends_with=ExitCode.REFUSED)
        return ExitCode.REFUSED
    except HotplaceError as error:
        code = exit_code_of(error)
        session.out.problem(str(error), explained(error.advice), ends_with=code)
        _trace(options)
        return code
    except Exception as error:  # noqa: BLE001 (nothing is swallowed: it is said, and shown in full with --debug)
        return _say_fault(session, options, error)


def _say_fault(session: Session, options: Options, error: Exception) -> ExitCode:
    """A fault of our own."""
    session.out.problem(f"{type(error).__name__}: {error}", INTERNAL_ADVICE, ends_with=ExitCode.INTERNAL)
    _trace(options)
    return ExitCode.INTERNAL


def _trace(options: Options) -> None:
    if options.debug:
        traceback.print_exc()


def _forget_standard_output() -> None:
    """Let nothing be written any more, so that the interpreter does not complain while it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
