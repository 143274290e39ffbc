-- What the server finds at a place: a folder or something else, NULL for nothing, and how many things are in it.
-- Reads: the server's files (pg_ls_dir, pg_stat_file). Since: 14. Privilege: superuser. Cost: a look into one folder.
SELECT f.isdir AS is_folder,
       CASE WHEN f.isdir THEN (SELECT count(*) FROM pg_ls_dir(%(place)s, true, false)) END AS entries
  FROM pg_stat_file(%(place)s, true) AS f
