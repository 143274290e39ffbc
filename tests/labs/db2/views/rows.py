"""The world as rows of the emulated catalog: one function a view, each row a mapping of documented columns.

A column that a row leaves out is zero or null. Keys are unique within a view; they let changes be told from new rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import datetime

from tests.labs.db2.documented import NEWEST, views
from tests.labs.db2.world import CREATED, EXTENT, OF_THE_SYSTEM, PAGE_SIZE, Index, Part, Table, TableSpace, World

Value = int | float | str | bytes | datetime | None
Row = Mapping[str, Value]
Rows = Iterator[tuple[str, Row]]


def _members(world: World) -> range:
    return range(world.behaviour.members)


def _share(world: World, pages: int, member: int) -> int:
    """What a member tells of so many pages: its part of them; on pureScale all, for there is one disk."""
    members = world.behaviour.members
    return pages if world.behaviour.pure_scale else pages // members + (member < pages % members)


def _sized_by(world: World) -> range:
    """Members whose sizes are told apart; on pureScale one row speaks of the disk."""
    return range(1) if world.behaviour.pure_scale else _members(world)


def _id(world: World, space: str) -> int:
    return world.spaces[space].id


def _parts(world: World) -> Iterator[tuple[Table, Part]]:
    return ((table, part) for table in world.tables.values() for part in table.parts)


def _indexes(world: World) -> Iterator[tuple[Table, Index]]:
    return ((table, index) for table in world.tables.values() for index in table.indexes)


def tablespaces(world: World) -> Rows:
    """SYSCAT.TABLESPACES."""
    for space in world.spaces.values():
        yield space.name, {
            "TBSPACE": space.name, "TBSPACEID": space.id, "DATATYPE": space.data_type,
            "TBSPACETYPE": "S" if space.system_managed else "D", "DBPGNAME": space.partition_group,
            "EXTENTSIZE": EXTENT, "PAGESIZE": PAGE_SIZE, "OVERHEAD": -1.0, "TRANSFERRATE": -1.0,
            "SGNAME": space.group or None, "CREATE_TIME": CREATED, "BUFFERPOOLID": 1, "OWNER": "SYSIBM",
        }  # fmt: skip


def stogroups(world: World) -> Rows:
    """SYSCAT.STOGROUPS."""
    for group in world.groups.values():
        yield group.name, {
            "SGNAME": group.name, "SGID": group.id, "DEFAULTSG": "Y" if group.default else "N",
            "OVERHEAD": group.overhead, "DEVICEREADRATE": group.read_rate, "CREATE_TIME": CREATED,
        }  # fmt: skip


def tables(world: World) -> Rows:
    """SYSCAT.TABLES. A partitioned table has no table space of its own."""
    for table in world.tables.values():
        part = table.parts[0]
        spaces = {"TBSPACE": part.data, "INDEX_TBSPACE": part.index, "LONG_TBSPACE": part.long}
        me = (table.schema, table.name)
        keys = world.keys_of(*me)
        counted, filled = (table.rows, sum(p.pages for p in table.parts)) if table.analysed else (-1, -1)
        yield f"{table.schema}.{table.name}", {
            "TABSCHEMA": table.schema, "TABNAME": table.name, "TYPE": table.type, "STATUS": "N", "ACCESS_MODE": "F",
            "TABLEORG": table.organized, "TEMPORALTYPE": "N", "CARD": counted, "TABLEID": part.file_id % 32768,
            "FPAGES": filled, "NPAGES": filled, "CLUSTERED": table.clustered,
            "CONTROL": table.control, "PROTECTIONGRANULARITY": table.protection, "DATACAPTURE": table.capture,
            "PARENTS": sum(key.child == me for key in keys), "CHILDREN": sum(key.parent == me for key in keys),
            "SELFREFS": sum(key.parent == key.child for key in keys),
            "CHECKCOUNT": table.checks, "OWNER": table.owner, "REMARKS": _remark(table),
            "STATS_TIME": table.analysed_at if table.analysed else None, **(spaces if len(table.parts) == 1 else {}),
            "TBSPACEID": _id(world, part.data) if len(table.parts) == 1 else -6,
        }  # fmt: skip


def _remark(table: Table) -> str | None:
    return None if table.made is None else table.made.remarks.get("")


def data_partitions(world: World) -> Rows:
    """SYSCAT.DATAPARTITIONS; a table that is not partitioned has one row."""
    for table, part in _parts(world):
        bounds = table.ranges or (table.made.bounds if table.made is not None else [])
        low, high = bounds[part.id] if bounds else ("", "")
        yield f"{table.schema}.{table.name}.{part.id}", {
            "LOWINCLUSIVE": "Y", "LOWVALUE": low, "HIGHINCLUSIVE": "N", "HIGHVALUE": high,
            "TABSCHEMA": table.schema, "TABNAME": table.name, "DATAPARTITIONID": part.id, "STATUS": "",
            "DATAPARTITIONNAME": part.name, "TBSPACEID": _id(world, part.data), "SEQNO": part.id,
            "LONG_TBSPACEID": _id(world, part.long), "INDEX_TBSPACEID": _id(world, part.index), "FPAGES": part.pages,
        }  # fmt: skip


def indexes(world: World) -> Rows:
    """SYSCAT.INDEXES."""
    for table, index in _indexes(world):
        made_by_system = index.kind in OF_THE_SYSTEM
        yield f"{table.schema}.{table.name}.{index.iid}", {
            "INDSCHEMA": index.schema, "INDNAME": index.name, "TABSCHEMA": table.schema, "TABNAME": table.name,
            "IID": index.iid, "TBSPACEID": _id(world, table.parts[0].index),
            "NLEAF": index.pages if index.analysed else -1,
            "OWNER": "SYSIBM" if made_by_system else "DB2INST1", "OWNERTYPE": "S" if made_by_system else "U",
            "INDEXTYPE": f"{index.kind:4}", "UNIQUERULE": index.unique, "NLEVELS": 3, "COMPRESSION": "N",
            "VIEWNAME": "KEYS" if index.on_expression else None,
            "STATS_TIME": index.analysed_at if index.analysed else None,
            "FULLKEYCARD": table.rows if index.analysed else -1, "PCTFREE": -1, "REVERSE_SCANS": "Y",
            "MADE_UNIQUE": "N", "ENTRYTYPE": "", "REMARKS": None, **index.catalog,
        }  # fmt: skip


def mon_table(world: World) -> Rows:
    """MON_GET_TABLE: object counters stay 0 unless mon_obj_metrics is EXTENDED."""
    for table, part in _parts(world):
        index_pages = sum(index.pages for index in table.indexes) if part.id == 0 else 0
        for member in _members(world):
            yield f"{table.schema}.{table.name}.{part.id}.{member}", {
                "TABSCHEMA": table.schema, "TABNAME": table.name, "MEMBER": member, "DBPARTITIONNUM": member,
                "TAB_TYPE": "USER_TABLE", "DATA_PARTITION_ID": part.id, "TAB_FILE_ID": part.file_id,
                "TBSP_ID": _id(world, part.data), "INDEX_TBSP_ID": _id(world, part.index),
                "LONG_TBSP_ID": _id(world, part.long), "DATA_OBJECT_L_PAGES": _share(world, part.pages, member),
                "LOB_OBJECT_L_PAGES": _share(world, part.lob_pages, member),
                "INDEX_OBJECT_L_PAGES": _share(world, index_pages, member),
                "TAB_ORGANIZATION": table.organized, **_metered(world, part.counts[member]),
            }  # fmt: skip
    yield "temporary", {
        "TABSCHEMA": "<65592><DB2INST1>", "TABNAME": "WORK", "MEMBER": 0, "DBPARTITIONNUM": 0, "TAB_TYPE": "TEMP_TABLE",
        "TAB_FILE_ID": 2, "TBSP_ID": 1, **_metered(world, Counter(OBJECT_DATA_L_READS=70, OBJECT_DATA_P_READS=70)),
    }  # fmt: skip


def mon_index(world: World) -> Rows:
    """MON_GET_INDEX: no name, only the number within the table."""
    for table, index in _indexes(world):
        for member in _members(world):
            yield f"{table.schema}.{table.name}.{index.iid}.{member}", {
                "TABSCHEMA": table.schema, "TABNAME": table.name, "IID": index.iid, "MEMBER": member,
                "NLEAF": index.pages, "NLEVELS": 3, **_metered(world, index.counts[member]),
            }  # fmt: skip


def _metered(world: World, counted: Counter[str]) -> dict[str, int]:
    """Counters at the collection level that is set."""
    level = world.behaviour.mon_obj_metrics
    extended = ("OBJECT_", "DIRECT_", "LOCK_")
    return {name: n for name, n in counted.items() if level == "EXTENDED" or not name.startswith(extended)}


def mon_tablespace(world: World) -> Rows:
    """MON_GET_TABLESPACE."""
    used = world.used_pages()
    for space in world.spaces.values():
        if space.name in world.behaviour.untouched:
            continue
        for member in _members(world):
            here = _share(world, used[space.name], member)
            total = _share(world, sum(space.files.values()), member) or -(-here // EXTENT) * EXTENT
            counted = space.counts[member] if world.behaviour.mon_obj_metrics != "NONE" else {}
            yield f"{space.name}.{member}", {
                **{name: n for name, n in counted.items() if name != "PAGES_READ"},
                **_state(world, space), "MEMBER": member, "DBPARTITIONNUM": member,
                "TBSP_USED_PAGES": here, "TBSP_TOTAL_PAGES": total, "TBSP_USABLE_PAGES": total,
                "TBSP_FREE_PAGES": total - here, "TBSP_PAGE_TOP": here,
            }  # fmt: skip


def _state(world: World, space: TableSpace) -> dict[str, Value]:
    return {
        "TBSP_NAME": space.name, "TBSP_ID": space.id, "TBSP_PAGE_SIZE": PAGE_SIZE, "TBSP_EXTENT_SIZE": EXTENT,
        "TBSP_TYPE": "SMS" if space.data_type == "T" or space.system_managed else "DMS",
        "TBSP_MAX_SIZE": space.max_pages * PAGE_SIZE or -1,
        "TBSP_CONTENT_TYPE": {"A": "ANY", "L": "LARGE", "T": "SYSTEMP", "U": "USRTEMP"}[space.data_type],
        "TBSP_USING_AUTO_STORAGE": int(bool(space.group)), "TBSP_AUTO_RESIZE_ENABLED": int(bool(space.group)),
        "AUTO_STORAGE_HYBRID": int(bool(space.group and space.leaving)), "RECLAIMABLE_SPACE_ENABLED": 1,
        "FS_CACHING": 0 if space.file_cached else 1, "TBSP_STATE": space.state,
        "TBSP_REBALANCER_MODE": space.rebalance.shown_mode() if space.rebalance else "NO_REBAL",
        "TBSP_PATHS_DROPPED": int(bool(space.left_group)), "CACHING_TIER": space.caching_tier or None,
        "STORAGE_GROUP_NAME": space.group or None,
        "STORAGE_GROUP_ID": world.groups[space.group].id if space.group else None,
    }  # fmt: skip


def mon_container(world: World) -> Rows:
    """MON_GET_CONTAINER: automatic storage puts member, table space and container numbers into the path."""
    used = world.used_pages()
    for space in world.spaces.values():
        for number, place in enumerate(world.places(space)):
            for member in _members(world):
                path = place.path or (
                    f"{place.group.path}/db2inst1/NODE{member:04}/SAMPLE/T{space.id:07}/C{number:07}.LRG"
                )
                pages = _share(world, place.pages or used[space.name], member)
                yield f"{space.name}.{path}.{member}", {
                    "TBSP_NAME": space.name, "TBSP_ID": space.id, "CONTAINER_NAME": path, "CONTAINER_ID": number,
                    "MEMBER": member, "CONTAINER_TYPE": "FILE_EXTENT_TAG", "TOTAL_PAGES": pages,
                    "USABLE_PAGES": pages, "ACCESSIBLE": 1, "FS_ID": str(place.group.id),
                    "FS_TOTAL_SIZE": place.group.capacity, "FS_USED_SIZE": world.used_bytes(place.group),
                    "PAGES_READ": space.counts[member]["PAGES_READ"] if number == 0 else 0,
                    "POOL_READ_TIME": space.counts[member]["POOL_READ_TIME"] if number == 0 else 0,
                }  # fmt: skip


def mon_bufferpool(world: World) -> Rows:
    """MON_GET_BUFFERPOOL: one pool, in which every table space is."""
    kept = tuple(views(NEWEST)["MON_GET_BUFFERPOOL"].columns)
    for member in _members(world):
        total: Counter[str] = Counter()
        for space in world.spaces.values():
            total.update({name: n for name, n in space.counts[member].items() if name in kept})
        yield str(member), {"BP_NAME": "IBMDEFAULTBP", "MEMBER": member, "BP_CUR_BUFFSZ": 1000, **total}


def storage_paths(world: World) -> Rows:
    """ADMIN_GET_STORAGE_PATHS."""
    for group in world.groups.values():
        for member in _members(world):
            yield f"{group.name}.{member}", {
                "STORAGE_GROUP_NAME": group.name, "STORAGE_GROUP_ID": group.id, "DBPARTITIONNUM": member,
                "DB_STORAGE_PATH": group.path, "DB_STORAGE_PATH_STATE": "IN_USE", "FS_ID": str(group.id),
                "FS_TOTAL_SIZE": group.capacity, "FS_USED_SIZE": world.used_bytes(group),
                "STO_PATH_FREE_SIZE": world.free_bytes(group),
            }  # fmt: skip


def members(world: World) -> Rows:
    """DB_MEMBERS."""
    hosts = world.behaviour.hosts
    for member in _members(world):
        yield str(member), {
            "MEMBER_NUMBER": member, "HOST_NAME": hosts[member % len(hosts)], "PARTITION_NUMBER": member,
            "MEMBER_TYPE": "D", "PORT_NUMBER": member, "STATUS": 0,
        }  # fmt: skip


def resources(world: World) -> Rows:
    """ENV_GET_SYSTEM_RESOURCES."""
    hosts, online = world.behaviour.hosts, world.behaviour.processors
    for member in _members(world):
        yield str(member), {
            "MEMBER": member, "HOST_NAME": hosts[member % len(hosts)], "CPU_TOTAL": online, "CPU_ONLINE": online,
            "CPU_CONFIGURED": online,
        }  # fmt: skip


def mon_database(world: World) -> Rows:
    """MON_GET_DATABASE."""
    for member in _members(world):
        yield str(member), {
            "MEMBER": member, "DB_STATUS": "ACTIVE", "DB_ACTIVATION_STATE": "EXPLICIT",
            "DB_CONN_TIME": world.activated.get(member, world.started), "LAST_BACKUP": world.last_backup,
            **world.database[member],
        }  # fmt: skip


PAGES_READ = ("POOL_DATA_P_READS", "POOL_INDEX_P_READS", "POOL_XDA_P_READS")
CONNECTION_FIGURES = (
    "CLIENT_IDLE_WAIT_TIME", "TOTAL_APP_RQST_TIME", "ACT_COMPLETED_TOTAL", "POOL_READ_TIME", "DIRECT_READ_TIME",
    "PREFETCH_WAIT_TIME", *PAGES_READ,
)  # fmt: skip


def mon_connection(world: World) -> Rows:
    """MON_GET_CONNECTION: a row for each member that works for a connection; over the wire, of those that have read."""
    for each in [*world.load, *world.wire.values()]:
        yield f"{each.handle}.{each.member}", {
            "APPLICATION_HANDLE": each.handle, "CONNECTION_START_TIME": each.started, "MEMBER": each.member,
            "COORD_MEMBER": 0, "SYSTEM_AUTH_ID": each.user, "SESSION_AUTH_ID": each.user,
            "APPLICATION_NAME": each.application, **{name: each.figures.get(name, 0) for name in CONNECTION_FIGURES},
        }  # fmt: skip


def rebalances(world: World) -> Rows:
    """MON_GET_REBALANCE_STATUS: a row a member, only while one is under way or suspended."""
    for space in world.spaces.values():
        for member in _members(world) if space.rebalance else ():
            assert space.rebalance is not None
            extents = _share(world, space.rebalance.extents, member)
            done = _share(world, int(space.rebalance.processed), member)
            yield f"{space.name}.{member}", {
                "TBSP_NAME": space.name, "DBPARTITIONNUM": member, "MEMBER": member,
                "REBALANCER_MODE": space.rebalance.shown_mode(),
                "REBALANCER_STATUS": "SUSPENDED" if space.rebalance.suspended else "ACTIVE",
                "REBALANCER_EXTENTS_PROCESSED": done, "REBALANCER_START_TIME": space.rebalance.started,
                "REBALANCER_EXTENTS_REMAINING": extents - done,
            }  # fmt: skip


def utilities(world: World) -> Rows:
    """MON_GET_UTILITY."""
    for utility in world.utilities.values():
        yield str(utility.id), {
            "MEMBER": 0, "COORD_MEMBER": 0, "APPLICATION_HANDLE": utility.handle, "UTILITY_ID": utility.id,
            "UTILITY_START_TIME": utility.started, "UTILITY_TYPE": utility.kind, "OBJECT_TYPE": "TABLE",
            "OBJECT_SCHEMA": utility.schema, "OBJECT_NAME": utility.table,
        }  # fmt: skip


def table_info(world: World) -> Rows:
    """ADMIN_GET_TAB_INFO: kilobytes, a row a database partition; pureScale has one row."""
    kilobytes = PAGE_SIZE // 1024
    for table, part in _parts(world):
        own = sum(index.pages for index in table.indexes) if part.id == 0 else 0
        for member in _sized_by(world):
            pages = {"DATA": part.pages, "LOB": part.lob_pages, "INDEX": own}
            sizes = {kind: _share(world, count, member) * kilobytes for kind, count in pages.items()}
            yield f"{table.schema}.{table.name}.{part.id}.{member}", {
                "TABSCHEMA": table.schema, "TABNAME": table.name, "DBPARTITIONNUM": member,
                "DATA_PARTITION_ID": part.id, **_told(table, sizes),
            }  # fmt: skip


def _told(table: Table, sizes: Mapping[str, int]) -> dict[str, Value]:
    """Of a table that is not available everything else is NULL."""
    told: dict[str, Value] = {
        "REORG_PENDING": "Y" if table.reorg_pending else "N",
        "LOAD_STATUS": table.load_status or None,
        **{f"{kind}_OBJECT_{size}_SIZE": n for kind, n in sizes.items() for size in "LP"},
    }
    available = {"AVAILABLE": "Y" if table.available else "N"}
    return {**(told if table.available else dict.fromkeys(told)), **available}


def protocol(world: World) -> Rows:
    """SYSTOOLS.ADMIN_MOVE_TABLE."""
    for (schema, name), move in world.moves.items():
        for key, value in move.protocol.items():
            yield f"{schema}.{name}.{key}", {"TABSCHEMA": schema, "TABNAME": name, "KEY": key, "VALUE": value}


def configuration(world: World) -> Rows:
    """DB_GET_CFG."""
    values = {"mon_obj_metrics": world.behaviour.mon_obj_metrics, "mon_req_metrics": "BASE"}
    values["mon_act_metrics"] = world.behaviour.mon_act_metrics
    values["auto_reval"] = world.behaviour.auto_reval
    values["hadr_db_role"] = world.behaviour.hadr_role
    values["blocknonlogged"] = world.behaviour.blocknonlogged
    values |= {"logarchmeth1": world.behaviour.logarchmeth1, "logarchmeth2": "OFF"}
    values |= dict(zip(("logfilsiz", "logprimary", "logsecond"), map(str, world.behaviour.log_files), strict=True))
    for member in _members(world):
        for name, value in values.items():
            yield f"{name}.{member}", {"NAME": name, "VALUE": value, "MEMBER": member}


def versions(world: World) -> Rows:
    """SYSIBM.SYSVERSIONS."""
    packed = world.version[0] * 1000000 + world.version[1] * 10000
    yield "1", {"VERSIONNUMBER": packed, "VERSION_TIMESTAMP": CREATED}


def instance(world: World) -> Rows:
    """SYSIBMADM.ENV_INST_INFO."""
    level = f"DB2 v{world.version[0]}.{world.version[1]}.0.0 (emulated server)"
    members = world.behaviour.members
    partitions = 1 if world.behaviour.pure_scale else members
    yield "1", {"SERVICE_LEVEL": level, "NUM_MEMBERS": members, "NUM_DBPARTITIONS": partitions}


def products(_world: World) -> Rows:
    """SYSIBMADM.ENV_PROD_INFO."""
    yield "1", {"INSTALLED_PROD": "EMULATED", "LICENSE_INSTALLED": "Y", "LICENSE_TYPE": "EMULATED SERVER"}


def facilities(world: World) -> Rows:
    """SYSIBMADM.DB2_CF: any row means pureScale."""
    if world.behaviour.pure_scale:
        yield "1", {"ID": 128}
