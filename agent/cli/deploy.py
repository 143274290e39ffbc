"""What else does it need? ``deploy``: scripts, unit, rules, dashboard and manifests, printed or written to a folder."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from agent.cli.app import app, command
from agent.cli.commands import HelpGroup
from agent.cli.session import Session
from agent.model.answers.setup import FileShown, FilesShown, FilesWritten, FileWritten
from agent.service.shipped_files import FileKind, engines, files, files_of_engine, revokes
from agent.terminal.errors import exists_already, not_written

deploy = typer.Typer(
    no_args_is_help=True, epilog="Example: hotplace deploy privileges --engine postgresql --output privileges"
)
app.add_typer(
    deploy,
    name="deploy",
    help="Print or write what belongs around hotplace: logins, service, alerts, dashboard, manifests.",
    rich_help_panel=HelpGroup.SET_UP,
)

RUNBOOK = re.compile(r"(runbook_url: )docs/pages/([\w/-]+)\.md#")
LIMITS = {  # name -> alert, and the threshold that stands in its expression once
    "sample_age": ("HotplaceSampleStale", "900"),
    "cycle_failures": ("HotplaceCycleFailures", "5"),
    "cycle_seconds": ("HotplaceCycleSlow", "30"),
    "job_failing": ("HotplaceJobFails", "900"),
    "server_share": ("HotplaceCostsTheServer", "0.01"),
    "space_fill": ("HotplaceSpaceNearlyFull", "0.95"),
    "gain_waits": ("HotplaceGainWaits", "0.02"),
    "proposal_used": ("HotplaceProposalExpires", "0.5"),
}
RATIOS = frozenset({"server_share", "space_fill", "proposal_used"})  # of these, thresholds that are shares of one
_NUMBER = re.compile(r"\d+(\.\d+)?")
_EXPRESSION = re.compile(r"^        expr:.*\n(?:          .*\n)*", re.MULTILINE)
_ESCAPE = r"""\\(?:[abfnrtv\\"]|x[0-9a-fA-F]{2}|[0-7]{3}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})"""
_MATCHER = rf""" *(?!__name__\b)[a-zA-Z_][a-zA-Z0-9_]* *(?:=~|!~|!=|=) *"(?:[^"\\\x00-\x1f\x7f]|{_ESCAPE})*" *"""
_MATCHERS = re.compile(f"{_MATCHER}(?:,{_MATCHER})*")
_SERIES = re.compile(r"\b(hotplace_\w+|up)\b(?:\{([^{}]*)\})?")
OutputOption = Annotated[
    Path | None,
    typer.Option(
        "--output",
        metavar="FOLDER",
        help="Write the files into this folder; else they are printed.",
        show_default=False,
    ),
]
EngineOption = Annotated[str, typer.Option(help=f"Kind of database: {', '.join(engines())}.", metavar="ENGINE")]
ForceOption = Annotated[bool, typer.Option("--force", help="Overwrite files that exist.")]


@command(HelpGroup.SET_UP, "hotplace deploy privileges --engine postgresql", of=deploy)
def privileges(
    session: Session,
    engine: EngineOption = "postgresql",
    output: OutputOption = None,
    force: ForceOption = False,
    remove: Annotated[
        bool, typer.Option("--remove", help="Scripts that take back what those gave, and drop the logins.")
    ] = False,
) -> None:
    """Scripts that make the login that watches, and the one that moves."""
    given = _of_engine(FileKind.PRIVILEGES, engine)
    if not remove:
        _deliver(session, given, output, force=force)
    elif removal := files_of_engine(FileKind.REMOVAL, engine):
        _deliver(session, removal, output, force=force)
    else:
        texts = {f"{path.stem}-remove.sql": _removal_of(path) for path in given}
        _deliver_texts(session, texts, output, force=force)


def _removal_of(path: Path) -> str:
    """What takes back the GRANTs of a script, with what stays."""
    return (
        f"-- Takes back what {path.name} gave, the last first. Stop the agent first.\n"
        "-- Logins are those of the operating system, or of LDAP, and stay there. Tables that the scripts made in the\n"
        "-- schema HOTPLACE are dropped by hand once no agent works here any more:  DROP TABLE HOTPLACE.LEASE;\n"
        "-- Rights given by hand for single schemas, tables and table spaces are taken back in the same way.\n\n"
        f"{revokes(path.read_text(encoding='utf-8'))}"
    )


@command(HelpGroup.SET_UP, "hotplace deploy systemd --output systemd", of=deploy)
def systemd(session: Session, output: OutputOption = None, force: ForceOption = False) -> None:
    """The service of systemd, with what to do once at its head, and its user."""
    _deliver(session, files(FileKind.SYSTEMD), output, force=force)


@command(HelpGroup.SET_UP, "hotplace deploy prometheus > hotplace.rules.yml", of=deploy)
def prometheus(
    session: Session,
    output: OutputOption = None,
    force: ForceOption = False,
    docs: Annotated[
        str, typer.Option(metavar="URL", help="Where you serve the built documentation: links of alerts lead there.")
    ] = "",
    selector: Annotated[
        str, typer.Option(metavar="MATCHERS", help="Labels that every series must have: 'job=\"hotplace\"'.")
    ] = "",
    limits: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=NUMBER",
            show_default=False,
            help=f"Another threshold, seconds where it is a time: {', '.join(LIMITS)}.",
        ),
    ] = None,
) -> None:
    """Alert rules for Prometheus; each links to its runbook."""
    given = _limits_of(limits or [])
    matchers = _matchers_of(selector)

    def change(text: str) -> str:
        return select_series(set_limits(link_runbooks(text, docs), given), matchers)

    _deliver(session, files(FileKind.PROMETHEUS), output, force=force, change=change)


def _limits_of(given: Sequence[str]) -> dict[str, str]:
    """Thresholds by name, as ``--set`` gives them.

    Raises:
        BadParameter: there is none of that name, it is no number, or a ratio that is never or always exceeded.
    """
    found = {}
    for each in given:
        name, _, value = each.partition("=")
        if name not in LIMITS or not _NUMBER.fullmatch(value):
            known = ", ".join(f"{known}={usual}" for known, (_, usual) in LIMITS.items())
            raise typer.BadParameter(f"{each!r} is no NAME=NUMBER; there are {known}", param_hint="--set")
        if name in RATIOS and not 0 < float(value) < 1:
            usual = f"{name}={LIMITS[name][1]}"
            raise typer.BadParameter(f"{each!r} is no ratio between 0 and 1, such as {usual}", param_hint="--set")
        found[name] = value
    return found


def _matchers_of(given: str) -> str:
    """Label matchers as ``--selector`` gives them, so that they mean the same within YAML.

    Raises:
        BadParameter: Prometheus would refuse them.
    """
    if given and not _MATCHERS.fullmatch(given):
        raise typer.BadParameter(
            f'{given!r} is no list of label matchers: NAME="VALUE" (or !=, =~, !~), separated by commas, a backslash '
            "in quotes as two. A shell takes quotes away: --selector 'job=\"hotplace\"'",
            param_hint="--selector",
        )
    # A plain scalar of YAML ends at a blank next to either sign; Prometheus reads the escape as the blank.
    return re.sub(r"(?<=:) | (?=#)", r"\\x20", given)


def set_limits(rules: str, given: Mapping[str, str]) -> str:
    """Alert rules with other thresholds."""
    for name, value in given.items():
        alert, usual = LIMITS[name]
        head, found, rest = rules.partition(f"- alert: {alert}\n")
        rules = head + found + re.sub(rf"> {re.escape(usual)}$", f"> {value}", rest, count=1, flags=re.MULTILINE)
    return rules


def select_series(rules: str, matchers: str) -> str:
    r"""Alert rules that look at series with these labels only.

    >>> select_series("        expr: hotplace_up == 0\n", 'job="db"')
    '        expr: hotplace_up{job="db"} == 0\n'
    """
    if not matchers:
        return rules

    def narrowed(found: re.Match[str]) -> str:
        own = f"{found[2]}, " if found[2] else ""
        return f"{found[1]}{{{own}{matchers}}}"

    return _EXPRESSION.sub(lambda expression: _SERIES.sub(narrowed, expression[0]), rules)


def link_runbooks(rules: str, site: str) -> str:
    """Alert rules whose runbook_url leads to a site instead of the sources.

    >>> link_runbooks("runbook_url: docs/pages/reference/alerts.md#x", "https://wiki.example/hotplace/")
    'runbook_url: https://wiki.example/hotplace/reference/alerts.html#x'
    """
    if not site:
        return rules
    return RUNBOOK.sub(lambda found: f"{found[1]}{site.rstrip('/')}/{found[2]}.html#", rules)


@command(HelpGroup.SET_UP, "hotplace deploy grafana --output boards", of=deploy)
def grafana(session: Session, output: OutputOption = None, force: ForceOption = False) -> None:
    """Boards for Grafana: overview, database, moves."""
    _deliver(session, files(FileKind.GRAFANA), output, force=force)


@command(HelpGroup.SET_UP, "hotplace deploy kubernetes --output kubernetes", of=deploy)
def kubernetes(session: Session, output: OutputOption = None, force: ForceOption = False) -> None:
    """Manifests for Kubernetes; `kubectl apply -k` takes the folder that they are written to."""
    _deliver(session, files(FileKind.KUBERNETES), output, force=force)


@command(HelpGroup.SET_UP, "hotplace deploy live --engine oracle --output live", of=deploy)
def live(
    session: Session,
    engine: EngineOption = "postgresql",
    output: OutputOption = None,
    force: ForceOption = False,
) -> None:
    """A scratch database in the vendor's own container, to try hotplace on: compose file, set-up, configuration."""
    _deliver(session, _of_engine(FileKind.LIVE, engine), output, force=force)


def _of_engine(kind: FileKind, engine: str) -> tuple[Path, ...]:
    if engine not in engines():
        known = ", ".join(engines())
        raise typer.BadParameter(f"no files for {engine!r}; there are for {known}", param_hint="--engine")
    return files_of_engine(kind, engine)


def _deliver(
    session: Session,
    chosen: Sequence[Path],
    output: Path | None,
    *,
    force: bool,
    change: Callable[[str], str] = str,
) -> None:
    """Print the files, or write them and say where."""
    texts = {path.name: change(path.read_text(encoding="utf-8")) for path in chosen}
    _deliver_texts(session, texts, output, force=force)


def _deliver_texts(session: Session, texts: dict[str, str], output: Path | None, *, force: bool) -> None:
    """Print texts below their names, or write them and say where."""
    if output is None:
        session.out.text("".join(_with_name(name, text, alone=len(texts) == 1) for name, text in texts.items()))
        shown = (FileShown(name=name, text=text) for name, text in texts.items())
        session.out.document(FilesShown(files=tuple(shown)))
        return
    written = _write(output, texts, force=force)
    for path in written:
        session.out.line(f"{path} written; what it needs stands at its head")
    files = (FileWritten(name=path.name, path=str(path.absolute())) for path in written)
    session.out.document(FilesWritten(files=tuple(files)))


def _with_name(name: str, text: str, *, alone: bool) -> str:
    """The text below its name as a comment of its own language; a file that comes alone is printed as it is."""
    if alone:
        return text
    sign = {".sql": "-- ", ".yaml": "---\n# "}.get(Path(name).suffix, "# ")
    return f"{sign}{name}\n{text}"


def _write(folder: Path, texts: dict[str, str], *, force: bool) -> list[Path]:
    """All of them or, where one exists already and may not be overwritten, none."""
    paths = [folder / name for name in texts]
    existing = [path for path in paths if path.exists()]
    if existing and not force:
        raise exists_already(existing)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path, text in zip(paths, texts.values(), strict=True):
            path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise not_written(folder, error, "Name a folder that you may write to with --output.") from error
    return paths
