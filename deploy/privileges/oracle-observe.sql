-- A login that may look and not touch: enough for `hotplace run` at the level observe, and for planning.
--
--   sqlplus / as sysdba @oracle-observe.sql HOTPLACE
--
-- In a CDB: once in each PDB that is watched (ALTER SESSION SET CONTAINER = ...), with a local user. The script creates
-- no user, so that no password shows here:  CREATE USER hotplace IDENTIFIED BY ...;
-- Grants are on single views, no role and no ANY privilege. From 12.1.0.2 READ may stand in place of SELECT.
-- Where the configuration says  licensed: [diagnostics_pack]  it also needs DBA_HIST_SEG_STAT and DBA_HIST_SNAPSHOT, for
-- licensed: [advanced_compression]  DBA_ILMOBJECTS; hotplace doctor prints those grants too.
-- Nothing below belongs to the Diagnostics or Tuning Pack, to Heat Map or to ADO.
DEFINE login = &1
SET VERIFY OFF
WHENEVER SQLERROR CONTINUE

GRANT CREATE SESSION TO &login;

-- Which database answers, what it has and counts.
GRANT SELECT ON SYS.V_$INSTANCE TO &login;
GRANT SELECT ON SYS.V_$DATABASE TO &login;
GRANT SELECT ON SYS.V_$OPTION TO &login;
GRANT SELECT ON SYS.V_$PARAMETER TO &login;
GRANT SELECT ON SYS.V_$STATISTICS_LEVEL TO &login;
GRANT SELECT ON SYS.V_$ARCHIVE_DEST TO &login;
GRANT SELECT ON SYS.V_$RECOVERY_FILE_DEST TO &login;
-- How far standbys are behind while a move runs; may be left out.
GRANT SELECT ON SYS.V_$ARCHIVE_DEST_STATUS TO &login;
GRANT SELECT ON SYS.V_$LOG TO &login;
GRANT SELECT ON SYS.V_$ASM_DISKGROUP_STAT TO &login;

-- Counters, of every instance of a cluster.
GRANT SELECT ON SYS.GV_$INSTANCE TO &login;
GRANT SELECT ON SYS.GV_$STATISTICS_LEVEL TO &login;
GRANT SELECT ON SYS.GV_$SEGSTAT TO &login;
GRANT SELECT ON SYS.GV_$FILESTAT TO &login;
GRANT SELECT ON SYS.GV_$TEMPSTAT TO &login;
GRANT SELECT ON SYS.GV_$IOSTAT_FILE TO &login;
GRANT SELECT ON SYS.V_$DATAFILE TO &login;
GRANT SELECT ON SYS.V_$TABLESPACE TO &login;
GRANT SELECT ON SYS.GV_$SYSSTAT TO &login;
GRANT SELECT ON SYS.GV_$SYSTEM_EVENT TO &login;
GRANT SELECT ON SYS.GV_$BUFFER_POOL_STATISTICS TO &login;
-- Which statements a move made slower or faster; may be left out.
GRANT SELECT ON SYS.GV_$SQLSTATS TO &login;

-- Which blocks of large, hot tables are read; may be left out. V$BH and DBA_EXTENTS are dear where caches and segments are
-- large: what looks may take is limited by block_looks in the configuration, 0% for none.
GRANT SELECT ON SYS.V_$BH TO &login;
GRANT SELECT ON SYS.V_$BUFFER_POOL TO &login;
GRANT SELECT ON SYS.DBA_EXTENTS TO &login;

-- The same of one instance, for clusters where query servers cannot start on all of them (ORA-12850).
GRANT SELECT ON SYS.V_$ACTIVE_INSTANCES TO &login;
GRANT SELECT ON SYS.V_$SEGSTAT TO &login;
GRANT SELECT ON SYS.V_$FILESTAT TO &login;
GRANT SELECT ON SYS.V_$TEMPSTAT TO &login;
GRANT SELECT ON SYS.V_$IOSTAT_FILE TO &login;
GRANT SELECT ON SYS.V_$SYSSTAT TO &login;
GRANT SELECT ON SYS.V_$SYSTEM_EVENT TO &login;
GRANT SELECT ON SYS.V_$SQLSTATS TO &login;

-- Since 12.1; on 11.2 these six say ORA-00942, which does no harm.
GRANT SELECT ON SYS.V_$CONTAINERS TO &login;
GRANT SELECT ON SYS.GV_$CONTAINERS TO &login;
GRANT SELECT ON SYS.GV_$CON_SYSSTAT TO &login;
GRANT SELECT ON SYS.GV_$CON_SYSTEM_EVENT TO &login;
GRANT SELECT ON SYS.V_$CON_SYSSTAT TO &login;
GRANT SELECT ON SYS.V_$CON_SYSTEM_EVENT TO &login;

-- What there is, where it lives, and what stands in the way of moving it. No rows of any table.
GRANT SELECT ON SYS.DBA_OBJECTS TO &login;
GRANT SELECT ON SYS.DBA_SEGMENTS TO &login;
GRANT SELECT ON SYS.DBA_TABLES TO &login;
GRANT SELECT ON SYS.DBA_TAB_COLUMNS TO &login;
GRANT SELECT ON SYS.DBA_TAB_PARTITIONS TO &login;
GRANT SELECT ON SYS.DBA_TAB_SUBPARTITIONS TO &login;
GRANT SELECT ON SYS.DBA_INDEXES TO &login;
GRANT SELECT ON SYS.DBA_IND_PARTITIONS TO &login;
GRANT SELECT ON SYS.DBA_IND_SUBPARTITIONS TO &login;
GRANT SELECT ON SYS.DBA_PART_INDEXES TO &login;
-- How tables are partitioned, for hotplace rules propose --table; may be left out.
GRANT SELECT ON SYS.DBA_PART_TABLES TO &login;
GRANT SELECT ON SYS.DBA_CONSTRAINTS TO &login;
GRANT SELECT ON SYS.DBA_LOBS TO &login;
GRANT SELECT ON SYS.DBA_LOB_PARTITIONS TO &login;
GRANT SELECT ON SYS.DBA_LOB_SUBPARTITIONS TO &login;
GRANT SELECT ON SYS.DBA_MVIEW_LOGS TO &login;
GRANT SELECT ON SYS.DBA_QUEUE_TABLES TO &login;
GRANT SELECT ON SYS.DBA_EXTERNAL_TABLES TO &login;
GRANT SELECT ON SYS.DBA_FLASHBACK_ARCHIVE_TABLES TO &login;
GRANT SELECT ON SYS.DBA_TABLESPACES TO &login;
GRANT SELECT ON SYS.DBA_DATA_FILES TO &login;
GRANT SELECT ON SYS.DBA_TABLESPACE_USAGE_METRICS TO &login;
GRANT SELECT ON SYS.DBA_TS_QUOTAS TO &login;
GRANT SELECT ON SYS.DBA_SYS_PRIVS TO &login;

-- Whether a move still runs on the server after its agent has died.
GRANT SELECT ON SYS.GV_$SESSION TO &login;
