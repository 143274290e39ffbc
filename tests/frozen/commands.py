"""Every command on three simulated databases over a life of some hours: its document, and its text at two widths.

The life is lived twice, for documents and for texts. Its time is virtual, its worlds are drawn from a seed. What only
looks is printed at both widths, what changes something at the narrow one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from agent.model.signed_documents import NAMESPACE, RULE_NAMESPACE
from tests.assess.test_assessing import TOLD
from tests.assess.written_reports import write
from tests.cli.site import Site
from tests.frozen.kept import Frozen
from tests.frozen.rounding import written
from tests.frozen.served import metrics_and_answers
from tests.frozen.standing_still import SHOWN, folder, standing_still
from tests.keys import Person
from tests.virtual_clock import VirtualClock

NARROW, WIDE = "80", "200"
PRICES = ("--price", "ram=30", "--price", "ssd=2.4", "--price", "hdd=0.3", "--drive-size", "ssd=1 TiB",
          "--drive-iops", "ssd=40960", "--drive-size", "hdd=4 TiB", "--drive-iops", "hdd=180")  # fmt: skip
CYCLES_APART_SECONDS = 1200.0
RULE = ("--units", "*", "--at-most", "1TB", "--locks", "any", "--stall", "1h", "--gain-at-least", "0s", "--a-day", "3",
        "--until", "30d", "--window", "sat 22:00-05:00")  # fmt: skip


@dataclass(slots=True)
class Life:
    """A site, and what each command printed there."""

    site: Site
    clock: VirtualClock
    as_json: bool
    printed: dict[str, str] = field(default_factory=dict)
    approved: str = ""  # number of the proposal whose moves ran

    def look(self, name: str, *arguments: str, code: int = 0, of: str = "shop") -> None:
        """Run a command that changes nothing, at both widths; arguments as ``do``."""
        self.do(name, *arguments, code=code, of=of)
        if not self.as_json:
            with pytest.MonkeyPatch.context() as patch:
                patch.setenv("COLUMNS", WIDE)
                self.do(f"{name} wide", *arguments, code=code, of=of)

    def do(self, name: str, *arguments: str, code: int = 0, of: str = "shop") -> str:
        """Run a command and keep what it printed.

        Args:
            name: of what is kept.
            arguments: its command line.
            code: how it has to end.
            of: the database; "": not said.

        Returns:
            Standard output as it was.
        """
        arguments = (*arguments, *(["--database", of] if of else []))
        done = self.site.run(*arguments, *(["--json"] if self.as_json else []))
        assert done.code == code, (arguments, done)
        end = f"-- exit code {code}" if code else ""
        said = f"-- standard error\n{done.err}" if done.err else ""
        lines = (each.rstrip("\n") for each in (f"$ hotplace {' '.join(arguments)}", done.out, said, end) if each)
        assert name not in self.printed, name
        self.printed[name] = scrubbed("\n".join(lines) + "\n", self.site.folder)
        return done.out

    def know(self, *arguments: str, of: str = "shop") -> dict[str, Any]:
        """The document of a command that has to end well; not kept."""
        return self.site.good(*arguments, "--json", "--database", of).document

    def open_proposal(self, of: str = "shop") -> int:
        """Number of the newest proposal that waits for a decision."""
        return max(int(each["id"]) for each in self.know("proposals", "--state", "proposed", of=of)["proposals"])

    def digest(self, number: str, of: str = "shop") -> str:
        """What an approval of the proposal has to name."""
        return str(self.know("show", number, of=of)["digest"])[:12]

    def go_on(self) -> None:
        """Let time pass, and then a cycle of the busy database."""
        self.clock.sleep(CYCLES_APART_SECONDS)
        self.site.good("run", "--once", "--database", "shop")

    @contextmanager
    def configured(self, **more: Any) -> Iterator[None]:
        """Within, the configuration says more."""
        before = dict(self.site.values)
        self.site.values |= more
        self.site.write()
        yield
        self.site.values = before
        self.site.write()


def scrubbed(text: str, of: Path) -> str:
    """The text without the name of the folder, without versions, and with digests by their order of appearance.

    Digests go over figures to the last bit, which another processor computes otherwise; ``routes`` has some that stay.
    """
    text = text.replace(str(of), SHOWN)
    text = re.sub(r"\b(Python|SQLite) \d+\.\d+(\.\d+)?", r"\1 N", text)
    text = re.sub(r"hotplace \d+\.\d+\.\d+", "hotplace N", text)
    seen: dict[str, int] = {}

    def number(found: re.Match[str]) -> str:
        at = seen.setdefault(found[0][:12], len(seen) + 1)
        return f"d19e57{at:06}".ljust(len(found[0]), "0")

    return re.sub(r"\b(?=[0-9]*[a-f])(?:[0-9a-f]{64}|[0-9a-f]{12})\b", number, text)


@contextmanager
def beginning(*, as_json: bool) -> Iterator[Life]:
    """A site with a configuration and no ledger, ready to run commands in that form."""
    terminal = {} if as_json else {"COLUMNS": NARROW, "TTY_COMPATIBLE": "1"}
    with standing_still(**terminal) as clock, folder() as place:
        site = Site(place, _database("shop", "oltp", 3, "20min"))
        site.values["databases"] += [
            _database("archive", "eight_tables", 5, "0s"),
            _database("crm", "eight_tables", 7, "0s"),
        ]
        site.write()
        yield Life(site, clock, as_json)


def _database(name: str, scenario: str, seed: int, history: str) -> dict[str, Any]:
    return {
        "name": name,
        "engine": "simulated",
        "connection": {"scenario": scenario, "seed": seed},
        "tiers": [
            {"name": "ssd", "kind": "ssd", "spaces": ["ssd"]},
            {"name": "hdd", "kind": "hdd", "spaces": ["hdd"]},
        ],
        "sample_every": "10min",
        "settle": "5min",
        "proposal_expires": "12h",
        "policy": {"minimum_history": history, "maximum_moves": 3},
    }


def texts() -> Frozen:
    """What people read: whole at the narrow width, as hashes at the wide one and where it is a file."""
    with beginning(as_json=False) as life:
        live(life)
    printed = life.printed
    whole = {name: text for name, text in printed.items() if not name.endswith((" wide", ".html", ".svg"))}
    return Frozen(whole, {name: text for name, text in printed.items() if name not in whole})


def documents() -> Frozen:
    """What programs read: a hash of each document and of each of its parts; then what a daemon there serves."""
    with beginning(as_json=True) as life:
        live(life)
        whole, served = metrics_and_answers(life.site, life.clock)
        of_folder = life.site.folder
    hashed = {part: text for name, printed in life.printed.items() for part, text in _parts(name, printed)}
    hashed |= {name: scrubbed(text, of_folder) for name, text in served.items()}
    return Frozen({name: scrubbed(text, of_folder) for name, text in whole.items()}, hashed)


def _parts(name: str, text: str) -> Iterator[tuple[str, str]]:
    """What was printed, and each part of the document in it by itself."""
    command, _, rest = text.partition("\n")
    if not rest.startswith("{"):
        yield name, text
        return
    document, end = json.JSONDecoder().raw_decode(rest)
    yield name, f"{command}\n{written(document)}{rest[end:]}"
    yield from ((f"{name}: {key}", written(value)) for key, value in document.items())


def live(life: Life) -> None:
    """The whole life, in the order in which an operator meets it."""
    _set_up(life)
    _know_nothing(life)
    _watch(life)
    _look(life)
    _plan(life)
    _decide(life)
    _act(life)
    _look_back(life)
    _undo(life)
    _steer(life)
    _whole_fleet(life)
    _sign(life)
    _fail(life)


def _set_up(life: Life) -> None:
    life.do("init", "init", "--engine", "simulated", "--output", "made.yaml", of="")
    life.do("init exists", "init", "--engine", "simulated", "--output", "made.yaml", code=6, of="")
    life.look("doctor", "doctor", of="")
    with life.configured(notices=[{"name": "page", "command": ["/bin/true"], "every": "0s"}]):
        life.do("notify test", "notify", "test", of="")
    life.look("ledger grants", "ledger", "grants", code=6, of="")


def _know_nothing(life: Life) -> None:
    life.look("status before", "status", of="")
    for name in ("proposals", "history", "outcomes", "report"):
        life.look(f"{name} before", name)
    life.look("units before", "units", code=7)
    life.look("plan before", "plan")


def _watch(life: Life) -> None:
    life.do("run once", "run", "--once", of="")
    for _ in range(2):
        life.go_on()


def _look(life: Life) -> None:
    life.look("status", "status", of="")
    life.look("status containers", "status", "--containers")
    life.look("units", "units")
    life.look("units chosen", "units", "--limit", "4", "--sort", "size", "--columns", "unit,size,tier", "--wide")
    life.look("units none", "units", "--like", "*nothing*")
    life.look("explain", "explain", "shop.orders")
    life.do("explain cached", "explain", "shop.products")
    life.look("top", "top", "--once", of="")
    life.do("trace on", "trace", "on", "--for", "2h")
    life.go_on()
    life.do("trace off", "trace", "off")
    life.do("plan trace", "plan", "--trace")
    life.do("trace clear", "trace", "clear")


def _plan(life: Life) -> None:
    life.look("plan", "plan")
    life.do("plan of eight tables", "plan", of="archive")
    life.look("plan usage", "plan", "--mode", "usage")
    life.look("plan capacity", "plan", "--mode", "capacity")
    life.look("plan preference", "plan", "--mode", "preference")
    life.look("plan drain", "plan", "--mode", "drain", "--space", "ssd")
    life.do("plan clear", "plan", "--subtype", "ssd", "--free-share", "0.5")
    life.look("sizing", "sizing", "--csv", "curve.csv", "--svg", "curve.svg")
    for name in ("curve.csv", "curve.svg"):
        life.printed[name] = (life.site.folder / name).read_text()
    life.look("sizing break even", "sizing", "--break-even", *PRICES)
    life.look("simulate", "simulate", "--plan-every", "10min")
    life.look("split", "split", "shop.orders", code=6)
    (life.site.folder / "r.txt").write_text(write(TOLD, "awr11"))
    life.look("assess", "assess", "r.txt", "--ssd", "100MB", of="")
    life.look("assess queries", "assess", "--print-queries", "oracle", of="")


def _decide(life: Life) -> None:
    life.do("pin", "pin", "shop.history", "never", "--reason", "kept cold by contract")
    life.look("pin list", "pin", "--list")
    life.do("plan proposed", "plan", "--propose")
    number = life.approved = str(life.open_proposal())
    life.look("proposals", "proposals")
    life.look("show", "show", number)
    life.look("show statements", "show", number, "--sql")
    life.do("strike", "strike", number, "1", "--reason", "not this week")
    life.do("approve refused", "approve", number, "--digest", "0" * 12, code=6)
    life.do("approve", "approve", number, "--digest", life.digest(number), "--at-most", "50GB", "--reason", "as agreed")
    move = str(life.know("show", number)["moves"][1]["id"])
    life.do("pause", "pause", move, "--reason", "month end", "--wait", "1s")
    life.do("resume", "resume", move, "--wait", "1s")
    life.do("status approved", "status")


def _act(life: Life) -> None:
    life.do("run acts", "run", "--once")
    life.do("history placed", "history")
    for _ in range(3):
        life.go_on()


def _look_back(life: Life) -> None:
    life.look("history", "history")
    life.look("outcomes", "outcomes")
    life.look("outcomes calibration", "outcomes", "--calibration")
    life.look("history audit", "history", "--audit")
    life.look("audit verify", "audit", "verify", of="")
    life.look("report", "report")
    life.do("explain moved", "explain", "shop.orders", "--proposal", life.approved)
    life.do("report files", "report", "--markdown", "report.md", "--html", "report.html")
    life.printed["report.md"] = scrubbed((life.site.folder / "report.md").read_text(), life.site.folder)
    life.printed["report.html"] = scrubbed((life.site.folder / "report.html").read_text(), life.site.folder)


def _undo(life: Life) -> None:
    life.do("undo", "undo", "--proposal", life.approved)
    number = str(life.open_proposal())
    life.do("show undo", "show", number)
    life.site.good("approve", number, "--digest", life.digest(number))
    life.do("run undoes", "run", "--once")
    life.do("history undone", "history")


def _steer(life: Life) -> None:
    life.do("pin remove", "pin", "--remove", "shop.history")
    life.do("close", "close", "ssd", "--reason", "the array is replaced", of="archive")
    life.do("plan closed", "plan", of="archive")
    life.do("reopen", "reopen", "ssd", of="archive")
    life.site.good("plan", "--propose", "--database", "archive")
    number = str(life.open_proposal("archive"))
    life.site.good("approve", number, "--digest", life.digest(number, "archive"), "--database", "archive")
    life.do("cancel", "cancel", "--all", "--reason", "wrong week", "--wait", "1s", of="archive")


def _whole_fleet(life: Life) -> None:
    for of in ("archive", "crm"):
        life.site.good("plan", "--propose", "--database", of)
    for name in ("status", "proposals", "outcomes", "report", "sizing"):
        life.look(f"{name} all", name, "--all", of="")
    life.look("status all metrics", "status", "--all", "--metrics", of="")
    numbers = [str(life.open_proposal(of)) for of in ("archive", "crm")]
    said = life.do("approve list", "approve", "--all", *numbers, "--canary", numbers[1], "--yes", of="")
    found = re.search(r'list"?:? "?([0-9a-f]{12})', said)
    assert found
    life.do("cancel list", "cancel", "--digest", found[1], "--reason", "month end", of="")
    life.site.good("plan", "--propose", "--database", "archive")
    life.do("reject", "reject", str(life.open_proposal("archive")), "--reason", "not now", of="archive")


def _sign(life: Life) -> None:
    person = person_of_seed(life.site.folder, "anna")
    (life.site.folder / "allowed_signers").write_text(person.line)
    with life.configured(level="auto", approval="signed", allowed_signers=str(life.site.folder / "allowed_signers")):
        life.do("rules propose", "rules", "propose", *RULE)
        life.look("rules open", "rules", "open", "1")
        _signed(life, person, RULE_NAMESPACE, "rules signed", "rules", "open", "1")
        life.look("rules list", "rules", "list")
        life.look("rules show", "rules", "show", "1")
        life.site.good("plan", "--propose", "--database", "shop")
        number = str(life.open_proposal())
        life.look("approve prints", "approve", number)
        _signed(life, person, NAMESPACE, "approve signed", "approve", number)
        life.do("rules close", "rules", "close", "1", "--reason", "month end")


def _signed(life: Life, person: Person, purpose: str, name: str, *command: str) -> None:
    signature = life.site.folder / "document.sig"
    signature.write_text(person.sign(life.know(*command)["document"], purpose))
    life.do(name, *command, "--signature", str(signature))


def _fail(life: Life) -> None:
    life.look("no such unit", "explain", "shop.nowhere", code=7)
    life.do("no such proposal", "show", "99", code=7)
    life.look("which database", "plan", code=3, of="")
    life.look("no such command", "plam", code=2, of="")


def person_of_seed(folder: Path, name: str) -> Person:
    """A person whose key is the same on each run, and so are the signatures."""
    key = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
    public = key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()
    private = key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption())
    (folder / f"{name}.pub").write_text(f"{public} {name}\n")
    (folder / name).write_bytes(private)
    (folder / name).chmod(0o600)
    return Person(name, folder / name)
