"""Keys of the world's tables as rows of the emulated catalog; as in ``rows``."""

from __future__ import annotations

from tests.labs.db2.views.rows import Rows
from tests.labs.db2.world import CREATED, ForeignKey, Index, Table, World


def references(world: World) -> Rows:
    """SYSCAT.REFERENCES."""
    for key in world.foreign_keys:
        yield f"{'.'.join(key.child)}.{key.name}", {
            "CONSTNAME": key.name, "TABSCHEMA": key.child[0], "TABNAME": key.child[1], "OWNER": "DB2INST1",
            "OWNERTYPE": "U", "REFTABSCHEMA": key.parent[0], "REFTABNAME": key.parent[1],
            "REFKEYNAME": _name_of_parent_key(world, key), "COLCOUNT": len(key.columns), "DELETERULE": key.on_delete,
            "UPDATERULE": key.on_update, "CREATE_TIME": CREATED,
        }  # fmt: skip


def constraints(world: World) -> Rows:
    """SYSCAT.TABCONST: unique indexes are taken for those of constraints of their name."""
    for key in world.foreign_keys:
        yield f"{'.'.join(key.child)}.{key.name}", {
            "CONSTNAME": key.name, "TABSCHEMA": key.child[0], "TABNAME": key.child[1], "OWNER": "DB2INST1",
            "OWNERTYPE": "U", "TYPE": "F", "ENFORCED": "Y" if key.enforced else "N", "CHECKEXISTINGDATA": "I",
            "TRUSTED": " " if key.enforced else "Y" if key.trusted else "N",
            "ENABLEQUERYOPT": "Y" if key.optimized else "N", "PERIODPOLICY": "N", "PERIODNAME": None, "REMARKS": None,
            **dict(key.columns_of_catalog),
        }  # fmt: skip
    for table in world.tables.values():
        for index in _unique(table):
            yield f"{table.schema}.{table.name}.{index.name}", {
                "CONSTNAME": index.name, "TABSCHEMA": table.schema, "TABNAME": table.name, "OWNER": "DB2INST1",
                "OWNERTYPE": "U", "TYPE": index.unique, "ENFORCED": "Y", "TRUSTED": " ", "CHECKEXISTINGDATA": "I",
                "ENABLEQUERYOPT": "Y", "PERIODPOLICY": "N", "PERIODNAME": None, "REMARKS": None,
            }  # fmt: skip
        for name, columns in table.constraints.items():
            yield f"{table.schema}.{table.name}.{name}", {
                "CONSTNAME": name, "TABSCHEMA": table.schema, "TABNAME": table.name, "OWNER": "DB2INST1",
                "OWNERTYPE": "U", "TYPE": "K", "ENFORCED": "Y", "TRUSTED": " ", "CHECKEXISTINGDATA": "I",
                "ENABLEQUERYOPT": "Y", "PERIODPOLICY": "N", "PERIODNAME": None, "REMARKS": None,
                **{column: value for column, value in columns.items() if column != "TEXT"},
            }  # fmt: skip


def columns_of_keys(world: World) -> Rows:
    """SYSCAT.KEYCOLUSE."""
    keys = [(key.name, key.child, key.columns) for key in world.foreign_keys]
    for table in world.tables.values():
        keys += [(index.name, (table.schema, table.name), _columns(index)) for index in _unique(table)]
    for name, table_name, columns in keys:
        for number, column in enumerate(columns, start=1):
            yield f"{'.'.join(table_name)}.{name}.{number}", {
                "CONSTNAME": name, "TABSCHEMA": table_name[0], "TABNAME": table_name[1], "COLNAME": column,
                "COLSEQ": number,
            }  # fmt: skip


def _unique(table: Table) -> list[Index]:
    return [index for index in table.indexes if index.unique in "UP"]


def _columns(index: Index) -> tuple[str, ...]:
    return tuple(word.lstrip("+-") for word in index.columns.split())


def _name_of_parent_key(world: World, key: ForeignKey) -> str:
    indexes = _unique(world.table(*key.parent))
    fitting = (index for index in indexes if set(_columns(index)) == set(key.parent_columns))
    return next((index.name for index in fitting), indexes[0].name if indexes else "")
