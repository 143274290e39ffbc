-- A ledger of revision v0002 with a little of everything, as that version wrote it: what upgrades are tried on.
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
INSERT INTO "arrays" VALUES('shop','decision',1772542800000000,X'28B52FFD2440250100F001130000005B5B2261222C20223C6938222C205B355D5D5D00010203040001003AC00980AE88B7');
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
INSERT INTO "audit" VALUES(1,1772366400000000,'a year','ledger.created','small.db','{}','0000000000000000000000000000000000000000000000000000000000000000','552e80a24bb8a051544ebae0f372731c77ba39e52b9b1ae6eece4cd77ead772d');
INSERT INTO "audit" VALUES(2,1772366400000000,'a year','proposal.stored','proposal 1','{"database": "shop", "digest": "8688a798bbfe034fd7d1756b1039c49a5fd02969d6ac4814b7640becb152d4f8", "moves": 2}','552e80a24bb8a051544ebae0f372731c77ba39e52b9b1ae6eece4cd77ead772d','3ea13cfa01137a43b3a344e48592e6ffcdcdf22a6cfffae08df7dac153d535fb');
INSERT INTO "audit" VALUES(3,1772452800000000,'a year','proposal.stored','proposal 2','{"database": "shop", "digest": "dc02903df2d1750da8f4c10d596be66c73c6f520ff3a10933b5b215a9888a1cd", "moves": 2}','3ea13cfa01137a43b3a344e48592e6ffcdcdf22a6cfffae08df7dac153d535fb','c75cac35de6a17a53ab44bdea0fc687611c0fd2fce16a6ae9d3ec5b2e29dc725');
INSERT INTO "audit" VALUES(4,1772452800000000,'a year','proposal.superseded','proposal 1','{"reason": "proposal 2 takes its place"}','c75cac35de6a17a53ab44bdea0fc687611c0fd2fce16a6ae9d3ec5b2e29dc725','50197ce61357362d1bea855dfe43944864988a2a8bbf12790bf67346775f1f10');
INSERT INTO "audit" VALUES(5,1772453100000000,'a year','proposal.approved','proposal 2','{"digest": "dc02903df2d1750da8f4c10d596be66c73c6f520ff3a10933b5b215a9888a1cd", "moves": [1, 2], "origin": "db1 /dev/pts/0", "reason": "", "who": "anna"}','50197ce61357362d1bea855dfe43944864988a2a8bbf12790bf67346775f1f10','018418633eaaae8ea8e3a91ec2fa11ffa4f30f678d4114923a92da04846defc6');
INSERT INTO "audit" VALUES(6,1772453100000000,'a year','move.precheck','move 3','{"digest": "dc02903df2d1750da8f4c10d596be66c73c6f520ff3a10933b5b215a9888a1cd", "reason": "as planned", "was": "approved"}','018418633eaaae8ea8e3a91ec2fa11ffa4f30f678d4114923a92da04846defc6','a9011c3a85de45a2e3ec324a5c8b8b0e952d915939b317dd54fc7ea6e6b232cb');
INSERT INTO "audit" VALUES(7,1772453100000000,'a year','move.running','move 3','{"digest": "dc02903df2d1750da8f4c10d596be66c73c6f520ff3a10933b5b215a9888a1cd", "reason": "as planned", "was": "precheck"}','a9011c3a85de45a2e3ec324a5c8b8b0e952d915939b317dd54fc7ea6e6b232cb','8d6d4eb77eaf707e4dd40d926e415c8e18a8649c00aa64fede81148d8f5739ff');
INSERT INTO "audit" VALUES(8,1772453100000000,'a year','step.intended','step 1','{"digest": "dc02903df2d1750da8f4c10d596be66c73c6f520ff3a10933b5b215a9888a1cd", "move": 3, "ordinal": 1, "sql": "ALTER TABLE public.orders_1_1 SET TABLESPACE fast"}','8d6d4eb77eaf707e4dd40d926e415c8e18a8649c00aa64fede81148d8f5739ff','c2fd9a2d56f5fe374de2ad33931bd42acb98612644a820e13d3ff18c58d60c32');
INSERT INTO "audit" VALUES(9,1772453120000000,'a year','step.done','step 1','{"detail": ""}','c2fd9a2d56f5fe374de2ad33931bd42acb98612644a820e13d3ff18c58d60c32','7a39239157655fd73b5480c26a7e709aa5d8217e7d2594d1bbc228a3438f437a');
INSERT INTO "audit" VALUES(10,1772453120000000,'a year','step.intended','step 2','{"digest": "dc02903df2d1750da8f4c10d596be66c73c6f520ff3a10933b5b215a9888a1cd", "move": 3, "ordinal": 2, "sql": "ANALYZE public.orders_1_1 -- 1"}','7a39239157655fd73b5480c26a7e709aa5d8217e7d2594d1bbc228a3438f437a','4e9c3a72c15c610b9b676f10e5e43fcd8b2a9693ebe86b5d0ee98c8bfbd75f80');
INSERT INTO "audit" VALUES(11,1772453140000000,'a year','step.done','step 2','{"detail": ""}','4e9c3a72c15c610b9b676f10e5e43fcd8b2a9693ebe86b5d0ee98c8bfbd75f80','db5aaa3382f0a8482c65d5c138aaac8561d55d5a88d408cb8a4b01985f5ad657');
INSERT INTO "audit" VALUES(12,1772453140000000,'a year','move.placed','move 3','{"digest": "dc02903df2d1750da8f4c10d596be66c73c6f520ff3a10933b5b215a9888a1cd", "reason": "as planned", "was": "running"}','db5aaa3382f0a8482c65d5c138aaac8561d55d5a88d408cb8a4b01985f5ad657','c400c0a3511f79ddd3cd6e1efa7c65e666ce99d1f2edee2c94ea41480db7ed9b');
INSERT INTO "audit" VALUES(13,1772453140000000,'a year','move.settling','move 3','{"digest": "dc02903df2d1750da8f4c10d596be66c73c6f520ff3a10933b5b215a9888a1cd", "reason": "as planned", "was": "placed"}','c400c0a3511f79ddd3cd6e1efa7c65e666ce99d1f2edee2c94ea41480db7ed9b','d734cde24b46543bfb462539fbf1f1c4f84fe29d675f8f1e1c2d0f88c3df55b9');
INSERT INTO "audit" VALUES(14,1772453140000000,'a year','outcome.recorded','move 3','{"measured": true, "predicted_saved_ratio": 0.75, "predicted_saved_ratio_high": null, "predicted_saved_ratio_low": null, "predicted_wait_saved_per_hour": 900.0, "proposal": 2, "read_latency_after": 0.0004, "read_latency_before": 0.008, "sentence": "helped: read wait per transaction went from 4 ms to 1 ms (-75%); predicted -75%", "transactions_per_second_after": 140.0, "transactions_per_second_before": 100.0, "verdict": "helped", "wait_per_transaction_after": 0.001000003, "wait_per_transaction_before": 0.004, "window_seconds": 900.0}','d734cde24b46543bfb462539fbf1f1c4f84fe29d675f8f1e1c2d0f88c3df55b9','eb561b235e32b2bb011694bc5ba4a836426d09ee8b3ae65fbcf0c1661e2adc00');
INSERT INTO "audit" VALUES(15,1772453140000000,'a year','move.kept','move 3','{"digest": "dc02903df2d1750da8f4c10d596be66c73c6f520ff3a10933b5b215a9888a1cd", "reason": "as planned", "was": "settling"}','eb561b235e32b2bb011694bc5ba4a836426d09ee8b3ae65fbcf0c1661e2adc00','bb0d596ace52d17fbda01d1c995a106a861b8bd4b5221b31862125acfd10084b');
INSERT INTO "audit" VALUES(16,1772453140000000,'a year','move.precheck','move 4','{"digest": "dc02903df2d1750da8f4c10d596be66c73c6f520ff3a10933b5b215a9888a1cd", "reason": "as planned", "was": "approved"}','bb0d596ace52d17fbda01d1c995a106a861b8bd4b5221b31862125acfd10084b','96482eafc58ce0edaac6f64ec4fad798c84e856b8ff1d669fc956ddf7604eb89');
INSERT INTO "audit" VALUES(17,1772453140000000,'a year','move.running','move 4','{"digest": "dc02903df2d1750da8f4c10d596be66c73c6f520ff3a10933b5b215a9888a1cd", "reason": "as planned", "was": "precheck"}','96482eafc58ce0edaac6f64ec4fad798c84e856b8ff1d669fc956ddf7604eb89','87d99a2ed74880097886bf06aeb082da113c3332fa208708b3b6bda14f211c34');
INSERT INTO "audit" VALUES(18,1772453140000000,'a year','step.intended','step 3','{"digest": "dc02903df2d1750da8f4c10d596be66c73c6f520ff3a10933b5b215a9888a1cd", "move": 4, "ordinal": 1, "sql": "ALTER TABLE public.orders_1_2 SET TABLESPACE fast"}','87d99a2ed74880097886bf06aeb082da113c3332fa208708b3b6bda14f211c34','5e0dcdbaca75d17c3b3028f62632c5bece03de4db0aaa7295061e57bc428dc9c');
INSERT INTO "audit" VALUES(19,1772453160000000,'a year','step.done','step 3','{"detail": ""}','5e0dcdbaca75d17c3b3028f62632c5bece03de4db0aaa7295061e57bc428dc9c','a151f4f0833c6ec3a7c641df70951d75b8bf219e5fb5dd885580fe3bbd2e0c50');
INSERT INTO "audit" VALUES(20,1772453160000000,'a year','move.placed','move 4','{"digest": "dc02903df2d1750da8f4c10d596be66c73c6f520ff3a10933b5b215a9888a1cd", "reason": "as planned", "was": "running"}','a151f4f0833c6ec3a7c641df70951d75b8bf219e5fb5dd885580fe3bbd2e0c50','1ecb738e39b2703234f5774f206dfd8e36ce3e197d69f5d2678203249497743b');
INSERT INTO "audit" VALUES(21,1772453160000000,'a year','move.settling','move 4','{"digest": "dc02903df2d1750da8f4c10d596be66c73c6f520ff3a10933b5b215a9888a1cd", "reason": "as planned", "was": "placed"}','1ecb738e39b2703234f5774f206dfd8e36ce3e197d69f5d2678203249497743b','5c28cf68761ecf34bd218392b2c0a6e610b8fa33a97aa7978dbf027a62e3c87a');
INSERT INTO "audit" VALUES(22,1772453160000000,'a year','outcome.recorded','move 4','{"measured": true, "predicted_saved_ratio": 0.75, "predicted_saved_ratio_high": null, "predicted_saved_ratio_low": null, "predicted_wait_saved_per_hour": 900.0, "proposal": 2, "read_latency_after": 0.0004, "read_latency_before": 0.008, "sentence": "helped: read wait per transaction went from 4 ms to 1 ms (-75%); predicted -75%", "transactions_per_second_after": 140.0, "transactions_per_second_before": 100.0, "verdict": "helped", "wait_per_transaction_after": 0.001000004, "wait_per_transaction_before": 0.004, "window_seconds": 900.0}','5c28cf68761ecf34bd218392b2c0a6e610b8fa33a97aa7978dbf027a62e3c87a','567b11664ac41813a5424b067ea0f012c5b94397c2da2eff1c56e45ff7cfcbd3');
INSERT INTO "audit" VALUES(23,1772453160000000,'a year','move.kept','move 4','{"digest": "dc02903df2d1750da8f4c10d596be66c73c6f520ff3a10933b5b215a9888a1cd", "reason": "as planned", "was": "settling"}','567b11664ac41813a5424b067ea0f012c5b94397c2da2eff1c56e45ff7cfcbd3','406c18231f2a41d278c4cf992099536aca9581614f78921781417a4d0392366a');
INSERT INTO "audit" VALUES(24,1772453160000000,'a year','proposal.finished','proposal 2','{"reason": "every move has ended"}','406c18231f2a41d278c4cf992099536aca9581614f78921781417a4d0392366a','9c0935bf85a6422caad6b297010a7e2d80a3a2aa48348bc92c2423e0a7391241');
INSERT INTO "audit" VALUES(25,1772539200000000,'a year','proposal.stored','proposal 3','{"database": "shop", "digest": "2c9f0528d18bc1e1e8083acfd38eed3b3bdca8cb620ae964d188844f674db8c9", "moves": 2}','9c0935bf85a6422caad6b297010a7e2d80a3a2aa48348bc92c2423e0a7391241','cabb4e3beae5e97f3c8f768b14150ab65b66bf7abcc1de87bc4ef2535ddf7c38');
CREATE TABLE audit_head (
	id INTEGER NOT NULL, 
	last_id INTEGER NOT NULL, 
	hash TEXT NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "audit_head" VALUES(1,25,'cabb4e3beae5e97f3c8f768b14150ab65b66bf7abcc1de87bc4ef2535ddf7c38');
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
CREATE TABLE documents (
	"database" TEXT NOT NULL, 
	name TEXT NOT NULL, 
	at BIGINT NOT NULL, 
	body TEXT NOT NULL, 
	PRIMARY KEY ("database", name)
);
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
INSERT INTO "history" VALUES(1,'shop',0,1772542740000000,1772542800000000,60.0,1,X'28B52FFD2418A5000070010001000200030400000000000001001B2802D2A7FF3C');
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
INSERT INTO "moves" VALUES(1,1,1,'superseded','proposal 2 takes its place',0,1772452800000000);
INSERT INTO "moves" VALUES(2,1,2,'superseded','proposal 2 takes its place',0,1772452800000000);
INSERT INTO "moves" VALUES(3,2,1,'kept','helped',1,1772453160000000);
INSERT INTO "moves" VALUES(4,2,2,'kept','helped',1,1772453160000000);
INSERT INTO "moves" VALUES(5,3,1,'proposed','',0,1772539200000000);
INSERT INTO "moves" VALUES(6,3,2,'proposed','',0,1772539200000000);
CREATE TABLE outcomes (
	id INTEGER NOT NULL, 
	move_id INTEGER NOT NULL, 
	at BIGINT NOT NULL, 
	body TEXT NOT NULL, 
	PRIMARY KEY (id), 
	FOREIGN KEY(move_id) REFERENCES moves (id)
);
INSERT INTO "outcomes" VALUES(1,3,1772453140000000,'{"verdict": "helped", "measured": true, "predicted_wait_saved_per_hour": 900.0, "predicted_saved_ratio": 0.75, "wait_per_transaction_before": 0.004, "wait_per_transaction_after": 0.001000003, "transactions_per_second_before": 100.0, "transactions_per_second_after": 140.0, "read_latency_before": 0.008, "read_latency_after": 0.0004, "window_seconds": 900.0, "sentence": "helped: read wait per transaction went from 4 ms to 1 ms (-75%); predicted -75%", "predicted_saved_ratio_low": null, "predicted_saved_ratio_high": null}');
INSERT INTO "outcomes" VALUES(2,4,1772453160000000,'{"verdict": "helped", "measured": true, "predicted_wait_saved_per_hour": 900.0, "predicted_saved_ratio": 0.75, "wait_per_transaction_before": 0.004, "wait_per_transaction_after": 0.001000004, "transactions_per_second_before": 100.0, "transactions_per_second_after": 140.0, "read_latency_before": 0.008, "read_latency_after": 0.0004, "window_seconds": 900.0, "sentence": "helped: read wait per transaction went from 4 ms to 1 ms (-75%); predicted -75%", "predicted_saved_ratio_low": null, "predicted_saved_ratio_high": null}');
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
CREATE TABLE placements (
	"database" TEXT NOT NULL, 
	unit_key TEXT NOT NULL, 
	placed_at BIGINT NOT NULL, 
	PRIMARY KEY ("database", unit_key)
)
 WITHOUT ROWID

;
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
INSERT INTO "proposals" VALUES(1,'shop','cluster 1 database 5','8688a798bbfe034fd7d1756b1039c49a5fd02969d6ac4814b7640becb152d4f8','921b44aceac52406af608e90aa092896d769c1213ce771584104b379aea32dbb','{"asked_by":"","bound_per_hour":950.0,"ceiling_ratio":0.6,"created_at":"2026-03-01T12:00:00Z","database":"shop","expires_at":"2026-03-08T12:00:00Z","fingerprint":"cluster 1 database 5","gap_ratio":0.05,"moves":[{"copy_seconds":2.0,"cost":null,"from_space":"slow","from_tier":"hdd","key":"public.orders_0_1","ordinal":1,"payback_seconds":8.0,"reason":"promote","route":{"bundle":{"container":"","homes":[],"key":"public.orders_0_1","kind":0,"physical_ids":[1],"size_bytes":67108864,"space":"slow","unit_keys":["public.orders_0_1"],"wide":""},"combines":false,"follow_up":[],"joins":"","keeps":[],"leaves":[],"lock_seconds":0.0,"locked":null,"locks":"ACCESS EXCLUSIVE on the table while it is copied","log_bytes":67108864,"name":"set tablespace","notes":[],"online":false,"prologue":["SET lock_timeout = ''500ms''"],"rewrites":"","steps":[{"pause_sql":"","purpose":"move public.orders_0_1","resume_sql":"","sql":"ALTER TABLE public.orders_0_1 SET TABLESPACE fast","timeout_seconds":0.0,"undo_sql":""},{"pause_sql":"","purpose":"figures for the planner","resume_sql":"","sql":"ANALYZE public.orders_0_1 -- 0","timeout_seconds":0.0,"undo_sql":""}],"tidy_steps":[],"to_space":"fast","transient_bytes":0,"undo_bytes":null,"undo_steps":[{"pause_sql":"","purpose":"move public.orders_0_1 back","resume_sql":"","sql":"ALTER TABLE public.orders_0_1 SET TABLESPACE slow","timeout_seconds":0.0,"undo_sql":""}]},"sentence":"saves 900 s of read wait per hour","size_bytes":67108864,"to_space":"fast","to_tier":"ssd","undoes":null,"wait_saved_per_hour":900.0},{"copy_seconds":2.0,"cost":null,"from_space":"slow","from_tier":"hdd","key":"public.orders_0_2","ordinal":2,"payback_seconds":8.0,"reason":"promote","route":{"bundle":{"container":"","homes":[],"key":"public.orders_0_2","kind":0,"physical_ids":[1],"size_bytes":67108864,"space":"slow","unit_keys":["public.orders_0_2"],"wide":""},"combines":false,"follow_up":[],"joins":"","keeps":[],"leaves":[],"lock_seconds":0.0,"locked":null,"locks":"ACCESS EXCLUSIVE on the table while it is copied","log_bytes":67108864,"name":"set tablespace","notes":[],"online":false,"prologue":["SET lock_timeout = ''500ms''"],"rewrites":"","steps":[{"pause_sql":"","purpose":"move public.orders_0_2","resume_sql":"","sql":"ALTER TABLE public.orders_0_2 SET TABLESPACE fast","timeout_seconds":0.0,"undo_sql":""},{"pause_sql":"","purpose":"figures for the planner","resume_sql":"","sql":"ANALYZE public.orders_0_2 -- 0","timeout_seconds":0.0,"undo_sql":""}],"tidy_steps":[],"to_space":"fast","transient_bytes":0,"undo_bytes":null,"undo_steps":[{"pause_sql":"","purpose":"move public.orders_0_2 back","resume_sql":"","sql":"ALTER TABLE public.orders_0_2 SET TABLESPACE slow","timeout_seconds":0.0,"undo_sql":""}]},"sentence":"saves 900 s of read wait per hour","size_bytes":67108864,"to_space":"fast","to_tier":"ssd","undoes":null,"wait_saved_per_hour":900.0}],"purpose":"hsm","relief_per_hour":null,"saved_ratio_high":null,"saved_ratio_low":null,"wait_per_hour":1200.0,"wait_saved_high_per_hour":null,"wait_saved_low_per_hour":null,"wait_saved_per_hour":900.0}','superseded','proposal 2 takes its place',1772366400000000,1772971200000000,NULL,'','',NULL);
INSERT INTO "proposals" VALUES(2,'shop','cluster 1 database 5','dc02903df2d1750da8f4c10d596be66c73c6f520ff3a10933b5b215a9888a1cd','4908ac904ae54bab053cc63464aa948cf28d66f31ebf03101e22737e695d29c9','{"asked_by":"","bound_per_hour":950.0,"ceiling_ratio":0.6,"created_at":"2026-03-02T12:00:00Z","database":"shop","expires_at":"2026-03-09T12:00:00Z","fingerprint":"cluster 1 database 5","gap_ratio":0.05,"moves":[{"copy_seconds":2.0,"cost":null,"from_space":"slow","from_tier":"hdd","key":"public.orders_1_1","ordinal":1,"payback_seconds":8.0,"reason":"promote","route":{"bundle":{"container":"","homes":[],"key":"public.orders_1_1","kind":0,"physical_ids":[1],"size_bytes":68157440,"space":"slow","unit_keys":["public.orders_1_1"],"wide":""},"combines":false,"follow_up":[],"joins":"","keeps":[],"leaves":[],"lock_seconds":0.0,"locked":null,"locks":"ACCESS EXCLUSIVE on the table while it is copied","log_bytes":68157440,"name":"set tablespace","notes":[],"online":false,"prologue":["SET lock_timeout = ''500ms''"],"rewrites":"","steps":[{"pause_sql":"","purpose":"move public.orders_1_1","resume_sql":"","sql":"ALTER TABLE public.orders_1_1 SET TABLESPACE fast","timeout_seconds":0.0,"undo_sql":""},{"pause_sql":"","purpose":"figures for the planner","resume_sql":"","sql":"ANALYZE public.orders_1_1 -- 1","timeout_seconds":0.0,"undo_sql":""}],"tidy_steps":[],"to_space":"fast","transient_bytes":0,"undo_bytes":null,"undo_steps":[{"pause_sql":"","purpose":"move public.orders_1_1 back","resume_sql":"","sql":"ALTER TABLE public.orders_1_1 SET TABLESPACE slow","timeout_seconds":0.0,"undo_sql":""}]},"sentence":"saves 900 s of read wait per hour","size_bytes":68157440,"to_space":"fast","to_tier":"ssd","undoes":null,"wait_saved_per_hour":900.0},{"copy_seconds":2.0,"cost":null,"from_space":"slow","from_tier":"hdd","key":"public.orders_1_2","ordinal":2,"payback_seconds":8.0,"reason":"promote","route":{"bundle":{"container":"","homes":[],"key":"public.orders_1_2","kind":0,"physical_ids":[1],"size_bytes":68157440,"space":"slow","unit_keys":["public.orders_1_2"],"wide":""},"combines":false,"follow_up":[],"joins":"","keeps":[],"leaves":[],"lock_seconds":0.0,"locked":null,"locks":"ACCESS EXCLUSIVE on the table while it is copied","log_bytes":68157440,"name":"set tablespace","notes":[],"online":false,"prologue":["SET lock_timeout = ''500ms''"],"rewrites":"","steps":[{"pause_sql":"","purpose":"move public.orders_1_2","resume_sql":"","sql":"ALTER TABLE public.orders_1_2 SET TABLESPACE fast","timeout_seconds":0.0,"undo_sql":""},{"pause_sql":"","purpose":"figures for the planner","resume_sql":"","sql":"ANALYZE public.orders_1_2 -- 1","timeout_seconds":0.0,"undo_sql":""}],"tidy_steps":[],"to_space":"fast","transient_bytes":0,"undo_bytes":null,"undo_steps":[{"pause_sql":"","purpose":"move public.orders_1_2 back","resume_sql":"","sql":"ALTER TABLE public.orders_1_2 SET TABLESPACE slow","timeout_seconds":0.0,"undo_sql":""}]},"sentence":"saves 900 s of read wait per hour","size_bytes":68157440,"to_space":"fast","to_tier":"ssd","undoes":null,"wait_saved_per_hour":900.0}],"purpose":"hsm","relief_per_hour":null,"saved_ratio_high":null,"saved_ratio_low":null,"wait_per_hour":1200.0,"wait_saved_high_per_hour":null,"wait_saved_low_per_hour":null,"wait_saved_per_hour":900.0}','finished','every move has ended',1772452800000000,1773057600000000,1772453100000000,'anna','db1 /dev/pts/0','dc02903df2d1750da8f4c10d596be66c73c6f520ff3a10933b5b215a9888a1cd');
INSERT INTO "proposals" VALUES(3,'shop','cluster 1 database 5','2c9f0528d18bc1e1e8083acfd38eed3b3bdca8cb620ae964d188844f674db8c9','a646cf2d588264f353d3e4e49538cc3fefedb29097d0d2293b9ce95145263f51','{"asked_by":"","bound_per_hour":950.0,"ceiling_ratio":0.6,"created_at":"2026-03-03T12:00:00Z","database":"shop","expires_at":"2026-03-10T12:00:00Z","fingerprint":"cluster 1 database 5","gap_ratio":0.05,"moves":[{"copy_seconds":2.0,"cost":null,"from_space":"slow","from_tier":"hdd","key":"public.orders_2_1","ordinal":1,"payback_seconds":8.0,"reason":"promote","route":{"bundle":{"container":"","homes":[],"key":"public.orders_2_1","kind":0,"physical_ids":[1],"size_bytes":69206016,"space":"slow","unit_keys":["public.orders_2_1"],"wide":""},"combines":false,"follow_up":[],"joins":"","keeps":[],"leaves":[],"lock_seconds":0.0,"locked":null,"locks":"ACCESS EXCLUSIVE on the table while it is copied","log_bytes":69206016,"name":"set tablespace","notes":[],"online":false,"prologue":["SET lock_timeout = ''500ms''"],"rewrites":"","steps":[{"pause_sql":"","purpose":"move public.orders_2_1","resume_sql":"","sql":"ALTER TABLE public.orders_2_1 SET TABLESPACE fast","timeout_seconds":0.0,"undo_sql":""},{"pause_sql":"","purpose":"figures for the planner","resume_sql":"","sql":"ANALYZE public.orders_2_1 -- 2","timeout_seconds":0.0,"undo_sql":""}],"tidy_steps":[],"to_space":"fast","transient_bytes":0,"undo_bytes":null,"undo_steps":[{"pause_sql":"","purpose":"move public.orders_2_1 back","resume_sql":"","sql":"ALTER TABLE public.orders_2_1 SET TABLESPACE slow","timeout_seconds":0.0,"undo_sql":""}]},"sentence":"saves 900 s of read wait per hour","size_bytes":69206016,"to_space":"fast","to_tier":"ssd","undoes":null,"wait_saved_per_hour":900.0},{"copy_seconds":2.0,"cost":null,"from_space":"slow","from_tier":"hdd","key":"public.orders_2_2","ordinal":2,"payback_seconds":8.0,"reason":"promote","route":{"bundle":{"container":"","homes":[],"key":"public.orders_2_2","kind":0,"physical_ids":[1],"size_bytes":69206016,"space":"slow","unit_keys":["public.orders_2_2"],"wide":""},"combines":false,"follow_up":[],"joins":"","keeps":[],"leaves":[],"lock_seconds":0.0,"locked":null,"locks":"ACCESS EXCLUSIVE on the table while it is copied","log_bytes":69206016,"name":"set tablespace","notes":[],"online":false,"prologue":["SET lock_timeout = ''500ms''"],"rewrites":"","steps":[{"pause_sql":"","purpose":"move public.orders_2_2","resume_sql":"","sql":"ALTER TABLE public.orders_2_2 SET TABLESPACE fast","timeout_seconds":0.0,"undo_sql":""},{"pause_sql":"","purpose":"figures for the planner","resume_sql":"","sql":"ANALYZE public.orders_2_2 -- 2","timeout_seconds":0.0,"undo_sql":""}],"tidy_steps":[],"to_space":"fast","transient_bytes":0,"undo_bytes":null,"undo_steps":[{"pause_sql":"","purpose":"move public.orders_2_2 back","resume_sql":"","sql":"ALTER TABLE public.orders_2_2 SET TABLESPACE slow","timeout_seconds":0.0,"undo_sql":""}]},"sentence":"saves 900 s of read wait per hour","size_bytes":69206016,"to_space":"fast","to_tier":"ssd","undoes":null,"wait_saved_per_hour":900.0}],"purpose":"hsm","relief_per_hour":null,"saved_ratio_high":null,"saved_ratio_low":null,"wait_per_hour":1200.0,"wait_saved_high_per_hour":null,"wait_saved_low_per_hour":null,"wait_saved_per_hour":900.0}','proposed','',1772539200000000,1773144000000000,NULL,'','',NULL);
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
INSERT INTO "steps" VALUES(1,3,1,'ALTER TABLE public.orders_1_1 SET TABLESPACE fast','done','',1772453100000000,1772453120000000);
INSERT INTO "steps" VALUES(2,3,2,'ANALYZE public.orders_1_1 -- 1','done','',1772453120000000,1772453140000000);
INSERT INTO "steps" VALUES(3,4,1,'ALTER TABLE public.orders_1_2 SET TABLESPACE fast','done','',1772453140000000,1772453160000000);
CREATE TABLE unit_slots (
	"database" TEXT NOT NULL, 
	slot INTEGER NOT NULL, 
	unit_key TEXT NOT NULL, 
	PRIMARY KEY ("database", slot)
)
 WITHOUT ROWID

;
INSERT INTO "unit_slots" VALUES('shop',0,'a');
INSERT INTO "unit_slots" VALUES('shop',1,'b');
CREATE INDEX ix_proposals_database ON proposals ("database", state);
CREATE INDEX ix_history_database ON history ("database", ended_at);
CREATE INDEX ix_history_resolution_seconds ON history (resolution_seconds, ended_at);
CREATE INDEX ix_moves_state ON moves (state);
CREATE INDEX ix_steps_move_id ON steps (move_id);
CREATE INDEX ix_outcomes_move_id ON outcomes (move_id);
CREATE INDEX ix_asks_move_id ON asks (move_id);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('proposals',3);
INSERT INTO "sqlite_sequence" VALUES('moves',6);
COMMIT;
