-- hotplace, app: 3 moves by hand, 11.0 GiB; saves N waiting sessions, as predicted.
-- Of proposal 1, digest DIGEST, made TIME.
-- Approve it before you run this: hotplace approve 1. Its moves are then looked for in the catalog
-- until TIME, and their outcome is measured: hotplace history.
-- hotplace sends no statement of this file.
-- By hand, because Db2 for i moves data by its own balancer, and hotplace opens no session that may write there.
-- Run with: RUNSQLSTM SRCSTMF('FILE') COMMIT(*NONE) NAMING(*SQL), which stops at the first error; or Run SQL Scripts.

-- First a check that neither a balance nor a trace runs: an ASP has one at a time. Where one runs, or what
-- runs is not shown (QSYS2.ASP_INFO; in 7.6 with *IOSYSCFG or QIBM_IOSYSCFG_VIEW), it fails with SQLSTATE
-- 75001, and nothing is run. ENDASPBAL or TRCASPBAL SET(*OFF) ends what runs; DSPLOG LOG(QHST) shows when
-- each began and ended. A word in BALANCE_STATUS or TRACE_STATUS that is not known here fails, too.
-- CHKASPBAL lists units that are marked *ENDALC, which take nothing: resume or remove them first.
-- Lines that begin with CL: are taken by Run SQL Scripts. Where RUNSQLSTM of a release does not take them,
-- CALL QSYS2.QCMDEXC('command') does the same.
-- Balanced at the end: ASP(1).
BEGIN IF NOT EXISTS (SELECT 1 FROM QSYS2.ASP_INFO WHERE ASP_NUMBER = 1 AND COALESCE(BALANCE_STATUS, '') IN ('', 'COMPLETED', 'ENDED', 'STOPPED', 'CLEARED') AND COALESCE(TRACE_STATUS, '') IN ('', 'COMPLETED', 'ENDED', 'STOPPED', 'CLEARED')) THEN SIGNAL SQLSTATE '75001' SET MESSAGE_TEXT = 'ASP 1 is balanced or traced, or cannot be seen'; END IF; END;

-- move 1: index SHOP.ORDERS_IX from ASP1 HDD to ASP1 SSD, 1.0 GiB; saves N waiting sessions
CL: CHGLF FILE(SHOP/ORDERS_IX) UNIT(*SSD);

-- move 2: SHOP.ORDERS from ASP1 HDD to ASP1 SSD, 6.0 GiB; saves N waiting sessions
ALTER TABLE "SHOP"."ORDERS" ALTER UNIT SSD;

-- move 3: SHOP.ITEMS from ASP1 HDD to ASP1 SSD, 4.0 GiB; saves N waiting sessions
ALTER TABLE "SHOP"."ITEMS" ALTER UNIT SSD;

-- Last, and once for each ASP: what lies elsewhere than it is preferred moves, for all of the above.
-- Sessions feel it, so run it off the busy hours. TIMLMT (minutes, or *NOMAX) ends it; the next goes on.
CL: STRASPBAL TYPE(*MP) ASP(1) SUBTYPE(*CALC) TIMLMT(120) PRIORITY(*LOW);
-- to end it at once: CL: ENDASPBAL ASP(1);
-- SUBTYPE(*HDD) moves only what is preferred from HDD to SSD, SUBTYPE(*SSD) only what is not off SSD.
-- In place of all this, where it is the better tool, IBM's own balancer:
-- - hot up and cold down by extents, not by objects; it forgets with each balance, so trace again:
--   CL: TRCASPBAL SET(*ON) ASP(1) TIMLMT(*NOMAX);
--   CL: DLYJOB DLY(86400);
--   CL: TRCASPBAL SET(*OFF) ASP(1);
--   CL: STRASPBAL TYPE(*HSM) ASP(1) TIMLMT(120) PRIORITY(*LOW);
-- - arms evenly busy, by the same trace:
--   CL: STRASPBAL TYPE(*USAGE) ASP(1) TIMLMT(120);
-- - units evenly full, after some were added; without a trace:
--   CL: STRASPBAL TYPE(*CAPACITY) ASP(1) TIMLMT(*NOMAX);
-- - a unit that is to be taken out, by its number, takes nothing more, then gives up what it has:
--   CL: STRASPBAL TYPE(*ENDALC) UNIT(11);
--   CL: STRASPBAL TYPE(*MOVDTA);

-- The way back of each move; what comes before and after all of them is as above:
-- move 3: SHOP.ITEMS back to ASP1 HDD
--   ALTER TABLE "SHOP"."ITEMS" ALTER UNIT ANY;
-- move 2: SHOP.ORDERS back to ASP1 HDD
--   ALTER TABLE "SHOP"."ORDERS" ALTER UNIT ANY;
-- move 1: index SHOP.ORDERS_IX back to ASP1 HDD
--   CL: CHGLF FILE(SHOP/ORDERS_IX) UNIT(*ANY);
