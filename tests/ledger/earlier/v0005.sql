-- A ledger of revision v0005, as that version wrote it: an approval is open across the upgrade.
BEGIN TRANSACTION;
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('v0005');
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
INSERT INTO "audit" VALUES(1,1772366400000000,'test','ledger.created','ledger.db','{"now": "v0005", "was": ""}','0000000000000000000000000000000000000000000000000000000000000000','5722e7e11dae3e2ec7f655bc7b66f15df50ad888d24c5ec53ae22fdadc708d01');
INSERT INTO "audit" VALUES(2,1772366400000000,'test','proposal.stored','proposal 1','{"database": "shop", "digest": "ef120dad429cbb12dcc7e812f780eade7faeeb026705ee35e992dea6de7b33b0", "moves": 1}','5722e7e11dae3e2ec7f655bc7b66f15df50ad888d24c5ec53ae22fdadc708d01','877cf7853584c101895fac00c0b2096217435dcbd000a185f66d5fccee361204');
INSERT INTO "audit" VALUES(3,1772366400000000,'test','proposal.rejected','proposal 1','{"digest": "ef120dad429cbb12dcc7e812f780eade7faeeb026705ee35e992dea6de7b33b0", "moves": [1], "origin": "terminal", "reason": "not now", "who": "bert"}','877cf7853584c101895fac00c0b2096217435dcbd000a185f66d5fccee361204','87e7f07f8e3f2410a4fc1ad230919202e93965557b350c2878c3f30be7981e0c');
INSERT INTO "audit" VALUES(4,1772366460000000,'test','proposal.stored','proposal 2','{"database": "shop", "digest": "e3386d7588f67d8e1d66a0e8de829cf8f23df0d24f6aa6d0cc5f8beea869a616", "moves": 2}','87e7f07f8e3f2410a4fc1ad230919202e93965557b350c2878c3f30be7981e0c','ee6264a65afa062313ab02bf7142ddcbc7690549e9c939604b99359a7a72d43f');
INSERT INTO "audit" VALUES(5,1772366460000000,'test','proposal.signed','proposal 2','{"digest": "e3386d7588f67d8e1d66a0e8de829cf8f23df0d24f6aa6d0cc5f8beea869a616", "key": "SHA256:HbZptZMhNpGSUaZHQfasiqKyLBwpa2mDwCr3B2BnCkU", "moves": [1, 2], "origin": "terminal", "sequence": 4, "signature": "-----BEGIN SSH SIGNATURE-----\nU1NIU0lHAAAAAQAAADMAAAALc3NoLWVkMjU1MTkAAAAgJ0a7z6TAuBfa3NWwqdMqw4qAy1\nAPuaLIE+tCoP1q0YcAAAARaG90cGxhY2UtYXBwcm92YWwAAAAAAAAABnNoYTUxMgAAAFMA\nAAALc3NoLWVkMjU1MTkAAABAi4iNpk7l2DXGaofCiZx11sd20FOZ9OuFTzoAo00torULkD\niKaJ85sqVFDM8ZFGAaOwbxR2PU4rEgzQaCIEsEBA==\n-----END SSH SIGNATURE-----\n", "who": "anna"}','ee6264a65afa062313ab02bf7142ddcbc7690549e9c939604b99359a7a72d43f','397dbcdcaecbc8542e658086e455759e1e448fbc3210ad663c04f097661acbb5');
INSERT INTO "audit" VALUES(6,1772366460000000,'test','proposal.approved','proposal 2','{"digest": "e3386d7588f67d8e1d66a0e8de829cf8f23df0d24f6aa6d0cc5f8beea869a616", "moves": [1, 2], "origin": "terminal", "reason": "", "who": "anna"}','397dbcdcaecbc8542e658086e455759e1e448fbc3210ad663c04f097661acbb5','aa0c500810581f978ad5bc81a61830b22e1caab3ac5a2f08f8e982b55606c39d');
INSERT INTO "audit" VALUES(7,1772366520000000,'test','move.precheck','move 2','{"digest": "e3386d7588f67d8e1d66a0e8de829cf8f23df0d24f6aa6d0cc5f8beea869a616", "reason": "as planned", "was": "approved"}','aa0c500810581f978ad5bc81a61830b22e1caab3ac5a2f08f8e982b55606c39d','e81a91b28b20717c86a16ac14fa6e6e95a371135f19c3a748459803601669518');
INSERT INTO "audit" VALUES(8,1772366520000000,'test','move.running','move 2','{"digest": "e3386d7588f67d8e1d66a0e8de829cf8f23df0d24f6aa6d0cc5f8beea869a616", "reason": "as planned", "was": "precheck"}','e81a91b28b20717c86a16ac14fa6e6e95a371135f19c3a748459803601669518','05110af0a69c0a0e5a614eb9f7c8749a11fab6ba50f386668e54f2de1c5c83ec');
INSERT INTO "audit" VALUES(9,1772366520000000,'test','step.intended','step 1','{"digest": "e3386d7588f67d8e1d66a0e8de829cf8f23df0d24f6aa6d0cc5f8beea869a616", "move": 2, "ordinal": 1, "sql": "ALTER TABLE public.t2 SET TABLESPACE fast"}','05110af0a69c0a0e5a614eb9f7c8749a11fab6ba50f386668e54f2de1c5c83ec','81cdf6b28e0b939c33a027b0c252f907ca512b693a23abd586a234c267b2c160');
INSERT INTO "audit" VALUES(10,1772366525000000,'test','step.done','step 1','{"detail": ""}','81cdf6b28e0b939c33a027b0c252f907ca512b693a23abd586a234c267b2c160','89ee314e8fd5e1eb03ea16d0dad6984f762119de0ad8dd1c45f471988ddba618');
INSERT INTO "audit" VALUES(11,1772366525000000,'test','move.placed','move 2','{"digest": "e3386d7588f67d8e1d66a0e8de829cf8f23df0d24f6aa6d0cc5f8beea869a616", "reason": "as planned", "was": "running"}','89ee314e8fd5e1eb03ea16d0dad6984f762119de0ad8dd1c45f471988ddba618','6030ca3c05d752ff518cc12465155d24b338a878efc341f9a9ab7eaa75054e20');
INSERT INTO "audit" VALUES(12,1772366525000000,'test','move.settling','move 2','{"digest": "e3386d7588f67d8e1d66a0e8de829cf8f23df0d24f6aa6d0cc5f8beea869a616", "reason": "as planned", "was": "placed"}','6030ca3c05d752ff518cc12465155d24b338a878efc341f9a9ab7eaa75054e20','f0ce98784a153f422dd208394a81ee798e27a7294c8e3a6d10eb735342aa5afc');
INSERT INTO "audit" VALUES(13,1772366525000000,'test','proposal.stored','proposal 3','{"database": "hr", "digest": "abb4bd60af439d15e7e8d55b4f7304500449ed09f6ce2d1e3acb4a283bf12156", "moves": 1}','f0ce98784a153f422dd208394a81ee798e27a7294c8e3a6d10eb735342aa5afc','8a0e0a0a0fe9383800e850e80e5d10d56b8b47cf198cf8260aeaf1adcbf80328');
INSERT INTO "audit" VALUES(14,1772366525000000,'test','pin.set','shop public.t9','{"pin": "none", "reason": "is read at night", "until": null, "who": "anna"}','8a0e0a0a0fe9383800e850e80e5d10d56b8b47cf198cf8260aeaf1adcbf80328','82c6b5664c907f8eedffa409efefb7a3f8792a78887ca122d0c155f1a271141b');
INSERT INTO "audit" VALUES(15,1772366525000000,'test','move.asked.pause','move 3','{"digest": "e3386d7588f67d8e1d66a0e8de829cf8f23df0d24f6aa6d0cc5f8beea869a616", "origin": "terminal", "reason": "busy", "state": "approved", "who": "ann"}','82c6b5664c907f8eedffa409efefb7a3f8792a78887ca122d0c155f1a271141b','1761c7fb69fe040a74e79fedc17bbc58de9a88f68b2618944b44a919155838ad');
INSERT INTO "audit" VALUES(16,1772366525000000,'test','space.closed','shop hdd','{"reason": "retired", "who": "ann"}','1761c7fb69fe040a74e79fedc17bbc58de9a88f68b2618944b44a919155838ad','917f1a3a89a83da9d09d25a305474329cd2c062c238eb9ae99496653bb0ae851');
INSERT INTO "audit" VALUES(17,1772366525000000,'test','rule.proposed','rule 1','{"limits": {"database": "shop", "expires_at": "2026-03-31T12:02:05+00:00", "fingerprint": "cluster 1 database 5", "least_gain_per_hour": 600.0, "locks": "brief", "mode": "hsm", "most_a_day": 2, "most_bytes": 134217728, "most_stall_seconds": 1.0, "time_zone": "UTC", "units": ["public.*"], "windows": []}, "origin": "terminal", "who": "bert"}','917f1a3a89a83da9d09d25a305474329cd2c062c238eb9ae99496653bb0ae851','8c15a417959ffedd550d6a89c98ea22c8b37fbc117fab1e0aca795e774eacb42');
INSERT INTO "audit" VALUES(18,1772366525000000,'test','rule.signed','rule 1','{"key": "SHA256:HbZptZMhNpGSUaZHQfasiqKyLBwpa2mDwCr3B2BnCkU", "origin": "terminal", "sequence": 17, "signature": "-----BEGIN SSH SIGNATURE-----\nU1NIU0lHAAAAAQAAADMAAAALc3NoLWVkMjU1MTkAAAAgJ0a7z6TAuBfa3NWwqdMqw4qAy1\nAPuaLIE+tCoP1q0YcAAAANaG90cGxhY2UtcnVsZQAAAAAAAAAGc2hhNTEyAAAAUwAAAAtz\nc2gtZWQyNTUxOQAAAEDFMb4MTpaRIvBsCLjKLJI6MceKavsov06TqPs4z5++S8m9gK3Wdd\nVD09dc6uSknip42Xwy3dxs7nTKdslZL5AI\n-----END SSH SIGNATURE-----\n", "who": "anna"}','8c15a417959ffedd550d6a89c98ea22c8b37fbc117fab1e0aca795e774eacb42','31da50ee38d1c916b16e6b8c51008c28f35e99425e56f0a9264422e41009e369');
INSERT INTO "audit" VALUES(19,1772366525000000,'test','rule.opened','rule 1','{"origin": "terminal", "who": "anna"}','31da50ee38d1c916b16e6b8c51008c28f35e99425e56f0a9264422e41009e369','ef31bc18fda32ec50e7b5565f818c61be4daaba2d2cbbb285396b6493ccec3b7');
INSERT INTO "audit" VALUES(20,1772366525000000,'test','proposal.stored','proposal 4','{"database": "shop", "digest": "fa25b93d1eab6b610739ac0cd14ae0f53a305da30a49edd360ba01ce58823b96", "moves": 1}','ef31bc18fda32ec50e7b5565f818c61be4daaba2d2cbbb285396b6493ccec3b7','f0dfa7bf2a09fec2cdadc15f01f65fae60486b1df8760908d91fb8bde1df2a86');
INSERT INTO "audit" VALUES(21,1772366525000000,'test','proposal.approved','proposal 4','{"conditions": {"least_gain_per_hour": 600.0, "most_bytes": 134217728, "not_after": "2026-03-31T12:02:05+00:00"}, "digest": "fa25b93d1eab6b610739ac0cd14ae0f53a305da30a49edd360ba01ce58823b96", "moves": [1], "origin": "level auto", "reason": "within its limits", "rule": 1, "who": "standing rule 1 of anna"}','f0dfa7bf2a09fec2cdadc15f01f65fae60486b1df8760908d91fb8bde1df2a86','8d2d6845961c1f98fda87167b11075af0921a87d14c3e4e27ec5187e5ddd41ab');
CREATE TABLE audit_head (
	id INTEGER NOT NULL, 
	last_id INTEGER NOT NULL, 
	hash TEXT NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "audit_head" VALUES(1,21,'8d2d6845961c1f98fda87167b11075af0921a87d14c3e4e27ec5187e5ddd41ab');
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
INSERT INTO "proposals" VALUES(1,'shop','cluster 1 database 5','ef120dad429cbb12dcc7e812f780eade7faeeb026705ee35e992dea6de7b33b0','172ed0008014177a25510b1c897484c040b7ef8aaecf893484e4273caae3db9c','{"asked_by":"","bound_per_hour":950.0,"ceiling_ratio":0.6,"created_at":"2026-03-01T12:00:00Z","database":"shop","expires_at":"2026-03-02T12:00:00Z","fingerprint":"cluster 1 database 5","forecast":null,"gap_ratio":0.05,"moves":[{"copy_seconds":2.0,"cost":null,"expected_bytes":null,"from_space":"slow","from_tier":"hdd","goes_back":false,"group":null,"key":"public.t1","limit_bytes":null,"ordinal":1,"payback_seconds":8.0,"reason":"promote","route":{"bundle":{"container":"","homes":[],"key":"public.t1","kind":0,"physical_ids":[1],"size_bytes":67108864,"space":"slow","table_ids":[],"unit_keys":["public.t1"],"wide":""},"combines":false,"copies":[],"drains":0,"drains_users":0,"follow_up":[],"joins":"","keeps":[],"leaves":[],"lock_seconds":0.0,"locked":null,"locks":"ACCESS EXCLUSIVE on the table while it is copied","log_bytes":67108864,"name":"set tablespace","notes":[],"online":false,"patient_prologue":[],"prologue":["SET lock_timeout = ''500ms''"],"rewrites":"","steps":[{"operation":null,"pause_sql":"","purpose":"move public.t1","resume_sql":"","sql":"ALTER TABLE public.t1 SET TABLESPACE fast","timeout_seconds":0.0,"undo_sql":"","variants":[]}],"tidy_bytes":0,"tidy_locks":"","tidy_steps":[],"to_space":"fast","transient_bytes":0,"undo_bytes":null,"undo_steps":[{"operation":null,"pause_sql":"","purpose":"move public.t1 back","resume_sql":"","sql":"ALTER TABLE public.t1 SET TABLESPACE slow","timeout_seconds":0.0,"undo_sql":"","variants":[]}],"unites":""},"sentence":"saves 900 s of read wait per hour","size_bytes":67108864,"to_space":"fast","to_tier":"ssd","undoes":null,"wait_saved_per_hour":900.0}],"purpose":"hsm","relief_per_hour":null,"saved_ratio_high":null,"saved_ratio_low":null,"wait_per_hour":1200.0,"wait_saved_high_per_hour":null,"wait_saved_low_per_hour":null,"wait_saved_per_hour":900.0}','rejected','not now',1772366400000000,1772452800000000,1772366400000000,'bert','terminal',NULL);
INSERT INTO "proposals" VALUES(2,'shop','cluster 1 database 5','e3386d7588f67d8e1d66a0e8de829cf8f23df0d24f6aa6d0cc5f8beea869a616','83e5ca63c47d065db8257dbafb2efc69f199f263dad84306f7465d066dfcdfa9','{"asked_by":"","bound_per_hour":950.0,"ceiling_ratio":0.6,"created_at":"2026-03-01T12:00:00Z","database":"shop","expires_at":"2026-03-02T12:00:00Z","fingerprint":"cluster 1 database 5","forecast":null,"gap_ratio":0.05,"moves":[{"copy_seconds":2.0,"cost":null,"expected_bytes":null,"from_space":"slow","from_tier":"hdd","goes_back":false,"group":null,"key":"public.t2","limit_bytes":null,"ordinal":1,"payback_seconds":8.0,"reason":"promote","route":{"bundle":{"container":"","homes":[],"key":"public.t2","kind":0,"physical_ids":[1],"size_bytes":67108864,"space":"slow","table_ids":[],"unit_keys":["public.t2"],"wide":""},"combines":false,"copies":[],"drains":0,"drains_users":0,"follow_up":[],"joins":"","keeps":[],"leaves":[],"lock_seconds":0.0,"locked":null,"locks":"ACCESS EXCLUSIVE on the table while it is copied","log_bytes":67108864,"name":"set tablespace","notes":[],"online":false,"patient_prologue":[],"prologue":["SET lock_timeout = ''500ms''"],"rewrites":"","steps":[{"operation":null,"pause_sql":"","purpose":"move public.t2","resume_sql":"","sql":"ALTER TABLE public.t2 SET TABLESPACE fast","timeout_seconds":0.0,"undo_sql":"","variants":[]}],"tidy_bytes":0,"tidy_locks":"","tidy_steps":[],"to_space":"fast","transient_bytes":0,"undo_bytes":null,"undo_steps":[{"operation":null,"pause_sql":"","purpose":"move public.t2 back","resume_sql":"","sql":"ALTER TABLE public.t2 SET TABLESPACE slow","timeout_seconds":0.0,"undo_sql":"","variants":[]}],"unites":""},"sentence":"saves 900 s of read wait per hour","size_bytes":67108864,"to_space":"fast","to_tier":"ssd","undoes":null,"wait_saved_per_hour":900.0},{"copy_seconds":2.0,"cost":null,"expected_bytes":null,"from_space":"slow","from_tier":"hdd","goes_back":false,"group":null,"key":"public.t3","limit_bytes":null,"ordinal":2,"payback_seconds":8.0,"reason":"promote","route":{"bundle":{"container":"","homes":[],"key":"public.t3","kind":0,"physical_ids":[1],"size_bytes":67108864,"space":"slow","table_ids":[],"unit_keys":["public.t3"],"wide":""},"combines":false,"copies":[],"drains":0,"drains_users":0,"follow_up":[],"joins":"","keeps":[],"leaves":[],"lock_seconds":0.0,"locked":null,"locks":"ACCESS EXCLUSIVE on the table while it is copied","log_bytes":67108864,"name":"set tablespace","notes":[],"online":false,"patient_prologue":[],"prologue":["SET lock_timeout = ''500ms''"],"rewrites":"","steps":[{"operation":null,"pause_sql":"","purpose":"move public.t3","resume_sql":"","sql":"ALTER TABLE public.t3 SET TABLESPACE fast","timeout_seconds":0.0,"undo_sql":"","variants":[]}],"tidy_bytes":0,"tidy_locks":"","tidy_steps":[],"to_space":"fast","transient_bytes":0,"undo_bytes":null,"undo_steps":[{"operation":null,"pause_sql":"","purpose":"move public.t3 back","resume_sql":"","sql":"ALTER TABLE public.t3 SET TABLESPACE slow","timeout_seconds":0.0,"undo_sql":"","variants":[]}],"unites":""},"sentence":"saves 900 s of read wait per hour","size_bytes":67108864,"to_space":"fast","to_tier":"ssd","undoes":null,"wait_saved_per_hour":900.0}],"purpose":"hsm","relief_per_hour":null,"saved_ratio_high":null,"saved_ratio_low":null,"wait_per_hour":1200.0,"wait_saved_high_per_hour":null,"wait_saved_low_per_hour":null,"wait_saved_per_hour":900.0}','approved','',1772366400000000,1772452800000000,1772366460000000,'anna','terminal','e3386d7588f67d8e1d66a0e8de829cf8f23df0d24f6aa6d0cc5f8beea869a616');
INSERT INTO "proposals" VALUES(3,'hr','cluster 1 database 5','abb4bd60af439d15e7e8d55b4f7304500449ed09f6ce2d1e3acb4a283bf12156','777101b92f0090846a928ace4a8a006787573cc9c93544aad96db166f3597958','{"asked_by":"","bound_per_hour":950.0,"ceiling_ratio":0.6,"created_at":"2026-03-01T12:00:00Z","database":"hr","expires_at":"2026-03-02T12:00:00Z","fingerprint":"cluster 1 database 5","forecast":null,"gap_ratio":0.05,"moves":[{"copy_seconds":2.0,"cost":null,"expected_bytes":null,"from_space":"slow","from_tier":"hdd","goes_back":false,"group":null,"key":"public.t4","limit_bytes":null,"ordinal":1,"payback_seconds":8.0,"reason":"promote","route":{"bundle":{"container":"","homes":[],"key":"public.t4","kind":0,"physical_ids":[1],"size_bytes":67108864,"space":"slow","table_ids":[],"unit_keys":["public.t4"],"wide":""},"combines":false,"copies":[],"drains":0,"drains_users":0,"follow_up":[],"joins":"","keeps":[],"leaves":[],"lock_seconds":0.0,"locked":null,"locks":"ACCESS EXCLUSIVE on the table while it is copied","log_bytes":67108864,"name":"set tablespace","notes":[],"online":false,"patient_prologue":[],"prologue":["SET lock_timeout = ''500ms''"],"rewrites":"","steps":[{"operation":null,"pause_sql":"","purpose":"move public.t4","resume_sql":"","sql":"ALTER TABLE public.t4 SET TABLESPACE fast","timeout_seconds":0.0,"undo_sql":"","variants":[]}],"tidy_bytes":0,"tidy_locks":"","tidy_steps":[],"to_space":"fast","transient_bytes":0,"undo_bytes":null,"undo_steps":[{"operation":null,"pause_sql":"","purpose":"move public.t4 back","resume_sql":"","sql":"ALTER TABLE public.t4 SET TABLESPACE slow","timeout_seconds":0.0,"undo_sql":"","variants":[]}],"unites":""},"sentence":"saves 900 s of read wait per hour","size_bytes":67108864,"to_space":"fast","to_tier":"ssd","undoes":null,"wait_saved_per_hour":900.0}],"purpose":"hsm","relief_per_hour":null,"saved_ratio_high":null,"saved_ratio_low":null,"wait_per_hour":1200.0,"wait_saved_high_per_hour":null,"wait_saved_low_per_hour":null,"wait_saved_per_hour":900.0}','proposed','',1772366400000000,1772452800000000,NULL,'','',NULL);
INSERT INTO "proposals" VALUES(4,'shop','cluster 1 database 5','fa25b93d1eab6b610739ac0cd14ae0f53a305da30a49edd360ba01ce58823b96','fc56eae6c47ff3d48f30068636f63acc2d3f84795e55ad179bd6a780d1b94c6b','{"asked_by":"","bound_per_hour":950.0,"ceiling_ratio":0.6,"created_at":"2026-03-01T12:00:00Z","database":"shop","expires_at":"2026-03-02T12:00:00Z","fingerprint":"cluster 1 database 5","forecast":null,"gap_ratio":0.05,"moves":[{"copy_seconds":2.0,"cost":null,"expected_bytes":null,"from_space":"slow","from_tier":"hdd","goes_back":false,"group":null,"key":"public.t5","limit_bytes":null,"ordinal":1,"payback_seconds":8.0,"reason":"promote","route":{"bundle":{"container":"","homes":[],"key":"public.t5","kind":0,"physical_ids":[1],"size_bytes":67108864,"space":"slow","table_ids":[],"unit_keys":["public.t5"],"wide":""},"combines":false,"copies":[],"drains":0,"drains_users":0,"follow_up":[],"joins":"","keeps":[],"leaves":[],"lock_seconds":0.5,"locked":"briefly","locks":"ACCESS EXCLUSIVE on the table while it is copied","log_bytes":67108864,"name":"set tablespace","notes":[],"online":false,"patient_prologue":[],"prologue":["SET lock_timeout = ''500ms''"],"rewrites":"","steps":[{"operation":null,"pause_sql":"","purpose":"move public.t5","resume_sql":"","sql":"ALTER TABLE public.t5 SET TABLESPACE fast","timeout_seconds":0.0,"undo_sql":"","variants":[]}],"tidy_bytes":0,"tidy_locks":"","tidy_steps":[],"to_space":"fast","transient_bytes":0,"undo_bytes":null,"undo_steps":[{"operation":null,"pause_sql":"","purpose":"move public.t5 back","resume_sql":"","sql":"ALTER TABLE public.t5 SET TABLESPACE slow","timeout_seconds":0.0,"undo_sql":"","variants":[]}],"unites":""},"sentence":"saves 900 s of read wait per hour","size_bytes":67108864,"to_space":"fast","to_tier":"ssd","undoes":null,"wait_saved_per_hour":900.0}],"purpose":"hsm","relief_per_hour":null,"saved_ratio_high":null,"saved_ratio_low":null,"wait_per_hour":1200.0,"wait_saved_high_per_hour":1000.0,"wait_saved_low_per_hour":700.0,"wait_saved_per_hour":900.0}','approved','within its limits',1772366400000000,1772452800000000,1772366525000000,'standing rule 1 of anna','level auto','fa25b93d1eab6b610739ac0cd14ae0f53a305da30a49edd360ba01ce58823b96');
CREATE TABLE shared_columns (
	digest TEXT NOT NULL, 
	body BLOB NOT NULL, 
	PRIMARY KEY (digest)
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
CREATE INDEX ix_proposals_created_at ON proposals (created_at);
CREATE INDEX ix_proposals_database ON proposals ("database", state);
CREATE INDEX ix_audit_at ON audit (at);
CREATE INDEX ix_array_columns_digest ON array_columns (digest);
CREATE INDEX ix_history_resolution_seconds ON history (resolution_seconds, ended_at);
CREATE INDEX ix_history_database ON history ("database", ended_at);
CREATE INDEX ix_work_database ON work ("database", ended_at);
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
