"""Settings that both accounts of a database share, because spaces and bundles follow from them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.config.yaml_texts import by_path, loaded, problems, values, written

SSD, HDD = {"ssd": "S:\\data\\"}, {"ssd": "S:\\data\\", "hdd": "D:\\data\\"}
FILES = {"move_by": "filegroup", "disks": HDD}


WHERE = {
    "sqlserver": {"database": "app"},
    "oracle": {"service": "app"},
    "db2": {"host": "db.example.com", "dbname": "APP"},
}


def accounts(engine: str, watching: dict[str, Any], moving: dict[str, Any]) -> str:
    """A configuration with two accounts."""
    plain = values()
    login = {**WHERE[engine], "password": {"env": "PASSWORD"}}
    plain["databases"][0] |= {
        "engine": engine,
        "connection": {**login, "user": "watcher", **watching},
        "move_connection": {**login, "user": "mover", **moving},
    }
    return written(plain)


def sqlserver(watching: dict[str, Any], moving: dict[str, Any]) -> str:
    """Two accounts of SQL Server."""
    return accounts("sqlserver", watching, moving)


@pytest.mark.parametrize(
    ("watching", "moving", "words"),
    [
        (FILES, {}, "move_by is 'table' here and 'filegroup' in connection"),
        ({}, FILES, "move_by is 'filegroup' here and 'table' in connection"),
        (FILES, {**FILES, "disks": SSD}, f"disks is {SSD!r} here and {HDD!r} in connection"),
    ],
)
def test_accounts_that_see_storage_differently_are_a_mistake(
    watching: dict[str, Any], moving: dict[str, Any], words: str
) -> None:
    """One problem, at the moving account, that names the setting and both values."""
    found = by_path(sqlserver(watching, moving))
    assert list(found) == ["databases[0].move_connection"]
    assert words in found["databases[0].move_connection"]


WHOLE, PLACES = {"move_by": "tablespace"}, ["/ssd/oradata"]
GROUPS, FOLDERS = {"move_by": "table_space"}, {"SSD_FILES": "/db2/ssd"}


@pytest.mark.parametrize(
    ("engine", "watching", "moving", "name"),
    [
        ("oracle", WHOLE, {}, "move_by"),
        ("oracle", {**WHOLE, "places": PLACES}, WHOLE, "places"),
        ("db2", {}, GROUPS, "move_by"),
        ("db2", {**GROUPS, "folders": FOLDERS}, GROUPS, "folders"),
    ],
)
def test_every_engine_that_may_see_other_spaces_says_by_which_settings(
    engine: str, watching: dict[str, Any], moving: dict[str, Any], name: str
) -> None:
    """One problem at the moving account; with the same settings on both sides there is none."""
    found = by_path(accounts(engine, watching, moving))
    assert list(found) == ["databases[0].move_connection"]
    assert found["databases[0].move_connection"].startswith(f"{name} is ")
    assert loaded(accounts(engine, watching, watching)).database().move_connection is not None


@pytest.mark.parametrize("both", [{}, FILES])
def test_accounts_may_differ_in_everything_else(both: dict[str, Any]) -> None:
    """Users, time limits and the like are each account's own; disks are the same in whatever order."""
    other = {**both, "maxdop": 4, "statement_timeout": "5s"}
    if "disks" in both:
        other["disks"] = dict(reversed(both["disks"].items()))
    assert loaded(sqlserver(both, other)).database().move_connection is not None


def test_a_mistake_in_one_account_is_told_alone() -> None:
    """What is compared is right on its own; an unknown key is no disagreement."""
    (problem,) = problems(sqlserver({**FILES, "disk": 1}, {}))
    assert problem.path == "databases[0].connection.disk"
