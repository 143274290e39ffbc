"""A signature counts only if an allowed signer made it over just this document, for this purpose."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from agent.model.signatures import SignatureInvalid, Signers
from agent.model.signed_documents import ApprovalDocument, ApprovalList, ListedApproval, RuleDocument
from tests.keys import Person

DOCUMENT = ApprovalDocument(
    ledger="a" * 64, database="main", fingerprint="cluster 1", proposal=3, digest="b" * 64, moves=(1, 2),
    conditions="{}",    expires_at=datetime(2026, 3, 1, 12, tzinfo=UTC), sequence=9,
)  # fmt: skip


@pytest.fixture(scope="module")
def anna(tmp_path_factory: pytest.TempPathFactory) -> Person:
    """Allowed to sign."""
    return Person.new(tmp_path_factory.mktemp("anna"), "anna")


@pytest.fixture
def signers(tmp_path: Path, anna: Person) -> Signers:
    """Anna and nobody else."""
    path = tmp_path / "allowed_signers"
    path.write_text(anna.line)
    return Signers(path)


def test_who_signed_is_found(signers: Signers, anna: Person) -> None:
    """By the key, which the file gives a name."""
    signature = signers.verify(DOCUMENT, anna.sign(DOCUMENT.text))
    assert signature.who == "anna"
    assert signature.key.startswith("SHA256:")


CHANGES: tuple[dict[str, object], ...] = (
    {"ledger": "c" * 64}, {"database": "other"}, {"fingerprint": "cluster 2"}, {"proposal": 4}, {"digest": "c" * 64},
    {"moves": (1,)}, {"conditions": '{"most_bytes": 1}'}, {"sequence": 8},
    {"expires_at": datetime(2026, 3, 2, 12, tzinfo=UTC)},
)  # fmt: skip


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: next(iter(change)))
def test_each_fact_is_signed(signers: Signers, anna: Person, change: dict[str, object]) -> None:
    """A signature over a document that differs in one of them does not fit."""
    other = replace(DOCUMENT, **change)  # type: ignore[arg-type]  # one field of any type
    with pytest.raises(SignatureInvalid, match=r"by anna does not fit this document"):
        signers.verify(DOCUMENT, anna.sign(other.text))


@pytest.mark.parametrize(
    ("principals", "databases"),
    [("anna,database:main", ["main"]), ("anna,database:m*,database:crm", ["main", "m2", "crm"]), ("anna", ["any"])],
)
def test_a_key_may_count_for_some_databases_only(
    signers: Signers, anna: Person, principals: str, databases: list[str]
) -> None:
    """Those that its line names as principals, by patterns; without any of them it counts for all."""
    signers.path.write_text(anna.line.replace("anna", principals, 1))
    for name in databases:
        document = replace(DOCUMENT, database=name)
        assert signers.verify(document, anna.sign(document.text)).who == "anna"
    if principals != "anna":
        other = replace(DOCUMENT, database="hr")
        with pytest.raises(SignatureInvalid, match=r"by anna \(database:m.*\) does not fit"):
            signers.verify(other, anna.sign(other.text))


def test_a_list_needs_all_of_its_databases(signers: Signers, anna: Person) -> None:
    """A key that counts for one of them signs no list that has another one too."""
    signers.path.write_text(anna.line.replace("anna", "anna,database:main,database:crm", 1))
    members = [ListedApproval(document=replace(DOCUMENT, database=name), wave=1) for name in ("main", "crm", "hr")]
    allowed = ApprovalList(ledger=DOCUMENT.ledger, members=tuple(members[:2]))
    assert signers.verify(allowed, anna.sign(allowed.text)).who == "anna"
    beyond = ApprovalList(ledger=DOCUMENT.ledger, members=tuple(members))
    with pytest.raises(SignatureInvalid, match="does not fit"):
        signers.verify(beyond, anna.sign(beyond.text))


def test_a_name_cannot_pass_for_another_line() -> None:
    """Line breaks in names are escaped; the same instant in another zone is the same document."""
    trick = replace(DOCUMENT, database="main\nproposal: 4")
    assert len(trick.text.splitlines()) == len(DOCUMENT.text.splitlines())
    there = DOCUMENT.expires_at.astimezone(timezone(timedelta(hours=5)))
    assert replace(DOCUMENT, expires_at=there).text == DOCUMENT.text


def test_each_kind_of_document_says_what_it_is() -> None:
    """In its first line: an approval, a list of them and a rule begin alike in nothing that a person reads first."""
    one = ListedApproval(document=DOCUMENT, wave=1)
    rule = RuleDocument(ledger=DOCUMENT.ledger, database="main", fingerprint="cluster 1", rule=1, limits={}, sequence=9)
    documents = (DOCUMENT, ApprovalList(ledger=DOCUMENT.ledger, members=(one,)), rule)
    assert [each.text.splitlines()[0] for each in documents] == [
        "hotplace approval 1", "hotplace approval list 1", "hotplace standing rule 1",
    ]  # fmt: skip


def test_another_purpose_does_not_count(signers: Signers, anna: Person) -> None:
    """As a signature over a commit or a file."""
    with pytest.raises(SignatureInvalid):
        signers.verify(DOCUMENT, anna.sign(DOCUMENT.text, namespace="git"))


def test_other_people_may_not_sign(signers: Signers, tmp_path: Path) -> None:
    """A key that is not in the file, and what is no signature at all."""
    bert = Person.new(tmp_path, "bert")
    with pytest.raises(SignatureInvalid, match=r"no key in .* has made this signature"):
        signers.verify(DOCUMENT, bert.sign(DOCUMENT.text))
    for nonsense in ("", "hello", "x" * 100_000):
        with pytest.raises(SignatureInvalid):
            signers.verify(DOCUMENT, nonsense)


def test_a_key_that_is_no_longer_allowed(signers: Signers, anna: Person) -> None:
    """The file is read for each check; its own options hold."""
    signature = anna.sign(DOCUMENT.text)
    signers.path.write_text(anna.line.replace("anna ", 'anna valid-before="20200101" ', 1))
    with pytest.raises(SignatureInvalid):
        signers.verify(DOCUMENT, signature)
    signers.path.unlink()
    with pytest.raises(SignatureInvalid, match=r"cannot be read"):
        signers.verify(DOCUMENT, signature)


def test_a_file_that_others_may_write_proves_nothing(signers: Signers, anna: Person) -> None:
    """Whoever runs hotplace could add a key of his own."""
    signers.path.chmod(0o666)
    with pytest.raises(SignatureInvalid, match=r"so it proves nothing"):
        signers.verify(DOCUMENT, anna.sign(DOCUMENT.text))


@contextmanager
def as_user(uid: int) -> Iterator[None]:
    """With the rights of another user than root."""
    os.seteuid(uid)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def deep(tmp_path: Path, anna: Person) -> Signers:
    """Two folders below one that everybody may search."""
    for folder in (tmp_path, *tmp_path.parents[:3]):
        folder.chmod(folder.stat().st_mode | 0o055)
    path = tmp_path / "outer" / "inner" / "allowed_signers"
    path.parent.mkdir(parents=True)
    path.write_text(anna.line)
    for each, mode in ((path, 0o644), (path.parent, 0o755), (path.parent.parent, 0o755)):
        each.chmod(mode)  # whatever the umask is
    return Signers(path)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
@pytest.mark.parametrize("user", [0, 12345])
@pytest.mark.parametrize("level", [0, 1, 2])
def test_a_file_that_is_not_roots_proves_nothing(deep: Signers, anna: Person, level: int, user: int) -> None:
    """It or a folder above it is of whoever runs hotplace, of a stranger, or such that everybody may write it."""
    place = (deep.path, *deep.path.parents)[level]
    with as_user(user):
        deep.check_file()
    for owner in (12345, 23456):
        os.chown(place, owner, owner)
        with as_user(user), pytest.raises(SignatureInvalid, match=rf"so it proves nothing: {place} belongs to"):
            deep.check_file()
    with pytest.raises(SignatureInvalid, match=r"so it proves nothing"):
        deep.verify(DOCUMENT, anna.sign(DOCUMENT.text))
    os.chown(place, 0, 0)
    place.chmod(place.stat().st_mode | 0o002)
    with as_user(user), pytest.raises(SignatureInvalid, match=rf"so it proves nothing: {place} can be written by"):
        deep.check_file()
