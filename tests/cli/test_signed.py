"""Signed approvals as a person at the terminal meets them."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.model.signed_documents import NAMESPACE, RULE_NAMESPACE
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


def test_what_lacks_a_signature_is_told_where_it_is_left_out(site: Site, anna: Person) -> None:
    """Approved while approvals were plain: one cycle sends nothing of it, and says so, also as JSON."""
    assert anna.line
    site.values["approval"] = "plain"
    site.write()
    number, digest = site.propose()
    site.good("approve", str(number), "--digest", digest)
    site.values["approval"] = "signed"
    site.write()
    done = site.good("run", "--once")
    assert f"cannot be trusted about proposal {number}" in " ".join(done.out.split())
    assert "next: hotplace audit verify; what lacks a signature: hotplace strike" in " ".join(done.out.split())
    (found,) = site.good("run", "--once", "--json").document["databases"]
    assert f"about proposal {number}" in found["status"]["untrusted"]


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


RULE = ["--units", "*", "--at-most", "1TB", "--locks", "any", "--stall", "1h", "--gain-at-least", "0s", "--a-day", "3",
        "--until", "30d"]  # fmt: skip
OVER_A_TABLE = ["--table", "public.orders", "--at-most", "1TB", "--stall", "1h", "--a-day", "3", "--until", "30d"]


@pytest.mark.parametrize(
    ("given", "option"),
    [
        (RULE[2:], "--units"),
        ([*RULE, "--to", "ssd"], "--to"),
        ([*RULE, "--table", "public.orders"], "--units"),
        ([*OVER_A_TABLE, "--aged", "30d"], "--to"),
        ([*OVER_A_TABLE, "--to", "hdd"], "--table"),
        ([*OVER_A_TABLE, "--to", "hdd", "--ahead", "1d", "--aged", "30d"], "--table"),
        ([*OVER_A_TABLE, "--to", "hdd", "--aged", "30d", "--mode", "hsm"], "--mode"),
        ([*OVER_A_TABLE, "--to", "hdd", "--aged", "soon"], "--aged"),
    ],
)
def test_a_rule_is_for_units_or_over_a_table(site: Site, given: list[str], option: str) -> None:
    """What is missing for the one, or belongs to the other, is wrong use that names its option; nothing is proposed."""
    refused = site.run("rules", "propose", *given)
    assert (refused.code, option in refused.err) == (2, True)
    assert site.good("rules", "list", "--json").document["rules"] == []


def test_a_standing_rule_from_its_proposal_to_its_end(site: Site, anna: Person, tmp_path: Path) -> None:
    """Proposed, printed, signed, shown, closed; each command says what comes next, also as JSON."""
    site.values["level"] = "auto"
    site.write()
    assert site.good("rules", "list").out.startswith("no standing rule")
    made = site.good("rules", "propose", *RULE, "--window", "sat 22:00-05:00", "--json").document
    assert (made["rule"], made["state"], made["limits"]["units"]) == (1, "proposed", ["*"])
    printed = site.good("rules", "open", "1")
    assert printed.out.startswith("hotplace standing rule 1\n")
    assert f"ssh-keygen -Y sign -n {RULE_NAMESPACE}" in printed.err
    assert site.good("rules", "open", "1", "--json").document["document"] == printed.out
    signature = tmp_path / "rule.txt.sig"
    signature.write_text(anna.sign(printed.out))  # for another purpose
    assert site.run("rules", "open", "1", "--signature", str(signature)).code == 6
    signature.write_text(anna.sign(printed.out, RULE_NAMESPACE))
    assert "is open until" in site.good("rules", "open", "1", "--signature", str(signature)).out
    number, _ = site.propose()
    shown = site.good("rules", "show", "1")
    assert f"proposal {number} waits: the rule covers it, at level auto" in shown.out
    assert "signed by: anna" in shown.out
    listed = site.good("rules", "list", "--json").document
    assert [(each["rule"], each["state"]) for each in listed["rules"]] == [(1, "open")]
    signers = site.folder / "allowed_signers"
    before = signers.read_text()
    signers.write_text("".join(f"# {line}\n" for line in before.splitlines()))  # her key counts no more
    for said in (site.good("rules", "list").out, site.good("rules", "show", "1").out):
        assert "has 0 of the 1 signatures that it needs" in said
    signers.write_text(before)
    closed = site.good("rules", "close", "1", "--reason", "month end", "--json").document
    assert (closed["state"], "month end" in closed["reason"]) == ("closed", True)
    assert "month end" in site.good("rules", "show", "1").out


ROLL = ("--at-most", "1GB", "--stall", "1s", "--a-day", "1", "--until", "30d")


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["show", "9"], 7),
        (["open", "9"], 7),
        (["close", "9"], 7),
        (["propose", *RULE, "--mode", "undo 3"], 2),
        (["propose", *RULE, "--window", "whenever"], 2),
        (["propose", *RULE[:-1], "2001-01-01"], 2),
        (["propose", "--units", "*"], 2),
        (["propose", "--table", "public.orders", "--to", "ssd", "--ahead", "1d", *ROLL], 6),
        (["propose", "--table", "public.orders", "--to", "ssd", "--ahead", "1d", "--aged", "1d", *ROLL], 2),
    ],
    ids=lambda value: str(value)[:40],
)
def test_rules_that_are_none(site: Site, anna: Person, arguments: list[str], code: int) -> None:
    """A number that no rule has, a mode, window or end that is none, a missing limit, an engine without templates."""
    assert site.run("rules", *arguments).code == code


def test_level_auto_wants_signatures(site: Site) -> None:
    """With plain approvals any process of the user could write itself a rule."""
    site.values["level"] = "auto"
    site.write()
    done = site.run("status")
    assert (done.code, "approval: signed" in done.err) == (3, True)
