-- Table spaces by the catalog. Reads: SYSCAT.TABLESPACES. Since: 9.7. Privilege: SELECT. Cost: one row each.
SELECT S.TBSPACEID,
       S.TBSPACE,
       S.TBSPACETYPE,
       S.DATATYPE,
       S.PAGESIZE,
       S.EXTENTSIZE,
       S.OVERHEAD,
       S.TRANSFERRATE,
       S.SGNAME, -- since 10.1, VARCHAR(128)
       S.DATATAG, -- since 10.1, SMALLINT
       S.DBPGNAME
  FROM SYSCAT.TABLESPACES AS S
  WITH UR
