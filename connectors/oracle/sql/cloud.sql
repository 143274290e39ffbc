-- The service of an Autonomous Database (OLTP, DWCS, JDCS ...), NULL elsewhere. Before 18c it is ORA-02003.
-- Reads: DUAL. Since: 18.1. Privilege: none. Cost: a millisecond.
SELECT SYS_CONTEXT('USERENV', 'CLOUD_SERVICE') AS SERVICE FROM SYS.DUAL
