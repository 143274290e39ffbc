-- Take the lease if it is free: a user lock that ends with its session, the same on every instance. 4: ours already.
-- Reads: nothing. Since: 11.2. Privilege: EXECUTE on SYS.DBMS_LOCK. Cost: a millisecond.
DECLARE
  answer INTEGER;
BEGIN
  answer := SYS.DBMS_LOCK.REQUEST(id => :id, lockmode => 6, timeout => 0, release_on_commit => FALSE);
  IF answer NOT IN (0, 4) THEN
    RAISE_APPLICATION_ERROR(-20054, 'the lease is held by another session');
  END IF;
END;
