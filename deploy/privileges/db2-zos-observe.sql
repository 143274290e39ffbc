-- Db2 for z/OS, plan-only: what hotplace reads there, and nothing that changes or resets anything. The user is written here
-- as HOTPLACE. Run it as somebody with ACCESSCTRL or SYSADM. Through ibm_db this also needs a Db2 Connect licence.

-- begin tables that the queries read
GRANT SELECT ON TABLE SYSIBM.SYSINDEXSPACESTATS TO HOTPLACE;
GRANT SELECT ON TABLE SYSIBM.SYSTABLEPART TO HOTPLACE;
GRANT SELECT ON TABLE SYSIBM.SYSTABLESPACE TO HOTPLACE;
GRANT SELECT ON TABLE SYSIBM.SYSTABLESPACESTATS TO HOTPLACE;
-- end
