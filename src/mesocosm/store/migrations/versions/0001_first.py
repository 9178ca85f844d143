"""The first schema: runs, episodes with scores and events, blobs, artifacts."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

# Frozen: later changes of schema.py are later revisions.
_WORD = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
_DIGEST = sa.String(32).with_variant(sa.String(32, collation="C"), "postgresql")


def upgrade() -> None:
    """Create all tables."""
    _groups_and_benchmarks()
    _runs()
    _episodes()
    _scores_and_chunks()
    _blobs()
    _artifacts()


def _usage() -> list[sa.Column[int] | sa.Column[float]]:
    return [
        sa.Column("prompt_tokens", sa.BigInteger, nullable=False),
        sa.Column("completion_tokens", sa.BigInteger, nullable=False),
        sa.Column("cached_tokens", sa.BigInteger, nullable=False),
        sa.Column("reasoning_tokens", sa.BigInteger, nullable=False),
        sa.Column("cost_usd", sa.Double),
        sa.Column("model_calls", sa.BigInteger, nullable=False),
    ]


def _groups_and_benchmarks() -> None:
    op.create_table(
        "run_groups",
        sa.Column("id", _WORD, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_run_groups"),
    )
    op.create_table(
        "benchmarks",
        sa.Column("id", _WORD, nullable=False),
        sa.Column("digest", _WORD, nullable=False),
        sa.Column("version", sa.Text, nullable=False),
        sa.Column("title", sa.Text, nullable=False),
        sa.Column("kind", _WORD, nullable=False),
        sa.Column("first_run_at", sa.Double, nullable=False),
        sa.PrimaryKeyConstraint("id", "digest", name="pk_benchmarks"),
    )


def _runs() -> None:
    op.create_table(
        "runs",
        sa.Column("id", _WORD, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("status", _WORD, nullable=False),
        sa.Column("signature", _DIGEST, nullable=False),
        sa.Column("attempt", sa.Integer, nullable=False),
        sa.Column("group_id", _WORD),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("benchmark", _WORD, nullable=False),
        sa.Column("benchmark_title", sa.Text, nullable=False),
        sa.Column("benchmark_version", sa.Text, nullable=False),
        sa.Column("benchmark_digest", _WORD, nullable=False),
        sa.Column("kind", _WORD, nullable=False),
        sa.Column("model", _WORD, nullable=False),
        sa.Column("agent", _WORD, nullable=False),
        sa.Column("score", sa.Double),
        *(
            sa.Column(name, sa.BigInteger, nullable=False)
            for name in ("planned", "completed", "truncated", "timeout", "failed")
        ),
        *_usage(),
        sa.Column("cost_unknown", sa.BigInteger, nullable=False),
        *(sa.Column(name, sa.Double) for name in ("started_at", "ended_at", "held_at", "heartbeat_at")),
        sa.Column("holder", sa.Text),
        sa.Column("stop_requested", sa.Boolean, nullable=False),
        *(
            sa.Column(name, sa.Text, nullable=False)
            for name in ("error", "search", "tags", "metrics", "warnings", "spec", "provenance", "info")
        ),
        sa.PrimaryKeyConstraint("id", name="pk_runs"),
        sa.ForeignKeyConstraint(["group_id"], ["run_groups.id"], name="fk_runs_group_id"),
    )
    op.create_index("ix_runs_created_at", "runs", ["created_at", "id", "search"])
    for name in ("status", "benchmark", "model"):
        op.create_index(f"ix_runs_{name}_created_at_id", "runs", [name, "created_at", "id"])
    op.create_index("ix_runs_score_id", "runs", ["score", "id"])
    op.create_index("ix_runs_signature_attempt", "runs", ["signature", "attempt"])
    op.create_index("ix_runs_group_id", "runs", ["group_id"])


def _episodes() -> None:
    op.create_table(
        "episodes",
        sa.Column("id", _WORD, nullable=False),
        sa.Column("run_id", _WORD, nullable=False),
        sa.Column("task_digest", _DIGEST, nullable=False),
        sa.Column("trial", sa.Integer, nullable=False),
        sa.Column("position", sa.BigInteger, nullable=False),
        sa.Column("status", _WORD, nullable=False),
        sa.Column("task_id", sa.Text, nullable=False),
        sa.Column("cluster", sa.Text, nullable=False),
        sa.Column("seed", sa.Text),
        sa.Column("started_at", sa.Double, nullable=False),
        sa.Column("ended_at", sa.Double),
        sa.Column("steps", sa.BigInteger, nullable=False),
        sa.Column("total_reward", sa.Double),
        *_usage(),
        sa.Column("retries", sa.Integer, nullable=False),
        sa.Column("events", sa.BigInteger, nullable=False),
        sa.Column("failure_cause", _WORD),
        sa.Column("failure_boundary", _WORD),
        sa.Column("failure", sa.Text),
        sa.Column("terminal_info", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_episodes"),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_episodes_run_id", ondelete="CASCADE"),
        sa.UniqueConstraint("run_id", "task_digest", "trial", name="uq_episodes_run_id_task_digest_trial"),
    )
    op.create_index("ix_episodes_plan", "episodes", ["run_id", "position", "task_digest", "trial", "status"])
    unusual = sa.text("status <> 'completed'")
    op.create_index(
        "ix_episodes_unusual",
        "episodes",
        ["run_id", "status", "position", "task_digest", "trial"],
        sqlite_where=unusual,
        postgresql_where=unusual,
    )


def _scores_and_chunks() -> None:
    op.create_table(
        "scores",
        sa.Column("episode_id", _WORD, nullable=False),
        sa.Column("name", _WORD, nullable=False),
        sa.Column("run_id", _WORD, nullable=False),
        sa.Column("value", sa.Double),
        sa.Column("missing", _WORD),
        sa.Column("worst", sa.Boolean, nullable=False),
        sa.Column("explanation", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("episode_id", "name", name="pk_scores"),
        sa.ForeignKeyConstraint(["episode_id"], ["episodes.id"], name="fk_scores_episode_id", ondelete="CASCADE"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "event_chunks",
        sa.Column("episode_id", _WORD, nullable=False),
        sa.Column("seq", sa.Integer, autoincrement=False, nullable=False),
        sa.Column("first_event", sa.BigInteger, nullable=False),
        sa.Column("last_event", sa.BigInteger, nullable=False),
        sa.Column("first_step", sa.BigInteger, nullable=False),
        sa.Column("last_step", sa.BigInteger, nullable=False),
        sa.Column("raw_bytes", sa.Integer, nullable=False),
        sa.Column("data", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("episode_id", "seq", name="pk_event_chunks"),
        sa.ForeignKeyConstraint(["episode_id"], ["episodes.id"], name="fk_event_chunks_episode_id", ondelete="CASCADE"),
    )
    op.create_index("ix_event_chunks_place", "event_chunks", ["episode_id", "last_event", "last_step", "first_step"])


def _blobs() -> None:
    op.create_table(
        "blobs",
        sa.Column("digest", _DIGEST, nullable=False),
        sa.Column("content_type", sa.Text, nullable=False),
        sa.Column("raw_bytes", sa.BigInteger, nullable=False),
        sa.Column("data", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("digest", name="pk_blobs"),
    )
    op.create_table(
        "run_blobs",
        sa.Column("run_id", _WORD, nullable=False),
        sa.Column("digest", _DIGEST, nullable=False),
        sa.PrimaryKeyConstraint("run_id", "digest", name="pk_run_blobs"),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_run_blobs_run_id", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["digest"], ["blobs.digest"], name="fk_run_blobs_digest"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_run_blobs_digest", "run_blobs", ["digest"])


def _artifacts() -> None:
    op.create_table(
        "artifacts",
        sa.Column("id", _WORD, nullable=False),
        sa.Column("run_id", _WORD, nullable=False),
        sa.Column("episode_id", _WORD),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("digest", _DIGEST, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_artifacts"),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_artifacts_run_id", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["episode_id"], ["episodes.id"], name="fk_artifacts_episode_id", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["digest"], ["blobs.digest"], name="fk_artifacts_digest"),
    )
    op.create_index("ix_artifacts_run_id_created_at_id", "artifacts", ["run_id", "created_at", "id"])
    op.create_index("ix_artifacts_episode_id", "artifacts", ["episode_id"])
    op.create_index("ix_artifacts_digest", "artifacts", ["digest"])
