"""Keys of people for tests, made and used by OpenSSH."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from agent.model.signed_documents import NAMESPACE


@dataclass(frozen=True, slots=True)
class Person:
    """A person with a key."""

    name: str
    key: Path

    @classmethod
    def new(cls, folder: Path, name: str) -> Person:
        """A person whose key lies in the folder."""
        if shutil.which("ssh-keygen") is None:
            pytest.skip("needs ssh-keygen (Debian: openssh-client)")
        key = folder / name
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", str(key)], check=True)
        return cls(name, key)

    @property
    def line(self) -> str:
        """What allows this person to sign."""
        return f"{self.name} {self.key.with_suffix('.pub').read_text()}"

    def sign(self, text: str, namespace: str = NAMESPACE) -> str:
        """The armored signature over a text."""
        command = ["ssh-keygen", "-q", "-Y", "sign", "-f", str(self.key), "-n", namespace]
        return subprocess.run(command, input=text, text=True, capture_output=True, check=True).stdout
