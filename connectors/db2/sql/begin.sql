-- Begins the transaction of a statement that changes something. IBM's driver reconnects and silently sends a statement
-- again when the connection breaks under the first one of a transaction (automatic client reroute, on by default, and no
-- keyword of the connection string turns it off); under a later one it says SQL30108N. So a later one it is.
-- Reads: SYSIBM.SYSDUMMY1. Since: 9.7. Privilege: none. Cost: none.
SELECT 1
  FROM SYSIBM.SYSDUMMY1 AS D
