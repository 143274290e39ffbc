"""Messages over real local receivers: HTTP, SMTP and programs."""

from __future__ import annotations

import hashlib
import hmac
import json
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from aiosmtpd.controller import Controller

from agent.config.models import NoticeConfig, NoticeEvent
from agent.service import channels
from agent.service.channels import Notice, NoticeFailed, send
from tests.labs.tds.certificate import make_certificate

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


# -- receivers that do not end -----------------------------------------------------------------------------------------


@contextmanager
def shaken(connection: socket.socket, certificate: Path) -> Iterator[ssl.SSLSocket]:
    """The server's side of a connection over TLS."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with context.wrap_socket(connection, server_side=True) as served:
        yield served


@contextmanager
def dripping(begin: bytes, drop: bytes, *, certificate: Path | None = None) -> Iterator[int]:
    """A server that says something at once and then goes on bit by bit for ever; its port."""
    over = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(0.1)

        def drip(connection: socket.socket) -> None:
            tls = nullcontext() if certificate is None else shaken(connection, certificate)
            with suppress(OSError), connection, tls as shaken_hands:
                served = shaken_hands or connection
                served.sendall(begin)
                while not over.wait(0.05):
                    served.sendall(drop)

        def serve() -> None:
            while not over.is_set():
                with suppress(TimeoutError):
                    serving.append(threading.Thread(target=drip, args=(listening.accept()[0],)))
                    serving[-1].start()

        serving = [threading.Thread(target=serve)]
        serving[0].start()
        try:
            yield listening.getsockname()[1]
        finally:
            over.set()
            for each in serving:
                each.join()


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> float:
    """The deadline of a message, a second; that of each step, which drops never reach, stays."""
    monkeypatch.setattr(channels, "SEND_SECONDS", 1.0)
    return 1.0


LONG = b"HTTP/1.1 200 OK\r\n" + b"X" * 70000
DRIPS = {
    "headers": (b"HTTP/1.1 200 OK\r\n", b"X: y\r\n"), "one header": (b"HTTP/1.1 200 OK\r\nX: ", b"y"),
    "a status": (b"HTTP/1.1 2", b"0"), "go on": (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
}  # fmt: skip


@pytest.mark.parametrize("what", DRIPS)
def test_a_webhook_that_drips_is_given_up(what: str, tmp_path: Path, soon: float) -> None:
    """Each piece is in time, the whole is not: it ends at its deadline, by a sentence without the address."""
    with dripping(*DRIPS[what]) as port:
        began = time.monotonic()
        with pytest.raises(NoticeFailed, match="chat: the webhook did not take the message within 1 s") as failed:
            send(webhook(tmp_path, f"http://127.0.0.1:{port}/hook/{SECRET}"), [NOTICE])
        assert soon <= time.monotonic() - began < 5 * soon
    assert SECRET not in f"{failed.value}{failed.value.__cause__}"


def test_a_handshake_that_drips_is_given_up(tmp_path: Path, soon: float) -> None:
    """TLS, whose records come byte by byte; its socket is in nobody's hands meanwhile."""
    with dripping(b"\x16\x03\x03\x40\x00", b"\x02") as port:
        began = time.monotonic()
        with pytest.raises(NoticeFailed, match="within 1 s"):
            send(webhook(tmp_path, f"https://127.0.0.1:{port}/"), [NOTICE])
        assert time.monotonic() - began < 5 * soon


def test_a_webhook_over_tls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, soon: float) -> None:
    """A certificate that is trusted is taken, one that is not is refused, and a slow one is given up."""
    certificate = make_certificate(tmp_path)
    with dripping(b"HTTP/1.1 204 No Content\r\n\r\n", b"", certificate=certificate) as port:
        with pytest.raises(NoticeFailed, match="cannot be reached"):
            send(webhook(tmp_path, f"https://127.0.0.1:{port}/"), [NOTICE])
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        send(webhook(tmp_path, f"https://127.0.0.1:{port}/"), [NOTICE])
    slow = dripping(b"HTTP/1.1 200 OK\r\nX: ", b"y", certificate=certificate)
    with slow as port, pytest.raises(NoticeFailed, match="within 1 s"):
        send(webhook(tmp_path, f"https://127.0.0.1:{port}/"), [NOTICE])


@pytest.mark.parametrize(
    "answer", [b"SSH-2.0-x\r\n", b"HTTP/1.1 abc\r\n\r\n", b"\r\n", b"HTTP/1.1 200 OK\r\n" + b"X" * 70000]
)
def test_a_webhook_that_speaks_something_else(tmp_path: Path, answer: bytes) -> None:
    """What is no HTTP is a failure of the channel, and of nothing else."""
    with dripping(answer, answer) as port, pytest.raises(NoticeFailed, match="chat: the webhook cannot be reached"):
        send(webhook(tmp_path, f"http://127.0.0.1:{port}/"), [NOTICE])


@pytest.mark.parametrize("encryption", ["none", "starttls", "tls"])
def test_a_mail_server_that_drips_is_given_up(encryption: str, soon: float) -> None:
    """A greeting, or a handshake, that never ends."""
    with dripping(b"220-hello\r\n", b"220-hello\r\n") as port:
        channel = NoticeConfig.model_validate({
            "name": "mail",
            "mail": {"host": "127.0.0.1", "port": port, "encryption": encryption, "from": "a@b.c", "to": ["d@e.f"]},
        })  # fmt: skip
        began = time.monotonic()
        with pytest.raises(NoticeFailed, match="notice channel mail"):
            send(channel, [NOTICE])
        assert time.monotonic() - began < 5 * soon


def test_a_name_with_many_dead_addresses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, soon: float) -> None:
    """Each address may take its time, all of them together not more than the message has."""
    tried: list[object] = []

    class Waiting(socket.socket):
        def connect(self, address: Any) -> None:
            tried.append(address)
            time.sleep(0.4)
            raise TimeoutError

    found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", 9))] * 50
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
    monkeypatch.setattr(socket, "socket", Waiting)
    with pytest.raises(NoticeFailed, match="within 1 s"):
        send(webhook(tmp_path, "http://many.example/"), [NOTICE])
    assert len(tried) < 10
