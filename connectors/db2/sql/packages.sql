-- Packages of static SQL that use a table of one table space: they keep their access plans until they are bound again.
-- Reads: SYSCAT.PACKAGEDEP, SYSCAT.TABLES. Since: 9.7. Privilege: SELECT. Cost: the dependencies of the tables there.
SELECT DISTINCT D.PKGSCHEMA,
       D.PKGNAME
  FROM SYSCAT.PACKAGEDEP AS D
 WHERE D.BTYPE = 'T'
   AND EXISTS (SELECT 1
                 FROM SYSCAT.TABLES AS B
                WHERE B.TABSCHEMA = D.BSCHEMA
                  AND B.TABNAME = D.BNAME
                  AND CAST(? AS VARCHAR(128)) IN (B.TBSPACE, B.INDEX_TBSPACE, B.LONG_TBSPACE))
  WITH UR
