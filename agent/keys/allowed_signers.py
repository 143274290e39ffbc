"""The file of allowed signers, line by line, as ssh-keygen(1) reads it ("ALLOWED SIGNERS") and as we narrow it.

A line is ``PRINCIPALS [OPTIONS] KEY-TYPE KEY [COMMENT]``. ssh-keygen takes any list of patterns as principals; here the
first one is a person, and each other one a limit to some databases, by a pattern::

    anna ssh-ed25519 AAAA...
    anna,database:shop,database:crm_*,!database:crm_old namespaces="hotplace-approval" ssh-ed25519 AAAA...

What is neither is a mistake. ssh-keygen would let ``Database:shop`` pass as one more name of a person whom nothing
limits.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from agent.keys.people import NameUnclear, canonical_name

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
        """The person, as people are counted; of an authority it is a pattern, which is nobody's name."""
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
        principals = parse_principals(_unquoted(names), authority=AUTHORITY in options)
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
    """The name as people are told apart by it.

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


def _unquoted(word: str) -> str:
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
