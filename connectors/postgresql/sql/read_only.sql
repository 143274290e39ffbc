-- Whether sessions of this login can write: not on a standby, and not where they begin read-only, by a setting of the
-- server, the database or the role as it was when this session began: the one that logged in, whatever role it takes.
-- Reads: pg_settings. Since: 14. Privilege: none. Cost: under a millisecond.
SELECT pg_is_in_recovery() AS standby,
       s.reset_val = 'on' AS read_only,
       quote_ident(session_user) AS login,
       quote_ident(current_database()) AS database
  FROM pg_catalog.pg_settings AS s
 WHERE s.name = 'default_transaction_read_only'
