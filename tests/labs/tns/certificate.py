"""A certificate for tests of TCPS."""

from __future__ import annotations

import ssl
from pathlib import Path

from cryptography import x509

from tests.labs.certificate import signed_by_itself


def self_signed(folder: Path) -> ssl.SSLContext:
    """A certificate for localhost, signed by itself, as server's context; ewallet.pem trusts it."""
    key, certificate = signed_by_itself("localhost", [x509.DNSName("localhost")], authority=True)
    (folder / "key.pem").write_bytes(key)
    for file in ("certificate.pem", "ewallet.pem"):
        (folder / file).write_bytes(certificate)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "certificate.pem", folder / "key.pem")
    return context
