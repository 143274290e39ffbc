"""O5LOGON with a 12C verifier: both sides prove that they know the password, which never travels in clear."""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass, field

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

VERIFIER_12C = 0x4815
ROUNDS_OF_VERIFIER = 4096
ROUNDS_OF_SESSION_KEY = 3


def _cipher(key: bytes) -> Cipher[modes.CBC]:
    return Cipher(algorithms.AES(key), modes.CBC(bytes(16)))


def encrypt(key: bytes, clear: bytes) -> bytes:
    """AES-CBC without an initialisation vector, PKCS-7 padding."""
    padding = 16 - len(clear) % 16
    encryptor = _cipher(key).encryptor()
    return encryptor.update(clear + bytes([padding]) * padding) + encryptor.finalize()


def decrypt(key: bytes, secret: bytes) -> bytes:
    """The other way round, padding left in place."""
    decryptor = _cipher(key).decryptor()
    return decryptor.update(secret) + decryptor.finalize()


def derive(password: bytes, salt: bytes, length: int, rounds: int) -> bytes:
    """PBKDF2 over SHA-512."""
    return hashlib.pbkdf2_hmac("sha512", password, salt, rounds, length)


@dataclass(slots=True)
class Challenge:
    """One login: what the server sent, and the check of what comes back."""

    password: str
    salt: bytes = field(default_factory=lambda: secrets.token_bytes(16))
    key_salt: bytes = field(default_factory=lambda: secrets.token_bytes(16))
    part_a: bytes = field(default_factory=lambda: secrets.token_bytes(32))

    def _password_hash(self) -> bytes:
        key = derive(self.password.encode(), self.salt + b"AUTH_PBKDF2_SPEEDY_KEY", 64, ROUNDS_OF_VERIFIER)
        return hashlib.sha512(key + self.salt).digest()[:32]

    def parameters(self) -> list[tuple[str, str, int]]:
        """Key, value and flag of what phase one answers."""
        return [
            ("AUTH_SESSKEY", encrypt(self._password_hash(), self.part_a)[:32].hex().upper(), 0),
            ("AUTH_VFR_DATA", self.salt.hex().upper(), VERIFIER_12C),
            ("AUTH_PBKDF2_CSK_SALT", self.key_salt.hex().upper(), 0),
            ("AUTH_PBKDF2_VGEN_COUNT", str(ROUNDS_OF_VERIFIER), 0),
            ("AUTH_PBKDF2_SDER_COUNT", str(ROUNDS_OF_SESSION_KEY), 0),
        ]

    def answer(self, session_key: str, password: str) -> str | None:
        """The server's own proof, or None when the client does not know the password."""
        part_b = decrypt(self._password_hash(), bytes.fromhex(session_key))
        both = (part_b[:32] + self.part_a).hex().upper().encode()
        key = derive(both, self.key_salt, 32, ROUNDS_OF_SESSION_KEY)
        clear = decrypt(key, bytes.fromhex(password))[16:]
        padding = clear[-1] if clear else 0
        if clear[: len(clear) - padding] != self.password.encode():
            return None
        return encrypt(key, secrets.token_bytes(16) + b"SERVER_TO_CLIENT").hex().upper()
