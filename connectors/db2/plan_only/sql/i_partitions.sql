-- On which disk units each table partition lies: one row for each unit.
-- Libraries that IBM ships are left out by name: those of users may begin with Q, too.
-- Reads: QSYS2.SYSPARTITIONDISK. Since: 7.1. Privilege: authority to the tables. Cost: a row a partition a unit; slow on
-- large systems, so with the catalog only, never with a sample.
SELECT D.TABLE_SCHEMA,
       D.TABLE_NAME,
       D.TABLE_PARTITION,
       D.ASP_NUMBER,
       D.UNIT_NUMBER,
       D.UNIT_TYPE,
       D.UNIT_SPACE_USED,
       D.UNIT_MEDIA_CAPACITY,
       D.UNIT_SPACE_AVAILABLE
  FROM QSYS2.SYSPARTITIONDISK AS D
 WHERE D.TABLE_SCHEMA NOT IN ('QSYS', 'QSYS2', 'QSYSINC', 'QSYSDIR', 'QSYSLOCALE', 'QHLPSYS', 'QTEMP', 'QRECOVERY', 'QSPL',
       'QSRV', 'QRPLOBJ', 'QGPLTEMP', 'QDOC', 'QGY', 'QIWS', 'QTCP', 'QHTTPSVR', 'QDEVTOOLS', 'SYSIBM', 'SYSIBMADM', 'SYSFUN',
       'SYSPROC', 'SYSTOOLS')
  WITH UR
