-- How far the standbys of an HADR pair are behind: bytes of log that each has not received, and received but not
-- replayed. One row each on a primary, none without HADR.
-- Reads: MON_GET_HADR. Since: 10.1. Privilege: EXECUTE on it. Cost: one row each.
SELECT H.STANDBY_ID,
       H.HADR_STATE,
       H.HADR_LOG_GAP,
       H.STANDBY_RECV_REPLAY_GAP
  FROM TABLE(SYSPROC.MON_GET_HADR(-2)) AS H
  WITH UR
