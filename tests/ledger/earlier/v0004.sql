-- A ledger of revision v0004, as that version wrote it: an approval is open across the upgrade.
BEGIN TRANSACTION;
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('v0004');
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
INSERT INTO "audit" VALUES(1,1772366400000000,'test','ledger.created','ledger.db','{"now": "v0004", "was": ""}','0000000000000000000000000000000000000000000000000000000000000000','257bc74f3a9c4e181864c0a3f636e76f1ec2bbf974b91390153e0235cbe0f026');
INSERT INTO "audit" VALUES(2,1772366400000000,'test','proposal.stored','proposal 1','{"database": "shop", "digest": "dbafe1f6f6056efdfcbe1fd752bc0cfb917dffba98877fefe84f1dee1ae6c696", "moves": 1}','257bc74f3a9c4e181864c0a3f636e76f1ec2bbf974b91390153e0235cbe0f026','38667b785d2ba7317f931e3c7c3c60c34f28375789398228e098fb3dbc089f69');
INSERT INTO "audit" VALUES(3,1772366400000000,'test','proposal.rejected','proposal 1','{"digest": "dbafe1f6f6056efdfcbe1fd752bc0cfb917dffba98877fefe84f1dee1ae6c696", "moves": [1], "origin": "terminal", "reason": "not now", "who": "bert"}','38667b785d2ba7317f931e3c7c3c60c34f28375789398228e098fb3dbc089f69','c3d14e9a6d0e8d33f1a3c8779d629a69becdbaccf9f50d0a3233dddaeaf6e05c');
INSERT INTO "audit" VALUES(4,1772366460000000,'test','proposal.stored','proposal 2','{"database": "shop", "digest": "78b38ac325955d6c50f8865a499c260250ca35dda8ed8166aabf2f16840c3a09", "moves": 2}','c3d14e9a6d0e8d33f1a3c8779d629a69becdbaccf9f50d0a3233dddaeaf6e05c','804f2b2801ecbe3d025a2a677a52dedacd612e6ee21909bad757f3c8ee506575');
INSERT INTO "audit" VALUES(5,1772366460000000,'test','proposal.approved','proposal 2','{"digest": "78b38ac325955d6c50f8865a499c260250ca35dda8ed8166aabf2f16840c3a09", "moves": [1, 2], "origin": "terminal", "reason": "", "who": "anna"}','804f2b2801ecbe3d025a2a677a52dedacd612e6ee21909bad757f3c8ee506575','850b47ff237104418695a73a1427ec063d572d4c32f50f1d658f59f107406bce');
INSERT INTO "audit" VALUES(6,1772366520000000,'test','move.precheck','move 2','{"digest": "78b38ac325955d6c50f8865a499c260250ca35dda8ed8166aabf2f16840c3a09", "reason": "as planned", "was": "approved"}','850b47ff237104418695a73a1427ec063d572d4c32f50f1d658f59f107406bce','903a6e7d26e9c30e657926dee74d1e8a1e45669a919e2bcc29e7c9a64f71ac36');
INSERT INTO "audit" VALUES(7,1772366520000000,'test','move.running','move 2','{"digest": "78b38ac325955d6c50f8865a499c260250ca35dda8ed8166aabf2f16840c3a09", "reason": "as planned", "was": "precheck"}','903a6e7d26e9c30e657926dee74d1e8a1e45669a919e2bcc29e7c9a64f71ac36','abf498475769abc1a3ed8bca6c455191adb95a1dbc20f90e8cff7c7b6854045b');
INSERT INTO "audit" VALUES(8,1772366520000000,'test','step.intended','step 1','{"digest": "78b38ac325955d6c50f8865a499c260250ca35dda8ed8166aabf2f16840c3a09", "move": 2, "ordinal": 1, "sql": "ALTER TABLE public.t2 SET TABLESPACE fast"}','abf498475769abc1a3ed8bca6c455191adb95a1dbc20f90e8cff7c7b6854045b','6ce860acbdd9f80e61409896180f1aa6b748a3c1520f0c0c623902b3baf8c0db');
INSERT INTO "audit" VALUES(9,1772366525000000,'test','step.done','step 1','{"detail": ""}','6ce860acbdd9f80e61409896180f1aa6b748a3c1520f0c0c623902b3baf8c0db','e319de761d08a589b65e855f95f52313c45cb2a16c23596c4575affe426c32b8');
INSERT INTO "audit" VALUES(10,1772366525000000,'test','move.placed','move 2','{"digest": "78b38ac325955d6c50f8865a499c260250ca35dda8ed8166aabf2f16840c3a09", "reason": "as planned", "was": "running"}','e319de761d08a589b65e855f95f52313c45cb2a16c23596c4575affe426c32b8','e5303d72e9b093a04c4d739648b3d40baa0ab8537a5956b762643c100f9e2a69');
INSERT INTO "audit" VALUES(11,1772366525000000,'test','move.settling','move 2','{"digest": "78b38ac325955d6c50f8865a499c260250ca35dda8ed8166aabf2f16840c3a09", "reason": "as planned", "was": "placed"}','e5303d72e9b093a04c4d739648b3d40baa0ab8537a5956b762643c100f9e2a69','6ccdd12759b5e39b8665b1091f35c1e48bcb82d6b2fa4fa199e7b057057f8d1b');
INSERT INTO "audit" VALUES(12,1772366525000000,'test','proposal.stored','proposal 3','{"database": "hr", "digest": "895033f3ec63316e6ee327c8353caad5152f4dff987ea4fc679cf64e943eeb86", "moves": 1}','6ccdd12759b5e39b8665b1091f35c1e48bcb82d6b2fa4fa199e7b057057f8d1b','4924286079107be6a186723be20908966bf7e804a308a98769a9af43291d2841');
INSERT INTO "audit" VALUES(13,1772366525000000,'test','pin.set','shop public.t9','{"pin": "none", "reason": "is read at night", "until": null, "who": "anna"}','4924286079107be6a186723be20908966bf7e804a308a98769a9af43291d2841','285fb08478f7c6cc2143269a808780df81ab5f1027d3f1cd2f09c7dae4a30e63');
INSERT INTO "audit" VALUES(14,1772366525000000,'test','move.asked.pause','move 3','{"digest": "78b38ac325955d6c50f8865a499c260250ca35dda8ed8166aabf2f16840c3a09", "origin": "terminal", "reason": "busy", "state": "approved", "who": "ann"}','285fb08478f7c6cc2143269a808780df81ab5f1027d3f1cd2f09c7dae4a30e63','81cee0fe0b123a3d7abe179b19e714f8dd4577cad87599666849c4fcc6bcb914');
INSERT INTO "audit" VALUES(15,1772366525000000,'test','space.closed','shop hdd','{"reason": "retired", "who": "ann"}','81cee0fe0b123a3d7abe179b19e714f8dd4577cad87599666849c4fcc6bcb914','63d0fa88413c08da2830fd7749f030ae17009a58350e59bf5017814058c55616');
CREATE TABLE audit_head (
	id INTEGER NOT NULL, 
	last_id INTEGER NOT NULL, 
	hash TEXT NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "audit_head" VALUES(1,15,'63d0fa88413c08da2830fd7749f030ae17009a58350e59bf5017814058c55616');
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
INSERT INTO "proposals" VALUES(1,'shop','cluster 1 database 5','dbafe1f6f6056efdfcbe1fd752bc0cfb917dffba98877fefe84f1dee1ae6c696','172ed0008014177a25510b1c897484c040b7ef8aaecf893484e4273caae3db9c','{"asked_by":"","bound_per_hour":950.0,"ceiling_ratio":0.6,"created_at":"2026-03-01T12:00:00Z","database":"shop","expires_at":"2026-03-02T12:00:00Z","fingerprint":"cluster 1 database 5","forecast":null,"gap_ratio":0.05,"moves":[{"copy_seconds":2.0,"cost":null,"from_space":"slow","from_tier":"hdd","group":null,"key":"public.t1","ordinal":1,"payback_seconds":8.0,"reason":"promote","route":{"bundle":{"container":"","homes":[],"key":"public.t1","kind":0,"physical_ids":[1],"size_bytes":67108864,"space":"slow","unit_keys":["public.t1"],"wide":""},"combines":false,"follow_up":[],"joins":"","keeps":[],"leaves":[],"lock_seconds":0.0,"locked":null,"locks":"ACCESS EXCLUSIVE on the table while it is copied","log_bytes":67108864,"name":"set tablespace","notes":[],"online":false,"patient_prologue":[],"prologue":["SET lock_timeout = ''500ms''"],"rewrites":"","steps":[{"pause_sql":"","purpose":"move public.t1","resume_sql":"","sql":"ALTER TABLE public.t1 SET TABLESPACE fast","timeout_seconds":0.0,"undo_sql":"","variants":[]}],"tidy_bytes":0,"tidy_locks":"","tidy_steps":[],"to_space":"fast","transient_bytes":0,"undo_bytes":null,"undo_steps":[{"pause_sql":"","purpose":"move public.t1 back","resume_sql":"","sql":"ALTER TABLE public.t1 SET TABLESPACE slow","timeout_seconds":0.0,"undo_sql":"","variants":[]}]},"sentence":"saves 900 s of read wait per hour","size_bytes":67108864,"to_space":"fast","to_tier":"ssd","undoes":null,"wait_saved_per_hour":900.0}],"purpose":"hsm","relief_per_hour":null,"saved_ratio_high":null,"saved_ratio_low":null,"wait_per_hour":1200.0,"wait_saved_high_per_hour":null,"wait_saved_low_per_hour":null,"wait_saved_per_hour":900.0}','rejected','not now',1772366400000000,1772452800000000,1772366400000000,'bert','terminal',NULL);
INSERT INTO "proposals" VALUES(2,'shop','cluster 1 database 5','78b38ac325955d6c50f8865a499c260250ca35dda8ed8166aabf2f16840c3a09','83e5ca63c47d065db8257dbafb2efc69f199f263dad84306f7465d066dfcdfa9','{"asked_by":"","bound_per_hour":950.0,"ceiling_ratio":0.6,"created_at":"2026-03-01T12:00:00Z","database":"shop","expires_at":"2026-03-02T12:00:00Z","fingerprint":"cluster 1 database 5","forecast":null,"gap_ratio":0.05,"moves":[{"copy_seconds":2.0,"cost":null,"from_space":"slow","from_tier":"hdd","group":null,"key":"public.t2","ordinal":1,"payback_seconds":8.0,"reason":"promote","route":{"bundle":{"container":"","homes":[],"key":"public.t2","kind":0,"physical_ids":[1],"size_bytes":67108864,"space":"slow","unit_keys":["public.t2"],"wide":""},"combines":false,"follow_up":[],"joins":"","keeps":[],"leaves":[],"lock_seconds":0.0,"locked":null,"locks":"ACCESS EXCLUSIVE on the table while it is copied","log_bytes":67108864,"name":"set tablespace","notes":[],"online":false,"patient_prologue":[],"prologue":["SET lock_timeout = ''500ms''"],"rewrites":"","steps":[{"pause_sql":"","purpose":"move public.t2","resume_sql":"","sql":"ALTER TABLE public.t2 SET TABLESPACE fast","timeout_seconds":0.0,"undo_sql":"","variants":[]}],"tidy_bytes":0,"tidy_locks":"","tidy_steps":[],"to_space":"fast","transient_bytes":0,"undo_bytes":null,"undo_steps":[{"pause_sql":"","purpose":"move public.t2 back","resume_sql":"","sql":"ALTER TABLE public.t2 SET TABLESPACE slow","timeout_seconds":0.0,"undo_sql":"","variants":[]}]},"sentence":"saves 900 s of read wait per hour","size_bytes":67108864,"to_space":"fast","to_tier":"ssd","undoes":null,"wait_saved_per_hour":900.0},{"copy_seconds":2.0,"cost":null,"from_space":"slow","from_tier":"hdd","group":null,"key":"public.t3","ordinal":2,"payback_seconds":8.0,"reason":"promote","route":{"bundle":{"container":"","homes":[],"key":"public.t3","kind":0,"physical_ids":[1],"size_bytes":67108864,"space":"slow","unit_keys":["public.t3"],"wide":""},"combines":false,"follow_up":[],"joins":"","keeps":[],"leaves":[],"lock_seconds":0.0,"locked":null,"locks":"ACCESS EXCLUSIVE on the table while it is copied","log_bytes":67108864,"name":"set tablespace","notes":[],"online":false,"patient_prologue":[],"prologue":["SET lock_timeout = ''500ms''"],"rewrites":"","steps":[{"pause_sql":"","purpose":"move public.t3","resume_sql":"","sql":"ALTER TABLE public.t3 SET TABLESPACE fast","timeout_seconds":0.0,"undo_sql":"","variants":[]}],"tidy_bytes":0,"tidy_locks":"","tidy_steps":[],"to_space":"fast","transient_bytes":0,"undo_bytes":null,"undo_steps":[{"pause_sql":"","purpose":"move public.t3 back","resume_sql":"","sql":"ALTER TABLE public.t3 SET TABLESPACE slow","timeout_seconds":0.0,"undo_sql":"","variants":[]}]},"sentence":"saves 900 s of read wait per hour","size_bytes":67108864,"to_space":"fast","to_tier":"ssd","undoes":null,"wait_saved_per_hour":900.0}],"purpose":"hsm","relief_per_hour":null,"saved_ratio_high":null,"saved_ratio_low":null,"wait_per_hour":1200.0,"wait_saved_high_per_hour":null,"wait_saved_low_per_hour":null,"wait_saved_per_hour":900.0}','approved','',1772366400000000,1772452800000000,1772366460000000,'anna','terminal','78b38ac325955d6c50f8865a499c260250ca35dda8ed8166aabf2f16840c3a09');
INSERT INTO "proposals" VALUES(3,'hr','cluster 1 database 5','895033f3ec63316e6ee327c8353caad5152f4dff987ea4fc679cf64e943eeb86','777101b92f0090846a928ace4a8a006787573cc9c93544aad96db166f3597958','{"asked_by":"","bound_per_hour":950.0,"ceiling_ratio":0.6,"created_at":"2026-03-01T12:00:00Z","database":"hr","expires_at":"2026-03-02T12:00:00Z","fingerprint":"cluster 1 database 5","forecast":null,"gap_ratio":0.05,"moves":[{"copy_seconds":2.0,"cost":null,"from_space":"slow","from_tier":"hdd","group":null,"key":"public.t4","ordinal":1,"payback_seconds":8.0,"reason":"promote","route":{"bundle":{"container":"","homes":[],"key":"public.t4","kind":0,"physical_ids":[1],"size_bytes":67108864,"space":"slow","unit_keys":["public.t4"],"wide":""},"combines":false,"follow_up":[],"joins":"","keeps":[],"leaves":[],"lock_seconds":0.0,"locked":null,"locks":"ACCESS EXCLUSIVE on the table while it is copied","log_bytes":67108864,"name":"set tablespace","notes":[],"online":false,"patient_prologue":[],"prologue":["SET lock_timeout = ''500ms''"],"rewrites":"","steps":[{"pause_sql":"","purpose":"move public.t4","resume_sql":"","sql":"ALTER TABLE public.t4 SET TABLESPACE fast","timeout_seconds":0.0,"undo_sql":"","variants":[]}],"tidy_bytes":0,"tidy_locks":"","tidy_steps":[],"to_space":"fast","transient_bytes":0,"undo_bytes":null,"undo_steps":[{"pause_sql":"","purpose":"move public.t4 back","resume_sql":"","sql":"ALTER TABLE public.t4 SET TABLESPACE slow","timeout_seconds":0.0,"undo_sql":"","variants":[]}]},"sentence":"saves 900 s of read wait per hour","size_bytes":67108864,"to_space":"fast","to_tier":"ssd","undoes":null,"wait_saved_per_hour":900.0}],"purpose":"hsm","relief_per_hour":null,"saved_ratio_high":null,"saved_ratio_low":null,"wait_per_hour":1200.0,"wait_saved_high_per_hour":null,"wait_saved_low_per_hour":null,"wait_saved_per_hour":900.0}','proposed','',1772366400000000,1772452800000000,NULL,'','',NULL);
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
CREATE INDEX ix_proposals_created_at ON proposals (created_at);
CREATE INDEX ix_proposals_database ON proposals ("database", state);
CREATE INDEX ix_audit_at ON audit (at);
CREATE INDEX ix_history_database ON history ("database", ended_at);
CREATE INDEX ix_history_resolution_seconds ON history (resolution_seconds, ended_at);
CREATE INDEX ix_work_database ON work ("database", ended_at);
CREATE INDEX ix_moves_state ON moves (state);
CREATE INDEX ix_moves_updated_at ON moves (updated_at);
CREATE INDEX ix_steps_ended_at ON steps (ended_at);
CREATE INDEX ix_steps_move_id ON steps (move_id);
CREATE INDEX ix_outcomes_move_id ON outcomes (move_id);
CREATE INDEX ix_asks_move_id ON asks (move_id);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('proposals',3);
INSERT INTO "sqlite_sequence" VALUES('moves',4);
INSERT INTO "sqlite_sequence" VALUES('pins',1);
INSERT INTO "sqlite_sequence" VALUES('asks',1);
COMMIT;
