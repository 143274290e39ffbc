-- Why the data files of the tablespace that is given away cannot be moved, one sentence a row: it is missing or something
-- lies in it, or a right is missing.
-- Reads: DBA_TABLESPACES, DBA_SEGMENTS, DBA_TS_QUOTAS, SESSION_PRIVS. Since: 11.2. Privilege: SELECT on the first three.
-- Cost: milliseconds.
SELECT 'there is no tablespace ' || {throw literal} AS WHY
  FROM SYS.DUAL
 WHERE NOT EXISTS (SELECT 1 FROM SYS.DBA_TABLESPACES T WHERE T.TABLESPACE_NAME = {throw literal})
UNION ALL
SELECT 'the tablespace ' || S.TABLESPACE_NAME || ' is not empty: ' || S.OWNER || '.' || S.SEGMENT_NAME || ' lies in it'
  FROM SYS.DBA_SEGMENTS S
 WHERE S.TABLESPACE_NAME = {throw literal}
   AND ROWNUM <= 3
UNION ALL
SELECT USER || ' has no quota in ' || T.TABLESPACE_NAME || ': ALTER USER ' || USER || ' QUOTA UNLIMITED ON '
       || T.TABLESPACE_NAME || ';'
  FROM SYS.DBA_TABLESPACES T
 WHERE T.TABLESPACE_NAME = {throw literal}
   AND NOT EXISTS (SELECT 1 FROM SYS.DBA_TS_QUOTAS Q
                    WHERE Q.TABLESPACE_NAME = T.TABLESPACE_NAME AND Q.USERNAME = USER AND Q.MAX_BYTES <> 0)
   AND NOT EXISTS (SELECT 1 FROM SYS.SESSION_PRIVS P WHERE P.PRIVILEGE = 'UNLIMITED TABLESPACE')
UNION ALL
SELECT USER || ' may not move data files: GRANT ALTER DATABASE TO ' || USER || ';'
  FROM SYS.DUAL
 WHERE NOT EXISTS (SELECT 1 FROM SYS.SESSION_PRIVS P WHERE P.PRIVILEGE = 'ALTER DATABASE')
