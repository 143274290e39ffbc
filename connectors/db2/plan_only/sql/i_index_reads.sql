-- Reads of each index, in totals since the last IPL; a row for each member, and one for each table partition of a spanning index.
-- IBM's pages were read only as far as its statistics of keys: counters are asked for only where a probe finds them.
-- Libraries that IBM ships are left out by name: those of users may begin with Q, too.
-- Reads: QSYS2.SYSPARTITIONINDEXSTAT. Since: 7.1. Privilege: authority to the tables. Cost: one row an index a partition.
SELECT I.INDEX_SCHEMA,
       I.INDEX_NAME,
       I.INDEX_MEMBER,
       I.LOGICAL_READS, -- since 7.1, BIGINT
       I.PHYSICAL_READS, -- since 7.1, BIGINT
       I.SEQUENTIAL_READS, -- since 7.1, BIGINT
       I.RANDOM_READS -- since 7.1, BIGINT
  FROM QSYS2.SYSPARTITIONINDEXSTAT AS I
 WHERE I.TABLE_SCHEMA NOT IN ('QSYS', 'QSYS2', 'QSYSINC', 'QSYSDIR', 'QSYSLOCALE', 'QHLPSYS', 'QTEMP', 'QRECOVERY', 'QSPL',
       'QSRV', 'QRPLOBJ', 'QGPLTEMP', 'QDOC', 'QGY', 'QIWS', 'QTCP', 'QHTTPSVR', 'QDEVTOOLS', 'SYSIBM', 'SYSIBMADM', 'SYSFUN',
       'SYSPROC', 'SYSTOOLS')
  WITH UR
