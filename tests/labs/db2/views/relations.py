"""What hangs on the world's tables as rows of the emulated catalog: keys, columns, views, triggers; as in ``rows``."""

from __future__ import annotations

from tests.labs.db2.documented import views
from tests.labs.db2.views.rows import Rows
from tests.labs.db2.world import Table, World


def index_columns(world: World) -> Rows:
    """SYSCAT.INDEXCOLUSE."""
    orders = {"+": "A", "-": "D"}
    for index in (index for table in world.tables.values() for index in table.indexes):
        for number, column in enumerate(index.columns.split(), start=1):
            yield f"{index.schema}.{index.name}.{number}", {
                "INDSCHEMA": index.schema, "INDNAME": index.name, "COLNAME": column.lstrip("+-"),
                "COLSEQ": number, "COLORDER": orders.get(column[0], "I"),
            }  # fmt: skip


def columns(world: World) -> Rows:
    """SYSCAT.COLUMNS: the key, an identity; a LOB where the table has any; what is worked out from others; more."""
    for table in world.tables.values():
        if table.made is not None:
            yield from made_columns(table)
            continue
        kinds = [("SYSIBM.INTEGER", "D")]
        kinds += [(table.lob_type, "")] if any(part.lob_pages for part in table.parts) else []
        plain = [
            (f"C{number}", *kind) for number, kind in enumerate([*kinds, *[("SYSIBM.INTEGER", "A")] * table.generated])
        ]
        more = [(name, "SYSIBM.INTEGER", "") for name in table.more_columns]
        for number, (column, kind, generated) in enumerate([*plain, *more]):
            yield f"{table.schema}.{table.name}.{number}", {
                "TABSCHEMA": table.schema, "TABNAME": table.name, "COLNAME": column, "COLNO": number,
                "TYPESCHEMA": kind.split(".")[0], "TYPENAME": kind.split(".")[1], "NULLS": "N", "GENERATED": generated,
                "IDENTITY": "Y" if number == 0 else "N",
            }  # fmt: skip


def data_types(world: World) -> Rows:
    """SYSCAT.DATATYPES: those that a table can have here, and distinct types."""
    built_in = ("INTEGER", "BLOB", "CLOB", "DBCLOB", "XML", "VARCHAR")
    for name, source in {**dict.fromkeys((f"SYSIBM.{name}" for name in built_in), ""), **world.types}.items():
        schema, plain = name.split(".")
        source_schema, source_name = source.split(".") if source else (None, None)
        yield name, {
            "TYPESCHEMA": schema, "TYPENAME": plain, "SOURCESCHEMA": source_schema, "SOURCENAME": source_name,
            "METATYPE": "T" if source else "S", "OWNER": "DB2INST1" if source else "SYSIBM",
            "OWNERTYPE": "U" if source else "S",
        }  # fmt: skip


def made_columns(table: Table) -> Rows:
    """SYSCAT.COLUMNS of a table that a statement made."""
    assert table.made is not None
    for number, column in enumerate(table.made.columns):
        yield f"{table.schema}.{table.name}.{number}", {
            "TABSCHEMA": table.schema, "TABNAME": table.name, "COLNAME": column.name, "COLNO": number,
            "TYPESCHEMA": "SYSIBM", "TYPENAME": column.type, "LENGTH": column.length, "SCALE": column.scale,
            "DEFAULT": column.default, "NULLS": "Y" if column.nullable else "N", "GENERATED": column.generated,
            "IDENTITY": "Y" if column.identity else "N", "TEXT": column.text,
            "REMARKS": table.made.remarks.get(column.name), "COLCARD": table.rows if table.analysed else -1,
        }  # fmt: skip


def checks(world: World) -> Rows:
    """SYSCAT.CHECKS."""
    for table in world.tables.values():
        for constraint in () if table.made is None else table.made.constraints:
            if constraint.kind == "K":
                yield f"{table.schema}.{table.name}.{constraint.name}", {
                    "CONSTNAME": constraint.name, "OWNER": table.owner, "TABSCHEMA": table.schema,
                    "TABNAME": table.name, "TYPE": "C", "TEXT": constraint.text,
                }  # fmt: skip
        for name, columns in table.constraints.items():
            yield f"{table.schema}.{table.name}.{name}", {
                "CONSTNAME": name, "OWNER": table.owner, "TABSCHEMA": table.schema, "TABNAME": table.name, "TYPE": "C",
                "TEXT": columns.get("TEXT", "C0 > 0"),
            }  # fmt: skip


def schemata(world: World) -> Rows:
    """SYSCAT.SCHEMATA."""
    for name, owner in {**dict.fromkeys((table[0] for table in world.tables), "DB2INST1"), **world.schemas}.items():
        yield name, {"SCHEMANAME": name, "OWNER": owner, "OWNERTYPE": "U"}


def dependents(world: World) -> Rows:
    """SYSCAT.TABDEP; a routine of the same name, and what another table is made of, are there too."""
    for table in world.tables.values():
        me = {"BSCHEMA": table.schema, "BNAME": table.name, "OWNER": "DB2INST1"}
        yield f"{table.schema}.{table.name}", {
            "TABSCHEMA": table.schema, "TABNAME": "OF_A_ROUTINE", "DTYPE": "V", "BTYPE": "F", **me
        }  # fmt: skip
        for name, kind in table.dependents.items():
            yield f"{table.schema}.{table.name}.{name}", {
                "TABSCHEMA": table.schema, "TABNAME": name, "DTYPE": kind, "BTYPE": "T", **me
            }  # fmt: skip
        if table.staging:
            yield f"{table.schema}.{table.name} stages", {
                "TABSCHEMA": table.schema, "TABNAME": table.name, "DTYPE": "T", "BTYPE": "S", "OWNER": "DB2INST1",
                "BSCHEMA": table.schema, "BNAME": "SUMMED",
            }  # fmt: skip


def invalid_objects(world: World) -> Rows:
    """SYSCAT.INVALIDOBJECTS."""
    for table in world.tables.values():
        for name in sorted(table.invalid):
            yield f"{table.schema}.{name}", {
                "OBJECTSCHEMA": table.schema, "OBJECTNAME": name, "OBJECTTYPE": "V"
            }  # fmt: skip


def triggers(world: World) -> Rows:
    """SYSCAT.TRIGGERS."""
    for table in world.tables.values():
        for name, valid in table.triggers.items():
            yield f"{table.schema}.{name}", {
                "TRIGSCHEMA": table.schema, "TRIGNAME": name, "TABSCHEMA": table.schema, "TABNAME": table.name,
                "TRIGTIME": "A", "TRIGEVENT": "I", "GRANULARITY": "R", "VALID": valid, "OWNER": "DB2INST1",
                "OWNERTYPE": "U", "EVENTUPDATE": "N", "EVENTDELETE": "N", "EVENTINSERT": "Y", "QUALIFIER": table.schema,
                "FUNC_PATH": '"SYSIBM","SYSFUN"', "TEXT": f"CREATE TRIGGER {name} ...", "REMARKS": None,
                "COLLATIONSCHEMA": "SYSIBM", "COLLATIONNAME": "IDENTITY", **table.trigger_columns,
            }  # fmt: skip


def grants(world: World) -> Rows:
    """SYSCAT.TABAUTH; the owner has CONTROL."""
    for table in world.tables.values():
        for grantee, rights in {table.owner: "CONTROL=Y", **table.grants}.items():
            given = dict(right.split("=") for right in rights.split())
            kinds = ("CONTROL", "ALTER", "DELETE", "INDEX", "INSERT", "REF", "SELECT", "UPDATE")
            yield f"{table.schema}.{table.name}.{grantee}", {
                "TABSCHEMA": table.schema, "TABNAME": table.name, "GRANTEE": grantee,
                "GRANTEETYPE": _grantee_type(grantee, table), **{f"{k}AUTH": given.get(k, "N") for k in kinds},
            }  # fmt: skip


def _grantee_type(grantee: str, table: Table) -> str:
    return "U" if grantee == table.owner else "G" if grantee == "PUBLIC" else "R"


def _number_of(table: Table, column: str) -> int:
    if table.made is None:
        return int(column[1:])
    return [each.name for each in table.made.columns].index(column)


def column_grants(world: World) -> Rows:
    """SYSCAT.COLAUTH."""
    for table in world.tables.values():
        for grantee, rights in table.column_grants.items():
            for column, how in (right.split("=") for right in rights.split()):
                yield f"{table.schema}.{table.name}.{grantee}.{column}", {
                    "GRANTOR": table.owner, "GRANTORTYPE": "U", "GRANTEE": grantee,
                    "GRANTEETYPE": _grantee_type(grantee, table), "TABSCHEMA": table.schema,
                    "TABNAME": table.name, "COLNAME": column, "COLNO": _number_of(table, column),
                    "PRIVTYPE": how[0], "GRANTABLE": "G" if how.endswith("G") else "N",
                }  # fmt: skip


def package_dependencies(world: World) -> Rows:
    """SYSCAT.PACKAGEDEP."""
    for table in world.tables.values():
        for name in table.packages:
            yield f"{table.schema}.{table.name}.{name}", {
                "PKGSCHEMA": table.schema, "PKGNAME": name, "BTYPE": "T", "BSCHEMA": table.schema, "BNAME": table.name,
            }  # fmt: skip


def routines(world: World) -> Rows:
    """SYSCAT.ROUTINES: functions of this version, and the procedures of the laboratory."""
    found = [(view.plain, "F", len(view.arguments)) for view in views(world.version).values() if view.function]
    found += [("ADMIN_MOVE_TABLE", "P", 11), ("ADMIN_MOVE_TABLE", "P", 5), ("ADMIN_CMD", "P", 1)]
    for name, kind, parameters in found:
        yield f"{name}.{parameters}", {
            "ROUTINESCHEMA": "SYSPROC", "ROUTINENAME": name, "ROUTINETYPE": kind, "PARM_COUNT": parameters,
            "SPECIFICNAME": name if kind == "F" else f"{name}_{parameters}",
        }  # fmt: skip


def authorities(world: World) -> Rows:
    """SYSCAT.DBAUTH."""
    for grantee, rights in world.authorities.items():
        yield grantee, {
            "GRANTEE": grantee, "GRANTEETYPE": "G" if grantee == "PUBLIC" else "U",
            **{f"{right}AUTH": "Y" if right in rights else "N" for right in ("DBADM", "SQLADM", "CREATETAB")},
        }  # fmt: skip


def space_uses(world: World) -> Rows:
    """SYSCAT.TBSPACEAUTH."""
    for grantee, rights in world.authorities.items():
        for right in sorted(rights):
            if right.startswith("USE "):
                yield f"{grantee} {right}", {
                    "GRANTEE": grantee, "GRANTEETYPE": "G" if grantee == "PUBLIC" else "U", "USEAUTH": "Y",
                    "TBSPACE": right.removeprefix("USE "),
                }  # fmt: skip


def event_tables(world: World) -> Rows:
    """SYSCAT.EVENTTABLES."""
    for table in world.tables.values():
        for name in table.monitors:
            yield f"{table.schema}.{table.name}.{name}", {
                "EVMONNAME": name, "LOGICAL_GROUP": "UOW", "TABSCHEMA": table.schema, "TABNAME": table.name,
            }  # fmt: skip


def xml_schemas(world: World) -> Rows:
    """SYSCAT.XSROBJECTDEP."""
    for table in world.tables.values():
        for name in table.xml_schemas:
            yield f"{table.schema}.{table.name}.{name}", {
                "OBJECTSCHEMA": table.schema, "OBJECTNAME": name, "BTYPE": "T", "BSCHEMA": table.schema,
                "BNAME": table.name,
            }  # fmt: skip


def periods(world: World) -> Rows:
    """SYSCAT.PERIODS."""
    for table in world.tables.values():
        if table.history_of:
            yield f"{table.schema}.{table.name}", {
                "PERIODNAME": "SYSTEM_TIME", "TABSCHEMA": table.schema, "TABNAME": table.history_of, "PERIODTYPE": "S",
                "HISTORYTABSCHEMA": table.schema, "HISTORYTABNAME": table.name,
            }  # fmt: skip


def held_authorities(world: World) -> Rows:
    """AUTH_LIST_AUTHORITIES_FOR_AUTHID, by user; who is an administrator has those of the instance by its group."""
    of_public = world.authorities.get("PUBLIC", set())
    for user, rights in world.authorities.items():
        of_instance = {"SYSADM"} & rights
        for right in sorted((rights | of_public) & {"DBADM", "SQLADM", "CREATETAB", "SYSADM", "DATAACCESS"}):
            yield f"{user}.{right}", {
                "AUTHORITY": right, "D_USER": "*" if right in of_instance else "Y" if right in rights else "N",
                "D_GROUP": "Y" if right in of_instance else "N", "D_PUBLIC": "Y" if right in of_public else "N",
                "ROLE_USER": "N", "ROLE_GROUP": "N", "ROLE_PUBLIC": "N", "D_ROLE": "*",
            }  # fmt: skip


def locks(world: World) -> Rows:
    """MON_GET_LOCKS: locks of tables."""
    for handle, held in world.held.items():
        for name, mode in held.items():
            if name in world.tables:
                part = world.tables[name].parts[0]
                yield f"{handle}.{name}", {
                    "APPLICATION_HANDLE": handle, "MEMBER": 0, "LOCK_OBJECT_TYPE": "TABLE", "LOCK_MODE": mode,
                    "LOCK_STATUS": "G", "TBSP_ID": world.spaces[part.data].id, "TAB_FILE_ID": part.file_id % 32768,
                }  # fmt: skip
