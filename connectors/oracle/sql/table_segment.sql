-- Where the rows of a table or partition are, and how many bytes: a move of its LOB alone writes them again there.
-- Reads: DBA_SEGMENTS. Since: 11.2. Privilege: SELECT on it. Cost: by name, milliseconds.
SELECT S.TABLESPACE_NAME, S.BYTES
  FROM SYS.DBA_SEGMENTS S
 WHERE S.OWNER = :owner AND S.SEGMENT_NAME = :name AND NVL(S.PARTITION_NAME, ' ') = NVL(:part, ' ')
   AND S.SEGMENT_TYPE IN ('TABLE', 'TABLE PARTITION', 'TABLE SUBPARTITION')
