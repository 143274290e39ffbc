"""/metrics, /healthz and /readyz over HTTP, on loopback unless configured otherwise.

``/healthz`` says that the process lives; ``/readyz`` that every database has been sampled lately.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder

from connectors.base import HotplaceError

Readiness = Callable[[], tuple[bool, str]]
REQUEST_SECONDS = 10.0  # a client that sends nothing is dropped


class CannotListen(HotplaceError):
    """The address of the metrics endpoint is taken or not ours."""


class MetricsServer:
    """The HTTP side of the agent; one thread a request, all of them daemons."""

    def __init__(self, registry: CollectorRegistry, readiness: Readiness, *, listen: str, port: int) -> None:
        """Bind at once, so that a wrong address is an error at start.

        Args:
            registry: what /metrics renders.
            readiness: answers /readyz: ready or not, and a sentence.
            listen: address.
            port: port, 0 for any free one.

        Raises:
            CannotListen: the address cannot be bound.
        """
        try:
            self._server = ThreadingHTTPServer((listen, port), _handler(registry, readiness))
        except OSError as error:
            raise CannotListen(
                f"cannot listen on {listen}:{port}: {error.strerror}",
                advice="Another agent may run already; metrics.port in the configuration chooses another port.",
            ) from error
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, name="metrics", daemon=True)

    @property
    def url(self) -> str:
        """Where /metrics is."""
        host, port = self._server.server_address[:2]
        return f"http://{host!s}:{port}/metrics"

    def start(self) -> None:
        """Serve in the background."""
        self._thread.start()

    def stop(self) -> None:
        """Stop serving and free the address."""
        if self._thread.is_alive():
            self._server.shutdown()
            self._thread.join()
        self._server.server_close()


def _handler(registry: CollectorRegistry, readiness: Readiness) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        """Answers GET on three paths."""

        server_version = "hotplace"
        sys_version = ""
        timeout = REQUEST_SECONDS

        def do_GET(self) -> None:
            """Route by path."""
            match self.path.partition("?")[0]:
                case "/metrics":
                    encode, content_type = choose_encoder(self.headers.get("Accept", ""))
                    self._answer(HTTPStatus.OK, encode(registry), content_type)
                case "/healthz":
                    self._answer(HTTPStatus.OK, b"alive\n")
                case "/readyz":
                    ready, sentence = readiness()
                    status = HTTPStatus.OK if ready else HTTPStatus.SERVICE_UNAVAILABLE
                    self._answer(status, f"{sentence}\n".encode())
                case _:
                    self._answer(HTTPStatus.NOT_FOUND, b"there is /metrics, /healthz and /readyz\n")

        def _answer(self, status: HTTPStatus, body: bytes, content_type: str = "text/plain; charset=utf-8") -> None:
            self.send_response(status)
            self.send_header("Content-Type", content_type)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002, ANN401 (the base class's names)
            """Say nothing: a scrape every few seconds is no news."""

    return Handler
