-- A ledger of revision v0001, as that version wrote it: an approval is open across the upgrade.
BEGIN TRANSACTION;
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('v0001');
CREATE TABLE arrays (
	"database" TEXT NOT NULL, 
	name TEXT NOT NULL, 
	at BIGINT NOT NULL, 
	body BLOB NOT NULL, 
	PRIMARY KEY ("database", name)
);
INSERT INTO "arrays" VALUES('shop','heat',1772366525000000,X'28B52FFD2440250100F001130000005B5B2261222C20223C6938222C205B355D5D5D00010203040001003AC00980AE88B7');
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
INSERT INTO "audit" VALUES(1,1772366400000000,'test','ledger.created','ledger.db','{"now": "v0001", "was": ""}','0000000000000000000000000000000000000000000000000000000000000000','f0fa6c95d12ecc170b6fd585276a5406aaa31b1d21dd6f83351a6e3db767ba6a');
INSERT INTO "audit" VALUES(2,1772366400000000,'test','proposal.stored','proposal 1','{"database": "shop", "digest": "903b9eb66316740ee32c3e2ef8f3c221bb58bf1f7f4ca56fa5a7805bf10dcd93", "moves": 1}','f0fa6c95d12ecc170b6fd585276a5406aaa31b1d21dd6f83351a6e3db767ba6a','73700af062fa2c474dc6de67950154c6b450eda81d3cea0b9620e6e6093e621a');
INSERT INTO "audit" VALUES(3,1772366400000000,'test','proposal.rejected','proposal 1','{"digest": "903b9eb66316740ee32c3e2ef8f3c221bb58bf1f7f4ca56fa5a7805bf10dcd93", "moves": [1], "origin": "terminal", "reason": "not now", "who": "bert"}','73700af062fa2c474dc6de67950154c6b450eda81d3cea0b9620e6e6093e621a','6c409282479af00cecfff2115580cbb8d09567efb4554261e3a1e59ea1f595f2');
INSERT INTO "audit" VALUES(4,1772366460000000,'test','proposal.stored','proposal 2','{"database": "shop", "digest": "f74b01578d31613d3e6b70eea53dea52053274f2b15695cc2f696627a40615a2", "moves": 2}','6c409282479af00cecfff2115580cbb8d09567efb4554261e3a1e59ea1f595f2','2a2bbcb5468f6654bbd017e0498d95a8ee576ee73dc6846a4500101e3cbf3cf5');
INSERT INTO "audit" VALUES(5,1772366460000000,'test','proposal.approved','proposal 2','{"digest": "f74b01578d31613d3e6b70eea53dea52053274f2b15695cc2f696627a40615a2", "moves": [1, 2], "origin": "terminal", "reason": "", "who": "anna"}','2a2bbcb5468f6654bbd017e0498d95a8ee576ee73dc6846a4500101e3cbf3cf5','f95223ca0e4278e07e52606fc6400ddf724503e08ab873b670f6ccd666380404');
INSERT INTO "audit" VALUES(6,1772366520000000,'test','move.precheck','move 2','{"digest": "f74b01578d31613d3e6b70eea53dea52053274f2b15695cc2f696627a40615a2", "reason": "as planned", "was": "approved"}','f95223ca0e4278e07e52606fc6400ddf724503e08ab873b670f6ccd666380404','f43b3005d7937d928d195ceba1fc32b67d30ad9d9c6a463b4a3511bc7b5ae374');
INSERT INTO "audit" VALUES(7,1772366520000000,'test','move.running','move 2','{"digest": "f74b01578d31613d3e6b70eea53dea52053274f2b15695cc2f696627a40615a2", "reason": "as planned", "was": "precheck"}','f43b3005d7937d928d195ceba1fc32b67d30ad9d9c6a463b4a3511bc7b5ae374','33c7bc2679c8627e2667e4a5ec3a4a292109a60db414cad0fad8e882880346d4');
INSERT INTO "audit" VALUES(8,1772366520000000,'test','step.intended','step 1','{"digest": "f74b01578d31613d3e6b70eea53dea52053274f2b15695cc2f696627a40615a2", "move": 2, "ordinal": 1, "sql": "ALTER TABLE public.t2 SET TABLESPACE fast"}','33c7bc2679c8627e2667e4a5ec3a4a292109a60db414cad0fad8e882880346d4','87759bf576e7f65d14df45812bac471610e86d846158417e2d0e656304ec2505');
INSERT INTO "audit" VALUES(9,1772366525000000,'test','step.done','step 1','{"detail": ""}','87759bf576e7f65d14df45812bac471610e86d846158417e2d0e656304ec2505','631fbcaa5dcd0262bdab6845d8cdfb6a1880a95bf50dddd4bd5f5e6d86451822');
INSERT INTO "audit" VALUES(10,1772366525000000,'test','move.placed','move 2','{"digest": "f74b01578d31613d3e6b70eea53dea52053274f2b15695cc2f696627a40615a2", "reason": "as planned", "was": "running"}','631fbcaa5dcd0262bdab6845d8cdfb6a1880a95bf50dddd4bd5f5e6d86451822','2e232f2bd9408600cdb732cf9130d40b0aa23d0ceaa761a7a3780d9398bb3664');
INSERT INTO "audit" VALUES(11,1772366525000000,'test','move.settling','move 2','{"digest": "f74b01578d31613d3e6b70eea53dea52053274f2b15695cc2f696627a40615a2", "reason": "as planned", "was": "placed"}','2e232f2bd9408600cdb732cf9130d40b0aa23d0ceaa761a7a3780d9398bb3664','f8e4bbf8057464bde1b507c2f7571eebeccaa92b4410fcbf95c6ed804bd5ae66');
INSERT INTO "audit" VALUES(12,1772366525000000,'test','proposal.stored','proposal 3','{"database": "hr", "digest": "a7c4e5a7f43b01b2b50947f582dc866bbbbfa62afa646d23cc04a8a04cf871cd", "moves": 1}','f8e4bbf8057464bde1b507c2f7571eebeccaa92b4410fcbf95c6ed804bd5ae66','2e6fdd3945ea94a512a37dee38e2c8d4267df2498461a8a871c1a41a774f0f9c');
INSERT INTO "audit" VALUES(13,1772366525000000,'test','pin.set','shop public.t9','{"pin": "none", "reason": "is read at night", "until": null, "who": "anna"}','2e6fdd3945ea94a512a37dee38e2c8d4267df2498461a8a871c1a41a774f0f9c','582b8c5f8784da425ca21ddeae3c9b8fb1c861cd599cd55a2e009a7af517caa9');
CREATE TABLE audit_head (
	id INTEGER NOT NULL, 
	last_id INTEGER NOT NULL, 
	hash TEXT NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "audit_head" VALUES(1,13,'582b8c5f8784da425ca21ddeae3c9b8fb1c861cd599cd55a2e009a7af517caa9');
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
INSERT INTO "proposals" VALUES(1,'shop','cluster 1 database 5','903b9eb66316740ee32c3e2ef8f3c221bb58bf1f7f4ca56fa5a7805bf10dcd93','172ed0008014177a25510b1c897484c040b7ef8aaecf893484e4273caae3db9c','{"bound_per_hour":950.0,"ceiling_ratio":0.6,"created_at":"2026-03-01T12:00:00Z","database":"shop","expires_at":"2026-03-02T12:00:00Z","fingerprint":"cluster 1 database 5","gap_ratio":0.05,"moves":[{"copy_seconds":2.0,"from_space":"slow","from_tier":"hdd","key":"public.t1","ordinal":1,"payback_seconds":8.0,"reason":"promote","route":{"bundle":{"key":"public.t1","kind":0,"physical_ids":[1],"size_bytes":67108864,"space":"slow","unit_keys":["public.t1"]},"locks":"ACCESS EXCLUSIVE on the table while it is copied","log_bytes":67108864,"name":"set tablespace","notes":[],"online":false,"prologue":["SET lock_timeout = ''500ms''"],"steps":[{"pause_sql":"","purpose":"move public.t1","resume_sql":"","sql":"ALTER TABLE public.t1 SET TABLESPACE fast","timeout_seconds":0.0,"undo_sql":""}],"tidy_steps":[],"to_space":"fast","transient_bytes":0,"undo_steps":[{"pause_sql":"","purpose":"move public.t1 back","resume_sql":"","sql":"ALTER TABLE public.t1 SET TABLESPACE slow","timeout_seconds":0.0,"undo_sql":""}]},"sentence":"saves 900 s of read wait per hour","size_bytes":67108864,"to_space":"fast","to_tier":"ssd","undoes":null,"wait_saved_per_hour":900.0}],"wait_per_hour":1200.0,"wait_saved_high_per_hour":null,"wait_saved_low_per_hour":null,"wait_saved_per_hour":900.0}','rejected','not now',1772366400000000,1772452800000000,1772366400000000,'bert','terminal',NULL);
INSERT INTO "proposals" VALUES(2,'shop','cluster 1 database 5','f74b01578d31613d3e6b70eea53dea52053274f2b15695cc2f696627a40615a2','83e5ca63c47d065db8257dbafb2efc69f199f263dad84306f7465d066dfcdfa9','{"bound_per_hour":950.0,"ceiling_ratio":0.6,"created_at":"2026-03-01T12:00:00Z","database":"shop","expires_at":"2026-03-02T12:00:00Z","fingerprint":"cluster 1 database 5","gap_ratio":0.05,"moves":[{"copy_seconds":2.0,"from_space":"slow","from_tier":"hdd","key":"public.t2","ordinal":1,"payback_seconds":8.0,"reason":"promote","route":{"bundle":{"key":"public.t2","kind":0,"physical_ids":[1],"size_bytes":67108864,"space":"slow","unit_keys":["public.t2"]},"locks":"ACCESS EXCLUSIVE on the table while it is copied","log_bytes":67108864,"name":"set tablespace","notes":[],"online":false,"prologue":["SET lock_timeout = ''500ms''"],"steps":[{"pause_sql":"","purpose":"move public.t2","resume_sql":"","sql":"ALTER TABLE public.t2 SET TABLESPACE fast","timeout_seconds":0.0,"undo_sql":""}],"tidy_steps":[],"to_space":"fast","transient_bytes":0,"undo_steps":[{"pause_sql":"","purpose":"move public.t2 back","resume_sql":"","sql":"ALTER TABLE public.t2 SET TABLESPACE slow","timeout_seconds":0.0,"undo_sql":""}]},"sentence":"saves 900 s of read wait per hour","size_bytes":67108864,"to_space":"fast","to_tier":"ssd","undoes":null,"wait_saved_per_hour":900.0},{"copy_seconds":2.0,"from_space":"slow","from_tier":"hdd","key":"public.t3","ordinal":2,"payback_seconds":8.0,"reason":"promote","route":{"bundle":{"key":"public.t3","kind":0,"physical_ids":[1],"size_bytes":67108864,"space":"slow","unit_keys":["public.t3"]},"locks":"ACCESS EXCLUSIVE on the table while it is copied","log_bytes":67108864,"name":"set tablespace","notes":[],"online":false,"prologue":["SET lock_timeout = ''500ms''"],"steps":[{"pause_sql":"","purpose":"move public.t3","resume_sql":"","sql":"ALTER TABLE public.t3 SET TABLESPACE fast","timeout_seconds":0.0,"undo_sql":""}],"tidy_steps":[],"to_space":"fast","transient_bytes":0,"undo_steps":[{"pause_sql":"","purpose":"move public.t3 back","resume_sql":"","sql":"ALTER TABLE public.t3 SET TABLESPACE slow","timeout_seconds":0.0,"undo_sql":""}]},"sentence":"saves 900 s of read wait per hour","size_bytes":67108864,"to_space":"fast","to_tier":"ssd","undoes":null,"wait_saved_per_hour":900.0}],"wait_per_hour":1200.0,"wait_saved_high_per_hour":null,"wait_saved_low_per_hour":null,"wait_saved_per_hour":900.0}','approved','',1772366400000000,1772452800000000,1772366460000000,'anna','terminal','f74b01578d31613d3e6b70eea53dea52053274f2b15695cc2f696627a40615a2');
INSERT INTO "proposals" VALUES(3,'hr','cluster 1 database 5','a7c4e5a7f43b01b2b50947f582dc866bbbbfa62afa646d23cc04a8a04cf871cd','777101b92f0090846a928ace4a8a006787573cc9c93544aad96db166f3597958','{"bound_per_hour":950.0,"ceiling_ratio":0.6,"created_at":"2026-03-01T12:00:00Z","database":"hr","expires_at":"2026-03-02T12:00:00Z","fingerprint":"cluster 1 database 5","gap_ratio":0.05,"moves":[{"copy_seconds":2.0,"from_space":"slow","from_tier":"hdd","key":"public.t4","ordinal":1,"payback_seconds":8.0,"reason":"promote","route":{"bundle":{"key":"public.t4","kind":0,"physical_ids":[1],"size_bytes":67108864,"space":"slow","unit_keys":["public.t4"]},"locks":"ACCESS EXCLUSIVE on the table while it is copied","log_bytes":67108864,"name":"set tablespace","notes":[],"online":false,"prologue":["SET lock_timeout = ''500ms''"],"steps":[{"pause_sql":"","purpose":"move public.t4","resume_sql":"","sql":"ALTER TABLE public.t4 SET TABLESPACE fast","timeout_seconds":0.0,"undo_sql":""}],"tidy_steps":[],"to_space":"fast","transient_bytes":0,"undo_steps":[{"pause_sql":"","purpose":"move public.t4 back","resume_sql":"","sql":"ALTER TABLE public.t4 SET TABLESPACE slow","timeout_seconds":0.0,"undo_sql":""}]},"sentence":"saves 900 s of read wait per hour","size_bytes":67108864,"to_space":"fast","to_tier":"ssd","undoes":null,"wait_saved_per_hour":900.0}],"wait_per_hour":1200.0,"wait_saved_high_per_hour":null,"wait_saved_low_per_hour":null,"wait_saved_per_hour":900.0}','proposed','',1772366400000000,1772452800000000,NULL,'','',NULL);
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
CREATE INDEX ix_moves_state ON moves (state);
CREATE INDEX ix_steps_move_id ON steps (move_id);
CREATE INDEX ix_outcomes_move_id ON outcomes (move_id);
CREATE INDEX ix_history_database ON history ("database", ended_at);
CREATE INDEX ix_history_resolution_seconds ON history (resolution_seconds, ended_at);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('proposals',3);
INSERT INTO "sqlite_sequence" VALUES('moves',4);
INSERT INTO "sqlite_sequence" VALUES('pins',1);
COMMIT;
