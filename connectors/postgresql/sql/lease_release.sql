-- Give the lease up.
-- Reads: nothing. Since: 14. Privilege: none. Cost: under a millisecond.
SELECT pg_advisory_unlock(%(key)s::bigint)
