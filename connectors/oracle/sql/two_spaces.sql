-- What two tablespaces must agree in for a move between them.
-- Reads: DBA_TABLESPACES. Since: 11.2. Privilege: SELECT on it. Cost: milliseconds.
SELECT T.TABLESPACE_NAME, T.BLOCK_SIZE, T.CONTENTS, T.STATUS, T.ENCRYPTED, T.FORCE_LOGGING,
       T.SEGMENT_SPACE_MANAGEMENT
  FROM SYS.DBA_TABLESPACES T
 WHERE T.TABLESPACE_NAME IN (:source, :target)
