"""Notices and how they are sent: a webhook, mail or a program.

One notice: what happened, where, and the command to give next.

A message in the form that its channel takes.

Sending: a webhook, mail or a program. Errors name the channel, never its address, password or answer's text.
"""

from __future__ import annotations

import hashlib
import hmac
import http.client
import json
import os
import smtplib
import socket
import ssl
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime
from email.message import EmailMessage
from email.utils import formatdate, make_msgid
from functools import partial
from http.client import HTTPConnection, HTTPResponse, HTTPSConnection
from typing import Any, Self, TypeAlias

from agent.config.models import MailConfig, NoticeConfig, NoticeEvent, WebhookConfig
from connectors.kit.contract import HotplaceError
from connectors.model.formatting import printable


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """What a person is notified of."""

    key: str  # the same for the same matter: it is reported once
    event: NoticeEvent
    database: str
    sentence: str
    command: str  # what to type next
    at: datetime
    lasts: bool = False  # a condition: reported again when it comes again after it was over

    def document(self) -> dict[str, Any]:
        """As JSON values."""
        return {**asdict(self), "event": str(self.event), "at": self.at.isoformat()}


def read_notice(document: dict[str, Any]) -> Notice:
    """The notice of a document."""
    event, at = NoticeEvent(document["event"]), datetime.fromisoformat(document["at"])
    return Notice(**{**document, "event": event, "at": at})


MOST_SHOWN = 20  # in one message; the rest is counted
CARD = "application/vnd.microsoft.card.adaptive"


def subject_of(notices: Sequence[Notice]) -> str:
    """One line for all of them."""
    if len(notices) == 1:
        return f"hotplace: {printable(notices[0].sentence)}"
    databases = sorted({notice.database for notice in notices})
    return f"hotplace: {len(notices)} notices about {printable(', '.join(databases))}"


def as_text(notices: Sequence[Notice], dropped: int = 0) -> str:
    """All of them, each with its command."""
    lines = [f"{printable(notice.sentence)}\n    {printable(notice.command)}" for notice in notices[:MOST_SHOWN]]
    return "\n".join([*lines, *_count_rest(len(notices) - MOST_SHOWN, dropped), f"from {socket.gethostname()}"]) + "\n"


def as_json(notices: Sequence[Notice], dropped: int = 0) -> str:
    """All of them for programs; the key is the same for the same matter."""
    document = {
        "host": socket.gethostname(),
        "notices": [notice.document() for notice in notices],
        "dropped": dropped,
    }
    return json.dumps(document, ensure_ascii=False)


def as_slack(notices: Sequence[Notice], dropped: int = 0) -> str:
    """As an incoming webhook of Slack takes it: commands in code, and what Slack reads as markup escaped."""
    lines = [
        f"{_for_slack(notice.sentence)}\n`{_for_slack(notice.command).replace('`', chr(0x2B9))}`"
        for notice in notices[:MOST_SHOWN]
    ]
    return json.dumps({"text": "\n".join([*lines, *_count_rest(len(notices) - MOST_SHOWN, dropped)])})


def as_teams(notices: Sequence[Notice], dropped: int = 0) -> str:
    """As a workflow of Teams takes it: one adaptive card."""
    body: list[dict[str, Any]] = []
    for notice in notices[:MOST_SHOWN]:
        body.append({"type": "TextBlock", "wrap": True, "text": _for_markdown(notice.sentence)})
        body.append({"type": "TextBlock", "wrap": True, "fontType": "Monospace", "text": _for_markdown(notice.command)})
    body += [{"type": "TextBlock", "text": line} for line in _count_rest(len(notices) - MOST_SHOWN, dropped)]
    card = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json", "type": "AdaptiveCard", "version": "1.4",
        "body": body,
    }  # fmt: skip
    return json.dumps({"type": "message", "attachments": [{"contentType": CARD, "content": card}]})


def _count_rest(more: int, dropped: int) -> list[str]:
    lines = [f"and {more} more: hotplace proposals, hotplace history"] if more > 0 else []
    return [*lines, f"{dropped} older notices were dropped"] if dropped else lines


def _for_slack(text: str) -> str:
    return printable(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _for_markdown(text: str) -> str:
    return "".join(f"\\{c}" if c in "\\`*_[]<>#" else c for c in printable(text))


TIMEOUT_SECONDS = 10.0  # of each step of a conversation
SEND_SECONDS = 30.0  # of all of them: a receiver that answers byte by byte is in time with each
COMMAND_SECONDS = 30.0
# A program gets no other variable: passwords of databases may stand in the agent's environment.
INHERITED = ("PATH", "HOME", "LANG", "LC_ALL", "TZ")
Body: TypeAlias = Callable[[Sequence[Notice], int], str]
BODIES: Mapping[str, Body] = {"json": as_json, "slack": as_slack, "teams": as_teams}


class NoticeFailed(HotplaceError):
    """A message did not reach its channel."""


def send(channel: NoticeConfig, notices: Sequence[Notice], dropped: int = 0) -> None:
    """Send one message.

    Raises:
        NoticeFailed: it was not taken; the message says what the channel answered.
        SecretUnavailable: an address, key or password cannot be read.
    """
    if channel.webhook is not None:
        _post(channel.name, channel.webhook, BODIES[channel.webhook.format](notices, dropped).encode())
    elif channel.mail is not None:
        _mail(channel.name, channel.mail, notices, dropped)
    else:
        _run(channel.name, channel.command or (), as_json(notices, dropped).encode())


class _Deadline:
    """Ends the connections of a message when its time is over, whatever they wait for."""

    def __init__(self, seconds: float) -> None:
        self.is_over = False
        self._watched: list[socket.socket] = []
        self._lock = threading.Lock()
        self._timer = threading.Timer(seconds, self._end)
        self._timer.daemon = True

    def __enter__(self) -> Self:
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()
        with self._lock:
            for each in self._watched:
                each.close()
            self._watched.clear()

    def connect(self, address: tuple[str, int], timeout: float, *_source: object) -> socket.socket:
        """A connection to the first address of a host that answers, as ``socket.create_connection`` makes one.

        Raises:
            OSError: none does, or the time is over.
        """
        error: OSError = TimeoutError()
        for family, kind, protocol, _, where in socket.getaddrinfo(*address, type=socket.SOCK_STREAM):
            if self.is_over:
                break
            connection = socket.socket(family, kind, protocol)
            try:
                connection.settimeout(timeout)
                self._watch(connection)
                connection.connect(where)
            except OSError as failed:
                # The next address may answer; the last error is raised where none does.
                connection.close()
                error = failed
            else:
                return connection
        raise error

    def _watch(self, connection: socket.socket) -> None:
        with self._lock:
            # A second handle: TLS takes the first one away from its object while it shakes hands.
            self._watched.append(connection.dup())

    def _end(self) -> None:
        with self._lock:
            self.is_over = True
            for each in self._watched:
                with suppress(OSError):  # not connected, or not any more
                    each.shutdown(socket.SHUT_RDWR)


# -- webhook -----------------------------------------------------------------------------------------------------


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Follows nothing: what is posted, the signature too, is for the configured address alone."""

    def redirect_request(self, *_: object) -> None:
        """The redirect becomes an error."""
        return


class _Bounded(urllib.request.HTTPHandler, urllib.request.HTTPSHandler):
    """Opens connections that a deadline ends."""

    def __init__(self, deadline: _Deadline) -> None:
        super().__init__()
        self._deadline = deadline

    def http_open(self, request: urllib.request.Request) -> HTTPResponse:
        """Over HTTP."""
        return self.do_open(partial(self._connection, HTTPConnection), request)

    def https_open(self, request: urllib.request.Request) -> HTTPResponse:
        """Over TLS."""
        return self.do_open(partial(self._connection, HTTPSConnection), request)

    def _connection(self, kind: type[HTTPConnection], host: str, **more: Any) -> HTTPConnection:  # noqa: ANN401
        connection = kind(host, **more)
        connection._create_connection = self._deadline.connect  # type: ignore[attr-defined]  # noqa: SLF001  # its way to be given one
        return connection


def signature_of(key: str, timestamp: str, body: bytes) -> str:
    """What a receiver compares: HMAC-SHA256 of ``timestamp.body``, so that an old message cannot be played again."""
    return "sha256=" + hmac.new(key.encode(), timestamp.encode() + b"." + body, hashlib.sha256).hexdigest()


def _post(name: str, webhook: WebhookConfig, body: bytes) -> None:
    url = webhook.url.read().get_secret_value()
    if not url.startswith(("https://", "http://")):
        raise NoticeFailed(f"notice channel {name}: its address is no http or https URL", advice="Correct the secret.")
    headers = {"Content-Type": "application/json", "User-Agent": "hotplace"}
    if webhook.signing_key is not None:
        timestamp = str(int(time.time()))
        headers["X-Hotplace-Timestamp"] = timestamp
        headers["X-Hotplace-Signature"] = signature_of(webhook.signing_key.read().get_secret_value(), timestamp, body)
    request = urllib.request.Request(url, data=body, headers=headers, method="POST")  # noqa: S310 (checked above)
    with _Deadline(SEND_SECONDS) as deadline:
        _open(name, urllib.request.build_opener(_NoRedirect, _Bounded(deadline)), request, deadline)


def _open(
    name: str, opener: urllib.request.OpenerDirector, request: urllib.request.Request, deadline: _Deadline
) -> None:
    try:
        opener.open(request, timeout=TIMEOUT_SECONDS).close()
    except urllib.error.HTTPError as error:
        error.close()  # it holds the connection
        raise NoticeFailed(f"notice channel {name}: the webhook answered {error.code}", advice=CHECK) from None
    # Without its cause, here and below: a traceback of it may show the address, and that of a webhook is a secret.
    except (OSError, ValueError, http.client.HTTPException) as error:  # ValueError: an address that is none
        if deadline.is_over:
            raise _too_slow(name, "the webhook") from None
        reason = getattr(error, "reason", error)
        said = reason.strerror if isinstance(reason, OSError) and reason.strerror else type(reason).__name__
        raise NoticeFailed(f"notice channel {name}: the webhook cannot be reached: {said}", advice=CHECK) from None
    if deadline.is_over:  # its headers had no end, and the end of the connection was taken for it
        raise _too_slow(name, "the webhook")


def _too_slow(name: str, receiver: str) -> NoticeFailed:
    return NoticeFailed(
        f"notice channel {name}: {receiver} did not take the message within {SEND_SECONDS:.0f} s", advice=CHECK
    )


CHECK = "Check address and receiver, then: hotplace notify test"

# -- mail --------------------------------------------------------------------------------------------------------


def _mail(name: str, mail: MailConfig, notices: Sequence[Notice], dropped: int) -> None:
    message = EmailMessage()
    message["Subject"], message["From"], message["To"] = subject_of(notices), mail.sender, ", ".join(mail.recipients)
    message["Date"], message["Message-ID"] = formatdate(), make_msgid(domain="hotplace")
    message["Auto-Submitted"] = "auto-generated"  # RFC 3834: no out-of-office answer comes back
    message.set_content(as_text(notices, dropped))
    with _Deadline(SEND_SECONDS) as deadline:
        try:
            _hand_over(mail, message, deadline)
        except (OSError, ValueError) as error:  # SMTPException is one; ValueError: an answer that cannot be read
            said = _too_slow(name, "the mail server") if deadline.is_over else _mail_failed(name, error)
            raise said from None


def _hand_over(mail: MailConfig, message: EmailMessage, deadline: _Deadline) -> None:
    with _connect(mail, deadline) as server:
        if mail.user is not None and mail.password is not None:
            server.login(mail.user, mail.password.read().get_secret_value())
        server.send_message(message)


def _mail_failed(name: str, error: OSError | ValueError) -> NoticeFailed:
    if isinstance(error, smtplib.SMTPResponseException):
        said = f"the mail server answered {error.smtp_code}"
    elif isinstance(error, smtplib.SMTPException | ValueError):
        said = type(error).__name__
    else:
        said = f"the mail server cannot be reached: {error.strerror or type(error).__name__}"
    return NoticeFailed(f"notice channel {name}: {said}", advice=CHECK)


class _BoundedSmtp(smtplib.SMTP):
    """A mail server whose connection a deadline ends."""

    def __init__(self, mail: MailConfig, deadline: _Deadline, **more: Any) -> None:  # noqa: ANN401
        self._deadline = deadline
        super().__init__(mail.host, mail.port, timeout=TIMEOUT_SECONDS, **more)

    def _get_socket(self, host: str, port: int, timeout: float) -> socket.socket:
        return self._deadline.connect((host, port), timeout)


class _BoundedSmtps(smtplib.SMTP_SSL, _BoundedSmtp):  # in this order: TLS wraps the socket that the other one gets
    """The same over TLS from the start."""

    def __init__(self, mail: MailConfig, deadline: _Deadline, context: ssl.SSLContext) -> None:
        self._deadline = deadline
        smtplib.SMTP_SSL.__init__(self, mail.host, mail.port, timeout=TIMEOUT_SECONDS, context=context)


def _connect(mail: MailConfig, deadline: _Deadline) -> smtplib.SMTP:
    trusted = ssl.create_default_context()
    if mail.encryption == "tls":
        return _BoundedSmtps(mail, deadline, trusted)
    server = _BoundedSmtp(mail, deadline)
    if mail.encryption == "starttls":
        try:
            server.starttls(context=trusted)
        # Not yet in the caller's with: nothing else would close it.
        except BaseException:
            server.close()
            raise
    return server


# -- program -----------------------------------------------------------------------------------------------------


def _run(name: str, command: Sequence[str], body: bytes) -> None:
    environment = {key: os.environ[key] for key in INHERITED if key in os.environ}
    try:
        done = subprocess.run(  # noqa: S603 (the configuration names it)
            command, input=body, env=environment, timeout=COMMAND_SECONDS, check=False, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise NoticeFailed(
            f"notice channel {name}: {command[0]} did not end within {COMMAND_SECONDS:.0f} s", advice=CHECK
        ) from None
    except OSError as error:
        raise NoticeFailed(f"notice channel {name}: {command[0]}: {error.strerror}", advice=CHECK) from None
    if done.returncode:
        raise NoticeFailed(f"notice channel {name}: {command[0]} ended with {done.returncode}", advice=CHECK)
