-- A ledger of revision v0003, as that version wrote it: an approval is open across the upgrade.
BEGIN TRANSACTION;
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('v0003');
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
INSERT INTO "audit" VALUES(1,1772366400000000,'test','ledger.created','ledger.db','{"now": "v0003", "was": ""}','0000000000000000000000000000000000000000000000000000000000000000','1dfd084fff24beec8798ea146218cb46a8563c008b6fbb496b624fa3b0a686d1');
INSERT INTO "audit" VALUES(2,1772366400000000,'test','proposal.stored','proposal 1','{"database": "shop", "digest": "878d932f8b703a81e447436c61ed5dfa4fdf912cedcbdafe3c23e8867b34a0ee", "moves": 1}','1dfd084fff24beec8798ea146218cb46a8563c008b6fbb496b624fa3b0a686d1','73f568d4787459ed9f1a532ff6983c821ff2f4fb172fb7e9fab431202f700b61');
INSERT INTO "audit" VALUES(3,1772366400000000,'test','proposal.rejected','proposal 1','{"digest": "878d932f8b703a81e447436c61ed5dfa4fdf912cedcbdafe3c23e8867b34a0ee", "moves": [1], "origin": "terminal", "reason": "not now", "who": "bert"}','73f568d4787459ed9f1a532ff6983c821ff2f4fb172fb7e9fab431202f700b61','431157d52d7a5cd604da30376d71f4133b83309e1bc396f0713d087e2436d1dd');
INSERT INTO "audit" VALUES(4,1772366460000000,'test','proposal.stored','proposal 2','{"database": "shop", "digest": "aef765562056e3fe309fd9e7010f2b2ed42b4277efecd8bef3aa1cf5773be9ff", "moves": 2}','431157d52d7a5cd604da30376d71f4133b83309e1bc396f0713d087e2436d1dd','864aeaaaa77ce98b8644234a30106545e970cf8952d01ad1fd3af9668a9ed923');
INSERT INTO "audit" VALUES(5,1772366460000000,'test','proposal.approved','proposal 2','{"digest": "aef765562056e3fe309fd9e7010f2b2ed42b4277efecd8bef3aa1cf5773be9ff", "moves": [1, 2], "origin": "terminal", "reason": "", "who": "anna"}','864aeaaaa77ce98b8644234a30106545e970cf8952d01ad1fd3af9668a9ed923','670db34749b4b41433efdd33867922800cf0f3ed11231f995df9cc5bd4b78643');
INSERT INTO "audit" VALUES(6,1772366520000000,'test','move.precheck','move 2','{"digest": "aef765562056e3fe309fd9e7010f2b2ed42b4277efecd8bef3aa1cf5773be9ff", "reason": "as planned", "was": "approved"}','670db34749b4b41433efdd33867922800cf0f3ed11231f995df9cc5bd4b78643','4dbef09347888b28017963017c3bc557750e54eefa7111c84bcbcb493c832eb3');
INSERT INTO "audit" VALUES(7,1772366520000000,'test','move.running','move 2','{"digest": "aef765562056e3fe309fd9e7010f2b2ed42b4277efecd8bef3aa1cf5773be9ff", "reason": "as planned", "was": "precheck"}','4dbef09347888b28017963017c3bc557750e54eefa7111c84bcbcb493c832eb3','2f0507eca8f3974969319bb3b438bd35764ccb39c2df0ca34f9775dea998d4c7');
INSERT INTO "audit" VALUES(8,1772366520000000,'test','step.intended','step 1','{"digest": "aef765562056e3fe309fd9e7010f2b2ed42b4277efecd8bef3aa1cf5773be9ff", "move": 2, "ordinal": 1, "sql": "ALTER TABLE public.t2 SET TABLESPACE fast"}','2f0507eca8f3974969319bb3b438bd35764ccb39c2df0ca34f9775dea998d4c7','5728bc51a158e4daedd99cff0f3566887d3754ca06831903e47fe6c616a75371');
INSERT INTO "audit" VALUES(9,1772366525000000,'test','step.done','step 1','{"detail": ""}','5728bc51a158e4daedd99cff0f3566887d3754ca06831903e47fe6c616a75371','6175fcd4333199b592e4fa92d34dddbfc0f112f2d096b9d1ebc2d5797789f8bf');
INSERT INTO "audit" VALUES(10,1772366525000000,'test','move.placed','move 2','{"digest": "aef765562056e3fe309fd9e7010f2b2ed42b4277efecd8bef3aa1cf5773be9ff", "reason": "as planned", "was": "running"}','6175fcd4333199b592e4fa92d34dddbfc0f112f2d096b9d1ebc2d5797789f8bf','41677fc77c6b12459019f61730c3180edc19431714f9aaa3021bb65ee0a4c359');
INSERT INTO "audit" VALUES(11,1772366525000000,'test','move.settling','move 2','{"digest": "aef765562056e3fe309fd9e7010f2b2ed42b4277efecd8bef3aa1cf5773be9ff", "reason": "as planned", "was": "placed"}','41677fc77c6b12459019f61730c3180edc19431714f9aaa3021bb65ee0a4c359','1a3bc7b5f3736c254570ab072fc5e16e9d351157c81c7b047ea07463bbd56829');
INSERT INTO "audit" VALUES(12,1772366525000000,'test','proposal.stored','proposal 3','{"database": "hr", "digest": "eb00be4d5f00a1cb069bb5b82c058216c7c072cc0fd2123add1bfea27b122fc8", "moves": 1}','1a3bc7b5f3736c254570ab072fc5e16e9d351157c81c7b047ea07463bbd56829','e79b47f60a83375d32235bc9b13192cf90a50a0afc730b742fd293f93d094359');
INSERT INTO "audit" VALUES(13,1772366525000000,'test','pin.set','shop public.t9','{"pin": "none", "reason": "is read at night", "until": null, "who": "anna"}','e79b47f60a83375d32235bc9b13192cf90a50a0afc730b742fd293f93d094359','700b01cea03ed3d3a9d77c112f4f9cf0c854998979ed0e8cf679e58ad265eb54');
INSERT INTO "audit" VALUES(14,1772366525000000,'test','move.asked.pause','move 3','{"digest": "aef765562056e3fe309fd9e7010f2b2ed42b4277efecd8bef3aa1cf5773be9ff", "origin": "terminal", "reason": "busy", "state": "approved", "who": "ann"}','700b01cea03ed3d3a9d77c112f4f9cf0c854998979ed0e8cf679e58ad265eb54','29ff022e1e6dd9352e59fd3d9b32a3ec1374ed9d931a92e033f44f1686defd20');
INSERT INTO "audit" VALUES(15,1772366525000000,'test','space.closed','shop hdd','{"reason": "retired", "who": "ann"}','29ff022e1e6dd9352e59fd3d9b32a3ec1374ed9d931a92e033f44f1686defd20','05b4af20642c02f00fadf5e6bc2825a80ecd5cab1782ecc91cf8d3354965c4b7');
CREATE TABLE audit_head (
	id INTEGER NOT NULL, 
	last_id INTEGER NOT NULL, 
	hash TEXT NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "audit_head" VALUES(1,15,'05b4af20642c02f00fadf5e6bc2825a80ecd5cab1782ecc91cf8d3354965c4b7');
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
INSERT INTO "proposals" VALUES(1,'shop','cluster 1 database 5','878d932f8b703a81e447436c61ed5dfa4fdf912cedcbdafe3c23e8867b34a0ee','172ed0008014177a25510b1c897484c040b7ef8aaecf893484e4273caae3db9c','{"asked_by":"","bound_per_hour":950.0,"ceiling_ratio":0.6,"created_at":"2026-03-01T12:00:00Z","database":"shop","expires_at":"2026-03-02T12:00:00Z","fingerprint":"cluster 1 database 5","forecast":null,"gap_ratio":0.05,"moves":[{"copy_seconds":2.0,"cost":null,"from_space":"slow","from_tier":"hdd","key":"public.t1","ordinal":1,"payback_seconds":8.0,"reason":"promote","route":{"bundle":{"container":"","homes":[],"key":"public.t1","kind":0,"physical_ids":[1],"size_bytes":67108864,"space":"slow","unit_keys":["public.t1"],"wide":""},"combines":false,"follow_up":[],"joins":"","keeps":[],"leaves":[],"lock_seconds":0.0,"locked":null,"locks":"ACCESS EXCLUSIVE on the table while it is copied","log_bytes":67108864,"name":"set tablespace","notes":[],"online":false,"patient_prologue":[],"prologue":["SET lock_timeout = ''500ms''"],"rewrites":"","steps":[{"pause_sql":"","purpose":"move public.t1","resume_sql":"","sql":"ALTER TABLE public.t1 SET TABLESPACE fast","timeout_seconds":0.0,"undo_sql":"","variants":[]}],"tidy_bytes":0,"tidy_locks":"","tidy_steps":[],"to_space":"fast","transient_bytes":0,"undo_bytes":null,"undo_steps":[{"pause_sql":"","purpose":"move public.t1 back","resume_sql":"","sql":"ALTER TABLE public.t1 SET TABLESPACE slow","timeout_seconds":0.0,"undo_sql":"","variants":[]}]},"sentence":"saves 900 s of read wait per hour","size_bytes":67108864,"to_space":"fast","to_tier":"ssd","undoes":null,"wait_saved_per_hour":900.0}],"purpose":"hsm","relief_per_hour":null,"saved_ratio_high":null,"saved_ratio_low":null,"wait_per_hour":1200.0,"wait_saved_high_per_hour":null,"wait_saved_low_per_hour":null,"wait_saved_per_hour":900.0}','rejected','not now',1772366400000000,1772452800000000,1772366400000000,'bert','terminal',NULL);
INSERT INTO "proposals" VALUES(2,'shop','cluster 1 database 5','aef765562056e3fe309fd9e7010f2b2ed42b4277efecd8bef3aa1cf5773be9ff','83e5ca63c47d065db8257dbafb2efc69f199f263dad84306f7465d066dfcdfa9','{"asked_by":"","bound_per_hour":950.0,"ceiling_ratio":0.6,"created_at":"2026-03-01T12:00:00Z","database":"shop","expires_at":"2026-03-02T12:00:00Z","fingerprint":"cluster 1 database 5","forecast":null,"gap_ratio":0.05,"moves":[{"copy_seconds":2.0,"cost":null,"from_space":"slow","from_tier":"hdd","key":"public.t2","ordinal":1,"payback_seconds":8.0,"reason":"promote","route":{"bundle":{"container":"","homes":[],"key":"public.t2","kind":0,"physical_ids":[1],"size_bytes":67108864,"space":"slow","unit_keys":["public.t2"],"wide":""},"combines":false,"follow_up":[],"joins":"","keeps":[],"leaves":[],"lock_seconds":0.0,"locked":null,"locks":"ACCESS EXCLUSIVE on the table while it is copied","log_bytes":67108864,"name":"set tablespace","notes":[],"online":false,"patient_prologue":[],"prologue":["SET lock_timeout = ''500ms''"],"rewrites":"","steps":[{"pause_sql":"","purpose":"move public.t2","resume_sql":"","sql":"ALTER TABLE public.t2 SET TABLESPACE fast","timeout_seconds":0.0,"undo_sql":"","variants":[]}],"tidy_bytes":0,"tidy_locks":"","tidy_steps":[],"to_space":"fast","transient_bytes":0,"undo_bytes":null,"undo_steps":[{"pause_sql":"","purpose":"move public.t2 back","resume_sql":"","sql":"ALTER TABLE public.t2 SET TABLESPACE slow","timeout_seconds":0.0,"undo_sql":"","variants":[]}]},"sentence":"saves 900 s of read wait per hour","size_bytes":67108864,"to_space":"fast","to_tier":"ssd","undoes":null,"wait_saved_per_hour":900.0},{"copy_seconds":2.0,"cost":null,"from_space":"slow","from_tier":"hdd","key":"public.t3","ordinal":2,"payback_seconds":8.0,"reason":"promote","route":{"bundle":{"container":"","homes":[],"key":"public.t3","kind":0,"physical_ids":[1],"size_bytes":67108864,"space":"slow","unit_keys":["public.t3"],"wide":""},"combines":false,"follow_up":[],"joins":"","keeps":[],"leaves":[],"lock_seconds":0.0,"locked":null,"locks":"ACCESS EXCLUSIVE on the table while it is copied","log_bytes":67108864,"name":"set tablespace","notes":[],"online":false,"patient_prologue":[],"prologue":["SET lock_timeout = ''500ms''"],"rewrites":"","steps":[{"pause_sql":"","purpose":"move public.t3","resume_sql":"","sql":"ALTER TABLE public.t3 SET TABLESPACE fast","timeout_seconds":0.0,"undo_sql":"","variants":[]}],"tidy_bytes":0,"tidy_locks":"","tidy_steps":[],"to_space":"fast","transient_bytes":0,"undo_bytes":null,"undo_steps":[{"pause_sql":"","purpose":"move public.t3 back","resume_sql":"","sql":"ALTER TABLE public.t3 SET TABLESPACE slow","timeout_seconds":0.0,"undo_sql":"","variants":[]}]},"sentence":"saves 900 s of read wait per hour","size_bytes":67108864,"to_space":"fast","to_tier":"ssd","undoes":null,"wait_saved_per_hour":900.0}],"purpose":"hsm","relief_per_hour":null,"saved_ratio_high":null,"saved_ratio_low":null,"wait_per_hour":1200.0,"wait_saved_high_per_hour":null,"wait_saved_low_per_hour":null,"wait_saved_per_hour":900.0}','approved','',1772366400000000,1772452800000000,1772366460000000,'anna','terminal','aef765562056e3fe309fd9e7010f2b2ed42b4277efecd8bef3aa1cf5773be9ff');
INSERT INTO "proposals" VALUES(3,'hr','cluster 1 database 5','eb00be4d5f00a1cb069bb5b82c058216c7c072cc0fd2123add1bfea27b122fc8','777101b92f0090846a928ace4a8a006787573cc9c93544aad96db166f3597958','{"asked_by":"","bound_per_hour":950.0,"ceiling_ratio":0.6,"created_at":"2026-03-01T12:00:00Z","database":"hr","expires_at":"2026-03-02T12:00:00Z","fingerprint":"cluster 1 database 5","forecast":null,"gap_ratio":0.05,"moves":[{"copy_seconds":2.0,"cost":null,"from_space":"slow","from_tier":"hdd","key":"public.t4","ordinal":1,"payback_seconds":8.0,"reason":"promote","route":{"bundle":{"container":"","homes":[],"key":"public.t4","kind":0,"physical_ids":[1],"size_bytes":67108864,"space":"slow","unit_keys":["public.t4"],"wide":""},"combines":false,"follow_up":[],"joins":"","keeps":[],"leaves":[],"lock_seconds":0.0,"locked":null,"locks":"ACCESS EXCLUSIVE on the table while it is copied","log_bytes":67108864,"name":"set tablespace","notes":[],"online":false,"patient_prologue":[],"prologue":["SET lock_timeout = ''500ms''"],"rewrites":"","steps":[{"pause_sql":"","purpose":"move public.t4","resume_sql":"","sql":"ALTER TABLE public.t4 SET TABLESPACE fast","timeout_seconds":0.0,"undo_sql":"","variants":[]}],"tidy_bytes":0,"tidy_locks":"","tidy_steps":[],"to_space":"fast","transient_bytes":0,"undo_bytes":null,"undo_steps":[{"pause_sql":"","purpose":"move public.t4 back","resume_sql":"","sql":"ALTER TABLE public.t4 SET TABLESPACE slow","timeout_seconds":0.0,"undo_sql":"","variants":[]}]},"sentence":"saves 900 s of read wait per hour","size_bytes":67108864,"to_space":"fast","to_tier":"ssd","undoes":null,"wait_saved_per_hour":900.0}],"purpose":"hsm","relief_per_hour":null,"saved_ratio_high":null,"saved_ratio_low":null,"wait_per_hour":1200.0,"wait_saved_high_per_hour":null,"wait_saved_low_per_hour":null,"wait_saved_per_hour":900.0}','proposed','',1772366400000000,1772452800000000,NULL,'','',NULL);
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
CREATE TABLE work (
	id INTEGER NOT NULL, 
	"database" TEXT NOT NULL, 
	ended_at BIGINT NOT NULL, 
	seconds FLOAT NOT NULL, 
	body TEXT NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "work" VALUES(1,'shop',1772366525000000,60.0,'{"transactions": 5.0}');
CREATE INDEX ix_proposals_database ON proposals ("database", state);
CREATE INDEX ix_history_resolution_seconds ON history (resolution_seconds, ended_at);
CREATE INDEX ix_history_database ON history ("database", ended_at);
CREATE INDEX ix_work_database ON work ("database", ended_at);
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
