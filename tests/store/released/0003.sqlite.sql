BEGIN TRANSACTION;
CREATE TABLE artifacts (
	id TEXT NOT NULL, 
	run_id TEXT NOT NULL, 
	episode_id TEXT, 
	name TEXT NOT NULL, 
	digest VARCHAR(32) NOT NULL, 
	created_at DOUBLE NOT NULL, 
	CONSTRAINT pk_artifacts PRIMARY KEY (id), 
	CONSTRAINT fk_artifacts_run_id FOREIGN KEY(run_id) REFERENCES runs (id) ON DELETE CASCADE, 
	CONSTRAINT fk_artifacts_episode_id FOREIGN KEY(episode_id) REFERENCES episodes (id) ON DELETE CASCADE, 
	CONSTRAINT fk_artifacts_digest FOREIGN KEY(digest) REFERENCES blobs (digest)
);
INSERT INTO "artifacts" VALUES('019a0000-0000-7000-8000-0000000000a1','019a0000-0000-7000-8000-000000000001','019a0000-0000-7000-8000-0000000000e1','log.txt','eb1bf720830819105c85014841bf5435',1790000009.0);
CREATE TABLE benchmarks (
	id TEXT NOT NULL, 
	digest TEXT NOT NULL, 
	version TEXT NOT NULL, 
	title TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	first_run_at DOUBLE NOT NULL, best_run TEXT, best_score DOUBLE, 
	CONSTRAINT pk_benchmarks PRIMARY KEY (id, digest)
);
INSERT INTO "benchmarks" VALUES('words','b09c7d54e7dd3d63683312b9913f78ac','1.0','Word game','environment',1790000000.25,'019a0000-0000-7000-8000-000000000001',1.0);
CREATE TABLE blobs (
	digest VARCHAR(32) NOT NULL, 
	content_type TEXT NOT NULL, 
	raw_bytes BIGINT NOT NULL, 
	data BLOB NOT NULL, 
	CONSTRAINT pk_blobs PRIMARY KEY (digest)
);
INSERT INTO "blobs" VALUES('eb1bf720830819105c85014841bf5435','text/plain',19,X'28B52FFD201399000061206C61726765206F62736572766174696F6E');
CREATE TABLE episodes (
	id TEXT NOT NULL, 
	run_id TEXT NOT NULL, 
	task_digest VARCHAR(32) NOT NULL, 
	trial INTEGER NOT NULL, 
	position BIGINT NOT NULL, 
	status TEXT NOT NULL, 
	task_id TEXT NOT NULL, 
	cluster TEXT NOT NULL, 
	seed TEXT, 
	started_at DOUBLE NOT NULL, 
	ended_at DOUBLE, 
	steps BIGINT NOT NULL, 
	total_reward DOUBLE, 
	prompt_tokens BIGINT NOT NULL, 
	completion_tokens BIGINT NOT NULL, 
	cached_tokens BIGINT NOT NULL, 
	reasoning_tokens BIGINT NOT NULL, 
	cost_usd DOUBLE, 
	model_calls BIGINT NOT NULL, 
	retries INTEGER NOT NULL, 
	events BIGINT NOT NULL, 
	failure_cause TEXT, 
	failure_boundary TEXT, 
	failure TEXT, 
	terminal_info TEXT NOT NULL, score DOUBLE, outcome TEXT, tokens BIGINT, duration DOUBLE, 
	CONSTRAINT pk_episodes PRIMARY KEY (id), 
	CONSTRAINT fk_episodes_run_id FOREIGN KEY(run_id) REFERENCES runs (id) ON DELETE CASCADE, 
	CONSTRAINT uq_episodes_run_id_task_digest_trial UNIQUE (run_id, task_digest, trial)
);
INSERT INTO "episodes" VALUES('019a0000-0000-7000-8000-0000000000e1','019a0000-0000-7000-8000-000000000001','fbe47f6d82b435a89f6e6fca65ad1613',0,0,'completed','seed 1','item','9223372036854775809',1790000002.0,1790000005.0,2,1.0,100,10,3,1,0.5,1,1,4,NULL,NULL,NULL,'{"correct":true}',1.0,'scored',110,3.0);
INSERT INTO "episodes" VALUES('019a0000-0000-7000-8000-0000000000e2','019a0000-0000-7000-8000-000000000001','a61e75dcd678010325906ec0497a92ff',0,1,'failed','seed 2','','2',1790000003.0,1790000006.0,0,0.0,10,2,0,0,NULL,1,4,0,'rate_limited','model','{"cause":"rate_limited","boundary":"model","message":"too many requests","detail":"429","stderr":"stderr"}','{}',NULL,'missing',12,3.0);
CREATE TABLE event_chunks (
	episode_id TEXT NOT NULL, 
	seq INTEGER NOT NULL, 
	first_event BIGINT NOT NULL, 
	last_event BIGINT NOT NULL, 
	first_step BIGINT NOT NULL, 
	last_step BIGINT NOT NULL, 
	raw_bytes INTEGER NOT NULL, 
	data BLOB NOT NULL, 
	CONSTRAINT pk_event_chunks PRIMARY KEY (episode_id, seq), 
	CONSTRAINT fk_event_chunks_episode_id FOREIGN KEY(episode_id) REFERENCES episodes (id) ON DELETE CASCADE
);
INSERT INTO "event_chunks" VALUES('019a0000-0000-7000-8000-0000000000e1',0,0,3,0,1,312,X'28B52FFD6038003D0300E2C4111880A93AE4CB56E87D64BC0A14255CE0FF84103C950456A323A3FB46604A204B9A1CDDC7625762C4F29F1E1DA612A79DBCC0D4F56825C309020A1206A9E7D396DD09EA0FEBFE020D004129001C8859500AE80708038604E501605170999D8BE024E65594');
CREATE TABLE "invocations" (
	id TEXT NOT NULL, 
	created_at DOUBLE NOT NULL, finished_at DOUBLE, created_by TEXT DEFAULT '' NOT NULL, request TEXT DEFAULT '{}' NOT NULL, benchmarks TEXT DEFAULT '[]' NOT NULL, repository TEXT DEFAULT '{}' NOT NULL, comparison_id TEXT DEFAULT '' NOT NULL, holder TEXT, 
	CONSTRAINT pk_run_groups PRIMARY KEY (id)
);
INSERT INTO "invocations" VALUES('group-1',1790000000.25,1790000010.5,'mesocosm bench','{"benchmarks":["words"]}','["words","other"]','{"commit":"abc"}','cmp_1',NULL);
CREATE TABLE mesocosm_schema (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT mesocosm_schema_pkc PRIMARY KEY (version_num)
);
INSERT INTO "mesocosm_schema" VALUES('0003');
CREATE TABLE outcomes (
	group_id TEXT NOT NULL, 
	position INTEGER NOT NULL, 
	at DOUBLE NOT NULL, 
	status TEXT NOT NULL, 
	benchmark TEXT NOT NULL, 
	directory TEXT NOT NULL, 
	provider TEXT NOT NULL, 
	model TEXT NOT NULL, 
	agent TEXT NOT NULL, 
	signature TEXT NOT NULL, 
	run_id TEXT, 
	ran BOOLEAN NOT NULL, 
	comparison_id TEXT NOT NULL, 
	reason TEXT NOT NULL, 
	extra TEXT NOT NULL, 
	CONSTRAINT pk_outcomes PRIMARY KEY (group_id, position), 
	CONSTRAINT fk_outcomes_group_id FOREIGN KEY(group_id) REFERENCES invocations (id) ON DELETE CASCADE, 
	CONSTRAINT fk_outcomes_run_id FOREIGN KEY(run_id) REFERENCES runs (id) ON DELETE SET NULL
);
INSERT INTO "outcomes" VALUES('group-1',0,1790000009.0,'succeeded','words','words','ollama','llama3.2','loop','48bff53d83688890af96ade8477b89ee','019a0000-0000-7000-8000-000000000001',1,'cmp_1','','{"sample":2}');
INSERT INTO "outcomes" VALUES('group-1',1,1790000001.0,'incompatible','other','other','','','','',NULL,0,'','no virtual machine','{}');
CREATE TABLE run_blobs (
	run_id TEXT NOT NULL, 
	digest VARCHAR(32) NOT NULL, 
	CONSTRAINT pk_run_blobs PRIMARY KEY (run_id, digest), 
	CONSTRAINT fk_run_blobs_run_id FOREIGN KEY(run_id) REFERENCES runs (id) ON DELETE CASCADE, 
	CONSTRAINT fk_run_blobs_digest FOREIGN KEY(digest) REFERENCES blobs (digest)
)
 WITHOUT ROWID

;
INSERT INTO "run_blobs" VALUES('019a0000-0000-7000-8000-000000000001','eb1bf720830819105c85014841bf5435');
CREATE TABLE run_deletions (
	run_id TEXT NOT NULL, 
	deleted_at DOUBLE NOT NULL, 
	CONSTRAINT pk_run_deletions PRIMARY KEY (run_id)
);
CREATE TABLE run_lines (
	run_id TEXT NOT NULL, 
	created_at DOUBLE NOT NULL, 
	changed_at DOUBLE NOT NULL, 
	status TEXT NOT NULL, 
	name TEXT NOT NULL, 
	benchmark TEXT NOT NULL, 
	benchmark_digest TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	model TEXT NOT NULL, 
	agent TEXT NOT NULL, 
	group_id TEXT, 
	attempt INTEGER NOT NULL, 
	higher_is_better BOOLEAN, 
	score DOUBLE, 
	high_score DOUBLE, 
	delta DOUBLE, 
	cost DOUBLE, 
	tokens BIGINT NOT NULL, 
	duration DOUBLE, 
	tags TEXT NOT NULL, 
	search TEXT NOT NULL, 
	CONSTRAINT pk_run_lines PRIMARY KEY (run_id), 
	CONSTRAINT fk_run_lines_run_id FOREIGN KEY(run_id) REFERENCES runs (id) ON DELETE CASCADE
);
INSERT INTO "run_lines" VALUES('019a0000-0000-7000-8000-000000000001',1790000000.25,1.79526635857445192334e+09,'finished','first release','words','b09c7d54e7dd3d63683312b9913f78ac','environment','ollama/llama3.2','loop','group-1',1,1,1.0,1.0,0.0,NULL,122,8.5,'aü','019a0000-0000-7000-8000-000000000001
first release
words
word game
ollama/llama3.2
loop
a
ü');
CREATE TABLE run_tags (
	tag TEXT NOT NULL, 
	run_id TEXT NOT NULL, 
	CONSTRAINT pk_run_tags PRIMARY KEY (tag, run_id), 
	CONSTRAINT fk_run_tags_run_id FOREIGN KEY(run_id) REFERENCES runs (id) ON DELETE CASCADE
)
 WITHOUT ROWID

;
INSERT INTO "run_tags" VALUES('a','019a0000-0000-7000-8000-000000000001');
INSERT INTO "run_tags" VALUES('ü','019a0000-0000-7000-8000-000000000001');
CREATE TABLE runs (
	id TEXT NOT NULL, 
	created_at DOUBLE NOT NULL, 
	status TEXT NOT NULL, 
	signature VARCHAR(32) NOT NULL, 
	attempt INTEGER NOT NULL, 
	group_id TEXT, 
	name TEXT NOT NULL, 
	benchmark TEXT NOT NULL, 
	benchmark_title TEXT NOT NULL, 
	benchmark_version TEXT NOT NULL, 
	benchmark_digest TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	model TEXT NOT NULL, 
	agent TEXT NOT NULL, 
	score DOUBLE, 
	planned BIGINT NOT NULL, 
	completed BIGINT NOT NULL, 
	truncated BIGINT NOT NULL, 
	timeout BIGINT NOT NULL, 
	failed BIGINT NOT NULL, 
	prompt_tokens BIGINT NOT NULL, 
	completion_tokens BIGINT NOT NULL, 
	cached_tokens BIGINT NOT NULL, 
	reasoning_tokens BIGINT NOT NULL, 
	cost_usd DOUBLE, 
	model_calls BIGINT NOT NULL, 
	cost_unknown BIGINT NOT NULL, 
	started_at DOUBLE, 
	ended_at DOUBLE, 
	held_at DOUBLE, 
	heartbeat_at DOUBLE, 
	holder TEXT, 
	stop_requested BOOLEAN NOT NULL, 
	error TEXT NOT NULL, 
	search TEXT NOT NULL, 
	tags TEXT NOT NULL, 
	metrics TEXT NOT NULL, 
	warnings TEXT NOT NULL, 
	spec TEXT NOT NULL, 
	provenance TEXT NOT NULL, 
	info TEXT NOT NULL, higher_is_better BOOLEAN, 
	CONSTRAINT pk_runs PRIMARY KEY (id), 
	CONSTRAINT fk_runs_group_id FOREIGN KEY(group_id) REFERENCES "invocations" (id)
);
INSERT INTO "runs" VALUES('019a0000-0000-7000-8000-000000000001',1790000000.25,'finished','48bff53d83688890af96ade8477b89ee',1,'group-1','first release','words','Word game','1.0','b09c7d54e7dd3d63683312b9913f78ac','environment','ollama/llama3.2','loop',1.0,2,1,0,0,1,110,12,3,1,0.5,2,1,1790000001.0,1790000009.5,NULL,1790000009.0,NULL,0,'','019a0000-0000-7000-8000-000000000001
first release
words
word game
ollama/llama3.2
loop
a
ü','["a","ü"]','[{"name":"accuracy","aggregation":"mean","value":1.0,"low":0.2,"high":1.0,"method":"wilson","n_planned":2,"n_scored":1,"n_tasks":1,"missing":{"rate_limited":1},"primary":true}]','["slow"]','{"benchmark":{"kind":"environment","source":"words"},"model":{"name":"ollama/llama3.2"}}','{"version":"0.1"}','{"id":"words"}',1);
CREATE TABLE scores (
	episode_id TEXT NOT NULL, 
	name TEXT NOT NULL, 
	run_id TEXT NOT NULL, 
	value DOUBLE, 
	missing TEXT, 
	worst BOOLEAN NOT NULL, 
	explanation TEXT NOT NULL, 
	CONSTRAINT pk_scores PRIMARY KEY (episode_id, name), 
	CONSTRAINT fk_scores_episode_id FOREIGN KEY(episode_id) REFERENCES episodes (id) ON DELETE CASCADE
)
 WITHOUT ROWID

;
INSERT INTO "scores" VALUES('019a0000-0000-7000-8000-0000000000e1','accuracy','019a0000-0000-7000-8000-000000000001',1.0,NULL,0,'right');
INSERT INTO "scores" VALUES('019a0000-0000-7000-8000-0000000000e2','accuracy','019a0000-0000-7000-8000-000000000001',NULL,'rate_limited',0,'');
CREATE INDEX ix_runs_signature_attempt ON runs (signature, attempt);
CREATE INDEX ix_runs_group_id ON runs (group_id);
CREATE INDEX ix_episodes_plan ON episodes (run_id, position, task_digest, trial, status);
CREATE INDEX ix_episodes_unusual ON episodes (run_id, status, position, task_digest, trial) WHERE status <> 'completed';
CREATE INDEX ix_event_chunks_place ON event_chunks (episode_id, last_event, last_step, first_step);
CREATE INDEX ix_run_blobs_digest ON run_blobs (digest);
CREATE INDEX ix_artifacts_run_id_created_at_id ON artifacts (run_id, created_at, id);
CREATE INDEX ix_artifacts_episode_id ON artifacts (episode_id);
CREATE INDEX ix_artifacts_digest ON artifacts (digest);
CREATE INDEX ix_run_tags_run_id ON run_tags (run_id);
CREATE INDEX ix_run_deletions_deleted_at ON run_deletions (deleted_at);
CREATE INDEX ix_run_lines_created_at ON run_lines (created_at, run_id);
CREATE INDEX ix_run_lines_changed_at ON run_lines (changed_at, run_id);
CREATE INDEX ix_run_lines_status ON run_lines (status, run_id);
CREATE INDEX ix_run_lines_name ON run_lines (name, run_id);
CREATE INDEX ix_run_lines_benchmark ON run_lines (benchmark, run_id);
CREATE INDEX ix_run_lines_kind ON run_lines (kind, run_id);
CREATE INDEX ix_run_lines_model ON run_lines (model, run_id);
CREATE INDEX ix_run_lines_agent ON run_lines (agent, run_id);
CREATE INDEX ix_run_lines_attempt ON run_lines (attempt, run_id);
CREATE INDEX ix_run_lines_score ON run_lines (score, run_id);
CREATE INDEX ix_run_lines_high_score ON run_lines (high_score, run_id);
CREATE INDEX ix_run_lines_delta ON run_lines (delta, run_id);
CREATE INDEX ix_run_lines_cost ON run_lines (cost, run_id);
CREATE INDEX ix_run_lines_tokens ON run_lines (tokens, run_id);
CREATE INDEX ix_run_lines_duration ON run_lines (duration, run_id);
CREATE INDEX ix_run_lines_best ON run_lines (benchmark, benchmark_digest, higher_is_better, score, run_id);
CREATE INDEX ix_episodes_score ON episodes (run_id, score, position);
CREATE INDEX ix_episodes_total_reward ON episodes (run_id, total_reward, position);
CREATE INDEX ix_episodes_steps ON episodes (run_id, steps, position);
CREATE INDEX ix_episodes_tokens ON episodes (run_id, tokens, position);
CREATE INDEX ix_episodes_cost_usd ON episodes (run_id, cost_usd, position);
CREATE INDEX ix_episodes_duration ON episodes (run_id, duration, position);
CREATE INDEX ix_episodes_started_at ON episodes (run_id, started_at, position);
CREATE INDEX ix_episodes_unscored ON episodes (run_id, outcome, position, task_digest, trial) WHERE outcome <> 'scored';
CREATE INDEX ix_episodes_cause ON episodes (run_id, failure_cause, position, task_digest, trial) WHERE failure_cause IS NOT NULL;
CREATE INDEX ix_outcomes_run_id ON outcomes (run_id);
CREATE INDEX ix_outcomes_signature ON outcomes (signature);
CREATE INDEX ix_outcomes_comparison_id ON outcomes (comparison_id);
CREATE INDEX ix_outcomes_benchmark ON outcomes (benchmark, at);
COMMIT;
