"""Which function fills which view or function of the emulated catalog; those that are not here are empty."""

from __future__ import annotations

from collections.abc import Callable

from tests.labs.db2.views import constraints, queues, relations, rows
from tests.labs.db2.world import World

FILLED: dict[str, Callable[[World], rows.Rows]] = {
    "SYSCAT.TABLESPACES": rows.tablespaces,
    "SYSCAT.STOGROUPS": rows.stogroups,
    "SYSCAT.TABLES": rows.tables,
    "SYSCAT.DATAPARTITIONS": rows.data_partitions,
    "SYSCAT.INDEXES": rows.indexes,
    "SYSCAT.REFERENCES": constraints.references,
    "SYSCAT.TABCONST": constraints.constraints,
    "SYSCAT.KEYCOLUSE": constraints.columns_of_keys,
    "SYSCAT.COLUMNS": relations.columns,
    "SYSCAT.DATATYPES": relations.data_types,
    "SYSCAT.CHECKS": relations.checks,
    "SYSCAT.SCHEMATA": relations.schemata,
    "AUTH_LIST_AUTHORITIES_FOR_AUTHID": relations.held_authorities,
    "MON_GET_LOCKS": relations.locks,
    "SYSCAT.INDEXCOLUSE": relations.index_columns,
    "SYSCAT.TABDEP": relations.dependents,
    "SYSCAT.INVALIDOBJECTS": relations.invalid_objects,
    "SYSCAT.TRIGGERS": relations.triggers,
    "SYSCAT.TABAUTH": relations.grants,
    "SYSCAT.COLAUTH": relations.column_grants,
    "SYSCAT.PACKAGEDEP": relations.package_dependencies,
    "SYSCAT.DBAUTH": relations.authorities,
    "SYSCAT.ROUTINES": relations.routines,
    "SYSCAT.TBSPACEAUTH": relations.space_uses,
    "SYSCAT.EVENTTABLES": relations.event_tables,
    "SYSCAT.XSROBJECTDEP": relations.xml_schemas,
    "SYSCAT.PERIODS": relations.periods,
    "MON_GET_TABLE": rows.mon_table,
    "MON_GET_INDEX": rows.mon_index,
    "MON_GET_TABLESPACE": rows.mon_tablespace,
    "MON_GET_CONTAINER": rows.mon_container,
    "MON_GET_BUFFERPOOL": rows.mon_bufferpool,
    "MON_GET_CONNECTION": rows.mon_connection,
    "MON_GET_DATABASE": rows.mon_database,
    "MON_GET_REBALANCE_STATUS": rows.rebalances,
    "MON_GET_UTILITY": rows.utilities,
    "MON_GET_PKG_CACHE_STMT": queues.package_cache,
    "MON_GET_HADR": queues.standbys,
    "MON_GET_TRANSACTION_LOG": queues.transaction_log,
    "ADMIN_GET_STORAGE_PATHS": rows.storage_paths,
    "DB_MEMBERS": rows.members,
    "ADMIN_GET_TAB_INFO": rows.table_info,
    "SYSTOOLS.ADMIN_MOVE_TABLE": rows.protocol,
    "SYSPROC.DB_GET_CFG": rows.configuration,
    "SYSIBM.SYSVERSIONS": rows.versions,
    "SYSIBMADM.ENV_INST_INFO": rows.instance,
    "SYSIBMADM.ENV_PROD_INFO": rows.products,
    "SYSIBMADM.DB2_CF": rows.facilities,
}
