"""What the scripts of privileges give, the scripts of removal take back: right by right, the login last."""

from __future__ import annotations

import re

import pytest

from agent.service.shipped_files import FileKind, files_of_engine, folder, revokes
from tests.cli.site import run_here
from tests.deploy.test_grants import statements

DB2 = [path.name for path in files_of_engine(FileKind.PRIVILEGES, "db2")]
_GRANT = re.compile(r"^GRANT\s+(.+?)\s+TO\s+(.+?);", re.MULTILINE | re.DOTALL)
_REVOKE = re.compile(r"^REVOKE (.+?) FROM (.+?)( RESTRICT)?;", re.MULTILINE)


def removal(name: str) -> str:
    """A script without its comments."""
    text = (folder(FileKind.REMOVAL) / name).read_text(encoding="utf-8")
    return "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("--"))


def flat(text: str) -> str:
    """On one line."""
    return " ".join(text.split())


@pytest.mark.parametrize("script", DB2)
def test_db2_takes_back_each_right_in_the_opposite_order(script: str) -> None:
    """From the same user; EXECUTE with RESTRICT, which Db2 demands; tables that stay are named."""
    given = statements(script)
    rights = [(flat(what), flat(whom)) for what, whom in _GRANT.findall(given)]
    taken = _REVOKE.findall(revokes(given))
    assert [(what, whom) for what, whom, _ in reversed(taken)] == rights
    assert {bool(restrict) for what, _, restrict in taken if what.startswith("EXECUTE ON")} <= {True}
    assert not any(restrict for what, _, restrict in taken if not what.startswith("EXECUTE ON"))
    made = set(re.findall(r"^CREATE TABLE ([\w.]+)", given, re.M)) - set(
        re.findall(r"^DROP TABLE ([\w.]+)", given, re.M)
    )
    printed = run_here("deploy", "privileges", "--engine", "db2", "--remove", "--json").document["files"]
    (text,) = [each["text"] for each in printed if each["name"] == script.replace(".sql", "-remove.sql")]
    assert all(f"DROP TABLE {name};" in text for name in made)


def test_oracle_drops_the_login_last_and_names_the_quota_that_stays() -> None:
    """Every grant is on the login itself, so that it goes with it; the owner is given a quota and nothing else."""
    given = statements("oracle-observe.sql", "oracle-move.sql")
    told = [line for line in given.splitlines() if line.endswith(";")]
    assert len(told) > 70
    others = [line for line in told if not re.fullmatch(r"GRANT .+ TO &login;", line)]
    assert others == ["ALTER USER &owner QUOTA UNLIMITED ON &space;"]
    whole = (folder(FileKind.REMOVAL) / "oracle-remove.sql").read_text(encoding="utf-8")
    assert re.search(r"^--   ALTER USER app QUOTA 0 ON fast_data;$", whole, re.M)
    assert removal("oracle-remove.sql").split(";")[-2].strip() == "DROP USER &login"
    assert "CASCADE" not in removal("oracle-remove.sql")


def test_sql_server_drops_user_and_login_which_have_all_rights() -> None:
    """Rights in the database are the user's, those of the server the login's: the one is dropped, then the other."""
    given = statements("sqlserver-observe.sql", "sqlserver-move.sql")
    assert set(re.findall(r"TO (\S+?)[;'\n]", given)) == {"[$(login)]"}
    by_place: dict[str, list[str]] = {}
    for part in re.split(r"^USE ", given, flags=re.M)[1:]:
        by_place.setdefault(part.split(";")[0], []).extend(re.findall(r"GRANT ([A-Z ]+?)(?: ON \S+)? TO", part))
    assert by_place == {
        "[master]": ["VIEW SERVER PERFORMANCE STATE", "VIEW SERVER STATE", "VIEW ANY DEFINITION"],
        "[$(database)]": ["ALTER", "ALTER ANY DATASPACE"],
    }
    script = removal("sqlserver-remove.sql")
    order = [
        script.index(part) for part in ("USE [$(database)]", "DROP MEMBER", "DROP USER", "USE [master]", "DROP LOGIN")
    ]
    assert order == sorted(order)


@pytest.mark.parametrize(("name", "dialect"), [("sqlserver-remove.sql", "tsql"), ("oracle-remove.sql", "oracle")])
def test_a_parser_that_others_have_made_reads_the_script(name: str, dialect: str) -> None:
    """Batch by batch, without what the client itself reads, and with what it fills in; broken, it is refused."""
    linter = pytest.importorskip("sqlfluff.core").Linter(dialect=dialect)

    def accepted(sql: str) -> bool:
        parsed = linter.parse_string(f"{sql.strip()}\n")
        return not parsed.violations and parsed.tree is not None and "unparsable" not in parsed.tree.type_set()

    own = re.compile(r"^(:.*|DEFINE .*|SET VERIFY .*|WHENEVER .*)$", re.MULTILINE)
    text = re.sub(r"\$\((\w+)\)|&(\w+)", lambda found: f"hp_{found[1] or found[2]}", own.sub("", removal(name)))
    text = text.replace("DROP LOGIN", "DROP USER")  # of the same form; sqlfluff 4.5 knows the latter only
    batches = [part for part in re.split(r"^GO$", text, flags=re.MULTILINE) if part.strip()]
    assert batches
    assert all(map(accepted, batches)), [part for part in batches if not accepted(part)]
    assert not accepted(batches[-1].replace("DROP ", "DROP DROP ", 1))
