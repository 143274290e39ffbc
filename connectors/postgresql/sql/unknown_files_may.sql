-- Whether this login may list the server's folders, which unknown_files does; on a standby it says nothing.
-- Reads: nothing but privileges. Since: 14. Privilege: none. Cost: under a millisecond.
SELECT quote_ident(current_user),
       pg_is_in_recovery(),
       has_function_privilege('pg_catalog.pg_ls_dir(text, boolean, boolean)', 'EXECUTE')
   AND has_function_privilege('pg_catalog.pg_stat_file(text, boolean)', 'EXECUTE')
   AND pg_has_role(current_user, 'pg_read_all_stats', 'USAGE')
