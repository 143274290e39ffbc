-- Tablespaces for permanent data: block size, bytes that hold segments, bytes allocated to files, and how far the files
-- may grow by themselves (in a USED_SPACE of blocks only that column is read: TABLESPACE_SIZE means another thing in
-- every release).
-- Reads: DBA_TABLESPACES, DBA_DATA_FILES, DBA_TABLESPACE_USAGE_METRICS. Since: 11.2. Never DBA_FREE_SPACE.
-- Privilege: SELECT on those. Cost: tens of milliseconds.
SELECT T.TABLESPACE_NAME,
       T.BLOCK_SIZE,
       M.USED_SPACE * T.BLOCK_SIZE AS USED_BYTES,
       F.ALLOCATED,
       F.LIMIT,
       F.PATH
  FROM SYS.DBA_TABLESPACES T
  LEFT JOIN (SELECT D.TABLESPACE_NAME,
                    SUM(D.BYTES) AS ALLOCATED,
                    SUM(CASE WHEN D.AUTOEXTENSIBLE = 'YES' AND D.MAXBYTES > D.BYTES THEN D.MAXBYTES ELSE D.BYTES END)
                        AS LIMIT,
                    MIN(D.FILE_NAME) AS PATH
               FROM SYS.DBA_DATA_FILES D
              GROUP BY D.TABLESPACE_NAME) F ON F.TABLESPACE_NAME = T.TABLESPACE_NAME
  LEFT JOIN SYS.DBA_TABLESPACE_USAGE_METRICS M ON M.TABLESPACE_NAME = T.TABLESPACE_NAME
 WHERE T.CONTENTS = 'PERMANENT'
   AND T.TABLESPACE_NAME NOT IN ('SYSTEM', 'SYSAUX')
 ORDER BY T.TABLESPACE_NAME
