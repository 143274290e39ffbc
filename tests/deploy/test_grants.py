"""Every object that a query reads is granted by the scripts of its engine, and headers say what is read."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest

from tests.deploy.grants import BLOCKS, LUW, MADE_LATER, PLAN_ONLY, PRIVILEGES, filled, headers, objects_of

READ = re.compile(r"\b(?:FROM|JOIN|LOCK TABLE)\s+(?:TABLE\(SYSPROC\.)?([A-Z]\w*(?:\.\w+)?)")
# Rights of the two engines that grant by role or state, as headers say them, and the GRANT that gives each. "" is none:
# what belongs to the login itself, or what an owner decides about single columns.
RIGHTS = {
    "sqlserver": {
        "VIEW SERVER STATE": "GRANT VIEW SERVER STATE",
        "VIEW SERVER PERFORMANCE STATE": "GRANT VIEW SERVER PERFORMANCE STATE",
        "VIEW DATABASE STATE": "GRANT VIEW SERVER STATE",  # includes that of each database
        "VIEW DATABASE PERFORMANCE STATE": "GRANT VIEW SERVER PERFORMANCE STATE",
        "VIEW DEFINITION": "GRANT VIEW ANY DEFINITION",
        "VIEW ANY DEFINITION": "GRANT VIEW ANY DEFINITION",
    },
    "postgresql": {
        "pg_monitor": "GRANT pg_monitor",
        "pg_read_all_stats": "GRANT pg_monitor",  # a member of both
        "pg_read_all_settings": "GRANT pg_monitor",
    },
}
RIGHT = re.compile(r"VIEW (?:ANY |SERVER |DATABASE |PERFORMANCE )*(?:STATE|DEFINITION)|pg_(?:monitor|read_all_\w+)")
LICENSED = frozenset(
    {"DBA_HIST_SEG_STAT", "DBA_HIST_SNAPSHOT", "DBA_ILMOBJECTS"}
)  # named in a comment, for who has paid


def texts(package: str) -> dict[str, str]:
    """Queries without their comments."""
    found = {}
    for path in (files(package) / "sql").iterdir():
        if path.name.endswith(".sql"):
            lines = path.read_text(encoding="utf-8").splitlines()
            found[path.name.removesuffix(".sql")] = "\n".join(line for line in lines if not line.startswith("--"))
    return found


def statements(*scripts: str) -> str:
    """The scripts without their comments."""
    lines = [line for script in scripts for line in (PRIVILEGES / script).read_text(encoding="utf-8").splitlines()]
    return "\n".join(line for line in lines if not line.lstrip().startswith("--"))


@pytest.mark.parametrize("package", [LUW, PLAN_ONLY])
def test_headers_of_db2_say_what_is_read(package: str) -> None:
    """The GRANTs are made of them, and the statements are the other witness."""
    said, read = headers(package), texts(package)
    differ = {name: (sorted(objects_of(said[name])), sorted(set(READ.findall(read[name])))) for name in read}
    assert {name: both for name, both in differ.items() if both[0] != both[1]} == {}


@pytest.mark.parametrize("script", sorted(BLOCKS))
def test_scripts_are_as_the_queries_have_them(script: str) -> None:
    """None too few, none too many."""
    text = (PRIVILEGES / script).read_text(encoding="utf-8")
    assert filled(script, text) == text, "run `make docs-write` and commit what it writes"


@pytest.mark.parametrize(
    ("package", "scripts"),
    [
        (LUW, ("db2-observe.sql", "db2-move.sql")),
        (PLAN_ONLY, ("db2-i-observe.sql", "db2-zos-observe.sql")),
    ],
)
def test_each_object_that_db2_is_asked_for_is_granted(package: str, scripts: tuple[str, ...]) -> None:
    """By the statements, not by their headers; on each platform by its own script."""
    granted = statements(*scripts)
    for name in {name for text in texts(package).values() for name in READ.findall(text)} | MADE_LATER:
        if package == LUW or name not in MADE_LATER:
            pattern = rf"^GRANT (EXECUTE ON FUNCTION SYSPROC\.|SELECT ON (TABLE )?){re.escape(name)} TO "
            assert re.search(pattern, granted, re.MULTILINE), name


def test_each_view_that_oracle_is_asked_for_is_granted() -> None:
    """Exactly which script has which is in tests/oracle/test_scripts.py."""
    granted = set(
        re.findall(r"^GRANT \w+ ON SYS\.([\w$]+) TO", statements("oracle-observe.sql", "oracle-move.sql"), re.M)
    )
    read = {
        name
        for text in texts("connectors.oracle").values()
        for name in re.findall(r"\bSYS\.((?:G?V_\$|DBA_|CDB_|DBMS_)[\w$#]+)", text)
    }
    assert len(read) > 50
    assert read - granted == LICENSED
    assert all(name in (PRIVILEGES / "oracle-observe.sql").read_text(encoding="utf-8") for name in LICENSED)


@pytest.mark.parametrize("engine", sorted(RIGHTS))
def test_each_right_that_a_header_names_is_granted(engine: str) -> None:
    """SQL Server and PostgreSQL show views by rights of the login: each that a query wants is in a script."""
    granted = statements(f"{engine}-observe.sql", f"{engine}-move.sql")
    said = headers(f"connectors.{engine}")
    assert [name for name, header in said.items() if "Privilege:" not in header] == []
    for name, header in said.items():
        for right in RIGHT.findall(header.partition("Privilege:")[2]):
            assert right in RIGHTS[engine], (name, right)
            assert RIGHTS[engine][right] in granted, (name, right)
