"""A certificate of its own for each emulated SQL Server."""

from __future__ import annotations

import ssl
from ipaddress import IPv4Address
from pathlib import Path

from cryptography import x509

from tests.labs.certificate import signed_by_itself


def make_certificate(folder: Path, host: str = "localhost") -> Path:
    """Key and certificate in one PEM file for ``host`` and 127.0.0.1."""
    path = folder / f"{host}.pem"
    names = [x509.DNSName(host), x509.IPAddress(IPv4Address("127.0.0.1"))]
    path.write_bytes(b"".join(signed_by_itself(host, names)))
    return path


def tls_context(certificate: Path) -> ssl.SSLContext:
    """A server's context; TLS 1.2, because 1.3 inside PRELOGIN packets is strict mode's business."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(certificate)
    return context
