"""Views with the table and column names of the older benchmark orchestrator, so that existing queries keep working.

`run_groups`, `benchmark_runs` and `benchmark_run_trajectories`, in both dialects. They store nothing and are recreated
whenever the schema is upgraded, so changing them requires a (possibly empty) revision.

A row of `benchmark_runs` is a run of any kind, or an outcome without a run: skipped, incompatible, failed before it
began. An interrupted run counts as failed there; a run stopped on purpose is `stopped`. A row of
`benchmark_run_trajectories` is an episode with one turn, the sum of its model calls: single calls are in the traces,
which SQL cannot read. Columns without data are NULL.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlalchemy import Connection

INTERRUPTED = "orchestrator_interrupted"
"""Error of a run and reason of an outcome if the process died before it ended."""

OWN_ROW = "(o.status = 'skipped' OR NOT o.ran)"
"""Condition for outcomes `o` that are rows of `benchmark_runs`: those without a run of their own."""

OUTCOME_ID = (
    "CASE o.status WHEN 'skipped' THEN 'skip' WHEN 'incompatible' THEN 'incompat' ELSE o.status END "
    "|| '_' || o.group_id || '_' || o.position"
)
"""The `run_id` of such a row."""

VIEWS = ("benchmark_run_trajectories", "benchmark_runs", "run_groups")


# The narrow index rows of runs can be read in this order; a row of the view costs ten times as much.
_ORDERED = f"""
    SELECT id FROM (
        SELECT * FROM (
            SELECT agent, run_id AS id FROM run_lines ORDER BY agent {{way}}, run_id {{way}} LIMIT :most
        ) AS r UNION ALL
        SELECT o.agent, {OUTCOME_ID} AS id FROM outcomes AS o WHERE {OWN_ROW}
    ) AS found ORDER BY agent {{way}}, id {{way}} LIMIT :most
"""  # noqa: S608

NEWEST_ROWS = f"""
    SELECT id FROM (
        SELECT * FROM (
            SELECT created_at AS at, run_id AS id FROM run_lines ORDER BY created_at DESC, run_id DESC LIMIT :most
        ) AS r UNION ALL
        SELECT o.at, {OUTCOME_ID} AS id FROM outcomes AS o WHERE {OWN_ROW}
    ) AS found ORDER BY at DESC, id DESC LIMIT :most
"""  # noqa: S608
"""The ids of the `:most` newest rows of `benchmark_runs`."""

TOTALS = f"""
    SELECT (SELECT count(*) FROM run_lines) + (SELECT count(*) FROM outcomes AS o WHERE {OWN_ROW}),
    (SELECT count(*) FROM invocations)
"""  # noqa: S608
"""The number of rows of `benchmark_runs` and of `run_groups`."""


def ordered_rows(*, desc: bool) -> str:
    """Return the query for the ids of the first `:most` rows of `benchmark_runs` by agent and run id."""
    return _ORDERED.format(way="DESC" if desc else "ASC")


def shown_rows(ids: str) -> str:
    """Return the query for the rows with these ids (a list in SQL), with the columns shown in a list of runs."""
    metrics = "(SELECT r.metrics FROM runs AS r WHERE r.id = benchmark_runs.run_id) AS metrics"
    columns = f"run_id, started_at, benchmark_id, agent, provider, model, status, score, {metrics}"
    return f"SELECT {columns} FROM benchmark_runs WHERE run_id IN {ids}"  # noqa: S608


@dataclass(frozen=True, slots=True)
class _Sqlite:
    """SQL expressions for SQLite."""

    place: str = "instr"

    def text(self, column: str, path: str) -> str:
        return f"json_extract({column}, '$.{path}')"

    def number(self, column: str, path: str) -> str:
        kind = f"json_type({column}, '$.{path}')"
        return f"CASE WHEN {kind} IN ('integer', 'real') THEN {self.text(column, path)} END"

    def at(self, column: str) -> str:
        return f"strftime('%Y-%m-%dT%H:%M:%f', {column}, 'unixepoch') || '+00:00'"

    def document(self, **values: str) -> str:
        return f"json_object({_pairs(values)})"

    def metrics(self, facts: dict[str, str], reason: str) -> str:
        listed = "SELECT json_extract(m.value, '$.name') AS name, json_extract(m.value, '$.value') AS value"
        more = "".join(f" UNION ALL SELECT '{name}', {value}" for name, value in facts.items())
        more += f" UNION ALL SELECT 'reason', r.error WHERE {reason}"
        return f"(SELECT json_group_object(name, value) FROM ({listed} FROM json_each(r.metrics) AS m{more}))"  # noqa: S608


@dataclass(frozen=True, slots=True)
class _Postgres:
    """SQL expressions for PostgreSQL."""

    place: str = "strpos"

    def text(self, column: str, path: str) -> str:
        return f"({column}::json #>> '{{{path.replace('.', ',')}}}')"

    def number(self, column: str, path: str) -> str:
        value = f"({column}::json #> '{{{path.replace('.', ',')}}}')"
        return f"CASE WHEN json_typeof({value}) = 'number' THEN {self.text(column, path)}::double precision END"

    def at(self, column: str) -> str:
        zone = f"to_timestamp({column}) AT TIME ZONE 'UTC'"
        return f'to_char({zone}, \'YYYY-MM-DD"T"HH24:MI:SS.MS"+00:00"\')'

    def document(self, **values: str) -> str:
        return f"json_build_object({_pairs(values)})::text"

    def metrics(self, facts: dict[str, str], reason: str) -> str:
        listed = "SELECT m ->> 'name' AS name, m -> 'value' AS value FROM json_array_elements(r.metrics::json) AS m"
        more = "".join(f" UNION ALL SELECT '{name}', to_json({value})" for name, value in facts.items())
        more += f" UNION ALL SELECT 'reason', to_json(r.error) WHERE {reason}"
        return f"(SELECT json_object_agg(name, value)::text FROM ({listed}{more}) AS facts)"  # noqa: S608


_Dialect = _Sqlite | _Postgres


def _pairs(values: dict[str, str]) -> str:
    return ", ".join(f"'{name}', {value}" for name, value in values.items())


def create_views(connection: "Connection") -> None:
    """Create the views in a database with the newest tables."""
    words: _Dialect = _Postgres() if connection.dialect.name == "postgresql" else _Sqlite()
    for name, query in (
        ("run_groups", _groups(words)),
        ("benchmark_runs", f"{_runs(words)} UNION ALL {_outcomes(words)}"),
        ("benchmark_run_trajectories", _trajectories()),
    ):
        connection.exec_driver_sql(f"CREATE VIEW {name} AS {query}")


def drop_views(connection: "Connection") -> None:
    """Drop the views, so that their tables can be changed."""
    existing = {
        str(name)
        for (name,) in connection.exec_driver_sql(
            "SELECT viewname FROM pg_views WHERE schemaname = current_schema()"
            if connection.dialect.name == "postgresql"
            else "SELECT name FROM sqlite_master WHERE type = 'view'"
        )
    }
    for name in VIEWS:
        # A database of the first revisions has a table with one of these names.
        if name in existing:
            connection.exec_driver_sql(f"DROP VIEW {name}")


def _select(columns: dict[str, str], source: str) -> str:
    return f"SELECT {', '.join(f'{value} AS {name}' for name, value in columns.items())} FROM {source}"  # noqa: S608


def _groups(words: _Dialect) -> str:
    last = "(SELECT max(o.at) FROM outcomes AS o WHERE o.group_id = g.id)"
    came = "WHEN EXISTS (SELECT 1 FROM outcomes AS o WHERE o.group_id = g.id AND o.status = '{0}') THEN '{0}'"
    worst = " ".join(came.format(status) for status in ("failed", "partial", "stopped"))
    nothing = "CAST(NULL AS TEXT)"
    columns = {
        "run_group_id": "g.id",
        "created_at": words.at("g.created_at"),
        "finished_at": words.at("g.finished_at"),
        "updated_at": words.at(f"coalesce(g.finished_at, {last}, g.created_at)"),
        "request_json": "g.request",
        "benchmarks_json": "g.benchmarks",
        "repo_meta_json": "g.repository",
        "created_by": "coalesce(nullif(g.created_by, ''), 'mesocosm')",
        "execution_namespace": nothing,
        "execution_contract_json": nothing,
        "checkpoint_relpath": nothing,
        "cohort_status": f"CASE WHEN g.finished_at IS NULL THEN 'running' {worst} ELSE 'succeeded' END",
        "pause_retry_at": nothing,
        "pause_reason": nothing,
        "pause_metadata_json": "'{}'",
        "storage_preflight_json": "'{}'",
    }
    return _select(columns, "invocations AS g")


def _runs(words: _Dialect) -> str:
    return _select({**_identity(words), **_course(words), **_results(words), **_sums(words)}, "runs AS r")


def _identity(words: _Dialect) -> dict[str, str]:
    """Return the columns that identify the run."""

    def fact(name: str) -> str:
        return words.text("r.provenance", f"bench.{name}")

    slash, url = f"{words.place}(r.model, '/')", f"{words.place}(r.model, '@http')"
    provider = f"substr(r.model, 1, CASE WHEN {slash} > 0 THEN {slash} - 1 ELSE 0 END)"
    length = f"CASE WHEN {url} > {slash} THEN {url} - {slash} - 1 ELSE length(r.model) END"
    parameters = words.text("r.spec", "benchmark.options.parameters")
    older = words.text("r.spec", "benchmark.options.knobs")
    return {
        "run_id": "r.id",
        "run_group_id": "r.group_id",
        "benchmark_id": "r.benchmark",
        "benchmark_directory": f"coalesce({fact('directory')}, r.benchmark)",
        "signature": "CAST(r.signature AS TEXT)",
        "status": "CASE WHEN r.status = 'finished' THEN 'succeeded' WHEN r.status = 'pending' THEN 'running' "
        f"WHEN r.status = 'stopped' AND r.error = '{INTERRUPTED}' THEN 'failed' ELSE r.status END",
        "attempt": "r.attempt",
        "agent": "r.agent",
        "provider": f"coalesce(nullif({fact('provider')}, ''), {provider})",
        "model": f"coalesce(nullif({fact('model')}, ''), substr(r.model, {slash} + 1, {length}))",
        "extra_config_json": f"coalesce({fact('extra')}, {parameters}, {older}, '{{}}')",
    }


def _course(words: _Dialect) -> dict[str, str]:
    """Return the columns for when and where it ran."""

    def fact(name: str) -> str:
        return words.text("r.provenance", f"bench.{name}")

    worked = words.number("r.provenance", "worked_s")
    command = words.text("r.provenance", "command")
    return {
        "started_at": words.at("coalesce(r.started_at, r.created_at)"),
        "ended_at": words.at("r.ended_at"),
        "duration_seconds": f"CASE WHEN r.ended_at IS NOT NULL THEN coalesce({worked}, r.ended_at - r.started_at) END",
        "command_json": f"coalesce({fact('command')}, {command}, '[]')",
        "cwd": f"coalesce({fact('cwd')}, '')",
        "stdout_path": f"coalesce({fact('stdout_path')}, '')",
        "stderr_path": f"coalesce({fact('stderr_path')}, '')",
        "result_json_path": fact("result_path"),
    }


def _results(words: _Dialect) -> dict[str, str]:
    """Return the columns for its results."""

    def fact(name: str) -> str:
        return words.text("r.provenance", f"bench.{name}")

    high = words.number("r.provenance", "bench.high_score.value")
    compared = "(SELECT max(o.comparison_id) FROM outcomes AS o WHERE o.run_id = r.id AND o.comparison_id <> '')"
    group = "(SELECT nullif(g.comparison_id, '') FROM invocations AS g WHERE g.id = r.group_id)"
    counted = ("planned", "completed", "truncated", "timeout", "failed")
    facts = {f"episodes_{name}": f"r.{name}" for name in counted}
    facts["cost_usd"] = "CASE WHEN r.cost_unknown = 0 THEN r.cost_usd END"
    return {
        "score": "r.score",
        "unit": f"coalesce({fact('unit')}, {words.text('r.info', 'card.unit')})",
        "higher_is_better": "CAST(r.higher_is_better AS INTEGER)",
        "metrics_json": words.metrics(facts, f"r.error = '{INTERRUPTED}'"),
        "artifacts_json": f"coalesce({fact('artifacts')}, '[]')",
        "error": "nullif(r.error, '')",
        "high_score_label": fact("high_score.label"),
        "high_score_value": high,
        "delta_to_high_score": f"r.score - {high}",
        "benchmark_version": "r.benchmark_version",
        "benchmarks_commit": fact("benchmarks_commit"),
        "eliza_commit": fact("eliza_commit"),
        "eliza_version": fact("eliza_version"),
        "created_at": words.at("r.created_at"),
        "comparison_id": f"coalesce(nullif({fact('comparison_id')}, ''), {compared}, {group})",
    }


def _sums(words: _Dialect) -> dict[str, str]:
    """Return the columns for its usage."""
    done = "r.completed + r.truncated + r.timeout + r.failed"
    worked = f"nullif(coalesce({words.number('r.provenance', 'worked_s')}, r.ended_at - r.started_at), 0)"
    rate = f"CASE WHEN r.ended_at IS NOT NULL THEN ({done}) / {worked} END"
    tokens = {"prompt_tokens": "r.prompt_tokens", "completion_tokens": "r.completion_tokens"}
    more = {"total_tokens": "r.prompt_tokens + r.completion_tokens", "reasoning_tokens": "r.reasoning_tokens"}
    latency = {name: words.number("r.provenance", f"bench.{name}") for name in ("mean_latency_ms", "p95_latency_ms")}
    return {
        "trajectory_summary_json": words.document(trajectories=done, failed="r.failed"),
        "token_metrics_json": words.document(**tokens, **more),
        "cache_metrics_json": words.document(cache_read_input_tokens="r.cached_tokens"),
        "performance_metrics_json": words.document(throughput_per_second=rate),
        "trajectory_count": done,
        "llm_call_count": "r.model_calls",
        "total_prompt_tokens": "r.prompt_tokens",
        "total_completion_tokens": "r.completion_tokens",
        "total_cache_read_input_tokens": "r.cached_tokens",
        "total_cache_creation_input_tokens": "CAST(NULL AS BIGINT)",
        **latency,
        "throughput_per_second": rate,
    }


def _outcomes(words: _Dialect) -> str:
    """Return the rows of outcomes without a run of their own, with the columns of runs."""
    existing = "(SELECT x.attempt FROM runs AS x WHERE x.id = o.run_id)"
    over = "CASE WHEN o.status <> 'running' THEN {} END".format
    known = {
        "run_id": OUTCOME_ID,
        "run_group_id": "o.group_id",
        "benchmark_id": "o.benchmark",
        "benchmark_directory": "coalesce(nullif(o.directory, ''), o.benchmark)",
        "signature": "o.signature",
        "status": "o.status",
        "attempt": f"coalesce({existing}, 0)",
        "agent": "o.agent",
        "provider": "o.provider",
        "model": "o.model",
        "extra_config_json": "o.extra",
        "started_at": words.at("o.at"),
        "ended_at": over(words.at("o.at")),
        "duration_seconds": over("0.0"),
        **dict.fromkeys(("command_json", "artifacts_json"), "'[]'"),
        **dict.fromkeys(("cwd", "stdout_path", "stderr_path"), "''"),
        "metrics_json": words.document(
            reason="nullif(o.reason, '')", signature="o.signature", existing_succeeded_run_id="o.run_id"
        ),
        "error": "CASE WHEN o.status <> 'skipped' THEN nullif(o.reason, '') END",
        "created_at": words.at("o.at"),
        "comparison_id": "nullif(o.comparison_id, '')",
    }
    names = (*_identity(words), *_course(words), *_results(words), *_sums(words))
    columns = {name: known.get(name, "NULL") for name in names}
    return _select(columns, f"outcomes AS o WHERE {OWN_ROW}")


def _trajectories() -> str:
    columns = {
        "run_id": "e.run_id",
        "trajectory_file": "e.id",
        "turn_index": "0",
        "prompt_tokens": "e.prompt_tokens",
        "completion_tokens": "e.completion_tokens",
        "total_tokens": "e.prompt_tokens + e.completion_tokens",
        "cached_tokens": "e.cached_tokens",
        "cache_creation_tokens": "0",
        "latency_ms": "CAST(NULL AS DOUBLE PRECISION)",
        "prompt_chars": "CAST(NULL AS INTEGER)",
    }
    return _select(columns, "episodes AS e")
