"""Who may sign, and whether a signature is theirs.

``count_people`` counts people, not keys and not spellings of a name. A person is a principal of the file of allowed
signers. One person may have several keys, each on its own line, and one key may stand under several names. Names and
keys that belong together are one person.

``parse_allowed_signers`` reads the file as ssh-keygen(1) does ("ALLOWED SIGNERS"), with narrower rules. A line is
``PRINCIPALS [OPTIONS] KEY-TYPE KEY [COMMENT]``. ssh-keygen takes any list of patterns as principals. Here the first is
a person, and each other one limits the key to some databases, by a pattern::

    anna ssh-ed25519 AAAA...
    anna,database:shop,database:crm_*,!database:crm_old namespaces="hotplace-approval" ssh-ed25519 AAAA...

Anything else is an error. ssh-keygen would accept ``Database:shop`` as another name of a person without limits.

``Signers`` checks a signature with ``ssh-keygen -Y verify`` and that file.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from agent.model.signed_documents import Signable
from connectors.kit.contract import HotplaceError
from connectors.kit.files import ROOT, find_fault

# Letters that look alike in different alphabets would make two people of one, so names are plain ASCII.
_NAME = re.compile(r"[a-z0-9_][a-z0-9._+-]*")
_BEHIND_SUDO = " (sudo by "


class NameUnclear(HotplaceError):
    """A name that may look like another one, so that it is unclear who it is."""


class ByOnePerson(Protocol):
    """A signature, as far as it says who made it."""

    @property
    def key(self) -> str:
        """Fingerprint of the key."""
        ...

    @property
    def names(self) -> Collection[str]:
        """Names of people under which the key stands, as ``canonical_name`` writes them."""
        ...


def canonical_name(name: str) -> str:
    """A person's name as it is compared: without capitals, blanks around it, and the host of a mail address.

    Raises:
        NameUnclear: it holds other characters than ASCII letters, digits and ``. _ + -``.
    """
    canonical = name.strip().lower().partition("@")[0]
    if not _NAME.fullmatch(canonical):
        raise NameUnclear(
            f"{name!r} cannot be distinguished from names that look like it",
            advice="Names of people are ASCII letters, digits and . _ + - only, with or without a host after @.",
        )
    return canonical


def names_of_asker(who: str) -> frozenset[str]:
    """Everyone who may have asked for something by a command, as ``canonical_name`` writes them.

    Behind sudo both: the account, and the person whom sudo names. ``SUDO_USER`` is a variable that anybody can set, so
    it must not put another name in the place of the account's.

    Raises:
        NameUnclear: as ``canonical_name``.
    """
    account, behind, name = who.rpartition(_BEHIND_SUDO)
    if not behind or not name.endswith(")"):
        return frozenset({canonical_name(who)})
    return names_of_asker(account) | {canonical_name(name.removesuffix(")"))}


def count_people(signatures: Iterable[ByOnePerson], without: Collection[str] = ()) -> int:
    """How many people have signed.

    Args:
        signatures: that fit.
        without: canonical names of people who do not count.
    """
    people: list[set[str]] = []  # each with all names and keys that are known to be his
    for signature in signatures:
        known = {signature.key, *signature.names}
        people = [*_apart(people, known), known.union(*_together(people, known))]
    return sum(person.isdisjoint(without) for person in people)


def _together(people: Iterable[set[str]], known: Collection[str]) -> list[set[str]]:
    return [person for person in people if not person.isdisjoint(known)]


def _apart(people: Iterable[set[str]], known: Collection[str]) -> list[set[str]]:
    return [person for person in people if person.isdisjoint(known)]


OF_DATABASE = "database:"
_WITHOUT = "!"
_KEY_TYPE = re.compile(r"(?:sk-)?(?:ssh|ecdsa)-[a-z0-9@.-]+")
_BLOB = re.compile(r"[A-Za-z0-9+/]+={0,2}")
_PERSON = re.compile(r"[^\s,!*?:\"#]+")
_PATTERN_OF_PEOPLE = re.compile(r"[^\s,!:\"#]+")
_PATTERN_OF_DATABASES = re.compile(r"[^\s,!\"]+")
_WORD = re.compile(r'(?:[^\s"]|"(?:[^"\\]|\\.)*")+')  # blanks within quotation marks do not end it
_OPTION = re.compile(r'([A-Za-z-]+)(?:="((?:[^"\\]|\\.)*)")?(?:,|$)')
_TIME = re.compile(r"\d{8}(?:\d{4}(?:\d{2})?)?Z?")
AUTHORITY = "cert-authority"
_VALUES = {  # options that ssh-keygen knows, and what each may say
    AUTHORITY: re.compile(r""), "namespaces": re.compile(r".+"), "valid-after": _TIME, "valid-before": _TIME,
}  # fmt: skip


class SignersMistaken(ValueError):
    """A line of the file is not one of a person with a key; says which line, and what is wrong with it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Principals:
    """Whom a line is about, and for which databases his key counts."""

    person: str
    databases: tuple[str, ...] = ()  # patterns of ssh_config(5); none: for all
    without: tuple[str, ...] = ()  # patterns of databases that are taken out of those

    @property
    def limited(self) -> bool:
        """Whether the key counts for some databases only."""
        return bool(self.databases)

    @property
    def canonical(self) -> str:
        """The person, as people are counted; of an authority it is a pattern, which is no person's name."""
        return canonical_name(self.person)

    def __str__(self) -> str:
        """As a sentence names the signer."""
        limits = [f"{OF_DATABASE}{each}" for each in self.databases]
        limits += [f"{_WITHOUT}{OF_DATABASE}{each}" for each in self.without]
        return f"{self.person} ({', '.join(limits)})" if limits else self.person


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowedSigner:
    """One line: a person, the databases, options, and the key."""

    line: int  # from 1
    principals: Principals
    key_type: str
    key: str  # base64, which tells keys apart
    options: Mapping[str, str] = field(default_factory=dict)  # by name in small letters; "" where there is no value

    @property
    def person(self) -> str:
        """Who signs with this key."""
        return self.principals.person


def parse_allowed_signers(text: str) -> tuple[AllowedSigner, ...]:
    """Every line of the file that is neither empty nor a comment.

    Raises:
        SignersMistaken: a line is mistaken, or two lines say different things of one key.
    """
    lines = [(number, line.strip(" \t\r")) for number, line in enumerate(text.split("\n"), 1)]
    signers = tuple(parse_line(line, number) for number, line in lines if line and not line.startswith("#"))
    _compare_keys(signers)
    return signers


def parse_line(line: str, number: int = 1) -> AllowedSigner:
    """One line, without blanks around it.

    Raises:
        SignersMistaken: it is mistaken; the message begins with its number.
    """
    try:
        names, rest = _cut(line)
        options, rest = ({}, rest) if _KEY_TYPE.fullmatch(_cut(rest)[0]) else _cut_options(rest)
        key_type, key = _key_of(rest)
        principals = parse_principals(_unquote(names), authority=AUTHORITY in options)
    except SignersMistaken as error:
        raise SignersMistaken(f"line {number}: {error}") from None
    return AllowedSigner(line=number, principals=principals, options=options, key_type=key_type, key=key)


def parse_principals(names: str, *, authority: bool = False) -> Principals:
    """The principals of a line, as they stand there or as ``ssh-keygen -Y find-principals`` prints them.

    Args:
        names: with commas between them, not quoted.
        authority: the key is one of an authority, whose certificates name people: the person may be a pattern, and no
            databases may follow, since a certificate names none.

    Raises:
        SignersMistaken: one of them is neither the person nor a limit to databases.
    """
    person, *limits = names.split(",")
    if (_PATTERN_OF_PEOPLE if authority else _PERSON).fullmatch(person) is None:
        raise SignersMistaken(f"{person!r} is not the name of a person")
    if not authority:
        _canonical(person)
    if authority and limits:
        raise SignersMistaken(f"{limits[0]!r} limits an authority, and its certificates name people only")
    if unknown := [each for each in limits if _database_of(each.removeprefix(_WITHOUT)) is None]:
        raise SignersMistaken(f"{unknown[0]!r} is no limit: {OF_DATABASE}NAME or {_WITHOUT}{OF_DATABASE}NAME follows")
    databases = tuple(found for each in limits if (found := _database_of(each)) is not None)
    without = tuple(str(_database_of(each[1:])) for each in limits if each.startswith(_WITHOUT))
    if without and not databases:
        raise SignersMistaken(f"{limits[0]!r} takes a database out of none: write {OF_DATABASE}* before it")
    return Principals(person=person, databases=databases, without=without)


def _canonical(person: str) -> str:
    """The name by which people are distinguished.

    Raises:
        SignersMistaken: it may look like another one.
    """
    try:
        return canonical_name(person)
    except NameUnclear as error:
        raise SignersMistaken(f"{error}: {error.advice}") from error


def _database_of(limit: str) -> str | None:
    """The pattern of databases that a limit names; None where it names none."""
    pattern = limit.removeprefix(OF_DATABASE)
    return pattern if pattern != limit and _PATTERN_OF_DATABASES.fullmatch(pattern) else None


def _cut(text: str) -> tuple[str, str]:
    """The first word, quotation marks included, and what follows it."""
    found = _WORD.match(text)
    if found is None:
        raise SignersMistaken("a quotation mark is not closed" if '"' in text else "the public key is missing")
    return found[0], text[found.end() :].lstrip(" \t")


def _unquote(word: str) -> str:
    return word[1:-1] if len(word) > 1 and word[0] == word[-1] == '"' else word


def _cut_options(text: str) -> tuple[dict[str, str], str]:
    """What stands between the principals and the key."""
    word, rest = _cut(text)
    found: dict[str, str] = {}
    at = 0
    while at < len(word):
        match = _OPTION.match(word, at)
        name, value = ("", "") if match is None else (match[1].lower(), match[2] or "")
        if match is None or name not in _VALUES or _VALUES[name].fullmatch(value) is None:
            raise SignersMistaken(f"{word[at:]!r} is no option of ssh-keygen(1), or has no value that it could have")
        if name in found:
            raise SignersMistaken(f"{name} is said twice")
        found[name], at = value, match.end()
    return found, rest


def _key_of(text: str) -> tuple[str, str]:
    key_type, behind = _cut(text)
    key, _ = _cut(behind)
    if not (_KEY_TYPE.fullmatch(key_type) and _BLOB.fullmatch(key)):
        raise SignersMistaken("the public key is missing: KEY-TYPE and KEY, as in its .pub file")
    return key_type, key


def _compare_keys(signers: Sequence[AllowedSigner]) -> None:
    """Let no line say of a key what another one does not: ssh-keygen takes whichever fits.

    Raises:
        SignersMistaken: a key is of two people, or limited in one line and not in another.
    """
    first: dict[str, AllowedSigner] = {}
    for signer in signers:
        other = first.setdefault(signer.key, signer)
        if other.person != signer.person and _canonical(other.person) != _canonical(signer.person):
            raise SignersMistaken(
                f"line {signer.line}: {signer.person} has the key of {other.person} in line {other.line}"
            )
        if other.principals.limited != signer.principals.limited:
            raise SignersMistaken(
                f"line {signer.line}: the key of line {other.line}, but only one of the two limits it to databases"
            )


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
        """Check that only root can have written the file, and that each line of it says what it seems to say.

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
        name that the caller gives proves nothing.

        Raises:
            SignatureInvalid: no key in the file has made it.
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
