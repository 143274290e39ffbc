"""Who may sign, and whether a signature is theirs: ``ssh-keygen -Y verify`` with a file of allowed signers.

The file's format is in ``allowed_signers``.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from agent.keys.allowed_signers import (
    OF_DATABASE,
    Principals,
    SignersMistaken,
    parse_allowed_signers,
    parse_principals,
)
from agent.keys.document import Signable
from connectors.base import HotplaceError
from connectors.trusted_files import ROOT, find_fault

PROGRAM = "ssh-keygen"
TIMEOUT_SECONDS = 10.0
MOST_SIGNATURE_BYTES = 64 * 1024
KEY = re.compile(r"\b(SHA256:[A-Za-z0-9+/]{20,})")


class SignatureInvalid(HotplaceError):
    """A signature is not one of an allowed signer over this document, or that cannot be checked."""


@dataclass(frozen=True, slots=True)
class Signature:
    """A signature that was checked."""

    who: str  # principal in the file of allowed signers
    key: str  # fingerprint of the key that signed
    armored: str  # as ssh-keygen wrote it
    names: frozenset[str] = frozenset()  # of people under which the key stands, as canonical_name writes them


class Signers:
    """The people who may sign, by their keys."""

    def __init__(self, path: Path) -> None:
        """Use a file of allowed signers; it is read again for every check."""
        self.path = path

    def check_file(self) -> None:
        """Check that nobody but root can have written the file, and that each line of it says what it seems to say.

        Raises:
            SignatureInvalid: it is missing, could be another's, or has a mistaken line.
        """
        try:
            fault = find_fault(self.path, {ROOT})  # not the caller: he could add a key of his own
            text = "" if fault else self.path.read_text(encoding="utf-8")
            parse_allowed_signers(text)
        except OSError as error:
            raise SignatureInvalid(
                f"allowed_signers {self.path} cannot be read: {error.strerror}",
                advice="Create it as root: one line of principal and public key for each person, see ssh-keygen(1).",
            ) from error
        except ValueError as error:  # a mistaken line, or no text at all
            raise SignatureInvalid(
                f"allowed_signers {self.path} is mistaken, so no signature counts: {error}",
                advice="A line is: PERSON[,database:NAME...] [OPTIONS] KEY-TYPE KEY, see ssh-keygen(1).",
            ) from error
        if fault:
            raise SignatureInvalid(
                f"allowed_signers {self.path} can be changed by others than root, so it proves nothing: {fault}",
                advice=f"Make file and folders belong to root: chown root {self.path}; chmod 644 {self.path}",
            )

    def verify(self, document: Signable, armored: str) -> Signature:
        """Check a signature over a document.

        Raises:
            SignatureInvalid: it is not one of an allowed signer over just this document, or could not be checked.
        """
        self.check_file()
        if len(armored) > MOST_SIGNATURE_BYTES:
            raise SignatureInvalid(f"a signature of {len(armored)} characters is none", advice=_SIGN_AGAIN)
        with tempfile.NamedTemporaryFile("w", encoding="utf-8") as file:  # mode 0600
            file.write(armored)
            file.flush()
            common = ("-f", str(self.path), "-s", file.name)
            signer = self._find_signer(common)
            # ssh-keygen compares patterns of principals itself: each database takes the place of the person.
            of_databases = [f"{OF_DATABASE}{name}" for name in sorted(document.databases)]
            done = _verify_as(of_databases if signer.limited else [signer.person], document, *common)
        key = KEY.search(done.stdout)
        if done.returncode or key is None:
            why = _last_line(done.stderr or done.stdout)
            raise SignatureInvalid(f"the signature by {signer} does not fit this document: {why}", advice=_SIGN_AGAIN)
        return Signature(signer.person, key[1], armored, frozenset({signer.canonical}))

    def _find_signer(self, common: Sequence[str]) -> Principals:
        """Whose key has made the signature.

        `verify` asks for the name of the person who is to have signed. It is asked of the file and not of the caller: a
        name that somebody gives proves nothing.

        Raises:
            SignatureInvalid: nobody's in the file.
        """
        found = _run("find-principals", *common, document="").stdout.splitlines()
        if not found:
            raise SignatureInvalid(
                f"no key in {self.path} has made this signature", advice="Its owner has to add the signer's key."
            )
        try:
            return parse_principals(",".join(found))  # one a line
        except SignersMistaken as error:  # the certificate of an authority names several people
            raise SignatureInvalid(f"whose signature this is, is not known: {error}", advice=_SIGN_AGAIN) from error


_SIGN_AGAIN = "Print the document again, with the same command without --signature, and sign just that."


def _verify_as(principals: Sequence[str], document: Signable, *common: str) -> subprocess.CompletedProcess[str]:
    """Verify for each principal, at least one, up to the first for which it fails."""
    first, *others = principals
    done = _run("verify", *common, "-I", first, "-n", document.namespace, document=document.text)
    return done if done.returncode or not others else _verify_as(others, document, *common)


def _run(action: str, *arguments: str, document: str) -> subprocess.CompletedProcess[str]:
    """Run ssh-keygen with the document as its input."""
    try:
        return subprocess.run(  # noqa: S603  # our own arguments; the signature and the document are a file and its input
            [PROGRAM, "-Y", action, *arguments], input=document, capture_output=True, text=True, check=False,
            timeout=TIMEOUT_SECONDS, env={"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"},
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SignatureInvalid(
            f"{PROGRAM} could not be run: {error}", advice="Install OpenSSH 8.2 or later (package openssh-client)."
        ) from error


def _last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "ssh-keygen said nothing"
