-- Blocks of some segments that are in the buffer cache of this instance, each once: older versions of a block lie in
-- buffers of their own, and a block that other instances hold too is shared (scur). OBJD is the data object, which a move
-- changes. Of so many blocks one is listed, by a hash of its number, so that no regular load falls through.
-- Reads: V$BH. Since: 11.2. Privilege: SELECT on SYS.V_$BH. Cost: a walk over all buffer headers of the instance,
-- whichever segments are asked for (a fixed table without an index), each under the latch of its hash chain for an
-- instant. Not measured by us: of the same order as PostgreSQL's 0.3 to 0.5 us per buffer is assumed.
SELECT B.OBJD, B.FILE#, B.BLOCK#
  FROM SYS.V_$BH B
 WHERE B.OBJD IN (:i0, :i1, :i2, :i3, :i4, :i5, :i6, :i7, :i8, :i9,
                  :i10, :i11, :i12, :i13, :i14, :i15, :i16, :i17, :i18, :i19)
   AND B.STATUS IN ('xcur', 'scur', 'cr', 'read')
   AND MOD(FLOOR(MOD(B.BLOCK# * 2654435761, 4294967296) / 65536), :one_in) = 0
 GROUP BY B.OBJD, B.FILE#, B.BLOCK#
