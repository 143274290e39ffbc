"""Who may sign, and whether a signature is theirs: ``ssh-keygen -Y verify`` with a file of allowed signers.

The format of that file and its options (``valid-before``, ``namespaces`` ...): ssh-keygen(1), "ALLOWED SIGNERS". The
principals of a line are a person and, where he may sign for some databases only, these::

    anna,database:shop,database:crm_* ssh-ed25519 AAAA...
"""

from __future__ import annotations

import os
import re
import stat
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from agent.keys.document import Signable
from connectors.base import HotplaceError

PROGRAM = "ssh-keygen"
TIMEOUT_SECONDS = 10.0
MOST_SIGNATURE_BYTES = 64 * 1024
OF_DATABASE = "database:"  # begins a principal that names a database, not a person
KEY = re.compile(r"\b(SHA256:[A-Za-z0-9+/]{20,})")


class SignatureInvalid(HotplaceError):
    """A signature is not one of an allowed signer over this document, or that cannot be checked."""


@dataclass(frozen=True, slots=True)
class Signature:
    """A signature that was checked."""

    who: str  # principal in the file of allowed signers
    key: str  # fingerprint of the key that signed
    armored: str  # as ssh-keygen wrote it


class Signers:
    """The people who may sign, by their keys."""

    def __init__(self, path: Path) -> None:
        """Use a file of allowed signers; it is read again for every check."""
        self.path = path

    def check_file(self) -> None:
        """Check that the user who runs this process cannot change the file; root can change every file.

        Raises:
            SignatureInvalid: it is missing, or this user may write it.
        """
        try:
            status = self.path.stat()
        except OSError as error:
            raise SignatureInvalid(
                f"allowed_signers {self.path} cannot be read: {error.strerror}",
                advice="Create it as root: one line of principal and public key for each person, see ssh-keygen(1).",
            ) from error
        # The owner counts without a right to write, since he can give it to himself; the folder counts, since who may
        # write there can put another file in its place.
        mine = os.geteuid() != 0 and (status.st_uid == os.geteuid() or _may_write(self.path, self.path.parent))
        if mine or status.st_mode & stat.S_IWOTH:
            raise SignatureInvalid(
                f"allowed_signers {self.path} can be changed by the user that runs hotplace, so it proves nothing",
                advice=f"Make file and folder belong to root: chown root {self.path}; chmod 644 {self.path}",
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
            # `verify` asks for the name whose key is to have signed. Asked of the file, not of the caller: a name that
            # somebody gives proves nothing.
            found = _run("find-principals", *common, document="").stdout.splitlines()
            if not found:
                raise SignatureInvalid(
                    f"no key in {self.path} has made this signature", advice="Its owner has to add the signer's key."
                )
            who, *others = ",".join(found).split(",")  # a line may list several principals for one key
            only = ", ".join(name for name in (who, *others) if name.startswith(OF_DATABASE))
            # ssh-keygen compares patterns of principals itself: each database takes the place of the person.
            of_databases = [f"{OF_DATABASE}{name}" for name in sorted(document.databases)]
            done = _verify_as(of_databases if only else [who], document, *common)
        key = KEY.search(done.stdout)
        if done.returncode or key is None:
            signer, why = f"{who} ({only})" if only else who, _last_line(done.stderr or done.stdout)
            raise SignatureInvalid(f"the signature by {signer} does not fit this document: {why}", advice=_SIGN_AGAIN)
        return Signature(who, key[1], armored)


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


def _may_write(*paths: Path) -> bool:
    return any(os.access(path, os.W_OK, effective_ids=os.access in os.supports_effective_ids) for path in paths)


def _last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "ssh-keygen said nothing"
