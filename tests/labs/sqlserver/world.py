"""A small database to look at: two filegroups on two disks, and tables as tests want them."""

from __future__ import annotations

from tests.labs.sqlserver.instance import AZURE_DATABASE, Account, Database, Instance
from tests.labs.sqlserver.objects import (
    CLUSTERED,
    HEAP,
    NONCLUSTERED,
    ColumnOf,
    Index,
    Partition,
    PartitionFunction,
    PartitionScheme,
    Table,
)
from tests.labs.sqlserver.storage import IN_ROW, LOB, Volume

GIB = 2**30
SLOW, FAST = "hdd", "ssd"
ADMINISTRATOR = Account("sa", "S3cret of the administrator", administrator=True)
READER = Account("watcher", "S3cret of the reader", frozenset({"VIEW SERVER STATE", "VIEW ANY DEFINITION"}))
MOVER = Account(
    "mover", "S3cret of the mover", frozenset({"VIEW SERVER STATE", "VIEW ANY DEFINITION"}), frozenset({"ALTER"})
)
OWNER = Account(
    "owner", "S3cret of the owner", READER.server_rights, frozenset({"ALTER", "CONTROL"})
)  # db_owner, which DBCC SHRINKFILE needs
WITHOUT_DEFINITIONS = Account("counter", "S3cret of the counter", frozenset({"VIEW SERVER STATE"}))
HALF_BLIND = Account("half", "S3cret of one half", READER.server_rights, hidden=frozenset({"secret"}))
PROVER = Account(
    "prover", "S3cret of the prover", READER.server_rights,
    frozenset({"CREATE TABLE", "ALTER ANY DATASPACE", "CREATE FUNCTION", "ALTER ANY SECURITY POLICY"}),
    owns=frozenset({"scratch"}),
)  # fmt: skip
STRANGER = Account("stranger", "S3cret of nobody")
ROWS_PER_PAGE = 8


def make_instance(*, major: int = 16, engine_edition: int = 3) -> tuple[Instance, Database]:
    """A server with the database ``shop``: PRIMARY, ``hdd`` on a seeking disk, ``ssd`` on one that does not."""
    instance = Instance(major=major, engine_edition=engine_edition)
    for account in (ADMINISTRATOR, READER, MOVER, OWNER, WITHOUT_DEFINITIONS, HALF_BLIND, PROVER, STRANGER):
        instance.accounts[account.name] = account
    shop = instance.add_database("shop")
    disk = Volume("D:\\", 1000 * GIB, 600 * GIB, seeks=True)
    flash = Volume("S:\\", 100 * GIB, 50 * GIB, seeks=False)
    shop.add_filegroup("PRIMARY", disk, pages=8192)
    if engine_edition == AZURE_DATABASE:
        return instance, shop  # which has no other filegroup and takes none
    shop.add_filegroup(SLOW, disk, pages=131072)
    shop.add_filegroup(FAST, flash, pages=65536)
    return instance, shop


def add_scratch(shop: Database) -> None:
    """CREATE SCHEMA scratch AUTHORIZATION prover."""
    shop.schemas.append("scratch")
    shop.owners["scratch"] = PROVER.name


def new_index(
    shop: Database,
    index_id: int,
    name: str | None,
    kind: int,
    space: str,
    pages: int,
    *,
    keys: tuple[tuple[str, bool], ...] = (),
    lob_pages: int = 0,
    column: str | None = None,
) -> Index:
    """Heap or index; on a partition scheme every partition gets ``pages``."""
    where = shop.space_named(space)
    assert where is not None, f"no data space is named {space}"
    groups = where.filegroups if isinstance(where, PartitionScheme) else [where.space_id]
    partitions = []
    for at, group in enumerate(groups):
        units = {IN_ROW: shop.storage.new_unit(IN_ROW, group, pages)}
        if lob_pages:
            units[LOB] = shop.storage.new_unit(LOB, group, lob_pages)
        partitions.append(Partition(shop.next_id("partition"), at + 1, pages * ROWS_PER_PAGE, units))
    return Index(index_id, name, kind, where.space_id, partitions, keys=keys, partition_column=column)


def add_table(
    shop: Database,
    name: str,
    *,
    schema: str = "dbo",
    space: str = SLOW,
    pages: int = 8000,
    heap: bool = False,
    lob_pages: int = 0,
    column: str | None = None,
) -> Table:
    """A table (id, filler) with a primary key, or none for a heap, and the nonclustered index ``ix_<name>``."""
    columns = [ColumnOf(1, "id", "int", 4, nullable=False), ColumnOf(2, "filler", "varchar", -1 if lob_pages else 1000)]
    table = Table(shop.next_id("object"), schema, name, columns)
    if schema not in shop.schemas:
        shop.schemas.append(schema)
    keys = (("id", False),)
    if heap:
        base = new_index(shop, 0, None, HEAP, space, pages, lob_pages=lob_pages, column=column)
    else:
        base = new_index(
            shop, 1, f"pk_{name}"[:128], CLUSTERED, space, pages, keys=keys, lob_pages=lob_pages, column=column
        )
        base.unique, base.constraint = True, "PK"
    table.indexes[base.index_id] = base
    second = new_index(shop, 2, f"ix_{name}"[:128], NONCLUSTERED, space, max(pages // 8, 8), keys=keys, column=column)
    table.indexes[2] = second
    shop.tables[table.object_id] = table
    return table


def add_scheme(shop: Database, name: str, boundaries: list[object], filegroups: list[str]) -> PartitionScheme:
    """A partition scheme with the function ``f_<name>``."""
    function = PartitionFunction(shop.next_id("function") + 65536, f"f_{name}", boundaries)
    shop.functions[function.name.lower()] = function
    groups = [group.space_id for wanted in filegroups if (group := shop.storage.filegroup_named(wanted))]
    scheme = PartitionScheme(65600 + shop.next_id("scheme"), name, function, groups)
    shop.schemes[scheme.space_id] = scheme
    return scheme
