CREATE TABLE released.artifacts (
    id text NOT NULL COLLATE pg_catalog."C",
    run_id text NOT NULL COLLATE pg_catalog."C",
    episode_id text COLLATE pg_catalog."C",
    name text NOT NULL,
    digest character varying(32) NOT NULL COLLATE pg_catalog."C",
    created_at double precision NOT NULL
);
CREATE TABLE released.attempts (
    key text NOT NULL COLLATE pg_catalog."C",
    stretch bigint NOT NULL,
    count integer NOT NULL,
    until double precision NOT NULL
);
CREATE TABLE released.audit_log (
    id text NOT NULL COLLATE pg_catalog."C",
    at double precision NOT NULL,
    actor text NOT NULL COLLATE pg_catalog."C",
    action text NOT NULL COLLATE pg_catalog."C",
    object text NOT NULL COLLATE pg_catalog."C",
    detail text NOT NULL,
    address text NOT NULL
);
CREATE TABLE released.episodes (
    id text NOT NULL COLLATE pg_catalog."C",
    run_id text NOT NULL COLLATE pg_catalog."C",
    task_digest character varying(32) NOT NULL COLLATE pg_catalog."C",
    trial integer NOT NULL,
    "position" bigint NOT NULL,
    status text NOT NULL COLLATE pg_catalog."C",
    task_id text NOT NULL,
    cluster text NOT NULL,
    seed text,
    started_at double precision NOT NULL,
    ended_at double precision,
    steps bigint NOT NULL,
    total_reward double precision,
    prompt_tokens bigint NOT NULL,
    completion_tokens bigint NOT NULL,
    cached_tokens bigint NOT NULL,
    reasoning_tokens bigint NOT NULL,
    cost_usd double precision,
    model_calls bigint NOT NULL,
    retries integer NOT NULL,
    events bigint NOT NULL,
    failure_cause text COLLATE pg_catalog."C",
    failure_boundary text COLLATE pg_catalog."C",
    failure text,
    terminal_info text NOT NULL,
    score double precision,
    outcome text COLLATE pg_catalog."C",
    tokens bigint,
    duration double precision,
    labels text,
    checksum text,
    link bigint
);
CREATE VIEW released.benchmark_run_trajectories AS
 SELECT e.run_id,
    e.id AS trajectory_file,
    0 AS turn_index,
    e.prompt_tokens,
    e.completion_tokens,
    (e.prompt_tokens + e.completion_tokens) AS total_tokens,
    e.cached_tokens,
    0 AS cache_creation_tokens,
    NULL::double precision AS latency_ms,
    NULL::integer AS prompt_chars
   FROM released.episodes e;
CREATE TABLE released.invocations (
    id text NOT NULL COLLATE pg_catalog."C",
    created_at double precision NOT NULL,
    finished_at double precision,
    created_by text DEFAULT ''::text NOT NULL,
    request text DEFAULT '{}'::text NOT NULL,
    benchmarks text DEFAULT '[]'::text NOT NULL,
    repository text DEFAULT '{}'::text NOT NULL,
    comparison_id text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    holder text
);
CREATE TABLE released.outcomes (
    group_id text NOT NULL COLLATE pg_catalog."C",
    "position" integer NOT NULL,
    at double precision NOT NULL,
    status text NOT NULL COLLATE pg_catalog."C",
    benchmark text NOT NULL COLLATE pg_catalog."C",
    directory text NOT NULL,
    provider text NOT NULL COLLATE pg_catalog."C",
    model text NOT NULL COLLATE pg_catalog."C",
    agent text NOT NULL COLLATE pg_catalog."C",
    signature text NOT NULL COLLATE pg_catalog."C",
    run_id text COLLATE pg_catalog."C",
    ran boolean NOT NULL,
    comparison_id text NOT NULL COLLATE pg_catalog."C",
    reason text NOT NULL,
    extra text NOT NULL
);
CREATE TABLE released.runs (
    id text NOT NULL COLLATE pg_catalog."C",
    created_at double precision NOT NULL,
    status text NOT NULL COLLATE pg_catalog."C",
    signature character varying(32) NOT NULL COLLATE pg_catalog."C",
    attempt integer NOT NULL,
    group_id text COLLATE pg_catalog."C",
    name text NOT NULL,
    benchmark text NOT NULL COLLATE pg_catalog."C",
    benchmark_title text NOT NULL,
    benchmark_version text NOT NULL,
    benchmark_digest text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL COLLATE pg_catalog."C",
    model text NOT NULL COLLATE pg_catalog."C",
    agent text NOT NULL COLLATE pg_catalog."C",
    score double precision,
    planned bigint NOT NULL,
    completed bigint NOT NULL,
    truncated bigint NOT NULL,
    timeout bigint NOT NULL,
    failed bigint NOT NULL,
    prompt_tokens bigint NOT NULL,
    completion_tokens bigint NOT NULL,
    cached_tokens bigint NOT NULL,
    reasoning_tokens bigint NOT NULL,
    cost_usd double precision,
    model_calls bigint NOT NULL,
    cost_unknown bigint NOT NULL,
    started_at double precision,
    ended_at double precision,
    held_at double precision,
    heartbeat_at double precision,
    holder text,
    stop_requested boolean NOT NULL,
    error text NOT NULL,
    search text NOT NULL,
    tags text NOT NULL,
    metrics text NOT NULL,
    warnings text NOT NULL,
    spec text NOT NULL,
    provenance text NOT NULL,
    info text NOT NULL,
    higher_is_better boolean,
    mean_reward double precision,
    mean_steps double precision,
    mean_of bigint,
    chain text
);
CREATE VIEW released.benchmark_runs AS
 SELECT r.id AS run_id,
    r.group_id AS run_group_id,
    r.benchmark AS benchmark_id,
    COALESCE(((r.provenance)::json #>> '{bench,directory}'::text[]), r.benchmark) AS benchmark_directory,
    (r.signature)::text AS signature,
        CASE
            WHEN (r.status = 'finished'::text) THEN 'succeeded'::text
            WHEN (r.status = 'pending'::text) THEN 'running'::text
            WHEN ((r.status = 'stopped'::text) AND (r.error = 'orchestrator_interrupted'::text)) THEN 'failed'::text
            ELSE r.status
        END AS status,
    r.attempt,
    r.agent,
    COALESCE(NULLIF(((r.provenance)::json #>> '{bench,provider}'::text[]), ''::text), substr(r.model, 1,
        CASE
            WHEN (strpos(r.model, '/'::text) > 0) THEN (strpos(r.model, '/'::text) - 1)
            ELSE 0
        END)) AS provider,
    COALESCE(NULLIF(((r.provenance)::json #>> '{bench,model}'::text[]), ''::text), substr(r.model, (strpos(r.model, '/'::text) + 1),
        CASE
            WHEN (strpos(r.model, '@http'::text) > strpos(r.model, '/'::text)) THEN ((strpos(r.model, '@http'::text) - strpos(r.model, '/'::text)) - 1)
            ELSE length(r.model)
        END)) AS model,
    COALESCE(((r.provenance)::json #>> '{bench,extra}'::text[]), ((r.spec)::json #>> '{benchmark,options,knobs}'::text[]), '{}'::text) AS extra_config_json,
    to_char((to_timestamp(COALESCE(r.started_at, r.created_at)) AT TIME ZONE 'UTC'::text), 'YYYY-MM-DD"T"HH24:MI:SS.MS"+00:00"'::text) AS started_at,
    to_char((to_timestamp(r.ended_at) AT TIME ZONE 'UTC'::text), 'YYYY-MM-DD"T"HH24:MI:SS.MS"+00:00"'::text) AS ended_at,
        CASE
            WHEN (r.ended_at IS NOT NULL) THEN COALESCE(
            CASE
                WHEN (json_typeof(((r.provenance)::json #> '{worked_s}'::text[])) = 'number'::text) THEN (((r.provenance)::json #>> '{worked_s}'::text[]))::double precision
                ELSE NULL::double precision
            END, (r.ended_at - r.started_at))
            ELSE NULL::double precision
        END AS duration_seconds,
    COALESCE(((r.provenance)::json #>> '{bench,command}'::text[]), ((r.provenance)::json #>> '{command}'::text[]), '[]'::text) AS command_json,
    COALESCE(((r.provenance)::json #>> '{bench,cwd}'::text[]), ''::text) AS cwd,
    COALESCE(((r.provenance)::json #>> '{bench,stdout_path}'::text[]), ''::text) AS stdout_path,
    COALESCE(((r.provenance)::json #>> '{bench,stderr_path}'::text[]), ''::text) AS stderr_path,
    ((r.provenance)::json #>> '{bench,result_path}'::text[]) AS result_json_path,
    r.score,
    COALESCE(((r.provenance)::json #>> '{bench,unit}'::text[]), ((r.info)::json #>> '{card,unit}'::text[])) AS unit,
    (r.higher_is_better)::integer AS higher_is_better,
    ( SELECT (json_object_agg(facts.name, facts.value))::text AS json_object_agg
           FROM ( SELECT (m.value ->> 'name'::text) AS name,
                    (m.value -> 'value'::text) AS value
                   FROM json_array_elements((r.metrics)::json) m(value)
                UNION ALL
                 SELECT 'episodes_planned'::text,
                    to_json(r.planned) AS to_json
                UNION ALL
                 SELECT 'episodes_completed'::text,
                    to_json(r.completed) AS to_json
                UNION ALL
                 SELECT 'episodes_truncated'::text,
                    to_json(r.truncated) AS to_json
                UNION ALL
                 SELECT 'episodes_timeout'::text,
                    to_json(r.timeout) AS to_json
                UNION ALL
                 SELECT 'episodes_failed'::text,
                    to_json(r.failed) AS to_json
                UNION ALL
                 SELECT 'cost_usd'::text,
                    to_json(
                        CASE
                            WHEN (r.cost_unknown = 0) THEN r.cost_usd
                            ELSE NULL::double precision
                        END) AS to_json
                UNION ALL
                 SELECT 'reason'::text,
                    to_json(r.error) AS to_json
                  WHERE (r.error = 'orchestrator_interrupted'::text)) facts) AS metrics_json,
    COALESCE(((r.provenance)::json #>> '{bench,artifacts}'::text[]), '[]'::text) AS artifacts_json,
    NULLIF(r.error, ''::text) AS error,
    ((r.provenance)::json #>> '{bench,high_score,label}'::text[]) AS high_score_label,
        CASE
            WHEN (json_typeof(((r.provenance)::json #> '{bench,high_score,value}'::text[])) = 'number'::text) THEN (((r.provenance)::json #>> '{bench,high_score,value}'::text[]))::double precision
            ELSE NULL::double precision
        END AS high_score_value,
    (r.score -
        CASE
            WHEN (json_typeof(((r.provenance)::json #> '{bench,high_score,value}'::text[])) = 'number'::text) THEN (((r.provenance)::json #>> '{bench,high_score,value}'::text[]))::double precision
            ELSE NULL::double precision
        END) AS delta_to_high_score,
    r.benchmark_version,
    ((r.provenance)::json #>> '{bench,benchmarks_commit}'::text[]) AS benchmarks_commit,
    ((r.provenance)::json #>> '{bench,eliza_commit}'::text[]) AS eliza_commit,
    ((r.provenance)::json #>> '{bench,eliza_version}'::text[]) AS eliza_version,
    to_char((to_timestamp(r.created_at) AT TIME ZONE 'UTC'::text), 'YYYY-MM-DD"T"HH24:MI:SS.MS"+00:00"'::text) AS created_at,
    COALESCE(NULLIF(((r.provenance)::json #>> '{bench,comparison_id}'::text[]), ''::text), ( SELECT max(o.comparison_id) AS max
           FROM released.outcomes o
          WHERE ((o.run_id = r.id) AND (o.comparison_id <> ''::text))), ( SELECT NULLIF(g.comparison_id, ''::text) AS "nullif"
           FROM released.invocations g
          WHERE (g.id = r.group_id))) AS comparison_id,
    (json_build_object('trajectories', (((r.completed + r.truncated) + r.timeout) + r.failed), 'failed', r.failed))::text AS trajectory_summary_json,
    (json_build_object('prompt_tokens', r.prompt_tokens, 'completion_tokens', r.completion_tokens, 'total_tokens', (r.prompt_tokens + r.completion_tokens), 'reasoning_tokens', r.reasoning_tokens))::text AS token_metrics_json,
    (json_build_object('cache_read_input_tokens', r.cached_tokens))::text AS cache_metrics_json,
    (json_build_object('throughput_per_second',
        CASE
            WHEN (r.ended_at IS NOT NULL) THEN (((((r.completed + r.truncated) + r.timeout) + r.failed))::double precision / NULLIF(COALESCE(
            CASE
                WHEN (json_typeof(((r.provenance)::json #> '{worked_s}'::text[])) = 'number'::text) THEN (((r.provenance)::json #>> '{worked_s}'::text[]))::double precision
                ELSE NULL::double precision
            END, (r.ended_at - r.started_at)), (0)::double precision))
            ELSE NULL::double precision
        END))::text AS performance_metrics_json,
    (((r.completed + r.truncated) + r.timeout) + r.failed) AS trajectory_count,
    r.model_calls AS llm_call_count,
    r.prompt_tokens AS total_prompt_tokens,
    r.completion_tokens AS total_completion_tokens,
    r.cached_tokens AS total_cache_read_input_tokens,
    NULL::bigint AS total_cache_creation_input_tokens,
        CASE
            WHEN (json_typeof(((r.provenance)::json #> '{bench,mean_latency_ms}'::text[])) = 'number'::text) THEN (((r.provenance)::json #>> '{bench,mean_latency_ms}'::text[]))::double precision
            ELSE NULL::double precision
        END AS mean_latency_ms,
        CASE
            WHEN (json_typeof(((r.provenance)::json #> '{bench,p95_latency_ms}'::text[])) = 'number'::text) THEN (((r.provenance)::json #>> '{bench,p95_latency_ms}'::text[]))::double precision
            ELSE NULL::double precision
        END AS p95_latency_ms,
        CASE
            WHEN (r.ended_at IS NOT NULL) THEN (((((r.completed + r.truncated) + r.timeout) + r.failed))::double precision / NULLIF(COALESCE(
            CASE
                WHEN (json_typeof(((r.provenance)::json #> '{worked_s}'::text[])) = 'number'::text) THEN (((r.provenance)::json #>> '{worked_s}'::text[]))::double precision
                ELSE NULL::double precision
            END, (r.ended_at - r.started_at)), (0)::double precision))
            ELSE NULL::double precision
        END AS throughput_per_second
   FROM released.runs r
UNION ALL
 SELECT ((((
        CASE o.status
            WHEN 'skipped'::text THEN 'skip'::text
            WHEN 'incompatible'::text THEN 'incompat'::text
            ELSE o.status
        END || '_'::text) || o.group_id) || '_'::text) || o."position") AS run_id,
    o.group_id AS run_group_id,
    o.benchmark AS benchmark_id,
    COALESCE(NULLIF(o.directory, ''::text), o.benchmark) AS benchmark_directory,
    o.signature,
    o.status,
    COALESCE(( SELECT x.attempt
           FROM released.runs x
          WHERE (x.id = o.run_id)), 0) AS attempt,
    o.agent,
    o.provider,
    o.model,
    o.extra AS extra_config_json,
    to_char((to_timestamp(o.at) AT TIME ZONE 'UTC'::text), 'YYYY-MM-DD"T"HH24:MI:SS.MS"+00:00"'::text) AS started_at,
        CASE
            WHEN (o.status <> 'running'::text) THEN to_char((to_timestamp(o.at) AT TIME ZONE 'UTC'::text), 'YYYY-MM-DD"T"HH24:MI:SS.MS"+00:00"'::text)
            ELSE NULL::text
        END AS ended_at,
        CASE
            WHEN (o.status <> 'running'::text) THEN 0.0
            ELSE NULL::numeric
        END AS duration_seconds,
    '[]'::text AS command_json,
    ''::text AS cwd,
    ''::text AS stdout_path,
    ''::text AS stderr_path,
    NULL::text AS result_json_path,
    NULL::double precision AS score,
    NULL::text AS unit,
    NULL::integer AS higher_is_better,
    (json_build_object('reason', NULLIF(o.reason, ''::text), 'signature', o.signature, 'existing_succeeded_run_id', o.run_id))::text AS metrics_json,
    '[]'::text AS artifacts_json,
        CASE
            WHEN (o.status <> 'skipped'::text) THEN NULLIF(o.reason, ''::text)
            ELSE NULL::text
        END AS error,
    NULL::text AS high_score_label,
    NULL::double precision AS high_score_value,
    NULL::double precision AS delta_to_high_score,
    NULL::text AS benchmark_version,
    NULL::text AS benchmarks_commit,
    NULL::text AS eliza_commit,
    NULL::text AS eliza_version,
    to_char((to_timestamp(o.at) AT TIME ZONE 'UTC'::text), 'YYYY-MM-DD"T"HH24:MI:SS.MS"+00:00"'::text) AS created_at,
    NULLIF(o.comparison_id, ''::text) AS comparison_id,
    NULL::text AS trajectory_summary_json,
    NULL::text AS token_metrics_json,
    NULL::text AS cache_metrics_json,
    NULL::text AS performance_metrics_json,
    NULL::bigint AS trajectory_count,
    NULL::bigint AS llm_call_count,
    NULL::bigint AS total_prompt_tokens,
    NULL::bigint AS total_completion_tokens,
    NULL::bigint AS total_cache_read_input_tokens,
    NULL::bigint AS total_cache_creation_input_tokens,
    NULL::double precision AS mean_latency_ms,
    NULL::double precision AS p95_latency_ms,
    NULL::double precision AS throughput_per_second
   FROM released.outcomes o
  WHERE ((o.status = 'skipped'::text) OR (NOT o.ran));
CREATE TABLE released.benchmarks (
    id text NOT NULL COLLATE pg_catalog."C",
    digest text NOT NULL COLLATE pg_catalog."C",
    version text NOT NULL,
    title text NOT NULL,
    kind text NOT NULL COLLATE pg_catalog."C",
    first_run_at double precision NOT NULL
);
CREATE TABLE released.blobs (
    digest character varying(32) NOT NULL COLLATE pg_catalog."C",
    content_type text NOT NULL,
    raw_bytes bigint NOT NULL,
    data bytea NOT NULL,
    outside boolean DEFAULT false NOT NULL
);
CREATE TABLE released.cooldowns (
    actor text NOT NULL COLLATE pg_catalog."C",
    until double precision NOT NULL
);
CREATE TABLE released.deleted_runs (
    run_id text NOT NULL COLLATE pg_catalog."C",
    actor text NOT NULL COLLATE pg_catalog."C",
    team_id text COLLATE pg_catalog."C",
    domain_id text NOT NULL COLLATE pg_catalog."C",
    vow_version text NOT NULL COLLATE pg_catalog."C",
    model text NOT NULL COLLATE pg_catalog."C",
    protocol integer,
    declared boolean NOT NULL,
    deleted_at double precision NOT NULL
);
CREATE TABLE released.domains (
    id text NOT NULL COLLATE pg_catalog."C",
    owner_id integer,
    environment_id text COLLATE pg_catalog."C",
    status text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL,
    document text NOT NULL,
    created_at double precision NOT NULL,
    updated_at double precision NOT NULL
);
CREATE TABLE released.environment_versions (
    environment_id text NOT NULL COLLATE pg_catalog."C",
    version integer NOT NULL,
    state text NOT NULL COLLATE pg_catalog."C",
    source text NOT NULL,
    ref text NOT NULL,
    folder text NOT NULL,
    commit_id text NOT NULL COLLATE pg_catalog."C",
    manifest text NOT NULL,
    manifest_path text NOT NULL,
    digest text NOT NULL COLLATE pg_catalog."C",
    error text NOT NULL,
    log text NOT NULL,
    submitted_by integer,
    created_at double precision NOT NULL,
    ended_at double precision,
    claimed_by text COLLATE pg_catalog."C",
    lease_until double precision,
    tries integer NOT NULL,
    verdict text DEFAULT ''::text NOT NULL
);
CREATE TABLE released.environments (
    id text NOT NULL COLLATE pg_catalog."C",
    holder_key text NOT NULL COLLATE pg_catalog."C",
    owner_id integer,
    team_id text COLLATE pg_catalog."C",
    name text NOT NULL,
    description text NOT NULL,
    source text NOT NULL COLLATE pg_catalog."C",
    ref text NOT NULL,
    folder text NOT NULL COLLATE pg_catalog."C",
    status text NOT NULL COLLATE pg_catalog."C",
    error text NOT NULL,
    domain_id text COLLATE pg_catalog."C",
    domain_history text NOT NULL,
    version integer NOT NULL,
    ready_version integer,
    created_at double precision NOT NULL,
    resubmitted_at double precision,
    deleted_at double precision
);
CREATE TABLE released.event_chunks (
    episode_id text NOT NULL COLLATE pg_catalog."C",
    seq integer NOT NULL,
    first_event bigint NOT NULL,
    last_event bigint NOT NULL,
    first_step bigint NOT NULL,
    last_step bigint NOT NULL,
    raw_bytes integer NOT NULL,
    data bytea NOT NULL
);
CREATE TABLE released.guests (
    id text NOT NULL COLLATE pg_catalog."C",
    created_at double precision NOT NULL,
    expires_at double precision NOT NULL,
    ended_at double precision,
    address text NOT NULL COLLATE pg_catalog."C"
);
CREATE TABLE released.jobs (
    id text NOT NULL COLLATE pg_catalog."C",
    environment_id text NOT NULL COLLATE pg_catalog."C",
    domain_id text COLLATE pg_catalog."C",
    user_id integer,
    status text NOT NULL COLLATE pg_catalog."C",
    source text NOT NULL,
    results text NOT NULL,
    created_at double precision NOT NULL,
    completed_at double precision,
    claimed_by text COLLATE pg_catalog."C"
);
CREATE TABLE released.memberships (
    team_id text NOT NULL COLLATE pg_catalog."C",
    user_id integer NOT NULL,
    role text NOT NULL COLLATE pg_catalog."C",
    joined_at double precision NOT NULL
);
CREATE TABLE released.mesocosm_schema (
    version_num character varying(32) NOT NULL
);
CREATE TABLE released.orders (
    run_id text NOT NULL COLLATE pg_catalog."C",
    actor text NOT NULL COLLATE pg_catalog."C",
    actor_name text NOT NULL,
    team_id text COLLATE pg_catalog."C",
    domain_id text NOT NULL COLLATE pg_catalog."C",
    environment_id text COLLATE pg_catalog."C",
    environment_version integer,
    vow_version text NOT NULL COLLATE pg_catalog."C",
    model text NOT NULL COLLATE pg_catalog."C",
    visibility text NOT NULL COLLATE pg_catalog."C",
    purpose text NOT NULL COLLATE pg_catalog."C",
    job_id text COLLATE pg_catalog."C",
    config text NOT NULL,
    state text NOT NULL COLLATE pg_catalog."C",
    created_at double precision NOT NULL,
    ended_at double precision,
    expires_at double precision,
    claimed_by text COLLATE pg_catalog."C",
    lease_until double precision,
    tries integer NOT NULL,
    reason text NOT NULL,
    protocol integer
);
CREATE TABLE released.personal_tokens (
    id text NOT NULL COLLATE pg_catalog."C",
    user_id integer NOT NULL,
    name text NOT NULL,
    scope text NOT NULL COLLATE pg_catalog."C",
    digest text NOT NULL COLLATE pg_catalog."C",
    created_at double precision NOT NULL,
    expires_at double precision,
    last_used_at double precision
);
CREATE TABLE released.protocols (
    domain_id text NOT NULL COLLATE pg_catalog."C",
    version integer NOT NULL,
    terms text NOT NULL,
    created_by text NOT NULL COLLATE pg_catalog."C",
    created_at double precision NOT NULL
);
CREATE TABLE released.run_blobs (
    run_id text NOT NULL COLLATE pg_catalog."C",
    digest character varying(32) NOT NULL COLLATE pg_catalog."C"
);
CREATE TABLE released.run_deletions (
    run_id text NOT NULL COLLATE pg_catalog."C",
    deleted_at double precision NOT NULL
);
CREATE VIEW released.run_groups AS
 SELECT g.id AS run_group_id,
    to_char((to_timestamp(g.created_at) AT TIME ZONE 'UTC'::text), 'YYYY-MM-DD"T"HH24:MI:SS.MS"+00:00"'::text) AS created_at,
    to_char((to_timestamp(g.finished_at) AT TIME ZONE 'UTC'::text), 'YYYY-MM-DD"T"HH24:MI:SS.MS"+00:00"'::text) AS finished_at,
    to_char((to_timestamp(COALESCE(g.finished_at, ( SELECT max(o.at) AS max
           FROM released.outcomes o
          WHERE (o.group_id = g.id)), g.created_at)) AT TIME ZONE 'UTC'::text), 'YYYY-MM-DD"T"HH24:MI:SS.MS"+00:00"'::text) AS updated_at,
    g.request AS request_json,
    g.benchmarks AS benchmarks_json,
    g.repository AS repo_meta_json,
    COALESCE(NULLIF(g.created_by, ''::text), 'mesocosm'::text) AS created_by,
    NULL::text AS execution_namespace,
    NULL::text AS execution_contract_json,
    NULL::text AS checkpoint_relpath,
        CASE
            WHEN (g.finished_at IS NULL) THEN 'running'::text
            WHEN (EXISTS ( SELECT 1
               FROM released.outcomes o
              WHERE ((o.group_id = g.id) AND (o.status = 'failed'::text)))) THEN 'failed'::text
            ELSE 'succeeded'::text
        END AS cohort_status,
    NULL::text AS pause_retry_at,
    NULL::text AS pause_reason,
    '{}'::text AS pause_metadata_json,
    '{}'::text AS storage_preflight_json
   FROM released.invocations g;
CREATE TABLE released.run_lines (
    run_id text NOT NULL COLLATE pg_catalog."C",
    created_at double precision NOT NULL,
    changed_at double precision NOT NULL,
    status text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    benchmark text NOT NULL COLLATE pg_catalog."C",
    benchmark_digest text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL COLLATE pg_catalog."C",
    model text NOT NULL COLLATE pg_catalog."C",
    agent text NOT NULL COLLATE pg_catalog."C",
    group_id text COLLATE pg_catalog."C",
    attempt integer NOT NULL,
    score double precision,
    cost double precision,
    tokens bigint NOT NULL,
    duration double precision,
    tags text NOT NULL,
    search text NOT NULL
);
CREATE TABLE released.run_tags (
    tag text NOT NULL COLLATE pg_catalog."C",
    run_id text NOT NULL COLLATE pg_catalog."C"
);
CREATE TABLE released.scores (
    episode_id text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    run_id text NOT NULL COLLATE pg_catalog."C",
    value double precision,
    missing text COLLATE pg_catalog."C",
    worst boolean NOT NULL,
    explanation text NOT NULL
);
CREATE TABLE released.sessions (
    id text NOT NULL COLLATE pg_catalog."C",
    user_id integer NOT NULL,
    kind text NOT NULL COLLATE pg_catalog."C",
    family text NOT NULL COLLATE pg_catalog."C",
    digest text NOT NULL COLLATE pg_catalog."C",
    label text NOT NULL,
    created_at double precision NOT NULL,
    expires_at double precision NOT NULL,
    used_at double precision,
    ended_at double precision
);
CREATE TABLE released.signing_keys (
    id text NOT NULL COLLATE pg_catalog."C",
    secret text NOT NULL,
    created_at double precision NOT NULL,
    retired_at double precision
);
CREATE TABLE released.teams (
    id text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL,
    slug text NOT NULL COLLATE pg_catalog."C",
    join_code text NOT NULL COLLATE pg_catalog."C",
    code_at double precision NOT NULL,
    budget_usd double precision,
    created_at double precision NOT NULL
);
CREATE TABLE released.users (
    id integer NOT NULL,
    username text NOT NULL,
    name_key text NOT NULL COLLATE pg_catalog."C",
    password text DEFAULT ''::text NOT NULL,
    subject text COLLATE pg_catalog."C",
    role text NOT NULL COLLATE pg_catalog."C",
    disabled boolean NOT NULL,
    epoch integer NOT NULL,
    budget_usd double precision,
    created_at double precision NOT NULL,
    last_login_at double precision
);
CREATE SEQUENCE released.users_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE released.users_id_seq OWNED BY released.users.id;
CREATE TABLE released.workers (
    id text NOT NULL COLLATE pg_catalog."C",
    host text NOT NULL,
    pid integer NOT NULL,
    version text NOT NULL,
    capacity integer NOT NULL,
    running integer NOT NULL,
    started_at double precision NOT NULL,
    heartbeat_at double precision NOT NULL,
    ended_at double precision,
    lag_s double precision
);
ALTER TABLE ONLY released.users ALTER COLUMN id SET DEFAULT nextval('released.users_id_seq'::regclass);
INSERT INTO released.artifacts VALUES ('019a0000-0000-7000-8000-0000000000a1', '019a0000-0000-7000-8000-000000000001', '019a0000-0000-7000-8000-0000000000e1', 'log.txt', 'eb1bf720830819105c85014841bf5435', 1790000009);
INSERT INTO released.attempts VALUES ('runs:user:1', 20717, 1, 1790172800.25);
INSERT INTO released.audit_log VALUES ('019a0000-0000-7000-8000-0000000000d1', 1790000000.25, 'user:1', 'team.code', 'team:019a0000-0000-7000-8000-0000000000b2', '{}', '203.0.113.9');
INSERT INTO released.benchmarks VALUES ('words', 'b09c7d54e7dd3d63683312b9913f78ac', '1.0', 'Word game', 'environment', 1790000000.25);
INSERT INTO released.blobs VALUES ('eb1bf720830819105c85014841bf5435', 'text/plain', 19, '\x28b52ffd201399000061206c61726765206f62736572766174696f6e', false);
INSERT INTO released.cooldowns VALUES ('user:1', 1790000120.25);
INSERT INTO released.deleted_runs VALUES ('019a0000-0000-7000-8000-0000000000f1', 'user:1', NULL, 'words', '1.0.0', 'ollama/llama3.2', 1, true, 1790000020.25);
INSERT INTO released.domains VALUES ('words', 1, '019a0000-0000-7000-8000-0000000000b1', 'published', 'Word game', '{"binding_vow":{"version":"1.0.0","tier":"tier1","observation_space":{"type":"json"},"action_space":{"type":"text"},"reward":{"type":"scalar"},"episode":{"max_steps":5}},"endpoint":{"mode":"sandbox"},"scoring":{"primary_metric":"reward","metrics":[{"name":"reward","type":"episode_reward","aggregation":"mean"}]},"tags":["ü"],"detail":"","version_history":[],"published_at":"2026-09-21T14:13:20.250000+00:00"}', 1790000000.25, 1790000060.25);
INSERT INTO released.environment_versions VALUES ('019a0000-0000-7000-8000-0000000000b1', 1, 'ready', 'https://github.com/ada/words', '', 'games', '0000000000000000000000000000000000000000', '{"name":"Word game","adapter":"adapter.py","binding_vow":{"version":"1.0.0","tier":"tier1","observation_space":{"type":"json"},"action_space":{"type":"text"},"reward":{"type":"scalar"},"episode":{"max_steps":5}},"scoring":{"primary_metric":"reward","metrics":[{"name":"reward","type":"episode_reward","aggregation":"mean"}]}}', 'games/benchanything.json', 'b09c7d54e7dd3d63683312b9913f78ac', '', '== ready: domain words
', 1, 1790000000.25, 1790000060.25, '019a0000-0000-7000-8000-0000000000b4', 1790000090.25, 1, '');
INSERT INTO released.environments VALUES ('019a0000-0000-7000-8000-0000000000b1', 'team:019a0000-0000-7000-8000-0000000000b2', 1, '019a0000-0000-7000-8000-0000000000b2', 'Word game', '', 'https://github.com/ada/words', '', 'games', 'ready', '', 'words', '[]', 1, 1, 1790000000.25, NULL, NULL);
INSERT INTO released.episodes VALUES ('019a0000-0000-7000-8000-0000000000e1', '019a0000-0000-7000-8000-000000000001', 'fbe47f6d82b435a89f6e6fca65ad1613', 0, 0, 'completed', 'seed 1', 'item', '9223372036854775809', 1790000002, 1790000005, 2, 1, 100, 10, 3, 1, 0.5, 1, 1, 4, NULL, NULL, NULL, '{"correct":true}', 1, 'scored', 110, 3, NULL, 'eeea43a5613f2716ddcaf5164b7419c10af875a9ae86a615313e1c38ab2e27b8', 0);
INSERT INTO released.episodes VALUES ('019a0000-0000-7000-8000-0000000000e2', '019a0000-0000-7000-8000-000000000001', 'a61e75dcd678010325906ec0497a92ff', 0, 1, 'failed', 'seed 2', '', '2', 1790000003, 1790000006, 0, 0, 10, 2, 0, 0, NULL, 1, 4, 0, 'rate_limited', 'model', '{"cause":"rate_limited","boundary":"model","message":"too many requests","detail":"429","stderr":"stderr"}', '{}', NULL, 'missing', 12, 3, NULL, '810bd9295247420acec90c247c75f1c6', 1);
INSERT INTO released.event_chunks VALUES ('019a0000-0000-7000-8000-0000000000e1', 0, 0, 3, 0, 1, 312, '\x28b52ffd6438003d0300e2c4111880a93ae4cb56e87d64bc0a14255ce0ff84103c950456a323a3fb46604a204b9a1cddc7625762c4f29f1e1da612a79dbcc0d4f56825c309020a1206a9e7d396dd09ea0febfe020d004129001c8859500ae80708038604e501605170999d8be024e65594b6046b36');
INSERT INTO released.guests VALUES ('019a0000-0000-7000-8000-0000000000c1', 1790000000.25, 1790604800.25, NULL, '203.0.113.9');
INSERT INTO released.invocations VALUES ('group-1', 1790000000.25, 1790000010.5, 'mesocosm bench', '{"benchmarks":["words"]}', '["words","other"]', '{"commit":"abc"}', 'cmp_1', NULL);
INSERT INTO released.jobs VALUES ('019a0000-0000-7000-8000-0000000000b3', '019a0000-0000-7000-8000-0000000000b1', 'words', 1, 'queued', 'https://github.com/ada/words', '[{"model":"ollama/llama3.2","run_id":"019a0000-0000-7000-8000-000000000001"}]', 1790000000.25, NULL, NULL);
INSERT INTO released.memberships VALUES ('019a0000-0000-7000-8000-0000000000b2', 1, 'owner', 1790000000.25);
INSERT INTO released.mesocosm_schema VALUES ('0007');
INSERT INTO released.orders VALUES ('019a0000-0000-7000-8000-000000000001', 'user:1', 'Ada', '019a0000-0000-7000-8000-0000000000b2', 'words', '019a0000-0000-7000-8000-0000000000b1', 1, '1.0.0', 'ollama/llama3.2', 'gallery_public', 'full_bench', '019a0000-0000-7000-8000-0000000000b3', '{"domain_id":"words","binding_vow_version":"1.0.0","agent_config":{"model":"ollama/llama3.2"},"num_episodes":2}', 'ended', 1790000000.25, 1790000010.25, NULL, '019a0000-0000-7000-8000-0000000000b4', NULL, 1, '', NULL);
INSERT INTO released.outcomes VALUES ('group-1', 0, 1790000009, 'succeeded', 'words', 'words', 'ollama', 'llama3.2', 'loop', '48bff53d83688890af96ade8477b89ee', '019a0000-0000-7000-8000-000000000001', true, 'cmp_1', '', '{"sample":2}');
INSERT INTO released.outcomes VALUES ('group-1', 1, 1790000001, 'incompatible', 'other', 'other', '', '', '', '', NULL, false, '', 'no virtual machine', '{}');
INSERT INTO released.personal_tokens VALUES ('019a0000-0000-7000-8000-0000000000c3', 1, 'continuous integration', 'read', '7070707070707070707070707070707070707070707070707070707070707070', 1790000000.25, NULL, 1790000060.25);
INSERT INTO released.protocols VALUES ('words', 1, '{"vow_version":"1.0.0","environment_id":"019a0000-0000-7000-8000-0000000000b1","environment_version":1,"episodes":20}', 'user:1', 1790000000.25);
INSERT INTO released.run_blobs VALUES ('019a0000-0000-7000-8000-000000000001', 'eb1bf720830819105c85014841bf5435');
INSERT INTO released.run_lines VALUES ('019a0000-0000-7000-8000-000000000001', 1790000000.25, 1795277335.8544059, 'finished', 'first release', 'words', 'b09c7d54e7dd3d63683312b9913f78ac', 'environment', 'ollama/llama3.2', 'loop', 'group-1', 1, 1, NULL, 122, 8.5, 'aü', '019a0000-0000-7000-8000-000000000001
first release
words
word game
ollama/llama3.2
loop
a
ü');
INSERT INTO released.run_tags VALUES ('a', '019a0000-0000-7000-8000-000000000001');
INSERT INTO released.run_tags VALUES ('ü', '019a0000-0000-7000-8000-000000000001');
INSERT INTO released.runs VALUES ('019a0000-0000-7000-8000-000000000001', 1790000000.25, 'finished', '48bff53d83688890af96ade8477b89ee', 1, 'group-1', 'first release', 'words', 'Word game', '1.0', 'b09c7d54e7dd3d63683312b9913f78ac', 'environment', 'ollama/llama3.2', 'loop', 1, 2, 1, 0, 0, 1, 110, 12, 3, 1, 0.5, 2, 1, 1790000001, 1790000009.5, NULL, 1790000009, NULL, false, '', '019a0000-0000-7000-8000-000000000001
first release
words
word game
ollama/llama3.2
loop
a
ü', '["a","ü"]', '[{"name":"accuracy","aggregation":"mean","value":1.0,"low":0.2,"high":1.0,"method":"wilson","n_planned":2,"n_scored":1,"n_tasks":1,"missing":{"rate_limited":1},"primary":true}]', '["slow"]', '{"benchmark":{"kind":"environment","source":"words"},"model":{"name":"ollama/llama3.2"}}', '{"version":"0.1"}', '{"id":"words"}', true, 1, 2, 1, '2:48a9accaaa3b8336fbcbdf9c9ffbf80d');
INSERT INTO released.scores VALUES ('019a0000-0000-7000-8000-0000000000e1', 'accuracy', '019a0000-0000-7000-8000-000000000001', 1, NULL, false, 'right');
INSERT INTO released.scores VALUES ('019a0000-0000-7000-8000-0000000000e2', 'accuracy', '019a0000-0000-7000-8000-000000000001', NULL, 'rate_limited', false, '');
INSERT INTO released.sessions VALUES ('019a0000-0000-7000-8000-0000000000c2', 1, 'refresh', '019a0000-0000-7000-8000-0000000000c2', '5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e', 'a browser', 1790000000.25, 1792592000.25, NULL, NULL);
INSERT INTO released.signing_keys VALUES ('019a0000-0000-7000-8000-0000000000c4', 'no secret', 1790000000.25, 1790000060.25);
INSERT INTO released.teams VALUES ('019a0000-0000-7000-8000-0000000000b2', 'Reefs', 'reefs', '28FY2KX9', 1790000000.25, NULL, 1790000000.25);
INSERT INTO released.users VALUES (1, 'Ada', 'ada', '', 'https://id.example ada', 'admin', false, 2, 1.5, 1790000000.25, 1790000060.25);
INSERT INTO released.workers VALUES ('019a0000-0000-7000-8000-0000000000b4', '{"host":"reef","pid":7,"started":1.0,"boot":"b"}', 7, '0.3.0', 8, 0, 1790000000.25, 1790000060.25, 1790000061.25, NULL);
SELECT pg_catalog.setval('released.users_id_seq', 1, true);
ALTER TABLE ONLY released.mesocosm_schema
    ADD CONSTRAINT mesocosm_schema_pkc PRIMARY KEY (version_num);
ALTER TABLE ONLY released.artifacts
    ADD CONSTRAINT pk_artifacts PRIMARY KEY (id);
ALTER TABLE ONLY released.attempts
    ADD CONSTRAINT pk_attempts PRIMARY KEY (key, stretch);
ALTER TABLE ONLY released.audit_log
    ADD CONSTRAINT pk_audit_log PRIMARY KEY (id);
ALTER TABLE ONLY released.benchmarks
    ADD CONSTRAINT pk_benchmarks PRIMARY KEY (id, digest);
ALTER TABLE ONLY released.blobs
    ADD CONSTRAINT pk_blobs PRIMARY KEY (digest);
ALTER TABLE ONLY released.cooldowns
    ADD CONSTRAINT pk_cooldowns PRIMARY KEY (actor);
ALTER TABLE ONLY released.deleted_runs
    ADD CONSTRAINT pk_deleted_runs PRIMARY KEY (run_id);
ALTER TABLE ONLY released.domains
    ADD CONSTRAINT pk_domains PRIMARY KEY (id);
ALTER TABLE ONLY released.environment_versions
    ADD CONSTRAINT pk_environment_versions PRIMARY KEY (environment_id, version);
ALTER TABLE ONLY released.environments
    ADD CONSTRAINT pk_environments PRIMARY KEY (id);
ALTER TABLE ONLY released.episodes
    ADD CONSTRAINT pk_episodes PRIMARY KEY (id);
ALTER TABLE ONLY released.event_chunks
    ADD CONSTRAINT pk_event_chunks PRIMARY KEY (episode_id, seq);
ALTER TABLE ONLY released.guests
    ADD CONSTRAINT pk_guests PRIMARY KEY (id);
ALTER TABLE ONLY released.jobs
    ADD CONSTRAINT pk_jobs PRIMARY KEY (id);
ALTER TABLE ONLY released.memberships
    ADD CONSTRAINT pk_memberships PRIMARY KEY (team_id, user_id);
ALTER TABLE ONLY released.orders
    ADD CONSTRAINT pk_orders PRIMARY KEY (run_id);
ALTER TABLE ONLY released.outcomes
    ADD CONSTRAINT pk_outcomes PRIMARY KEY (group_id, "position");
ALTER TABLE ONLY released.personal_tokens
    ADD CONSTRAINT pk_personal_tokens PRIMARY KEY (id);
ALTER TABLE ONLY released.protocols
    ADD CONSTRAINT pk_protocols PRIMARY KEY (domain_id, version);
ALTER TABLE ONLY released.run_blobs
    ADD CONSTRAINT pk_run_blobs PRIMARY KEY (run_id, digest);
ALTER TABLE ONLY released.run_deletions
    ADD CONSTRAINT pk_run_deletions PRIMARY KEY (run_id);
ALTER TABLE ONLY released.invocations
    ADD CONSTRAINT pk_run_groups PRIMARY KEY (id);
ALTER TABLE ONLY released.run_lines
    ADD CONSTRAINT pk_run_lines PRIMARY KEY (run_id);
ALTER TABLE ONLY released.run_tags
    ADD CONSTRAINT pk_run_tags PRIMARY KEY (tag, run_id);
ALTER TABLE ONLY released.runs
    ADD CONSTRAINT pk_runs PRIMARY KEY (id);
ALTER TABLE ONLY released.scores
    ADD CONSTRAINT pk_scores PRIMARY KEY (episode_id, name);
ALTER TABLE ONLY released.sessions
    ADD CONSTRAINT pk_sessions PRIMARY KEY (id);
ALTER TABLE ONLY released.signing_keys
    ADD CONSTRAINT pk_signing_keys PRIMARY KEY (id);
ALTER TABLE ONLY released.teams
    ADD CONSTRAINT pk_teams PRIMARY KEY (id);
ALTER TABLE ONLY released.users
    ADD CONSTRAINT pk_users PRIMARY KEY (id);
ALTER TABLE ONLY released.workers
    ADD CONSTRAINT pk_workers PRIMARY KEY (id);
ALTER TABLE ONLY released.episodes
    ADD CONSTRAINT uq_episodes_run_id_task_digest_trial UNIQUE (run_id, task_digest, trial);
ALTER TABLE ONLY released.personal_tokens
    ADD CONSTRAINT uq_personal_tokens_digest UNIQUE (digest);
ALTER TABLE ONLY released.sessions
    ADD CONSTRAINT uq_sessions_digest UNIQUE (digest);
ALTER TABLE ONLY released.teams
    ADD CONSTRAINT uq_teams_join_code UNIQUE (join_code);
ALTER TABLE ONLY released.teams
    ADD CONSTRAINT uq_teams_slug UNIQUE (slug);
ALTER TABLE ONLY released.users
    ADD CONSTRAINT uq_users_name_key UNIQUE (name_key);
ALTER TABLE ONLY released.users
    ADD CONSTRAINT uq_users_subject UNIQUE (subject);
CREATE INDEX ix_artifacts_digest ON released.artifacts USING btree (digest);
CREATE INDEX ix_artifacts_episode_id ON released.artifacts USING btree (episode_id);
CREATE INDEX ix_artifacts_run_id_created_at_id ON released.artifacts USING btree (run_id, created_at, id);
CREATE INDEX ix_attempts_until ON released.attempts USING btree (until);
CREATE INDEX ix_audit_log_at ON released.audit_log USING btree (at);
CREATE INDEX ix_audit_log_object_at ON released.audit_log USING btree (object, at);
CREATE INDEX ix_deleted_runs_domain_id ON released.deleted_runs USING btree (domain_id);
CREATE INDEX ix_domains_environment_id ON released.domains USING btree (environment_id);
CREATE INDEX ix_domains_owner_id ON released.domains USING btree (owner_id);
CREATE INDEX ix_domains_status_created_at ON released.domains USING btree (status, created_at);
CREATE INDEX ix_environment_versions_state_created_at ON released.environment_versions USING btree (state, created_at);
CREATE INDEX ix_environments_domain_id ON released.environments USING btree (domain_id);
CREATE INDEX ix_environments_holder_key_source_folder ON released.environments USING btree (holder_key, source, folder);
CREATE INDEX ix_environments_status ON released.environments USING btree (status);
CREATE INDEX ix_episodes_cause ON released.episodes USING btree (run_id, failure_cause, "position", task_digest, trial) WHERE (failure_cause IS NOT NULL);
CREATE INDEX ix_episodes_cost_usd ON released.episodes USING btree (run_id, cost_usd, "position");
CREATE INDEX ix_episodes_duration ON released.episodes USING btree (run_id, duration, "position");
CREATE INDEX ix_episodes_plan ON released.episodes USING btree (run_id, "position", task_digest, trial, status);
CREATE INDEX ix_episodes_score ON released.episodes USING btree (run_id, score, "position");
CREATE INDEX ix_episodes_started_at ON released.episodes USING btree (run_id, started_at, "position");
CREATE INDEX ix_episodes_steps ON released.episodes USING btree (run_id, steps, "position");
CREATE INDEX ix_episodes_tokens ON released.episodes USING btree (run_id, tokens, "position");
CREATE INDEX ix_episodes_total_reward ON released.episodes USING btree (run_id, total_reward, "position");
CREATE INDEX ix_episodes_unscored ON released.episodes USING btree (run_id, outcome, "position", task_digest, trial) WHERE (outcome <> 'scored'::text);
CREATE INDEX ix_episodes_unusual ON released.episodes USING btree (run_id, status, "position", task_digest, trial) WHERE (status <> 'completed'::text);
CREATE INDEX ix_event_chunks_place ON released.event_chunks USING btree (episode_id, last_event, last_step, first_step);
CREATE INDEX ix_guests_expires_at ON released.guests USING btree (expires_at);
CREATE INDEX ix_jobs_status_created_at ON released.jobs USING btree (status, created_at);
CREATE INDEX ix_memberships_user_id ON released.memberships USING btree (user_id);
CREATE INDEX ix_orders_actor_created_at ON released.orders USING btree (actor, created_at);
CREATE INDEX ix_orders_domain_id_visibility ON released.orders USING btree (domain_id, visibility);
CREATE INDEX ix_orders_environment_id ON released.orders USING btree (environment_id);
CREATE INDEX ix_orders_job_id ON released.orders USING btree (job_id);
CREATE INDEX ix_orders_state_created_at ON released.orders USING btree (state, created_at);
CREATE INDEX ix_orders_team_id_created_at ON released.orders USING btree (team_id, created_at);
CREATE INDEX ix_outcomes_benchmark ON released.outcomes USING btree (benchmark, at);
CREATE INDEX ix_outcomes_comparison_id ON released.outcomes USING btree (comparison_id);
CREATE INDEX ix_outcomes_run_id ON released.outcomes USING btree (run_id);
CREATE INDEX ix_outcomes_signature ON released.outcomes USING btree (signature);
CREATE INDEX ix_personal_tokens_user_id ON released.personal_tokens USING btree (user_id);
CREATE INDEX ix_run_blobs_digest ON released.run_blobs USING btree (digest);
CREATE INDEX ix_run_deletions_deleted_at ON released.run_deletions USING btree (deleted_at);
CREATE INDEX ix_run_lines_agent ON released.run_lines USING btree (agent, run_id);
CREATE INDEX ix_run_lines_attempt ON released.run_lines USING btree (attempt, run_id);
CREATE INDEX ix_run_lines_benchmark ON released.run_lines USING btree (benchmark, run_id);
CREATE INDEX ix_run_lines_changed_at ON released.run_lines USING btree (changed_at, run_id);
CREATE INDEX ix_run_lines_cost ON released.run_lines USING btree (cost, run_id);
CREATE INDEX ix_run_lines_created_at ON released.run_lines USING btree (created_at, run_id);
CREATE INDEX ix_run_lines_duration ON released.run_lines USING btree (duration, run_id);
CREATE INDEX ix_run_lines_kind ON released.run_lines USING btree (kind, run_id);
CREATE INDEX ix_run_lines_model ON released.run_lines USING btree (model, run_id);
CREATE INDEX ix_run_lines_name ON released.run_lines USING btree (name, run_id);
CREATE INDEX ix_run_lines_score ON released.run_lines USING btree (score, run_id);
CREATE INDEX ix_run_lines_status ON released.run_lines USING btree (status, run_id);
CREATE INDEX ix_run_lines_tokens ON released.run_lines USING btree (tokens, run_id);
CREATE INDEX ix_run_tags_run_id ON released.run_tags USING btree (run_id);
CREATE INDEX ix_runs_group_id ON released.runs USING btree (group_id);
CREATE INDEX ix_runs_signature_attempt ON released.runs USING btree (signature, attempt);
CREATE INDEX ix_sessions_family ON released.sessions USING btree (family);
CREATE INDEX ix_sessions_user_id ON released.sessions USING btree (user_id);
ALTER TABLE ONLY released.artifacts
    ADD CONSTRAINT fk_artifacts_digest FOREIGN KEY (digest) REFERENCES released.blobs(digest);
ALTER TABLE ONLY released.artifacts
    ADD CONSTRAINT fk_artifacts_episode_id FOREIGN KEY (episode_id) REFERENCES released.episodes(id) ON DELETE CASCADE;
ALTER TABLE ONLY released.artifacts
    ADD CONSTRAINT fk_artifacts_run_id FOREIGN KEY (run_id) REFERENCES released.runs(id) ON DELETE CASCADE;
ALTER TABLE ONLY released.domains
    ADD CONSTRAINT fk_domains_owner_id FOREIGN KEY (owner_id) REFERENCES released.users(id) ON DELETE SET NULL;
ALTER TABLE ONLY released.environment_versions
    ADD CONSTRAINT fk_environment_versions_environment_id FOREIGN KEY (environment_id) REFERENCES released.environments(id) ON DELETE CASCADE;
ALTER TABLE ONLY released.environments
    ADD CONSTRAINT fk_environments_owner_id FOREIGN KEY (owner_id) REFERENCES released.users(id) ON DELETE SET NULL;
ALTER TABLE ONLY released.environments
    ADD CONSTRAINT fk_environments_team_id FOREIGN KEY (team_id) REFERENCES released.teams(id) ON DELETE SET NULL;
ALTER TABLE ONLY released.episodes
    ADD CONSTRAINT fk_episodes_run_id FOREIGN KEY (run_id) REFERENCES released.runs(id) ON DELETE CASCADE;
ALTER TABLE ONLY released.event_chunks
    ADD CONSTRAINT fk_event_chunks_episode_id FOREIGN KEY (episode_id) REFERENCES released.episodes(id) ON DELETE CASCADE;
ALTER TABLE ONLY released.memberships
    ADD CONSTRAINT fk_memberships_team_id FOREIGN KEY (team_id) REFERENCES released.teams(id) ON DELETE CASCADE;
ALTER TABLE ONLY released.memberships
    ADD CONSTRAINT fk_memberships_user_id FOREIGN KEY (user_id) REFERENCES released.users(id) ON DELETE CASCADE;
ALTER TABLE ONLY released.orders
    ADD CONSTRAINT fk_orders_run_id FOREIGN KEY (run_id) REFERENCES released.runs(id) ON DELETE CASCADE;
ALTER TABLE ONLY released.orders
    ADD CONSTRAINT fk_orders_team_id FOREIGN KEY (team_id) REFERENCES released.teams(id) ON DELETE SET NULL;
ALTER TABLE ONLY released.outcomes
    ADD CONSTRAINT fk_outcomes_group_id FOREIGN KEY (group_id) REFERENCES released.invocations(id) ON DELETE CASCADE;
ALTER TABLE ONLY released.outcomes
    ADD CONSTRAINT fk_outcomes_run_id FOREIGN KEY (run_id) REFERENCES released.runs(id) ON DELETE SET NULL;
ALTER TABLE ONLY released.personal_tokens
    ADD CONSTRAINT fk_personal_tokens_user_id FOREIGN KEY (user_id) REFERENCES released.users(id) ON DELETE CASCADE;
ALTER TABLE ONLY released.run_blobs
    ADD CONSTRAINT fk_run_blobs_digest FOREIGN KEY (digest) REFERENCES released.blobs(digest);
ALTER TABLE ONLY released.run_blobs
    ADD CONSTRAINT fk_run_blobs_run_id FOREIGN KEY (run_id) REFERENCES released.runs(id) ON DELETE CASCADE;
ALTER TABLE ONLY released.run_lines
    ADD CONSTRAINT fk_run_lines_run_id FOREIGN KEY (run_id) REFERENCES released.runs(id) ON DELETE CASCADE;
ALTER TABLE ONLY released.run_tags
    ADD CONSTRAINT fk_run_tags_run_id FOREIGN KEY (run_id) REFERENCES released.runs(id) ON DELETE CASCADE;
ALTER TABLE ONLY released.runs
    ADD CONSTRAINT fk_runs_group_id FOREIGN KEY (group_id) REFERENCES released.invocations(id);
ALTER TABLE ONLY released.scores
    ADD CONSTRAINT fk_scores_episode_id FOREIGN KEY (episode_id) REFERENCES released.episodes(id) ON DELETE CASCADE;
ALTER TABLE ONLY released.sessions
    ADD CONSTRAINT fk_sessions_user_id FOREIGN KEY (user_id) REFERENCES released.users(id) ON DELETE CASCADE;
