-- Which instance answers, how large its blocks are, and how many buffers a walk over its cache meets.
-- Reads: V$INSTANCE, V$PARAMETER, V$BUFFER_POOL. Since: 11.2.
-- Privilege: SELECT on SYS.V_$INSTANCE, SYS.V_$PARAMETER, SYS.V_$BUFFER_POOL. Cost: a millisecond.
SELECT I.INSTANCE_NUMBER,
       P.VALUE AS BLOCK_BYTES,
       (SELECT SUM(B.BUFFERS) FROM SYS.V_$BUFFER_POOL B) AS BUFFERS
  FROM SYS.V_$INSTANCE I
  JOIN SYS.V_$PARAMETER P ON P.NAME = 'db_block_size'
