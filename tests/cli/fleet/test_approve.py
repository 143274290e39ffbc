"""Several proposals with one decision, as a person at the terminal meets them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from agent.ledger.ledger import Ledger
from agent.model.signed_documents import NAMESPACE
from tests.cli.site import Site
from tests.keys import Person
from tests.ledger.clock import StillClock
from tests.ledger.fleet import proposed


@pytest.fixture
def numbers(site: Site) -> Iterator[list[str]]:
    """Proposals for two databases of other machines."""
    now = datetime.now(UTC)
    with Ledger.open(site.ledger_path, StillClock(now), actor="another machine") as ledger:
        end = now + timedelta(days=1)
        yield [str(proposed(ledger, name, created_at=now, expires_at=end)) for name in ("crm", "wiki")]


def test_plain_approval_and_stop(site: Site, numbers: list[str]) -> None:
    """Without a terminal it wants the digest of the list or --yes; stop cancels by that digest."""
    elsewhere = site.run("approve", numbers[0], "--yes")
    assert (elsewhere.code, "--all approves it from here" in elsewhere.err) == (3, True)
    refused = site.run("approve", "--all", *numbers)
    assert (refused.code, "--digest" in refused.err) == (6, True)
    assert site.run("approve", "--all", *numbers, "--digest", "0" * 12).code == 6
    assert site.run("approve", "--all", numbers[0], "--canary", numbers[1], "--yes").code == 6
    done = site.good("approve", "--all", *numbers, "--canary", numbers[1], "--yes", "--json").document
    assert [(each["wave"], each["database"]) for each in done["proposals"]] == [(2, "crm"), (1, "wiki")]
    assert (done["state"], done["missing"]) == ("approved", 0)
    said = site.good("cancel", "--digest", done["list"][:12], "--reason", "month end", "--json").document
    assert [each["database"] for each in said["cancelled"]] == ["crm", "wiki"]
    assert "0 moves cancelled" in site.good("cancel", "--digest", done["list"], "--reason", "").out
    assert site.run("cancel", "--digest", "1" * 12, "--reason", "").code != 0
    assert site.run("cancel", "3", "--digest", done["list"]).code == 2


def test_print_sign_and_approve(site: Site, numbers: list[str], tmp_path: Path) -> None:
    """The list is all that standard output holds; two people sign it, the second one approves all of it."""
    anna, bert = (Person.new(site.folder, name) for name in ("anna", "bert"))
    allowed = site.folder / "allowed_signers"
    allowed.write_text(anna.line + bert.line)
    site.values |= {"approval": "signed", "allowed_signers": str(allowed), "approvals": 2}
    site.write()
    printed = site.good("approve", "--all", *numbers, "--canary", numbers[0])
    assert printed.out.startswith("hotplace approval list 1\nledger: ")
    assert "2 wave: 2\n2 database: wiki\n" in printed.out
    assert f"ssh-keygen -Y sign -n {NAMESPACE}" in printed.err
    assert f"hotplace approve --all {' '.join(numbers)} --canary {numbers[0]} --signature FILE.sig" in printed.err
    command = ("approve", "--all", *numbers, "--canary", numbers[0])
    document = site.good(*command, "--json").document
    assert (document["document"], document["needed"], document["signed_by"]) == (printed.out, 2, [])
    signature = tmp_path / "list.sig"
    signature.write_text(anna.sign(printed.out))
    assert "1 of 2 signatures are missing" in site.good(*command, "--signature", str(signature)).out
    assert "signed by anna; 2 signatures are needed" in site.good(*command).err
    signature.write_text(bert.sign(printed.out))
    approved = site.good(*command, "--signature", str(signature))
    assert "2 proposals are approved by anna, bert" in approved.out
    assert "a later wave begins once" in approved.out
