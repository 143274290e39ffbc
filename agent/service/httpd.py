"""/metrics, /healthz, /readyz and pages over HTTP, on loopback unless configured otherwise.

``/healthz`` says that the process lives; ``/readyz`` that every database has been sampled lately. TLS and basic
authentication by configuration; without them only loopback is a fair place to listen.
"""

from __future__ import annotations

import gzip
import hmac
import socket
import socketserver
import ssl
import sys
import threading
import time
from base64 import b64encode
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder, gzip_accepted

from agent.logs import EventLog
from agent.service.connections import REQUEST_SECONDS, CannotListen, Connections

log = EventLog(__name__)
Readiness = Callable[[], tuple[bool, str]]
TEXT_TYPE = "text/plain; charset=utf-8"
GZIP_LEVEL = 1  # the quickest: names that repeat are packed well at any
QUEUED = 128  # connections that the kernel keeps until they are accepted
ALWAYS = (("X-Content-Type-Options", "nosniff"), ("Cache-Control", "no-store"))  # headers of every answer
DEFAULT_ENCODING = ""  # as without an Accept header


class Answer(NamedTuple):
    """What is sent to whoever asked."""

    status: HTTPStatus
    body: bytes
    content_type: str = TEXT_TYPE
    headers: tuple[tuple[str, str], ...] = ()


Pages = Callable[[str, str], Answer | None]  # path with its query, and the Host header; None: there is no such page


def no_pages(target: str, host: str) -> None:
    """There is no page."""


class Certificate:
    """A server's certificate, read again when its file has changed: renewing it needs no restart."""

    def __init__(self, certificate: Path, key: Path | None, client_ca: Path | None) -> None:
        """Read it now, so that a wrong one is an error at start.

        Raises:
            CannotListen: a file cannot be read, or does not hold what it should.
        """
        self._certificate, self._key = certificate, key
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.minimum_version = ssl.TLSVersion.TLSv1_2
        try:
            if client_ca is not None:
                self._context.load_verify_locations(client_ca)
                self._context.verify_mode = ssl.CERT_REQUIRED
            self._read()
        except OSError as error:  # SSLError is one
            raise CannotListen(
                f"the certificate of the metrics endpoint cannot be used: {certificate}: {error.strerror or error}",
                advice="metrics.tls names PEM files that the user who runs hotplace may read.",
            ) from error

    def wrap(self, connection: socket.socket) -> ssl.SSLSocket:
        """A connection over TLS; the handshake comes with its first read, in the thread that serves it."""
        if self._certificate.stat().st_mtime_ns != self._read_at:
            with suppress(OSError):  # half written: the old one serves until the new one is whole
                self._read()
        # A handshake here would be made by the thread that accepts, and one client that says nothing would stop all
        # others.
        return self._context.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)

    def _read(self) -> None:
        read_at = self._certificate.stat().st_mtime_ns
        self._context.load_cert_chain(self._certificate, self._key)
        self._read_at = read_at


class _Server(ThreadingHTTPServer):
    """A thread for each connection, a limited number of them; TLS where there is a certificate."""

    request_queue_size = QUEUED

    def __init__(
        self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler], tls: Certificate | None
    ) -> None:
        self._tls = tls
        self.connections = Connections(time.monotonic)
        super().__init__(address, handler)

    def server_bind(self) -> None:
        """Bind without the reverse DNS lookup of the base class: it may take long, and its result is not used."""
        socketserver.TCPServer.server_bind(self)

    def get_request(self) -> tuple[socket.socket, Any]:
        """The next connection."""
        connection, address = super().get_request()
        return (connection if self._tls is None else self._tls.wrap(connection)), address

    def process_request(self, request: Any, client_address: Any) -> None:  # noqa: ANN401 (as the base class has it)
        """Serve a connection in a thread of its own, if there is a place."""
        if self.connections.admit(request):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def shutdown_request(self, request: Any) -> None:  # noqa: ANN401 (as the base class has it)
        """Close a connection."""
        self.connections.forget(request)
        super().shutdown_request(request)

    def service_actions(self) -> None:
        """Between two connections, twice a second at least."""
        self.connections.end_late()

    def handle_error(self, request: object, client_address: object) -> None:  # noqa: ARG002 (as the base class has it)
        """A client that speaks no TLS or goes away is no news; anything else is said."""
        if not isinstance(sys.exc_info()[1], OSError):
            log.exception("metrics request failed")


class MetricsServer:
    """The HTTP side of the agent; one thread a request, all of them daemons."""

    def __init__(
        self,
        registry: CollectorRegistry,
        readiness: Readiness,
        *,
        listen: str,
        port: int,
        tls: Certificate | None = None,
        expected: str = "",
        pages: Pages = no_pages,
    ) -> None:
        """Bind at once, so that a wrong address is an error at start.

        Args:
            registry: what /metrics renders.
            readiness: answers /readyz: ready or not, and a sentence.
            listen: address.
            port: port, 0 for any free one.
            tls: for https; None: http.
            expected: ``user:password`` that everything but /healthz asks for; "": nothing is asked.
            pages: answers every other path.

        Raises:
            CannotListen: the address cannot be bound.
        """
        self._scheme = "http" if tls is None else "https"
        try:
            self._server = _Server((listen, port), _handler(registry, readiness, expected, pages), tls)
        except OSError as error:
            raise CannotListen(
                f"cannot listen on {listen}:{port}: {error.strerror}",
                advice="Another agent may run already; metrics.port in the configuration chooses another port.",
            ) from error
        self._thread = threading.Thread(target=self._server.serve_forever, name="metrics", daemon=True)

    @property
    def url(self) -> str:
        """Where /metrics is."""
        host, port = self._server.server_address[:2]
        return f"{self._scheme}://{host!s}:{port}/metrics"

    def start(self) -> None:
        """Serve in the background."""
        self._thread.start()

    def stop(self) -> None:
        """Stop serving and free the address."""
        if self._thread.is_alive():
            self._server.shutdown()
            self._thread.join()
        self._server.server_close()


def encode_page(registry: CollectorRegistry, accepted: str) -> tuple[bytes, str]:
    """The metrics in the format that a client asks for, and its content type.

    The library raises at a version that is no number, and at versions and escapings that it does not know; whatever a
    client asks for, it then gets the plain text format.
    """
    try:
        encode, content_type = choose_encoder(accepted)
        return encode(registry), content_type
    except Exception:  # noqa: BLE001  # of a library, by what a stranger sent
        encode, content_type = choose_encoder(DEFAULT_ENCODING)
        return encode(registry), content_type


def _handler(
    registry: CollectorRegistry, readiness: Readiness, expected: str, pages: Pages
) -> type[BaseHTTPRequestHandler]:
    encoding = threading.Lock()  # one page at a time: it takes a core
    wanted = f"Basic {b64encode(expected.encode()).decode()}".encode() if expected else b""

    class Handler(BaseHTTPRequestHandler):
        """Answers GET, and nothing else."""

        server_version = "hotplace"
        sys_version = ""
        timeout = REQUEST_SECONDS

        def do_GET(self) -> None:
            """Route by path."""
            assert isinstance(self.server, _Server)
            self.server.connections.note_asked(self.connection)
            path = self.path.partition("?")[0]
            # Health needs no password: orchestrators probe without one, and it tells nothing but that the process
            # lives.
            if path != "/healthz" and not self._may_ask():
                self.close_connection = True
                self._send(Answer(HTTPStatus.UNAUTHORIZED, b"a user and a password are asked for\n"))
                return
            match path:
                case "/metrics":
                    with encoding:
                        page, content_type = encode_page(registry, self.headers.get("Accept", ""))
                    self._send(Answer(HTTPStatus.OK, page, content_type), may_pack=True)
                case "/healthz":
                    self._send(Answer(HTTPStatus.OK, b"alive\n"))
                case "/readyz":
                    ready, sentence = readiness()
                    status = HTTPStatus.OK if ready else HTTPStatus.SERVICE_UNAVAILABLE
                    self._send(Answer(status, f"{sentence}\n".encode()))
                case _:
                    self._send(self._page(), may_pack=True)

        def _page(self) -> Answer:
            """What the pages answer; a fault of theirs is said in the log, and the server goes on."""
            try:
                found = pages(self.path, self.headers.get("Host", ""))
            except Exception:
                log.exception("page failed", path=self.path)
                return Answer(HTTPStatus.INTERNAL_SERVER_ERROR, b"this page failed; the log says why\n")
            return found or Answer(HTTPStatus.NOT_FOUND, b"there is /, /api/v1/, /metrics, /healthz and /readyz\n")

        def _may_ask(self) -> bool:
            """Whether the request names the user and password, compared in a time that tells nothing of them."""
            given = self.headers.get("Authorization", "").encode("utf-8", "replace")
            return not wanted or hmac.compare_digest(given, wanted)

        def _send(self, answer: Answer, *, may_pack: bool = False) -> None:
            self.send_response(answer.status)
            body = answer.body
            if may_pack and gzip_accepted(self.headers.get("Accept-Encoding", "")):
                body = gzip.compress(body, GZIP_LEVEL)
                self.send_header("Content-Encoding", "gzip")
            if answer.status is HTTPStatus.UNAUTHORIZED:
                self.send_header("WWW-Authenticate", 'Basic realm="hotplace", charset="UTF-8"')
            for name, value in (*answer.headers, *ALWAYS):
                self.send_header(name, value)
            self.send_header("Content-Type", answer.content_type)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002, ANN401 (the base class's names)
            """Say nothing: a scrape every few seconds is no news."""

    return Handler
