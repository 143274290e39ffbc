"""Signed approvals as a person at the terminal meets them."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.keys import NAMESPACE
from tests.cli.site import Site
from tests.keys import Person


@pytest.fixture
def anna(site: Site) -> Person:
    """She may sign; the site wants one signature."""
    person = Person.new(site.folder, "anna")
    allowed = site.folder / "allowed_signers"
    allowed.write_text(person.line)
    site.values |= {"approval": "signed", "allowed_signers": str(allowed)}
    site.write()
    return person


def test_print_sign_and_approve(site: Site, anna: Person, tmp_path: Path) -> None:
    """The document is all that standard output holds; its signature approves, under the signer's name."""
    number, digest = site.propose()
    printed = site.good("approve", str(number))
    assert printed.out.startswith("hotplace approval 1\n")
    assert f"digest: {digest}" in printed.out
    assert f"ssh-keygen -Y sign -n {NAMESPACE}" in printed.err
    document = site.good("approve", str(number), "--json").document
    assert (document["document"], document["needed"], document["signed_by"]) == (printed.out, 1, [])
    assert site.good("show", str(number), "--json").document["state"] == "proposed"
    signature = tmp_path / "approval.txt.sig"
    signature.write_text(anna.sign(printed.out))
    approved = site.good("approve", str(number), "--signature", str(signature), "--json").document
    assert (approved["state"], approved["who"]) == ("approved", "anna")


def test_what_does_not_approve(site: Site, anna: Person, tmp_path: Path) -> None:
    """A digest or --yes alone prints the document; a signature by a stranger, or over something else, is refused."""
    number, digest = site.propose()
    for options in (["--digest", digest], ["--yes"]):
        assert site.good("approve", str(number), *options).out.startswith("hotplace approval 1\n")
    text = site.good("approve", str(number)).out
    signature = tmp_path / "sig"
    for armored in (Person.new(tmp_path, "bert").sign(text), anna.sign(text + "x"), anna.sign(text, "file"), "no"):
        signature.write_text(armored)
        assert site.run("approve", str(number), "--signature", str(signature)).code == 6
    missing = site.run("approve", str(number), "--signature", str(tmp_path / "nowhere"))
    assert (missing.code, "cannot be read" in missing.err) == (2, True)
    assert site.good("show", str(number), "--json").document["state"] == "proposed"


def test_conditions_on_the_command_line(site: Site) -> None:
    """They are said, stored, and refused where they are no size, time or duration."""
    number, digest = site.propose()
    for option, wrong in (("--at-most", "much"), ("--not-after", "yesterday"), ("--gain-at-least", "5 apples")):
        refused = site.run("approve", str(number), "--digest", digest, option, wrong)
        assert (refused.code, option in refused.err) == (2, True)
    options = ["--at-most", "50GB", "--not-after", "6h", "--gain-at-least", "1s"]
    done = site.good("approve", str(number), "--digest", digest, *options, "--json").document
    assert done["conditions"]["most_bytes"] == 50_000_000_000
    assert set(done["conditions"]) == {"most_bytes", "not_after", "least_gain_per_hour"}


def test_the_doctor_says_what_an_approval_proves(site: Site, anna: Person) -> None:
    """Signed, with a file that is safe; a file that anybody may write is an error; plain is said plainly."""

    def finding() -> tuple[str, str]:
        findings = site.run("doctor", "--json").document["databases"][0]["findings"]
        (found,) = [each for each in findings if each["code"] == "approval"]
        return found["severity"], found["sentence"]

    assert finding()[0] == "ok"
    (site.folder / "allowed_signers").chmod(0o666)
    assert finding()[0] == "error"
    site.values["approval"] = "plain"
    site.write()
    assert finding()[0] == "info"
    assert "can approve" in finding()[1]
