-- Take the lease if it is free: an advisory lock of this database that ends with its session.
-- Reads: nothing. Since: 14. Privilege: none. Cost: under a millisecond.
SELECT pg_try_advisory_lock(%(key)s::bigint)
