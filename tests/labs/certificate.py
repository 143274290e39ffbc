"""Certificates that emulated servers sign for themselves."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

DAY = timedelta(days=1)


def signed_by_itself(host: str, names: Sequence[x509.GeneralName], *, authority: bool = False) -> tuple[bytes, bytes]:
    """Key and certificate in PEM for a host by all of its names, valid for a day to either side of now.

    Args:
        host: the common name.
        names: by which clients may know it.
        authority: it may sign others, as wallets want it of what they trust.
    """
    key = ec.generate_private_key(ec.SECP256R1())
    name, now = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, host)]), datetime.now(UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - DAY)
        .not_valid_after(now + DAY)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
    )
    if authority:
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return secret, builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
