-- Waits for Exadata storage cells, which tier between flash and disk by themselves. None elsewhere.
-- Reads: GV$SYSTEM_EVENT. Since: 11.2. Privilege: SELECT on SYS.GV_$SYSTEM_EVENT. Cost: a few milliseconds an instance.
SELECT COUNT(*)
  FROM SYS.GV_$SYSTEM_EVENT E
 WHERE E.EVENT IN ('cell single block physical read', 'cell multiblock physical read', 'cell smart table scan')
   AND E.TOTAL_WAITS > 0
