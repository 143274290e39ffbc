-- Room of the ASM disk groups, mirroring counted. The _STAT form: the other one looks for disks.
-- Reads: V$ASM_DISKGROUP_STAT. Since: 11.2. Privilege: SELECT on SYS.V_$ASM_DISKGROUP_STAT. Cost: a millisecond.
SELECT G.NAME, G.TYPE, G.USABLE_FILE_MB, G.FREE_MB
  FROM SYS.V_$ASM_DISKGROUP_STAT G
