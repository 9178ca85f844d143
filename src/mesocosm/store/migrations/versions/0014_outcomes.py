"""Saved views, and in a run's row its episodes by outcome and the distribution of their scores."""

import json
import math
from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0012"

_WORD = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
_BATCH = 1_000
# Frozen: the values of store.episodes and store.rows when this revision was written.
_BINS = 16
_FINISHED = "status IN ('completed', 'truncated', 'timeout', 'failed')"
_UNSCORED = "status <> 'completed' AND status = 'failed' AND outcome IS NULL"
_VALID = (
    "'context_overflow', 'reply_truncated', 'malformed_action', 'refused', 'capability_missing', "
    "'token_budget_exceeded', 'agent_error', 'agent_timeout', 'workflow_failed', 'workflow_invalid', 'workflow_timeout'"
)
_COUNT = f"""
    UPDATE runs SET
        passed = (SELECT count(*) FROM episodes WHERE run_id = :id AND score > :threshold AND {_FINISHED}),
        not_passed = (SELECT count(*) FROM episodes WHERE run_id = :id AND score <= :threshold AND {_FINISHED})
            + (SELECT count(*) FROM episodes WHERE run_id = :id AND outcome <> 'scored' AND outcome = 'worst'
               AND {_FINISHED})
            + (SELECT count(*) FROM episodes WHERE run_id = :id AND {_UNSCORED} AND failure_cause IN ({_VALID})),
        errors = (SELECT count(*) FROM episodes WHERE run_id = :id AND outcome <> 'scored' AND outcome = 'missing'
                  AND {_FINISHED})
            + (SELECT count(*) FROM episodes WHERE run_id = :id AND {_UNSCORED}
               AND (failure_cause IS NULL OR failure_cause NOT IN ({_VALID}))),
        bins = :bins
    WHERE id = :id
"""  # noqa: S608


def upgrade() -> None:
    """Add the columns and count the episodes of every run."""
    for name in ("passed", "not_passed", "errors"):
        op.add_column("runs", sa.Column(name, sa.BigInteger, nullable=False, server_default=sa.text("0")))
    op.add_column("runs", sa.Column("bins", sa.Text))
    op.create_table(
        "saved_views",
        *(sa.Column(name, _WORD, nullable=False) for name in ("owner", "name")),
        sa.Column("search", sa.Text, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.PrimaryKeyConstraint("owner", "name", name="pk_saved_views"),
    )
    connection = op.get_bind()
    for batch in _runs(connection):
        connection.execute(sa.text(_COUNT), batch)


def _runs(connection: sa.Connection) -> Iterator[list[dict[str, Any]]]:
    after = ""
    wanted = sa.text("SELECT id, info FROM runs WHERE id > :after ORDER BY id LIMIT :batch")
    while rows := list(connection.execute(wanted, {"after": after, "batch": _BATCH})):
        yield [
            {"id": row.id, "threshold": _threshold(json.loads(row.info)), "bins": _bins(connection, row.id)}
            for row in rows
        ]
        after = rows[-1].id


def _threshold(info: Any) -> float:
    found = info.get("metrics") if isinstance(info, dict) else None
    metrics = [metric for metric in found if isinstance(metric, dict)] if isinstance(found, list) else []
    primary = next((one for one in metrics if one.get("primary") and isinstance(one.get("score"), str)), None)
    if primary is None:
        return 0.0
    rates = [one for one in metrics if one.get("aggregation") == "pass_rate" and one.get("score") == primary["score"]]
    rates.sort(key=lambda metric: (not metric.get("primary"), metric.get("name") != "pass_rate"))
    metric = rates[0] if rates else primary
    value = metric.get("threshold", 0.0)
    threshold = float(value) if isinstance(value, int | float) else 0.0
    return math.nextafter(threshold, -math.inf) if metric.get("inclusive") is True else threshold


def _bins(connection: sa.Connection, run_id: str) -> str | None:
    wanted = "SELECT score, count(*) FROM episodes WHERE run_id = :id AND score IS NOT NULL GROUP BY score"
    rows = connection.execute(sa.text(wanted), {"id": run_id})
    values = [(float(score), int(number)) for score, number in rows if math.isfinite(score)]
    if all(score in {0.0, 1.0} for score, _ in values):
        return None
    low, high = min(0.0, min(values)[0]), max(1.0, max(values)[0])
    counts = [0] * _BINS
    for score, number in values:
        counts[min(int((score / 2 - low / 2) / (high / 2 - low / 2) * _BINS), _BINS - 1)] += number
    return json.dumps({"low": low, "high": high, "counts": counts}, separators=(",", ":"))
