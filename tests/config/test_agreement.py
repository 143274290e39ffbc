"""Settings that both accounts of a database share, because spaces and bundles follow from them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.config.yaml_texts import by_path, loaded, problems, values, written

SSD, HDD = {"ssd": "S:\\data\\"}, {"ssd": "S:\\data\\", "hdd": "D:\\data\\"}
FILES = {"move_by": "filegroup", "disks": HDD}


def sqlserver(watching: dict[str, Any], moving: dict[str, Any]) -> str:
    """A configuration with two accounts."""
    plain = values()
    login = {"database": "app", "password": {"env": "PASSWORD"}}
    plain["databases"][0] |= {
        "engine": "sqlserver",
        "connection": {**login, "user": "watcher", **watching},
        "move_connection": {**login, "user": "mover", **moving},
    }
    return written(plain)


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
