-- A ledger of revision v0009, as that version wrote it: an approval is open across the upgrade.
BEGIN TRANSACTION;
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('v0009');
CREATE TABLE array_columns (
	"database" TEXT NOT NULL, 
	name TEXT NOT NULL, 
	"column" TEXT NOT NULL, 
	digest TEXT NOT NULL, 
	PRIMARY KEY ("database", name, "column")
)
 WITHOUT ROWID

;
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
INSERT INTO "audit" VALUES(1,1772366400000000,'test','ledger.created','ledger.db','{"now": "v0009", "was": ""}','0000000000000000000000000000000000000000000000000000000000000000','47f589d22b8f68ecbbc4fee4198a326e78d48b0361690485de2a1eecec400fd8');
INSERT INTO "audit" VALUES(2,1772366400000000,'test','proposal.stored','proposal 1','{"database": "shop", "digest": "d6f7365bccd97543444c2983cd936c6c32409250807ff1dd7615310c5f12ef4e", "moves": 1}','47f589d22b8f68ecbbc4fee4198a326e78d48b0361690485de2a1eecec400fd8','291dbea0c77c19e8b195cab5766909021014ce0e72994579a546f05df78658ba');
INSERT INTO "audit" VALUES(3,1772366400000000,'test','proposal.rejected','proposal 1','{"digest": "d6f7365bccd97543444c2983cd936c6c32409250807ff1dd7615310c5f12ef4e", "moves": [1], "origin": "terminal", "reason": "not now", "who": "bert"}','291dbea0c77c19e8b195cab5766909021014ce0e72994579a546f05df78658ba','6828c00611361a81e825cb771f7e5fa68727e655a2f0315f54bde44b6623e6fc');
INSERT INTO "audit" VALUES(4,1772366460000000,'test','proposal.stored','proposal 2','{"database": "shop", "digest": "2907a6e52f96201697c7980d3c40349ca21475969e49ccff239d6dc90496d15b", "moves": 2}','6828c00611361a81e825cb771f7e5fa68727e655a2f0315f54bde44b6623e6fc','951d8eb7bc864cfb6aefb38e2cd3701b311ecc5c401ea9b1f72053d49544e80f');
INSERT INTO "audit" VALUES(5,1772366460000000,'test','proposal.signed','proposal 2','{"digest": "2907a6e52f96201697c7980d3c40349ca21475969e49ccff239d6dc90496d15b", "key": "SHA256:HbZptZMhNpGSUaZHQfasiqKyLBwpa2mDwCr3B2BnCkU", "moves": [1, 2], "origin": "terminal", "sequence": 4, "signature": "-----BEGIN SSH SIGNATURE-----\nU1NIU0lHAAAAAQAAADMAAAALc3NoLWVkMjU1MTkAAAAgJ0a7z6TAuBfa3NWwqdMqw4qAy1\nAPuaLIE+tCoP1q0YcAAAARaG90cGxhY2UtYXBwcm92YWwAAAAAAAAABnNoYTUxMgAAAFMA\nAAALc3NoLWVkMjU1MTkAAABA8BaKH3K6ERAYrye07LXRYUHEiG4psYYY59vz1QSrYzBpsR\nVF2G39O+4PlbEfDALVWNkisSrFqrNatr0NhPUTAg==\n-----END SSH SIGNATURE-----\n", "who": "anna"}','951d8eb7bc864cfb6aefb38e2cd3701b311ecc5c401ea9b1f72053d49544e80f','63a112120774a5f61b6c31dba7020afd439638003e68a878893338cac1b446e3');
INSERT INTO "audit" VALUES(6,1772366460000000,'test','proposal.approved','proposal 2','{"digest": "2907a6e52f96201697c7980d3c40349ca21475969e49ccff239d6dc90496d15b", "moves": [1, 2], "origin": "terminal", "reason": "", "who": "anna"}','63a112120774a5f61b6c31dba7020afd439638003e68a878893338cac1b446e3','b6b143627d7ba75630fa47d5b4d888b636d9761beb06394eae126a734c731e5f');
INSERT INTO "audit" VALUES(7,1772366520000000,'test','move.precheck','move 2','{"digest": "2907a6e52f96201697c7980d3c40349ca21475969e49ccff239d6dc90496d15b", "reason": "as planned", "was": "approved"}','b6b143627d7ba75630fa47d5b4d888b636d9761beb06394eae126a734c731e5f','040eea995b04db15b9015392bd7790e2067b420be40ab836cd61f342f888ea0a');
INSERT INTO "audit" VALUES(8,1772366520000000,'test','move.running','move 2','{"digest": "2907a6e52f96201697c7980d3c40349ca21475969e49ccff239d6dc90496d15b", "reason": "as planned", "was": "precheck"}','040eea995b04db15b9015392bd7790e2067b420be40ab836cd61f342f888ea0a','4e02057329ba5a50d8a4c8016d39b358e38ca6bf3d1f6e5b00dbc7260389bb22');
INSERT INTO "audit" VALUES(9,1772366520000000,'test','step.intended','step 1','{"digest": "2907a6e52f96201697c7980d3c40349ca21475969e49ccff239d6dc90496d15b", "move": 2, "ordinal": 1, "sql": "ALTER TABLE public.t2 SET TABLESPACE fast"}','4e02057329ba5a50d8a4c8016d39b358e38ca6bf3d1f6e5b00dbc7260389bb22','d4d09c5465189b730d03eaa822fdbcad77352de1f7a66a497cb59cb64ecf4d53');
INSERT INTO "audit" VALUES(10,1772366525000000,'test','step.done','step 1','{"detail": ""}','d4d09c5465189b730d03eaa822fdbcad77352de1f7a66a497cb59cb64ecf4d53','cf8f2d699579b4d5311134b769f67762cb3b95cc3ccd84bb872be6d90259f5cc');
INSERT INTO "audit" VALUES(11,1772366525000000,'test','move.placed','move 2','{"digest": "2907a6e52f96201697c7980d3c40349ca21475969e49ccff239d6dc90496d15b", "reason": "as planned", "was": "running"}','cf8f2d699579b4d5311134b769f67762cb3b95cc3ccd84bb872be6d90259f5cc','32b29967c754477e1522d692e3768ecddc536dfb819ccf974b01ed9c63c9143c');
INSERT INTO "audit" VALUES(12,1772366525000000,'test','move.settling','move 2','{"digest": "2907a6e52f96201697c7980d3c40349ca21475969e49ccff239d6dc90496d15b", "reason": "as planned", "was": "placed"}','32b29967c754477e1522d692e3768ecddc536dfb819ccf974b01ed9c63c9143c','5515ec4f875bcaca6727ec43c75f1494c8ca763bcf8997d6cff0ac619edf8b3c');
INSERT INTO "audit" VALUES(13,1772366525000000,'test','proposal.stored','proposal 3','{"database": "hr", "digest": "4778066018743d7ec52ea75a4b93f10e4c14b5f875bd1954ac27485613a45d51", "moves": 1}','5515ec4f875bcaca6727ec43c75f1494c8ca763bcf8997d6cff0ac619edf8b3c','dfd7a9f19be9c2898bbb7b4ea23ba511b5f4541a7b6a8fea21514e9e0e486219');
INSERT INTO "audit" VALUES(14,1772366525000000,'test','pin.set','shop public.t9','{"pin": "none", "reason": "is read at night", "until": null, "who": "anna"}','dfd7a9f19be9c2898bbb7b4ea23ba511b5f4541a7b6a8fea21514e9e0e486219','7297cc0de1ae038f4ee1ffe9c7883459805ebfe8a86d62cbc8c4866a918893f3');
INSERT INTO "audit" VALUES(15,1772366525000000,'test','move.asked.pause','move 3','{"digest": "2907a6e52f96201697c7980d3c40349ca21475969e49ccff239d6dc90496d15b", "origin": "terminal", "reason": "busy", "state": "approved", "who": "ann"}','7297cc0de1ae038f4ee1ffe9c7883459805ebfe8a86d62cbc8c4866a918893f3','b5dd949fadd867306aa43888fca6e11d3ea2fdb850abccedb4a66a0975cb7844');
INSERT INTO "audit" VALUES(16,1772366525000000,'test','space.closed','shop hdd','{"reason": "retired", "who": "ann"}','b5dd949fadd867306aa43888fca6e11d3ea2fdb850abccedb4a66a0975cb7844','45c8cba6de68ca5f2080f396f1538c073f810fee3cade0c82b6a1f63dff1166d');
INSERT INTO "audit" VALUES(17,1772366525000000,'test','rule.proposed','rule 1','{"limits": {"database": "shop", "expires_at": "2026-03-31T12:02:05+00:00", "fingerprint": "cluster 1 database 5", "least_gain_per_hour": 600.0, "locks": "brief", "mode": "hsm", "most_a_day": 2, "most_bytes": 134217728, "most_stall_seconds": 1.0, "time_zone": "UTC", "units": ["public.*"], "windows": []}, "origin": "terminal", "who": "bert"}','45c8cba6de68ca5f2080f396f1538c073f810fee3cade0c82b6a1f63dff1166d','0807f343fce57ce8793e06185b6473068cdd2c405ae31ea2c28e1cff8ebfdafa');
INSERT INTO "audit" VALUES(18,1772366525000000,'test','rule.signed','rule 1','{"key": "SHA256:HbZptZMhNpGSUaZHQfasiqKyLBwpa2mDwCr3B2BnCkU", "origin": "terminal", "sequence": 17, "signature": "-----BEGIN SSH SIGNATURE-----\nU1NIU0lHAAAAAQAAADMAAAALc3NoLWVkMjU1MTkAAAAgJ0a7z6TAuBfa3NWwqdMqw4qAy1\nAPuaLIE+tCoP1q0YcAAAANaG90cGxhY2UtcnVsZQAAAAAAAAAGc2hhNTEyAAAAUwAAAAtz\nc2gtZWQyNTUxOQAAAECo1BhAjmGc6e1RNRfOVSEhiGxJLZlvqxc8IvHzIpxcZ/RilrcfN2\n4vdj77o6GfyeIa1fU1LHVozsXTAf0frJsA\n-----END SSH SIGNATURE-----\n", "who": "anna"}','0807f343fce57ce8793e06185b6473068cdd2c405ae31ea2c28e1cff8ebfdafa','6aace9f729f0ec0c3fbd30590bb0671300e935d07dd943fab9791faad6a6c59b');
INSERT INTO "audit" VALUES(19,1772366525000000,'test','rule.opened','rule 1','{"origin": "terminal", "who": "anna"}','6aace9f729f0ec0c3fbd30590bb0671300e935d07dd943fab9791faad6a6c59b','7941e805dde1257e0f7156718471720daf5f7bbfe46611aa2c2b20cdba0f1d43');
INSERT INTO "audit" VALUES(20,1772366525000000,'test','proposal.stored','proposal 4','{"database": "shop", "digest": "c4cab44e12fd2893a8d48958f7b42e18a0004129f1f94d1aa455a03612eed6e8", "moves": 1}','7941e805dde1257e0f7156718471720daf5f7bbfe46611aa2c2b20cdba0f1d43','6f48295842b4461f4cb39652f61bdc2d218b3f08ba1ac6323f93825b51ff8ce9');
INSERT INTO "audit" VALUES(21,1772366525000000,'test','proposal.approved','proposal 4','{"conditions": {"least_gain_per_hour": 600.0, "most_bytes": 134217728, "not_after": "2026-03-31T12:02:05+00:00"}, "digest": "c4cab44e12fd2893a8d48958f7b42e18a0004129f1f94d1aa455a03612eed6e8", "moves": [1], "origin": "level auto", "reason": "within its limits", "rule": 1, "who": "standing rule 1 of anna"}','6f48295842b4461f4cb39652f61bdc2d218b3f08ba1ac6323f93825b51ff8ce9','3903f1ecadbdbb33a22f213410b335b9408ecd992f254c4733127d18bf2a2540');
CREATE TABLE audit_head (
	id INTEGER NOT NULL, 
	last_id INTEGER NOT NULL, 
	hash TEXT NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "audit_head" VALUES(1,21,'3903f1ecadbdbb33a22f213410b335b9408ecd992f254c4733127d18bf2a2540');
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
CREATE TABLE leases (
	"database" TEXT NOT NULL, 
	token BIGINT NOT NULL, 
	holder TEXT NOT NULL, 
	session TEXT NOT NULL, 
	seconds FLOAT NOT NULL, 
	expires_at BIGINT, 
	PRIMARY KEY ("database")
)
 WITHOUT ROWID

;
INSERT INTO "leases" VALUES('shop',1,'test','57be7b41e3404ff5',0.0,NULL);
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
INSERT INTO "moves" VALUES(5,4,1,'approved','within its limits',0,1772366525000000);
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
INSERT INTO "proposals" VALUES(1,'shop','cluster 1 database 5','d6f7365bccd97543444c2983cd936c6c32409250807ff1dd7615310c5f12ef4e','172ed0008014177a25510b1c897484c040b7ef8aaecf893484e4273caae3db9c','{"asked_by":"","bound_per_hour":950.0,"ceiling_ratio":0.6,"created_at":"2026-03-01T12:00:00Z","database":"shop","expires_at":"2026-03-02T12:00:00Z","fingerprint":"cluster 1 database 5","forecast":null,"gap_ratio":0.05,"moves":[{"copy_seconds":2.0,"cost":null,"expected_bytes":null,"from_space":"slow","from_tier":"hdd","goes_back":false,"group":null,"key":"public.t1","limit_bytes":null,"ordinal":1,"payback_seconds":8.0,"reason":"promote","route":{"arguments":[],"bundle":{"container":"","homes":[],"key":"public.t1","kind":0,"physical_ids":[1],"size_bytes":67108864,"space":"slow","table_ids":[],"unit_keys":["public.t1"],"wide":""},"combines":false,"copies":[],"drains":0,"drains_users":0,"follow_up":[],"joins":"","keeps":[],"leaves":[],"lock_seconds":0.0,"locked":null,"locks":"ACCESS EXCLUSIVE on the table while it is copied","log_bytes":67108864,"name":"set tablespace","notes":[],"online":false,"patient_prologue":[],"prologue":["SET lock_timeout = ''500ms''"],"rewrites":"","steps":[{"operation":null,"pause_sql":"","purpose":"move public.t1","resume_sql":"","sql":"ALTER TABLE public.t1 SET TABLESPACE fast","timeout_seconds":0.0,"undo_sql":"","variants":[]}],"tidy_bytes":0,"tidy_locks":"","tidy_steps":[],"to_space":"fast","transient_bytes":0,"undo_bytes":null,"undo_steps":[{"operation":null,"pause_sql":"","purpose":"move public.t1 back","resume_sql":"","sql":"ALTER TABLE public.t1 SET TABLESPACE slow","timeout_seconds":0.0,"undo_sql":"","variants":[]}],"unites":""},"sentence":"saves 900 s of read wait per hour","size_bytes":67108864,"to_space":"fast","to_tier":"ssd","undoes":null,"wait_saved_per_hour":900.0}],"purpose":"hsm","relief_per_hour":null,"saved_ratio_high":null,"saved_ratio_low":null,"wait_per_hour":1200.0,"wait_saved_high_per_hour":null,"wait_saved_low_per_hour":null,"wait_saved_per_hour":900.0}','rejected','not now',1772366400000000,1772452800000000,1772366400000000,'bert','terminal',NULL);
INSERT INTO "proposals" VALUES(2,'shop','cluster 1 database 5','2907a6e52f96201697c7980d3c40349ca21475969e49ccff239d6dc90496d15b','83e5ca63c47d065db8257dbafb2efc69f199f263dad84306f7465d066dfcdfa9','{"asked_by":"","bound_per_hour":950.0,"ceiling_ratio":0.6,"created_at":"2026-03-01T12:00:00Z","database":"shop","expires_at":"2026-03-02T12:00:00Z","fingerprint":"cluster 1 database 5","forecast":null,"gap_ratio":0.05,"moves":[{"copy_seconds":2.0,"cost":null,"expected_bytes":null,"from_space":"slow","from_tier":"hdd","goes_back":false,"group":null,"key":"public.t2","limit_bytes":null,"ordinal":1,"payback_seconds":8.0,"reason":"promote","route":{"arguments":[],"bundle":{"container":"","homes":[],"key":"public.t2","kind":0,"physical_ids":[1],"size_bytes":67108864,"space":"slow","table_ids":[],"unit_keys":["public.t2"],"wide":""},"combines":false,"copies":[],"drains":0,"drains_users":0,"follow_up":[],"joins":"","keeps":[],"leaves":[],"lock_seconds":0.0,"locked":null,"locks":"ACCESS EXCLUSIVE on the table while it is copied","log_bytes":67108864,"name":"set tablespace","notes":[],"online":false,"patient_prologue":[],"prologue":["SET lock_timeout = ''500ms''"],"rewrites":"","steps":[{"operation":null,"pause_sql":"","purpose":"move public.t2","resume_sql":"","sql":"ALTER TABLE public.t2 SET TABLESPACE fast","timeout_seconds":0.0,"undo_sql":"","variants":[]}],"tidy_bytes":0,"tidy_locks":"","tidy_steps":[],"to_space":"fast","transient_bytes":0,"undo_bytes":null,"undo_steps":[{"operation":null,"pause_sql":"","purpose":"move public.t2 back","resume_sql":"","sql":"ALTER TABLE public.t2 SET TABLESPACE slow","timeout_seconds":0.0,"undo_sql":"","variants":[]}],"unites":""},"sentence":"saves 900 s of read wait per hour","size_bytes":67108864,"to_space":"fast","to_tier":"ssd","undoes":null,"wait_saved_per_hour":900.0},{"copy_seconds":2.0,"cost":null,"expected_bytes":null,"from_space":"slow","from_tier":"hdd","goes_back":false,"group":null,"key":"public.t3","limit_bytes":null,"ordinal":2,"payback_seconds":8.0,"reason":"promote","route":{"arguments":[],"bundle":{"container":"","homes":[],"key":"public.t3","kind":0,"physical_ids":[1],"size_bytes":67108864,"space":"slow","table_ids":[],"unit_keys":["public.t3"],"wide":""},"combines":false,"copies":[],"drains":0,"drains_users":0,"follow_up":[],"joins":"","keeps":[],"leaves":[],"lock_seconds":0.0,"locked":null,"locks":"ACCESS EXCLUSIVE on the table while it is copied","log_bytes":67108864,"name":"set tablespace","notes":[],"online":false,"patient_prologue":[],"prologue":["SET lock_timeout = ''500ms''"],"rewrites":"","steps":[{"operation":null,"pause_sql":"","purpose":"move public.t3","resume_sql":"","sql":"ALTER TABLE public.t3 SET TABLESPACE fast","timeout_seconds":0.0,"undo_sql":"","variants":[]}],"tidy_bytes":0,"tidy_locks":"","tidy_steps":[],"to_space":"fast","transient_bytes":0,"undo_bytes":null,"undo_steps":[{"operation":null,"pause_sql":"","purpose":"move public.t3 back","resume_sql":"","sql":"ALTER TABLE public.t3 SET TABLESPACE slow","timeout_seconds":0.0,"undo_sql":"","variants":[]}],"unites":""},"sentence":"saves 900 s of read wait per hour","size_bytes":67108864,"to_space":"fast","to_tier":"ssd","undoes":null,"wait_saved_per_hour":900.0}],"purpose":"hsm","relief_per_hour":null,"saved_ratio_high":null,"saved_ratio_low":null,"wait_per_hour":1200.0,"wait_saved_high_per_hour":null,"wait_saved_low_per_hour":null,"wait_saved_per_hour":900.0}','approved','',1772366400000000,1772452800000000,1772366460000000,'anna','terminal','2907a6e52f96201697c7980d3c40349ca21475969e49ccff239d6dc90496d15b');
INSERT INTO "proposals" VALUES(3,'hr','cluster 1 database 5','4778066018743d7ec52ea75a4b93f10e4c14b5f875bd1954ac27485613a45d51','777101b92f0090846a928ace4a8a006787573cc9c93544aad96db166f3597958','{"asked_by":"","bound_per_hour":950.0,"ceiling_ratio":0.6,"created_at":"2026-03-01T12:00:00Z","database":"hr","expires_at":"2026-03-02T12:00:00Z","fingerprint":"cluster 1 database 5","forecast":null,"gap_ratio":0.05,"moves":[{"copy_seconds":2.0,"cost":null,"expected_bytes":null,"from_space":"slow","from_tier":"hdd","goes_back":false,"group":null,"key":"public.t4","limit_bytes":null,"ordinal":1,"payback_seconds":8.0,"reason":"promote","route":{"arguments":[],"bundle":{"container":"","homes":[],"key":"public.t4","kind":0,"physical_ids":[1],"size_bytes":67108864,"space":"slow","table_ids":[],"unit_keys":["public.t4"],"wide":""},"combines":false,"copies":[],"drains":0,"drains_users":0,"follow_up":[],"joins":"","keeps":[],"leaves":[],"lock_seconds":0.0,"locked":null,"locks":"ACCESS EXCLUSIVE on the table while it is copied","log_bytes":67108864,"name":"set tablespace","notes":[],"online":false,"patient_prologue":[],"prologue":["SET lock_timeout = ''500ms''"],"rewrites":"","steps":[{"operation":null,"pause_sql":"","purpose":"move public.t4","resume_sql":"","sql":"ALTER TABLE public.t4 SET TABLESPACE fast","timeout_seconds":0.0,"undo_sql":"","variants":[]}],"tidy_bytes":0,"tidy_locks":"","tidy_steps":[],"to_space":"fast","transient_bytes":0,"undo_bytes":null,"undo_steps":[{"operation":null,"pause_sql":"","purpose":"move public.t4 back","resume_sql":"","sql":"ALTER TABLE public.t4 SET TABLESPACE slow","timeout_seconds":0.0,"undo_sql":"","variants":[]}],"unites":""},"sentence":"saves 900 s of read wait per hour","size_bytes":67108864,"to_space":"fast","to_tier":"ssd","undoes":null,"wait_saved_per_hour":900.0}],"purpose":"hsm","relief_per_hour":null,"saved_ratio_high":null,"saved_ratio_low":null,"wait_per_hour":1200.0,"wait_saved_high_per_hour":null,"wait_saved_low_per_hour":null,"wait_saved_per_hour":900.0}','proposed','',1772366400000000,1772452800000000,NULL,'','',NULL);
INSERT INTO "proposals" VALUES(4,'shop','cluster 1 database 5','c4cab44e12fd2893a8d48958f7b42e18a0004129f1f94d1aa455a03612eed6e8','fc56eae6c47ff3d48f30068636f63acc2d3f84795e55ad179bd6a780d1b94c6b','{"asked_by":"","bound_per_hour":950.0,"ceiling_ratio":0.6,"created_at":"2026-03-01T12:00:00Z","database":"shop","expires_at":"2026-03-02T12:00:00Z","fingerprint":"cluster 1 database 5","forecast":null,"gap_ratio":0.05,"moves":[{"copy_seconds":2.0,"cost":null,"expected_bytes":null,"from_space":"slow","from_tier":"hdd","goes_back":false,"group":null,"key":"public.t5","limit_bytes":null,"ordinal":1,"payback_seconds":8.0,"reason":"promote","route":{"arguments":[],"bundle":{"container":"","homes":[],"key":"public.t5","kind":0,"physical_ids":[1],"size_bytes":67108864,"space":"slow","table_ids":[],"unit_keys":["public.t5"],"wide":""},"combines":false,"copies":[],"drains":0,"drains_users":0,"follow_up":[],"joins":"","keeps":[],"leaves":[],"lock_seconds":0.5,"locked":"briefly","locks":"ACCESS EXCLUSIVE on the table while it is copied","log_bytes":67108864,"name":"set tablespace","notes":[],"online":false,"patient_prologue":[],"prologue":["SET lock_timeout = ''500ms''"],"rewrites":"","steps":[{"operation":null,"pause_sql":"","purpose":"move public.t5","resume_sql":"","sql":"ALTER TABLE public.t5 SET TABLESPACE fast","timeout_seconds":0.0,"undo_sql":"","variants":[]}],"tidy_bytes":0,"tidy_locks":"","tidy_steps":[],"to_space":"fast","transient_bytes":0,"undo_bytes":null,"undo_steps":[{"operation":null,"pause_sql":"","purpose":"move public.t5 back","resume_sql":"","sql":"ALTER TABLE public.t5 SET TABLESPACE slow","timeout_seconds":0.0,"undo_sql":"","variants":[]}],"unites":""},"sentence":"saves 900 s of read wait per hour","size_bytes":67108864,"to_space":"fast","to_tier":"ssd","undoes":null,"wait_saved_per_hour":900.0}],"purpose":"hsm","relief_per_hour":null,"saved_ratio_high":null,"saved_ratio_low":null,"wait_per_hour":1200.0,"wait_saved_high_per_hour":1000.0,"wait_saved_low_per_hour":700.0,"wait_saved_per_hour":900.0}','approved','within its limits',1772366400000000,1772452800000000,1772366525000000,'standing rule 1 of anna','level auto','c4cab44e12fd2893a8d48958f7b42e18a0004129f1f94d1aa455a03612eed6e8');
CREATE TABLE shared_columns (
	digest TEXT NOT NULL, 
	body BLOB NOT NULL, 
	PRIMARY KEY (digest)
);
CREATE TABLE statements (
	id INTEGER NOT NULL, 
	"database" TEXT NOT NULL, 
	started_at BIGINT NOT NULL, 
	ended_at BIGINT NOT NULL, 
	body BLOB NOT NULL, 
	PRIMARY KEY (id)
);
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
CREATE INDEX ix_proposals_created_at ON proposals (created_at);
CREATE INDEX ix_audit_subject ON audit (subject);
CREATE INDEX ix_audit_at ON audit (at);
CREATE INDEX ix_array_columns_digest ON array_columns (digest);
CREATE INDEX ix_history_resolution_seconds ON history (resolution_seconds, ended_at);
CREATE INDEX ix_history_database ON history ("database", ended_at);
CREATE INDEX ix_work_database ON work ("database", ended_at);
CREATE INDEX ix_statements_database ON statements ("database", ended_at);
CREATE INDEX ix_moves_updated_at ON moves (updated_at);
CREATE INDEX ix_moves_state ON moves (state);
CREATE INDEX ix_steps_ended_at ON steps (ended_at);
CREATE INDEX ix_steps_move_id ON steps (move_id);
CREATE INDEX ix_outcomes_move_id ON outcomes (move_id);
CREATE INDEX ix_asks_move_id ON asks (move_id);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('proposals',4);
INSERT INTO "sqlite_sequence" VALUES('moves',5);
INSERT INTO "sqlite_sequence" VALUES('pins',1);
INSERT INTO "sqlite_sequence" VALUES('asks',1);
COMMIT;
