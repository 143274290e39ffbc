"""Would anyone hear of it? ``notify test``."""

from __future__ import annotations

from typing import Annotated

import typer

from agent.answers.setup import ChannelsTried, ChannelTried
from agent.cli.app import app, command
from agent.cli.commands import Group
from agent.cli.session import Session
from agent.config.notices import NoticeConfig, NoticeEvent
from agent.notices.channels import send
from agent.notices.notice import Notice
from agent.terminal.errors import CommandError
from agent.terminal.exit_codes import ExitCode
from connectors.base import HotplaceError

notify = typer.Typer(no_args_is_help=True, epilog="Example: hotplace notify test")
app.add_typer(
    notify,
    name="notify",
    help="Try the channels over which people are told: webhooks, mail, programs.",
    rich_help_panel=Group.SET_UP,
)


@command(Group.SET_UP, "hotplace notify test --channel on-call", name="test", of=notify)
def send_trial(
    session: Session,
    channel: Annotated[str, typer.Option(metavar="NAME", help="This channel only.", show_default=False)] = "",
) -> ExitCode:
    """Send one message over each channel of the configuration, and say which were taken."""
    notice = _trial(session)
    tried = [ChannelTried(channel=each.name, problem=_try(each, notice)) for each in _chosen(session, channel)]
    for each in tried:
        session.out.line(f"{each.channel}: {each.problem or 'taken'}", style="bold red" if each.problem else "")
    session.out.document(ChannelsTried(channels=tuple(tried)))
    return ExitCode.NOT_SENT if any(each.problem for each in tried) else ExitCode.OK


def _chosen(session: Session, name: str) -> list[NoticeConfig]:
    """The channels to try.

    Raises:
        CommandError: none is configured, or none of that name.
    """
    channels = session.config.notices
    chosen = [each for each in channels if name in {"", each.name}]
    if not chosen:
        known = ", ".join(each.name for each in channels)
        raise CommandError(
            f"no channel is named {name!r}; configured: {known}" if known else "no channel for notices is configured",
            code=ExitCode.CONFIGURATION,
            advice=f"Add it under notices in {session.config_path}; `hotplace init` shows how.",
        )
    return chosen


def _trial(session: Session) -> Notice:
    database = session.config.databases[0].name
    return Notice(
        key="test", event=NoticeEvent.PROPOSAL, database=database, at=session.clock.now(),
        sentence="this is a test of hotplace's notices: a real one names the database and what happened",
        command=f"hotplace status --database {database}",
    )  # fmt: skip


def _try(channel: NoticeConfig, notice: Notice) -> str | None:
    """What went wrong; None where it was taken."""
    try:
        send(channel, [notice])
    except HotplaceError as error:
        return str(error)
    return None
