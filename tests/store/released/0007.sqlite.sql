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
CREATE TABLE attempts (
	"key" TEXT NOT NULL, 
	stretch BIGINT NOT NULL, 
	count INTEGER NOT NULL, 
	until DOUBLE NOT NULL, 
	CONSTRAINT pk_attempts PRIMARY KEY ("key", stretch)
)
 WITHOUT ROWID

;
INSERT INTO "attempts" VALUES('runs:user:1',20717,1,1790172800.25);
CREATE TABLE audit_log (
	id TEXT NOT NULL, 
	at DOUBLE NOT NULL, 
	actor TEXT NOT NULL, 
	action TEXT NOT NULL, 
	object TEXT NOT NULL, 
	detail TEXT NOT NULL, 
	address TEXT NOT NULL, 
	CONSTRAINT pk_audit_log PRIMARY KEY (id)
);
INSERT INTO "audit_log" VALUES('019a0000-0000-7000-8000-0000000000d1',1790000000.25,'user:1','team.code','team:019a0000-0000-7000-8000-0000000000b2','{}','203.0.113.9');
CREATE TABLE benchmarks (
	id TEXT NOT NULL, 
	digest TEXT NOT NULL, 
	version TEXT NOT NULL, 
	title TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	first_run_at DOUBLE NOT NULL, 
	CONSTRAINT pk_benchmarks PRIMARY KEY (id, digest)
);
INSERT INTO "benchmarks" VALUES('words','b09c7d54e7dd3d63683312b9913f78ac','1.0','Word game','environment',1790000000.25);
CREATE TABLE blobs (
	digest VARCHAR(32) NOT NULL, 
	content_type TEXT NOT NULL, 
	raw_bytes BIGINT NOT NULL, 
	data BLOB NOT NULL, outside BOOLEAN DEFAULT 0 NOT NULL, 
	CONSTRAINT pk_blobs PRIMARY KEY (digest)
);
INSERT INTO "blobs" VALUES('eb1bf720830819105c85014841bf5435','text/plain',19,X'28B52FFD201399000061206C61726765206F62736572766174696F6E',0);
CREATE TABLE cooldowns (
	actor TEXT NOT NULL, 
	until DOUBLE NOT NULL, 
	CONSTRAINT pk_cooldowns PRIMARY KEY (actor)
);
INSERT INTO "cooldowns" VALUES('user:1',1790000120.25);
CREATE TABLE deleted_runs (
	run_id TEXT NOT NULL, 
	actor TEXT NOT NULL, 
	team_id TEXT, 
	domain_id TEXT NOT NULL, 
	vow_version TEXT NOT NULL, 
	model TEXT NOT NULL, 
	protocol INTEGER, 
	declared BOOLEAN NOT NULL, 
	deleted_at DOUBLE NOT NULL, 
	CONSTRAINT pk_deleted_runs PRIMARY KEY (run_id)
);
INSERT INTO "deleted_runs" VALUES('019a0000-0000-7000-8000-0000000000f1','user:1',NULL,'words','1.0.0','ollama/llama3.2',1,1,1790000020.25);
CREATE TABLE domains (
	id TEXT NOT NULL, 
	owner_id INTEGER, 
	environment_id TEXT, 
	status TEXT NOT NULL, 
	name TEXT NOT NULL, 
	document TEXT NOT NULL, 
	created_at DOUBLE NOT NULL, 
	updated_at DOUBLE NOT NULL, 
	CONSTRAINT pk_domains PRIMARY KEY (id), 
	CONSTRAINT fk_domains_owner_id FOREIGN KEY(owner_id) REFERENCES users (id) ON DELETE SET NULL
);
INSERT INTO "domains" VALUES('words',1,'019a0000-0000-7000-8000-0000000000b1','published','Word game','{"binding_vow":{"version":"1.0.0","tier":"tier1","observation_space":{"type":"json"},"action_space":{"type":"text"},"reward":{"type":"scalar"},"episode":{"max_steps":5}},"endpoint":{"mode":"sandbox"},"scoring":{"primary_metric":"reward","metrics":[{"name":"reward","type":"episode_reward","aggregation":"mean"}]},"tags":["ü"],"detail":"","version_history":[],"published_at":"2026-09-21T14:13:20.250000+00:00"}',1790000000.25,1790000060.25);
CREATE TABLE environment_versions (
	environment_id TEXT NOT NULL, 
	version INTEGER NOT NULL, 
	state TEXT NOT NULL, 
	source TEXT NOT NULL, 
	ref TEXT NOT NULL, 
	folder TEXT NOT NULL, 
	commit_id TEXT NOT NULL, 
	manifest TEXT NOT NULL, 
	manifest_path TEXT NOT NULL, 
	digest TEXT NOT NULL, 
	error TEXT NOT NULL, 
	log TEXT NOT NULL, 
	submitted_by INTEGER, 
	created_at DOUBLE NOT NULL, 
	ended_at DOUBLE, 
	claimed_by TEXT, 
	lease_until DOUBLE, 
	tries INTEGER NOT NULL, verdict TEXT DEFAULT '' NOT NULL, 
	CONSTRAINT pk_environment_versions PRIMARY KEY (environment_id, version), 
	CONSTRAINT fk_environment_versions_environment_id FOREIGN KEY(environment_id) REFERENCES environments (id) ON DELETE CASCADE
);
INSERT INTO "environment_versions" VALUES('019a0000-0000-7000-8000-0000000000b1',1,'ready','https://github.com/ada/words','','games','0000000000000000000000000000000000000000','{"name":"Word game","adapter":"adapter.py","binding_vow":{"version":"1.0.0","tier":"tier1","observation_space":{"type":"json"},"action_space":{"type":"text"},"reward":{"type":"scalar"},"episode":{"max_steps":5}},"scoring":{"primary_metric":"reward","metrics":[{"name":"reward","type":"episode_reward","aggregation":"mean"}]}}','games/benchanything.json','b09c7d54e7dd3d63683312b9913f78ac','','== ready: domain words
',1,1790000000.25,1790000060.25,'019a0000-0000-7000-8000-0000000000b4',1790000090.25,1,'');
CREATE TABLE environments (
	id TEXT NOT NULL, 
	holder_key TEXT NOT NULL, 
	owner_id INTEGER, 
	team_id TEXT, 
	name TEXT NOT NULL, 
	description TEXT NOT NULL, 
	source TEXT NOT NULL, 
	ref TEXT NOT NULL, 
	folder TEXT NOT NULL, 
	status TEXT NOT NULL, 
	error TEXT NOT NULL, 
	domain_id TEXT, 
	domain_history TEXT NOT NULL, 
	version INTEGER NOT NULL, 
	ready_version INTEGER, 
	created_at DOUBLE NOT NULL, 
	resubmitted_at DOUBLE, 
	deleted_at DOUBLE, 
	CONSTRAINT pk_environments PRIMARY KEY (id), 
	CONSTRAINT fk_environments_owner_id FOREIGN KEY(owner_id) REFERENCES users (id) ON DELETE SET NULL, 
	CONSTRAINT fk_environments_team_id FOREIGN KEY(team_id) REFERENCES teams (id) ON DELETE SET NULL
);
INSERT INTO "environments" VALUES('019a0000-0000-7000-8000-0000000000b1','team:019a0000-0000-7000-8000-0000000000b2',1,'019a0000-0000-7000-8000-0000000000b2','Word game','','https://github.com/ada/words','','games','ready','','words','[]',1,1,1790000000.25,NULL,NULL);
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
	terminal_info TEXT NOT NULL, score DOUBLE, outcome TEXT, tokens BIGINT, duration DOUBLE, labels TEXT, checksum TEXT, link BIGINT, 
	CONSTRAINT pk_episodes PRIMARY KEY (id), 
	CONSTRAINT fk_episodes_run_id FOREIGN KEY(run_id) REFERENCES runs (id) ON DELETE CASCADE, 
	CONSTRAINT uq_episodes_run_id_task_digest_trial UNIQUE (run_id, task_digest, trial)
);
INSERT INTO "episodes" VALUES('019a0000-0000-7000-8000-0000000000e1','019a0000-0000-7000-8000-000000000001','fbe47f6d82b435a89f6e6fca65ad1613',0,0,'completed','seed 1','item','9223372036854775809',1790000002.0,1790000005.0,2,1.0,100,10,3,1,0.5,1,1,4,NULL,NULL,NULL,'{"correct":true}',1.0,'scored',110,3.0,NULL,'eeea43a5613f2716ddcaf5164b7419c10af875a9ae86a615313e1c38ab2e27b8',0);
INSERT INTO "episodes" VALUES('019a0000-0000-7000-8000-0000000000e2','019a0000-0000-7000-8000-000000000001','a61e75dcd678010325906ec0497a92ff',0,1,'failed','seed 2','','2',1790000003.0,1790000006.0,0,0.0,10,2,0,0,NULL,1,4,0,'rate_limited','model','{"cause":"rate_limited","boundary":"model","message":"too many requests","detail":"429","stderr":"stderr"}','{}',NULL,'missing',12,3.0,NULL,'810bd9295247420acec90c247c75f1c6',1);
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
INSERT INTO "event_chunks" VALUES('019a0000-0000-7000-8000-0000000000e1',0,0,3,0,1,312,X'28B52FFD6438003D0300E2C4111880A93AE4CB56E87D64BC0A14255CE0FF84103C950456A323A3FB46604A204B9A1CDDC7625762C4F29F1E1DA612A79DBCC0D4F56825C309020A1206A9E7D396DD09EA0FEBFE020D004129001C8859500AE80708038604E501605170999D8BE024E65594B6046B36');
CREATE TABLE guests (
	id TEXT NOT NULL, 
	created_at DOUBLE NOT NULL, 
	expires_at DOUBLE NOT NULL, 
	ended_at DOUBLE, 
	address TEXT NOT NULL, 
	CONSTRAINT pk_guests PRIMARY KEY (id)
);
INSERT INTO "guests" VALUES('019a0000-0000-7000-8000-0000000000c1',1790000000.25,1790604800.25,NULL,'203.0.113.9');
CREATE TABLE "invocations" (
	id TEXT NOT NULL, 
	created_at DOUBLE NOT NULL, finished_at DOUBLE, created_by TEXT DEFAULT '' NOT NULL, request TEXT DEFAULT '{}' NOT NULL, benchmarks TEXT DEFAULT '[]' NOT NULL, repository TEXT DEFAULT '{}' NOT NULL, comparison_id TEXT DEFAULT '' NOT NULL, holder TEXT, 
	CONSTRAINT pk_run_groups PRIMARY KEY (id)
);
INSERT INTO "invocations" VALUES('group-1',1790000000.25,1790000010.5,'mesocosm bench','{"benchmarks":["words"]}','["words","other"]','{"commit":"abc"}','cmp_1',NULL);
CREATE TABLE jobs (
	id TEXT NOT NULL, 
	environment_id TEXT NOT NULL, 
	domain_id TEXT, 
	user_id INTEGER, 
	status TEXT NOT NULL, 
	source TEXT NOT NULL, 
	results TEXT NOT NULL, 
	created_at DOUBLE NOT NULL, 
	completed_at DOUBLE, 
	claimed_by TEXT, 
	CONSTRAINT pk_jobs PRIMARY KEY (id)
);
INSERT INTO "jobs" VALUES('019a0000-0000-7000-8000-0000000000b3','019a0000-0000-7000-8000-0000000000b1','words',1,'queued','https://github.com/ada/words','[{"model":"ollama/llama3.2","run_id":"019a0000-0000-7000-8000-000000000001"}]',1790000000.25,NULL,NULL);
CREATE TABLE memberships (
	team_id TEXT NOT NULL, 
	user_id INTEGER NOT NULL, 
	role TEXT NOT NULL, 
	joined_at DOUBLE NOT NULL, 
	CONSTRAINT pk_memberships PRIMARY KEY (team_id, user_id), 
	CONSTRAINT fk_memberships_team_id FOREIGN KEY(team_id) REFERENCES teams (id) ON DELETE CASCADE, 
	CONSTRAINT fk_memberships_user_id FOREIGN KEY(user_id) REFERENCES users (id) ON DELETE CASCADE
);
INSERT INTO "memberships" VALUES('019a0000-0000-7000-8000-0000000000b2',1,'owner',1790000000.25);
CREATE TABLE mesocosm_schema (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT mesocosm_schema_pkc PRIMARY KEY (version_num)
);
INSERT INTO "mesocosm_schema" VALUES('0007');
CREATE TABLE orders (
	run_id TEXT NOT NULL, 
	actor TEXT NOT NULL, 
	actor_name TEXT NOT NULL, 
	team_id TEXT, 
	domain_id TEXT NOT NULL, 
	environment_id TEXT, 
	environment_version INTEGER, 
	vow_version TEXT NOT NULL, 
	model TEXT NOT NULL, 
	visibility TEXT NOT NULL, 
	purpose TEXT NOT NULL, 
	job_id TEXT, 
	config TEXT NOT NULL, 
	state TEXT NOT NULL, 
	created_at DOUBLE NOT NULL, 
	ended_at DOUBLE, 
	expires_at DOUBLE, 
	claimed_by TEXT, 
	lease_until DOUBLE, 
	tries INTEGER NOT NULL, 
	reason TEXT NOT NULL, protocol INTEGER, 
	CONSTRAINT pk_orders PRIMARY KEY (run_id), 
	CONSTRAINT fk_orders_run_id FOREIGN KEY(run_id) REFERENCES runs (id) ON DELETE CASCADE, 
	CONSTRAINT fk_orders_team_id FOREIGN KEY(team_id) REFERENCES teams (id) ON DELETE SET NULL
);
INSERT INTO "orders" VALUES('019a0000-0000-7000-8000-000000000001','user:1','Ada','019a0000-0000-7000-8000-0000000000b2','words','019a0000-0000-7000-8000-0000000000b1',1,'1.0.0','ollama/llama3.2','gallery_public','full_bench','019a0000-0000-7000-8000-0000000000b3','{"domain_id":"words","binding_vow_version":"1.0.0","agent_config":{"model":"ollama/llama3.2"},"num_episodes":2}','ended',1790000000.25,1790000010.25,NULL,'019a0000-0000-7000-8000-0000000000b4',NULL,1,'',NULL);
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
CREATE TABLE personal_tokens (
	id TEXT NOT NULL, 
	user_id INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	scope TEXT NOT NULL, 
	digest TEXT NOT NULL, 
	created_at DOUBLE NOT NULL, 
	expires_at DOUBLE, 
	last_used_at DOUBLE, 
	CONSTRAINT pk_personal_tokens PRIMARY KEY (id), 
	CONSTRAINT fk_personal_tokens_user_id FOREIGN KEY(user_id) REFERENCES users (id) ON DELETE CASCADE, 
	CONSTRAINT uq_personal_tokens_digest UNIQUE (digest)
);
INSERT INTO "personal_tokens" VALUES('019a0000-0000-7000-8000-0000000000c3',1,'continuous integration','read','7070707070707070707070707070707070707070707070707070707070707070',1790000000.25,NULL,1790000060.25);
CREATE TABLE protocols (
	domain_id TEXT NOT NULL, 
	version INTEGER NOT NULL, 
	terms TEXT NOT NULL, 
	created_by TEXT NOT NULL, 
	created_at DOUBLE NOT NULL, 
	CONSTRAINT pk_protocols PRIMARY KEY (domain_id, version)
);
INSERT INTO "protocols" VALUES('words',1,'{"vow_version":"1.0.0","environment_id":"019a0000-0000-7000-8000-0000000000b1","environment_version":1,"episodes":20}','user:1',1790000000.25);
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
	score DOUBLE, 
	cost DOUBLE, 
	tokens BIGINT NOT NULL, 
	duration DOUBLE, 
	tags TEXT NOT NULL, 
	search TEXT NOT NULL, 
	CONSTRAINT pk_run_lines PRIMARY KEY (run_id), 
	CONSTRAINT fk_run_lines_run_id FOREIGN KEY(run_id) REFERENCES runs (id) ON DELETE CASCADE
);
INSERT INTO "run_lines" VALUES('019a0000-0000-7000-8000-000000000001',1790000000.25,1.79527733560064530369e+09,'finished','first release','words','b09c7d54e7dd3d63683312b9913f78ac','environment','ollama/llama3.2','loop','group-1',1,1.0,NULL,122,8.5,'aü','019a0000-0000-7000-8000-000000000001
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
	info TEXT NOT NULL, higher_is_better BOOLEAN, mean_reward DOUBLE, mean_steps DOUBLE, mean_of BIGINT, chain TEXT, 
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
ü','["a","ü"]','[{"name":"accuracy","aggregation":"mean","value":1.0,"low":0.2,"high":1.0,"method":"wilson","n_planned":2,"n_scored":1,"n_tasks":1,"missing":{"rate_limited":1},"primary":true}]','["slow"]','{"benchmark":{"kind":"environment","source":"words"},"model":{"name":"ollama/llama3.2"}}','{"version":"0.1"}','{"id":"words"}',1,1.0,2.0,1,'2:48a9accaaa3b8336fbcbdf9c9ffbf80d');
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
CREATE TABLE sessions (
	id TEXT NOT NULL, 
	user_id INTEGER NOT NULL, 
	kind TEXT NOT NULL, 
	family TEXT NOT NULL, 
	digest TEXT NOT NULL, 
	label TEXT NOT NULL, 
	created_at DOUBLE NOT NULL, 
	expires_at DOUBLE NOT NULL, 
	used_at DOUBLE, 
	ended_at DOUBLE, 
	CONSTRAINT pk_sessions PRIMARY KEY (id), 
	CONSTRAINT fk_sessions_user_id FOREIGN KEY(user_id) REFERENCES users (id) ON DELETE CASCADE, 
	CONSTRAINT uq_sessions_digest UNIQUE (digest)
);
INSERT INTO "sessions" VALUES('019a0000-0000-7000-8000-0000000000c2',1,'refresh','019a0000-0000-7000-8000-0000000000c2','5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e','a browser',1790000000.25,1792592000.25,NULL,NULL);
CREATE TABLE signing_keys (
	id TEXT NOT NULL, 
	secret TEXT NOT NULL, 
	created_at DOUBLE NOT NULL, 
	retired_at DOUBLE, 
	CONSTRAINT pk_signing_keys PRIMARY KEY (id)
);
INSERT INTO "signing_keys" VALUES('019a0000-0000-7000-8000-0000000000c4','no secret',1790000000.25,1790000060.25);
CREATE TABLE teams (
	id TEXT NOT NULL, 
	name TEXT NOT NULL, 
	slug TEXT NOT NULL, 
	join_code TEXT NOT NULL, 
	code_at DOUBLE NOT NULL, 
	budget_usd DOUBLE, 
	created_at DOUBLE NOT NULL, 
	CONSTRAINT pk_teams PRIMARY KEY (id), 
	CONSTRAINT uq_teams_slug UNIQUE (slug), 
	CONSTRAINT uq_teams_join_code UNIQUE (join_code)
);
INSERT INTO "teams" VALUES('019a0000-0000-7000-8000-0000000000b2','Reefs','reefs','28FY2KX9',1790000000.25,NULL,1790000000.25);
CREATE TABLE users (
	id INTEGER NOT NULL, 
	username TEXT NOT NULL, 
	name_key TEXT NOT NULL, 
	password TEXT DEFAULT '' NOT NULL, 
	subject TEXT, 
	role TEXT NOT NULL, 
	disabled BOOLEAN NOT NULL, 
	epoch INTEGER NOT NULL, 
	budget_usd DOUBLE, 
	created_at DOUBLE NOT NULL, 
	last_login_at DOUBLE, 
	CONSTRAINT pk_users PRIMARY KEY (id), 
	CONSTRAINT uq_users_name_key UNIQUE (name_key), 
	CONSTRAINT uq_users_subject UNIQUE (subject)
);
INSERT INTO "users" VALUES(1,'Ada','ada','','https://id.example ada','admin',0,2,1.5,1790000000.25,1790000060.25);
CREATE TABLE workers (
	id TEXT NOT NULL, 
	host TEXT NOT NULL, 
	pid INTEGER NOT NULL, 
	version TEXT NOT NULL, 
	capacity INTEGER NOT NULL, 
	running INTEGER NOT NULL, 
	started_at DOUBLE NOT NULL, 
	heartbeat_at DOUBLE NOT NULL, 
	ended_at DOUBLE, 
	lag_s DOUBLE, 
	CONSTRAINT pk_workers PRIMARY KEY (id)
);
INSERT INTO "workers" VALUES('019a0000-0000-7000-8000-0000000000b4','{"host":"reef","pid":7,"started":1.0,"boot":"b"}',7,'0.3.0',8,0,1790000000.25,1790000060.25,1790000061.25,NULL);
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
CREATE INDEX ix_run_lines_cost ON run_lines (cost, run_id);
CREATE INDEX ix_run_lines_tokens ON run_lines (tokens, run_id);
CREATE INDEX ix_run_lines_duration ON run_lines (duration, run_id);
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
CREATE INDEX ix_guests_expires_at ON guests (expires_at);
CREATE INDEX ix_sessions_family ON sessions (family);
CREATE INDEX ix_sessions_user_id ON sessions (user_id);
CREATE INDEX ix_personal_tokens_user_id ON personal_tokens (user_id);
CREATE INDEX ix_memberships_user_id ON memberships (user_id);
CREATE INDEX ix_domains_status_created_at ON domains (status, created_at);
CREATE INDEX ix_domains_owner_id ON domains (owner_id);
CREATE INDEX ix_domains_environment_id ON domains (environment_id);
CREATE INDEX ix_environments_holder_key_source_folder ON environments (holder_key, source, folder);
CREATE INDEX ix_environments_domain_id ON environments (domain_id);
CREATE INDEX ix_environments_status ON environments (status);
CREATE INDEX ix_environment_versions_state_created_at ON environment_versions (state, created_at);
CREATE INDEX ix_orders_state_created_at ON orders (state, created_at);
CREATE INDEX ix_orders_actor_created_at ON orders (actor, created_at);
CREATE INDEX ix_orders_team_id_created_at ON orders (team_id, created_at);
CREATE INDEX ix_orders_domain_id_visibility ON orders (domain_id, visibility);
CREATE INDEX ix_orders_environment_id ON orders (environment_id);
CREATE INDEX ix_orders_job_id ON orders (job_id);
CREATE INDEX ix_jobs_status_created_at ON jobs (status, created_at);
CREATE INDEX ix_attempts_until ON attempts (until);
CREATE INDEX ix_audit_log_at ON audit_log (at);
CREATE INDEX ix_audit_log_object_at ON audit_log (object, at);
CREATE VIEW run_groups AS SELECT g.id AS run_group_id, strftime('%Y-%m-%dT%H:%M:%f', g.created_at, 'unixepoch') || '+00:00' AS created_at, strftime('%Y-%m-%dT%H:%M:%f', g.finished_at, 'unixepoch') || '+00:00' AS finished_at, strftime('%Y-%m-%dT%H:%M:%f', coalesce(g.finished_at, (SELECT max(o.at) FROM outcomes AS o WHERE o.group_id = g.id), g.created_at), 'unixepoch') || '+00:00' AS updated_at, g.request AS request_json, g.benchmarks AS benchmarks_json, g.repository AS repo_meta_json, coalesce(nullif(g.created_by, ''), 'mesocosm') AS created_by, CAST(NULL AS TEXT) AS execution_namespace, CAST(NULL AS TEXT) AS execution_contract_json, CAST(NULL AS TEXT) AS checkpoint_relpath, CASE WHEN g.finished_at IS NULL THEN 'running' WHEN EXISTS (SELECT 1 FROM outcomes AS o WHERE o.group_id = g.id AND o.status = 'failed') THEN 'failed' ELSE 'succeeded' END AS cohort_status, CAST(NULL AS TEXT) AS pause_retry_at, CAST(NULL AS TEXT) AS pause_reason, '{}' AS pause_metadata_json, '{}' AS storage_preflight_json FROM invocations AS g;
CREATE VIEW benchmark_runs AS SELECT r.id AS run_id, r.group_id AS run_group_id, r.benchmark AS benchmark_id, coalesce(json_extract(r.provenance, '$.bench.directory'), r.benchmark) AS benchmark_directory, CAST(r.signature AS TEXT) AS signature, CASE WHEN r.status = 'finished' THEN 'succeeded' WHEN r.status = 'pending' THEN 'running' WHEN r.status = 'stopped' AND r.error = 'orchestrator_interrupted' THEN 'failed' ELSE r.status END AS status, r.attempt AS attempt, r.agent AS agent, coalesce(nullif(json_extract(r.provenance, '$.bench.provider'), ''), substr(r.model, 1, CASE WHEN instr(r.model, '/') > 0 THEN instr(r.model, '/') - 1 ELSE 0 END)) AS provider, coalesce(nullif(json_extract(r.provenance, '$.bench.model'), ''), substr(r.model, instr(r.model, '/') + 1, CASE WHEN instr(r.model, '@http') > instr(r.model, '/') THEN instr(r.model, '@http') - instr(r.model, '/') - 1 ELSE length(r.model) END)) AS model, coalesce(json_extract(r.provenance, '$.bench.extra'), json_extract(r.spec, '$.benchmark.options.knobs'), '{}') AS extra_config_json, strftime('%Y-%m-%dT%H:%M:%f', coalesce(r.started_at, r.created_at), 'unixepoch') || '+00:00' AS started_at, strftime('%Y-%m-%dT%H:%M:%f', r.ended_at, 'unixepoch') || '+00:00' AS ended_at, CASE WHEN r.ended_at IS NOT NULL THEN coalesce(CASE WHEN json_type(r.provenance, '$.worked_s') IN ('integer', 'real') THEN json_extract(r.provenance, '$.worked_s') END, r.ended_at - r.started_at) END AS duration_seconds, coalesce(json_extract(r.provenance, '$.bench.command'), json_extract(r.provenance, '$.command'), '[]') AS command_json, coalesce(json_extract(r.provenance, '$.bench.cwd'), '') AS cwd, coalesce(json_extract(r.provenance, '$.bench.stdout_path'), '') AS stdout_path, coalesce(json_extract(r.provenance, '$.bench.stderr_path'), '') AS stderr_path, json_extract(r.provenance, '$.bench.result_path') AS result_json_path, r.score AS score, coalesce(json_extract(r.provenance, '$.bench.unit'), json_extract(r.info, '$.card.unit')) AS unit, CAST(r.higher_is_better AS INTEGER) AS higher_is_better, (SELECT json_group_object(name, value) FROM (SELECT json_extract(m.value, '$.name') AS name, json_extract(m.value, '$.value') AS value FROM json_each(r.metrics) AS m UNION ALL SELECT 'episodes_planned', r.planned UNION ALL SELECT 'episodes_completed', r.completed UNION ALL SELECT 'episodes_truncated', r.truncated UNION ALL SELECT 'episodes_timeout', r.timeout UNION ALL SELECT 'episodes_failed', r.failed UNION ALL SELECT 'cost_usd', CASE WHEN r.cost_unknown = 0 THEN r.cost_usd END UNION ALL SELECT 'reason', r.error WHERE r.error = 'orchestrator_interrupted')) AS metrics_json, coalesce(json_extract(r.provenance, '$.bench.artifacts'), '[]') AS artifacts_json, nullif(r.error, '') AS error, json_extract(r.provenance, '$.bench.high_score.label') AS high_score_label, CASE WHEN json_type(r.provenance, '$.bench.high_score.value') IN ('integer', 'real') THEN json_extract(r.provenance, '$.bench.high_score.value') END AS high_score_value, r.score - CASE WHEN json_type(r.provenance, '$.bench.high_score.value') IN ('integer', 'real') THEN json_extract(r.provenance, '$.bench.high_score.value') END AS delta_to_high_score, r.benchmark_version AS benchmark_version, json_extract(r.provenance, '$.bench.benchmarks_commit') AS benchmarks_commit, json_extract(r.provenance, '$.bench.eliza_commit') AS eliza_commit, json_extract(r.provenance, '$.bench.eliza_version') AS eliza_version, strftime('%Y-%m-%dT%H:%M:%f', r.created_at, 'unixepoch') || '+00:00' AS created_at, coalesce(nullif(json_extract(r.provenance, '$.bench.comparison_id'), ''), (SELECT max(o.comparison_id) FROM outcomes AS o WHERE o.run_id = r.id AND o.comparison_id <> ''), (SELECT nullif(g.comparison_id, '') FROM invocations AS g WHERE g.id = r.group_id)) AS comparison_id, json_object('trajectories', r.completed + r.truncated + r.timeout + r.failed, 'failed', r.failed) AS trajectory_summary_json, json_object('prompt_tokens', r.prompt_tokens, 'completion_tokens', r.completion_tokens, 'total_tokens', r.prompt_tokens + r.completion_tokens, 'reasoning_tokens', r.reasoning_tokens) AS token_metrics_json, json_object('cache_read_input_tokens', r.cached_tokens) AS cache_metrics_json, json_object('throughput_per_second', CASE WHEN r.ended_at IS NOT NULL THEN (r.completed + r.truncated + r.timeout + r.failed) / nullif(coalesce(CASE WHEN json_type(r.provenance, '$.worked_s') IN ('integer', 'real') THEN json_extract(r.provenance, '$.worked_s') END, r.ended_at - r.started_at), 0) END) AS performance_metrics_json, r.completed + r.truncated + r.timeout + r.failed AS trajectory_count, r.model_calls AS llm_call_count, r.prompt_tokens AS total_prompt_tokens, r.completion_tokens AS total_completion_tokens, r.cached_tokens AS total_cache_read_input_tokens, CAST(NULL AS BIGINT) AS total_cache_creation_input_tokens, CASE WHEN json_type(r.provenance, '$.bench.mean_latency_ms') IN ('integer', 'real') THEN json_extract(r.provenance, '$.bench.mean_latency_ms') END AS mean_latency_ms, CASE WHEN json_type(r.provenance, '$.bench.p95_latency_ms') IN ('integer', 'real') THEN json_extract(r.provenance, '$.bench.p95_latency_ms') END AS p95_latency_ms, CASE WHEN r.ended_at IS NOT NULL THEN (r.completed + r.truncated + r.timeout + r.failed) / nullif(coalesce(CASE WHEN json_type(r.provenance, '$.worked_s') IN ('integer', 'real') THEN json_extract(r.provenance, '$.worked_s') END, r.ended_at - r.started_at), 0) END AS throughput_per_second FROM runs AS r UNION ALL SELECT CASE o.status WHEN 'skipped' THEN 'skip' WHEN 'incompatible' THEN 'incompat' ELSE o.status END || '_' || o.group_id || '_' || o.position AS run_id, o.group_id AS run_group_id, o.benchmark AS benchmark_id, coalesce(nullif(o.directory, ''), o.benchmark) AS benchmark_directory, o.signature AS signature, o.status AS status, coalesce((SELECT x.attempt FROM runs AS x WHERE x.id = o.run_id), 0) AS attempt, o.agent AS agent, o.provider AS provider, o.model AS model, o.extra AS extra_config_json, strftime('%Y-%m-%dT%H:%M:%f', o.at, 'unixepoch') || '+00:00' AS started_at, CASE WHEN o.status <> 'running' THEN strftime('%Y-%m-%dT%H:%M:%f', o.at, 'unixepoch') || '+00:00' END AS ended_at, CASE WHEN o.status <> 'running' THEN 0.0 END AS duration_seconds, '[]' AS command_json, '' AS cwd, '' AS stdout_path, '' AS stderr_path, NULL AS result_json_path, NULL AS score, NULL AS unit, NULL AS higher_is_better, json_object('reason', nullif(o.reason, ''), 'signature', o.signature, 'existing_succeeded_run_id', o.run_id) AS metrics_json, '[]' AS artifacts_json, CASE WHEN o.status <> 'skipped' THEN nullif(o.reason, '') END AS error, NULL AS high_score_label, NULL AS high_score_value, NULL AS delta_to_high_score, NULL AS benchmark_version, NULL AS benchmarks_commit, NULL AS eliza_commit, NULL AS eliza_version, strftime('%Y-%m-%dT%H:%M:%f', o.at, 'unixepoch') || '+00:00' AS created_at, nullif(o.comparison_id, '') AS comparison_id, NULL AS trajectory_summary_json, NULL AS token_metrics_json, NULL AS cache_metrics_json, NULL AS performance_metrics_json, NULL AS trajectory_count, NULL AS llm_call_count, NULL AS total_prompt_tokens, NULL AS total_completion_tokens, NULL AS total_cache_read_input_tokens, NULL AS total_cache_creation_input_tokens, NULL AS mean_latency_ms, NULL AS p95_latency_ms, NULL AS throughput_per_second FROM outcomes AS o WHERE (o.status = 'skipped' OR NOT o.ran);
CREATE VIEW benchmark_run_trajectories AS SELECT e.run_id AS run_id, e.id AS trajectory_file, 0 AS turn_index, e.prompt_tokens AS prompt_tokens, e.completion_tokens AS completion_tokens, e.prompt_tokens + e.completion_tokens AS total_tokens, e.cached_tokens AS cached_tokens, 0 AS cache_creation_tokens, CAST(NULL AS DOUBLE PRECISION) AS latency_ms, CAST(NULL AS INTEGER) AS prompt_chars FROM episodes AS e;
CREATE INDEX ix_deleted_runs_domain_id ON deleted_runs (domain_id);
COMMIT;
