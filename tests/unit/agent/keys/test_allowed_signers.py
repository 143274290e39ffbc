"""Each line of the file of allowed signers says what it seems to say, or no signature counts."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.model.signatures import (
    Principals,
    SignatureInvalid,
    Signers,
    SignersMistaken,
    parse_allowed_signers,
    parse_principals,
)
from tests.keys import Person
from tests.over import over
from tests.unit.agent.keys.test_signers import DOCUMENT

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIA"
OTHER_KEY = "sk-ssh-ed25519@openssh.com AAAAGnNrLXNzaC1lZDI1NTE5"


def test_a_file_is_read_as_it_is_meant() -> None:
    """Comments, blanks, options in any order, quotation marks, several keys of a person, comments of keys."""
    text = (
        f"# people\n\n \tanna\t{KEY} anna@home\r\n"
        f'"bert,database:shop,!database:shop_old" valid-before="20300101",namespaces="a b,c" {OTHER_KEY}\n'
        f"*@example.com CERT-AUTHORITY ecdsa-sha2-nistp256 AAAAE2Vj ca\nanna {KEY}AA\n"
    )
    anna, bert, authority, again = parse_allowed_signers(text)
    assert (anna.line, anna.person, anna.options, anna.key) == (3, "anna", {}, KEY.split()[1])
    assert bert.principals == Principals(person="bert", databases=("shop",), without=("shop_old",))
    assert bert.options == {"valid-before": "20300101", "namespaces": "a b,c"}
    assert str(bert.principals) == "bert (database:shop, !database:shop_old)"
    assert (authority.person, authority.options) == ("*@example.com", {"cert-authority": ""})
    assert [signer.principals.limited for signer in (anna, bert, authority, again)] == [False, True, False, False]


@over(
    ("line", "why"),
    [
        (f"anna,Database:shop {KEY}", "'Database:shop' is no limit"),
        (f"anna,databse:shop {KEY}", "'databse:shop' is no limit"),
        (f"anna,database {KEY}", "'database' is no limit"),
        (f"anna,database: {KEY}", "'database:' is no limit"),
        (f"anna, database:shop {KEY}", "'database:shop' is no option"),
        (f"anna,,database:shop {KEY}", "'' is no limit"),
        (f"anna,bert {KEY}", "'bert' is no limit"),
        (f"anna,!bert {KEY}", "'!bert' is no limit"),
        (f"anna,!!database:shop,database:* {KEY}", "'!!database:shop' is no limit"),
        (f"anna,!database:prod {KEY}", "'!database:prod' takes a database out of none"),
        (f"database:shop,anna {KEY}", "'database:shop' is not the name of a person"),
        (f"!anna {KEY}", "'!anna' is not the name"), (f"* {KEY}", "'*' is not the name"),
        (f"ann? {KEY}", "'ann?' is not the name"), (f'"" {KEY}', "'' is not the name"),
        (f'"anna smith" {KEY}', "'anna smith' is not the name"),
        (f'"anna {KEY}', "quotation mark is not closed"),
        (f"anna,database:shop cert-authority {KEY}", "'database:shop' limits an authority"),
        (f'anna namespace="hotplace-approval" {KEY}', "no option"),
        (f'anna valid-before="2030-01-01" {KEY}', "no option"),
        (f"anna valid-before=20300101 {KEY}", "no option"), (f"anna cert-authority=\"no\" {KEY}", "no option"),
        (f'anna namespaces="" {KEY}', "no option"), (f'anna namespaces="a",namespaces="b" {KEY}', "said twice"),
        ("anna", "public key is missing"), ("anna ssh-ed25519", "public key is missing"),
        ("anna ssh-ed25519 ????", "public key is missing"), ("anna AAAAC3NzaC1lZDI1NTE5", "no option"),
    ],
)  # fmt: skip
def test_what_is_no_line_is_an_error(line: str, why: str) -> None:
    """By its number, whatever the lines around it say; ssh-keygen takes most of these for a person without limits."""
    with pytest.raises(SignersMistaken) as caught:
        parse_allowed_signers(f"carl {OTHER_KEY}\n{line}\n")
    assert str(caught.value).startswith("line 2: ")
    assert why in str(caught.value)


@pytest.mark.parametrize(
    ("first", "second", "why"),
    [
        ("anna", "bert", "line 2: bert has the key of anna in line 1"),
        ("anna,database:shop", "anna", "only one of the two limits it"),
        ('anna valid-before="20200101"', "anna,database:shop", "only one of the two limits it"),
    ],
)
def test_two_lines_of_one_key_agree(first: str, second: str, why: str) -> None:
    """Of several ssh-keygen takes whichever fits, so the weakest would count."""
    with pytest.raises(SignersMistaken, match=why):
        parse_allowed_signers(f"{first} {KEY}\n{second} {KEY}")
    assert len(parse_allowed_signers(f"anna,database:shop {KEY}\nanna,database:crm {KEY}")) == 2


def test_one_mistake_stops_all_signatures(tmp_path: Path) -> None:
    """What a line was to limit is not known, so no line counts until it is mended; the message says which."""
    anna, path = Person.new(tmp_path, "anna"), tmp_path / "allowed_signers"
    path.write_text(anna.line)
    signature = anna.sign(DOCUMENT.text)
    assert Signers(path).verify(DOCUMENT, signature).who == "anna"
    path.write_text(f"{anna.line}bert,Database:shop {KEY}\n")
    with pytest.raises(SignatureInvalid, match=r"is mistaken, so no signature counts: line 2: 'Database:shop'"):
        Signers(path).verify(DOCUMENT, signature)
    path.write_bytes(b"\xff")
    with pytest.raises(SignatureInvalid, match="is mistaken"):
        Signers(path).verify(DOCUMENT, signature)


@pytest.mark.parametrize(("limits", "may"), [("database:*,!database:main", False), ("database:m*,!database:crm", True)])
def test_a_database_is_taken_out_of_others(tmp_path: Path, limits: str, may: bool) -> None:
    """A limit with an exclamation mark, as ssh-keygen reads patterns."""
    anna, path = Person.new(tmp_path, "anna"), tmp_path / "allowed_signers"
    path.write_text(anna.line.replace("anna", f"anna,{limits}", 1))
    signature = anna.sign(DOCUMENT.text)
    if may:
        assert Signers(path).verify(DOCUMENT, signature).who == "anna"
    else:
        with pytest.raises(SignatureInvalid, match=r"by anna \(database:\*, !database:main\) does not fit"):
            Signers(path).verify(DOCUMENT, signature)


WORDS = st.sampled_from(
    [
        "anna",
        "bert",
        "database:shop",
        "database:*",
        "!database:shop",
        "Database:shop",
        "!anna",
        "*",
        "",
        "a b",
        '"',
        "#",
    ]
)


@pytest.fixture(scope="module")
def carl(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, str]:
    """A file to fill, a public key, and a file with a signature by it."""
    folder = tmp_path_factory.mktemp("carl")
    person = Person.new(folder, "carl")
    (folder / "signature").write_text(person.sign("text"))
    return folder / "allowed_signers", person.line.partition(" ")[2], str(folder / "signature")


@given(names=st.lists(WORDS, min_size=1, max_size=4).map(",".join), quoted=st.booleans())
def test_whom_we_read_is_whom_openssh_reads(carl: tuple[Path, str, str], names: str, quoted: bool) -> None:
    """A line that is accepted has for ssh-keygen just the principals that it has for us."""
    path, key, signature = carl
    line = f'"{names}" {key}' if quoted else f"{names} {key}"
    try:
        (signer,) = parse_allowed_signers(line)
    except ValueError:  # refused, or a comment
        return
    path.write_text(line)
    command = ["ssh-keygen", "-Y", "find-principals", "-f", str(path), "-s", signature]
    found = subprocess.run(command, capture_output=True, text=True, check=False).stdout.splitlines()
    assert parse_principals(",".join(found)) == signer.principals
