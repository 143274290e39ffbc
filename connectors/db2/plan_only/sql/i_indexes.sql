-- On which disk units each index lies. A partitioned index has a row for each member, the index of a join logical file one for
-- each table. A spanning index comes again with every partition of its table, hence DISTINCT and no TABLE_PARTITION.
-- Libraries that IBM ships are left out by name: those of users may begin with Q, too.
-- Reads: QSYS2.SYSPARTITIONINDEXDISK. Since: 7.1. Privilege: authority to the tables. Cost: as i_partitions.
SELECT DISTINCT
       X.INDEX_SCHEMA,
       X.INDEX_NAME,
       X.INDEX_MEMBER,
       X.TABLE_SCHEMA,
       X.TABLE_NAME,
       X.INDEX_TYPE,
       X.ASP_NUMBER,
       X.UNIT_NUMBER,
       X.UNIT_TYPE,
       X.UNIT_SPACE_USED
  FROM QSYS2.SYSPARTITIONINDEXDISK AS X
 WHERE X.TABLE_SCHEMA NOT IN ('QSYS', 'QSYS2', 'QSYSINC', 'QSYSDIR', 'QSYSLOCALE', 'QHLPSYS', 'QTEMP', 'QRECOVERY', 'QSPL',
       'QSRV', 'QRPLOBJ', 'QGPLTEMP', 'QDOC', 'QGY', 'QIWS', 'QTCP', 'QHTTPSVR', 'QDEVTOOLS', 'SYSIBM', 'SYSIBMADM', 'SYSFUN',
       'SYSPROC', 'SYSTOOLS')
  WITH UR
