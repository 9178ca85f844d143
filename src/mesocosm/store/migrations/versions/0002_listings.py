"""Tables and columns for listings: a narrow index row per run, and columns of episodes to sort by."""

import hashlib
import json
import time
from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

# Frozen: later changes of schema.py are later revisions.
_WORD = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")

_SORTED = (
    *("created_at", "changed_at", "status", "name", "benchmark", "kind", "model", "agent", "attempt"),
    *("score", "high_score", "delta", "cost", "tokens", "duration"),
)
_KEY = 200
_BATCH = 500


def upgrade() -> None:
    """Create the tables and columns, and fill them from existing runs, episodes and scores."""
    _drop_indexes()
    _create_lines()
    _add_columns()
    connection = op.get_bind()
    for batch in _batches(connection):
        _fill_lines(connection, batch)
    _compare(connection)
    _fill_episodes(connection)
    for name in _SORTED:
        op.create_index(f"ix_run_lines_{name}", "run_lines", [name, "run_id"])
    op.create_index(
        "ix_run_lines_best", "run_lines", ["benchmark", "benchmark_digest", "higher_is_better", "score", "run_id"]
    )
    for name in ("score", "total_reward", "steps", "tokens", "cost_usd", "duration", "started_at"):
        op.create_index(f"ix_episodes_{name}", "episodes", ["run_id", name, "position"])
    for index, name, where in (
        ("unscored", "outcome", sa.text("outcome <> 'scored'")),
        ("cause", "failure_cause", sa.text("failure_cause IS NOT NULL")),
    ):
        columns = ["run_id", name, "position", "task_digest", "trial"]
        op.create_index(f"ix_episodes_{index}", "episodes", columns, sqlite_where=where, postgresql_where=where)


def _drop_indexes() -> None:
    op.drop_index("ix_runs_created_at", "runs")
    for name in ("status", "benchmark", "model"):
        op.drop_index(f"ix_runs_{name}_created_at_id", "runs")
    op.drop_index("ix_runs_score_id", "runs")


def _create_lines() -> None:
    op.create_table(
        "run_lines",
        sa.Column("run_id", _WORD, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("changed_at", sa.Double, nullable=False),
        *(
            sa.Column(name, _WORD, nullable=False)
            for name in ("status", "name", "benchmark", "benchmark_digest", "kind", "model", "agent")
        ),
        sa.Column("group_id", _WORD),
        sa.Column("attempt", sa.Integer, nullable=False),
        sa.Column("higher_is_better", sa.Boolean),
        *(sa.Column(name, sa.Double) for name in ("score", "high_score", "delta", "cost")),
        sa.Column("tokens", sa.BigInteger, nullable=False),
        sa.Column("duration", sa.Double),
        sa.Column("tags", sa.Text, nullable=False),
        sa.Column("search", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("run_id", name="pk_run_lines"),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_run_lines_run_id", ondelete="CASCADE"),
    )
    op.create_table(
        "run_tags",
        sa.Column("tag", _WORD, nullable=False),
        sa.Column("run_id", _WORD, nullable=False),
        sa.PrimaryKeyConstraint("tag", "run_id", name="pk_run_tags"),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_run_tags_run_id", ondelete="CASCADE"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_run_tags_run_id", "run_tags", ["run_id"])
    op.create_table(
        "run_deletions",
        sa.Column("run_id", _WORD, nullable=False),
        sa.Column("deleted_at", sa.Double, nullable=False),
        sa.PrimaryKeyConstraint("run_id", name="pk_run_deletions"),
    )
    op.create_index("ix_run_deletions_deleted_at", "run_deletions", ["deleted_at"])


def _add_columns() -> None:
    op.add_column("runs", sa.Column("higher_is_better", sa.Boolean))
    op.add_column("benchmarks", sa.Column("best_run", _WORD))
    op.add_column("benchmarks", sa.Column("best_score", sa.Double))
    op.add_column("episodes", sa.Column("score", sa.Double))
    op.add_column("episodes", sa.Column("outcome", _WORD))
    op.add_column("episodes", sa.Column("tokens", sa.BigInteger))
    op.add_column("episodes", sa.Column("duration", sa.Double))


def _batches(connection: sa.Connection) -> Iterator[list[Any]]:
    columns = (
        "id, created_at, status, name, benchmark, benchmark_digest, kind, model, agent, group_id, attempt, metrics, "
        "score, cost_usd, cost_unknown, prompt_tokens + completion_tokens AS tokens, ended_at - started_at AS "
        "duration, tags, search, info"
    )
    after = ""
    while True:
        wanted = sa.text(f"SELECT {columns} FROM runs WHERE id > :after ORDER BY id LIMIT {_BATCH}")  # noqa: S608
        batch = list(connection.execute(wanted, {"after": after}))
        if not batch:
            return
        yield batch
        after = batch[-1].id


def _fill_lines(connection: sa.Connection, batch: list[Any]) -> None:
    lines = [_line(row) for row in batch]
    names = list(lines[0])
    values = ", ".join(f":{name}" for name in names)
    connection.execute(sa.text(f"INSERT INTO run_lines ({', '.join(names)}) VALUES ({values})"), lines)  # noqa: S608
    tags = [{"tag": tag, "run_id": row.id} for row in batch for tag in dict.fromkeys(map(_tag, json.loads(row.tags)))]
    if tags:
        connection.execute(sa.text("INSERT INTO run_tags (tag, run_id) VALUES (:tag, :run_id)"), tags)
    better = [{"better": line["higher_is_better"], "id": line["run_id"]} for line in lines]
    connection.execute(sa.text("UPDATE runs SET higher_is_better = :better WHERE id = :id"), better)


def _line(row: Any) -> dict[str, Any]:
    primary = _primary(row.metrics)
    tags = [_tag(tag) for tag in json.loads(row.tags)]
    return {
        "run_id": row.id,
        "created_at": row.created_at,
        "changed_at": time.time(),
        "status": row.status,
        "name": _key(row.name.casefold()),
        "benchmark": _key(row.benchmark),
        "benchmark_digest": _key(row.benchmark_digest),
        "kind": _key(row.kind),
        "model": _key(row.model),
        "agent": _key(row.agent),
        "group_id": row.group_id,
        "attempt": row.attempt,
        "higher_is_better": None if primary is None else primary.get("higher_is_better", True),
        "score": row.score,
        "cost": None if row.cost_unknown else row.cost_usd,
        "tokens": row.tokens,
        "duration": row.duration,
        "tags": "\x1f" + "\x1f".join(tags) + "\x1f" if tags else "",
        "search": row.search,
    }


def _primary(metrics: str) -> dict[str, Any] | None:
    return next((metric for metric in json.loads(metrics) if metric.get("primary")), None)


def _tag(tag: str) -> str:
    return _key(tag.replace("\x1f", " "))


def _key(word: str) -> str:
    if len(word) <= _KEY:
        return word
    return word[: _KEY - 32] + hashlib.sha256(word.encode()).hexdigest()[:32]


def _compare(connection: sa.Connection) -> None:
    """Find the best run of each benchmark and compare all runs with it."""
    ranked = sa.text(
        "SELECT benchmark, benchmark_digest, id, score, higher_is_better FROM runs WHERE score IS NOT NULL "
        "ORDER BY benchmark, benchmark_digest, higher_is_better, "
        "CASE WHEN higher_is_better THEN -score ELSE score END, id"
    )
    best: dict[tuple[str, str], Any] = {}
    for row in connection.execute(ranked):
        best.setdefault((row.benchmark, row.benchmark_digest), row)
    this = sa.text(
        "UPDATE benchmarks SET best_run = :run, best_score = :best WHERE id = :benchmark AND digest = :digest"
    )
    lines = sa.text(
        "UPDATE run_lines SET high_score = :best, delta = score - :best "
        "WHERE benchmark = :benchmark AND benchmark_digest = :digest"
    )
    op.create_index("ix_run_lines_group", "run_lines", ["benchmark", "benchmark_digest"])
    for (benchmark, digest), row in best.items():
        found = {"run": row.id, "best": row.score}
        connection.execute(this, {**found, "benchmark": benchmark, "digest": digest})
        connection.execute(lines, {"best": row.score, "benchmark": _key(benchmark), "digest": _key(digest)})
    op.drop_index("ix_run_lines_group", "run_lines")


def _fill_episodes(connection: sa.Connection) -> None:
    connection.execute(
        sa.text("UPDATE episodes SET tokens = prompt_tokens + completion_tokens, duration = ended_at - started_at")
    )
    finished = "status IN ('completed', 'truncated', 'timeout', 'failed')"
    one = "(SELECT {} FROM scores WHERE scores.episode_id = episodes.id AND scores.name = :name)".format
    state = "CASE WHEN value IS NOT NULL THEN 'scored' WHEN worst THEN 'worst' ELSE 'missing' END"
    named = sa.text(
        f"UPDATE episodes SET score = {one('value')}, outcome = coalesce({one(state)}, 'missing') "  # noqa: S608
        f"WHERE run_id = :run AND {finished}"
    )
    for batch in _batches(connection):
        for row in batch:
            name = _score_name(row)
            if name:
                connection.execute(named, {"name": name, "run": row.id})
            else:
                _fill_only_scores(connection, row.id, finished)


def _score_name(row: Any) -> str:
    declared = json.loads(row.info).get("metrics")
    for metric in declared if isinstance(declared, list) else ():
        if isinstance(metric, dict) and metric.get("primary") and isinstance(metric.get("score"), str):
            return str(metric["score"])
    primary = _primary(row.metrics)
    return "" if primary is None else str(primary["name"])


def _fill_only_scores(connection: sa.Connection, run_id: str, finished: str) -> None:
    """Fill in the scores of episodes with a single score, if no primary score is declared."""
    one = "(SELECT {} FROM scores WHERE scores.episode_id = episodes.id)".format
    state = "CASE WHEN min(value) IS NOT NULL THEN 'scored' WHEN max({}) = 1 THEN 'worst' ELSE 'missing' END"
    worst = "CASE WHEN worst THEN 1 ELSE 0 END"
    connection.execute(
        sa.text(
            f"UPDATE episodes SET score = {one('min(value)')}, outcome = {one(state.format(worst))} "  # noqa: S608
            f"WHERE run_id = :run AND {finished} AND {one('count(*)')} = 1"
        ),
        {"run": run_id},
    )
