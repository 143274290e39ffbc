"""How do I begin on a server that has no login for the agent? ``setup``."""

from __future__ import annotations

import getpass
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import SecretStr

from agent.cli.app import command
from agent.cli.commands import HelpGroup
from agent.cli.init import check, write_private
from agent.cli.session import Session, interactive
from agent.config.files import parse
from agent.config.sample import DatabaseEntry, short_configuration, yaml_lines
from agent.model.answers.setup import Checkup, FileWritten, LoginSetUp, SetUpDone
from agent.service.shipped_files import FileKind, files_of_engine
from agent.terminal.errors import CommandError, ExitCode, exists_already
from connectors.kit.registry import Engine, engine_names, find_engine
from connectors.kit.setting_up import LoginAnswer, RunsScript, SetUp, Tried, Wanted, best_way, new_password
from connectors.kit.settings import SecretSource

SCRIPT, WATCHING, MOVING = "setup.sql", "watch.password", "move.password"  # beside the configuration
KEEP = ".new"  # of a password file, until its login has that password
LIST = "; several with commas"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Given:
    """What the options say; empty where they say nothing."""

    databases: tuple[str, ...]
    host: str
    fast: tuple[str, ...]
    slow: tuple[str, ...]
    owners: tuple[str, ...]
    only_watches: bool


@command(HelpGroup.SET_UP, "hotplace setup postgresql app --fast ssd --owner app_owner --run")
def setup(
    session: Session,
    engine: Annotated[str, typer.Argument(metavar="ENGINE", help=f"Kind of database: {', '.join(engine_names())}.")],
    databases: Annotated[
        list[str] | None, typer.Argument(metavar="[DATABASE]...", help="Databases of one server.", show_default=False)
    ] = None,
    host: Annotated[
        str, typer.Option(metavar="HOST", help="Where the server is; else this machine.", show_default=False)
    ] = "",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0: the usual one.")] = 0,
    fast: Annotated[str, typer.Option(metavar="SPACE", help=f"Spaces on fast storage{LIST}.", show_default=False)] = "",
    slow: Annotated[
        str,
        typer.Option(metavar="SPACE", help=f"Spaces on slow storage{LIST}; else the usual one.", show_default=False),
    ] = "",
    owner: Annotated[
        str,
        typer.Option(
            metavar="ROLE",
            help=f"Owner, or schema, of what may be moved{LIST}: the login that moves gets its rights.",
            show_default=False,
        ),
    ] = "",
    watch_only: Annotated[
        bool, typer.Option("--watch-only", help="Make no login that moves; it can be added later.")
    ] = False,
    login: Annotated[str, typer.Option(metavar="ROLE", help="The login that watches.")] = "hotplace",
    mover: Annotated[str, typer.Option(metavar="ROLE", help="The login that moves.")] = "hotplace_move",
    certificate: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="PEM; who signed the server's certificate.", show_default=False),
    ] = None,
    administrator: Annotated[
        str,
        typer.Option(
            "--as",
            metavar="USER",
            help="Who may make logins: postgres, sa, sys; for PostgreSQL on this machine also a user of the system.",
            show_default=False,
        ),
    ] = "",
    run: Annotated[
        bool | None,
        typer.Option(
            "--run/--print", help="Run the script now (PostgreSQL), or only write it; else asked.", show_default=False
        ),
    ] = None,
    output: Annotated[
        Path, typer.Option(help="Configuration to write; passwords and script are written beside it.")
    ] = Path("hotplace.yaml"),
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite files; logins that exist get a new password.")
    ] = False,
) -> ExitCode:
    """Make logins, passwords and a configuration for databases of a server, and examine them; asks what it lacks."""
    record = find_engine(engine)
    if record.set_up is None:
        raise CommandError(
            f"{record.title} has no logins to make",
            code=ExitCode.USAGE,
            advice=f"hotplace init --full --engine {record.name} writes a configuration with every key.",
        )
    named = tuple(databases or ()) or _items(session.options.database or "")
    given = _Given(
        databases=named, host=host, fast=_items(fast), slow=_items(slow), owners=_items(owner), only_watches=watch_only
    )
    may_ask = interactive() and not session.options.as_json
    given = _complete(given, record, may_ask=may_ask)
    wanted = Wanted(
        host=given.host, port=port, databases=given.databases, watcher=login, mover=mover if given.owners else "",
        owners=given.owners, spaces=(*given.fast, *given.slow),
        certificate=str(certificate.absolute()) if certificate else "", replaces=force,
    )  # fmt: skip
    place = _Place(output, record, given, wanted, force=force)
    return _with_logins(
        session, place, record.set_up, administrator or record.set_up.administrator, run=run, may_ask=may_ask
    )


def _items(text: str) -> tuple[str, ...]:
    return tuple(item.strip() for item in text.split(",") if item.strip())


def _complete(given: _Given, record: Engine, *, may_ask: bool) -> _Given:
    """What was given, and what a person adds to it.

    Raises:
        CommandError: something is missing, and there is no terminal; all of it is named.
    """
    far = record.set_up is not None and record.set_up.needs_host
    missing = {
        "the databases": not given.databases,
        "--host": far and not given.host,
        "--fast": not given.fast,
        "--owner, or --watch-only": not given.owners and not given.only_watches,
    }
    if any(missing.values()) and not may_ask:
        raise CommandError(
            f"there is no terminal to ask on, and these are missing: {'; '.join(k for k, v in missing.items() if v)}",
            code=ExitCode.USAGE,
            advice=f"hotplace setup {record.name} DATABASE --fast SPACE --owner ROLE; hotplace setup --help has more.",
        )
    ask = partial(_ask, asks=may_ask and any(missing.values()))
    fast, slow = record.sample_spaces
    return replace(
        given,
        databases=given.databases or _items(ask("databases of that server, with commas", "", needed=True)),
        host=given.host or ask("host of the server", "" if not far else "localhost", empty="this machine"),
        fast=given.fast or _items(ask("spaces on fast storage, with commas", fast, needed=True)),
        slow=given.slow or _items(ask("spaces on slow storage", slow)),
        owners=() if given.only_watches else given.owners or _items(
            ask("role or schema that owns what may be moved", "", empty="none: only watch")
        ),
    )  # fmt: skip


def _ask(question: str, usual: str, *, asks: bool, needed: bool = False, empty: str = "") -> str:
    """A person's answer, or what is usual where it is empty or where nothing is asked."""
    while asks:
        shown = usual or empty
        sys.stderr.write(f"{question}{f' [{shown}]' if shown else ''}: ")
        sys.stderr.flush()
        line = sys.stdin.readline()
        answer = line.strip() or usual
        if answer or not needed:
            return answer
        if not line:
            raise CommandError("the answers ended", code=ExitCode.USAGE, advice="Options say the same: --help.")
    return usual


class _Place:
    """The files of a set-up, beside one another."""

    def __init__(self, output: Path, record: Engine, given: _Given, wanted: Wanted, *, force: bool) -> None:
        self.output, self.record, self.given, self.wanted, self.force = output, record, given, wanted, force
        self.passwords = {
            login: output.with_name(name) for login, name in zip(wanted.logins, (WATCHING, MOVING), strict=False)
        }
        self.script = output.with_name(SCRIPT)
        there = [path for path in (output, *self.passwords.values(), self.script) if path.exists()]
        if there and not force:
            raise exists_already(there)

    def configuration(self, ways: Mapping[str, Mapping[str, Any]]) -> str:
        """Its text, found valid.

        Args:
            ways: by login, how the server is reached.
        """
        (_, _, database_key), *_ = self.record.inheritance.place
        watcher, mover = self.wanted.watcher, self.wanted.mover
        entries = []
        for database in self.wanted.databases:
            connection = {**ways[watcher], database_key: database, **self._login(watcher)}
            moving: dict[str, Any] = {}
            if mover:
                differs = {key: value for key, value in ways[mover].items() if ways[watcher].get(key) != value}
                moving = {**differs, **self._login(mover)}
            entries.append(
                DatabaseEntry(
                    name=database,
                    connection=yaml_lines(connection),
                    moving=yaml_lines(moving),
                    fast=self.given.fast,
                    slow=self.given.slow,
                )
            )
        text = short_configuration(self.record.name, entries)
        parse(text, source=str(self.output), folder=self.output.absolute().parent)
        return text

    def _login(self, login: str) -> dict[str, Any]:
        return {"user": login, "password": {"file": self.passwords[login].name}}

    def written(self, *more: Path) -> tuple[FileWritten, ...]:
        """Each file that was written."""
        paths = (self.output, *self.passwords.values(), *more)
        return tuple(FileWritten(name=path.name, path=str(path.absolute())) for path in paths)


def _with_logins(
    session: Session, place: _Place, engine: SetUp, administrator: str, *, run: bool | None, may_ask: bool
) -> ExitCode:
    """Make the logins by a script that is run or handed over, and find the way that lets them in.

    Raises:
        CommandError: the script was to be run, and is one that only a person runs, or it failed.
    """
    wanted = place.wanted
    passwords = {login: _new_password(engine, login, asks=may_ask) for login in wanted.logins}
    texts = {path.name: path.read_text(encoding="utf-8") for path in _scripts(place.record)}
    script = engine.script(wanted, texts, passwords)
    program = engine.program(wanted, administrator, asks=may_ask) if isinstance(engine, RunsScript) else ()
    shown = engine.command(wanted, administrator, str(place.script))
    if run and not program:
        raise CommandError(
            f"for {place.record.title} the script is run by a person: no client runs it whole or not at all",
            code=ExitCode.USAGE,
            advice="With --print in place of --run it is written, with the command that runs it.",
        )
    if run is None and program:
        made = ", ".join(wanted.logins)
        run = may_ask and session.out.ask(f"make {made} now, in one transaction, by: {shlex.join(program)}?")
    kept = {login: path.with_name(path.name + KEEP) for login, path in place.passwords.items()}
    try:
        for login, path in kept.items():
            write_private(path, f"{passwords[login].get_secret_value()}\n", force=True)
        if run:
            _run(program, script)
        else:
            write_private(place.script, script, force=place.force)
        for login, path in kept.items():
            path.replace(place.passwords[login])
    finally:
        for path in kept.values():
            path.unlink(missing_ok=True)
    if not run and may_ask:
        session.out.line(f"as one who may make logins, in another terminal:\n  {shown}")
        if engine.before_it_runs:
            session.out.sentence(f"{place.script.name}: {engine.before_it_runs}")
        run = session.out.ask("done?")
    secrets = {login: SecretSource(file=path.absolute()) for login, path in place.passwords.items()}
    tried = {login: engine.ways(wanted, login, secrets[login], session.clock) for login in wanted.logins}
    ways = {login: best_way(each) or each[-1] for login, each in tried.items()}
    text = place.configuration({login: way.settings for login, way in ways.items()})
    write_private(place.output, text, force=place.force)
    files = place.written(*(() if not place.script.exists() else (place.script,)))
    session.out.line(f"written, for you only (mode 0600): {', '.join(file.name for file in files)}")
    _say_ways(session, ways, tried, engine)
    checkup = None
    if run:
        checkup = _examine(session, place.output)
    else:
        session.out.line(f"next, as one who may make logins:  {shown}")
        session.out.line(f"then:                              hotplace --config {place.output} doctor")
        if engine.before_it_runs and not may_ask:
            session.out.sentence(f"{place.script.name}: {engine.before_it_runs}")
    return _answer(session, place, files, ways, checkup, shown if place.script.exists() else None)


def _new_password(engine: SetUp, login: str, *, asks: bool) -> SecretStr:
    """A new one; where logins are users of the server's system a person may give the one that is there."""
    given = "" if engine.makes_logins or not asks else getpass.getpass(f"password of {login} (empty: a new one): ")
    return SecretStr(given) if given else new_password()


def _say_ways(session: Session, ways: Mapping[str, Tried], tried: Mapping[str, Sequence[Tried]], engine: SetUp) -> None:
    """How each login gets in, and what refused it where none does."""
    for login, way in ways.items():
        at = way.settings.get("host", "")
        if way.admission is LoginAnswer.IN:
            session.out.line(f"{login} gets in at {at}: {way.how}")
        elif way.admission is LoginAnswer.ASKED:
            session.out.line(f"{login} is asked for its password at {at}")
        else:
            for each in tried[login]:
                session.out.problem(f"{login} is refused: {each.how}", "")
            session.out.problem(f"no way lets {login} in", engine.advice)


def _scripts(record: Engine) -> tuple[Path, ...]:
    return files_of_engine(FileKind.PRIVILEGES, record.name)


def _run(program: Sequence[str], script: str) -> None:
    """Run the script, whole or not at all.

    Raises:
        CommandError: the program is missing or failed.
    """
    try:
        done = subprocess.run(  # noqa: S603  # its own program, with names that it quotes
            program, input=script, text=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd="/", check=False
        )
    except OSError as error:
        raise CommandError(
            f"{program[0]} cannot be run: {error.strerror}",
            code=ExitCode.NOT_ALLOWED,
            advice="With --print the script is only written, to be run where it can be.",
        ) from error
    if done.returncode:
        said = "\n".join(done.stderr.strip().splitlines()) or f"it ended with {done.returncode}"
        raise CommandError(
            f"the logins were not made, and nothing was changed:\n{said}",
            code=ExitCode.NOT_ALLOWED,
            advice="Name another administrator with --as, or write the script with --print and have it run.",
        )


def _examine(session: Session, output: Path) -> Checkup:
    """What ``doctor`` finds with the new configuration."""
    part = Session(replace(session.options, config=output, database=None))
    part.out = session.out
    with part:
        return check(part)


def _answer(
    session: Session,
    place: _Place,
    files: tuple[FileWritten, ...],
    ways: Mapping[str, Tried],
    checkup: Checkup | None,
    script: str | None,
) -> ExitCode:
    session.out.document(
        SetUpDone(
            engine=place.record.name,
            files=files,
            logins=tuple(
                LoginSetUp(login=login, host=str(way.settings.get("host", "")), admission=way.admission, how=way.how)
                for login, way in ways.items()
            ),
            run_next=script,
            doctor=checkup,
        )
    )
    refused = any(way.admission is LoginAnswer.REFUSED for way in ways.values())
    return ExitCode.NOT_ALLOWED if refused or (checkup and not checkup.ok) else ExitCode.OK
