"""Rule 27: filegroups that are made and removed, and what refuses it."""

from __future__ import annotations

from collections.abc import Callable

from tests.labs.sqlserver.conftest import Ask
from tests.labs.sqlserver.lab import Lab
from tests.labs.sqlserver.world import add_table

NumberOf = Callable[..., int]
SPACES = """SELECT g.name, f.name
  FROM sys.filegroups AS g
  LEFT JOIN sys.database_files AS f ON f.data_space_id = g.data_space_id
 WHERE g.name = 'new'"""
ADD_GROUP, DROP_GROUP = "ALTER DATABASE shop ADD FILEGROUP new", "ALTER DATABASE shop REMOVE FILEGROUP new"


def add_file(lab: Lab) -> str:
    """The statement that gives it a file, beside another one."""
    volume = next(iter(lab.shop.storage.files.values())).volume.mount
    return f"ALTER DATABASE shop ADD FILE (NAME = n1, FILENAME = N'{volume}n1.ndf', SIZE = 8MB) TO FILEGROUP new"


def test_a_filegroup_gets_its_file_and_loses_it(lab: Lab, ask: Ask, number_of: NumberOf) -> None:
    """Without a file it is there and holds nothing; with one it is not removed; an empty file goes, though the last."""
    ask(ADD_GROUP)
    assert ask(SPACES) == [("new", None)]
    assert number_of(ADD_GROUP) == 5035
    ask(add_file(lab))
    assert ask(SPACES) == [("new", "n1")]
    assert number_of(DROP_GROUP) == 5042
    ask("ALTER DATABASE shop REMOVE FILE n1")
    ask(DROP_GROUP)
    assert ask(SPACES) == []


def test_a_file_with_pages_stays(lab: Lab, ask: Ask, number_of: NumberOf) -> None:
    """5042, as ever."""
    ask(ADD_GROUP)
    ask(add_file(lab))
    add_table(lab.shop, "held", space="new", pages=10)
    assert number_of("ALTER DATABASE shop REMOVE FILE n1") == 5042


def test_not_in_a_transaction(lab: Lab, number_of: NumberOf) -> None:
    """226."""
    assert number_of(f"BEGIN TRANSACTION; {ADD_GROUP}; COMMIT TRANSACTION") == 226
