"""Sending: a webhook, mail or a program. Errors name the channel, never its address, password or answer's text."""

from __future__ import annotations

import hashlib
import hmac
import os
import smtplib
import ssl
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from email.message import EmailMessage
from email.utils import formatdate, make_msgid
from typing import TypeAlias

from agent.config.notices import MailConfig, NoticeConfig, WebhookConfig
from agent.notices.notice import Notice
from agent.notices.wording import as_json, as_slack, as_teams, as_text, subject_of
from connectors.base import HotplaceError

TIMEOUT_SECONDS = 10.0  # of each step of a conversation
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


# -- webhook -----------------------------------------------------------------------------------------------------


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Follows nothing: what is posted, the signature too, is for the configured address alone."""

    def redirect_request(self, *_: object) -> None:
        """The redirect becomes an error."""
        return


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
    opener = urllib.request.build_opener(_NoRedirect)
    try:
        with opener.open(request, timeout=TIMEOUT_SECONDS):
            return
    except urllib.error.HTTPError as error:
        error.close()  # it holds the connection
        raise NoticeFailed(f"notice channel {name}: the webhook answered {error.code}", advice=CHECK) from None
    # Without its cause, here and below: a traceback of it may show the address, and that of a webhook is a secret.
    except (OSError, ValueError) as error:  # ValueError: an address that is none
        reason = getattr(error, "reason", error)
        said = reason.strerror if isinstance(reason, OSError) and reason.strerror else type(reason).__name__
        raise NoticeFailed(f"notice channel {name}: the webhook cannot be reached: {said}", advice=CHECK) from None


CHECK = "Check address and receiver, then: hotplace notify test"

# -- mail --------------------------------------------------------------------------------------------------------


def _mail(name: str, mail: MailConfig, notices: Sequence[Notice], dropped: int) -> None:
    message = EmailMessage()
    message["Subject"], message["From"], message["To"] = subject_of(notices), mail.sender, ", ".join(mail.recipients)
    message["Date"], message["Message-ID"] = formatdate(), make_msgid(domain="hotplace")
    message["Auto-Submitted"] = "auto-generated"  # RFC 3834: no out-of-office answer comes back
    message.set_content(as_text(notices, dropped))
    try:
        with _connect(mail) as server:
            if mail.user is not None and mail.password is not None:
                server.login(mail.user, mail.password.read().get_secret_value())
            server.send_message(message)
    except smtplib.SMTPResponseException as error:
        raise NoticeFailed(f"notice channel {name}: the mail server answered {error.smtp_code}", advice=CHECK) from None
    except smtplib.SMTPException as error:
        raise NoticeFailed(f"notice channel {name}: {type(error).__name__}", advice=CHECK) from None
    except OSError as error:
        said = error.strerror or type(error).__name__
        raise NoticeFailed(f"notice channel {name}: the mail server cannot be reached: {said}", advice=CHECK) from None


def _connect(mail: MailConfig) -> smtplib.SMTP:
    trusted = ssl.create_default_context()
    if mail.encryption == "tls":
        return smtplib.SMTP_SSL(mail.host, mail.port, timeout=TIMEOUT_SECONDS, context=trusted)
    server = smtplib.SMTP(mail.host, mail.port, timeout=TIMEOUT_SECONDS)
    if mail.encryption == "starttls":
        try:
            server.starttls(context=trusted)
        # Not yet in the caller's with: nobody else would close it.
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
