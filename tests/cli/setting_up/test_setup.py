"""``hotplace setup`` without a server: what it asks for, what it writes, and what it would run."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest
from pydantic import SecretStr

from agent.config.files import load, parse
from agent.config.sample import scalar, short_sample
from agent.service.shipped_files import FileKind, files_of_engine
from connectors.kit.registry import engine_names
from connectors.kit.setting_up import Wanted
from connectors.postgresql.setting_up import PostgresqlSetUp, verifier
from tests.cli.site import run_here

WANTED = Wanted(
    databases=("app",),
    watcher="hotplace",
    mover="hotplace_move",
    owners=("o'hara", "app"),
    spaces=("ssd", "pg_default"),
)
PASSWORDS = {"hotplace": SecretStr("first secret"), "hotplace_move": SecretStr("second secret")}


def script(wanted: Wanted = WANTED) -> str:
    """The script that makes the logins."""
    texts = {path.name: path.read_text() for path in files_of_engine(FileKind.PRIVILEGES, "postgresql")}
    return PostgresqlSetUp().script(wanted, texts, PASSWORDS)


def test_what_is_missing_is_named_all_at_once(tmp_path: Path) -> None:
    """Without a terminal options say everything, and nothing is written before they do."""
    done = run_here("setup", "postgresql", "--output", str(tmp_path / "x.yaml"))
    assert done.code == 2
    assert "the databases; --fast; --owner, or --watch-only" in done.err
    assert "hotplace setup postgresql DATABASE --fast SPACE --owner ROLE" in done.err
    far = run_here("setup", "oracle", "app", "--output", str(tmp_path / "x.yaml"))
    assert "missing: --host; --fast" in far.err
    assert list(tmp_path.iterdir()) == []


def test_the_script_is_one_transaction_without_a_password() -> None:
    """Every statement is between BEGIN and COMMIT, names are quoted, and only verifiers of passwords are in it."""
    text = script()
    head, _, rest = text.partition("\nBEGIN;\n")
    assert not [line for line in head.splitlines() if not line.startswith(("--", "\\set"))]
    body, _, tail = rest.partition("\nCOMMIT;\n")
    assert tail == ""
    assert body.count("GRANT CREATE ON TABLESPACE") == 2 * 4, "for the login and for the owner, of each owner and space"
    assert "\\set owner 'o''hara'" in body
    assert "secret" not in text.replace("as a secret", "")
    assert text.count("PASSWORD 'SCRAM-SHA-256$4096:") == 2


def test_a_verifier_is_as_postgresql_makes_it() -> None:
    """RFC 5803, with the keys of RFC 7677's example (password "pencil")."""
    made = verifier(SecretStr("pencil"), base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ=="))
    assert made == (
        "SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:"
        "wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU="
    )


def test_who_runs_the_script(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is psql, as the administrator's user of this machine; over TCP as that role. It asks only a person."""
    made = PostgresqlSetUp().program
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    monkeypatch.setattr("getpass.getuser", lambda: "anna")
    psql = ("psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", "app")
    assert made(WANTED, "postgres", asks=True) == ("sudo", "-u", "postgres", *psql)
    assert made(WANTED, "postgres", asks=False) == ("sudo", "-n", "-u", "postgres", *psql, "-w")
    assert made(WANTED, "anna", asks=True) == psql
    far = Wanted(host="db", port=5433, databases=("app",), watcher="w")
    assert made(far, "dba", asks=True) == (*psql, "-p", "5433", "-h", "db", "-U", "dba")


def test_an_engine_without_logins_is_not_set_up(tmp_path: Path) -> None:
    """It is said which command writes its configuration."""
    done = run_here("setup", "simulated", "demo", "--host", "x", "--fast", "fast", "--output", str(tmp_path / "x.yaml"))
    assert done.code == 2
    assert "hotplace init --full --engine simulated" in done.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("engine", engine_names())
def test_the_short_sample_is_valid_and_short(engine: str) -> None:
    """What ``init`` writes loads as it is and fits on a screen."""
    text = short_sample(engine)
    assert parse(text).database().engine == engine
    assert len(text.splitlines()) <= 25


@pytest.mark.parametrize("text", ["no", "8.4", "127.0.0.1", "a: b", "ä", "# x", "o'hara", "~", "1_000", "ssd"])
def test_a_name_is_read_back_as_it_was(text: str) -> None:
    """Whatever a database or space is called."""
    import yaml

    assert yaml.safe_load(f"[{scalar(text)}]") == [text]


def test_a_person_is_asked_for_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each question with what is usual; an empty answer takes that. The script is handed over where it is not run."""
    monkeypatch.setattr("agent.cli.setup.interactive", lambda: True)
    path = tmp_path / "x.yaml"
    answers = "app, shop\n\n\n\napp_owner\nn\nn\n"
    done = run_here("setup", "postgresql", "--port", "1", "--output", str(path), typed=answers)
    asked = [
        "databases of that server",
        "[this machine]",
        "spaces on fast storage",
        "[pg_default]",
        "[none: only watch]",
    ]
    assert [at for at in map(done.err.find, asked) if at >= 0] == sorted(map(done.err.find, asked))
    assert done.code == 5, "no server listens there, and it says what to allow"
    assert "no way lets hotplace_move in" in done.err
    assert "pg_hba.conf" in done.err
    config = load(path)
    assert [(each.name, [tier.spaces[0].name for tier in each.tiers]) for each in config.databases] == [
        ("app", ["ssd", "pg_default"]), ("shop", ["ssd", "pg_default"]),
    ]  # fmt: skip
    assert {each.name for each in tmp_path.iterdir()} == {"x.yaml", "watch.password", "move.password", "setup.sql"}
    assert "\\set owner 'app_owner'" in (tmp_path / "setup.sql").read_text()


def test_answers_that_end_are_no_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is needed is asked again, not for ever; nothing is written."""
    monkeypatch.setattr("agent.cli.setup.interactive", lambda: True)
    done = run_here("setup", "postgresql", "--output", str(tmp_path / "x.yaml"), typed="\n\n")
    assert (done.code, list(tmp_path.iterdir())) == (2, [])
    assert "the answers ended" in done.err
