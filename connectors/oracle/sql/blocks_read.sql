-- Blocks of some objects that this instance has read into its cache since it was started; direct reads leave none there.
-- Reads: V$SEGSTAT. Since: 11.2. Privilege: SELECT on SYS.V_$SEGSTAT. Cost: one pass over a fixed table.
SELECT S.OBJ#, SUM(CASE WHEN S.STATISTIC_NAME = 'physical reads' THEN S.VALUE ELSE -S.VALUE END) AS BLOCKS
  FROM SYS.V_$SEGSTAT S
 WHERE S.STATISTIC_NAME IN ('physical reads', 'physical reads direct')
   AND S.OBJ# IN (:i0, :i1, :i2, :i3, :i4, :i5, :i6, :i7, :i8, :i9,
                  :i10, :i11, :i12, :i13, :i14, :i15, :i16, :i17, :i18, :i19)
 GROUP BY S.OBJ#
