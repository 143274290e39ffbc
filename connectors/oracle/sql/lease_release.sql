-- Give the lease up.
-- Reads: nothing. Since: 11.2. Privilege: EXECUTE on SYS.DBMS_LOCK. Cost: a millisecond.
DECLARE
  answer INTEGER;
BEGIN
  answer := SYS.DBMS_LOCK.RELEASE(id => :id);
END;
