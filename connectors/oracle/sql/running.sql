-- Whether a session still executes a statement of this move; the mover names it by module and action.
-- Reads: GV$SESSION. Since: 11.2. Privilege: SELECT on SYS.GV_$SESSION. Cost: one row a session.
SELECT COUNT(*)
  FROM SYS.GV_$SESSION S
 WHERE S.MODULE = 'hotplace' AND S.ACTION = :action AND S.STATUS = 'ACTIVE'
