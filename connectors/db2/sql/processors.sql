-- The processors that the host of each member has online; members of one host show the same ones.
-- Reads: ENV_GET_SYSTEM_RESOURCES. Since: 9.7. Privilege: EXECUTE on it. Cost: one row a member; more than a second on AIX
-- and Windows, so it is asked once a connection.
SELECT R.MEMBER,
       R.HOST_NAME,
       R.CPU_ONLINE
  FROM TABLE(SYSPROC.ENV_GET_SYSTEM_RESOURCES()) AS R
  WITH UR
