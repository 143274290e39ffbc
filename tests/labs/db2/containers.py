"""Containers that a table space manages itself (DMS): what ALTER TABLESPACE says of them, and whether that can be.

``ADD (FILE '/a' 100, FILE '/b' 100) DROP (FILE '/c')``: what is added is filled by a forward rebalance, what is dropped
emptied by a reverse one, both in one statement by a rebalance in two passes.
"""

from __future__ import annotations

from collections.abc import Sequence

from tests.labs.db2 import refusals
from tests.labs.db2.text import string_of
from tests.labs.db2.world import PAGE_SIZE, TableSpace, World

Files = dict[str, int]


def is_change(said: Sequence[str]) -> bool:
    """Whether the words are an ALTER TABLESPACE that adds or drops containers."""
    return len(said) > 4 and list(said[:2]) == ["ALTER", "TABLESPACE"] and said[3] in ("ADD", "DROP")


def read_change(said: Sequence[str]) -> tuple[Files, list[str]]:
    """Pages of each file to add by its path, and the paths to drop.

    Raises:
        Refusal: SQL0104N.
    """
    added: Files = {}
    dropped: list[str] = []
    at = 3
    while at < len(said):
        verb, end = said[at], said.index(")", at) if ")" in said[at:] else len(said)
        if verb not in ("ADD", "DROP") or said[at + 1 : at + 2] != ["("] or end == len(said):
            raise refusals.syntax(" ".join(said[at:]))
        for each in _listed(said[at + 2 : end]):
            if each[0] != "FILE" or len(each) != (3 if verb == "ADD" else 2):
                raise refusals.syntax(" ".join(each))
            if verb == "ADD":
                added[string_of(each[1])] = int(each[2])
            else:
                dropped.append(string_of(each[1]))
        at = end + 1
    return added, dropped


def _listed(said: Sequence[str]) -> list[list[str]]:
    found: list[list[str]] = [[]]
    for word in said:
        if word == ",":
            found.append([])
        else:
            found[-1].append(word)
    return found


def check_change(world: World, space: TableSpace, added: Files, dropped: Sequence[str]) -> None:
    """Refuse what Db2 would.

    Raises:
        Refusal: SQL20318N, SQL0298N, SQL0294N, SQL0968C, SQL20170N.
    """
    if space.group:
        raise refusals.Refusal(-20318, "42858", space.name, "AUTOMATIC STORAGE")
    taken = {place.path for other in world.spaces.values() for place in world.places(other)}
    for path, pages in added.items():
        if path in taken:
            raise refusals.container_in_use(path)
        if pages * PAGE_SIZE > world.free_bytes(world.file_system(path)):
            raise refusals.file_system_full()
    for path in dropped:
        if path not in space.files:
            raise refusals.bad_path(path)
    left = {path: pages for path, pages in (space.files | added).items() if path not in dropped}
    if sum(left.values()) < world.used_pages()[space.name]:
        raise refusals.too_little_left(space.name)


def mode_of(added: Files, dropped: Sequence[str]) -> str:
    """Of the rebalance that begins by itself."""
    return "2PASS" if added and dropped else "FWD_REBAL" if added else "REV_REBAL"
