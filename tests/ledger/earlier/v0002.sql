-- A ledger of revision v0002, as that version wrote it: an approval is open across the upgrade.
BEGIN TRANSACTION;
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('v0002');
CREATE TABLE arrays (
	"database" TEXT NOT NULL, 
	name TEXT NOT NULL, 
	at BIGINT NOT NULL, 
	body BLOB NOT NULL, 
	PRIMARY KEY ("database", name)
);
INSERT INTO "arrays" VALUES('shop','heat',1772366525000000,X'28B52FFD2440250100F001130000005B5B2261222C20223C6938222C205B355D5D5D00010203040001003AC00980AE88B7');
CREATE TABLE asks (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	move_id INTEGER NOT NULL, 
	kind TEXT NOT NULL, 
	who TEXT NOT NULL, 
	origin TEXT NOT NULL, 
	reason TEXT NOT NULL, 
	at BIGINT NOT NULL, 
	answer TEXT NOT NULL, 
	FOREIGN KEY(move_id) REFERENCES moves (id)
);
INSERT INTO "asks" VALUES(1,3,'pause','ann','terminal','busy',1772366525000000,'');
CREATE TABLE audit (
	id INTEGER NOT NULL, 
	at BIGINT NOT NULL, 
	actor TEXT NOT NULL, 
	event TEXT NOT NULL, 
	subject TEXT NOT NULL, 
	facts TEXT NOT NULL, 
	previous TEXT NOT NULL, 
	hash TEXT NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "audit" VALUES(1,1772366400000000,'test','ledger.created','ledger.db','{"now": "v0002", "was": ""}','0000000000000000000000000000000000000000000000000000000000000000','0d4d02fe8213421369121b835ee64005dfbec48d0ecad472e52d9def90d4cdba');
INSERT INTO "audit" VALUES(2,1772366400000000,'test','proposal.stored','proposal 1','{"database": "shop", "digest": "9102bdc76fe30befde56bd31c9247a279ee7326c821e56d63e28e9bc5d6bb871", "moves": 1}','0d4d02fe8213421369121b835ee64005dfbec48d0ecad472e52d9def90d4cdba','6946408cc776e21dc0184398f648b51e88a77b0513d956e774055cabc7616731');
INSERT INTO "audit" VALUES(3,1772366400000000,'test','proposal.rejected','proposal 1','{"digest": "9102bdc76fe30befde56bd31c9247a279ee7326c821e56d63e28e9bc5d6bb871", "moves": [1], "origin": "terminal", "reason": "not now", "who": "bert"}','6946408cc776e21dc0184398f648b51e88a77b0513d956e774055cabc7616731','06fa367acfe1307271045b7667708040daaf9a7ab098678e29092071b9e92612');
INSERT INTO "audit" VALUES(4,1772366460000000,'test','proposal.stored','proposal 2','{"database": "shop", "digest": "881214ffe356e7c75f8636af996ba1d3d3cd1787280b4fd61f358b85f9a7cd9e", "moves": 2}','06fa367acfe1307271045b7667708040daaf9a7ab098678e29092071b9e92612','ea8a531226ba20631e1579edf0ca2264803823a297c509ef5f4b4125484285aa');
INSERT INTO "audit" VALUES(5,1772366460000000,'test','proposal.approved','proposal 2','{"digest": "881214ffe356e7c75f8636af996ba1d3d3cd1787280b4fd61f358b85f9a7cd9e", "moves": [1, 2], "origin": "terminal", "reason": "", "who": "anna"}','ea8a531226ba20631e1579edf0ca2264803823a297c509ef5f4b4125484285aa','c27d042e519706aa51cf2458febe65501e4ec311c934f05e582893cee4099786');
INSERT INTO "audit" VALUES(6,1772366520000000,'test','move.precheck','move 2','{"digest": "881214ffe356e7c75f8636af996ba1d3d3cd1787280b4fd61f358b85f9a7cd9e", "reason": "as planned", "was": "approved"}','c27d042e519706aa51cf2458febe65501e4ec311c934f05e582893cee4099786','46475973563efafa2befc12fccd99edfb43a5f51538b7259d0e91b29193074e1');
INSERT INTO "audit" VALUES(7,1772366520000000,'test','move.running','move 2','{"digest": "881214ffe356e7c75f8636af996ba1d3d3cd1787280b4fd61f358b85f9a7cd9e", "reason": "as planned", "was": "precheck"}','46475973563efafa2befc12fccd99edfb43a5f51538b7259d0e91b29193074e1','fcdbd5f8b2a33def36bd5c8576d9dcc23f143ed1fdd22e731d7917a63f2b458f');
INSERT INTO "audit" VALUES(8,1772366520000000,'test','step.intended','step 1','{"digest": "881214ffe356e7c75f8636af996ba1d3d3cd1787280b4fd61f358b85f9a7cd9e", "move": 2, "ordinal": 1, "sql": "ALTER TABLE public.t2 SET TABLESPACE fast"}','fcdbd5f8b2a33def36bd5c8576d9dcc23f143ed1fdd22e731d7917a63f2b458f','cc975751bf3e8f0f2a072953d1213840021bad9337db1ad5690a8b179bbb8792');
INSERT INTO "audit" VALUES(9,1772366525000000,'test','step.done','step 1','{"detail": ""}','cc975751bf3e8f0f2a072953d1213840021bad9337db1ad5690a8b179bbb8792','1bd5e1af986c1892670e231b623d6e24d396c215fb79b27aae8ef1f1cd1af3ef');
INSERT INTO "audit" VALUES(10,1772366525000000,'test','move.placed','move 2','{"digest": "881214ffe356e7c75f8636af996ba1d3d3cd1787280b4fd61f358b85f9a7cd9e", "reason": "as planned", "was": "running"}','1bd5e1af986c1892670e231b623d6e24d396c215fb79b27aae8ef1f1cd1af3ef','c4825c6757ccca82146ca56c7cf304f3fd0139149c40d42d08fc2490e1bd2fea');
INSERT INTO "audit" VALUES(11,1772366525000000,'test','move.settling','move 2','{"digest": "881214ffe356e7c75f8636af996ba1d3d3cd1787280b4fd61f358b85f9a7cd9e", "reason": "as planned", "was": "placed"}','c4825c6757ccca82146ca56c7cf304f3fd0139149c40d42d08fc2490e1bd2fea','4fdc0849c6c4c9a46ef142fe0633815bc383582da516184e6a0846db9cc7b200');
INSERT INTO "audit" VALUES(12,1772366525000000,'test','proposal.stored','proposal 3','{"database": "hr", "digest": "1e9970d481614b49ade7fc0cebf3b745c4e2858eea3cfd05d964b7e48f39a270", "moves": 1}','4fdc0849c6c4c9a46ef142fe0633815bc383582da516184e6a0846db9cc7b200','09430f71ecb429913447af5da176bdbc848c6ff602552c261f73998e11ad0a1e');
INSERT INTO "audit" VALUES(13,1772366525000000,'test','pin.set','shop public.t9','{"pin": "none", "reason": "is read at night", "until": null, "who": "anna"}','09430f71ecb429913447af5da176bdbc848c6ff602552c261f73998e11ad0a1e','bf2bad317f30fab0da533fb043f82d91cd523b79f53dea2b9fced32abc6fdace');
INSERT INTO "audit" VALUES(14,1772366525000000,'test','move.asked.pause','move 3','{"digest": "881214ffe356e7c75f8636af996ba1d3d3cd1787280b4fd61f358b85f9a7cd9e", "origin": "terminal", "reason": "busy", "state": "approved", "who": "ann"}','bf2bad317f30fab0da533fb043f82d91cd523b79f53dea2b9fced32abc6fdace','de7fd9ac46e97498820845db2d378559f08ac5f1b93c72ed839d8ccee868eb43');
INSERT INTO "audit" VALUES(15,1772366525000000,'test','space.closed','shop hdd','{"reason": "retired", "who": "ann"}','de7fd9ac46e97498820845db2d378559f08ac5f1b93c72ed839d8ccee868eb43','3f0e79d88cb4a1e6799d87d04524ca1440b082b73d9a8513cd9b842323245d17');
CREATE TABLE audit_head (
	id INTEGER NOT NULL, 
	last_id INTEGER NOT NULL, 
	hash TEXT NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "audit_head" VALUES(1,15,'3f0e79d88cb4a1e6799d87d04524ca1440b082b73d9a8513cd9b842323245d17');
CREATE TABLE closed_spaces (
	"database" TEXT NOT NULL, 
	space TEXT NOT NULL, 
	who TEXT NOT NULL, 
	reason TEXT NOT NULL, 
	at BIGINT NOT NULL, 
	PRIMARY KEY ("database", space)
)
 WITHOUT ROWID

;
INSERT INTO "closed_spaces" VALUES('shop','hdd','ann','retired',1772366525000000);
CREATE TABLE documents (
	"database" TEXT NOT NULL, 
	name TEXT NOT NULL, 
	at BIGINT NOT NULL, 
	body TEXT NOT NULL, 
	PRIMARY KEY ("database", name)
);
INSERT INTO "documents" VALUES('shop','status',1772366525000000,'{"kept": 1}');
CREATE TABLE history (
	id INTEGER NOT NULL, 
	"database" TEXT NOT NULL, 
	resolution_seconds INTEGER NOT NULL, 
	started_at BIGINT NOT NULL, 
	ended_at BIGINT NOT NULL, 
	seconds FLOAT NOT NULL, 
	signals INTEGER NOT NULL, 
	body BLOB NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "history" VALUES(1,'shop',0,1772366465000000,1772366525000000,60.0,1,X'28B52FFD2418A5000070010001000200030400000000000001001B2802D2A7FF3C');
CREATE TABLE moves (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	proposal_id INTEGER NOT NULL, 
	ordinal INTEGER NOT NULL, 
	state TEXT NOT NULL, 
	reason TEXT NOT NULL, 
	attempts INTEGER NOT NULL, 
	updated_at BIGINT NOT NULL, 
	UNIQUE (proposal_id, ordinal), 
	FOREIGN KEY(proposal_id) REFERENCES proposals (id)
);
INSERT INTO "moves" VALUES(1,1,1,'rejected','not now',0,1772366400000000);
INSERT INTO "moves" VALUES(2,2,1,'settling','as planned',1,1772366525000000);
INSERT INTO "moves" VALUES(3,2,2,'approved','',0,1772366460000000);
INSERT INTO "moves" VALUES(4,3,1,'proposed','',0,1772366525000000);
CREATE TABLE outcomes (
	id INTEGER NOT NULL, 
	move_id INTEGER NOT NULL, 
	at BIGINT NOT NULL, 
	body TEXT NOT NULL, 
	PRIMARY KEY (id), 
	FOREIGN KEY(move_id) REFERENCES moves (id)
);
CREATE TABLE pins (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	"database" TEXT NOT NULL, 
	pattern TEXT NOT NULL, 
	pin INTEGER NOT NULL, 
	who TEXT NOT NULL, 
	reason TEXT NOT NULL, 
	created_at BIGINT NOT NULL, 
	until BIGINT, 
	UNIQUE ("database", pattern)
);
INSERT INTO "pins" VALUES(1,'shop','public.t9',0,'anna','is read at night',1772366525000000,NULL);
CREATE TABLE placements (
	"database" TEXT NOT NULL, 
	unit_key TEXT NOT NULL, 
	placed_at BIGINT NOT NULL, 
	PRIMARY KEY ("database", unit_key)
)
 WITHOUT ROWID

;
INSERT INTO "placements" VALUES('shop','public.t2',1772366525000000);
CREATE TABLE proposals (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	"database" TEXT NOT NULL, 
	fingerprint TEXT NOT NULL, 
	digest TEXT NOT NULL, 
	same_work TEXT NOT NULL, 
	body TEXT NOT NULL, 
	state TEXT NOT NULL, 
	reason TEXT NOT NULL, 
	created_at BIGINT NOT NULL, 
	expires_at BIGINT NOT NULL, 
	decided_at BIGINT, 
	decided_by TEXT NOT NULL, 
	decided_from TEXT NOT NULL, 
	approved_digest TEXT
);
INSERT INTO "proposals" VALUES(1,'shop','cluster 1 database 5','9102bdc76fe30befde56bd31c9247a279ee7326c821e56d63e28e9bc5d6bb871','172ed0008014177a25510b1c897484c040b7ef8aaecf893484e4273caae3db9c','{"asked_by":"","bound_per_hour":950.0,"ceiling_ratio":0.6,"created_at":"2026-03-01T12:00:00Z","database":"shop","expires_at":"2026-03-02T12:00:00Z","fingerprint":"cluster 1 database 5","gap_ratio":0.05,"moves":[{"copy_seconds":2.0,"cost":null,"from_space":"slow","from_tier":"hdd","key":"public.t1","ordinal":1,"payback_seconds":8.0,"reason":"promote","route":{"bundle":{"container":"","homes":[],"key":"public.t1","kind":0,"physical_ids":[1],"size_bytes":67108864,"space":"slow","unit_keys":["public.t1"],"wide":""},"combines":false,"follow_up":[],"joins":"","keeps":[],"leaves":[],"lock_seconds":0.0,"locked":null,"locks":"ACCESS EXCLUSIVE on the table while it is copied","log_bytes":67108864,"name":"set tablespace","notes":[],"online":false,"prologue":["SET lock_timeout = ''500ms''"],"rewrites":"","steps":[{"pause_sql":"","purpose":"move public.t1","resume_sql":"","sql":"ALTER TABLE public.t1 SET TABLESPACE fast","timeout_seconds":0.0,"undo_sql":"","variants":[]}],"tidy_bytes":0,"tidy_locks":"","tidy_steps":[],"to_space":"fast","transient_bytes":0,"undo_bytes":null,"undo_steps":[{"pause_sql":"","purpose":"move public.t1 back","resume_sql":"","sql":"ALTER TABLE public.t1 SET TABLESPACE slow","timeout_seconds":0.0,"undo_sql":"","variants":[]}]},"sentence":"saves 900 s of read wait per hour","size_bytes":67108864,"to_space":"fast","to_tier":"ssd","undoes":null,"wait_saved_per_hour":900.0}],"purpose":"hsm","relief_per_hour":null,"saved_ratio_high":null,"saved_ratio_low":null,"wait_per_hour":1200.0,"wait_saved_high_per_hour":null,"wait_saved_low_per_hour":null,"wait_saved_per_hour":900.0}','rejected','not now',1772366400000000,1772452800000000,1772366400000000,'bert','terminal',NULL);
INSERT INTO "proposals" VALUES(2,'shop','cluster 1 database 5','881214ffe356e7c75f8636af996ba1d3d3cd1787280b4fd61f358b85f9a7cd9e','83e5ca63c47d065db8257dbafb2efc69f199f263dad84306f7465d066dfcdfa9','{"asked_by":"","bound_per_hour":950.0,"ceiling_ratio":0.6,"created_at":"2026-03-01T12:00:00Z","database":"shop","expires_at":"2026-03-02T12:00:00Z","fingerprint":"cluster 1 database 5","gap_ratio":0.05,"moves":[{"copy_seconds":2.0,"cost":null,"from_space":"slow","from_tier":"hdd","key":"public.t2","ordinal":1,"payback_seconds":8.0,"reason":"promote","route":{"bundle":{"container":"","homes":[],"key":"public.t2","kind":0,"physical_ids":[1],"size_bytes":67108864,"space":"slow","unit_keys":["public.t2"],"wide":""},"combines":false,"follow_up":[],"joins":"","keeps":[],"leaves":[],"lock_seconds":0.0,"locked":null,"locks":"ACCESS EXCLUSIVE on the table while it is copied","log_bytes":67108864,"name":"set tablespace","notes":[],"online":false,"prologue":["SET lock_timeout = ''500ms''"],"rewrites":"","steps":[{"pause_sql":"","purpose":"move public.t2","resume_sql":"","sql":"ALTER TABLE public.t2 SET TABLESPACE fast","timeout_seconds":0.0,"undo_sql":"","variants":[]}],"tidy_bytes":0,"tidy_locks":"","tidy_steps":[],"to_space":"fast","transient_bytes":0,"undo_bytes":null,"undo_steps":[{"pause_sql":"","purpose":"move public.t2 back","resume_sql":"","sql":"ALTER TABLE public.t2 SET TABLESPACE slow","timeout_seconds":0.0,"undo_sql":"","variants":[]}]},"sentence":"saves 900 s of read wait per hour","size_bytes":67108864,"to_space":"fast","to_tier":"ssd","undoes":null,"wait_saved_per_hour":900.0},{"copy_seconds":2.0,"cost":null,"from_space":"slow","from_tier":"hdd","key":"public.t3","ordinal":2,"payback_seconds":8.0,"reason":"promote","route":{"bundle":{"container":"","homes":[],"key":"public.t3","kind":0,"physical_ids":[1],"size_bytes":67108864,"space":"slow","unit_keys":["public.t3"],"wide":""},"combines":false,"follow_up":[],"joins":"","keeps":[],"leaves":[],"lock_seconds":0.0,"locked":null,"locks":"ACCESS EXCLUSIVE on the table while it is copied","log_bytes":67108864,"name":"set tablespace","notes":[],"online":false,"prologue":["SET lock_timeout = ''500ms''"],"rewrites":"","steps":[{"pause_sql":"","purpose":"move public.t3","resume_sql":"","sql":"ALTER TABLE public.t3 SET TABLESPACE fast","timeout_seconds":0.0,"undo_sql":"","variants":[]}],"tidy_bytes":0,"tidy_locks":"","tidy_steps":[],"to_space":"fast","transient_bytes":0,"undo_bytes":null,"undo_steps":[{"pause_sql":"","purpose":"move public.t3 back","resume_sql":"","sql":"ALTER TABLE public.t3 SET TABLESPACE slow","timeout_seconds":0.0,"undo_sql":"","variants":[]}]},"sentence":"saves 900 s of read wait per hour","size_bytes":67108864,"to_space":"fast","to_tier":"ssd","undoes":null,"wait_saved_per_hour":900.0}],"purpose":"hsm","relief_per_hour":null,"saved_ratio_high":null,"saved_ratio_low":null,"wait_per_hour":1200.0,"wait_saved_high_per_hour":null,"wait_saved_low_per_hour":null,"wait_saved_per_hour":900.0}','approved','',1772366400000000,1772452800000000,1772366460000000,'anna','terminal','881214ffe356e7c75f8636af996ba1d3d3cd1787280b4fd61f358b85f9a7cd9e');
INSERT INTO "proposals" VALUES(3,'hr','cluster 1 database 5','1e9970d481614b49ade7fc0cebf3b745c4e2858eea3cfd05d964b7e48f39a270','777101b92f0090846a928ace4a8a006787573cc9c93544aad96db166f3597958','{"asked_by":"","bound_per_hour":950.0,"ceiling_ratio":0.6,"created_at":"2026-03-01T12:00:00Z","database":"hr","expires_at":"2026-03-02T12:00:00Z","fingerprint":"cluster 1 database 5","gap_ratio":0.05,"moves":[{"copy_seconds":2.0,"cost":null,"from_space":"slow","from_tier":"hdd","key":"public.t4","ordinal":1,"payback_seconds":8.0,"reason":"promote","route":{"bundle":{"container":"","homes":[],"key":"public.t4","kind":0,"physical_ids":[1],"size_bytes":67108864,"space":"slow","unit_keys":["public.t4"],"wide":""},"combines":false,"follow_up":[],"joins":"","keeps":[],"leaves":[],"lock_seconds":0.0,"locked":null,"locks":"ACCESS EXCLUSIVE on the table while it is copied","log_bytes":67108864,"name":"set tablespace","notes":[],"online":false,"prologue":["SET lock_timeout = ''500ms''"],"rewrites":"","steps":[{"pause_sql":"","purpose":"move public.t4","resume_sql":"","sql":"ALTER TABLE public.t4 SET TABLESPACE fast","timeout_seconds":0.0,"undo_sql":"","variants":[]}],"tidy_bytes":0,"tidy_locks":"","tidy_steps":[],"to_space":"fast","transient_bytes":0,"undo_bytes":null,"undo_steps":[{"pause_sql":"","purpose":"move public.t4 back","resume_sql":"","sql":"ALTER TABLE public.t4 SET TABLESPACE slow","timeout_seconds":0.0,"undo_sql":"","variants":[]}]},"sentence":"saves 900 s of read wait per hour","size_bytes":67108864,"to_space":"fast","to_tier":"ssd","undoes":null,"wait_saved_per_hour":900.0}],"purpose":"hsm","relief_per_hour":null,"saved_ratio_high":null,"saved_ratio_low":null,"wait_per_hour":1200.0,"wait_saved_high_per_hour":null,"wait_saved_low_per_hour":null,"wait_saved_per_hour":900.0}','proposed','',1772366400000000,1772452800000000,NULL,'','',NULL);
CREATE TABLE steps (
	id INTEGER NOT NULL, 
	move_id INTEGER NOT NULL, 
	ordinal INTEGER NOT NULL, 
	sql TEXT NOT NULL, 
	state TEXT NOT NULL, 
	detail TEXT NOT NULL, 
	intended_at BIGINT NOT NULL, 
	ended_at BIGINT, 
	PRIMARY KEY (id), 
	FOREIGN KEY(move_id) REFERENCES moves (id)
);
INSERT INTO "steps" VALUES(1,2,1,'ALTER TABLE public.t2 SET TABLESPACE fast','done','',1772366520000000,1772366525000000);
CREATE TABLE unit_slots (
	"database" TEXT NOT NULL, 
	slot INTEGER NOT NULL, 
	unit_key TEXT NOT NULL, 
	PRIMARY KEY ("database", slot)
)
 WITHOUT ROWID

;
INSERT INTO "unit_slots" VALUES('shop',0,'public.t1');
INSERT INTO "unit_slots" VALUES('shop',1,'public.t2');
CREATE INDEX ix_proposals_database ON proposals ("database", state);
CREATE INDEX ix_history_database ON history ("database", ended_at);
CREATE INDEX ix_history_resolution_seconds ON history (resolution_seconds, ended_at);
CREATE INDEX ix_moves_state ON moves (state);
CREATE INDEX ix_steps_move_id ON steps (move_id);
CREATE INDEX ix_outcomes_move_id ON outcomes (move_id);
CREATE INDEX ix_asks_move_id ON asks (move_id);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('proposals',3);
INSERT INTO "sqlite_sequence" VALUES('moves',4);
INSERT INTO "sqlite_sequence" VALUES('pins',1);
INSERT INTO "sqlite_sequence" VALUES('asks',1);
COMMIT;
