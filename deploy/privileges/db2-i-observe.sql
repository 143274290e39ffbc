-- Db2 for i, plan-only: what hotplace reads there, and nothing that changes anything. The catalog views of QSYS2 are open to
-- PUBLIC and show the objects that a user has some authority to; the user profile is written here as HOTPLACE.
-- For each library that is to be seen:
--   GRTOBJAUT OBJ(SHOP) OBJTYPE(*LIB) USER(HOTPLACE) AUT(*USE)
--   GRTOBJAUT OBJ(SHOP/*ALL) OBJTYPE(*FILE) USER(HOTPLACE) AUT(*OBJOPR)

GRANT SELECT ON QSYS2.SYSPARTITIONDISK TO HOTPLACE;
GRANT SELECT ON QSYS2.SYSPARTITIONINDEXDISK TO HOTPLACE;
GRANT SELECT ON QSYS2.SYSPARTITIONSTAT TO HOTPLACE;
GRANT SELECT ON QSYS2.ASP_INFO TO HOTPLACE;
