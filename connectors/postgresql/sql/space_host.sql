-- What the server's host says of its mounts, and the user that the server runs as; NULL where it has no such file.
-- Reads: the server's files (pg_read_file). Since: 14. Privilege: superuser (pg_read_file). Cost: three small files.
SELECT current_setting('data_directory') AS data_directory,
       pg_read_file('/proc/self/mountinfo', 0, 1048576, true) AS mounts,
       pg_read_file('/etc/fstab', 0, 1048576, true) AS at_start,
       pg_read_file('/proc/self/status', 0, 65536, true) AS status
