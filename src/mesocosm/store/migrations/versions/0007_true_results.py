"""Checksums of episodes, official boards, verdicts of `mesocosm check`, deleted runs, event-loop lag of workers.

Existing episodes and runs get no checksums, and runs deleted before are not recorded. Earlier versions called a run
finished whatever was missing: runs with too many missing values become partial. The best score of a benchmark and the
difference of each run to it are dropped, since no difference is shown without an interval any more.
"""

import json
from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"

_WORD = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
_BATCH = 1_000
# Frozen: the values in core.run.Limits and engine.grading when this revision was written.
_MAX_MISSING = 0.02
_OF_THE_AGENT = "agent_failure"


def upgrade() -> None:
    """Add columns, mark partial runs, drop values that are no longer computed."""
    op.add_column("episodes", sa.Column("checksum", sa.Text))
    op.add_column("episodes", sa.Column("link", sa.BigInteger))
    op.add_column("runs", sa.Column("chain", sa.Text))
    op.add_column("orders", sa.Column("protocol", sa.Integer))
    op.add_column("environment_versions", sa.Column("verdict", sa.Text, nullable=False, server_default=sa.text("''")))
    op.add_column("workers", sa.Column("lag_s", sa.Double))
    op.create_table(
        "protocols",
        sa.Column("domain_id", _WORD, primary_key=True),
        sa.Column("version", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("terms", sa.Text, nullable=False),
        sa.Column("created_by", _WORD, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
    )
    op.create_table(
        "deleted_runs",
        sa.Column("run_id", _WORD, primary_key=True),
        sa.Column("actor", _WORD, nullable=False),
        sa.Column("team_id", _WORD),
        sa.Column("domain_id", _WORD, nullable=False),
        sa.Column("vow_version", _WORD, nullable=False),
        sa.Column("model", _WORD, nullable=False),
        sa.Column("protocol", sa.Integer),
        sa.Column("declared", sa.Boolean, nullable=False),
        sa.Column("deleted_at", sa.Double, nullable=False),
    )
    op.create_index("ix_deleted_runs_domain_id", "deleted_runs", ["domain_id"])
    connection = op.get_bind()
    for row, error in list(_partial(connection)):
        named = {"id": row.id, "error": error}
        connection.execute(sa.text("UPDATE runs SET status = 'partial', error = :error WHERE id = :id"), named)
        connection.execute(sa.text("UPDATE run_lines SET status = 'partial' WHERE run_id = :id"), {"id": row.id})
        outcome = "UPDATE outcomes SET status = 'partial', reason = :error WHERE run_id = :id AND status = 'succeeded'"
        connection.execute(sa.text(outcome), named)
    _drop_best()


def _partial(connection: sa.Connection) -> Iterator[tuple[Any, str]]:
    """Yield the finished runs with too many missing values, with the error message for each."""
    after = ""
    wanted = sa.text("SELECT id, metrics FROM runs WHERE status = 'finished' AND id > :after ORDER BY id LIMIT :batch")
    while batch := list(connection.execute(wanted, {"after": after, "batch": _BATCH})):
        for row in batch:
            missing, planned = _lacking(json.loads(row.metrics))
            if missing > _MAX_MISSING * planned:
                verb = "has" if missing == 1 else "have"
                wrong = (
                    f"{missing:,} of {planned:,} planned episodes {verb} no value, more than {100 * _MAX_MISSING:g} %"
                )
                yield row, wrong
        after = batch[-1].id


def _lacking(metrics: list[dict[str, Any]]) -> tuple[int, int]:
    """Return how many planned episodes have no value of the primary metric, and how many are planned."""
    ranking = [metric for metric in metrics if metric.get("primary")] or metrics
    counts = [
        (
            sum(count for cause, count in metric.get("missing", {}).items() if cause != _OF_THE_AGENT),
            metric["n_planned"],
        )
        for metric in ranking
        if "n_planned" in metric
    ]
    return max(counts, default=(0, 0), key=lambda count: count[0] / max(count[1], 1))


def _drop_best() -> None:
    """Drop the best score of each benchmark and each run's difference to it, which had no interval."""
    for name in ("high_score", "delta", "best"):
        op.drop_index(f"ix_run_lines_{name}", "run_lines")
    for name in ("high_score", "delta", "higher_is_better"):
        op.drop_column("run_lines", name)
    for name in ("best_run", "best_score"):
        op.drop_column("benchmarks", name)
