"""Messages over real local receivers: HTTP, SMTP and programs."""

from __future__ import annotations

import hashlib
import hmac
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from aiosmtpd.controller import Controller

from agent.config.notices import NoticeConfig, NoticeEvent
from agent.notices.channels import NoticeFailed, send
from agent.notices.notice import Notice

NOTICE = Notice(
    key="shop proposal 3", event=NoticeEvent.PROPOSAL, database="shop", at=datetime(2026, 3, 1, tzinfo=UTC),
    sentence="shop: proposal 3 waits: <b>x</b> & `y`\x1b[31m\nBcc: all@example.com", command="hotplace approve 3",
)  # fmt: skip
SECRET = "T0K3N"  # in the address, as Slack's are


class _Receiver(BaseHTTPRequestHandler):
    status = 200
    location = ""
    requests: list[tuple[dict[str, str], bytes]]

    def do_POST(self) -> None:
        """Keep what came and answer."""
        self.requests.append((dict(self.headers), self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(self.status)
        if self.location:
            self.send_header("Location", self.location)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        """Nothing on the screen."""


@contextmanager
def receiver(status: int = 200, location: str = "") -> Iterator[tuple[str, list[tuple[dict[str, str], bytes]]]]:
    """An HTTP server on loopback: its address, and what it was sent."""
    requests: list[tuple[dict[str, str], bytes]] = []
    handler = type("Receiver", (_Receiver,), {"status": status, "location": location, "requests": requests})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/hook/{SECRET}", requests
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def webhook(folder: Path, url: str, **more: Any) -> NoticeConfig:
    """A channel whose address lies in a file."""
    (folder / "url").write_text(f"{url}\n")
    return NoticeConfig.model_validate({"name": "chat", "webhook": {"url": {"file": folder / "url"}, **more}})


def test_json_with_its_signature(tmp_path: Path) -> None:
    """Programs get the notice as a document, signed over time and body."""
    (tmp_path / "key").write_text("k3y\n")
    with receiver() as (url, requests):
        send(webhook(tmp_path, url, signing_key={"file": tmp_path / "key"}), [NOTICE])
    ((headers, body),) = requests
    document = json.loads(body)
    assert document["notices"][0]["command"] == "hotplace approve 3"
    signed = headers["X-Hotplace-Timestamp"].encode() + b"." + body
    assert headers["X-Hotplace-Signature"] == "sha256=" + hmac.new(b"k3y", signed, hashlib.sha256).hexdigest()


def test_slack_and_teams(tmp_path: Path) -> None:
    """Names from a database are no markup in a chat."""
    with receiver() as (url, requests):
        send(webhook(tmp_path, url, format="slack"), [NOTICE])
        send(webhook(tmp_path, url, format="teams"), [NOTICE])
    slack, teams = (json.loads(body) for _, body in requests)
    assert "&lt;b&gt;x&lt;/b&gt; &amp;" in slack["text"]
    assert "\n`hotplace approve 3`" in slack["text"]
    card = teams["attachments"][0]["content"]
    assert (card["type"], card["body"][0]["wrap"]) == ("AdaptiveCard", True)
    assert r"\<b\>x\</b\>" in card["body"][0]["text"]


@pytest.mark.parametrize(("status", "location"), [(500, ""), (404, ""), (302, "http://127.0.0.1:9/elsewhere")])
def test_a_webhook_that_refuses(tmp_path: Path, status: int, location: str) -> None:
    """The answer's code is said and the address is not; a redirect is not followed."""
    with receiver(status, location) as (url, requests), pytest.raises(NoticeFailed) as failed:
        send(webhook(tmp_path, url), [NOTICE])
    assert len(requests) == 1
    assert str(status) in str(failed.value)
    assert SECRET not in f"{failed.value}{failed.value.advice}{failed.value.__cause__}"


def test_a_webhook_that_is_not_there(tmp_path: Path) -> None:
    """A refused connection is said in words, without the address."""
    with receiver() as (url, _):
        pass
    with pytest.raises(NoticeFailed, match="Connection refused") as failed:
        send(webhook(tmp_path, url), [NOTICE])
    assert SECRET not in str(failed.value)
    with pytest.raises(NoticeFailed, match="no http"):
        send(webhook(tmp_path, "file:///etc/passwd"), [NOTICE])


class _Mailbox:
    """What an SMTP server was given."""

    def __init__(self, answer: str = "250 OK") -> None:
        self.answer = answer
        self.messages: list[Any] = []

    async def handle_DATA(self, _server: object, _session: object, envelope: Any) -> str:  # noqa: N802 (aiosmtpd calls it so)
        """Keep the message."""
        self.messages.append(envelope)
        return self.answer


@contextmanager
def mail_server(mailbox: _Mailbox) -> Iterator[NoticeConfig]:
    """A real SMTP server on loopback, and a channel that uses it."""
    with socket.create_server(("127.0.0.1", 0)) as free:  # the controller cannot say which port it was given
        port = free.getsockname()[1]
    server = Controller(mailbox, hostname="127.0.0.1", port=port)
    server.start()
    try:
        yield NoticeConfig.model_validate(
            {
                "name": "mail",
                "mail": {
                    "host": "127.0.0.1", "port": port, "encryption": "none", "from": "hotplace@example.com",
                    "to": ["dba@example.com", "lead@example.com"],
                },
            }
        )  # fmt: skip
    finally:
        server.stop()


def test_mail() -> None:
    """Sender, recipients, one line of subject, the command in the text; a name cannot add a header."""
    mailbox = _Mailbox()
    with mail_server(mailbox) as channel:
        send(channel, [NOTICE])
    (envelope,) = mailbox.messages
    assert envelope.rcpt_tos == ["dba@example.com", "lead@example.com"]
    text = envelope.content.decode()
    headers = text.partition("\r\n\r\n")[0]
    assert "\nBcc:" not in headers
    assert "Auto-Submitted: auto-generated" in headers
    assert "hotplace approve 3" in text
    assert "\x1b" not in text


def test_mail_that_is_refused() -> None:
    """The server's code is said."""
    with mail_server(_Mailbox("554 no")) as channel, pytest.raises(NoticeFailed, match="554"):
        send(channel, [NOTICE])


def test_a_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It gets JSON on its input, and none of the agent's own environment."""
    monkeypatch.setenv("DB_PASSWORD", "hunter2")
    script = tmp_path / "tell"
    script.write_text(f"#!/bin/sh\ncat >'{tmp_path}/input'\nenv >'{tmp_path}/env'\n")
    script.chmod(0o700)
    send(NoticeConfig(name="page", command=(str(script),)), [NOTICE], dropped=3)
    document = json.loads((tmp_path / "input").read_text())
    assert (document["dropped"], document["notices"][0]["key"]) == (3, "shop proposal 3")
    assert "hunter2" not in (tmp_path / "env").read_text()
    script.write_text("#!/bin/sh\nexit 4\n")
    with pytest.raises(NoticeFailed, match="ended with 4"):
        send(NoticeConfig(name="page", command=(str(script),)), [NOTICE])
    with pytest.raises(NoticeFailed, match="No such file"):
        send(NoticeConfig(name="page", command=(str(tmp_path / "nothing"),)), [NOTICE])
