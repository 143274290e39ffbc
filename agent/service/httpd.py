"""/metrics, /healthz, /readyz and pages over HTTP, on loopback unless configured otherwise.

``/healthz`` says that the process lives; ``/readyz`` that every database has been sampled lately. TLS and basic
authentication by configuration; without them only loopback is a fair place to listen. A request is answered once its
blank line has come, and without a password only under a name of this machine: a browser that another site sent here
asks under that site's name.
"""

from __future__ import annotations

import gzip
import hmac
import re
import socket
import socketserver
import ssl
import sys
import threading
import time
from base64 import b64encode
from collections.abc import Callable, Collection
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BufferedIOBase, BytesIO
from ipaddress import ip_address
from pathlib import Path
from typing import Any, NamedTuple

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder, gzip_accepted

from agent.model.logs import EventLog
from agent.service.connections import MOST_CONNECTIONS, REQUEST_SECONDS, CannotListen, Connections

log = EventLog(__name__)
Readiness = Callable[[], tuple[bool, str]]
TEXT_TYPE = "text/plain; charset=utf-8"
GZIP_LEVEL = 1  # the quickest: names that repeat are packed well at any
QUEUED = 128  # connections that the kernel keeps until they are accepted
ALWAYS = (("X-Content-Type-Options", "nosniff"), ("Cache-Control", "no-store"))  # headers of every answer
DEFAULT_ENCODING = ""  # as without an Accept header
MOST_HEAD_BYTES = 64 * 1024  # of a request line with its headers, or of one line
LEAVE_SECONDS = 0.5  # that a new connection waits for the thread of one that was ended
BLANK = (b"\r\n", b"\n")
# uri-host [":" port] of RFC 9110, 7.2; whatever it does not match is no name.
HOST = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([^\[\]:@/?#\s]+))(?::[0-9]*)?")


class Answer(NamedTuple):
    """What is sent to the client."""

    status: HTTPStatus
    body: bytes
    content_type: str = TEXT_TYPE
    headers: tuple[tuple[str, str], ...] = ()


Pages = Callable[[str], Answer | None]  # path with its query; None: there is no such page


def no_pages(target: str) -> None:
    """There is no page."""


class Audience(NamedTuple):
    """Who is answered."""

    password: str = ""  # ``user:password``; "": no password is asked for
    has_certificate: bool = False  # clients have shown one before they ask
    hosts: Collection[str] = ()  # names under which those without a password may ask, besides this machine's own

    def is_told(self, host: str, reached: str) -> bool:
        """Whether a request under this Host header is answered.

        A site that had its name resolve to this machine (DNS rebinding) can read what a browser here gets, and its
        requests carry that name. A password or a certificate is not known to it; without them the name has to be one
        of loopback, the address that the connection reached, or a configured one.
        """
        if self.password or self.has_certificate:
            return True
        name = name_in(host)
        return bool(name) and (is_loopback(host) or name in {reached, *(each.lower() for each in self.hosts)})


def name_in(host: str) -> str:
    """Name or address in a Host header, without its port, in small letters; "" if the header is malformed."""
    found = HOST.fullmatch(host)
    return "" if found is None else (found[1] or found[2]).lower()


def is_loopback(host: str) -> bool:
    """Whether a Host header names this machine's loopback, which no other site's name resolves to by right.

    >>> [is_loopback(host) for host in ("localhost:9477", "127.0.0.1", "[::1]:9477", "evil.example", "")]
    [True, True, True, False, False]
    >>> [is_loopback(host) for host in ("[127.0.0.1]evil.example", "127.0.0.1:evil.example", "[localhost]")]
    [False, False, False]
    """
    name = name_in(host)
    if name == "localhost":
        return True
    try:
        return ip_address(name).is_loopback
    except ValueError:
        # Another name may resolve to a loopback address as well: that is how DNS rebinding reaches a page.
        return False


class Certificate:
    """A server's certificate, read again when one of its files has changed: renewing it needs no restart."""

    def __init__(self, certificate: Path, key: Path | None, client_ca: Path | None) -> None:
        """Read it now, so that a wrong one is an error at start.

        Raises:
            CannotListen: a file cannot be read, or does not hold what it should.
        """
        self._certificate, self._key, self._client_ca = certificate, key, client_ca
        self.asks_clients = client_ca is not None
        try:
            self._context, self._read_at = self._read()
        except OSError as error:  # SSLError is one
            raise CannotListen(
                f"the certificate of the metrics endpoint cannot be used: {certificate}: {error.strerror or error}",
                advice="metrics.tls names PEM files that the user who runs hotplace may read.",
            ) from error

    def wrap(self, connection: socket.socket) -> ssl.SSLSocket:
        """A connection over TLS; the handshake comes with its first read, in the thread that serves it."""
        with suppress(OSError):  # half written, or without its key yet: the old one serves until the new one is whole
            if self._changed_at() != self._read_at:
                self._context, self._read_at = self._read()
        # A handshake here would be made by the thread that accepts, and one client that says nothing would stop all
        # others.
        return self._context.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)

    def _read(self) -> tuple[ssl.SSLContext, tuple[int, ...]]:
        """A new context, and when its files had changed: one whose pair does not fit would refuse every handshake."""
        read_at = self._changed_at()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        if self._client_ca is not None:
            context.load_verify_locations(self._client_ca)
            context.verify_mode = ssl.CERT_REQUIRED
        context.load_cert_chain(self._certificate, self._key)
        return context, read_at

    def _changed_at(self) -> tuple[int, ...]:
        return tuple(
            path.stat().st_mtime_ns for path in (self._certificate, self._key, self._client_ca) if path is not None
        )


class _Server(ThreadingHTTPServer):
    """A thread for each connection, a limited number of them; TLS where there is a certificate."""

    request_queue_size = QUEUED

    def __init__(
        self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler], tls: Certificate | None
    ) -> None:
        self._tls = tls
        self.connections = Connections(time.monotonic)
        # A connection that has to go frees its place at once, but its thread still runs, and threads must be few.
        self._places = threading.BoundedSemaphore(MOST_CONNECTIONS)
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
        if not (self.connections.admit(request) and self._places.acquire(timeout=LEAVE_SECONDS)):
            self.shutdown_request(request)
            return
        try:
            super().process_request(request, client_address)
        except BaseException:  # no thread could be started, so none will give the place back
            self._places.release()
            raise

    def process_request_thread(self, request: Any, client_address: Any) -> None:  # noqa: ANN401 (as the base class has it)
        """Serve a connection and close it."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._places.release()

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
        hosts: Collection[str] = (),
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
            hosts: names of this machine under which it answers to those who need no password.
            pages: answers every other path.

        Raises:
            CannotListen: the address cannot be bound.
        """
        self._scheme = "http" if tls is None else "https"
        audience = Audience(expected, tls is not None and tls.asks_clients, hosts)
        try:
            self._server = _Server((listen, port), _handler(registry, readiness, audience, pages), tls)
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


def read_head(connection: BufferedIOBase) -> bytes | None:
    r"""Header lines of a request and its blank line; None if the connection ends before, or if they are too long.

    >>> read_head(BytesIO(b"Host: localhost\r\n\r\n")), read_head(BytesIO(b"Host: localhost\r\n"))
    (b'Host: localhost\r\n\r\n', None)
    """
    head = bytearray()
    while line := connection.readline(MOST_HEAD_BYTES):
        head += line
        if line in BLANK:
            return bytes(head)
        if len(head) >= MOST_HEAD_BYTES:
            break
    return None


def not_told(host: str) -> str:
    """Why a request under this Host header is not answered, and what to do."""
    return (
        f"asked as {host[:80]!r}: without a password it answers to loopback and to this machine's own address; another "
        "site may have sent this browser here\nAsk for http://127.0.0.1, or set metrics.basic_auth or metrics.hosts.\n"
    )


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
    registry: CollectorRegistry, readiness: Readiness, audience: Audience, pages: Pages
) -> type[BaseHTTPRequestHandler]:
    encoding = threading.Lock()  # one page at a time: it takes a core
    wanted = f"Basic {b64encode(audience.password.encode()).decode()}".encode() if audience.password else b""

    class Handler(BaseHTTPRequestHandler):
        """Answers GET and HEAD, and nothing else."""

        server_version = "hotplace"
        sys_version = ""
        timeout = REQUEST_SECONDS

        def parse_request(self) -> bool:
            """Whether a whole request has come; the base class takes the end of a connection for its blank line."""
            head = read_head(self.rfile)
            if head is None or not self._connections.note_asked(self.connection):
                self.close_connection = True
                return False
            connection, self.rfile = self.rfile, BytesIO(head)
            try:
                return super().parse_request()
            finally:
                self.rfile = connection

        def do_GET(self) -> None:
            """Route by path."""
            path = self.path.partition("?")[0]
            # Health needs neither: orchestrators probe without a password, under any name, and it tells nothing but
            # that the process lives.
            refusal = None if path == "/healthz" else self._refusal()
            if refusal is not None:
                self.close_connection = True
                self._send(refusal)
                return
            match path:
                case "/metrics":
                    with encoding:
                        if not self._connections.note_asked(self.connection):  # it had to go meanwhile
                            return
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

        do_HEAD = do_GET  # the same without the body: monitors ask so  # noqa: N815

        @property
        def _connections(self) -> Connections:
            assert isinstance(self.server, _Server)
            return self.server.connections

        def _page(self) -> Answer:
            """What the pages answer; a fault of theirs is said in the log, and the server goes on."""
            try:
                found = pages(self.path)
            except Exception:
                log.exception("page failed", path=self.path)
                return Answer(HTTPStatus.INTERNAL_SERVER_ERROR, b"this page failed; the log says why\n")
            return found or Answer(HTTPStatus.NOT_FOUND, b"there is /, /api/v1/, /metrics, /healthz and /readyz\n")

        def _refusal(self) -> Answer | None:
            """Why the request is not answered; None if it may be."""
            given = self.headers.get("Authorization", "").encode("utf-8", "replace")
            if wanted and not hmac.compare_digest(given, wanted):  # in a time that tells nothing of them
                return Answer(HTTPStatus.UNAUTHORIZED, b"a user and a password are asked for\n")
            hosts = self.headers.get_all("Host", [])
            host = hosts[0] if len(hosts) == 1 else ""
            if not audience.is_told(host, str(self.connection.getsockname()[0])):
                return Answer(HTTPStatus.FORBIDDEN, not_told(host).encode())
            return None

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
            if self.command != "HEAD":
                self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002, ANN401 (the base class's names)
            """Say nothing: a scrape every few seconds is no news."""

    return Handler
