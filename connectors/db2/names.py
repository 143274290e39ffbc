"""Names: how Db2 quotes them, how a unit is keyed, and the number that stands for it in samples."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from hashlib import blake2b

import numpy as np

from connectors.model.moves import Bundle
from connectors.model.observation import I64

_ORDINARY = re.compile(r"[A-Z_@#$][A-Z0-9_@#$]*")
_NAME = r'"(?:[^"]|"")*"|[A-Z_@#$][A-Z0-9_@#$]*'
_KEY = re.compile(
    rf"(?P<index>index )?(?P<schema>{_NAME})\.(?P<name>{_NAME})(?: partition (?P<partition>{_NAME}))?(?P<lob> lob)?",
    re.DOTALL,
)
_WHOLE = "table space "
_UNITS_REMEMBERED = 2**20
_UNIT = blake2b(digest_size=8, person=b"hotplace db2")  # begun once: a third of the work of one


Name = tuple[str, str]  # schema and name of a table


class Part(StrEnum):
    """What of a table a key speaks of."""

    TABLE = "table"
    LOB = "lob"
    INDEX = "index"


@dataclass(frozen=True, slots=True)
class Key:
    """A unit by its names; of an index these are the index's own."""

    part: Part
    schema: str
    name: str
    partition: str | None = None

    def __str__(self) -> str:
        """As ``Catalog.units.key`` holds it."""
        index = "index " if self.part is Part.INDEX else ""
        partition = "" if self.partition is None else f" partition {readable(self.partition)}"
        lob = " lob" if self.part is Part.LOB else ""
        return f"{index}{readable(self.schema)}.{readable(self.name)}{partition}{lob}"


@dataclass(frozen=True, slots=True)
class Tables:
    """Which table each unit belongs to: counters of some are asked for by table."""

    physical_id: I64  # of the units, ascending
    row: I64  # of the table's name, by unit
    names: tuple[Name, ...]


NO_TABLES = Tables(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), ())


def parse_key(text: str) -> Key:
    """The key that was written so.

    Raises:
        ValueError: nothing of this connector is written so.
    """
    found = _KEY.fullmatch(text)
    if found is None or (found["index"] and found["lob"]):
        raise ValueError(f"{text!r} is no key of a Db2 unit")
    part = Part.INDEX if found["index"] else Part.LOB if found["lob"] else Part.TABLE
    partition = None if found["partition"] is None else _bare(found["partition"])
    return Key(part, _bare(found["schema"]), _bare(found["name"]), partition)


def readable(name: str) -> str:
    """The name as a person writes it: quoted only where Db2 would fold or refuse it."""
    return name if _ORDINARY.fullmatch(name) else identifier(name)


def identifier(name: str) -> str:
    """A delimited identifier, whatever the name holds."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A character constant, for the procedures whose arguments are names."""
    return "'" + text.replace("'", "''") + "'"


@lru_cache(maxsize=_UNITS_REMEMBERED)
def physical_id(part: Part, schema: str, table: str, number: int, partition: int | None) -> int:
    """The number of a unit: a digest of what both the catalog and the counters know of it.

    Counters name an index by its number within its table, and a partition by its own; a table that has none is shown
    with NULL, -1 or 0. Sixty-two bits: of a million units two collide once in nine million databases.

    Args:
        part: what of the table.
        schema: of the table.
        table: its name.
        number: IID of an index, 0 for the others.
        partition: number of the data partition, None or negative where there is none.
    """
    words = (part.value, schema, table, str(number), str(max(0, partition or 0)))
    digest = _UNIT.copy()
    digest.update("\0".join(words).encode())
    return int.from_bytes(digest.digest(), "big") >> 2


def bundle_number(space: str) -> int:
    """The number of the bundle that everything in one table space makes up."""
    return int.from_bytes(blake2b(space.encode(), digest_size=8, person=b"hotplace space").digest(), "big") >> 2


def parts_of(bundle: Bundle) -> frozenset[Part]:
    """Which parts of its table a bundle holds."""
    return frozenset(parse_key(key).part for key in bundle.unit_keys)


def whole_name(space: str) -> str:
    """What a table space is called that moves as a whole."""
    return f"{_WHOLE}{readable(space)}"


def whole_of(name: str) -> str:
    """Name of the table space that is called so."""
    return _bare(name.removeprefix(_WHOLE))


def _bare(name: str) -> str:
    return name[1:-1].replace('""', '"') if name.startswith('"') else name
