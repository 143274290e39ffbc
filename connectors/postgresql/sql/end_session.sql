-- End a session of the same login; whether it was there.
-- Reads: nothing. Since: 14. Privilege: none for what belongs to the same login. Cost: under a millisecond.
SELECT pg_terminate_backend(%(pid)s::integer)
