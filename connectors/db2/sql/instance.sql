-- Size and kind of the instance. Reads: SYSIBMADM.ENV_INST_INFO. Since: 9.7. Privilege: SELECT. Cost: one row.
SELECT I.SERVICE_LEVEL,
       I.NUM_DBPARTITIONS,
       I.NUM_MEMBERS -- since 10.1, INTEGER
  FROM SYSIBMADM.ENV_INST_INFO AS I
  WITH UR
