-- Columns of every index of one table, in their order: A ascending, D descending, I included only.
-- Reads: SYSCAT.INDEXCOLUSE, SYSCAT.INDEXES. Since: 9.7. Privilege: SELECT. Cost: a few rows.
SELECT U.INDSCHEMA,
       U.INDNAME,
       U.COLNAME,
       U.COLORDER
  FROM SYSCAT.INDEXCOLUSE AS U
 WHERE EXISTS (SELECT 1
                 FROM SYSCAT.INDEXES AS I
                WHERE I.INDSCHEMA = U.INDSCHEMA
                  AND I.INDNAME = U.INDNAME
                  AND I.TABSCHEMA = CAST(? AS VARCHAR(128))
                  AND I.TABNAME = CAST(? AS VARCHAR(128)))
 ORDER BY U.INDSCHEMA, U.INDNAME, U.COLSEQ
  WITH UR
