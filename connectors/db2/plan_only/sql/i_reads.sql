-- System names, preference and reads of each table partition, in totals since the last IPL. Which columns there are differs by
-- release and PTF: those that were not seen in IBM's documentation are asked for only where a probe finds them.
-- Libraries that IBM ships are left out by name: those of users may begin with Q, too.
-- Reads: QSYS2.SYSPARTITIONSTAT. Since: 7.1. Privilege: authority to the tables. Cost: one row a partition.
SELECT P.TABLE_SCHEMA,
       P.TABLE_NAME,
       P.TABLE_PARTITION,
       P.SYSTEM_TABLE_SCHEMA,
       P.SYSTEM_TABLE_NAME,
       P.SYSTEM_TABLE_MEMBER,
       P.MEDIA_PREFERENCE, -- since 7.1, SMALLINT
       P.LOGICAL_READS, -- since 7.1, BIGINT
       P.PHYSICAL_READS, -- since 7.1, BIGINT
       P.SEQUENTIAL_READS, -- since 7.1, BIGINT
       P.RANDOM_READS -- since 7.1, BIGINT
  FROM QSYS2.SYSPARTITIONSTAT AS P
 WHERE P.TABLE_SCHEMA NOT IN ('QSYS', 'QSYS2', 'QSYSINC', 'QSYSDIR', 'QSYSLOCALE', 'QHLPSYS', 'QTEMP', 'QRECOVERY', 'QSPL',
       'QSRV', 'QRPLOBJ', 'QGPLTEMP', 'QDOC', 'QGY', 'QIWS', 'QTCP', 'QHTTPSVR', 'QDEVTOOLS', 'SYSIBM', 'SYSIBMADM', 'SYSFUN',
       'SYSPROC', 'SYSTOOLS')
  WITH UR
