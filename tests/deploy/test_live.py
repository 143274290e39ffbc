"""Scratch databases in the vendors' containers: nothing here runs a container, but all that is shipped is read.

Compose files by the schema of the Compose Specification; the set-up of PostgreSQL by a real server, of SQL Server and
Oracle by grammars that others have made (and by a lab with just those grants, for Oracle), of Db2 by the syntax that
IBM documents, since no parser of it can be had; configurations by hotplace itself.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import jsonschema
import psycopg
import pytest
import yaml
from sqlfluff.core import Linter

from agent.config.files import load
from connectors.kit.registry import find_engine
from connectors.model.observation import Home
from tests.cli.site import run_here
from tests.cli.test_help import commands
from tests.components import ORACLE_GRAMMARS
from tests.conftest import MAJORS, NO_SERVER
from tests.contract.asking import route_to, run
from tests.deploy.places import DEPLOY
from tests.labs.oracle.harness import PASSWORD as ORACLE_PASSWORD
from tests.labs.oracle.harness import running_harness
from tests.labs.oracle.test_grammars import checker as checker  # a fixture
from tests.labs.postgresql import running_cluster
from tests.labs.sqlserver.world import PROVER

pytestmark = pytest.mark.xdist_group("live deployment")  # what it needs is made once

LIVE = DEPLOY / "live"
ENGINES = ("db2", "oracle", "postgresql", "sqlserver")
SCHEMA = json.loads((Path(__file__).parent / "compose" / "compose-spec.json").read_text(encoding="utf-8"))
IMAGES = {  # whose they are
    "db2": "icr.io/db2_community/db2:",
    "oracle": "container-registry.oracle.com/database/free:",
    "postgresql": "docker.io/library/postgres:",
    "sqlserver": "mcr.microsoft.com/mssql/server:",
}
DIALECTS = {"oracle": "oracle", "sqlserver": "tsql"}
UNKNOWN_TO_SQLFLUFF = "CREATE TABLESPACE"
_NAME = r"[A-Z][A-Z0-9_]*"
_SIZE = r"\d+ [KMG]"
_ATTRIBUTES = rf"( USING STOGROUP {_NAME})?( AUTORESIZE (YES|NO))?( INITIALSIZE {_SIZE})?( INCREASESIZE {_SIZE})?"
_ATTRIBUTES += rf"( BUFFERPOOL {_NAME})?"
DOCUMENTED = (  # syntax diagrams of the Db2 12.1 SQL reference, as far as it is used
    rf"CREATE STOGROUP {_NAME} ON '/[\w/]+'(, '/[\w/]+')*;",
    rf"CREATE BUFFERPOOL {_NAME}( IMMEDIATE| DEFERRED)? SIZE \d+( PAGESIZE (4096|8192|16384|32768))?;",
    rf"CREATE (LARGE )?TABLESPACE {_NAME} PAGESIZE (4096|8192|16384|32768) MANAGED BY AUTOMATIC STORAGE{_ATTRIBUTES};",
    rf"GRANT (CONNECT|CREATETAB|SQLADM)(, (CONNECT|CREATETAB|SQLADM))* ON DATABASE TO (USER )?{_NAME};",
    rf"GRANT USE OF TABLESPACE {_NAME} TO (USER )?{_NAME};",
    rf"CREATE SCHEMA {_NAME} AUTHORIZATION {_NAME};",
)
EVERY = pytest.mark.parametrize("engine", ENGINES)


def text_of(engine: str, what: str) -> str:
    """A file of an engine."""
    return (LIVE / f"{engine}-{what}").read_text(encoding="utf-8")


def compose_of(engine: str) -> dict[str, Any]:
    """Its compose file."""
    found: dict[str, Any] = yaml.safe_load(text_of(engine, "compose.yaml"))
    return found


def test_every_engine_has_the_same_three_files() -> None:
    """A container, a set-up, a configuration; besides only what SQL Server flushes by, and the script that runs all."""
    expected = {f"{engine}-{what}" for engine in ENGINES for what in ("compose.yaml", "setup.sql", "hotplace.yaml")}
    expected |= {"run", "sqlserver-flush.sql"}
    assert {path.name for path in LIVE.iterdir()} == expected


@EVERY
def test_a_compose_file_is_of_the_published_schema(engine: str) -> None:
    """And a key that the schema does not know would be seen."""
    found = compose_of(engine)
    schema = jsonschema.Draft7Validator(SCHEMA)
    schema.validate(found)
    found["services"]["database"]["volume"] = found["services"]["database"].pop("volumes")
    with pytest.raises(jsonschema.ValidationError, match="volume"):
        schema.validate(found)


@EVERY
def test_a_database_has_the_vendors_image_two_disks_and_listens_on_loopback_only(engine: str) -> None:
    """Slow and fast are folders that the user names; other machines do not reach the port."""
    found = compose_of(engine)
    service = found["services"]["database"]
    assert service["image"].startswith(IMAGES[engine])
    assert all(port.startswith("127.0.0.1:") for port in service["ports"])
    assert {"slow:/slow", "fast:/fast", ".:/live:ro"} <= set(service["volumes"])
    devices = [found["volumes"][name]["driver_opts"]["device"] for name in ("slow", "fast")]
    assert [device.partition(":?")[0] for device in devices] == ["${SLOW_FOLDER", "${FAST_FOLDER"]


@EVERY
def test_no_password_and_no_acceptance_of_a_licence_is_shipped(engine: str) -> None:
    """Both come from the user's environment, and compose refuses to begin without them."""
    given = compose_of(engine)["services"]["database"]["environment"]
    asked = {name: value for name, value in given.items() if re.search(r"PASSWORD|PWD|EULA|LICENSE", name)}
    assert asked
    assert all(re.fullmatch(r"\$\{[A-Z_]+:\?[^}]+\}", value) for value in asked.values())
    assert not re.search(r"IDENTIFIED BY (?!\"&)|PASSWORD = '(?!\$\()|PASSWORD '(?!:)", text_of(engine, "setup.sql"))


@EVERY
def test_its_head_says_what_it_may_be_used_for_and_that_it_never_ran(engine: str) -> None:
    """The licence, that the makers have not run it, and the commands: each file that they name is there."""
    head = "".join(line for line in text_of(engine, "compose.yaml").splitlines(keepends=True) if line.startswith("#"))
    assert "# Licence: " in head
    assert "Never run by its makers" in head
    made = {"db2": {"prover-observe.sql", "prover-move.sql", "prover-$file.sql"}}.get(engine, set())
    named = set(re.findall(r"(?:/live/| -f |--config )([\w$.-]+\.(?:sql|yaml))", head)) - made - {"compose.yaml"}
    shipped = {path.name for folder in (LIVE, DEPLOY / "privileges") for path in folder.iterdir()}
    assert named - {f"{engine}-$file.sql"} <= shipped
    assert {f"{engine}-setup.sql", f"{engine}-hotplace.yaml", f"{engine}-compose.yaml"} <= named
    used = set(re.findall(r"hotplace --config \S+ (lab \w+|\w+)", head))
    assert {"doctor", "lab record", "lab prove"} >= used >= {"doctor", "lab record"}
    assert used <= {" ".join(words) for words in commands()}


@EVERY
def test_the_configuration_is_one(engine: str) -> None:
    """It is read without a mistake, begins as a dry run, and names the spaces of the set-up."""
    config = load(LIVE / f"{engine}-hotplace.yaml")
    assert config.dry_run
    (database,) = config.databases
    assert database.engine == engine
    connection = database.connection
    assert isinstance(connection, find_engine(engine).settings)
    for tier in database.tiers:
        for space in tier.spaces:
            assert re.search(rf"\b{space.name}\b", text_of(engine, "setup.sql"), re.IGNORECASE)


def statements_of(engine: str) -> list[str]:
    """The SQL of a set-up script, without what is the client's own."""
    text = text_of(engine, "setup.sql").replace("$(PROVER_PASSWORD)", "x").replace("&password", "x")
    client = re.compile(r"^(--|:on |WHENEVER |SET VERIFY|ACCEPT |EXIT)")
    lines = [line for line in text.splitlines() if line.strip() and not client.match(line)]
    if engine == "sqlserver":
        return [part.strip() for part in re.split(r"^GO$", "\n".join(lines), flags=re.MULTILINE) if part.strip()]
    return [f"{part.strip()};" for part in "\n".join(lines).split(";") if part.strip()]


def is_read(engine: str, statement: str) -> bool:
    """Whether sqlfluff reads all of it as that engine's SQL."""
    parsed = Linter(dialect=DIALECTS[engine]).parse_string(statement + "\n")
    return not parsed.violations and parsed.tree is not None and "unparsable" not in parsed.tree.type_set()


@pytest.mark.parametrize("engine", sorted(DIALECTS))
def test_a_set_up_is_read_by_a_grammar_of_its_engine(engine: str) -> None:
    """Every statement that sqlfluff knows, and none of them with a word left out."""
    found = [statement for statement in statements_of(engine) if UNKNOWN_TO_SQLFLUFF not in statement]
    assert len(found) >= 8
    assert [statement for statement in found if not is_read(engine, statement)] == []
    assert not is_read(engine, next(each for each in found if "CREATE USER" in each).replace("USER", "USER USER"))


@pytest.mark.skipif(shutil.which("javac") is None, reason="needs a JDK")
@pytest.mark.skipif(not ORACLE_GRAMMARS.exists(), reason="no parsers, see tests/components.py")
def test_tablespaces_of_oracle_are_read_by_parsers_of_its_ddl(checker: list[str]) -> None:
    """By one of the two at least, and by neither with a word too many."""
    found = [each.removesuffix(";") for each in statements_of("oracle") if UNKNOWN_TO_SQLFLUFF in each]
    assert len(found) == 2
    broken = found[0].replace("DATAFILE", "DATAFILE DATAFILE")
    lines = "".join(f"{each}\n" for each in (*found, broken))
    done = subprocess.run(checker, input=lines, capture_output=True, text=True, timeout=120, check=True)
    assert ["yes" in line for line in done.stdout.splitlines()] == [True, True, False]


def test_the_set_up_of_db2_is_of_the_documented_syntax() -> None:
    """Each statement is one of the forms that IBM's reference has."""
    found = statements_of("db2")
    assert len(found) >= 8
    assert [each for each in found if not any(re.fullmatch(form, each) for form in DOCUMENTED)] == []


@pytest.mark.parametrize(("script", "user"), [("observe", "HOTPLACE"), ("move", "HOTMOVE")])
def test_the_users_of_db2_are_replaced_by_the_one_that_proves(script: str, user: str) -> None:
    """As the commands of the compose file do it: no statement names another user, and the lease keeps its schema."""
    assert f"'s/{user};/PROVER;/'" in text_of("db2", "compose.yaml")
    lines = (DEPLOY / "privileges" / f"db2-{script}.sql").read_text(encoding="utf-8").splitlines()
    made = "\n".join(line.replace(f"{user};", "PROVER;") for line in lines if not line.startswith("--"))
    assert f"USER {user}" not in made
    assert made.count("USER PROVER;") >= 3
    assert "CREATE TABLE HOTPLACE.LEASE" in made or script == "move"


@pytest.mark.postgresql
@pytest.mark.skipif(not MAJORS, reason=NO_SERVER)
def test_the_set_up_of_postgresql_on_a_real_server(cleanup: ExitStack, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its login owns an empty schema, is refused elsewhere, and moves a table of its own with hotplace and back."""
    server = cleanup.enter_context(running_cluster(max(MAJORS)))
    program = server.server.installation / "bin" / "psql"
    if not program.exists():
        pytest.skip("this installation has no psql")
    with server.session() as dba:
        dba.execute("DROP TABLESPACE slow")
        dba.execute("DROP TABLESPACE fast")
    folders = [server.server.make_folder(name) for name in ("live_slow", "live_fast")]
    given = [f"-v{name}_folder={folder}" for name, folder in zip(("slow", "fast"), folders, strict=True)]
    script = LIVE / "postgresql-setup.sql"
    done = subprocess.run(
        [str(program), "-X", "-h", str(server.server.folder), "-U", "postgres", *given, "-f", str(script)],
        capture_output=True, text=True, timeout=60, check=False, env={**os.environ, "PROVER_PASSWORD": "s3cret, it's"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    with server.session("scratch", user="prover") as prover:
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            prover.execute("CREATE TABLE public.no (id int)")
        prover.execute("CREATE TABLE scratch.t AS SELECT g AS id FROM generate_series(1, 100) AS g")
    connector = cleanup.enter_context(closing(server.connector("scratch", user="prover")))
    route = route_to(connector, "scratch.t", "fast")
    run(connector, route)
    assert connector.inspect(route).home is Home.TARGET
    run(connector, route, undo=True)
    assert connector.inspect(route).home is Home.SOURCE


def test_the_set_up_of_oracle_lets_a_login_move_its_own(cleanup: ExitStack) -> None:
    """Emulated server: with the grants of the script and of oracle-observe.sql, and no ANY privilege."""
    grants = re.compile(r"^GRANT (\w+) ON (SYS\.[\w$]+) TO", re.MULTILINE)
    scripts = text_of("oracle", "setup.sql"), (DEPLOY / "privileges" / "oracle-observe.sql").read_text(encoding="utf-8")
    lab = cleanup.enter_context(running_harness("oracle live (emulated server)"))
    quotas = dict.fromkeys(("SLOW", "FAST"), -1)
    prover = lab.database.add_user("PROVER", ORACLE_PASSWORD, quotas=quotas, privileges={"CREATE TABLE"})
    prover.grants |= {grant for script in scripts for grant in grants.findall(script)}
    lab.database.add_table("PROVER", "T", "SLOW", 1 << 20)
    connector = cleanup.enter_context(closing(lab.connector(user="PROVER")))
    lease = connector.acquire_lease("live")
    route = route_to(connector, "PROVER.T", "FAST")
    run(connector, route)
    assert connector.inspect(route).home is Home.TARGET
    lease.release()


def test_the_set_up_of_sqlserver_gives_what_the_proofs_login_has(tmp_path: Path) -> None:
    """The rights with which the emulated server was proved, no more and no less; the commands list the statements."""
    scripts = [text_of("sqlserver", "setup.sql")]
    scripts += [
        (DEPLOY / "privileges" / f"sqlserver-{what}.sql").read_text(encoding="utf-8") for what in ("observe", "move")
    ]
    sent = "\n".join(line for text in scripts for line in text.splitlines() if not line.lstrip().startswith("--"))
    granted = {right for found in re.findall(r"GRANT ([A-Z ,]+?) TO", sent) for right in found.split(", ")}
    assert granted == {*PROVER.server_rights, *PROVER.database_rights, "VIEW SERVER PERFORMANCE STATE"}
    assert "CREATE SCHEMA scratch AUTHORIZATION prover" in sent
    assert re.findall(r"GRANT ALTER ON (.*?) TO", sent) == ["SCHEMA::[$(schema)]"]
    config = tmp_path / "hotplace.yaml"
    config.write_bytes((LIVE / "sqlserver-hotplace.yaml").read_bytes())
    config.chmod(0o600)
    command = next(line for line in text_of("sqlserver", "compose.yaml").splitlines() if " lab prove --engine " in line)
    done = run_here("--config", str(config), "--json", *command.split()[command.split().index("lab") :])
    assert done.code == 0
    assert done.document["dry_run"]
    assert len(done.document["statements"]) > 100
