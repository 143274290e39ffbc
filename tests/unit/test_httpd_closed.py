"""The metrics endpoint with TLS and a password: who has both gets in, and nobody else."""

from __future__ import annotations

import base64
import os
import socket
import ssl
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry, Gauge

from agent.config.errors import ConfigError
from agent.service.connections import CannotListen
from agent.service.httpd import Certificate, MetricsServer
from tests.config.yaml_texts import loaded, values, written
from tests.labs.tds.certificate import make_certificate

EXPECTED = "prometheus:correct horse"


@contextmanager
def serving(**more: object) -> Iterator[MetricsServer]:
    """A server with one gauge."""
    registry = CollectorRegistry()
    Gauge("hotplace_test_ratio", "A figure.", registry=registry).set(0.5)
    server = MetricsServer(registry, lambda: (True, "ready"), listen="127.0.0.1", port=0, **more)  # type: ignore[arg-type]  # fields by name
    server.start()
    try:
        yield server
    finally:
        server.stop()


def get(
    server: MetricsServer, path: str = "/metrics", *, login: str = "", trust: Path | None = None
) -> tuple[int, str]:
    """Status and body of a GET."""
    request = urllib.request.Request(server.url.replace("/metrics", path))
    if login:
        request.add_header("Authorization", f"Basic {base64.b64encode(login.encode()).decode()}")
    context = ssl.create_default_context(cafile=trust) if trust else None
    try:
        with urllib.request.urlopen(request, timeout=5, context=context) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def test_a_password_is_asked_for_everything_but_health() -> None:
    """Without or with a wrong one nothing is told, not even readiness; with the right one all is."""
    with serving(expected=EXPECTED) as server:
        for login in ("", "prometheus:wrong", "prometheus", "Prometheus:correct horse"):
            assert get(server, login=login)[0] == 401
            assert get(server, "/readyz", login=login)[0] == 401
        assert get(server, "/healthz") == (200, "alive\n")
        assert "hotplace_test_ratio 0.5" in get(server, login=EXPECTED)[1]


def test_tls_serves_and_takes_a_renewed_certificate(tmp_path: Path) -> None:
    """Https works with the configured certificate; a new file serves the next connection, without a restart."""
    certificate = make_certificate(tmp_path)
    with serving(tls=Certificate(certificate, None, None)) as server:
        assert server.url.startswith("https://")
        assert get(server, trust=certificate)[0] == 200
        old = certificate.read_bytes()
        (tmp_path / "old.pem").write_bytes(old)
        make_certificate(tmp_path)
        os.utime(certificate, ns=(0, 0))  # whatever the clock of the file system, it is another time
        assert get(server, trust=certificate)[0] == 200
        with pytest.raises(urllib.error.URLError, match="CERTIFICATE_VERIFY_FAILED"):
            get(server, trust=tmp_path / "old.pem")


def test_a_certificate_renewed_before_its_key_breaks_nothing(tmp_path: Path) -> None:
    """The old pair serves until the new one is whole, also while a file is missing; then the new one does."""
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"

    def renew() -> bytes:
        made, part = make_certificate(tmp_path).read_bytes(), b"-----BEGIN CERTIFICATE"
        new_key, _, rest = made.partition(part)
        certificate.write_bytes(part + rest)
        return new_key

    key.write_bytes(renew())
    (tmp_path / "old.pem").write_bytes(certificate.read_bytes())
    with serving(tls=Certificate(certificate, key, None)) as server:
        assert get(server, trust=tmp_path / "old.pem")[0] == 200
        new_key = renew()
        os.utime(certificate, ns=(0, 0))  # another time, as above
        assert get(server, trust=tmp_path / "old.pem")[0] == 200
        key.unlink()
        assert get(server, trust=tmp_path / "old.pem")[0] == 200
        key.write_bytes(new_key)
        os.utime(key, ns=(1, 1))
        assert get(server, trust=certificate)[0] == 200


def test_clients_without_tls_or_certificate_are_turned_away(tmp_path: Path) -> None:
    """Plain HTTP, silence, and https without a client certificate get nothing, and the server lives on."""
    certificate = make_certificate(tmp_path)
    with serving(tls=Certificate(certificate, None, certificate)) as server:
        port = int(server.url.rsplit(":", 1)[1].split("/")[0])
        with socket.create_connection(("127.0.0.1", port), timeout=5) as plain:
            plain.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
            assert b"hotplace" not in plain.recv(1000)
        with pytest.raises((urllib.error.URLError, OSError)):
            get(server, trust=certificate)
        context = ssl.create_default_context(cafile=certificate)
        context.load_cert_chain(certificate)
        with urllib.request.urlopen(server.url, timeout=5, context=context) as answer:
            assert answer.status == 200


def test_a_certificate_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    """No file, and a file of something else."""
    (tmp_path / "empty.pem").write_text("nothing")
    for name in ("none.pem", "empty.pem"):
        with pytest.raises(CannotListen, match=name):
            Certificate(tmp_path / name, None, None)


@pytest.mark.parametrize(
    ("spoil", "where"),
    [
        (lambda m: m.update(basic_auth={"user": "p", "password": "hunter2"}), "metrics.basic_auth.password"),
        (lambda m: m.update(basic_auth={"user": "p"}), "metrics.basic_auth.password"),
        (lambda m: m.update(tls={"key": "x.pem"}), "metrics.tls.certificate"),
    ],
)
def test_the_configuration_takes_no_password_itself(spoil: Callable[[dict[str, object]], None], where: str) -> None:
    """A secret in the file is refused without showing it; what is missing is named."""
    plain = values()
    plain["metrics"] = {}
    spoil(plain["metrics"])
    with pytest.raises(ConfigError) as caught:
        loaded(written(plain))
    assert [problem.path for problem in caught.value.problems] == [where]
    assert "hunter2" not in str(caught.value)
