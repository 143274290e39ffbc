"""``hotplace setup`` of engines whose script a person runs: what it holds, and which way lets a login in."""

from __future__ import annotations

import re
import stat
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import SecretStr

from agent.config.files import load
from agent.model.clock import SystemClock
from agent.service.shipped_files import FileKind, files_of_engine
from connectors.kit.registry import find_engine
from connectors.kit.setting_up import (
    KINDS_OF_CHARACTERS,
    LoginAnswer,
    NotPlain,
    RunsScript,
    SetUp,
    Tried,
    Wanted,
    new_password,
)
from connectors.kit.settings import SecretSource
from tests.cli.site import run_here
from tests.labs.oracle.harness import AGENT, PASSWORD, running_harness
from tests.labs.sqlserver.lab import running_lab
from tests.labs.sqlserver.world import READER
from tests.labs.tds.certificate import make_certificate

ENGINES = ["db2", "oracle", "sqlserver"]
WANTED = Wanted(
    host="db1", databases=("APP",), watcher="watch", mover="moves", owners=("sales", "hr"), spaces=("FAST", "SLOW")
)
PASSWORDS = {"watch": SecretStr("first-Secret_1"), "moves": SecretStr("second-Secret_2")}


def set_up_of(engine: str) -> SetUp:
    """The engine's part of ``setup``."""
    found = find_engine(engine).set_up
    assert found is not None
    return found


def script(engine: str, wanted: Wanted = WANTED) -> str:
    """The script that it writes."""
    texts = {path.name: path.read_text() for path in files_of_engine(FileKind.PRIVILEGES, engine)}
    return set_up_of(engine).script(wanted, texts, PASSWORDS)


def statements(engine: str, wanted: Wanted = WANTED) -> str:
    """The script without its comments."""
    return "".join(line for line in script(engine, wanted).splitlines(keepends=True) if not line.startswith("--"))


def test_a_password_has_characters_of_each_kind() -> None:
    """Policies of engines ask for them; none is longer than the 30 bytes that Oracle takes."""
    for _ in range(100):
        made = new_password().get_secret_value()
        assert len(made.encode()) <= 30
        assert all(re.search(kind, made) for kind in KINDS_OF_CHARACTERS)


def test_a_sqlserver_script_makes_both_logins_and_gives_each_schema() -> None:
    """Each login refuses where it is there; what is granted in each database and schema names its login."""
    text = statements("sqlserver")
    assert text.index(":on error exit") < text.index("RAISERROR") < text.index("CREATE LOGIN [watch]")
    for login, password in PASSWORDS.items():
        assert f"CREATE LOGIN [{login}] WITH PASSWORD = N'{password.get_secret_value()}'" in text
    assert re.findall(r'^:setvar (\w+) "(\w+)"$', text, re.MULTILINE) == [
        ("database", "APP"), ("login", "watch"), ("database", "APP"), ("login", "moves"),
        ("schema", "sales"), ("schema", "hr"),
    ]  # fmt: skip
    assert text.count("GRANT ALTER ON SCHEMA::[$(schema)]") == 2
    assert "RAISERROR" not in statements("sqlserver", replace(WANTED, replaces=True))
    only_watches = statements("sqlserver", replace(WANTED, mover="", owners=()))
    assert "moves" not in only_watches
    assert "GRANT ALTER" not in only_watches


def test_an_oracle_script_makes_both_users_and_gives_each_owner_room() -> None:
    """Parameters are set in it, so that it runs with none; it stops where a user is there, unless that is wanted."""
    text = statements("oracle")
    assert not re.search(r"&\d", text)
    for login, password in PASSWORDS.items():
        assert f'CREATE USER {login.upper()} IDENTIFIED BY "{password.get_secret_value()}"' in text
    assert re.findall(r"^DEFINE owner = (\w+)\nDEFINE space = (\w+)$", text, re.MULTILINE) == [
        ("SALES", "FAST"), ("SALES", "SLOW"), ("HR", "FAST"), ("HR", "SLOW"),
    ]  # fmt: skip
    assert re.findall(r"^DEFINE login = (\w+)$", text, re.MULTILINE)[:2] == ["WATCH", "MOVES"]
    assert text.count("RAISE_APPLICATION_ERROR") == 2
    again = statements("oracle", replace(WANTED, replaces=True))
    assert "RAISE_APPLICATION_ERROR" not in again
    assert 'ALTER USER WATCH IDENTIFIED BY "first-Secret_1"' in again


def test_a_db2_script_grants_to_those_users_and_makes_none() -> None:
    """No password is in it; the mover sees what the watcher sees, and may work in each schema."""
    text = statements("db2")
    assert "ecret" not in script("db2")
    assert set(re.findall(r"TO USER (\w+)", text)) == {"WATCH", "MOVES"}
    assert text.count("GRANT EXECUTE ON FUNCTION SYSPROC.MON_GET_TABLE TO USER") == 2
    assert text.count("CREATE TABLE HOTPLACE.LEASE") == 1
    assert "GRANT CREATEIN, ALTERIN, DROPIN ON SCHEMA SALES TO USER MOVES;" in text
    assert "GRANT CREATEIN, ALTERIN, DROPIN ON SCHEMA HR TO USER MOVES;" in text
    assert "MOVES" not in statements("db2", replace(WANTED, mover="", owners=()))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", ["a]b", "o'hara", 'a"b', "a;b", "$(x)"])
def test_a_name_that_needs_quotes_is_refused(engine: str, name: str) -> None:
    """Rather than written into a script that an administrator runs."""
    for wanted in (replace(WANTED, owners=(name,)), replace(WANTED, watcher=name), replace(WANTED, databases=(name,))):
        with pytest.raises(NotPlain, match="would need quotes"):
            set_up_of(engine).script(wanted, {f"{engine}-{kind}.sql": "" for kind in ("observe", "move")}, PASSWORDS)


@pytest.mark.parametrize(("dialect", "engine"), [("tsql", "sqlserver"), ("oracle", "oracle")])
def test_a_parser_that_others_have_made_reads_what_makes_logins(dialect: str, engine: str) -> None:
    """Each batch before the scripts of privileges, which have tests of their own; broken, it is refused."""
    linter = pytest.importorskip("sqlfluff.core").Linter(dialect=dialect)

    def accepted(sql: str) -> bool:
        parsed = linter.parse_string(f"{sql.strip()}\n")
        return not parsed.violations and parsed.tree is not None and "unparsable" not in parsed.tree.type_set()

    text = statements(engine).partition(":setvar" if engine == "sqlserver" else "DEFINE login")[0]
    text = re.sub(r"^(:.*|SET .*|WHENEVER .*)$", "", text, flags=re.MULTILINE)
    batches = [part for part in re.split(r"^(?:GO|/)$", text, flags=re.MULTILINE) if part.strip()]
    assert len(batches) >= 2
    for batch in batches:
        known = re.sub(r"(CREATE|ALTER) LOGIN [^;]*;", "DROP USER [x];", batch)  # sqlfluff 4.5 knows no logins
        assert accepted(known), batch
    assert not accepted(batches[-1].replace("IF ", "IF ) ", 1))


@pytest.mark.parametrize("engine", ENGINES)
def test_it_is_written_for_a_person_who_runs_it(engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A script, both passwords and a configuration for their owner only, the command that runs it, and what to know."""
    if engine == "db2":  # IBM's driver goes on asking for many seconds where no server listens
        nowhere = Tried(settings={"host": "127.0.0.1"}, admission=LoginAnswer.REFUSED, how="no server listens")
        monkeypatch.setattr("connectors.db2.setting_up.try_ways", lambda *_: [nowhere])
    path = tmp_path / "x.yaml"
    words = ("setup", engine, "APP", "--host", "127.0.0.1", "--port", "1", "--fast", "FAST", "--slow", "SLOW")
    refused = run_here(*words, "--owner", "sales", "--run", "--output", str(path))
    assert refused.code == 2
    assert "the script is run by a person" in refused.err
    assert not list(tmp_path.iterdir())
    done = run_here(*words, "--owner", "sales", "--output", str(path))
    assert done.code == 5, "no server listens there"
    assert "no way lets hotplace_move in" in done.err
    assert {each.name: stat.S_IMODE(each.stat().st_mode) for each in tmp_path.iterdir()} == dict.fromkeys(
        ("x.yaml", "watch.password", "move.password", "setup.sql"), 0o600
    )
    assert set_up_of(engine).before_it_runs in " ".join(done.out.split())
    assert str(tmp_path / "setup.sql") in done.out
    made = (tmp_path / "watch.password").read_text().strip()
    assert (made in (tmp_path / "setup.sql").read_text()) is set_up_of(engine).makes_logins
    assert made not in done.out + done.err + path.read_text()
    database = load(path).database()
    assert [tier.spaces[0].name for tier in database.tiers] == ["FAST", "SLOW"]
    assert database.move_connection is not None
    assert not isinstance(set_up_of(engine), RunsScript)


def answers(engine: str, wanted: Wanted, login: str, folder: Path) -> Callable[[str], list[LoginAnswer]]:
    """How a server answers to a password, way by way."""

    def tried(password: str) -> list[LoginAnswer]:
        place = folder / "secret"
        place.write_text(password)
        ways = set_up_of(engine).ways(wanted, login, SecretSource(file=place), SystemClock())
        return [each.admission for each in ways]

    return tried


def test_a_sqlserver_says_whether_a_login_gets_in(tmp_path: Path) -> None:
    """Emulated server: in with its password, encrypted; asked with another one; refused where none listens."""
    pytest.importorskip("pyodbc", reason="no pyodbc here: make setup")
    with running_lab(certificate=make_certificate(tmp_path)) as lab:
        wanted = replace(WANTED, host="127.0.0.1", port=lab.server.port, databases=(lab.shop.name,))
        tried = answers("sqlserver", wanted, READER.name, tmp_path)
        assert tried(READER.password)[-1] is LoginAnswer.IN
        assert LoginAnswer.ASKED in tried("another")
    assert set(tried(READER.password)) == {LoginAnswer.REFUSED}


def test_an_oracle_says_whether_a_user_gets_in(tmp_path: Path) -> None:
    """Emulated server: the same."""
    with running_harness("set-up") as lab:
        wanted = replace(WANTED, host="127.0.0.1", port=lab.server.port, databases=("orclpdb1",))
        tried = answers("oracle", wanted, AGENT, tmp_path)
        assert tried(PASSWORD) == [LoginAnswer.IN]
        assert tried("another") == [LoginAnswer.ASKED]
    with suppress(OSError):
        assert tried(PASSWORD) == [LoginAnswer.REFUSED]
