-- Device descriptions of independent ASPs, by which CL calls them.
-- Reads: QSYS2.ASP_INFO. Since: 7.3. Privilege: none; 7.6: *IOSYSCFG or QIBM_IOSYSCFG_VIEW. Cost: a row each ASP.
SELECT A.ASP_NUMBER,
       A.DEVICE_DESCRIPTION_NAME
  FROM QSYS2.ASP_INFO AS A
 WHERE A.ASP_NUMBER > 32
  WITH UR
