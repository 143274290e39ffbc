-- System names of indexes and logical files: CL takes no others. NULL for constraints and maintained temporary indexes.
-- Libraries that IBM ships are left out by name: those of users may begin with Q, too.
-- Reads: QSYS2.SYSPARTITIONINDEXES. Since: 7.1. Privilege: authority to the tables. Cost: a row an index a partition; with
-- the catalog only.
SELECT DISTINCT
       N.INDEX_SCHEMA,
       N.INDEX_NAME,
       N.SYSTEM_INDEX_SCHEMA,
       N.SYSTEM_INDEX_NAME
  FROM QSYS2.SYSPARTITIONINDEXES AS N
 WHERE N.SYSTEM_INDEX_NAME IS NOT NULL
   AND N.TABLE_SCHEMA NOT IN ('QSYS', 'QSYS2', 'QSYSINC', 'QSYSDIR', 'QSYSLOCALE', 'QHLPSYS', 'QTEMP', 'QRECOVERY', 'QSPL',
       'QSRV', 'QRPLOBJ', 'QGPLTEMP', 'QDOC', 'QGY', 'QIWS', 'QTCP', 'QHTTPSVR', 'QDEVTOOLS', 'SYSIBM', 'SYSIBMADM', 'SYSFUN',
       'SYSPROC', 'SYSTOOLS')
  WITH UR
